"""What the pictures share: axes, colours, names of features, legends, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import column_or_1d

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = [
    "BLUE",
    "GREY",
    "INK",
    "RED",
    "TEXTS",
    "colour",
    "column_names",
    "drawing",
    "legend_below",
    "machine_of",
    "matched",
    "rings",
    "tint",
]

# Blue and red first: told apart by every kind of colour vision.
_COLOURS = ("#2166ac", "#b2182b", "#4d9221", "#e08214", "#762a83", "#35978f", "#8c510a", "#c51b7d")
BLUE, RED = _COLOURS[:2]
INK, GREY = "#222222", "#8a8a8a"

#: Dots per inch of new figures, which are at least seven inches wide: 1400 pixels.
_RESOLUTION = 200

#: What the docstrings of all pictures say.
TEXTS = {
    "ax": """\
ax : matplotlib Axes, default=None
    Where to draw; None makes a new figure.""",
    "axes": """\
matplotlib Axes
    The axes with the picture.""",
}


def drawing(ax: Axes | None, size: tuple[float, float] = (7.0, 4.6)) -> Axes:
    """Return the axes to draw on, those of a new figure of so many inches for None."""
    if ax is None:
        try:
            from matplotlib import pyplot as plt
        except ImportError as error:
            raise ImportError(
                "mercer.plots needs matplotlib: pip install matplotlib, or pip install mercer[demo]"
            ) from error
        _, ax = plt.subplots(figsize=size, dpi=_RESOLUTION, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    return ax


def colour(index: int) -> str:
    """Return the colour of a class or machine."""
    return _COLOURS[index % len(_COLOURS)]


def tint(colour: str, share: float) -> str:
    """Mix a share of the colour with white."""
    channels = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{round(255 - share * (255 - channel)):02x}" for channel in channels)


def column_names(X: Any, n_columns: int) -> list[str]:
    """Return the names of the columns of a data frame, empty ones if X has none."""
    names = getattr(X, "columns", None)
    return [""] * n_columns if names is None else [str(name) for name in names]


def matched(y: ArrayLike, n_rows: int, what: str = "label") -> NDArray[Any]:
    """Return one target for each row, else raise."""
    target: NDArray[Any] = column_or_1d(y)
    if len(target) != n_rows:
        raise ValueError(
            f"y must have one {what} for each row of X, got {len(target)} for {n_rows} rows"
        )
    return target


def machine_of(estimator: Any) -> Any:
    """Return the machine at the end of a pipeline, or the estimator itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def rings(ax: Axes, estimator: Any, points: NDArray[np.float64]) -> list[Artist]:
    """Draw a ring around each support vector, if the machine has any."""
    support = getattr(machine_of(estimator), "support_", None)
    if support is None:
        return []
    vectors = points[support]
    many = "" if len(support) == 1 else "s"
    drawn = ax.scatter(
        vectors[:, 0],
        vectors[:, 1],
        s=42,
        facecolors="none",
        edgecolors=INK,
        linewidths=0.8,
        label=f"{len(support)} support vector{many}",
        zorder=4,
    )
    return [drawn]


def legend_below(ax: Axes, handles: Sequence[Artist] | None = None) -> None:
    """Put the legend under the axes, where it hides nothing."""
    from matplotlib.transforms import ScaledTranslation

    if handles is None:
        handles = ax.get_legend_handles_labels()[0]
    # Under the ticks and, if there is one, the name of the axis: so many inches.
    below = ScaledTranslation(0.0, -0.42 if ax.get_xlabel() else -0.22, ax.figure.dpi_scale_trans)
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + below,
        ncols=4 if len(handles) == 4 else 3,
        frameon=False,
        columnspacing=1.6,
        handlelength=1.8,
    )
