"""Pictures of fitted machines. They need matplotlib: ``pip install mercer[demo]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, column_or_1d

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = ["decision_boundary", "reliability", "search"]

# Blue and red first: told apart by every kind of colour vision.
_COLOURS = ("#2166ac", "#b2182b", "#4d9221", "#e08214", "#762a83", "#35978f", "#8c510a", "#c51b7d")
_INK = "#222222"


def decision_boundary(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    ax: Axes | None = None,
    resolution: int = 300,
) -> Axes:
    """Draw what a classifier has learned from two-dimensional data.

    The regions of the classes are filled. For two classes the boundary f = 0 is a line, the margins
    f = -1 and f = +1 are dashed and the band between them is paler. Support vectors are ringed.

    Parameters
    ----------
    estimator : fitted classifier
        Anything with ``predict`` and, for the margins, ``decision_function``: an SVC or a pipeline
        that ends in one. The rings need ``support_``.
    X : array-like of shape (n_samples, 2)
        The points the estimator was fitted on.
    y : array-like of shape (n_samples,)
        Their classes.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.
    resolution : int, default=300
        Points of the grid along each axis.

    Returns
    -------
    matplotlib Axes
        The axes with the picture.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import make_checkerboard
    >>> from mercer.plots import decision_boundary
    >>> X, y = make_checkerboard(200, squares=2, random_state=0)
    >>> ax = decision_boundary(SVC(C=100, gamma=2).fit(X, y), X, y)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['class 0', 'class 1', 'boundary, f = 0', 'margins, f = ±1', '... support vectors']
    """
    plt = _pyplot()
    check_is_fitted(estimator)
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"X must have shape (n_samples, 2), got {points.shape}")
    labels = column_or_1d(y)
    if len(labels) != len(points):
        raise ValueError(
            f"y must have one label for each row of X, got {len(labels)} for {len(points)} rows"
        )
    if resolution < 2:
        raise ValueError(f"resolution must be at least 2, got {resolution}")
    if ax is None:
        _, ax = plt.subplots(figsize=(7, 7.4), layout="constrained")

    grid = _grid(points, resolution)
    handles = _draw_points(ax, points, labels, estimator.classes_)
    if len(estimator.classes_) == 2 and hasattr(estimator, "decision_function"):
        handles += _draw_margins(ax, estimator, grid)
    else:
        handles += _draw_regions(ax, estimator, grid)
    handles += _draw_support(ax, estimator, points)

    ax.set(xlim=grid[0, 0, [0, -1]], ylim=grid[1, [0, -1], 0])
    ax.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.05),
        ncols=3,
        frameon=False,
    )
    return ax


def search(search: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the scores of a grid search over C and gamma, or over any two parameters.

    Every square is a pair of values, and its colour the best mean score of the candidates with
    that pair. The best of all is marked.

    Parameters
    ----------
    search : fitted search
        A GridSearchCV of this package or of scikit-learn. Two parameters have two values or
        more: those whose names end in ``C`` and ``gamma`` if there are others too.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes with the picture.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import load_sonar
    >>> from mercer.model_selection import GridSearchCV
    >>> from mercer.plots import search
    >>> X, y = load_sonar(return_X_y=True)
    >>> found = GridSearchCV(SVC(), {"C": [1, 10], "gamma": [0.1, 1.0]}, cv=3).fit(X, y)
    >>> ax = search(found)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('gamma', 'C')
    """
    check_is_fitted(search)
    results = search.cv_results_
    rows, columns = _two_parameters(results["params"])
    scoring = search.refit if isinstance(search.refit, str) else "score"
    scores = np.asarray(results[f"mean_test_{scoring}"], dtype=np.float64)
    values = [sorted({params[name] for params in results["params"]}) for name in (rows, columns)]
    table = np.full((len(values[0]), len(values[1])), np.nan)
    for params, score in zip(results["params"], scores, strict=True):
        at = values[0].index(params[rows]), values[1].index(params[columns])
        table[at] = np.fmax(table[at], score)
    if ax is None:
        _, ax = _pyplot().subplots(layout="constrained")
    image = ax.imshow(table, origin="lower", aspect="auto", cmap="viridis")
    ax.figure.colorbar(image, ax=ax, label="mean score on the rows held out")
    for axis, name, ticks in ((ax.yaxis, rows, values[0]), (ax.xaxis, columns, values[1])):
        axis.set_label_text(name.rpartition("__")[2])
        axis.set_ticks(range(len(ticks)), [f"{tick:.4g}" for tick in ticks])
    best = np.unravel_index(np.nanargmax(table), table.shape)
    ax.plot(
        best[1],
        best[0],
        "*",
        color=_COLOURS[1],
        markeredgecolor="white",
        markersize=16,
        label=f"best: {table[best]:.3f}",
    )
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), frameon=False)
    return ax


