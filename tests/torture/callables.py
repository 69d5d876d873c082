"""Hostile kernels: functions of the user that do what they should not.

Each ends in the model of the built-in kernel, in the exception that the function raised, or in an
error that names the kernel; rows of the user stay as they were.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.torture.harness import Fault, Piece, main, patience
from tests.torture.hostile import KEPT, ODD, RAISED, REFUSED, RIGHT, Kernel, plain
from tests.torture.machines import ESTIMATORS, problem, some_parameters, target, values

from mercer.kernels import RBF

#: Seconds that a fit is given, and by how much it may be late while a kernel sleeps.
_MAX_TIME, _LATE = 0.5, 3.0

_KINDS = [("right", name) for name in RIGHT] + [("refused", name) for name in REFUSED]
_KINDS += [("odd", name) for name in ODD] + [("raised", error.__name__) for error in RAISED]
_KINDS += [("writes", "writes")]


def case(seed: int) -> str:
    """Fit and predict with one hostile kernel."""
    rng = np.random.default_rng(seed)
    expected, name = _KINDS[seed % len(_KINDS)]
    estimator = ESTIMATORS[rng.integers(len(ESTIMATORS))]
    parameters = some_parameters(rng, estimator)
    X, labels, numbers = problem(rng, int(rng.integers(6, 60)), classes=int(rng.integers(2, 4)))
    rows, y = X.copy(), target(estimator, labels, numbers)
    if "nu" in parameters and y is labels:  # a smaller class allows less
        smallest = np.unique(labels, return_counts=True)[1].min()
        parameters["nu"] = min(parameters["nu"], 2.0 * smallest / len(labels))
    context = f"{estimator.__name__}({parameters}) with the kernel {name!r} on {len(X)} rows"
    n_jobs = int(rng.integers(1, 3))
    make = lambda kernel: estimator(kernel=kernel, tol=1e-6, n_jobs=n_jobs, **parameters)  # noqa: E731
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _CHECKS[expected](make, name, rows, y, X)
    except Fault as fault:
        raise Fault(f"{context}\n{fault}") from fault


def _right(make: Any, name: str, rows: Any, y: Any, X: Any) -> str:
    kernel = RIGHT[name]()
    model = make(kernel).fit(rows, y)
    said = values(model, rows[:5])
    for kept in KEPT:
        for part in kept:
            if part.flags.writeable:
                part[...] = np.nan
    KEPT.clear()
    if not np.array_equal(rows, X):
        raise Fault("the rows of the user have changed")
    exact = make(RBF(gamma=0.5)).fit(X, y)
    for answer in (said, values(model, rows[:5])):
        if not np.allclose(answer, values(exact, X[:5]), atol=1e-3):
            raise Fault(f"values {answer}, with the built-in kernel {values(exact, X[:5])}")
    return "right"


def _refused(make: Any, name: str, rows: Any, y: Any, X: Any) -> str:
    model = make(REFUSED[name])
    try:
        model.fit(rows, y)
    except (ValueError, TypeError) as error:
        if "kernel" not in str(error):
            raise Fault(f"an error that does not name the kernel: {error!r}") from error
        if hasattr(model, "support_"):
            raise Fault("fitted after an error") from error
        return "refused"
    raise Fault("accepted")


def _raised(make: Any, name: str, rows: Any, y: Any, X: Any) -> str:
    kind = next(error for error in RAISED if error.__name__ == name)
    message = "of the user"

    def kernel(A: Any, B: Any) -> Any:
        raise kind(message)

    for call in (lambda: make(kernel).fit(rows, y), lambda: _predict_with(make, kernel, rows, y)):
        try:
            call()
        except kind as error:
            if message not in str(error):
                raise Fault(f"another exception of the same kind: {error!r}") from error
        else:
            raise Fault(f"{name} was lost")
    make(RBF(gamma=0.5)).fit(rows, y)  # nothing is left behind
    return "raised"


def _predict_with(make: Any, kernel: Kernel, rows: Any, y: Any) -> None:
    calls: list[Kernel] = [plain]
    model = make(lambda A, B: calls[0](A, B)).fit(rows, y)
    calls[0] = kernel
    if len(model.support_):
        model.predict(rows)
    else:
        kernel(rows, rows)


def _odd(make: Any, name: str, rows: Any, y: Any, X: Any) -> str:
    model = make(ODD[name]()).set_params(max_time=_MAX_TIME)
    start = time.perf_counter()
    try:
        model.fit(rows, y)
        said = values(model, rows)
    except (ValueError, TypeError) as error:
        if not any(word in str(error) for word in ("kernel", "X", "solver")):
            raise Fault(f"an error that names nothing: {error!r}") from error
        return "refused"
    finally:
        seconds = time.perf_counter() - start
        if seconds > _MAX_TIME + _LATE * patience():
            raise Fault(f"took {seconds:.1f} s with max_time={_MAX_TIME}")
    if not np.isfinite(said).all():
        raise Fault(f"values {said} are not finite")
    return "ended"


def _writes(make: Any, name: str, rows: Any, y: Any, X: Any) -> str:
    def kernel(A: Any, B: Any) -> Any:
        values = plain(A, B)
        A[...] = 7.0
        B[...] = -7.0
        return values

    model = make(kernel)
    try:
        model.fit(rows, y)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        said = "raised"
    else:
        said = "right"
        for _ in range(2):
            _predict_writing(model, rows)
        if not np.array_equal(model.support_vectors_, X[model.support_]):
            raise Fault("support_vectors_ have changed")
    if not np.array_equal(rows, X):
        raise Fault("the rows of the user have changed")
    return said


def _predict_writing(model: Any, rows: Any) -> None:
    try:
        model.predict(rows)
    except ValueError as error:
        if "read-only" not in str(error):
            raise


_CHECKS: dict[str, Callable[[Any, str, Any, Any, Any], str]] = {
    "right": _right, "refused": _refused, "raised": _raised, "odd": _odd, "writes": _writes,
}  # fmt: skip

PIECE = Piece("callables", case, cases=2000, seconds=300, timeout=30)
run = PIECE.run

if __name__ == "__main__":
    raise SystemExit(main(PIECE))
