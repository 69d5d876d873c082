"""What the regressors share: numbers to learn, their costs, one function to predict with."""

from abc import abstractmethod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from mercer import _core
from mercer._batches import streaming
from mercer._data import RowsLike, scaled, weighted_rows
from mercer._params import check_positive
from mercer.svm._base import BaseKernelMachine, Problem
from mercer.svm._docs import MACHINE, documented
from mercer.svm._shared import recalled

__all__ = ["BaseRegressor"]

_Self = TypeVar("_Self", bound="BaseRegressor")


class BaseRegressor(RegressorMixin, BaseKernelMachine):
    """Base of the regressors, which pose the problem."""

    C: Any

    n_iter_: int

    # Whether y may have several columns.
    _several_targets = False

    @abstractmethod
    def _formulation(self) -> _core.Formulation:
        """Return what is to be trained."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_cost()

    def _check_cost(self) -> None:
        check_positive("C", self.C)

    @documented(MACHINE)
    def fit(
        self: _Self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> _Self:
        """Train on rows and their values.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The values to learn. Several for each row are for `SVR` only.
        {sample_weight}

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        return self._refit(X, y, sample_weight)

    def _fit(self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        self._check_parameters()
        X, target = self._check_rows_and_target(X, y, numeric=True, several=self._several_targets)
        keep, weight = weighted_rows(sample_weight, len(target))
        cost = scaled(weight, float(self.C), "C times sample_weight")
        problem = Problem(self._formulation(), target[keep], cost)
        self._train(X, keep, weight, problem, machines=target.shape[1] if target.ndim > 1 else 1)
        self.n_iter_ = self.report_.iterations

    @streaming
    @documented(MACHINE)
    def predict(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute the value of each row.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            The values.
        """
        model = self._snapshot()
        known = recalled(model, X)
        if known is not None:
            return known.copy()
        return model._decide(X, lambda values: values if values.shape[1] > 1 else values[:, 0])
