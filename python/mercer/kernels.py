"""Kernel functions that can be added, multiplied, scaled, compared, tuned and called.

Every estimator takes one as its `kernel`::

    SVC(kernel=RBF(sigma=1.5) + 0.1 * Linear())

The parameters of a kernel are parameters of the estimator too, so a grid search can reach them:
``kernel__sigma``, or ``kernel__left__sigma`` and ``kernel__right__factor`` in the example above.
"""

from abc import ABC, abstractmethod
from functools import cached_property
from inspect import signature
from math import inf, isfinite
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer import _core
from mercer._data import MatrixLike, check_rows, make_samples, variance
from mercer._params import (
    check_coef0,
    check_degree,
    check_gamma,
    check_non_negative,
    check_positive,
    check_real,
)
from mercer._threads import thread_count

__all__ = [
    "RBF",
    "InverseMultiquadric",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Product",
    "Scaled",
    "Sigmoid",
    "Sum",
]


class _Gammas:
    """The numbers that 'scale' and 'auto' stand for on the rows of `X`, weighted if need be."""

    def __init__(self, X: MatrixLike, weight: NDArray[np.float64] | None) -> None:
        self._X = X
        self._weight = weight

    def number(self, gamma: Any) -> float:
        checked = check_gamma(gamma)
        if isinstance(checked, float):
            return checked
        return self._scale if checked == "scale" else 1.0 / self._X.shape[1]

    @cached_property
    def _scale(self) -> float:
        spread = variance(self._X, self._weight)
        if not isfinite(spread):
            raise ValueError(
                "gamma='scale' needs the variance of X, which overflows: "
                "scale X, or give gamma as a number"
            )
        return 1.0 / (self._X.shape[1] * spread) if spread > 0.0 else 1.0


