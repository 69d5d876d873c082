"""A regression and its tube."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from mercer.plots._style import (
    BLUE,
    GREY,
    RED,
    TEXTS,
    column_names,
    drawing,
    legend_below,
    machine_of,
    matched,
    rings,
    tint,
)
from mercer.svm._docs import documented

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["regression_tube"]

#: Points of the curve of a function of one feature.
_POINTS = 500


@documented(TEXTS)
def regression_tube(model: Any, X: Any, y: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw a regression, and the tube around it within which errors cost nothing.

    With one feature, f is a curve over it. With several, the values of the rows are drawn over f,
    which is then the diagonal. Rows outside the tube are red, support vectors are ringed: they are
    the rows outside the tube or on its edge.

    Parameters
    ----------
    model : fitted regressor
        Anything with ``predict``: a machine, or a pipeline that ends in one. The tube needs
        ``epsilon`` or, of `NuSVR`, ``epsilon_``; losses without a tube have none.
    X : array-like of shape (n_samples, n_features)
        The rows the model was fitted on.
    y : array-like of shape (n_samples,)
        Their values.
    {ax}

    Returns
    -------
    {axes}

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> from mercer.plots import regression_tube
    >>> X = np.linspace(0, 6, 60)[:, np.newaxis]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(40 * X[:, 0])
    >>> ax = regression_tube(SVR(C=10, epsilon=0.2).fit(X, y), X, y)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['f', 'tube, f ± 0.2', '60 rows inside', '... support vectors']
    """
    check_is_fitted(model)
    fitted = np.asarray(model.predict(X), dtype=np.float64)
    if fitted.ndim != 1:
        raise ValueError(f"model must predict one value for each row, got {fitted.shape[1]}")
    values = matched(y, len(fitted), "value").astype(np.float64)
    names = column_names(X, np.shape(X)[1])
    ax = drawing(ax)
    if len(names) == 1:
        rows = np.asarray(X, dtype=np.float64)
        across = rows[:, 0]
        curve, heights = _curve(model, X, across)
        ax.set(xlabel=names[0] or "x", ylabel=getattr(y, "name", None) or "y")
    else:
        across, curve = fitted, np.sort(fitted)[[0, -1]]
        heights = curve
        ax.set(xlabel="f", ylabel=getattr(y, "name", None) or "y")
    half = _half_width(machine_of(model))
    ax.plot(curve, heights, color=BLUE, linewidth=2.0, label="f", zorder=2)
    if half is not None:
        ax.fill_between(
            curve,
            heights - half,
            heights + half,
            color=tint(BLUE, 0.18),
            linewidth=0.0,
            label=f"tube, f ± {half:.3g}",
            zorder=1,
        )
    _draw_rows(ax, np.column_stack([across, values]), np.abs(values - fitted), half)
    rings(ax, model, np.column_stack([across, values]))
    ax.grid(color=tint(GREY, 0.3), linewidth=0.6)
    legend_below(ax)
    return ax


def _draw_rows(
    ax: Axes, points: NDArray[np.float64], residuals: NDArray[np.float64], half: float | None
) -> None:
    if half is None:
        ax.plot(*points.T, ".", color=GREY, markersize=6, label=f"{len(points)} rows", zorder=3)
        return
    # On the edge up to what a solver leaves open, which belongs to the tube.
    slack = 1e-3 * max(half, float(np.ptp(points[:, 1])))
    outside = residuals > half + slack
    for rows, shade, where in ((~outside, GREY, "inside"), (outside, RED, "outside")):
        if rows.any():
            many = "" if rows.sum() == 1 else "s"
            label = f"{rows.sum()} row{many} {where}"
            ax.plot(*points[rows].T, ".", color=shade, markersize=6, label=label, zorder=3)


def _curve(
    model: Any, X: Any, across: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points along the only feature, and f there."""
    low, high = across.min(), across.max()
    space = 0.02 * (high - low) if high > low else 0.5
    curve = np.linspace(low - space, high + space, _POINTS)
    columns = getattr(X, "columns", None)
    rows = curve[:, np.newaxis] if columns is None else type(X)({columns[0]: curve})
    return curve, np.asarray(model.predict(rows), dtype=np.float64)


def _half_width(machine: Any) -> float | None:
    """Return half the width of the tube, None for losses without one."""
    learned = getattr(machine, "epsilon_", None)
    if learned is not None:
        return float(learned)
    given = getattr(machine, "epsilon", None)
    tubular = "epsilon_insensitive" in getattr(machine, "loss", "epsilon_insensitive")
    return float(given) if given is not None and tubular else None
