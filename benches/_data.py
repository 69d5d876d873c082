"""Real data for the benchmarks: one .npz for each set, in the folder that MERCER_DATA names."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Data:
    """Rows to train on and rows to test on; the latter are None where a set has no usual split."""

    X: Any
    y: NDArray[Any]
    X_test: Any = None
    y_test: NDArray[Any] | None = None


def directory() -> Path:
    return Path(os.environ.get("MERCER_DATA", _DEFAULT))


def available(name: str) -> bool:
    return (directory() / f"{name}.npz").is_file()


def load(name: str) -> Data:
    """Read a set as it is: raw values, raw labels, CSR where it is stored so."""
    with np.load(directory() / f"{name}.npz") as arrays:
        if "X" in arrays:
            return Data(arrays["X"], arrays["y"])
        parts = (_rows(arrays, "X_train"), arrays["y_train"])
        return Data(*parts, _rows(arrays, "X_test"), arrays["y_test"])


def _rows(arrays: Any, key: str) -> Any:
    if key in arrays:
        return arrays[key]
    fields = tuple(arrays[f"{key}_{field}"] for field in ("data", "indices", "indptr"))
    return sparse.csr_matrix(fields, shape=tuple(arrays[f"{key}_shape"]))
