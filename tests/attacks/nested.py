"""Calls inside calls: kernels that use Mercer themselves, in one thread or several; Ctrl-C."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
from attack import main

from mercer import SVC
from mercer.kernels import RBF


def _rows(n_rows, n_columns=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n_rows) > 0).astype(int)


def _values(A, B):
    return RBF(gamma=0.5)(A, B)


def kernel_object(n_jobs, n_rows):
    """Fit with a callable that evaluates a kernel of Mercer's; return whether that is the same."""
    X, y = _rows(n_rows)
    nested = SVC(kernel=_values, n_jobs=n_jobs, tol=1e-6).fit(X, y)
    plain = SVC(gamma=0.5, tol=1e-6).fit(X, y)
    difference = nested.decision_function(X[:200]) - plain.decision_function(X[:200])
    return bool(np.abs(difference).max() < 1e-4)


def recursion(n_jobs, depth, n_rows):
    """Fit inside the kernel of a fit inside the kernel of a fit; return how many were done."""
    X, y = _rows(n_rows)
    done = []

    def kernel_of(left):
        asked = []

        def kernel(A, B):
            if left and not asked:
                asked.append(True)
                SVC(kernel=kernel_of(left - 1), n_jobs=n_jobs).fit(X, y)
                done.append(left)
            return _values(A, B)

        return kernel

    SVC(kernel=kernel_of(depth), n_jobs=n_jobs).fit(X, y)
    return len(done)


def threads(n_threads, n_jobs, n_rows):
    """Fit with such kernels from several threads at once; return how many models are right."""
    X, y = _rows(n_rows)
    expected = SVC(kernel=_values).fit(X, y).dual_coef_
    right = []

    def work():
        found = SVC(kernel=_values, n_jobs=n_jobs).fit(X, y)
        right.append(bool(np.array_equal(found.dual_coef_, expected)))

    workers = [threading.Thread(target=work) for _ in range(n_threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(right)


def kernel_on_calling_thread(n_jobs, n_rows):
    """Return whether the callable is called on the thread that called fit."""
    X, y = _rows(n_rows)
    callers = set()

    def kernel(A, B):
        callers.add(threading.get_ident())
        return _values(A, B)

    SVC(kernel=kernel, n_jobs=n_jobs).fit(X, y)
    return callers == {threading.get_ident()}


def _sent_after(seconds, sent):
    """Send Ctrl-C to this process after a while, and note when."""

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(seconds, send)
    timer.start()
    return timer


def _interrupted(work):
    """Interrupt the work; return how long that took, and how the next fit ends."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sent = []
    try:
        work(sent)
    except KeyboardInterrupt:
        latency = time.perf_counter() - sent[0]
        X, y = _rows(500)
        return latency, SVC().fit(X, y).report_.status
    return None, "not interrupted"


def interrupt_inside_kernel(n_jobs, n_rows):
    """Press Ctrl-C while the callable sleeps."""
    X, y = _rows(n_rows)

    def work(sent):
        def kernel(A, B):
            _sent_after(0.1, sent)
            time.sleep(30)

        SVC(kernel=kernel, n_jobs=n_jobs).fit(X, y)

    return _interrupted(work)


def interrupt_fit(n_jobs, n_rows, seconds, parameters):
    """Press Ctrl-C at any moment of a long fit, with a callable if no kernel is given."""
    X, _ = _rows(n_rows)
    y = np.random.default_rng(1).integers(0, 2, n_rows)  # nothing to be learned
    parameters.setdefault("kernel", _values)

    def work(sent):
        _sent_after(seconds, sent)
        SVC(n_jobs=n_jobs, **parameters).fit(X, y)

    return _interrupted(work)


def interrupt_kernel_matrix(n_rows, seconds):
    """Press Ctrl-C while a kernel matrix is computed."""
    X, _ = _rows(n_rows, 300)

    def work(sent):
        _sent_after(seconds, sent)
        RBF(gamma=0.01)(X)

    return _interrupted(work)


def names_of_threads():
    """Fit and predict in every size; return the names of the threads there are then.

    Those of rayon's global pool would have the name of the interpreter, or none.
    """
    X, y = _rows(1500)
    model = SVC().fit(X, y)
    small = SVC(n_jobs=1).fit(X[:50], y[:50])
    for n_rows in (1, 20, 64, 100, 200, 1500):
        for machine in (model, small):
            machine.predict(X[:n_rows])
            machine.decision_function(X[:n_rows])
        RBF(gamma=0.5)(X[:n_rows])
    names = []
    for task in Path("/proc/self/task").iterdir():
        if task.name != str(os.getpid()):
            names.append((task / "comm").read_text().strip())
    return names


if __name__ == "__main__":
    main(globals())
