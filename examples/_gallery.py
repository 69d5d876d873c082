"""What the examples share: data, the printed algorithm, averages, tables and pictures."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

_DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"

#: Colours of lines, bars and classes: told apart by every kind of colour vision, and the first four
#: by their lightness too, so that pictures can be read in grey.
COLOURS = ("#08306b", "#e08214", "#b2182b", "#7fb3d5", "#4d9221", "#8a8a8a")
MARKERS = ("o", "s", "^", "D", "v", "P")
INK, GREY = "#222222", "#8a8a8a"

#: One style for all pictures.
_STYLE = {
    "font.size": 11.0,
    "axes.titlesize": 12.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "legend.fontsize": 10.0,
    "lines.markersize": 5.0,
    "figure.titlesize": 13.0,
    "figure.titleweight": "bold",
    "figure.constrained_layout.w_pad": 0.12,
    "figure.constrained_layout.wspace": 0.04,
}
_RESOLUTION = 110  # dots per inch: 13 inches are 1430 pixels

#: The least change of omega that the secant rule divides by, the error trap of its step 3.
_TRAP = 1e-6


def data_folder() -> Path:
    """Return the folder of the sets that are not bundled, which may be missing."""
    return Path(os.environ.get("MERCER_DATA", _DATA))


def load(name: str, rows: str = "X") -> tuple[np.ndarray, ...]:
    """Read a set that is not bundled: (X, y), or (X_train, y_train, X_test, y_test).

    Rows may go by another name in the file than X.
    """
    path = data_folder() / f"{name}.npz"
    if not path.is_file():
        sys.exit(f"no data set {path}: set MERCER_DATA to the folder that has {path.name}")
    keys = (rows, "y"), ("X_train", "y_train", "X_test", "y_test")
    with np.load(path) as arrays:
        return tuple(arrays[key] for key in keys["X_train" in arrays])


def mirror_symmetry(
    n_samples: int, n_inputs: int, random_state: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Draw strings of +-1: of class 1 the second half mirrors the first, of class -1 it is random.

    Half of the strings are of each class, on average. A random half that happens to be the mirror
    image is drawn with a probability of 2^(-n_inputs/2) and then has the wrong label, as published.
    """
    X = random_state.choice([-1.0, 1.0], size=(n_samples, n_inputs))
    y = random_state.choice([-1, 1], size=n_samples)
    half = n_inputs // 2
    X[y == 1, n_inputs - half :] = X[y == 1, :half][:, ::-1]
    return X, y


def published_half() -> np.ndarray | None:
    """Return which rows of sonar were learned in the papers, if the file that knows is there."""
    path = data_folder() / "sonar_published_split.npz"
    if not path.is_file():
        return None
    with np.load(path) as arrays:
        return arrays["train"]


class Epoch(NamedTuple):
    """What is known after an epoch, of each of the sets that are learned side by side."""

    coefficients: np.ndarray  # alpha times y, (sets, rows)
    intercept: np.ndarray  # (sets,)
    margin: np.ndarray  # (sets,)


def kernel_adatron(
    K: np.ndarray, y: np.ndarray, *, mu: float | None = None, C: float = inf, eta: Any = 1.0
) -> Iterator[Epoch]:
    """Learn several sets of as many rows at once, epoch by epoch, without end, as is printed.

    Campbell and Cristianini, section 3.1. In each epoch every row i in turn, in the order of the
    data:

        z_i     = sum_j alpha_j y_j K_ij
        alpha_i = min(C, max(0, alpha_i + eta (1 - y_i z_i - lambda y_i)))

    and between epochs the secant rule moves the intercept lambda towards omega = sum_i alpha_i y_i
    = 0, beginning with mu and -mu. There is no intercept without mu. K has the kernel matrices,
    (sets, rows, rows), and y the signs of the rows, (sets, rows); eta may be one for each set.

    It is written out here so that its epochs are the published ones. In Mercer's core
    `SVC(solver="adatron", order="cyclic", mu=mu, stop="margin")` is the same with a secant rule
    that is kept in bounds, and plain "adatron" takes the steps in another order; all end at the
    same plane.
    """
    sets, rows = y.shape
    signed = np.zeros((sets, rows))  # alpha times y
    intercept = np.full(sets, 0.0 if mu is None else mu)
    previous, omega_before = intercept, np.zeros(sets)
    columns = np.ascontiguousarray(K.transpose(1, 0, 2))  # the rows of all sets, one after another
    t = 0
    while True:
        for i, row in enumerate(columns):
            sign = y[:, i]
            step = eta * (sign - np.einsum("sj,sj->s", row, signed) - intercept)
            alpha = np.minimum(np.maximum(sign * (signed[:, i] + step), 0.0), C)
            signed[:, i] = sign * alpha
        z = np.einsum("isj,sj->si", columns, signed)
        yield Epoch(signed.copy(), intercept, _margin(z, y, np.abs(signed) < C))
        if mu is None:
            continue
        omega = signed.sum(axis=1)
        if t == 0:
            following = np.full(sets, -mu)
        else:
            change = omega - omega_before
            change = np.where(np.abs(change) < _TRAP, np.copysign(_TRAP, change), change)
            following = intercept - omega * (intercept - previous) / change
        previous, intercept, omega_before = intercept, following, omega
        t += 1


def _margin(z: np.ndarray, y: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Return half the distance of the classes in values z, of the rows that count."""
    positive = np.where((y > 0) & counted, z, inf).min(axis=1)
    negative = np.where((y < 0) & counted, z, -inf).max(axis=1)
    return (positive - negative) / 2


def mean_errors(
    machines: Sequence[Any], X: np.ndarray, y: np.ndarray, train_size: int, seeds: int = 20
) -> np.ndarray:
    """Return (error on new rows, error on the training rows) of each machine, over random splits.

    All machines see the same splits.
    """
    errors = np.empty((seeds, len(machines), 2))
    for seed in range(seeds):
        rows, others, labels, truth = train_test_split(
            X, y, train_size=train_size, random_state=seed
        )
        for machine, pair in zip(machines, errors[seed], strict=True):
            model = clone(machine).fit(rows, labels)
            pair[:] = 1 - model.score(others, truth), 1 - model.score(rows, labels)
    return errors.mean(axis=0)


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, the first column to the left and the others to the right."""
    lines = [tuple(header), *(tuple(map(str, row)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print(f"\n{title}")
    for first, *others in lines:
        cells = [f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        print("  ".join([f"{first:<{widths[0]}}", *cells]))


def picture(draw: Callable[[Any], None], size: tuple[float, float] = (13.0, 5.5)) -> None:
    """Draw on a figure and show it in a notebook, or save it if the command line names a file."""
    notebook = "ipykernel" in sys.modules
    if notebook or len(sys.argv) > 1:
        # Not pyplot: this needs no screen, whatever the backend.
        from matplotlib import cycler, rc_context
        from matplotlib.figure import Figure
        from PIL import Image

        with rc_context({**_STYLE, "axes.prop_cycle": cycler(color=COLOURS)}), BytesIO() as buffer:
            figure = Figure(figsize=size, layout="constrained")
            draw(figure)
            figure.savefig(buffer, dpi=_RESOLUTION)
            # A palette keeps the file small, and no picture here needs more colours.
            image = Image.open(buffer).convert("RGB").quantize(128)
        if notebook:
            from IPython.display import display

            display(image)
        else:
            image.save(sys.argv[1], "PNG", optimize=True)
