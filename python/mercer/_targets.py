"""Targets of estimators outside `mercer.svm`: one for each row, checked."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from mercer._data import RowsLike, length
from mercer._params import naming

__all__ = ["check_labels", "checked_classes", "checked_target", "several_classes"]


def checked_target(y: ArrayLike, X: RowsLike, *, columns: bool = False) -> NDArray[Any]:
    """Return one target for each row, else raise; one row of targets if `columns` are allowed."""
    with naming("y"):
        if y is None:
            raise ValueError(
                "y must be given: it requires y to be passed, but the target y is None"
            )
        target: NDArray[Any] = np.asarray(y)
        if not columns or target.ndim != 2 or target.shape[1] == 1:
            target = column_or_1d(target, warn=True)
    if target.dtype.kind == "f" and not np.isfinite(target).all():
        raise ValueError("y must be finite, got NaN or infinity")
    n_rows = length(X)
    if len(target) != n_rows:
        raise ValueError(
            f"y must have one value for each row of X, got {len(target)} for {n_rows} rows"
        )
    return target


def check_labels(y: NDArray[Any]) -> None:
    """Raise unless these may be classes."""
    with naming("y"):
        if y.dtype.kind == "O" and y.ndim == 1:
            kinds = sorted({type(label).__name__ for label in y})
            if len(kinds) > 1:
                raise ValueError(
                    f"Unknown label type: y has labels of several types, {', '.join(kinds[:-1])} "
                    f"and {kinds[-1]}, which cannot be put in order. Make them all strings or all "
                    "numbers"
                )
        check_classification_targets(y)


def checked_classes(y: ArrayLike, X: RowsLike) -> NDArray[Any]:
    """Return one class for each row, else raise."""
    target = checked_target(y, X)
    check_labels(target)
    return target


def several_classes(target: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes, of which there must be two, and the number of that of each row."""
    classes, numbers = np.unique(target, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must have at least two classes, got {len(classes)} class")
    return classes, numbers.astype(np.int64)
