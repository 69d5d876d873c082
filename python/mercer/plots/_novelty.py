"""How far inside the boundary of a detector rows lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mercer.plots._style import BLUE, GREY, INK, RED, TEXTS, drawing, legend_below, tint
from mercer.svm._docs import documented

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["novelty"]


@documented(TEXTS)
def novelty(
    model: Any, X: Any, X_new: Any = None, *, bins: int = 40, ax: Axes | None = None
) -> Axes:
    """Draw how far inside the boundary rows lie: those trained on, and new ones beside them.

    Rows are counted by their decision value f, as shares of their set. Left of the boundary f = 0
    rows are novelties, and the legend tells how many are there. For points of the plane,
    `decision_boundary` draws the boundary itself.

    Parameters
    ----------
    model : fitted detector
        Anything with ``decision_function`` that is negative for novelties, such as `OneClassSVM`.
    X : array-like of shape (n_samples, n_features)
        The rows the model was fitted on.
    X_new : array-like of shape (n_rows, n_features), default=None
        Other rows.
    bins : int, default=40
        How many intervals the values are counted in.
    {ax}

    Returns
    -------
    {axes}

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OneClassSVM
    >>> from mercer.plots import novelty
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> model = OneClassSVM(nu=0.1).fit(X)
    >>> ax = novelty(model, X, X + 2.0)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['200 rows trained on, ...% outside', '200 new rows, ...% outside', 'boundary, f = 0']
    """
    check_is_fitted(model)
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    known = np.asarray(model.decision_function(X), dtype=np.float64)
    sets = [(known, "rows trained on", BLUE)]
    if X_new is not None:
        new = np.asarray(model.decision_function(X_new), dtype=np.float64)
        sets.append((new, "new rows", RED))
    edges = _edges(np.concatenate([values for values, _, _ in sets]), bins)
    ax = drawing(ax)
    ax.axvspan(edges[0], 0.0, color=tint(GREY, 0.18), linewidth=0.0, zorder=0)
    for values, what, shade in sets:
        shares = np.histogram(values, edges)[0] / len(values)
        label = f"{len(values)} {what}, {np.mean(values < 0.0):.1%} outside"
        ax.stairs(
            shares,
            edges,
            fill=True,
            facecolor=(shade, 0.35),
            edgecolor=shade,
            linewidth=1.4,
            label=label,
        )
    ax.axvline(0.0, color=INK, linewidth=1.8, label="boundary, f = 0")
    for text, side in (("outside", "left"), ("inside", "right")):
        offset, align = (-6, "right") if side == "left" else (6, "left")
        ax.annotate(
            text,
            (0.0, 1.0),
            (offset, -4),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha=align,
            va="top",
            color=INK,
        )
    ax.set(xlabel="decision value f", ylabel="share of rows", xlim=(edges[0], edges[-1]))
    ax.margins(y=0.12)
    legend_below(ax)
    return ax


def _edges(values: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    """Return the ends of intervals, one of them zero so that no interval is on both sides."""
    low, high = min(values.min(), 0.0), max(values.max(), 0.0)
    if low == high:
        low, high = -0.5, 0.5
    width = (high - low) / bins
    below, above = int(np.ceil(-low / width)), int(np.ceil(high / width))
    edges: NDArray[np.float64] = width * np.arange(-max(below, 1), max(above, 1) + 1)
    return edges
