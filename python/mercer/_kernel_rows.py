"""Estimators that need whole matrices of kernel values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._data import RowNumbers, RowsLike
from mercer.kernels._kernel import Kernel
from mercer.svm._parameters import KernelParameters
from mercer.svm._sources import Custom, KernelFunction, source_of

__all__ = ["KernelRows", "kernel_values"]


def kernel_values(
    kernel: Kernel | str | KernelFunction, A: RowsLike, B: RowsLike | None = None
) -> NDArray[np.float64]:
    """Return all values of a kernel that is an object or a callable, rows being checked."""
    if isinstance(kernel, Kernel):
        return kernel(A, B)
    if isinstance(kernel, str):
        raise ValueError("a precomputed kernel has no values of other rows")
    return Custom(kernel).values(A, A if B is None else B)


class KernelRows(KernelParameters):
    """Base of estimators that compute the kernel matrix of all rows in ``fit``."""

    _rows: Any
    _row_numbers: NDArray[np.intp]
    # The kernel of the model, its parameters being numbers.
    _fit_kernel: Kernel | str | KernelFunction

    @property
    def _model_rows(self) -> Any:
        return self._rows

    def _take_rows(self, X: RowsLike) -> tuple[RowsLike, NDArray[np.float64]]:
        """Check rows and fix the kernel. Return the rows, and their kernel matrix."""
        kernel = self._check_kernel()
        X = source_of(kernel).check(self, X, reset=True)
        if isinstance(kernel, Kernel):
            kernel = kernel._fitted_to(X)
        self._fit_kernel = kernel
        if isinstance(kernel, str):
            return X, np.ascontiguousarray(X, dtype=np.float64)
        return X, kernel_values(kernel, X)

    def _keep(self, X: RowsLike, numbers: RowNumbers) -> None:
        """Keep some of the rows, by number: predictions need their kernel values."""
        self._row_numbers = np.asarray(numbers, dtype=np.intp)
        if isinstance(self._fit_kernel, str):
            self._rows = np.empty((0, 0))
        else:
            self._rows = source_of(self._fit_kernel).rows(X, self._row_numbers)

    def _new_values(self, X: RowsLike) -> NDArray[np.float64]:
        """Return the kernel values of new rows with those that are kept."""
        X = source_of(self._fit_kernel).check(self, X, reset=False)
        if isinstance(self._fit_kernel, str):
            return np.ascontiguousarray(X[:, self._row_numbers], dtype=np.float64)
        if not len(self._row_numbers):
            return np.empty((X.shape[0] if hasattr(X, "shape") else len(X), 0))
        return kernel_values(self._fit_kernel, X, self._rows)
