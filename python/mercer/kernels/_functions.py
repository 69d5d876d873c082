"""The kernel functions that the core evaluates."""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, factorial, inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer._params import (
    check_coef0,
    check_degree,
    check_gamma,
    check_integer,
    check_non_negative,
    check_positive,
    check_real,
)
from mercer._suggest import suggesting
from mercer.kernels._gamma import Gamma
from mercer.kernels._kernel import Kernel, check_map_size, is_default

__all__ = [
    "ANOVA",
    "RBF",
    "ChiSquared",
    "HistogramIntersection",
    "InverseMultiquadric",
    "Laplacian",
    "Linear",
    "Matern",
    "Periodic",
    "Polynomial",
    "Sigmoid",
]


@suggesting
@dataclass(frozen=True, kw_only=True, repr=False)
class Linear(Kernel):
    """The linear kernel, k(x, z) = x.z.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0], [0.0, 1.0]])
    array([[11.,  2.]])
    """

    def _checked(self) -> dict[str, Any]:
        return {}

    def _build(self) -> _core.Kernel:
        return _core.Kernel.linear()

    def _features(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return X


@suggesting
@dataclass(frozen=True, kw_only=True, repr=False)
class Polynomial(Kernel):
    """The polynomial kernel, k(x, z) = (gamma x.z + coef0)^degree.

    Parameters
    ----------
    degree : int, default=3
        The degree, not negative.
    gamma : {'scale', 'auto', 'median'} or float, default='scale'
        Factor of the scalar product: 'scale' is 1 / (n_features * X.var()), 'auto' is
        1 / n_features.
    coef0 : float, default=0.0
        The constant term.

    Examples
    --------
    >>> from mercer.kernels import Polynomial
    >>> Polynomial(degree=2, gamma=1.0, coef0=1.0)([[1.0, 2.0]])
    array([[36.]])
    """

    degree: int = 3
    gamma: Gamma = "scale"
    coef0: float = 0.0

    def _checked(self) -> dict[str, Any]:
        return {
            "degree": check_degree(self.degree),
            "gamma": check_gamma(self.gamma),
            "coef0": check_coef0(self.coef0),
        }

    def _build(self) -> _core.Kernel:
        return _core.Kernel.polynomial(float(self.gamma), self.coef0, self.degree)

    def _features(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        # (gamma x.z + coef0)^d is the sum over monomials of degree d in the features and a
        # constant, each as often as there are orders of its factors.
        if self.coef0 < 0.0:
            raise ValueError(f"coef0 must be non-negative for a feature map, got {self.coef0!r}")
        rows = np.sqrt(float(self.gamma)) * X
        if self.coef0 > 0.0:
            rows = np.column_stack([rows, np.full(len(X), np.sqrt(self.coef0))])
        check_map_size(comb(rows.shape[1] + self.degree - 1, self.degree), self)
        monomials = list(combinations_with_replacement(range(rows.shape[1]), self.degree))
        features = np.empty((len(X), len(monomials)))
        for column, factors in enumerate(monomials):
            orders = factorial(self.degree)
            for count in Counter(factors).values():
                orders //= factorial(count)
            features[:, column] = np.sqrt(orders) * rows[:, list(factors)].prod(axis=1)
        return features


@suggesting
@dataclass(frozen=True, kw_only=True, repr=False)
class RBF(Kernel):
    """The Gaussian kernel, k(x, z) = exp(-gamma ||x - z||^2).

    Parameters
    ----------
    gamma : {'scale', 'auto', 'median'} or float, default='scale'
        Factor of the squared distance: 'scale' is 1 / (n_features * X.var()), 'auto' is
        1 / n_features.
    sigma : float, default=None
        The width of the bell, another way to say gamma = 1 / (2 sigma^2). Giving both is an
        error.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> RBF(gamma=0.5) == RBF(sigma=1.0)  # not written alike
    False
    >>> RBF(gamma=0.5)([[0.0]], [[1.0]]) == RBF(sigma=1.0)([[0.0]], [[1.0]])
    array([[ True]])
    """

    gamma: Gamma = "scale"
    sigma: float | None = None

    def _checked(self) -> dict[str, Any]:
        if self.sigma is None:
            return {"gamma": check_gamma(self.gamma)}
        # The default of gamma does not count as given, so that ``kernel__sigma`` can be tuned.
        if not is_default(self.gamma, "scale"):
            raise ValueError(
                f"sigma and gamma are two names of one parameter: give only one, got {self!r}"
            )
        sigma = check_real(
            "sigma",
            self.sigma,
            "None or a positive finite number",
            lambda number: 0.0 < number < inf and isfinite(0.5 / number / number),
        )
        return {"gamma": 0.5 / sigma / sigma}

    def _build(self) -> _core.Kernel:
        return _core.Kernel.rbf(float(self.gamma))


@suggesting
@dataclass(frozen=True, kw_only=True, repr=False)
class Sigmoid(Kernel):
    """The sigmoid kernel, k(x, z) = tanh(gamma x.z + coef0).

    It is not positive definite for all parameters; training then ends in a local optimum.

    Parameters
    ----------
    gamma : {'scale', 'auto', 'median'} or float, default='scale'
        Factor of the scalar product: 'scale' is 1 / (n_features * X.var()), 'auto' is
        1 / n_features.
    coef0 : float, default=0.0
        The constant term.

    Examples
    --------
    >>> from mercer.kernels import Sigmoid
    >>> Sigmoid(gamma=1.0)([[1.0, 0.0]], [[0.0, 1.0]])
    array([[0.]])
    """

    gamma: Gamma = "scale"
    coef0: float = 0.0

    def _checked(self) -> dict[str, Any]:
        return {"gamma": check_gamma(self.gamma), "coef0": check_coef0(self.coef0)}

    def _build(self) -> _core.Kernel:
        return _core.Kernel.sigmoid(float(self.gamma), self.coef0)


@suggesting
@dataclass(frozen=True, kw_only=True, repr=False)
class Laplacian(Kernel):
    """The Laplacian kernel, k(x, z) = exp(-gamma |x - z|_1).

    Parameters
    ----------
    gamma : {'scale', 'auto', 'median'} or float, default='scale'
        Factor of the distance: 'scale' is 1 / (n_features * X.var()), 'auto' is 1 / n_features.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> Laplacian(gamma=1.0)([[0.0, 0.0]], [[0.5, -0.5]]).round(6)
    array([[0.367879]])
    """

    gamma: Gamma = "scale"

    def _checked(self) -> dict[str, Any]:
        return {"gamma": check_gamma(self.gamma)}

    def _build(self) -> _core.Kernel:
        return _core.Kernel.laplacian(float(self.gamma))


@suggesting
@dataclass(frozen=True, kw_only=True, repr=False)
class InverseMultiquadric(Kernel):
    """The inverse multiquadric kernel, k(x, z) = 1 / sqrt(||x - z||^2 + c^2).

    Parameters
    ----------
    c : float, default=1.0
        The distance at which the kernel begins to fall off, positive.

    Examples
    --------
    >>> from mercer.kernels import InverseMultiquadric
    >>> InverseMultiquadric(c=4.0)([[0.0]], [[3.0]])
    array([[0.2]])
    """

    c: float = 1.0

    def _checked(self) -> dict[str, Any]:
        return {"c": check_positive("c", self.c)}

    def _build(self) -> _core.Kernel:
        return _core.Kernel.inverse_multiquadric(self.c)


def _width(name: str, value: float) -> float:
    """Return a number that is squared and divided by."""
    return check_real(
        name,
        value,
        "a positive finite number",
        lambda number: (
            number > 0.0 and 0.0 < number * number < inf and isfinite(1.0 / number / number)
        ),
    )


@suggesting
@dataclass(frozen=True, kw_only=True, repr=False)
class Matern(Kernel):
    """The Matern kernel of smoothness 3/2 or 5/2.

    With r = sqrt(2 nu) ||x - z|| / length_scale, k(x, z) = (1 + r) exp(-r) for nu = 1.5 and
    (1 + r + r^2 / 3) exp(-r) for nu = 2.5.

    Parameters
    ----------
    length_scale : float, default=1.0
        The width, positive.
    nu : {1.5, 2.5}, default=1.5
        The smoothness: functions are once or twice differentiable.

    Examples
    --------
    >>> from mercer.kernels import Matern
    >>> Matern(length_scale=2.0, nu=2.5)([[0.0]], [[0.0], [2.0]]).round(6)
    array([[1.      , 0.523994]])
    """

    length_scale: float = 1.0
    nu: float = 1.5

    def _checked(self) -> dict[str, Any]:
        nu = check_real("nu", self.nu, "1.5 or 2.5", lambda number: number in (1.5, 2.5))
        return {"length_scale": _width("length_scale", self.length_scale), "nu": nu}

    def _build(self) -> _core.Kernel:
        return _core.Kernel.matern(self.nu, self.length_scale)


@suggesting
@dataclass(frozen=True, kw_only=True, repr=False)
class Periodic(Kernel):
    """The periodic kernel, k(x, z) = exp(-2 sum_i sin^2(pi (x_i - z_i) / period) / length_scale^2).

    For one feature it is scikit-learn's ExpSineSquared; for several it is the product over them,
    which is positive definite, unlike a function of their Euclidean distance.

    Parameters
    ----------
    length_scale : float, default=1.0
        The width of a bell, where a period has the length pi; positive.
    period : float, default=1.0
        The distance after which values repeat, positive.

    Examples
    --------
    >>> from mercer.kernels import Periodic
    >>> Periodic(period=7.0)([[0.0]], [[7.0], [3.5]]).round(6)
    array([[1.      , 0.135335]])
    """

    length_scale: float = 1.0
    period: float = 1.0

    def _checked(self) -> dict[str, Any]:
        return {name: _width(name, getattr(self, name)) for name in ("length_scale", "period")}

    def _build(self) -> _core.Kernel:
        return _core.Kernel.periodic(self.period, self.length_scale)


@suggesting
@dataclass(frozen=True, kw_only=True, repr=False)
class ChiSquared(Kernel):
    """The chi-squared kernel, k(x, z) = exp(-gamma sum_i (x_i - z_i)^2 / (x_i + z_i)).

    A kernel of histograms: numbers must not be negative. Terms with x_i = z_i = 0 are 0.

    Parameters
    ----------
    gamma : float, default=1.0
        Factor of the distance, not negative.

    Examples
    --------
    >>> from mercer.kernels import ChiSquared
    >>> ChiSquared()([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]).round(6)
    array([[1.      , 0.135335]])
    """

    gamma: float = 1.0

    def _checked(self) -> dict[str, Any]:
        return {"gamma": check_non_negative("gamma", self.gamma)}

    def _build(self) -> _core.Kernel:
        return _core.Kernel.chi_squared(self.gamma)


@suggesting
@dataclass(frozen=True, kw_only=True, repr=False)
class HistogramIntersection(Kernel):
    """The histogram intersection kernel, k(x, z) = sum_i min(x_i, z_i).

    Numbers must not be negative.

    Examples
    --------
    >>> from mercer.kernels import HistogramIntersection
    >>> HistogramIntersection()([[3.0, 1.0]], [[2.0, 5.0]])
    array([[3.]])
    """

    def _checked(self) -> dict[str, Any]:
        return {}

    def _build(self) -> _core.Kernel:
        return _core.Kernel.histogram_intersection()


@suggesting
@dataclass(frozen=True, kw_only=True, repr=False)
class ANOVA(Kernel):
    """The ANOVA kernel: products of one-dimensional Gaussian kernels over sets of features.

    k(x, z) is the sum, over all sets of `degree` features, of the products of
    exp(-gamma (x_i - z_i)^2) over the features i of the set. k(x, x) is the number of such sets:
    `normalized` divides by it.

    Parameters
    ----------
    gamma : {'scale', 'auto', 'median'} or float, default='scale'
        Factor of the squared differences: 'scale' is 1 / (n_features * X.var()), 'auto' is
        1 / n_features.
    degree : int, default=2
        How many features interact, from 1 to 16.

    References
    ----------
    Stitson, Gammerman, Vapnik, Vovk, Watkins, Weston: Support vector regression with ANOVA
    decomposition kernels (1999).

    Examples
    --------
    >>> from mercer.kernels import ANOVA
    >>> ANOVA(gamma=1.0, degree=2)([[0.0, 0.0, 0.0]], [[0.0, 0.0, 9.0]])
    array([[1.]])
    """

    gamma: Gamma = "scale"
    degree: int = 2

    def _checked(self) -> dict[str, Any]:
        degree = check_integer("degree", self.degree, "an integer from 1 to 16", 1, 16)
        return {"gamma": check_gamma(self.gamma), "degree": degree}

    def _build(self) -> _core.Kernel:
        return _core.Kernel.anova(float(self.gamma), self.degree)
