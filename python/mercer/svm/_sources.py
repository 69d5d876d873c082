"""Where kernel values come from: the core, the user's matrix, or the user's function.

A source knows how rows get into the core, what to keep of the support vectors, and how to compute
their kernel values in prediction. Estimators store the kernel (an object of `mercer.kernels`,
'precomputed' or a callable), and `source_of` makes its source.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils.validation import validate_data

from mercer import _core
from mercer._data import (
    RowNumbers,
    RowsLike,
    canonical,
    check_rows,
    checked,
    length,
    make_samples,
    noted,
    sparse_as_configured,
    take_rows,
)
from mercer._params import naming
from mercer.kernels._kernel import Kernel
from mercer.svm._state import freeze

__all__ = ["Given", "KernelFunction", "KernelSource", "Prediction", "source_of"]

#: A user's kernel: ``k(A, B)`` has shape (len(A), len(B)).
KernelFunction: TypeAlias = Callable[[Any, Any], Any]

#: Values asked from a user's function in one call of a fit: 32 MB.
_CALL_VALUES = 2**22

#: Rows per call into the core in prediction, and values per temporary array: to bound memory.
_BLOCK_ROWS = 2**16
_BLOCK_VALUES = 2**22

#: Rows per call of a user's kernel for the values k(z, z): few, since it computes their square.
_DIAGONAL_ROWS = 32


@dataclass(frozen=True)
class Prediction:
    """Rows to predict, and the model to predict them with."""

    X: RowsLike
    expansion: _core.Expansion
    support: NDArray[np.int32]
    support_vectors: RowsLike
    n_machines: int
    n_threads: int


@dataclass(frozen=True)
class Training:
    """What the core needs for training, and what was computed beforehand."""

    samples: _core.Samples
    kernel: _core.Kernel
    #: Kernel values that are computed already, and the time that took.
    evaluations: int = 0
    seconds: float = 0.0


class Holding(Protocol):
    """What decides whether the matrix of a callable is computed beforehand."""

    def holds_matrix(self, rows: int, machines: int, /) -> bool:
        """Tell so for a number of rows, and of machines to be trained on them."""


class KernelSource(ABC):
    """Kernel values of one kind."""

    @abstractmethod
    def check(self, estimator: Any, X: RowsLike, *, reset: bool) -> RowsLike:
        """Validate rows for training (`reset`) or prediction, with scikit-learn's messages."""

    @abstractmethod
    def rows(self, X: RowsLike, keep: RowNumbers) -> RowsLike:
        """Return the training set with the rows `keep` only."""

    def join(self, estimator: Any, rows: RowsLike, X: RowsLike) -> RowsLike:
        """Return rows that were checked with more rows, which are checked, at their end."""
        X = self.check(estimator, X, reset=False)
        if sp.issparse(rows):
            return sp.vstack([rows, sp.csr_array(X)], format="csr")
        if isinstance(rows, np.ndarray):
            return np.concatenate([rows, X])
        return [*take_rows(rows, np.arange(length(rows) or 0)), *X]

    @abstractmethod
    def training(self, X: RowsLike, settings: Holding, machines: int) -> Training:
        """Return what the core needs for training so many machines on rows that were checked."""

    @abstractmethod
    def support_vectors(self, X: RowsLike, support: RowNumbers) -> RowsLike:
        """Return what prediction needs of the support vectors."""

    @abstractmethod
    def expansion_parts(
        self, support: NDArray[np.int64], support_vectors: RowsLike, shape: tuple[int | None, ...]
    ) -> tuple[_core.Kernel, _core.Samples | None]:
        """Return the kernel and the support vectors as `_core.Expansion` takes them.

        `support` are their numbers and `shape` is the shape of the training set; raise if they do
        not fit.
        """

    @abstractmethod
    def decision(self, prediction: Prediction) -> Iterator[NDArray[np.float64]]:
        """Yield the values of all machines for one block of rows after the other."""

    def classes(self, prediction: Prediction) -> Iterator[NDArray[np.int64]]:
        """Yield the class numbers for one block of rows after the other."""
        for values in self.decision(prediction):
            yield prediction.expansion.winners(values)

    @abstractmethod
    def diagonal(self, X: RowsLike, constant: float | None) -> Iterator[NDArray[np.float64]]:
        """Yield k(z, z) for one block of rows of `X` after the other.

        `constant` is that of a precomputed kernel, None if it is not constant.
        """


