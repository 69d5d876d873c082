"""The fitted state: arrays that cannot be changed in place, and the core's form of a model."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer import _core
from mercer._params import naming

__all__ = ["CoreForm", "freeze", "real_numbers", "whole_numbers"]

_Value = TypeVar("_Value")


def freeze(value: _Value) -> _Value:
    """Make an array, dense or CSR, read-only; return it, or anything else as it is."""
    arrays = [value.data, value.indices, value.indptr] if sp.issparse(value) else [value]  # type: ignore[attr-defined]
    for array in arrays:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return value


class CoreForm:
    """The core's form of a model, made when first needed and when a part has been replaced.

    It belongs to a fitted state without being part of it: pickles and copies begin without.
    """

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: tuple[tuple[Any, ...], _core.Expansion] | None = None

    def of(self, parts: tuple[Any, ...], make: Callable[[], _core.Expansion]) -> _core.Expansion:
        """Return the form made of these very objects."""
        last = self._last
        if last is not None and all(a is b for a, b in zip(last[0], parts, strict=True)):
            return last[1]
        expansion = make()
        self._last = parts, expansion
        return expansion

    def forget(self) -> None:
        """Give the form up, to be made again if it is needed."""
        self._last = None

    def __reduce__(self) -> tuple[type["CoreForm"], tuple[()]]:
        return CoreForm, ()


def whole_numbers(name: str, value: Any) -> NDArray[np.int64]:
    """Return an attribute that should be a vector of whole numbers, else raise."""
    array = np.asarray(value)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be a vector of integers, got shape {array.shape}, dtype {array.dtype}"
        )
    return array.astype(np.int64)


def real_numbers(name: str, value: Any, ndim: int) -> NDArray[np.float64]:
    """Return an attribute that should be an array of real numbers, else raise."""
    with naming(name):
        array = np.asarray(value.toarray() if sp.issparse(value) else value, dtype=np.float64)
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimensions, got shape {array.shape}")
    return array
