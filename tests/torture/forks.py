"""Forks during and after the fits and predictions of other threads.

Everything that a child does must come out as in the parent, bit by bit, and end. A child that hangs
ends itself after a while and is a failure.
"""

import faulthandler
import multiprocessing
import os
import signal
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
from tests.torture.harness import Fault, Piece, main, patience
from tests.torture.machines import ESTIMATORS, problem, some_parameters, target, values

from mercer import SVC
from mercer.kernels import RBF

#: Seconds after which a child counts as hung.
_PATIENCE = 20

#: Rows to predict: below and above the sizes from which on threads are used.
_SIZES = (1, 5, 70, 100, 200, 400, 1500)

Job = Callable[[], list[Any]]


def _job(rng: np.random.Generator) -> Job:
    """Return a fit with predictions that gives the same bits each time."""
    estimator = ESTIMATORS[rng.integers(len(ESTIMATORS))]
    parameters = some_parameters(rng, estimator)
    n_jobs = [1, 2, None][rng.integers(3)]
    X, labels, numbers = problem(rng, int(rng.integers(20, 600)), classes=int(rng.integers(2, 4)))
    y = target(estimator, labels, numbers)
    Z = rng.normal(size=(int(rng.choice(_SIZES)), X.shape[1]))
    fitted = estimator(n_jobs=n_jobs, **parameters).fit(X, y)
    fitted.predict(Z)

    def work() -> list[Any]:
        fresh = estimator(n_jobs=n_jobs, **parameters).fit(X, y)
        matrix = RBF(gamma=0.5)(X[:300])
        return [fitted.predict(Z), values(fitted, Z), fresh.predict(Z), values(fresh, Z), matrix]

    return work


def _others(rng: np.random.Generator, stop: threading.Event) -> list[threading.Thread]:
    """Start threads that fit and predict until told to stop."""
    X, labels, _ = problem(rng, 400)
    Z = rng.normal(size=(300, X.shape[1]))

    def work(n_jobs: int) -> None:
        while not stop.is_set():
            SVC(C=10.0, n_jobs=n_jobs).fit(X, labels).predict(Z)
            RBF(gamma=1.0)(X)

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in (1, 2, 2)]
    for thread in threads:
        thread.start()
    return threads


def _same(answers: list[Any], expected: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(answers, expected, strict=True))


def _fork(work: Job, expected: list[Any], depth: int = 1) -> str:
    """Fork, work in the child, and return what is wrong, '' if nothing."""
    limit = round(_PATIENCE * patience())
    with tempfile.TemporaryFile() as file:
        child = os.fork()
        if child == 0:
            # Where it hangs is written before it is ended, even if it waits for a lock.
            faulthandler.register(signal.SIGALRM, file, chain=True)
            signal.alarm(limit)
            status = 3
            try:
                right = _same(work(), expected)
                wrong = _fork(work, expected, depth - 1) if right and depth > 1 else ""
                file.write(wrong.encode())
                status = 0 if right and not wrong else 2
            except BaseException:
                file.write(traceback.format_exc().encode())
            finally:
                file.flush()
                os._exit(status)
        _, status = os.waitpid(child, 0)
        file.seek(0)
        told = file.read().decode(errors="replace")
    if os.WIFSIGNALED(status):
        ended_by = os.WTERMSIG(status)
        if ended_by == signal.SIGALRM:
            return f"the child hung for {limit} s:\n{told}"
        return f"the child was ended by signal {ended_by}"
    words = {0: "", 2: f"the child had other answers: {told}"}
    return words.get(os.WEXITSTATUS(status), f"the child raised an exception:\n{told}")


def _in_pool(work: Job, expected: list[Any]) -> str:
    """Work in a process of `multiprocessing` and in one of joblib's."""
    global _WORK
    _WORK, limit = work, _PATIENCE * patience()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        try:
            answers = pool.apply_async(_work).get(timeout=limit)
        except multiprocessing.TimeoutError:
            return f"a process of a pool hung for {limit:.0f} s"
    if not _same(answers, expected):
        return "a process of a pool had other answers"
    parallel = joblib.Parallel(n_jobs=2, backend="multiprocessing", timeout=limit)
    for answers in parallel(joblib.delayed(_work)() for _ in range(2)):
        if not _same(answers, expected):
            return "a process of joblib had other answers"
    return ""


_WORK: Job


def _work() -> list[Any]:
    return _WORK()


def case(seed: int) -> str:
    """Fork once, at some moment."""
    rng = np.random.default_rng(seed)
    work = _job(rng)
    expected = work()
    kind = str(
        rng.choice(["during", "during", "after", "twice", "pool"], p=[0.4, 0.3, 0.15, 0.1, 0.05])
    )
    stop = threading.Event()
    threads = _others(rng, stop) if kind == "during" else []
    try:
        time.sleep(float(rng.uniform(0.0, 0.1)) if threads else 0.0)
        if kind == "pool":
            wrong = _in_pool(work, expected)
        else:
            wrong = _fork(work, expected, depth=2 if kind == "twice" else 1)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if wrong:
        raise Fault(f"fork {kind} the work of other threads: {wrong}")
    if not _same(work(), expected):
        raise Fault(f"fork {kind}: the parent has other answers after it")
    return kind


PIECE = Piece("forks", case, cases=500, seconds=420, timeout=90)
run = PIECE.run

if __name__ == "__main__":
    raise SystemExit(main(PIECE))