class BuiltIn(KernelSource):
    """A kernel that the core computes, all parameters being numbers."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def check(self, estimator: Any, X: RowsLike, *, reset: bool) -> RowsLike:
        X = checked(estimator, X, accept_sparse="csr", reset=reset)
        with naming("X"):
            X = canonical(X)
        if not reset:
            trained_on_sparse = sp.issparse(estimator._model_rows)
            if sp.issparse(X) and not trained_on_sparse:
                raise ValueError(
                    f"cannot use sparse input in {type(estimator).__name__!r} trained on dense "
                    "data: convert X, or train on a sparse X"
                )
            if trained_on_sparse:
                X = sp.csr_array(X)
        return X

    def rows(self, X: RowsLike, keep: RowNumbers) -> RowsLike:
        return X[keep]

    def training(self, X: RowsLike, settings: Holding, machines: int) -> Training:
        return Training(make_samples(X), self._kernel._build())

    def support_vectors(self, X: RowsLike, support: RowNumbers) -> RowsLike:
        vectors = X[support]
        return canonical(sparse_as_configured(vectors)) if sp.issparse(X) else vectors

    def expansion_parts(
        self, support: NDArray[np.int64], support_vectors: RowsLike, shape: tuple[int | None, ...]
    ) -> tuple[_core.Kernel, _core.Samples | None]:
        vectors = check_rows(support_vectors, "support_vectors_", at_least=0)
        with naming("support_vectors_"):
            return self._kernel._build(), make_samples(vectors)

    def decision(self, prediction: Prediction) -> Iterator[NDArray[np.float64]]:
        X = prediction.X
        for block in self._blocks(X, prediction.n_machines):
            yield prediction.expansion.decision(make_samples(X[block]), prediction.n_threads)

    def classes(self, prediction: Prediction) -> Iterator[NDArray[np.int64]]:
        X = prediction.X
        for block in self._blocks(X):
            yield prediction.expansion.predict(make_samples(X[block]), prediction.n_threads)

    def diagonal(self, X: RowsLike, constant: float | None) -> Iterator[NDArray[np.float64]]:
        kernel = self._kernel._build()
        for block in self._blocks(X):
            yield kernel.diagonal(make_samples(X[block]))

    @staticmethod
    def _blocks(X: RowsLike, n_values: int = 1) -> Iterator[slice]:
        """Return blocks of rows, each of which yields `n_values`."""
        stored = X.nnz if sp.issparse(X) else X.size
        return _blocks(X.shape[0], max(stored // X.shape[0], n_values))


class Given(KernelSource):
    """Kernel values that the user gives, as a matrix or by a function."""

    @abstractmethod
    def kernel_values(
        self, X: RowsLike, support: RowNumbers, vectors: RowsLike, n_values: int = 1
    ) -> Iterator[NDArray[np.float64]]:
        """Yield the values of one block of rows after the other with the support vectors.

        Of each row, `n_values` are made of them.
        """

    def decision(self, prediction: Prediction) -> Iterator[NDArray[np.float64]]:
        for values in self.kernel_values(
            prediction.X, prediction.support, prediction.support_vectors, prediction.n_machines
        ):
            yield prediction.expansion.decision_from_kernel(values)


class Precomputed(Given):
    """A kernel matrix given as `X`."""

    def check(self, estimator: Any, X: RowsLike, *, reset: bool) -> RowsLike:
        if sp.issparse(X):
            raise TypeError("Sparse precomputed kernels are not supported: give X as a dense array")
        X = checked(estimator, X, reset=reset)
        if reset and X.shape[0] != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix. "
                f"Input is a {X.shape[0]}x{X.shape[1]} matrix X."
            )
        return X

    def rows(self, X: RowsLike, keep: RowNumbers) -> RowsLike:
        return X[np.ix_(keep, keep)]

    def join(self, estimator: Any, rows: RowsLike, X: RowsLike) -> RowsLike:
        new = check_rows(X, "X")
        n_rows, n_new = rows.shape[0], new.shape[0]
        if sp.issparse(new) or new.shape[1] != n_rows + n_new:
            raise ValueError(
                f"X must have the kernel values of {n_new} new rows with all {n_rows + n_new} "
                f"rows, old and new, got shape {new.shape}"
            )
        return np.block([[rows, new[:, :n_rows].T], [new]])

    def training(self, X: RowsLike, settings: Holding, machines: int) -> Training:
        # Looking at all values once more would take longer than reading those that are needed.
        finite = not get_config()["assume_finite"]
        return Training(_core.Samples.dense(X, finite=finite), _core.Kernel.precomputed())

    def support_vectors(self, X: RowsLike, support: RowNumbers) -> RowsLike:
        return np.empty((0, 0), dtype=X.dtype)

    def expansion_parts(
        self, support: NDArray[np.int64], support_vectors: RowsLike, shape: tuple[int | None, ...]
    ) -> tuple[_core.Kernel, _core.Samples | None]:
        n_rows = shape[0] if isinstance(shape, tuple) and shape else None
        if not isinstance(n_rows, int):
            raise ValueError(f"shape_fit_ must be the shape of the kernel matrix, got {shape!r}")
        if len(support) and not 0 <= support.min() <= support.max() < n_rows:
            raise ValueError(
                f"support_ must be numbers of rows from 0 to {n_rows - 1}, got values from "
                f"{support.min()} to {support.max()}"
            )
        return _core.Kernel.precomputed(), None

    def kernel_values(
        self, X: RowsLike, support: RowNumbers, vectors: RowsLike, n_values: int = 1
    ) -> Iterator[NDArray[np.float64]]:
        for block in _blocks(X.shape[0], max(len(support), n_values)):
            yield np.ascontiguousarray(X[block][:, support], dtype=np.float64)

    def diagonal(self, X: RowsLike, constant: float | None) -> Iterator[NDArray[np.float64]]:
        if constant is None:
            raise ValueError(
                "a precomputed kernel matrix does not hold k(z, z) of the rows z to predict, and "
                "the diagonal of the one given to fit is not constant: normalise the kernel so "
                "that k(z, z) = 1 for all z, or give kernel as a callable"
            )
        yield np.full(X.shape[0], constant)


class Custom(Given):
    """A function ``k(A, B)`` of the user, over rows of any kind, or a kernel of sequences."""

    def __init__(self, function: KernelFunction) -> None:
        self._function = function

    def check(self, estimator: Any, X: RowsLike, *, reset: bool) -> RowsLike:
        # Rows may be of any kind: only the function knows what a valid one is.
        if isinstance(X, list | tuple):
            X = _numbers_as_array(X)
        elif sp.issparse(X):
            X = X.tocsr()
        n_rows = length(X)
        if not n_rows:
            raise ValueError(f"X must be a sequence of at least one row, got {X!r}")
        if type(X) is np.ndarray and X.ndim == 2 and noted(estimator, X, reset=reset):
            return X
        if reset:
            estimator.__dict__.pop("n_features_in_", None)
        with naming("X"):
            return validate_data(estimator, X, skip_check_array=True, reset=reset)

    def rows(self, X: RowsLike, keep: RowNumbers) -> RowsLike:
        return take_rows(X, keep)

    def training(self, X: RowsLike, settings: Holding, machines: int) -> Training:
        n_rows = length(X) or 0
        if settings.holds_matrix(n_rows, machines):
            start = perf_counter()
            samples = _core.Samples.dense(self._matrix(X, n_rows), finite=True)
            seconds = perf_counter() - start
            return Training(samples, _core.Kernel.precomputed(), n_rows**2, seconds)

        def block(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
            A, B = _copied(X, rows), _copied(X, columns)
            return self._values(A, B, len(rows), len(columns))

        return Training(_core.Samples.numbered(n_rows), _core.Kernel.callable(block))

    def _matrix(self, X: RowsLike, n_rows: int) -> NDArray[np.float64]:
        """Return all values between the rows of `X`, in as few calls as memory allows."""
        step = max(1, _CALL_VALUES // n_rows)
        columns = freeze(X.view()) if isinstance(X, np.ndarray) else _copied(X, np.arange(n_rows))
        if step >= n_rows:
            return self._values(columns, columns, n_rows, n_rows)
        matrix = np.empty((n_rows, n_rows))
        for start in range(0, n_rows, step):
            rows = np.arange(start, min(start + step, n_rows))
            matrix[rows] = self._values(_copied(X, rows), columns, len(rows), n_rows)
        return matrix

    def support_vectors(self, X: RowsLike, support: RowNumbers) -> RowsLike:
        return take_rows(X, support)

    def expansion_parts(
        self, support: NDArray[np.int64], support_vectors: RowsLike, shape: tuple[int | None, ...]
    ) -> tuple[_core.Kernel, _core.Samples | None]:
        if length(support_vectors) != len(support):
            raise ValueError(
                f"support_vectors_ must have one row for each entry of support_, {len(support)}, "
                f"got {length(support_vectors)}"
            )
        # The core is given kernel values, so it matters only that the kernel is not its own.
        return _core.Kernel.precomputed(), None

    def kernel_values(
        self, X: RowsLike, support: RowNumbers, vectors: RowsLike, n_values: int = 1
    ) -> Iterator[NDArray[np.float64]]:
        n_support, vectors = len(support), _protected(vectors)
        for block in _blocks(length(X) or 0, max(n_support, n_values)):
            rows = np.arange(block.start, block.stop)
            if n_support:
                yield self._values(_copied(X, rows), vectors, len(rows), n_support)
            else:
                yield np.empty((len(rows), 0))

    def diagonal(self, X: RowsLike, constant: float | None) -> Iterator[NDArray[np.float64]]:
        n_rows = length(X) or 0
        for start in range(0, n_rows, _DIAGONAL_ROWS):
            block = _copied(X, np.arange(start, min(start + _DIAGONAL_ROWS, n_rows)))
            size = length(block) or 0
            yield np.diagonal(self._values(block, block, size, size))

    def values(self, A: RowsLike, B: RowsLike) -> NDArray[np.float64]:
        """Return all values between two sets of rows."""
        first, second = _protected(A), _protected(B)
        return self._values(first, second, length(A) or 0, length(B) or 0)

    def _values(self, A: RowsLike, B: RowsLike, n_rows: int, n_columns: int) -> NDArray[np.float64]:
        """Call the function and check what comes back; its own exceptions pass unchanged."""
        returned = self._function(A, B)
        if sp.issparse(returned):
            returned = returned.toarray()
        with naming("kernel"):
            values = np.asarray(returned)
        if values.shape != (n_rows, n_columns):
            raise ValueError(
                f"kernel must return an array of shape ({n_rows}, {n_columns}), one value for "
                f"each pair of rows, got shape {values.shape}"
            )
        if values.dtype.kind not in "biufO":
            raise ValueError(f"kernel must return real numbers, got dtype {values.dtype}")
        with naming("kernel"):
            values = np.ascontiguousarray(values, dtype=np.float64)
        if not _core.is_finite(values):
            raise ValueError("kernel must return finite numbers, got NaN or infinity")
        return values


def source_of(kernel: Kernel | str | KernelFunction) -> KernelSource:
    """Return the source of the values of a kernel whose parameters are numbers."""
    if isinstance(kernel, Kernel):
        return Custom(kernel) if kernel._of_sequences else BuiltIn(kernel)
    if isinstance(kernel, str) and kernel == "precomputed":
        return Precomputed()
    if not callable(kernel):
        raise TypeError(
            f"kernel must be an object of mercer.kernels, 'precomputed' or a callable, got "
            f"{kernel!r}"
        )
    return Custom(kernel)


def _copied(X: RowsLike, rows: RowNumbers) -> RowsLike:
    """Return a copy of some rows, read-only as all that the user's function is given."""
    return freeze(take_rows(X, rows))


def _protected(rows: RowsLike) -> RowsLike:
    """Return rows of a model such that the user's function cannot change the model."""
    if isinstance(rows, np.ndarray):
        return freeze(rows.view())
    return rows if sp.issparse(rows) else take_rows(rows, np.arange(length(rows) or 0))


def _blocks(n_rows: int, values_per_row: int) -> Iterator[slice]:
    step = max(1, min(_BLOCK_ROWS, _BLOCK_VALUES // max(1, values_per_row)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _numbers_as_array(rows: list[Any] | tuple[Any, ...]) -> Any:
    """Return nested sequences of numbers as an array, anything else as it is."""
    try:
        array = np.asarray(rows)
    except ValueError:  # rows of different lengths
        return rows
    return array if array.ndim > 1 and array.dtype.kind in "biuf" else rows
