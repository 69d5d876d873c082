"""Support vector regression."""

from typing import Literal, TypeAlias, get_args

from mercer import _core
from mercer._params import (
    check_choice,
    check_intercept,
    check_non_negative,
    check_positive,
    check_real,
)
from mercer.svm._docs import MACHINE, documented
from mercer.svm._regressor import BaseRegressor
from mercer.svm._types import Callback, Gamma, KernelLike, Solver

__all__ = ["SVR"]

RegressionLoss: TypeAlias = Literal[
    "epsilon_insensitive", "squared_epsilon_insensitive", "huber", "pinball", "squared_error"
]


@documented(MACHINE)
class SVR(BaseRegressor):
    """Support vector regression, a replacement for scikit-learn's `SVR` with more losses.

    The function f(z) = w.phi(z) + b = sum_i beta_i k(x_i, z) + b solves ::

        minimise  1/2 |w|^2 + sum_i C_i loss(y_i - f(x_i))

    with C_i = C * sample weight. The coefficients solve the quadratic programme ::

        minimise  1/2 beta' K beta - y' beta + sum_i (a |beta_i| + r_i beta_i^2 / 2)
        subject to  l_i <= beta_i <= u_i,  sum of beta = 0

    with, for each loss of the residual r = y_i - f(x_i) ::

        loss                           of r                    l_i, u_i            r_i       a
        'epsilon_insensitive'          max(0, |r| - epsilon)   -+ C_i              0         epsilon
        'squared_epsilon_insensitive'  max(0, |r| - epsilon)^2 none                1/(2 C_i) epsilon
        'huber'                        r^2/2 up to delta, then -+ C_i delta        1/C_i     0
                                       delta (|r| - delta/2)
        'pinball'                      max(q r, (q - 1) r)     (q - 1) C_i, q C_i  0         0
        'squared_error'                r^2                     none                1/(2 C_i) 0

    Without an intercept the sum is free; with a penalised one the sum is free, K becomes
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
        The cost of errors, positive. ``inf`` allows none: f stays within the tube, or goes through
        all points if the loss has no tube. If the kernel cannot do that, the fit ends with a
        ConvergenceWarning. Texts that charge C / 2 times a square mean half our C.
    epsilon : float, default=0.1
        Half the width of the tube around f within which errors cost nothing, not negative. Only the
        first two losses have a tube.
    {shrinking}
    {cache_size}
    {verbose}
    {max_iter}
    loss : {'epsilon_insensitive', 'squared_epsilon_insensitive', 'huber', 'pinball', \
            'squared_error'}, default='epsilon_insensitive'
        How errors are charged: by how far a row is outside the tube, or by the square of that; by
        Huber's loss, a square for small residuals and a line for large ones; by the pinball loss,
        whose f is a quantile of y given x; or by their square, which is kernel ridge regression
        (``KernelRidge(alpha=1 / (2 * C))``) with an intercept.
    {fit_intercept}
    {solver}
    {eta}
    {max_time}
    {n_jobs}
    delta : float, default=1.0
        Where the square of Huber's loss ends, positive and finite.
    quantile : float, default=0.5
        The share q of values that the pinball loss wants below f, above 0 and below 1. The loss has
        no tube, so 0.5 is the median.
    {warm_start}
    {callback}

    Attributes
    ----------
    {coef_}
    {dual_coef_}
    {fit_status_}
    {history_}
    intercept_ : ndarray of shape (1,) or (n_targets,)
        The intercept b of each target, zero without one.
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

    Quantiles: nine of ten values are to be below f.

    >>> y = X[:, 0] + np.array([0.0, 3.0, 1.0, 2.0, 0.5])
    >>> upper = SVR(kernel="linear", loss="pinball", quantile=0.9, C=100.0).fit(X, y)
    >>> bool((y <= upper.predict(X) + 1e-2).all())
    True

    Several targets share the kernel:

    >>> model = SVR(kernel="linear", C=100.0, epsilon=0.0).fit(X, np.column_stack([X, -X]))
    >>> model.predict([[10.0]]).round(2)
    array([[ 10., -10.]])
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
        loss: RegressionLoss = "epsilon_insensitive",
        fit_intercept: bool | Literal["penalized"] = True,
        solver: Solver = "smo",
        eta: float = 1.0,
        max_time: float | None = None,
        n_jobs: int | None = None,
        delta: float = 1.0,
        quantile: float = 0.5,
        warm_start: bool = False,
        callback: Callback | None = None,
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
        self.delta = delta
        self.quantile = quantile
        self.warm_start = warm_start
        self.callback = callback

    _several_targets = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_non_negative("epsilon", self.epsilon)
        check_choice("loss", self.loss, get_args(RegressionLoss))
        check_intercept(self.fit_intercept)
        check_positive("delta", self.delta)
        allowed = "a number above 0 and below 1"
        check_real("quantile", self.quantile, allowed, lambda share: 0.0 < share < 1.0)

    def _check_cost(self) -> None:
        allowed = "a positive number, inf for no errors"
        check_real("C", self.C, allowed, lambda cost: cost > 0.0)

    def _formulation(self) -> _core.Formulation:
        return _core.Formulation.svr(
            loss=self.loss,
            epsilon=float(self.epsilon),
            delta=float(self.delta),
            quantile=float(self.quantile),
            intercept=check_intercept(self.fit_intercept),
        )
