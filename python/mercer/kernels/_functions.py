"""The kernel functions that the core evaluates."""

from dataclasses import dataclass
from math import inf, isfinite

from mercer import _core
from mercer._params import check_coef0, check_degree, check_positive, check_real
from mercer.kernels._gamma import Gamma, Gammas
from mercer.kernels._kernel import Kernel, is_default

__all__ = ["RBF", "InverseMultiquadric", "Laplacian", "Linear", "Polynomial", "Sigmoid"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Linear(Kernel):
    """The linear kernel, k(x, z) = x.z.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0], [0.0, 1.0]])
    array([[11.,  2.]])
    """

    def _with_numbers(self, gammas: Gammas) -> "Linear":
        return self

    def _build(self) -> _core.Kernel:
        return _core.Kernel.linear()


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

    def _with_numbers(self, gammas: Gammas) -> "Polynomial":
        return Polynomial(
            degree=check_degree(self.degree),
            gamma=gammas.number(self.gamma),
            coef0=check_coef0(self.coef0),
        )

    def _build(self) -> _core.Kernel:
        return _core.Kernel.polynomial(float(self.gamma), self.coef0, self.degree)


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

    def _with_numbers(self, gammas: Gammas) -> "RBF":
        if self.sigma is None:
            return RBF(gamma=gammas.number(self.gamma))
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
        return RBF(gamma=0.5 / sigma / sigma)

    def _build(self) -> _core.Kernel:
        return _core.Kernel.rbf(float(self.gamma))


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

    def _with_numbers(self, gammas: Gammas) -> "Sigmoid":
        return Sigmoid(gamma=gammas.number(self.gamma), coef0=check_coef0(self.coef0))

    def _build(self) -> _core.Kernel:
        return _core.Kernel.sigmoid(float(self.gamma), self.coef0)


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

    def _with_numbers(self, gammas: Gammas) -> "Laplacian":
        return Laplacian(gamma=gammas.number(self.gamma))

    def _build(self) -> _core.Kernel:
        return _core.Kernel.laplacian(float(self.gamma))


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

    def _with_numbers(self, gammas: Gammas) -> "InverseMultiquadric":
        return InverseMultiquadric(c=check_positive("c", self.c))

    def _build(self) -> _core.Kernel:
        return _core.Kernel.inverse_multiquadric(self.c)
