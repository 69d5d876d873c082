"""The one-class support vector machine: a hyperplane around the data."""

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer._data import RowsLike
from mercer._outliers import BaseOutlierDetector

__all__ = ["OneClassSVM"]


class OneClassSVM(BaseOutlierDetector):
    """One-class support vector machine, in place of scikit-learn's `OneClassSVM`.

    It separates the training rows, but for a few outliers, from the origin of the kernel's feature
    space by f(z) = w.phi(z) - rho = sum_i beta_i k(x_i, z) - rho, which solves ::

        minimise  1/2 |w|^2 + 1/(nu m) sum_i w_i loss(rho - w.phi(x_i)) - rho

    with the sample weights w_i, their sum m, and loss(t) = max(0, t) ('hinge') or max(0, t)^2
    ('squared_hinge'). Scaled by nu m, as in scikit-learn, beta solves the quadratic programme ::

        minimise  1/2 beta' K beta + sum_i r_i beta_i^2 / 2
        subject to  0 <= beta_i <= u_i,  sum of beta = nu m

    with u_i = w_i and r_i = 0 for the hinge loss, no upper bound and r_i = nu m / (2 w_i) for its
    square. Weights behave like repeated rows. Training uses all processors, can be interrupted,
    and stops when the optimality conditions hold to `tol`.

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
        square, `nu` bounds no share: it is twice the mean of max(0, rho - w.phi(x_i)).
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
        The weights of the features; only for a linear kernel.
    dual_coef_ : ndarray or sparse matrix of shape (1, n_SV)
        The coefficients of the support vectors; sparse if `X` was.
    fit_status_ : int
        0 if the solver converged, 1 if a limit ended the fit.
    history_ : dict of ndarray
        Only with ``solver='adatron'``: "objective" (the dual objective, maximised, at the bias of
        the epoch), "margin" (NaN here), "bias" and "gap" (largest violation of the optimality
        conditions), with an entry for each epoch.
    intercept_ : ndarray of shape (1,)
        The constant -rho of the decision function.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.
    n_iter_ : int
        Number of iterations; epochs for 'adatron'.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    offset_ : ndarray of shape (1,)
        rho: decision_function = score_samples - offset_.
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
    >>> from mercer import OneClassSVM
    >>> X = [[0], [0.44], [0.45], [0.46], [1]]
    >>> model = OneClassSVM(gamma="auto").fit(X)
    >>> model.predict(X)
    array([-1,  1,  1,  1, -1])
    >>> model.score_samples(X).round(2)
    array([1.78, 2.05, 2.06, 2.06, 1.73])
    """

    _fit_core = staticmethod(_core.fit_one_class)

    def _set_results(self, fit: _core.Fit, rows: RowsLike) -> None:
        self.intercept_ = self.intercept_ + self._slack(abs(self.intercept_[0]))
        self.offset_ = -self.intercept_

    def _machines(self) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        # The core computes the scores; the offset comes later.
        n_support, dual_coef, intercept = super()._machines()
        return n_support, dual_coef, np.zeros_like(intercept)

    def score_samples(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute sum_i beta_i k(x_i, z) for each row z: the larger, the more like the others.

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
        return self._decide(X, lambda values: values[:, 0])
