"""Nu-support vector regression."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer._data import RowsLike
from mercer._params import check_nu
from mercer._regressor import BaseRegressor

__all__ = ["NuSVR"]


class NuSVR(BaseRegressor):
    """Nu-support vector regression, in place of scikit-learn's `NuSVR`.

    The regression of `SVR`, but `nu` takes the place of `epsilon`, which is found in training: at
    most this share of the rows lies outside the tube, and at least this share become support
    vectors. f(z) = w.phi(z) + b = sum_i beta_i k(x_i, z) + b and epsilon >= 0 solve ::

        minimise  1/2 |w|^2 + C (nu epsilon m + sum_i w_i max(0, |y_i - f(x_i)| - epsilon))

    with the sample weights w_i and their sum m. Each beta_i is a difference of two numbers from 0
    to C w_i, and these solve the quadratic programme ::

        minimise  1/2 beta' K beta - y' beta
        subject to  sum of the first = sum of the second = C nu m / 2

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of rows outside the tube and lower bound on the share of support
        vectors, above 0 and at most 1.
    C : float, default=1.0
        How much errors cost, positive and finite.
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
    shrinking : bool, default=True
        Whether to set aside, for a time, coefficients that seem to stay at their bounds.
    tol : float, default=1e-3
        Largest violation of the optimality conditions to accept.
    cache_size : 'auto' or float, default='auto'
        Memory for kernel values in MB; 'auto' takes what is needed up to a share of what is free.
    verbose : bool, default=False
        Whether to show progress on stderr.
    max_iter : int, default=-1
        Largest number of iterations, -1 for no limit.
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
    epsilon_ : float
        Half the width of the tube that was found.
    fit_status_ : int
        0 if the solver converged, 1 if a limit ended the fit.
    intercept_ : ndarray of shape (1,)
        The constant of f.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.
    n_iter_ : int
        Number of iterations.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
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
    >>> import numpy as np
    >>> from mercer import NuSVR
    >>> X = np.arange(5.0)[:, np.newaxis]
    >>> y = 2.0 * X[:, 0] + [0.5, -0.5, 0.5, -0.5, 0.5]
    >>> model = NuSVR(kernel="linear", C=100.0, nu=0.1, tol=1e-6).fit(X, y)
    >>> model.predict([[10.0]]).round(3), round(model.epsilon_, 3)
    (array([20.]), 0.5)
    """

    epsilon_: float

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float | str = "auto",
        verbose: bool | int = False,
        max_iter: int = -1,
        max_time: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_nu(self.nu)

    def _problem(
        self, target: NDArray[np.float64], cost: NDArray[np.float64]
    ) -> Callable[..., _core.Fit]:
        return partial(_core.fit_nu_svr, target=target, cost=cost, nu=float(self.nu))

    def _set_results(self, fit: _core.Fit, rows: RowsLike) -> None:
        assert fit.epsilon is not None
        self.epsilon_ = fit.epsilon
