"""The scores of a grid search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.plots._style import RED, TEXTS, drawing, legend_below
from mercer.svm._docs import documented

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["search"]


@documented(TEXTS)
def search(search: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the scores of a grid search over C and gamma, or over any two parameters.

    Every square is a pair of values, and its colour the best mean score of the candidates with
    that pair. The best of all is marked.

    Parameters
    ----------
    search : fitted search
        A GridSearchCV of this package or of scikit-learn. Two parameters have two values or
        more: those whose names end in ``C`` and ``gamma`` if there are others too.
    {ax}

    Returns
    -------
    {axes}

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
    ax = drawing(ax)
    image = ax.imshow(table, origin="lower", aspect="auto", cmap="viridis")
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(image, ax=ax, label="mean score on the rows held out", pad=0.02)
    bar.outline.set_visible(False)
    for axis, name, ticks in ((ax.yaxis, rows, values[0]), (ax.xaxis, columns, values[1])):
        axis.set_label_text(name.rpartition("__")[2])
        axis.set_ticks(range(len(ticks)), [f"{tick:.4g}" for tick in ticks])
    best = np.unravel_index(np.nanargmax(table), table.shape)
    ax.plot(
        best[1],
        best[0],
        "*",
        color=RED,
        markeredgecolor="white",
        markersize=16,
        label=f"best: {table[best]:.3f}",
    )
    legend_below(ax)
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
