"""The one-class support vector machine: a hyperplane around the data."""

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer._batches import streaming
from mercer._data import RowsLike
from mercer.svm._detector import BaseDetector
from mercer.svm._docs import MACHINE, documented
from mercer.svm._results import margins_of
from mercer.svm._state import freeze, one_number

__all__ = ["OneClassSVM"]


@documented(MACHINE)
class OneClassSVM(BaseDetector):
    """One-class support vector machine, a replacement for scikit-learn's `OneClassSVM`.

    It separates the training rows, except for a few outliers, from the origin of the kernel's
    feature space by f(z) = w.phi(z) - rho = sum_i beta_i k(x_i, z) - rho, which solves ::

        minimise  1/2 |w|^2 + 1/(nu m) sum_i w_i loss(rho - w.phi(x_i)) - rho

    with the sample weights w_i, their sum m, and loss(t) = max(0, t) ('hinge') or max(0, t)^2
    ('squared_hinge'). Scaled by nu m, as in scikit-learn, beta solves the quadratic programme ::

        minimise  1/2 beta' K beta + sum_i r_i beta_i^2 / 2
        subject to  0 <= beta_i <= u_i,  sum of beta = nu m

    with u_i = w_i and r_i = 0 for the hinge loss, and no upper bound and r_i = nu m / (2 w_i) for
    its square. Training uses all processors, can be interrupted, and stops when the optimality
    conditions hold to `tol`. Support vectors on the boundary count as inside.

    Parameters
    ----------
    {kernel}
    {degree}
    {gamma}
    {coef0}
    {tol}
    nu : float, default=0.5
        With the hinge loss, upper bound on the share of outliers and lower bound on the share of
        support vectors; above 0 and at most 1.
    {shrinking}
    {cache_size}
    {verbose}
    {max_iter}
    loss : {'hinge', 'squared_hinge'}, default='hinge'
        How outliers are charged: by how far outside they are, or by the square of that. With the
        square, `nu` bounds no share: it is twice the mean of max(0, rho - w.phi(x_i)).
    {solver}
    {eta}
    {max_time}
    {n_jobs}
    {warm_start}
    {callback}

    Attributes
    ----------
    {coef_}
    {dual_coef_}
    {fit_status_}
    {history_}
    intercept_ : ndarray of shape (1,)
        The constant of the decision function, -rho. It is ``-offset_``: setting one sets the other.
    margin_ : float
        rho / |w|: the distance of the plane from the origin in feature space.
    {n_features_in_}
    {feature_names_in_}
    {n_iter_}
    {n_support_}
    offset_ : ndarray of shape (1,)
        rho: decision_function = score_samples - offset_.
    {shape_fit_}
    {support_}
    {support_vectors_}
    {report_}

    Examples
    --------
    >>> from mercer import OneClassSVM
    >>> X = [[0], [0.44], [0.45], [0.46], [1]]
    >>> model = OneClassSVM(gamma="auto").fit(X)
    >>> model.predict(X)
    array([-1,  1,  1,  1, -1])
    >>> model.score_samples(X).round(2)
    array([1.78, 2.05, 2.06, 2.06, 1.73])
    """

    def _formulation(self, nu: float, squared: bool) -> _core.Formulation:
        return _core.Formulation.one_class(nu=nu, squared=squared)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The constant -rho of the decision function, which is ``-offset_``."""
        return freeze(-one_number("offset_", self.offset_))

    @intercept_.setter
    def intercept_(self, value: NDArray[np.float64]) -> None:
        self.offset_ = freeze(-one_number("intercept_", value))

    @property
    def margin_(self) -> float:
        """The distance ``rho / |w|`` of the plane from the origin; NaN if w = 0."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("margin_ is only available for a fitted model")
        margin = margins_of(self.report_)
        return float(one_number("offset_", self.offset_)[0] * margin)

    def _machines(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        # The core computes the scores; the offset comes later.
        n_support, dual_coef, intercept = super()._machines()
        return n_support, dual_coef, np.zeros_like(intercept)

    @streaming
    @documented(MACHINE)
    def score_samples(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute sum_i beta_i k(x_i, z) for each row z: the larger, the more like the others.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples,)
            The scores.
        """
        return self._snapshot()._decide(X, lambda values: values[:, 0])
