"""Models as files: Mercer's own, LIBSVM's and ONNX.

`save` and `load` are for every estimator of the package, and `mercer.save` and `mercer.load` are
the same. `to_libsvm` and `from_libsvm` exchange machines with LIBSVM and all that read its text
files; `to_onnx` makes a graph that runs without Mercer and without Python; `trusted_types` is for
skops.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mercer.io._file import load, save
from mercer.io._libsvm import from_libsvm, to_libsvm
from mercer.io._trusted import trusted_types

if TYPE_CHECKING:
    from mercer.io.onnx import to_onnx

__all__ = ["from_libsvm", "load", "save", "to_libsvm", "to_onnx", "trusted_types"]


def __getattr__(name: str) -> Any:
    # Which needs the package onnx.
    if name == "to_onnx":
        return import_module("mercer.io.onnx").to_onnx
    raise AttributeError(f"module 'mercer.io' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
