"""How often a classifier is right, against what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from mercer.plots._style import BLUE, GREY, INK, TEXTS, drawing, matched, tint
from mercer.svm._docs import documented

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["reliability"]


@documented(TEXTS)
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
    {ax}

    Returns
    -------
    {axes}

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
    labels = matched(y, len(probabilities))
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    winners = probabilities.argmax(axis=1)
    said = probabilities[np.arange(len(labels)), winners]
    right = np.asarray(model.classes_)[winners] == labels
    parts = [part for part in np.array_split(np.argsort(said, kind="stable"), bins) if len(part)]
    ax = drawing(ax)
    low = 1.0 / probabilities.shape[1]
    ax.plot([low, 1.0], [low, 1.0], "--", color=INK, linewidth=0.9, label="as often as it says")
    shares = [right[part].mean() for part in parts]
    ax.plot(
        [said[part].mean() for part in parts],
        shares,
        "o-",
        color=BLUE,
        label=f"{len(labels)} rows in {len(parts)} bins",
    )
    ax.set(xlabel="probability of the predicted class", ylabel="share of rows that are right")
    ax.grid(color=tint(GREY, 0.3), linewidth=0.6)
    ax.legend(frameon=False)
    return ax
