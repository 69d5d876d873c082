"""What a machine has learned from points of the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_outlier_detector, is_regressor
from sklearn.utils.validation import check_is_fitted

from mercer.plots._style import (
    BLUE,
    INK,
    RED,
    TEXTS,
    colour,
    column_names,
    drawing,
    legend_below,
    matched,
    rings,
    tint,
)
from mercer.svm._docs import documented

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

__all__ = ["decision_boundary"]

#: Steps of colour between the lowest and the highest value of a regression.
_STEPS = 14


@documented(TEXTS)
def decision_boundary(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    resolution: int = 300,
) -> Axes:
    """Draw what a machine has learned from two-dimensional data.

    Of a classifier, the regions of the classes are filled. For two classes the boundary f = 0 is a
    line, the margins f = -1 and f = +1 are dashed and the band between them is paler. Of a
    regression, the value f is a colour, and so are the values of the points. Of a machine that
    detects novelties, the region inside is filled. Support vectors are ringed. Columns of a data
    frame give the axes their names.

    Parameters
    ----------
    estimator : fitted classifier, regressor or detector
        Anything with ``predict`` and, for margins and detectors, ``decision_function``: a machine
        or a pipeline that ends in one. The rings need ``support_``.
    X : array-like of shape (n_samples, 2)
        The points the estimator was fitted on.
    y : array-like of shape (n_samples,), default=None
        Their classes or values; detectors need none.
    {ax}
    resolution : int, default=300
        Points of the grid along each axis.

    Returns
    -------
    {axes}

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
    check_is_fitted(estimator)
    points = np.asarray(X, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"X must have shape (n_samples, 2), got {points.shape}")
    if resolution < 2:
        raise ValueError(f"resolution must be at least 2, got {resolution}")
    detects = is_outlier_detector(estimator)
    if y is None and not detects:
        raise ValueError("y must be given, except for detectors of novelty")
    regression = is_regressor(estimator)
    targets = None if detects or y is None else matched(y, len(points))
    ax = drawing(ax, (7.6, 7.0) if regression else (7.0, 7.4))
    names = column_names(X, 2)
    ax.set(xlabel=names[0], ylabel=names[1])
    plane = _Plane(
        ax, estimator, _grid(points, resolution, 0.15 if detects else 0.02), _frame_of(X)
    )
    if targets is None:
        handles = plane.draw_inside(points)
    elif regression:
        handles = plane.draw_values(points, targets)
    else:
        handles = plane.draw_classes(points, targets)
    handles += rings(ax, estimator, points)
    ax.set(xlim=plane.grid[0, 0, [0, -1]], ylim=plane.grid[1, [0, -1], 0])
    legend_below(ax, handles)
    return ax