class Kernel(ABC):
    """A kernel function k(x, z): what all kernels of this module can do.

    ``a + b`` and ``a * b`` are kernels again, and so is ``2.0 * a``. Kernels are equal if they are
    built in the same way from equal parameters. Parameters are checked when the kernel is used.
    """

    # NumPy's scalars leave ``np.float64(2.0) * kernel`` to the kernel.
    __array_ufunc__ = None

    #: How tightly the repr binds: 0 for a sum, 1 for a product, 2 for a call.
    _tightness = 2

    @abstractmethod
    def _with_numbers(self, gammas: _Gammas) -> "Kernel":
        """Return this kernel with every parameter checked and turned into a number."""

    @abstractmethod
    def _build(self) -> _core.Kernel:
        """Return the core's form of a kernel whose parameters are numbers."""

    def _fitted_to(self, X: MatrixLike, weight: NDArray[np.float64] | None = None) -> "Kernel":
        """Return this kernel with numbers for the parameters that depend on the rows of `X`."""
        return self._with_numbers(_Gammas(X, weight))

    def _resolve(self, X: MatrixLike) -> _core.Kernel:
        return self._fitted_to(X)._build()

    def __call__(self, A: MatrixLike, B: MatrixLike | None = None) -> NDArray[np.float64]:
        """Compute all kernel values between the rows of two matrices.

        Parameters
        ----------
        A : {array-like, sparse matrix} of shape (n_rows_A, n_features)
            The first rows. ``gamma='scale'`` and ``'auto'`` refer to them.
        B : {array-like, sparse matrix} of shape (n_rows_B, n_features), default=None
            The second rows, those of `A` if None.

        Returns
        -------
        ndarray of shape (n_rows_A, n_rows_B), float64
            The values k(a, b).
        """
        A = check_rows(A, "A")
        kernel = self._resolve(A)
        if B is None:
            a = b = make_samples(A)
        else:
            B = check_rows(B, "B")
            if A.shape[1] != B.shape[1]:
                raise ValueError(
                    f"B must have as many columns as A, got {B.shape[1]} and {A.shape[1]}"
                )
            dtype = np.result_type(A, B) if A.dtype != B.dtype else A.dtype
            A, B = A.astype(dtype, copy=False), B.astype(dtype, copy=False)
            if sp.issparse(A) or sp.issparse(B):
                A, B = sp.csr_array(A), sp.csr_array(B)
            a, b = make_samples(A), make_samples(B)
        return kernel.matrix(a, b, thread_count(None))

    def __add__(self, other: Any) -> "Kernel":
        """Return the sum with another kernel."""
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> "Kernel":
        """Return the product with another kernel or a non-negative number."""
        if isinstance(other, Kernel):
            return Product(self, other)
        return self.__rmul__(other)

    def __rmul__(self, other: Any) -> "Kernel":
        """Return the product with a non-negative number."""
        if isinstance(other, Real) and not isinstance(other, bool | np.bool_):
            return Scaled(other, self)  # type: ignore[arg-type]
        return NotImplemented

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the kernels this one is built from, as
            ``left__gamma``.

        Returns
        -------
        dict
            Names and values.
        """
        names = list(signature(type(self)).parameters)
        params = {name: getattr(self, name) for name in names}
        if deep:
            for name in names:
                if isinstance(params[name], Kernel):
                    inner = params[name].get_params()
                    params.update({f"{name}__{key}": value for key, value in inner.items()})
        return params

    def set_params(self, **params: Any) -> "Kernel":
        """Set parameters by name.

        Parameters
        ----------
        **params : dict
            Names, as `get_params` shows them, and values.

        Returns
        -------
        Kernel
            This kernel, changed.
        """
        nested: dict[str, dict[str, Any]] = {}
        names = list(signature(type(self)).parameters)
        for key, value in params.items():
            name, separator, rest = key.partition("__")
            if name not in names or (separator and not hasattr(getattr(self, name), "set_params")):
                raise ValueError(f"{key!r} is not a parameter of {self!r}, which has {names}")
            if separator:
                nested.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, inner in nested.items():
            getattr(self, name).set_params(**inner)
        return self

    def _key(self) -> tuple[Any, ...]:
        return tuple(self.get_params(deep=False).values())

    def __eq__(self, other: object) -> bool:
        """Tell whether the other kernel is built in the same way from equal parameters."""
        if type(self) is not type(other):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        """Return a hash of the present parameters."""
        return hash((type(self), self._key()))

    def __repr__(self) -> str:
        """Return Python code that makes this kernel."""
        arguments = [
            f"{name}={_shown(getattr(self, name))}"
            for name, parameter in signature(type(self)).parameters.items()
            if not _same(getattr(self, name), parameter.default)
        ]
        return f"{type(self).__name__}({', '.join(arguments)})"


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def _shown(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)


class Linear(Kernel):
    """The linear kernel, k(x, z) = x.z.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0], [0.0, 1.0]])
    array([[11.,  2.]])
    """

    def _with_numbers(self, gammas: _Gammas) -> "Linear":
        return self

    def _build(self) -> _core.Kernel:
        return _core.Kernel.linear()


class Polynomial(Kernel):
    """The polynomial kernel, k(x, z) = (gamma x.z + coef0)^degree.

    Parameters
    ----------
    degree : int, default=3
        The degree, not negative.
    gamma : {'scale', 'auto'} or float, default='scale'
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

    def __init__(
        self, *, degree: int = 3, gamma: float | str = "scale", coef0: float = 0.0
    ) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def _with_numbers(self, gammas: _Gammas) -> "Polynomial":
        return Polynomial(
            degree=check_degree(self.degree),
            gamma=gammas.number(self.gamma),
            coef0=check_coef0(self.coef0),
        )

    def _build(self) -> _core.Kernel:
        return _core.Kernel.polynomial(float(self.gamma), self.coef0, self.degree)


class RBF(Kernel):
    """The Gaussian kernel, k(x, z) = exp(-gamma ||x - z||^2).

    Parameters
    ----------
    gamma : {'scale', 'auto'} or float, default='scale'
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

    def __init__(self, *, gamma: float | str = "scale", sigma: float | None = None) -> None:
        self.gamma = gamma
        self.sigma = sigma

    def _with_numbers(self, gammas: _Gammas) -> "RBF":
        if self.sigma is None:
            return RBF(gamma=gammas.number(self.gamma))
        # The default of gamma does not count as given, so that ``kernel__sigma`` can be tuned.
        if not _same(self.gamma, "scale"):
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


class Sigmoid(Kernel):
    """The sigmoid kernel, k(x, z) = tanh(gamma x.z + coef0).

    It is not positive definite for all parameters; training then ends in a local optimum.

    Parameters
    ----------
    gamma : {'scale', 'auto'} or float, default='scale'
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

    def __init__(self, *, gamma: float | str = "scale", coef0: float = 0.0) -> None:
        self.gamma = gamma
        self.coef0 = coef0

    def _with_numbers(self, gammas: _Gammas) -> "Sigmoid":
        return Sigmoid(gamma=gammas.number(self.gamma), coef0=check_coef0(self.coef0))

    def _build(self) -> _core.Kernel:
        return _core.Kernel.sigmoid(float(self.gamma), self.coef0)


