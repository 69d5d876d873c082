"""Classifiers of one machine for each class, or of one for two."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from mercer._data import MatrixLike, RowsLike, length
from mercer._kernel_rows import KernelRows
from mercer._params import naming

__all__ = ["KernelClassifier", "checked_target"]


def checked_target(y: ArrayLike, X: RowsLike) -> NDArray[Any]:
    """Return one target for each row, else raise."""
    with naming("y"):
        if y is None:
            raise ValueError(
                "y must be given: it requires y to be passed, but the target y is None"
            )
        target: NDArray[Any] = column_or_1d(np.asarray(y), warn=True)
    if target.dtype.kind == "f" and not np.isfinite(target).all():
        raise ValueError("y must be finite, got NaN or infinity")
    n_rows = length(X)
    if len(target) != n_rows:
        raise ValueError(
            f"y must have one value for each row of X, got {len(target)} for {n_rows} rows"
        )
    return target


class KernelClassifier(ClassifierMixin, KernelRows):
    """Base of classifiers whose machines are linear functions in feature space."""

    classes_: NDArray[Any]
    dual_coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    def _class_numbers(self, y: ArrayLike, X: RowsLike) -> NDArray[np.int64]:
        """Note the classes and return the number of that of each row."""
        target = checked_target(y, X)
        check_classification_targets(target)
        self.classes_, numbers = np.unique(target, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must have at least two classes, got {len(self.classes_)} class")
        return numbers

    @property
    def _machine_classes(self) -> range:
        """The class that each machine tells from the others."""
        return range(1, 2) if len(self.classes_) == 2 else range(len(self.classes_))

    def decision_function(self, X: MatrixLike) -> NDArray[np.float64]:
        """Return the values of the machines.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
            Positive for the second class of two; else the larger, the more likely is the class.
        """
        check_is_fitted(self)
        values = self._new_values(X) @ self.dual_coef_.T + self.intercept_
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """Return the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The classes.
        """
        values = self.decision_function(X)
        chosen = values.argmax(axis=1) if values.ndim == 2 else (values > 0.0).astype(np.intp)
        return self.classes_[chosen]  # type: ignore[no-any-return]
