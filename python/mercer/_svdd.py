"""Support vector data description: a sphere around the data."""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer._data import RowsLike, joined
from mercer._outliers import BaseOutlierDetector
from mercer._sources import source_of

__all__ = ["SVDD"]


class SVDD(BaseOutlierDetector):
    """Support vector data description: the smallest sphere around the data, but for a few outliers.

    The sphere lies in the feature space of the kernel. Its radius R and its centre
    a = sum_i beta_i phi(x_i) solve ::

        minimise  R^2 + 1/(nu m) sum_i w_i loss(|phi(x_i) - a|^2 - R^2)

    with the sample weights w_i, their sum m, and loss(t) = max(0, t) ('hinge') or max(0, t)^2
    ('squared_hinge'), and beta solves the quadratic programme ::

        minimise  1/2 beta' K beta - 1/2 sum_i K_ii beta_i + sum_i r_i beta_i^2 / 2
        subject to  0 <= beta_i <= u_i,  sum of beta = 1

    with u_i = w_i / (nu m) and r_i = 0 for the hinge loss, no upper bound and
    r_i = nu m / (4 w_i) for its square. Weights behave like repeated rows. For a kernel with
    constant k(z, z), such as 'rbf', the hinge loss draws the boundary of `OneClassSVM`. Training
    uses all processors, can be interrupted, and stops when the optimality conditions hold to `tol`.

    A precomputed kernel matrix does not hold k(z, z) of the rows to predict. If the diagonal of the
    training matrix is constant, that constant is used; otherwise predicting is an error.

    Parameters
    ----------
    kernel : str, object of `mercer.kernels` or callable, default='rbf'
        'linear', 'poly', 'rbf', 'sigmoid', 'laplacian', 'imq' (inverse multiquadric with c = 1) or
        'precomputed' (`X` is the kernel matrix); or an object such as
        ``RBF(sigma=1.5) + 0.1 * Linear()``, whose own parameters count instead of `degree`,
        `gamma` and `coef0`; or a callable ``k(A, B)`` that returns an array of shape
        (len(A), len(B)). A callable is given blocks of rows of `X`, whatever these are, during
        training, and the support vectors as `B` at prediction.
    degree : int, default=3
        Degree of 'poly', not negative.
    gamma : {'scale', 'auto'} or float, default='scale'
        Coefficient of 'rbf', 'poly', 'sigmoid' and 'laplacian', not negative. 'scale' is
        1 / (n_features * X.var()), where rows count by their sample weight; 'auto' is
        1 / n_features.
    coef0 : float, default=0.0
        Constant term of 'poly' and 'sigmoid'.
    tol : float, default=1e-3
        Largest violation of the optimality conditions to accept.
    nu : float, default=0.5
        With the hinge loss, upper bound on the share of outliers and lower bound on the share of
        support vectors; above 0 and at most 1.
    shrinking : bool, default=True
        Whether to set aside, for a time, coefficients that seem to stay at their bounds.
    cache_size : 'auto' or float, default='auto'
        Memory for kernel values in MB; 'auto' takes what is needed up to a share of what is free.
    verbose : bool, default=False
        Whether to show progress on stderr.
    max_iter : int, default=-1
        Largest number of iterations, which are epochs for 'adatron', -1 for no limit.
    loss : {'hinge', 'squared_hinge'}, default='hinge'
        How outliers are counted: by how far outside they are, or by the square of that. With the
        square, `nu` bounds no share: it is twice the mean of max(0, |phi(x_i) - a|^2 - R^2). Where
        the data are closer together than that, R^2 is negative and every row outside.
    solver : {'smo', 'adatron'}, default='smo'
        The training algorithm: sequential minimal optimisation, or the Kernel-Adatron, which goes
        through all coefficients one at a time, in an order drawn anew for every epoch (always the
        same for the same data). Both end at the same solution, with the same `tol`.
    eta : float, default=1.0
        Length of the steps of 'adatron' as a share of those that would be best alone: above 0 and
        below 2. Not used by 'smo'.
    max_time : float, default=None
        Seconds after which training stops, None for no limit.
    n_jobs : int, default=None
        Number of threads. None uses every available processor, but one inside a joblib worker; -1
        uses every processor and -2 all but one.

    Attributes
    ----------
    coef_ : ndarray or sparse matrix of shape (1, n_features)
        The centre of the sphere; only for a linear kernel.
    dual_coef_ : ndarray or sparse matrix of shape (1, n_SV)
        The coefficients of the support vectors in the centre, which sum to 1; sparse if `X` was.
    fit_status_ : int
        0 if the solver converged, 1 if a limit ended the fit.
    history_ : dict of ndarray
        Only with ``solver='adatron'``: "objective" (the dual objective, maximised, at the bias of
        the epoch), "margin" (NaN here), "bias" and "gap" (largest violation of the optimality
        conditions), with an entry for each epoch.
    intercept_ : ndarray of shape (1,)
        Minus the squared norm of the centre: score_samples of a row z is
        2 sum_i beta_i k(x_i, z) - k(z, z) + intercept_.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.
    n_iter_ : int
        Number of iterations; epochs for 'adatron'.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    offset_ : ndarray of shape (1,)
        -R^2: decision_function = score_samples - offset_.
    radius_ : float
        R, the radius of the sphere; 0 if R^2 is negative.
    shape_fit_ : tuple of int
        The shape of `X`.
    support_ : ndarray of shape (n_SV,)
        The rows that are support vectors.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
        These rows, in the precision of `X`. Empty for a precomputed kernel; for a callable, in the
        type of `X`.
    report_ : Report
        What the solver did: `status`, `gap`, `objective`, `iterations`, `kernel_evaluations`,
        `cache_hits`, `cache_misses` and `seconds`.

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

    radius_: float

    # k(x, x) of a precomputed kernel, None if it is not constant; None for other kernels.
    _fit_diagonal: float | None

    _fit_core = staticmethod(_core.fit_svdd)

    def _set_results(self, fit: _core.Fit, rows: RowsLike) -> None:
        assert fit.squared_radius is not None
        size = abs(fit.squared_radius) + abs(self.intercept_[0])
        squared_radius = fit.squared_radius + 2.0 * self._slack(size)
        self.offset_ = np.array([-squared_radius])
        self.radius_ = sqrt(max(0.0, squared_radius))
        self._fit_diagonal = source_of(self._fit_kernel).constant_diagonal(rows)

    def _machines(self) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        # The core computes the scores, all but k(z, z).
        n_support, dual_coef, intercept = super()._machines()
        return n_support, 2.0 * dual_coef, intercept

    def score_samples(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute minus the squared distance of each row to the centre of the sphere.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
                (n_samples, n_samples_fit)
            The rows, or their kernel values with all training rows if the kernel is
            'precomputed'.

        Returns
        -------
        ndarray of shape (n_samples,)
            The scores.
        """
        source, expansion, X, fitted, n_threads = self._prediction(X)
        diagonal = joined(source.diagonal(X, self._fit_diagonal))
        values = joined(source.decision(expansion, X, fitted, n_threads))
        scores: NDArray[np.float64] = values[:, 0] - diagonal
        return scores