class _Plane:
    """A part of the plane, and the values of a machine on it."""

    def __init__(self, ax: Axes, estimator: Any, grid: NDArray[np.float64], frame: Any) -> None:
        self.ax, self.estimator, self.grid, self.frame = ax, estimator, grid, frame

    def values(self, method: Any) -> NDArray[Any]:
        """Return what a method of the machine says of the points of the grid."""
        rows = self.frame(self.grid.reshape(2, -1).T)
        return np.asarray(method(rows)).reshape(self.grid.shape[1:])

    def line(
        self,
        values: NDArray[Any],
        level: float,
        width: float,
        style: str = "-",
        shade: str = INK,
    ) -> None:
        """Draw where values have a level."""
        # A level outside the values would only be warned about.
        if values.min() < level < values.max():
            self.ax.contour(
                *self.grid,
                values,
                levels=[level],
                colors=shade,
                linewidths=width,
                linestyles=style,
            )

    # Classifiers

    def draw_classes(self, points: NDArray[np.float64], labels: NDArray[Any]) -> list[Artist]:
        classes = self.estimator.classes_
        handles: list[Artist] = []
        for index, label in enumerate(classes):
            members = points[labels == label]
            handles += _dots(self.ax, members, colour(index), f"class {label}")
        if len(classes) == 2 and hasattr(self.estimator, "decision_function"):
            return handles + self._draw_margins()
        return handles + self._draw_regions()

    def _draw_margins(self) -> list[Artist]:
        values = self.values(self.estimator.decision_function)
        reach = max(2.0, 1.1 * float(np.abs(values).max()))
        tints = [tint(BLUE, 0.32), tint(BLUE, 0.12), tint(RED, 0.12), tint(RED, 0.32)]
        self.ax.contourf(*self.grid, values, levels=[-reach, -1.0, 0.0, 1.0, reach], colors=tints)
        for level, width, style in ((-1.0, 0.9, "--"), (0.0, 1.8, "-"), (1.0, 0.9, "--")):
            self.line(values, level, width, style)
        return [_key("boundary, f = 0", 1.8), _key("margins, f = ±1", 0.9, "--")]

    def _draw_regions(self) -> list[Artist]:
        predicted = self.values(self.estimator.predict)
        regions = np.searchsorted(self.estimator.classes_, predicted)
        for index in np.unique(regions):
            inside = np.where(regions == index, 1.0, 0.0)
            fill = [tint(colour(index), 0.3)]
            self.ax.contourf(*self.grid, inside, levels=[0.5, 1.5], colors=fill)
            self.line(inside, 0.5, 1.0)
        return [_key("boundary", 1.0)]

    # Regressors

    def draw_values(self, points: NDArray[np.float64], targets: NDArray[Any]) -> list[Artist]:
        from matplotlib.colors import Normalize
        from matplotlib.ticker import MaxNLocator

        values = self.values(self.estimator.predict)
        # One scale for what is known and what is learned; white edges tell points from the ground.
        low = float(min(values.min(), targets.min()))
        high = float(max(values.max(), targets.max()))
        if low == high:
            low, high = low - 0.5, high + 0.5
        levels = MaxNLocator(_STEPS).tick_values(low, high)
        scale = Normalize(levels[0], levels[-1])
        ground = self.ax.contourf(*self.grid, values, levels=levels, cmap="viridis", norm=scale)
        for level in levels:
            self.line(values, level, 0.5, shade="white")
        dots = self.ax.scatter(
            points[:, 0],
            points[:, 1],
            c=targets,
            cmap="viridis",
            norm=scale,
            s=26,
            edgecolors="white",
            linewidths=0.8,
            label=f"{len(points)} rows, the colour is y",
            zorder=3,
        )
        bar = self.ax.figure.colorbar(ground, ax=self.ax, pad=0.02, label="value f")
        bar.outline.set_visible(False)
        return [dots]

    # Detectors

    def draw_inside(self, points: NDArray[np.float64]) -> list[Artist]:
        values = self.values(self.estimator.decision_function)
        # So that a boundary outside the values is none, and the fill is whole.
        reach = max(1.0, 1.1 * float(np.abs(values).max()))
        if values.max() > 0.0:
            levels = np.append(np.linspace(0.0, values.max(), 6)[:-1], reach)
            tints = [tint(BLUE, share) for share in np.linspace(0.1, 0.4, 5)]
            self.ax.contourf(*self.grid, values, levels=levels, colors=tints)
        self.line(values, 0.0, 1.8)
        inside = np.asarray(self.estimator.predict(self.frame(points))) > 0
        handles = _dots(self.ax, points[inside], BLUE, f"{inside.sum()} inside")
        handles += _dots(self.ax, points[~inside], RED, f"{(~inside).sum()} outside")
        return [*handles, _key("boundary, f = 0", 1.8)]


def _dots(ax: Axes, points: NDArray[np.float64], shade: str, label: str) -> list[Artist]:
    return [*ax.plot(*points.T, ".", color=shade, markersize=5, label=label, zorder=3)]


def _key(label: str, width: float, style: Literal["-", "--"] = "-") -> Artist:
    """Return a line for the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=INK, linewidth=width, linestyle=style, label=label)


def _frame_of(X: Any) -> Any:
    """Return what makes rows like those of X: with the names of its columns, if it has any."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return lambda rows: rows
    return lambda rows: type(X)(dict(zip(columns, rows.T, strict=True)))


def _grid(points: NDArray[np.float64], resolution: int, share: float) -> NDArray[np.float64]:
    """Coordinates of a grid around the points, shape (2, resolution, resolution).

    `share` of the extent of the points is left free on each side.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    # Some space around the outermost points, even if they all lie on a line.
    space = np.where(high > low, share * (high - low), 0.5)
    sides = np.linspace(low - space, high + space, resolution)
    return np.stack(np.meshgrid(sides[:, 0], sides[:, 1]))
