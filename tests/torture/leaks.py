"""Many fits in one process: memory, threads and descriptors do not go on growing."""

import ctypes
import gc
import os
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from tests.torture.harness import Fault, Piece, main
from tests.torture.machines import ESTIMATORS, problem, some_parameters, target, values

from mercer.kernels import RBF

#: Fits of a block, blocks of a case, and fits before them that fill caches and make threads.
_FITS, _BLOCKS, _WARM_UP = 40, 6, 60

#: Bytes of a block that are the heap's own holes. They come and go; what leaks grows in each block.
_SLACK = 2**15


def _usage() -> dict[str, int]:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    return {
        "bytes": resident,
        "threads": len(os.listdir("/proc/self/task")),
        "descriptors": len(os.listdir("/proc/self/fd")),
    }


def _failing(A: Any, B: Any) -> Any:
    raise ZeroDivisionError


def _once(rng: np.random.Generator, estimator: Any) -> None:
    """Fit and predict in some way, or fail to."""
    X, labels, numbers = problem(rng, 120, columns=40, classes=3)
    y = target(estimator, labels, numbers)
    parameters = some_parameters(rng, estimator) | {"n_jobs": int(rng.integers(1, 3))}
    kind = rng.integers(6)
    if kind == 0:
        X = sp.csr_array(X.round())
    elif kind == 1:
        parameters["kernel"] = RBF(gamma=0.2) + RBF(gamma=0.1)
    elif kind == 2:
        parameters["kernel"] = lambda A, B: A @ B.T
    elif kind == 3:
        try:
            estimator(**parameters | {"kernel": _failing}).fit(X, y)
        except ZeroDivisionError:
            return
    elif kind == 4:
        parameters["max_iter"] = 5
    model = estimator(**parameters).fit(X, y)
    values(model, X)
    model.predict(X[:3])


def case(seed: int) -> str:
    """Fit often; compare what the process holds after each block."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    estimator = ESTIMATORS[seed % len(ESTIMATORS)]
    for _ in range(_WARM_UP):
        _once(rng, estimator)
    usage = [_usage()]
    for _ in range(_BLOCKS):
        for _ in range(_FITS):
            _once(rng, estimator)
        usage.append(_usage())
    for name, slack in (("bytes", _SLACK), ("threads", 0), ("descriptors", 0)):
        counts = [now[name] for now in usage]
        if min(np.diff(counts)) > slack:
            raise Fault(f"{estimator.__name__}: {name} after blocks of {_FITS} fits: {counts}")
    if usage[-1]["threads"] > usage[0]["threads"]:
        raise Fault(f"{estimator.__name__}: {usage[0]} became {usage[-1]}")
    return f"cases with {_FITS * _BLOCKS} fits"


PIECE = Piece("leaks", case, cases=9, seconds=240, timeout=200, fresh=True)
run = PIECE.run

if __name__ == "__main__":
    raise SystemExit(main(PIECE))
