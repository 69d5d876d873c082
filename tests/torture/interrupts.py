"""Ctrl-C at random moments of a fit, a prediction or a kernel matrix.

KeyboardInterrupt comes within half a second, nothing is fitted by halves, and the next fit works.
A machine that does other things is given more time, and only what is late three times fails.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from tests.torture.harness import Fault, Piece, main, patience
from tests.torture.machines import problem, values

from mercer import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import RBF

_LIMIT = 0.5
_TRIES = 3


@lru_cache
def _rows(n: int, columns: int) -> Any:
    return np.random.default_rng(0).normal(size=(n, columns))


@lru_cache
def _labels(n: int) -> Any:
    return np.random.default_rng(1).integers(2, size=n)


@lru_cache
def _predictor() -> Any:
    """Return a model of 1500 support vectors."""
    return SVR(epsilon=0.0, gamma=0.1).fit(_rows(1500, 20), _rows(1500, 1)[:, 0])


def _slow_kernel(A: Any, B: Any) -> Any:
    return np.exp(-0.05 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def _fit(model: Any, n: int = 3000, columns: int = 10) -> Callable[[], None]:
    """Return a fit that takes long; its target has nothing to do with the rows."""

    def work() -> None:
        y = _labels(n)
        model.fit(_rows(n, columns), y if type(model) in (SVC, NuSVC) else y + _rows(n, 1)[:, 0])

    return work


_HARD: dict[str, Any] = {"gamma": 0.05, "tol": 1e-13}

WORK: dict[str, Callable[[], Callable[[], Any]]] = {
    "SVC": lambda: _fit(SVC(C=1e6, **_HARD)),
    "SVC linear": lambda: _fit(SVC(C=1e6, kernel="linear", tol=1e-13)),
    "SVC adatron": lambda: _fit(SVC(C=1e6, solver="adatron", **_HARD)),
    "SVC callable": lambda: _fit(SVC(C=1e6, kernel=_slow_kernel, tol=1e-13), n=800),
    "SVC no cache": lambda: _fit(SVC(C=1e6, cache_size=0.1, **_HARD)),
    "NuSVC": lambda: _fit(NuSVC(nu=0.9, **_HARD)),
    "SVR": lambda: _fit(SVR(C=1e6, **_HARD)),
    "NuSVR": lambda: _fit(NuSVR(C=1e6, **_HARD)),
    "OneClassSVM": lambda: _fit(OneClassSVM(kernel="poly", degree=9, coef0=1.0, **_HARD)),
    "SVDD": lambda: _fit(SVDD(kernel="poly", degree=9, coef0=1.0, **_HARD), n=6000),
    "predict": lambda: lambda: _predictor().predict(np.tile(_rows(3000, 20), (60, 1))),
    "kernel matrix": lambda: lambda: RBF(gamma=0.1)(_rows(7000, 300)),
}


class _Interrupt:
    """A Ctrl-C after a delay."""

    def __init__(self, delay: float) -> None:
        self.sent = np.inf
        self._delay = delay
        self._thread = threading.Thread(target=self._send)
        self._thread.start()

    def _send(self) -> None:
        time.sleep(self._delay)
        self.sent = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)

    def wait(self) -> None:
        """Wait for the signal, which raises here if nothing else was there to be interrupted."""
        self._thread.join()
        time.sleep(0.2)


def _seconds_to_end(work: Callable[[], Any], delay: float) -> float | None:
    """Return how long after Ctrl-C the work ended, None if it had ended before."""
    finished = False
    interrupt = _Interrupt(delay)
    try:
        work()
        finished = True
        interrupt.wait()
    except KeyboardInterrupt:
        seconds = time.perf_counter() - interrupt.sent
        return None if finished else seconds
    raise Fault("KeyboardInterrupt was lost")


def case(seed: int) -> str:
    """Interrupt one piece of work."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = np.random.default_rng(seed)
    name = list(WORK)[seed % len(WORK)]
    _predictor()
    delay = float(rng.uniform(0.0, 0.4))
    late = []
    for _ in range(_TRIES):
        seconds = _seconds_to_end(WORK[name](), delay)
        _check_the_next()
        if seconds is None:
            return "had ended"
        if seconds <= _LIMIT * patience():
            return "interrupted"
        late.append(f"{seconds:.2f}")
    raise Fault(f"{name}: Ctrl-C after {delay:.3f} s took {', '.join(late)} s")


@lru_cache
def _expected() -> Any:
    X, labels, _ = problem(np.random.default_rng(5), 200)
    return X, labels, values(SVC().fit(X, labels), X)


def _check_the_next() -> None:
    X, labels, expected = _expected()
    if not np.array_equal(values(SVC().fit(X, labels), X), expected):
        raise Fault("the fit after an interrupt differs")


PIECE = Piece("interrupts", case, cases=300, seconds=300, timeout=60)
run = PIECE.run

if __name__ == "__main__":
    raise SystemExit(main(PIECE))
