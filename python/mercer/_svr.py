"""Epsilon-support vector regression."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer._params import check_choice, check_intercept, check_non_negative
from mercer._regressor import BaseRegressor

__all__ = ["SVR"]


class SVR(BaseRegressor):
    """Epsilon-support vector regression, in place of scikit-learn's `SVR`.

    The function f(z) = w.phi(z) + b = sum_i beta_i k(x_i, z) + b solves ::

        minimise  1/2 |w|^2 + sum_i C_i loss(|y_i - f(x_i)| - epsilon)

    with C_i = C * sample weight, and loss(t) = max(0, t) ('epsilon_insensitive') or max(0, t)^2
    ('squared_epsilon_insensitive'). Its coefficients solve the quadratic programme ::

        minimise  1/2 beta' K beta - y' beta + sum_i (epsilon |beta_i| + r_i beta_i^2 / 2)
        subject to  -u_i <= beta_i <= u_i,  sum of beta = 0

    with u_i = C_i and r_i = 0 for the first loss, no bounds and r_i = 1 / (2 C_i) for the second.
    Without an intercept the sum is free; with a penalised one the sum is free, K becomes K + 1 and
    b = sum of beta. Training uses all processors, can be interrupted, and stops when the
    optimality conditions hold to `tol`.

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
    C : float, default=1.0
        How much errors cost, positive and finite.
    epsilon : float, default=0.1
        Half the width of the tube around f in which errors cost nothing, not negative.
    shrinking : bool, default=True
        Whether to set aside, for a time, coefficients that seem to stay at their bounds.
    cache_size : 'auto' or float, default='auto'
        Memory for kernel values in MB; 'auto' takes what is needed up to a share of what is free.
    verbose : bool, default=False
        Whether to show progress on stderr.
    max_iter : int, default=-1
        Largest number of iterations, which are epochs for 'adatron', -1 for no limit.
    loss : {'epsilon_insensitive', 'squared_epsilon_insensitive'}, \
            default='epsilon_insensitive'
        How errors are counted: by how far they are outside the tube, or by the square of that.
    fit_intercept : bool or 'penalized', default=True
        True for a constant b that costs nothing, False for b = 0, 'penalized' for a b that counts
        as one more weight: b^2 / 2 is added to the objective, which is to add 1 to the kernel.
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
        0 if the solver converged, 1 if a limit ended the fit or it diverged.
    history_ : dict of ndarray
        Only with ``solver='adatron'``: "objective" (the dual objective, maximised, at the bias of
        the epoch), "margin" (NaN here), "bias" and "gap" (largest violation of the optimality
        conditions), with an entry for each epoch.
    intercept_ : ndarray of shape (1,)
        The constant of f, zero without an intercept.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.
    n_iter_ : int
        Number of iterations; epochs for 'adatron'.
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
    >>> from mercer import SVR
    >>> X = np.arange(5.0)[:, np.newaxis]
    >>> model = SVR(kernel="linear", C=100.0, epsilon=0.0, tol=1e-6).fit(X, 2.0 * X[:, 0] + 1.0)
    >>> model.predict([[10.0]]).round(3)
    array([21.])
    >>> model.coef_.round(3), model.intercept_.round(3)
    (array([[2.]]), array([1.]))
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float | str = "auto",
        verbose: bool | int = False,
        max_iter: int = -1,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool | str = True,
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
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.eta = eta
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_non_negative("epsilon", self.epsilon)
        check_choice("loss", self.loss, ("epsilon_insensitive", "squared_epsilon_insensitive"))
        check_intercept(self.fit_intercept)

    def _problem(
        self, target: NDArray[np.float64], cost: NDArray[np.float64]
    ) -> Callable[..., _core.Fit]:
        return partial(
            _core.fit_svr,
            target=target,
            cost=cost,
            epsilon=float(self.epsilon),
            squared=self.loss == "squared_epsilon_insensitive",
            intercept=check_intercept(self.fit_intercept),
        )
