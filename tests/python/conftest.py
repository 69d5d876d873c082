"""Where the tests find real data."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

_ROOT = Path(__file__).resolve().parents[2]
_DATA = Path(os.environ.get("MERCER_DATA", _ROOT.parent / "shared" / "data"))


def _matrix(arrays, name):
    if name in arrays:
        return arrays[name]
    parts = tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return sp.csr_array(parts, shape=tuple(arrays[f"{name}_shape"]))


@pytest.fixture(scope="session")
def shared_data():
    """Load a data set by name: (X, y), or (X_train, y_train, X_test, y_test).

    The sets are not part of the project; tests that need one are skipped where it is missing.
    """

    def load(name):
        path = _DATA / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"no data set {path}: set MERCER_DATA to the folder that has {path.name}")
        with np.load(path) as arrays:
            if "y" in arrays:
                return _matrix(arrays, "text" if "text" in arrays else "X"), arrays["y"]
            return tuple(
                part
                for split in ("train", "test")
                for part in (_matrix(arrays, f"X_{split}"), arrays[f"y_{split}"])
            )

    return load
