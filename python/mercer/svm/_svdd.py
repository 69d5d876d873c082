"""Support vector data description: a sphere around the data."""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer._batches import streaming
from mercer._data import RowsLike, joined
from mercer._params import check_real
from mercer.svm._detector import BaseDetector
from mercer.svm._docs import MACHINE, documented
from mercer.svm._shared import FitLike
from mercer.svm._state import freeze

__all__ = ["SVDD"]


@documented(MACHINE)
class SVDD(BaseDetector):
    """Support vector data description: the smallest sphere around the data, outliers left out.

    The sphere lies in the feature space of the kernel. Its radius R and its centre
    a = sum_i beta_i phi(x_i) solve ::

        minimise  R^2 + 1/(nu m) sum_i w_i loss(|phi(x_i) - a|^2 - R^2)

    with the sample weights w_i, their sum m, and loss(t) = max(0, t) ('hinge') or max(0, t)^2
    ('squared_hinge'), and beta solves the quadratic programme ::

        minimise  1/2 beta' K beta - 1/2 sum_i K_ii beta_i + sum_i r_i beta_i^2 / 2
        subject to  0 <= beta_i <= u_i,  sum of beta = 1

    with u_i = w_i / (nu m) and r_i = 0 for the hinge loss, and no upper bound and
    r_i = nu m / (4 w_i) for its square. If k(z, z) is constant, as for 'rbf', the hinge loss draws
    the boundary of `OneClassSVM`. Training uses all processors, can be interrupted, and stops when
    the optimality conditions hold to `tol`. Support vectors on the boundary count as inside.

    A precomputed kernel matrix does not hold k(z, z) of the rows to predict. If the diagonal of the
    training matrix is constant, that constant is used; otherwise predicting is an error.

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
        square, `nu` bounds no share: it is twice the mean of max(0, |phi(x_i) - a|^2 - R^2). If
        the data are closer together than that, R^2 is negative and every row is outside.
    {solver}
    {eta}
    {max_time}
    {n_jobs}
    {warm_start}
    {callback}

    Attributes
    ----------
    coef_ : ndarray or sparse matrix of shape (1, n_features)
        The centre of the sphere; only for a linear kernel.
    dual_coef_ : ndarray or sparse matrix of shape (1, n_SV)
        Coefficients of the support vectors in the centre, which sum to 1; sparse if `X` was.
    {fit_status_}
    {history_}
    intercept_ : ndarray of shape (1,)
        Minus the squared norm of the centre: score_samples of a row z is
        2 sum_i beta_i k(x_i, z) - k(z, z) + intercept_.
    {n_features_in_}
    {feature_names_in_}
    {n_iter_}
    {n_support_}
    offset_ : ndarray of shape (1,)
        -R^2: decision_function = score_samples - offset_.
    radius_ : float
        The radius R of the sphere, 0 if R^2 is negative.
    {shape_fit_}
    {support_}
    {support_vectors_}
    {report_}

    Examples
    --------
    >>> from mercer import SVDD
    >>> X = [[-1.0, 0.0], [1.0, 0.0], [0.0, 0.5], [0.0, -0.5]]
    >>> model = SVDD(kernel="linear", nu=0.1, tol=1e-6).fit(X)
    >>> round(model.radius_, 3), model.coef_.round(3)  # the centre
    (1.0, array([[0., 0.]]))
    >>> model.decision_function([[0.0, 0.0], [0.0, 2.0]]).round(3)
    array([ 1., -3.])
    >>> model.predict([[0.0, 0.0], [0.0, 2.0]])
    array([ 1, -1])
    """

    # k(x, x) of a precomputed kernel, None if it is not constant; None for other kernels.
    _fit_diagonal: float | None

    def _formulation(self, nu: float, squared: bool) -> _core.Formulation:
        return _core.Formulation.svdd(nu=nu, squared=squared)

    def _set_results(self, fit: FitLike) -> None:
        assert fit.squared_radius is not None
        self.offset_ = freeze(np.array([-fit.squared_radius]))
        self._fit_diagonal = fit.diagonal

    @property
    def radius_(self) -> float:
        """The radius of the sphere; 0 if its square, ``-offset_``, is negative."""
        return sqrt(max(0.0, -float(self.offset_[0])))

    def _machines(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        # The core computes the scores, all but k(z, z).
        n_support, dual_coef, intercept = super()._machines()
        return n_support, 2.0 * dual_coef, intercept

    @streaming
    @documented(MACHINE)
    def score_samples(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute minus the squared distance of each row to the centre of the sphere.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples,)
            The scores.
        """
        model = self._snapshot()
        source, prediction = model._prediction(X)
        constant = model._fit_diagonal
        if constant is not None:
            constant = check_real("_fit_diagonal", constant, "a finite number")
        diagonal = joined(source.diagonal(prediction.X, constant))
        values = joined(source.decision(prediction))
        scores: NDArray[np.float64] = values[:, 0] - diagonal
        return scores