def _two_parameters(candidates: list[dict[str, Any]]) -> tuple[str, str]:
    """Return the parameters to draw: that for the rows and that for the columns."""
    names = list(dict.fromkeys(name for params in candidates for name in params))
    varied = [
        name
        for name in names
        if all(isinstance(params.get(name), int | float | np.number) for params in candidates)
        and len({params[name] for params in candidates}) > 1
    ]
    costs = [name for name in varied if name.rpartition("__")[2] == "C"]
    widths = [name for name in varied if name.rpartition("__")[2] == "gamma"]
    if costs and widths:
        return costs[0], widths[0]
    if len(varied) == 2:
        return varied[0], varied[1]
    raise ValueError(
        "search must have two numeric parameters of two values or more, such as C and gamma, got "
        f"{names}"
    )


def reliability(
    model: Any, X: Any, y: ArrayLike, *, bins: int = 10, ax: Axes | None = None
) -> Axes:
    """Draw how often the predicted class is right, against how probable the model says it is.

    Rows are put into bins of equal numbers by the probability of their predicted class. On the
    diagonal the model is as often right as it says.

    Parameters
    ----------
    model : fitted classifier
        Anything with ``predict_proba``, such as ``SVC(probability=True)``.
    X : array-like of shape (n_samples, n_features)
        Rows that the model was not trained on.
    y : array-like of shape (n_samples,)
        Their classes.
    bins : int, default=10
        How many bins, at the most one for every row.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes with the picture.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import load_sonar
    >>> from mercer.plots import reliability
    >>> X, y = load_sonar(return_X_y=True)
    >>> model = SVC(C=10, probability=True).fit(X[::2], y[::2])
    >>> ax = reliability(model, X[1::2], y[1::2], bins=5)
    >>> len(ax.lines[-1].get_xdata())
    5
    """
    check_is_fitted(model)
    probabilities = np.asarray(model.predict_proba(X))
    labels = column_or_1d(y)
    if len(labels) != len(probabilities):
        raise ValueError(
            f"y must have one label for each row of X, got {len(labels)} for "
            f"{len(probabilities)} rows"
        )
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    winners = probabilities.argmax(axis=1)
    said = probabilities[np.arange(len(labels)), winners]
    right = np.asarray(model.classes_)[winners] == labels
    parts = [part for part in np.array_split(np.argsort(said, kind="stable"), bins) if len(part)]
    if ax is None:
        _, ax = _pyplot().subplots(layout="constrained")
    low = 1.0 / probabilities.shape[1]
    ax.plot([low, 1.0], [low, 1.0], "--", color=_INK, linewidth=0.9, label="as often as it says")
    shares = [right[part].mean() for part in parts]
    ax.plot(
        [said[part].mean() for part in parts],
        shares,
        "o-",
        color=_COLOURS[0],
        label=f"{len(labels)} rows in {len(parts)} bins",
    )
    ax.set(xlabel="probability of the predicted class", ylabel="share of rows that are right")
    ax.legend(frameon=False)
    return ax


