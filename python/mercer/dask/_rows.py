"""Rows on workers: put together, picked, and multiplied by kernel values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer import _core
from mercer._data import RowsLike, length, make_samples
from mercer.svm._sources import Custom, source_of

__all__ = ["bytes_of", "diagonal", "kernel_sums", "stacked"]


def stacked(blocks: Sequence[RowsLike]) -> RowsLike:
    """Return blocks of rows, at least one, one after another."""
    if len(blocks) == 1:
        return blocks[0]
    if sp.issparse(blocks[0]):
        return sp.csr_array(sp.vstack(blocks, format="csr"))
    if hasattr(blocks[0], "iloc"):
        import pandas as pd

        return pd.concat(blocks)
    if isinstance(blocks[0], np.ndarray):
        return np.concatenate(blocks)
    return [row for block in blocks for row in block]


def kernel_sums(
    kernel: Any, rows: RowsLike, vectors: RowsLike, coefficients: NDArray[np.float64], threads: int
) -> NDArray[np.float64]:
    """Return sum_j c_mj k(x, v_j) of each row x in float64, a column for each m."""
    source = source_of(kernel)
    if isinstance(source, Custom):
        blocks = source.kernel_values(rows, np.arange(coefficients.shape[1]), vectors)
        return np.concatenate([values @ coefficients.T for values in blocks])
    projection = _core.Projection(
        kernel._build(), make_samples(vectors), coefficients, np.zeros(len(coefficients))
    )
    return projection.decision(make_samples(rows), threads)


def diagonal(kernel: Any, rows: RowsLike) -> NDArray[np.float64]:
    """Return k(x, x) of each row."""
    return np.concatenate(list(source_of(kernel).diagonal(rows, None)))


def bytes_of(*values: Any) -> int:
    """Return the bytes that values take on their way to another process, about."""
    total = 0
    for value in values:
        if sp.issparse(value):
            total += value.data.nbytes + value.indices.nbytes + value.indptr.nbytes
        elif hasattr(value, "memory_usage"):
            total += int(value.memory_usage().sum())
        elif isinstance(value, np.ndarray):
            total += value.nbytes
        else:
            total += 8 * (length(value) or 0)
    return total
