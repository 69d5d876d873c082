"""What every kernel can do: be added, multiplied, scaled, compared, tuned and called."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer import _core
from mercer._data import MatrixLike, check_rows, make_samples
from mercer._params import check_non_negative
from mercer._suggest import did_you_mean, suggesting
from mercer._threads import thread_count
from mercer.kernels._gamma import Gammas
from mercer.kernels._symbols import sequences_of

__all__ = ["Kernel", "Normalized", "Product", "Scaled", "Sum", "check_map_size", "is_default"]

#: The most features of a feature map.
_LARGEST_MAP = 100_000


@dataclass(frozen=True, repr=False)
class Kernel(ABC):
    """A kernel function k(x, z): what all kernels of `mercer.kernels` can do.

    ``a + b`` and ``a * b`` are kernels again, and so are ``2.0 * a`` and ``a.normalized()``.
    Kernels are equal if they are built in the same way from equal parameters. They cannot be
    changed: `replace` makes another one. Parameters are checked when the kernel is made.

    Each kernel is a frozen dataclass whose fields are its parameters. Users do not derive from
    this class: a kernel of their own is a callable.
    """

    # NumPy's scalars leave ``np.float64(2.0) * kernel`` to the kernel.
    __array_ufunc__ = None

    #: How tightly the repr binds: 0 for a sum, 1 for a product, 2 for a call.
    _tightness: ClassVar[int] = 2

    def __post_init__(self) -> None:
        self._checked()

    @abstractmethod
    def _checked(self) -> dict[str, Any]:
        """Return the parameters in the types that they are used in; raise if one is not allowed."""

    def _with_numbers(self, gammas: Gammas) -> "Kernel":
        """Return this kernel with every parameter checked and turned into a number."""
        params = self._checked()
        if "gamma" in params:
            params["gamma"] = gammas.number(params["gamma"])
        return type(self)(**params)

    @abstractmethod
    def _build(self) -> _core.Kernel:
        """Return the core's form of a kernel whose parameters are numbers."""

    @property
    def _of_sequences(self) -> bool:
        """Whether rows are sequences of symbols, not of numbers."""
        return False

    def _sequence_values(
        self, a: _core.Sequences, b: _core.Sequences | None
    ) -> NDArray[np.float64]:
        """Return all values between sequences, those of `a` with itself if `b` is None."""
        raise NotImplementedError

    def _sequence_diagonal(self, a: _core.Sequences) -> NDArray[np.float64]:
        """Return the values of sequences with themselves."""
        raise NotImplementedError

    def _fitted_to(self, X: MatrixLike, weight: NDArray[np.float64] | None = None) -> "Kernel":
        """Return this kernel with numbers for the parameters that depend on the rows of `X`."""
        return self._with_numbers(Gammas(X, weight))

    def __call__(self, A: MatrixLike, B: MatrixLike | None = None) -> NDArray[np.float64]:
        """Compute all kernel values between the rows of two matrices.

        Parameters
        ----------
        A : {array-like, sparse matrix} of shape (n_rows_A, n_features)
            The first rows. ``gamma='scale'`` and ``'auto'`` refer to them. For kernels of
            sequences, a list, array or column of str, bytes or sequences of symbols.
        B : {array-like, sparse matrix} of shape (n_rows_B, n_features), default=None
            The second rows, those of `A` if None.

        Returns
        -------
        ndarray of shape (n_rows_A, n_rows_B), float64
            The values k(a, b).
        """
        if self._of_sequences:
            fitted = self._fitted_to(A)
            return fitted._sequence_values(*sequences_of(A, B))
        kernel, a, b = self._between(A, B)
        return kernel.matrix(a, b, thread_count(None))

    def _values(self, A: MatrixLike, B: MatrixLike, n_threads: int) -> NDArray[np.float64]:
        """Return all values between checked rows; the parameters are numbers."""
        if self._of_sequences:
            return self._sequence_values(*sequences_of(A, B))
        A, B = _alike(A, B)
        return self._build().matrix(make_samples(A), make_samples(B), n_threads)

    def distance(self, A: MatrixLike, B: MatrixLike | None = None) -> NDArray[np.float64]:
        """Compute all distances in feature space between the rows of two matrices.

        Their squares are k(a, a) - 2 k(a, b) + k(b, b). Equal rows have the distance zero. Those of
        rows near to each other are computed from the differences of the rows, where the kernel is
        a function of these: linear, RBF, Laplacian and inverse multiquadric kernels, their sums and
        multiples. Others lose digits there, as any difference does.

        Parameters
        ----------
        A : {array-like, sparse matrix} of shape (n_rows_A, n_features)
            The first rows, as in a call.
        B : {array-like, sparse matrix} of shape (n_rows_B, n_features), default=None
            The second rows, those of `A` if None.

        Returns
        -------
        ndarray of shape (n_rows_A, n_rows_B), float64
            The distances.
        """
        if self._of_sequences:
            fitted = self._fitted_to(A)
            a, b = sequences_of(A, B)
            rows = fitted._sequence_diagonal(a)
            columns = rows if b is None else fitted._sequence_diagonal(b)
            squares = rows[:, None] - 2.0 * fitted._sequence_values(a, b) + columns
            return np.sqrt(np.maximum(squares, 0.0))
        kernel, left, right = self._between(A, B)
        return kernel.distance(left, right, thread_count(None))

    def _between(
        self, A: MatrixLike, B: MatrixLike | None
    ) -> tuple[_core.Kernel, _core.Samples, _core.Samples]:
        """Return the core's form of the kernel and of two sets of rows, those of `A` twice."""
        A = check_rows(A, "A")
        kernel = self._fitted_to(A)._build()
        if B is None:
            samples = make_samples(A)
            return kernel, samples, samples
        A, B = _alike(A, check_rows(B, "B"))
        return kernel, make_samples(A), make_samples(B)

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

    def normalized(self) -> "Kernel":
        """Return this kernel divided by the lengths of both rows in feature space.

        Returns
        -------
        Kernel
            k(x, z) / sqrt(k(x, x) k(z, z)).
        """
        return Normalized(self)

    def feature_map(self, X: MatrixLike) -> NDArray[np.float64]:
        """Return features of rows whose inner products are the values of the kernel.

        Linear and polynomial kernels with ``coef0 >= 0`` have finitely many features, and so have
        their sums, products, multiples and normalisations. A polynomial of degree d in n features
        has binomial(n + d, d) of them: it should be of small degree.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            The rows. ``gamma='scale'`` and ``'auto'`` refer to them, as in a call.

        Returns
        -------
        ndarray of shape (n_rows, n_map), float64
            The features.
        """
        X = check_rows(X, "X")
        fitted = self._fitted_to(X)
        X = X.toarray() if sp.issparse(X) else X
        return fitted._features(X.astype(np.float64))

    def _features(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the features of a kernel whose parameters are numbers."""
        raise TypeError(f"{self!r} has no finite feature map: see mercer.kernels.MercerMap")

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
        params = {name: getattr(self, name) for name in self._names()}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Kernel):
                    inner = value.get_params()
                    params.update({f"{name}__{key}": value for key, value in inner.items()})
        return params

    def replace(self, **params: Any) -> "Kernel":
        """Return this kernel with other parameters.

        Parameters
        ----------
        **params : dict
            Names, as `get_params` shows them, and values.

        Returns
        -------
        Kernel
            A new kernel; this one stays as it is.
        """
        nested: dict[str, dict[str, Any]] = {}
        changed: dict[str, Any] = {}
        names = self._names()
        for key, value in params.items():
            name, separator, rest = key.partition("__")
            if name not in names or (separator and not isinstance(getattr(self, name), Kernel)):
                raise ValueError(
                    f"{key!r} is not a parameter of {self!r}, which has {names}"
                    f"{did_you_mean(name, names)}"
                )
            if separator:
                nested.setdefault(name, {})[rest] = value
            else:
                changed[name] = value
        for name, inner in nested.items():
            changed[name] = changed.get(name, getattr(self, name)).replace(**inner)
        return replace(self, **changed)

    def _names(self) -> list[str]:
        return [field.name for field in fields(self)]

    def __repr__(self) -> str:
        """Return Python code that makes this kernel."""
        arguments = [
            f"{field.name}={shown(getattr(self, field.name))}"
            for field in fields(self)
            if not is_default(getattr(self, field.name), field.default)
        ]
        return f"{type(self).__name__}({', '.join(arguments)})"


@dataclass(frozen=True, repr=False)
class _Pair(Kernel):
    """Two kernels, and what is made of them."""

    left: Kernel
    right: Kernel

    @property
    def _of_sequences(self) -> bool:
        return any(getattr(part, "_of_sequences", False) for part in (self.left, self.right))

    def _checked(self) -> dict[str, Any]:
        for name in ("left", "right"):
            _check_kernel(name, getattr(self, name), self)
        if self.left._of_sequences is not self.right._of_sequences:
            raise TypeError(f"a kernel of sequences and one of numbers have no rows: {self!r}")
        return {"left": self.left, "right": self.right}

    def _with_numbers(self, gammas: Gammas) -> "Kernel":
        self._checked()
        return type(self)(self.left._with_numbers(gammas), self.right._with_numbers(gammas))


@suggesting
@dataclass(frozen=True, repr=False)
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

    def _sequence_values(
        self, a: _core.Sequences, b: _core.Sequences | None
    ) -> NDArray[np.float64]:
        return self.left._sequence_values(a, b) + self.right._sequence_values(a, b)

    def _sequence_diagonal(self, a: _core.Sequences) -> NDArray[np.float64]:
        return self.left._sequence_diagonal(a) + self.right._sequence_diagonal(a)

    def _features(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.hstack([self.left._features(X), self.right._features(X)])

    def __repr__(self) -> str:
        """Return Python code that makes this kernel."""
        return f"{_repr_in(self.left, 0)} + {_repr_in(self.right, 1)}"


@suggesting
@dataclass(frozen=True, repr=False)
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

    def _sequence_values(
        self, a: _core.Sequences, b: _core.Sequences | None
    ) -> NDArray[np.float64]:
        return self.left._sequence_values(a, b) * self.right._sequence_values(a, b)

    def _sequence_diagonal(self, a: _core.Sequences) -> NDArray[np.float64]:
        return self.left._sequence_diagonal(a) * self.right._sequence_diagonal(a)

    def _features(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        left, right = self.left._features(X), self.right._features(X)
        check_map_size(left.shape[1] * right.shape[1], self)
        return (left[:, :, None] * right[:, None, :]).reshape(len(X), -1)

    def __repr__(self) -> str:
        """Return Python code that makes this kernel."""
        return f"{_repr_in(self.left, 1)} * {_repr_in(self.right, 2)}"


@suggesting
@dataclass(frozen=True, repr=False)
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

    factor: float
    kernel: Kernel

    _tightness = 1

    @property
    def _of_sequences(self) -> bool:
        return bool(getattr(self.kernel, "_of_sequences", False))

    def _checked(self) -> dict[str, Any]:
        _check_kernel("kernel", self.kernel, self)
        return {"factor": check_non_negative("factor", self.factor), "kernel": self.kernel}

    def _with_numbers(self, gammas: Gammas) -> "Scaled":
        return Scaled(self._checked()["factor"], self.kernel._with_numbers(gammas))

    def _build(self) -> _core.Kernel:
        return _core.Kernel.scaled(self.factor, self.kernel._build())

    def _sequence_values(
        self, a: _core.Sequences, b: _core.Sequences | None
    ) -> NDArray[np.float64]:
        return self.factor * self.kernel._sequence_values(a, b)

    def _sequence_diagonal(self, a: _core.Sequences) -> NDArray[np.float64]:
        return self.factor * self.kernel._sequence_diagonal(a)

    def _features(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return float(np.sqrt(self.factor)) * self.kernel._features(X)

    def __repr__(self) -> str:
        """Return Python code that makes this kernel."""
        return f"{shown(self.factor)} * {_repr_in(self.kernel, 2)}"


@suggesting
@dataclass(frozen=True, repr=False)
class Normalized(Kernel):
    """A kernel divided by the lengths of both rows, which ``kernel.normalized()`` makes.

    k(x, z) / sqrt(k(x, x) k(z, z)) is the cosine of the angle between x and z in feature space. A
    row of length zero has the value 0 with every row, also with itself, as the rows of
    scikit-learn's `cosine_similarity` have.

    Parameters
    ----------
    kernel : Kernel
        The kernel; k(x, x) must not be negative.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().normalized()([[3.0, 4.0]], [[6.0, 8.0], [4.0, -3.0], [0.0, 0.0]])
    array([[1., 0., 0.]])
    """

    kernel: Kernel

    @property
    def _of_sequences(self) -> bool:
        return bool(getattr(self.kernel, "_of_sequences", False))

    def _checked(self) -> dict[str, Any]:
        _check_kernel("kernel", self.kernel, self)
        return {"kernel": self.kernel}

    def _with_numbers(self, gammas: Gammas) -> "Normalized":
        self._checked()
        return Normalized(self.kernel._with_numbers(gammas))

    def _build(self) -> _core.Kernel:
        return _core.Kernel.normalized(self.kernel._build())

    def _sequence_values(
        self, a: _core.Sequences, b: _core.Sequences | None
    ) -> NDArray[np.float64]:
        values = self.kernel._sequence_values(a, b)
        rows = self.kernel._sequence_diagonal(a)
        columns = rows if b is None else self.kernel._sequence_diagonal(b)
        lengths = np.sqrt(np.outer(rows, columns))
        # The root of a square is exact, so that k(x, x) becomes 1.
        return np.divide(values, lengths, out=np.zeros_like(values), where=lengths > 0.0)

    def _sequence_diagonal(self, a: _core.Sequences) -> NDArray[np.float64]:
        return (self.kernel._sequence_diagonal(a) > 0.0).astype(np.float64)

    def _features(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        features = self.kernel._features(X)
        lengths: NDArray[np.float64] = np.sqrt((features**2).sum(axis=1, keepdims=True))
        return np.divide(features, lengths, out=np.zeros_like(features), where=lengths > 0.0)

    def __repr__(self) -> str:
        """Return Python code that makes this kernel."""
        return f"{_repr_in(self.kernel, 2)}.normalized()"


def _repr_in(kernel: Any, tightness: int) -> str:
    """Return the repr, in parentheses if it binds less tightly than its surroundings."""
    bound = not isinstance(kernel, Kernel) or kernel._tightness >= tightness
    return repr(kernel) if bound else f"({kernel!r})"


def _check_kernel(name: str, value: Any, owner: Kernel) -> None:
    if not isinstance(value, Kernel):
        raise TypeError(f"{name} must be an object of mercer.kernels, got {value!r} in {owner!r}")


def check_map_size(n_features: int, kernel: Kernel) -> None:
    """Raise if a feature map is larger than anyone would want."""
    if n_features > _LARGEST_MAP:
        raise ValueError(
            f"the feature map of {kernel!r} would have {n_features} features, more than "
            f"{_LARGEST_MAP}: use the kernel itself"
        )


def is_default(value: Any, default: Any) -> bool:
    """Tell whether a value is the default itself, not only equal to it."""
    return type(value) is type(default) and bool(value == default)


def shown(value: Any) -> str:
    """Return the repr of a value, that of a number for a scalar of numpy."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def _alike(A: MatrixLike, B: MatrixLike) -> tuple[MatrixLike, MatrixLike]:
    """Return two matrices in the same precision and format."""
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"B must have as many columns as A, got {B.shape[1]} and {A.shape[1]}")
    dtype = np.result_type(A, B) if A.dtype != B.dtype else A.dtype
    A, B = A.astype(dtype, copy=False), B.astype(dtype, copy=False)
    if sp.issparse(A) or sp.issparse(B):
        A, B = sp.csr_array(A), sp.csr_array(B)
    return A, B