def _pyplot() -> Any:
    """Return matplotlib's pyplot; raise if there is none."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError(
            "mercer.plots needs matplotlib: pip install matplotlib, or pip install mercer[demo]"
        ) from error
    return plt


def _grid(points: NDArray[np.float64], resolution: int) -> NDArray[np.float64]:
    """Coordinates of a grid around the points, shape (2, resolution, resolution)."""
    low, high = points.min(axis=0), points.max(axis=0)
    # Some space around the outermost points, even if they all lie on a line.
    space = np.where(high > low, 0.02 * (high - low), 0.5)
    sides = np.linspace(low - space, high + space, resolution)
    return np.stack(np.meshgrid(sides[:, 0], sides[:, 1]))


def _on_grid(method: Any, grid: NDArray[np.float64]) -> NDArray[Any]:
    return np.asarray(method(grid.reshape(2, -1).T)).reshape(grid.shape[1:])


def _tint(colour: str, share: float) -> str:
    """Mix a share of the colour with white."""
    channels = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{round(255 - share * (255 - channel)):02x}" for channel in channels)


def _draw_margins(ax: Axes, estimator: Any, grid: NDArray[np.float64]) -> list[Artist]:
    from matplotlib.lines import Line2D

    values = _on_grid(estimator.decision_function, grid)
    reach = max(2.0, 1.1 * float(np.abs(values).max()))
    negative, positive = _COLOURS[:2]
    tints = [_tint(negative, 0.32), _tint(negative, 0.12)]
    tints += [_tint(positive, 0.12), _tint(positive, 0.32)]
    ax.contourf(*grid, values, levels=[-reach, -1.0, 0.0, 1.0, reach], colors=tints)
    # A level outside the values would only be warned about.
    for level, width, style in ((-1.0, 0.9, "--"), (0.0, 1.8, "-"), (1.0, 0.9, "--")):
        if values.min() < level < values.max():
            ax.contour(
                *grid, values, levels=[level], colors=_INK, linewidths=width, linestyles=style
            )
    return [
        Line2D([], [], color=_INK, linewidth=1.8, label="boundary, f = 0"),
        Line2D([], [], color=_INK, linewidth=0.9, linestyle="--", label="margins, f = ±1"),
    ]


def _draw_regions(ax: Axes, estimator: Any, grid: NDArray[np.float64]) -> list[Artist]:
    from matplotlib.lines import Line2D

    regions = np.searchsorted(estimator.classes_, _on_grid(estimator.predict, grid))
    for index in np.unique(regions):
        inside = np.where(regions == index, 1.0, 0.0)
        ax.contourf(*grid, inside, levels=[0.5, 1.5], colors=[_tint(_colour(index), 0.3)])
        if not inside.all():
            ax.contour(*grid, inside, levels=[0.5], colors=_INK, linewidths=1.0)
    return [Line2D([], [], color=_INK, linewidth=1.0, label="boundary")]


def _draw_points(
    ax: Axes, points: NDArray[np.float64], labels: NDArray[Any], classes: NDArray[Any]
) -> list[Artist]:
    handles: list[Artist] = []
    for index, label in enumerate(classes):
        members = points[labels == label]
        handles += ax.plot(
            *members.T, ".", color=_colour(index), markersize=4, label=f"class {label}", zorder=3
        )
    return handles


def _draw_support(ax: Axes, estimator: Any, points: NDArray[np.float64]) -> list[Artist]:
    machine = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    support = getattr(machine, "support_", None)
    if support is None:
        return []
    vectors = points[support]
    rings = ax.scatter(
        vectors[:, 0],
        vectors[:, 1],
        s=40,
        facecolors="none",
        edgecolors=_INK,
        linewidths=0.9,
        label=f"{len(support)} support vectors",
        zorder=4,
    )
    return [rings]


def _colour(index: int) -> str:
    return _COLOURS[index % len(_COLOURS)]
