"""Nu-support vector regression."""

from typing import Literal

from mercer import _core
from mercer._params import check_nu
from mercer.svm._docs import MACHINE, documented
from mercer.svm._regressor import BaseRegressor
from mercer.svm._shared import FitLike
from mercer.svm._types import Callback, Gamma, KernelLike

__all__ = ["NuSVR"]


@documented(MACHINE)
class NuSVR(BaseRegressor):
    """Nu-support vector regression, a replacement for scikit-learn's `NuSVR`.

    The regression of `SVR`, with `nu` in place of `epsilon`, which training finds: at most this
    share of the rows is outside the tube, and at least this share are support vectors.
    f(z) = w.phi(z) + b = sum_i beta_i k(x_i, z) + b and epsilon >= 0 solve ::

        minimise  1/2 |w|^2 + C (nu epsilon m + sum_i w_i max(0, |y_i - f(x_i)| - epsilon))

    with the sample weights w_i and their sum m. Each beta_i is the difference of two numbers from 0
    to C w_i, which solve the quadratic programme ::

        minimise  1/2 beta' K beta - y' beta
        subject to  sum of the first = sum of the second = C nu m / 2

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of rows outside the tube and lower bound on the share of support
        vectors, above 0 and at most 1.
    C : float, default=1.0
        The cost of errors, positive and finite.
    {kernel}
    {degree}
    {gamma}
    {coef0}
    {shrinking}
    {tol}
    {cache_size}
    {verbose}
    {max_iter}
    {max_time}
    {n_jobs}
    {warm_start}
    {callback}

    Attributes
    ----------
    {coef_}
    {dual_coef_}
    epsilon_ : float
        Half the width of the tube that training found.
    {fit_status_}
    intercept_ : ndarray of shape (1,)
        The intercept b.
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
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float | Literal["auto"] = "auto",
        verbose: bool | int = False,
        max_iter: int = -1,
        max_time: float | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        callback: Callback | None = None,
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
        self.warm_start = warm_start
        self.callback = callback

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_nu(self.nu)

    def _formulation(self) -> _core.Formulation:
        return _core.Formulation.nu_svr(nu=float(self.nu))

    def _set_results(self, fit: FitLike) -> None:
        assert fit.epsilon is not None
        self.epsilon_ = fit.epsilon
