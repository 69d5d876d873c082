"""Rows that come in batches: Arrow tables and readers, and any iterator of matrices.

A table of Arrow has its values by column, the core wants them by row. So they are written once,
batch by batch, into a matrix of the least precision that holds them: no data frame, no float64 of
what is float32, no second copy. Predictions need no matrix at all: they are made of one batch after
another, and what was read is forgotten.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from itertools import chain
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

__all__ = ["batches_of", "first_row", "is_arrow", "matrix_of", "streaming"]

_Method = TypeVar("_Method", bound=Callable[..., Any])

#: The most rows of a batch that is made of a table: as many as are predicted at a time.
_ROWS = 2**16

#: Types of columns that float32 holds without loss.
_SINGLE = ("halffloat", "float", "bool", "int8", "uint8", "int16", "uint16")


def is_arrow(X: Any) -> bool:
    """Tell whether `X` is a table, a batch or a reader of Arrow."""
    return type(X).__module__.split(".")[0] == "pyarrow"


def _is_stream(X: Any) -> bool:
    """Tell whether rows come in batches: tables and readers of Arrow, and any iterator."""
    return isinstance(X, Iterator) or (is_arrow(X) and not _is_batch(X))


def _is_batch(X: Any) -> bool:
    return hasattr(X, "num_columns") and not hasattr(X, "to_batches")


def _arrow_batches(X: Any) -> Iterator[Any]:
    """Return the record batches of an object of Arrow."""
    if hasattr(X, "to_batches"):  # a table, a data set
        try:
            return iter(X.to_batches(max_chunksize=_ROWS))
        except TypeError:
            return iter(X.to_batches(batch_size=_ROWS))
    if hasattr(X, "iter_batches"):  # a file of Parquet
        return iter(X.iter_batches(batch_size=_ROWS))
    if hasattr(X, "read_next_batch"):
        return iter(X)
    if _is_batch(X):
        return iter([X])
    raise TypeError(
        "X must be a table, a record batch, a reader, a data set or a Parquet file of Arrow, got "
        f"{type(X).__name__}"
    )


def _precision(schema: Any) -> Any:
    """Return the type of a matrix that holds the columns of a table."""
    for name, kind in zip(schema.names, schema.types, strict=True):
        text = str(kind)
        if not (text.startswith(("int", "uint", "float", "double", "half", "bool"))):
            raise ValueError(f"X must have columns of numbers, got {name!r} of type {text}")
    single = all(str(kind) in _SINGLE for kind in schema.types)
    return np.float32 if single else np.float64


def _filled(batch: Any, rows: NDArray[Any]) -> None:
    """Write a record batch into rows."""
    for number, column in enumerate(batch.columns):
        if column.null_count:
            name = batch.schema.names[number]
            raise ValueError(f"X must have no missing values, got some in column {name!r}")
        rows[:, number] = column.to_numpy(zero_copy_only=False)


def first_row(X: Any) -> tuple[Any, Iterator[Any]]:
    """Return the first row of an object of Arrow as a batch, and all its batches.

    A reader can be read once only.
    """
    batches = _arrow_batches(X)
    first = next(batches, None)
    if first is None:
        raise ValueError("Found array with 0 sample(s): X has no rows")
    _precision(first.schema)  # which refuses what is no number
    return first.slice(0, 1), chain([first], batches)


def matrix_of(batches: Iterable[Any], n_rows: int | None = None) -> NDArray[Any]:
    """Return record batches as one matrix, which grows as they come if `n_rows` is not known."""
    matrix, filled = None, 0
    for batch in batches:
        if matrix is None:
            width, kind = batch.num_columns, _precision(batch.schema)
            matrix = np.empty((n_rows or max(batch.num_rows, 1), width), dtype=kind)
        end = filled + batch.num_rows
        if end > len(matrix):
            # In place where the system can: pages are moved, not copied.
            matrix.resize((max(end, len(matrix) * 3 // 2), matrix.shape[1]), refcheck=False)
        _filled(batch, matrix[filled:end])
        filled = end
    if matrix is None:
        raise ValueError("Found array with 0 sample(s): X has no rows")
    if filled < len(matrix):
        matrix.resize((filled, matrix.shape[1]), refcheck=False)
    return matrix


def batches_of(X: Any) -> Iterator[Any]:
    """Return the batches of a stream that have rows."""
    batches = _arrow_batches(X) if is_arrow(X) else X
    for batch in batches:
        rows = batch.num_rows if is_arrow(batch) else len(batch)
        if rows:
            yield batch


def streaming(method: _Method) -> _Method:
    """Let a method of a fitted machine, whose first argument is rows, take a stream of batches."""

    @wraps(method)
    def of_stream(self: Any, X: Any, *arguments: Any, **named: Any) -> Any:
        if not _is_stream(X):
            return method(self, X, *arguments, **named)
        from mercer._data import joined  # which knows this module

        model = self._snapshot()
        return joined(method(model, batch, *arguments, **named) for batch in batches_of(X))

    return cast(_Method, of_stream)
