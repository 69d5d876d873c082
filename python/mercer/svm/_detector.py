"""What the machines without labels share: training on rows alone, scores, inside and outside."""

from abc import abstractmethod
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin

from mercer import _core
from mercer._data import RowsLike, length, weighted_rows
from mercer._params import check_choice, check_nu
from mercer.svm._base import BaseKernelMachine, Problem
from mercer.svm._docs import MACHINE, documented
from mercer.svm._state import one_number
from mercer.svm._types import Callback, Gamma, KernelLike, Solver

__all__ = ["BaseDetector"]

_Self = TypeVar("_Self", bound="BaseDetector")


class BaseDetector(OutlierMixin, BaseKernelMachine):
    """Base of the machines that draw a boundary around the data."""

    n_iter_: int
    offset_: NDArray[np.float64]

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float | Literal["auto"] = "auto",
        verbose: bool | int = False,
        max_iter: int = -1,
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        solver: Solver = "smo",
        eta: float = 1.0,
        max_time: float | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        callback: Callback | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.loss = loss
        self.solver = solver
        self.eta = eta
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.callback = callback

    @abstractmethod
    def _formulation(self, nu: float, squared: bool) -> _core.Formulation:
        """Return what is to be trained."""

    @abstractmethod
    def score_samples(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute how much each row is like those trained on."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_nu(self.nu)
        check_choice("loss", self.loss, ("hinge", "squared_hinge"))

    @documented(MACHINE)
    def fit(
        self: _Self, X: RowsLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> _Self:
        """Train on rows.

        Parameters
        ----------
        {X}
        y : object, default=None
            Not used, here by convention.
        {sample_weight}

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        return self._refit(X, None, sample_weight)

    def _fit(self, X: RowsLike, y: None, sample_weight: ArrayLike | None) -> None:
        self._check_parameters()
        X = self._check_rows(X)
        keep, weight = weighted_rows(sample_weight, length(X) or 0)
        formulation = self._formulation(float(self.nu), self.loss == "squared_hinge")
        self._train(X, keep, weight, Problem(formulation, None, weight))
        self.n_iter_ = self.report_.iterations

    @documented(MACHINE)
    def decision_function(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute how far inside the boundary each row lies, negative if outside.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples,)
            The values, ``score_samples(X) - offset_``.
        """
        model = self._snapshot()
        return model.score_samples(X) - one_number("offset_", model.offset_)

    @documented(MACHINE)
    def predict(self, X: RowsLike) -> NDArray[np.intp]:
        """Tell which rows are inside the boundary.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples,)
            1 for rows inside or on the boundary, -1 for outliers.
        """
        return np.where(self.decision_function(X) >= 0.0, 1, -1).astype(np.intp)
