"""Sequences of symbols on their way into the core."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from mercer import _core

__all__ = ["sequences_of"]


def sequences_of(A: Any, B: Any) -> tuple[_core.Sequences, _core.Sequences | None]:
    """Return two sets of sequences whose symbols have the same numbers; the second may be None."""
    first = _rows(A, "A")
    kind = _kind(first, "A")
    if B is None or B is A:
        return _numbered(first, kind, {}), None
    second = _rows(B, "B")
    other = _kind(second, "B")
    if other is not kind:
        raise TypeError(
            f"B must have rows of the kind that A has, {kind.__name__}, got {other.__name__}"
        )
    numbers: dict[Hashable, int] = {}
    return _numbered(first, kind, numbers), _numbered(second, kind, numbers)


def _rows(X: Any, name: str) -> list[Any]:
    """Return the rows of a list, an array or a column of a data frame."""
    if hasattr(X, "iloc"):
        X = X.to_numpy()
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1:
        X = X[:, 0]
    if isinstance(X, str | bytes) or not hasattr(X, "__len__") or getattr(X, "ndim", 1) == 0:
        raise TypeError(f"{name} must be a list, an array or a column of sequences, got {X!r}")
    return list(X)


def _kind(rows: list[Any], name: str) -> type:
    """Return what all rows are: str, bytes or sequences of other symbols."""
    kind: type | None = None
    for number, row in enumerate(rows):
        if isinstance(row, str):
            found: type = str
        elif isinstance(row, bytes):
            found = bytes
        elif isinstance(row, Sequence | np.ndarray):
            found = Sequence
        else:
            raise TypeError(
                f"{name} must have rows that are str, bytes or sequences of symbols, got {row!r} "
                f"in row {number}"
            )
        if kind is not None and found is not kind:
            raise TypeError(
                f"{name} must have rows of one kind, got {kind.__name__} in row 0 and "
                f"{found.__name__} in row {number}"
            )
        kind = found
    return kind or str


def _numbered(rows: list[Any], kind: type, numbers: dict[Hashable, int]) -> _core.Sequences:
    """Return rows as numbers; those of symbols that are neither characters nor bytes are kept."""
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=starts[1:])
    if kind is str:
        text = "".join(rows).encode("utf-32-le", "surrogatepass")
        symbols = np.frombuffer(text, dtype="<u4").astype(np.uint32)
    elif kind is bytes:
        symbols = np.frombuffer(b"".join(rows), dtype=np.uint8).astype(np.uint32)
    else:
        found = [numbers.setdefault(symbol, len(numbers)) for row in rows for symbol in row]
        symbols = np.array(found, dtype=np.uint32)
    return _core.Sequences(symbols, starts)
