"""What the machines without labels share: training on rows alone, scores, inside and outside."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin

from mercer import _core
from mercer._base import BaseKernelMachine
from mercer._data import RowsLike, length, weighted_rows
from mercer._params import check_choice, check_nu

__all__ = ["BaseOutlierDetector"]

_Self = TypeVar("_Self", bound="BaseOutlierDetector")

#: Rounding of a score beside the size of its terms.
_ROUNDING = 32.0 * float(np.finfo(np.float64).eps)


class BaseOutlierDetector(OutlierMixin, BaseKernelMachine):
    """Base of the machines that draw a boundary around the data."""

    n_iter_: int
    offset_: NDArray[np.float64]

    #: The function of the core that trains.
    _fit_core: ClassVar[Callable[..., _core.Fit]]

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float | str = "auto",
        verbose: bool | int = False,
        max_iter: int = -1,
        loss: str = "hinge",
        solver: str = "smo",
        eta: float = 1.0,
        max_time: float | None = None,
        n_jobs: int | None = None,
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

    @abstractmethod
    def score_samples(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute how much each row is like those trained on."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_nu(self.nu)
        check_choice("loss", self.loss, ("hinge", "squared_hinge"))

    def fit(
        self: _Self, X: RowsLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> _Self:
        """Train on rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
                (n_samples, n_samples)
            The rows, or the kernel matrix if the kernel is 'precomputed', or any sequence that
            a callable kernel understands. float32 stays float32.
        y : object, default=None
            Not used, here by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A weight of two is worth the row twice; rows of zero or negative
            weight are left out.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self._check_parameters()
        X = self._check_rows(X)
        keep, weight = weighted_rows(sample_weight, length(X) or 0)
        problem = partial(
            self._fit_core,
            weight=weight,
            nu=float(self.nu),
            squared=self.loss == "squared_hinge",
        )
        self._train(X, keep, weight, problem)
        self.n_iter_ = self.report_.iterations
        self._warn_unless_converged()
        return self

    def _slack(self, size: float) -> float:
        """Return how far outside a row may seem that lies on the boundary.

        The support vectors there are outside or inside by what the solver left to do, and by the
        rounding of scores of this size. Moved outwards by that much, the boundary has all of them
        inside, and at most the share `nu` of the rows outside.
        """
        return max(0.0, min(self.report_.gap, float(self.tol))) + _ROUNDING * size

    def decision_function(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute how far inside the boundary each row lies, negative if outside.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
                (n_samples, n_samples_fit)
            The rows, or their kernel values with all training rows if the kernel is
            'precomputed'.

        Returns
        -------
        ndarray of shape (n_samples,)
            The values, ``score_samples(X) - offset_``.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: RowsLike) -> NDArray[np.intp]:
        """Tell which rows are inside the boundary.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
                (n_samples, n_samples_fit)
            The rows, or their kernel values with all training rows if the kernel is
            'precomputed'.

        Returns
        -------
        ndarray of shape (n_samples,)
            1 for rows inside or on the boundary, -1 for outliers.
        """
        return np.where(self.decision_function(X) >= 0.0, 1, -1).astype(np.intp)
