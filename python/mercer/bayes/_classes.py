"""Classifiers of one machine for each class, or of one for two."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer._data import RowsLike
from mercer._kernel_rows import KernelRows
from mercer._targets import checked_classes, several_classes
from mercer.svm._docs import FEATURE_SPACE, documented

__all__ = ["KernelClassifier"]


class KernelClassifier(ClassifierMixin, KernelRows):
    """Base of classifiers whose machines are linear functions in feature space."""

    classes_: NDArray[Any]
    dual_coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    def _class_numbers(self, y: ArrayLike, X: RowsLike) -> NDArray[np.int64]:
        """Note the classes and return the number of that of each row."""
        self.classes_, numbers = several_classes(checked_classes(y, X))
        return numbers

    @property
    def _machine_classes(self) -> range:
        """The class that each machine tells from the others."""
        return range(1, 2) if len(self.classes_) == 2 else range(len(self.classes_))

    @documented(FEATURE_SPACE)
    def decision_function(self, X: RowsLike) -> NDArray[np.float64]:
        """Return the values of the machines.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
            Positive for the second class of two; else the larger, the more likely is the class.
        """
        check_is_fitted(self)
        values = self._new_values(X) @ self.dual_coef_.T + self.intercept_
        return values[:, 0] if len(self.classes_) == 2 else values

    @documented(FEATURE_SPACE)
    def predict(self, X: RowsLike) -> NDArray[Any]:
        """Return the class of each row.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_rows,)
            The classes.
        """
        values = self.decision_function(X)
        chosen = values.argmax(axis=1) if values.ndim == 2 else (values > 0.0).astype(np.intp)
        return self.classes_[chosen]  # type: ignore[no-any-return]
