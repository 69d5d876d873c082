"""Values of Python as those of a model file: JSON, and arrays beside it.

`src/persist/mod.rs` has the table of what stands for what.
"""

import math
from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from mercer import kernels
from mercer.kernels._kernel import Kernel
from mercer.report import MachineReport, Report, Seconds

__all__ = ["Reader", "Writer"]

#: What JSON in Rust can hold.
_INTEGERS = range(-(2**63), 2**63)

#: Types of arrays that a file holds as they are.
_NUMBERS = ("float64", "float32", "int64", "int32")

_KERNELS = {
    name: kind
    for name in kernels.__all__
    if isinstance(kind := getattr(kernels, name), type) and issubclass(kind, Kernel)
}


class Writer:
    """Makes JSON of values, and collects the arrays."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        # What stands for objects that were met before. They are kept, so that no other one gets the
        # place of theirs in memory.
        self._known: dict[int, tuple[Any, Any]] = {}

    def value(self, name: str, value: Any) -> Any:
        """Return what stands for a value; `name` is what its arrays are called, and errors too."""
        if id(value) in self._known:
            return self._known[id(value)][1]
        if isinstance(value, np.ndarray):
            written = self._array(name, value)
        elif sp.issparse(value):
            written = self._sparse(name, value)
        else:
            return self._other(name, value)
        self._known[id(value)] = value, written
        return written

    def _other(self, name: str, value: Any) -> Any:
        match value:
            case None | bool() | str():
                return str(value) if isinstance(value, str) else value
            case np.bool_():
                return bool(value)
            case Seconds():
                parts = value.selection, value.kernel, value.inner, value.update
                return [self.value(name, part) for part in (float(value), *parts)]
            case int() | np.integer():
                whole = int(value)
                return whole if whole in _INTEGERS else {"integer": str(whole)}
            case float() | np.floating():
                number = float(value)
                return number if math.isfinite(number) else {"float": str(number)}
            case bytes():
                return {"bytes": value.hex()}
            case list():
                return [self.value(f"{name}.{at}", each) for at, each in enumerate(value)]
            case tuple():
                return {"tuple": self.value(name, list(value))}
            case dict():
                pairs = [
                    [self.value(name, key), self.value(f"{name}.{key}", each)]
                    for key, each in value.items()
                ]
                return {"dict": pairs}
            case Kernel():
                return self._kernel(name, value)
            case Report():
                machines = [self._machine(name, machine) for machine in value]
                return {"machines": machines, "seconds": self.value(name, value.seconds)}
        raise TypeError(
            f"{name} cannot be saved: files hold no code and no objects but Mercer's own, got "
            f"{_short(value)}. Set it to something else, or use pickle or joblib, which run code "
            "when they load"
        )

    def _machine(self, name: str, report: MachineReport) -> dict[str, Any]:
        return {
            field.name: self.value(name, getattr(report, field.name)) for field in fields(report)
        }

    def _kernel(self, name: str, kernel: Kernel) -> dict[str, Any]:
        parameters = {
            field.name: self.value(name, getattr(kernel, field.name)) for field in fields(kernel)
        }
        return {"kernel": type(kernel).__name__, "parameters": parameters}

    def _array(self, name: str, array: NDArray[Any]) -> dict[str, Any]:
        kind = array.dtype.kind
        if kind in "bUO" or (kind in "iuf" and array.dtype.name not in _NUMBERS):
            if array.ndim != 1:
                raise TypeError(f"{name} cannot be saved: an array of {array.dtype}")
            return self.labels(name, array)
        if array.dtype.name not in _NUMBERS:
            raise TypeError(f"{name} cannot be saved: an array of {array.dtype}")
        self.arrays[name] = array.astype(array.dtype.newbyteorder("="), copy=False)
        return {"array": name}

    def labels(self, name: str, array: NDArray[Any]) -> dict[str, Any]:
        """Return what stands for labels, or names."""
        if array.dtype.kind not in "biufUO":
            raise TypeError(f"{name} cannot be saved: an array of {array.dtype}")
        labels = [self.value(name, label) for label in array.tolist()]
        return {"labels": labels, "dtype": array.dtype.str}

    def _sparse(self, name: str, matrix: Any) -> dict[str, Any]:
        kind = "matrix" if sp.isspmatrix(matrix) else "array"
        matrix = matrix.tocsr()
        self.arrays[f"{name}.data"] = np.asarray(matrix.data)
        self.arrays[f"{name}.indices"] = np.asarray(matrix.indices)
        self.arrays[f"{name}.indptr"] = np.asarray(matrix.indptr)
        return {"csr": name, "shape": list(matrix.shape), "kind": kind}


class Reader:
    """Makes values of JSON and the arrays of a file."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._arrays = arrays
        self._sparse: dict[str, Any] = {}

    def value(self, value: Any) -> Any:
        """Return the value that something stands for."""
        if isinstance(value, list):
            return [self.value(each) for each in value]
        if not isinstance(value, dict):
            return value
        match value:
            case {"array": str(name)}:
                return self._arrays[name]
            case {"csr": str(name), "shape": [int(rows), int(columns)]}:
                return self._csr(name, (rows, columns), value.get("kind"))
            case {"labels": list(labels), "dtype": str(dtype)}:
                return self.labels(labels, dtype)
            case {"kernel": str(name), "parameters": dict(parameters)}:
                return self._kernel(name, parameters)
            case {"machines": list(machines), "seconds": list(seconds)}:
                reports = tuple(self._machine(machine) for machine in machines)
                return Report(reports, Seconds(*map(self.value, seconds)))
            case {"float": str(text)}:
                return float(text)
            case {"integer": str(text)}:
                return int(text)
            case {"bytes": str(text)}:
                return bytes.fromhex(text)
            case {"tuple": list(values)}:
                return tuple(self.value(each) for each in values)
            case {"dict": list(pairs)}:
                return {self.value(key): self.value(each) for key, each in pairs}
        raise ValueError(f"there is no value {_short(value)}")

    def labels(self, labels: list[Any], dtype: str) -> NDArray[Any]:
        """Return labels as an array."""
        kind = np.dtype(dtype)
        if kind.kind not in "biufUO":
            raise ValueError(f"there are no labels of the type {dtype!r}")
        # A length that is not theirs would cut them, or take memory.
        kind = np.dtype(kind.kind) if kind.kind == "U" else kind
        array = np.empty(len(labels), dtype=object)
        array[:] = [self.value(label) for label in labels]
        return array.astype(kind)

    def _csr(self, name: str, shape: tuple[int, int], kind: Any) -> Any:
        if name not in self._sparse:
            parts = tuple(self._arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
            make = sp.csr_matrix if kind == "matrix" else sp.csr_array
            self._sparse[name] = make(parts, shape=shape)
        return self._sparse[name]

    def _kernel(self, name: str, parameters: dict[str, Any]) -> Kernel | str:
        if name == "Precomputed":
            return "precomputed"
        if name not in _KERNELS:
            raise ValueError(f"there is no kernel {_short(name)}")
        return _KERNELS[name](**{key: self.value(each) for key, each in parameters.items()})

    def _machine(self, report: dict[str, Any]) -> MachineReport:
        values = {name: self.value(each) for name, each in report.items() if name != "seconds"}
        return MachineReport(seconds=Seconds(*map(self.value, report["seconds"])), **values)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 100 else f"{text[:100]}..."
