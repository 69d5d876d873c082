"""The fitted state: arrays that cannot be changed in place, and the core's form of a model."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer import _core
from mercer._data import make_samples
from mercer._params import naming

__all__ = ["CoreForm", "freeze", "one_number", "real_numbers", "whole_numbers"]

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
        if last and all(a is b for a, b in zip(last[0], parts, strict=True)):
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
    """Return an attribute that should be an array of finite real numbers, else raise."""
    with naming(name):
        array = np.asarray(_dense(name, value) if sp.issparse(value) else value)
    if array.ndim != ndim or array.dtype.kind not in "iuf":
        raise ValueError(
            f"{name} must be an array of numbers of {ndim} dimensions, got shape {array.shape}, "
            f"dtype {array.dtype}"
        )
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return array.astype(np.float64, copy=False)


def one_number(name: str, value: Any) -> NDArray[np.float64]:
    """Return an attribute that should be an array of one finite number, else raise."""
    array = real_numbers(name, value, 1)
    if len(array) != 1:
        raise ValueError(f"{name} must be an array of one number, got {len(array)}")
    return array


def _dense(name: str, matrix: Any) -> NDArray[Any]:
    """Return a sparse matrix as a dense one; raise if its parts do not fit, as scipy does not."""
    matrix = matrix.tocsr()
    try:
        shape = make_samples(matrix).shape
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"{name} is no CSR matrix of real numbers: {error}") from error
    if shape != matrix.shape:
        raise ValueError(f"{name} must have the rows of its indptr, {shape[0]}, got {matrix.shape}")
    dense: NDArray[Any] = matrix.toarray()
    return dense
