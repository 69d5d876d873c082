"""The demonstration: ``python -m mercer`` trains on real data, beside scikit-learn's SVC.

It needs no network and no file outside the installed packages.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn import datasets as toys
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as PeerSVC

from mercer import SVC, datasets
from mercer._progress import Progress

_Labelled: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64]]

_SEED = 0
_FOLDS = 5
_PARAMETERS: dict[str, Any] = {"C": 10.0, "kernel": "rbf", "gamma": "scale", "tol": 1e-3}

# The tutorial's example gives C = 5 and sigma = 2 with the kernel exp(-|x - z|^2 / (2 sigma^2)),
# and 99.9 % and 99 % of the training and test points right. That kernel is far too wide for that C:
# it gets about 60 % right. These two reach the published figures.
_BOARD: dict[str, Any] = {"C": 1e4, "gamma": 1.0, "tol": 1e-2}
_AS_PRINTED: dict[str, Any] = {"C": 5.0, "gamma": 1 / (2 * 2.0**2), "tol": 1e-2}


def _diabetes() -> _Labelled:
    X, progression = toys.load_diabetes(return_X_y=True)
    return X, (progression > np.median(progression)).astype(np.int64)


_DATA: dict[str, Callable[[], _Labelled]] = {
    "sonar": lambda: datasets.load_sonar(return_X_y=True),
    "ionosphere": lambda: datasets.load_ionosphere(return_X_y=True),
    "diabetes (above median)": _diabetes,
    "breast cancer": lambda: toys.load_breast_cancer(return_X_y=True),
    "digits": lambda: toys.load_digits(return_X_y=True),
}


@dataclass(frozen=True)
class _Result:
    """One classifier on one data set: cross-validated, then fitted on every row."""

    score: float
    seconds: float
    machine: Any

    @property
    def n_support(self) -> int:
        return len(self.machine.support_)


def _evaluate(machine: Any, X: NDArray[Any], y: NDArray[Any], step: Callable[[], None]) -> _Result:
    pipeline = make_pipeline(StandardScaler(), machine)
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=_SEED)
    scores = []
    for train, test in folds.split(X, y):
        scores.append(clone(pipeline).fit(X[train], y[train]).score(X[test], y[test]))
        step()
    standardised = StandardScaler().fit_transform(X)
    start = time.perf_counter()
    machine.fit(standardised, y)
    seconds = time.perf_counter() - start
    step()
    return _Result(float(np.mean(scores)), seconds, machine)


def _table(names: Sequence[str]) -> None:
    width = max(map(len, names))
    print(f"{'':{width}}  {'':18}   {'mercer':^31}   {'scikit-learn ' + sklearn.__version__:^22}")
    print(
        f"{'data':{width}}  {'n':>4} {'d':>4} {'classes':>8}"
        f"   {'score':>6} {'SV':>6} {'gap':>8} {'seconds':>8}"
        f"   {'score':>6} {'SV':>6} {'seconds':>8}"
    )
    with Progress(len(names) * 2 * (_FOLDS + 1)) as progress:
        for name in names:
            X, y = _DATA[name]()
            ours = _evaluate(SVC(**_PARAMETERS), X, y, partial(progress.step, f"{name}, mercer"))
            peer = _evaluate(
                PeerSVC(**_PARAMETERS), X, y, partial(progress.step, f"{name}, scikit-learn")
            )
            progress.wipe()
            print(
                f"{name:{width}}  {len(X):4} {X.shape[1]:4} {len(np.unique(y)):8}"
                f"   {ours.score:6.3f} {ours.n_support:6} {ours.machine.report_.gap:8.1e}"
                f" {ours.seconds:8.4f}"
                f"   {peer.score:6.3f} {peer.n_support:6} {peer.seconds:8.4f}",
                flush=True,
            )
    print(
        f"\nscore: accuracy, {_FOLDS}-fold stratified cross-validation, columns standardised."
        f"\nSV, gap (where 0 is the optimum; tol = {_PARAMETERS['tol']:g}) and seconds: one fit on"
        f" all rows.\nBoth: RBF kernel, C = {_PARAMETERS['C']:g}, gamma = 'scale'."
    )


def _checkerboard(output: Path | None) -> None:
    random = np.random.RandomState(_SEED)
    X, y = datasets.make_checkerboard(random_state=random)
    X_test, y_test = datasets.make_checkerboard(10_000, random_state=random)
    machine = SVC(**_BOARD).fit(X, y)
    train, test = machine.score(X, y), machine.score(X_test, y_test)
    printed = SVC(**_AS_PRINTED).fit(X, y)
    print(
        f"\ncheckerboard, {len(X)} points: {train:.1%} right, {test:.1%} of {len(X_test)} new ones"
        f" (C = {_BOARD['C']:g}, gamma = {_BOARD['gamma']:g}, chosen for this)."
        f"\nThe tutorial it is from gives 99.9% and 99% for C = 5, sigma = 2; as printed there,"
        f" that is {printed.score(X, y):.1%} and {printed.score(X_test, y_test):.1%}."
    )
    if output is None:
        return
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("\nNo picture without matplotlib: pip install mercer[demo]")
        return
    from mercer.plots import decision_boundary

    figure = Figure(figsize=(7.5, 8.4), layout="constrained")
    ax = decision_boundary(machine, X, y, ax=figure.subplots(), resolution=500)
    side = (0, int(np.ceil(X.max())))
    ax.set(xlim=side, ylim=side, xticks=range(side[1] + 1), yticks=range(side[1] + 1))
    ax.set_aspect("equal")
    ax.set_title(
        f"The checkerboard, learned from {len(X)} points\n"
        f"right: {train:.1%} of them, {test:.1%} of new ones (published: 99.9%, 99%)",
        fontsize=12,
    )
    figure.savefig(output, dpi=150, bbox_inches="tight")
    print(f"\nPicture: {output}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m mercer",
        description="Train on real data beside scikit-learn's SVC; draw the checkerboard.",
    )
    parser.add_argument(
        "--output", type=Path, default=Path("mercer-demo.png"), help="picture (%(default)s)"
    )
    parser.add_argument("--no-plot", action="store_true", help="write no picture")
    parser.add_argument(
        "--data", nargs="+", choices=list(_DATA), default=list(_DATA), help="only these sets"
    )
    options = parser.parse_args(arguments)
    _table(options.data)
    _checkerboard(None if options.no_plot else options.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