class Laplacian(Kernel):
    """The Laplacian kernel, k(x, z) = exp(-gamma |x - z|_1).

    Parameters
    ----------
    gamma : {'scale', 'auto'} or float, default='scale'
        Factor of the distance: 'scale' is 1 / (n_features * X.var()), 'auto' is 1 / n_features.

    Examples
    --------
    >>> from mercer.kernels import Laplacian
    >>> Laplacian(gamma=1.0)([[0.0, 0.0]], [[0.5, -0.5]]).round(6)
    array([[0.367879]])
    """

    def __init__(self, *, gamma: float | str = "scale") -> None:
        self.gamma = gamma

    def _with_numbers(self, gammas: _Gammas) -> "Laplacian":
        return Laplacian(gamma=gammas.number(self.gamma))

    def _build(self) -> _core.Kernel:
        return _core.Kernel.laplacian(float(self.gamma))


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

    def __init__(self, *, c: float = 1.0) -> None:
        self.c = c

    def _with_numbers(self, gammas: _Gammas) -> "InverseMultiquadric":
        return InverseMultiquadric(c=check_positive("c", self.c))

    def _build(self) -> _core.Kernel:
        return _core.Kernel.inverse_multiquadric(self.c)


class _Pair(Kernel):
    """Two kernels, and what is made of them."""

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    def _with_numbers(self, gammas: _Gammas) -> "Kernel":
        for name in ("left", "right"):
            _check_kernel(name, getattr(self, name), self)
        return type(self)(self.left._with_numbers(gammas), self.right._with_numbers(gammas))


class Sum(_Pair):
    """The sum of two kernels, which ``left + right`` makes.

    Parameters
    ----------
    left, right : Kernel
        The terms.

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear
    >>> RBF(sigma=1.5) + 0.1 * Linear()
    RBF(sigma=1.5) + 0.1 * Linear()
    """

    _tightness = 0

    def _build(self) -> _core.Kernel:
        return _core.Kernel.sum([self.left._build(), self.right._build()])

    def __repr__(self) -> str:
        """Return Python code that makes this kernel."""
        return f"{_repr_in(self.left, 0)} + {_repr_in(self.right, 1)}"


class Product(_Pair):
    """The product of two kernels, which ``left * right`` makes.

    Parameters
    ----------
    left, right : Kernel
        The factors.

    Examples
    --------
    >>> from mercer.kernels import RBF, Linear, Polynomial
    >>> (RBF(gamma=0.5) + Linear()) * Polynomial(degree=2)
    (RBF(gamma=0.5) + Linear()) * Polynomial(degree=2)
    """

    _tightness = 1

    def _build(self) -> _core.Kernel:
        return _core.Kernel.product([self.left._build(), self.right._build()])

    def __repr__(self) -> str:
        """Return Python code that makes this kernel."""
        return f"{_repr_in(self.left, 1)} * {_repr_in(self.right, 2)}"


class Scaled(Kernel):
    """A kernel times a number, which ``factor * kernel`` makes.

    Parameters
    ----------
    factor : float
        The number, not negative.
    kernel : Kernel
        The kernel.

    Examples
    --------
    >>> from mercer.kernels import RBF, Scaled
    >>> RBF() * 2.0 == 2.0 * RBF() == Scaled(2.0, RBF())
    True
    """

    _tightness = 1

    def __init__(self, factor: float, kernel: Kernel) -> None:
        self.factor = factor
        self.kernel = kernel

    def _with_numbers(self, gammas: _Gammas) -> "Scaled":
        _check_kernel("kernel", self.kernel, self)
        factor = check_non_negative("factor", self.factor)
        return Scaled(factor, self.kernel._with_numbers(gammas))

    def _build(self) -> _core.Kernel:
        return _core.Kernel.scaled(self.factor, self.kernel._build())

    def __repr__(self) -> str:
        """Return Python code that makes this kernel."""
        return f"{_shown(self.factor)} * {_repr_in(self.kernel, 2)}"


def _repr_in(kernel: Any, tightness: int) -> str:
    """Return the repr, in parentheses if it binds less tightly than its surroundings."""
    bound = not isinstance(kernel, Kernel) or kernel._tightness >= tightness
    return repr(kernel) if bound else f"({kernel!r})"


def _check_kernel(name: str, value: Any, owner: Kernel) -> None:
    if not isinstance(value, Kernel):
        raise TypeError(f"{name} must be an object of mercer.kernels, got {value!r} in {owner!r}")
