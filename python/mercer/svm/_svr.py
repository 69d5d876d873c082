"""Epsilon-support vector regression."""

from typing import Literal

from mercer import _core
from mercer._params import check_choice, check_intercept, check_non_negative
from mercer.svm._docs import MACHINE, documented
from mercer.svm._regressor import BaseRegressor
from mercer.svm._types import Gamma, KernelLike, Solver

__all__ = ["SVR"]


@documented(MACHINE)
class SVR(BaseRegressor):
    """Epsilon-support vector regression, a replacement for scikit-learn's `SVR`.

    The function f(z) = w.phi(z) + b = sum_i beta_i k(x_i, z) + b solves ::

        minimise  1/2 |w|^2 + sum_i C_i loss(|y_i - f(x_i)| - epsilon)

    with C_i = C * sample weight, and loss(t) = max(0, t) ('epsilon_insensitive') or max(0, t)^2
    ('squared_epsilon_insensitive'). The coefficients solve the quadratic programme ::

        minimise  1/2 beta' K beta - y' beta + sum_i (epsilon |beta_i| + r_i beta_i^2 / 2)
        subject to  -u_i <= beta_i <= u_i,  sum of beta = 0

    with u_i = C_i and r_i = 0 for the first loss, and no bounds and r_i = 1 / (2 C_i) for the
    second. Without an intercept the sum is free; with a penalised one the sum is free, K becomes
    K + 1 and b = sum of beta. Training uses all processors, can be interrupted, and stops when the
    optimality conditions hold to `tol`.

    Parameters
    ----------
    {kernel}
    {degree}
    {gamma}
    {coef0}
    {tol}
    C : float, default=1.0
        The cost of errors, positive and finite.
    epsilon : float, default=0.1
        Half the width of the tube around f within which errors cost nothing, not negative.
    {shrinking}
    {cache_size}
    {verbose}
    {max_iter}
    loss : {'epsilon_insensitive', 'squared_epsilon_insensitive'}, \
            default='epsilon_insensitive'
        How errors are charged: by how far a row is outside the tube, or by the square of that.
    {fit_intercept}
    {solver}
    {eta}
    {max_time}
    {n_jobs}

    Attributes
    ----------
    {coef_}
    {dual_coef_}
    {fit_status_}
    {history_}
    intercept_ : ndarray of shape (1,)
        The intercept b, zero without one.
    {n_features_in_}
    {feature_names_in_}
    {n_iter_}
    {n_support_}
    {shape_fit_}
    {support_}
    {support_vectors_}
    {report_}

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
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float | Literal["auto"] = "auto",
        verbose: bool | int = False,
        max_iter: int = -1,
        loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive",
        fit_intercept: bool | Literal["penalized"] = True,
        solver: Solver = "smo",
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

    def _formulation(self) -> _core.Formulation:
        return _core.Formulation.svr(
            epsilon=float(self.epsilon),
            squared=self.loss == "squared_epsilon_insensitive",
            intercept=check_intercept(self.fit_intercept),
        )
