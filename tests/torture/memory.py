"""Work under a limit of memory, in steps from none to spare to plenty.

Each step ends in the right answer or in MemoryError, and the same work is right once the limit is
gone. Each case has a process of its own, so that its first steps have no threads made before.
"""

import resource
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from tests.torture.harness import Fault, Piece, main
from tests.torture.machines import ESTIMATORS, problem, some_parameters, target, values

from mercer.kernels import RBF

#: Bytes to spare: from none to plenty, in powers of about 2.
_STEPS = [0, *(int(2.0**power) for power in np.arange(14, 30.1, 1.0))]

Work = Callable[[], Any]


def _fit(rng: np.random.Generator) -> Work:
    estimator = ESTIMATORS[rng.integers(len(ESTIMATORS))]
    parameters = some_parameters(rng, estimator) | {"n_jobs": int(rng.integers(1, 3))}
    kind = str(rng.choice(["dense", "sparse", "precomputed", "callable"]))
    n = 300 if kind == "callable" else 900
    X, labels, numbers = problem(rng, n, columns=20, classes=int(rng.integers(2, 4)))
    rows: Any = sp.csr_array(X.round()) if kind == "sparse" else X
    if kind == "precomputed":
        parameters, rows = parameters | {"kernel": "precomputed"}, RBF(gamma=0.1)(X)
    elif kind == "callable":
        parameters["kernel"] = _kernel
    y = target(estimator, labels, numbers)
    return lambda: values(estimator(**parameters).fit(rows, y), rows[:50])


def _kernel(A: Any, B: Any) -> Any:
    square = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2.0 * A @ B.T
    return np.exp(-0.1 * np.maximum(square, 0.0))


def _predict(rng: np.random.Generator) -> Work:
    estimator = ESTIMATORS[rng.integers(len(ESTIMATORS))]
    parameters = some_parameters(rng, estimator) | {"n_jobs": int(rng.integers(1, 3))}
    X, labels, numbers = problem(rng, 400, columns=20, classes=3)
    model = estimator(**parameters).fit(X, target(estimator, labels, numbers))
    Z = rng.normal(size=(int(rng.choice([100, 3000, 30_000])), 20))
    return lambda: values(model, Z)


def _matrix(rng: np.random.Generator) -> Work:
    X = rng.normal(size=(int(rng.choice([100, 1000, 4000])), 10))
    return lambda: RBF(gamma=0.3)(X)


def _address_space() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _under(limit: int, work: Work) -> Any:
    """Return what the work gives with so many bytes to spare, None if it raised MemoryError."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + limit, hard))
    try:
        return work()
    except MemoryError:
        return None
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def case(seed: int) -> str:
    """Do one piece of work with ever more memory."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    # OpenBLAS ends the process if there is no memory for its buffers: it takes them here.
    large = np.ones((500, 500))
    np.matmul(large, large)
    make = (_fit, _fit, _predict, _matrix)[seed % 4]
    work = make(rng)
    answers = [(step, _under(step, work)) for step in _STEPS]
    expected = work()
    refused = sum(answer is None for _, answer in answers)
    for step, answer in answers:
        if answer is not None and not np.array_equal(answer, expected):
            raise Fault(f"other answers with {step} bytes to spare than without a limit")
    if answers[-1][1] is None:
        raise Fault(f"MemoryError with {_STEPS[-1]} bytes to spare")
    return "with and without MemoryError" if refused else "always enough"


PIECE = Piece("memory", case, cases=120, seconds=240, timeout=60, fresh=True)
run = PIECE.run

if __name__ == "__main__":
    raise SystemExit(main(PIECE))
