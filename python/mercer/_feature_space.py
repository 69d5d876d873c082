"""What estimators in feature space share: the kernel, the rows they keep, and projections."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer import _core
from mercer._data import RowsLike, joined, length
from mercer._threads import thread_count
from mercer.kernels._kernel import Kernel
from mercer.svm._parameters import KernelParameters
from mercer.svm._sources import KernelFunction, KernelSource, Prediction, Training, source_of

__all__ = ["FeatureSpace", "as_rows", "is_dense"]

#: Bytes of the kernel matrix of a callable up to which it is computed once, in few calls.
_MATRIX_BYTES = 2**30


@dataclass(frozen=True)
class _Holding:
    """What decides whether the matrix of a callable is computed beforehand."""

    bytes: int

    def holds_matrix(self, n_rows: int, machines: int) -> bool:
        return 8 * n_rows**2 <= self.bytes


class FeatureSpace(KernelParameters):
    """Base of the estimators that live in feature space.

    ``fit`` of a subclass calls `_take_rows` and then the core; predictions are linear functions in
    feature space, `_project`.
    """

    n_jobs: Any

    X_fit_: Any
    # The kernel of the model, its parameters being numbers.
    _fit_kernel: Kernel | str | KernelFunction
    # The numbers of the rows it keeps: columns of precomputed kernel values.
    _columns: NDArray[np.int32]

    def _take_rows(
        self,
        X: RowsLike,
        keep: NDArray[np.intp] | None = None,
        weight: NDArray[np.float64] | None = None,
    ) -> Training:
        """Keep the rows `keep` of checked rows, fix the kernel, and return what the core needs."""
        kernel = self._check_kernel()
        n_rows = length(X) or 0
        self._columns = np.arange(n_rows, dtype=np.int32)
        if keep is not None and len(keep) < n_rows:
            X = source_of(kernel).rows(X, keep)
            self._columns = keep.astype(np.int32)
        kernel = self._fix_kernel(kernel, X, weight)
        self.X_fit_ = X
        return source_of(kernel).training(X, _Holding(_MATRIX_BYTES), 2)

    def _fix_kernel(
        self,
        kernel: Kernel | str | KernelFunction,
        X: RowsLike,
        weight: NDArray[np.float64] | None = None,
    ) -> Kernel | str | KernelFunction:
        """Make numbers of the kernel's parameters, and keep it as that of the model."""
        if isinstance(kernel, Kernel):
            kernel = kernel._fitted_to(X, weight)
        self._fit_kernel = kernel
        return kernel

    @property
    def _model_rows(self) -> Any:
        return self.X_fit_

    def _check_new(self, X: RowsLike) -> RowsLike:
        """Return rows to project, checked."""
        return source_of(self._fit_kernel).check(self, X, reset=False)

    def _project(
        self, X: RowsLike, coefficients: NDArray[np.float64], intercept: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return linear functions in feature space of checked rows, block by block.

        A function has a row of coefficients, of the rows the model keeps, and a constant.
        """
        if len(intercept) == 0:
            return np.zeros((length(X) or 0, 0))
        n_rows = length(self.X_fit_) or 0
        kernel, samples = self._source().expansion_parts(np.arange(n_rows), self.X_fit_, (n_rows,))
        function = _core.Projection(kernel, samples, np.ascontiguousarray(coefficients), intercept)
        prediction = Prediction(
            X=X,
            # It decides as an expansion does, and has no classes.
            expansion=cast(_core.Expansion, function),
            support=self._columns,
            support_vectors=self.X_fit_,
            n_machines=len(intercept),
            n_threads=thread_count(self.n_jobs),
        )
        return joined(self._source().decision(prediction))

    def _source(self) -> KernelSource:
        return source_of(self._fit_kernel)

    def _constant(self) -> float | None:
        """Return the diagonal of a precomputed kernel matrix if it is constant, else None."""
        if not isinstance(self._fit_kernel, str):
            return None
        diagonal = np.diagonal(self.X_fit_)
        same = np.allclose(diagonal, diagonal[0], rtol=1e-6, atol=0.0)
        return float(diagonal[0]) if same else None


def as_rows(values: NDArray[np.float64], X: RowsLike) -> NDArray[Any]:
    """Return values in the precision of the rows they were made of."""
    single = getattr(X, "dtype", None) == np.float32
    return values.astype(np.float32) if single else values


def is_dense(X: RowsLike) -> bool:
    """Tell whether rows are an array of numbers."""
    return isinstance(X, np.ndarray) and not sp.issparse(X)
