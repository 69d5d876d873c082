"""What the regressors share: numbers to learn, their costs, one function to predict with."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from mercer import _core
from mercer._base import BaseKernelMachine
from mercer._data import RowsLike, scaled, weighted_rows
from mercer._params import check_positive

__all__ = ["BaseRegressor"]

_Self = TypeVar("_Self", bound="BaseRegressor")


class BaseRegressor(RegressorMixin, BaseKernelMachine):
    """Base of the regressors, which pose the problem."""

    C: Any

    n_iter_: int

    @abstractmethod
    def _problem(
        self, target: NDArray[np.float64], cost: NDArray[np.float64]
    ) -> Callable[..., _core.Fit]:
        """Return the call of the core for rows with these targets and costs of errors."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive("C", self.C)

    def fit(
        self: _Self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> _Self:
        """Train on rows and their values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
                (n_samples, n_samples)
            The rows, or the kernel matrix if the kernel is 'precomputed', or any sequence that
            a callable kernel understands. float32 stays float32.
        y : array-like of shape (n_samples,)
            The values to learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A weight of two is worth the row twice; rows of zero or negative
            weight are left out.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self._check_parameters()
        X, target = self._check_rows_and_target(X, y, numeric=True)
        keep, weight = weighted_rows(sample_weight, len(target))
        cost = scaled(weight, float(self.C), "C times sample_weight")
        self._train(X, keep, weight, self._problem(target[keep], cost))
        self.n_iter_ = self.report_.iterations
        self._warn_unless_converged()
        return self

    def predict(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute the value of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
                (n_samples, n_samples_fit)
            The rows, or their kernel values with all training rows if the kernel is
            'precomputed'.

        Returns
        -------
        ndarray of shape (n_samples,)
            The values.
        """
        return self._decide(X, lambda values: values[:, 0])
