"""Memory that runs out: calls under a limit of the address space, from nothing to spare to plenty.

Each call is made in a forked child with so many megabytes to spare. It may give the right answer or
raise MemoryError; then the limit is lifted, and the same call must give the right answer. A fit
with little room for kernel rows may take another way to the optimum, so its objective is compared.
Functions return a list of (megabytes to spare, what happened).
"""

import copy
import os
import resource
import signal
import traceback

import numpy as np
import scipy.sparse as sp
from attack import main

import mercer
from mercer import SVC
from mercer.kernels import RBF, Laplacian

#: Seconds after which a child counts as hanging.
PATIENCE = 60

#: How far apart objectives may be that were reached to the same tolerance, as a share of them.
OBJECTIVE = 1e-4

#: Exit statuses of a child.
RIGHT, REFUSED, WRONG, RAISED, SPOILED = 0, 10, 11, 12, 13
WORDS = {
    RIGHT: "right",
    REFUSED: "MemoryError",
    WRONG: "wrong",
    RAISED: "another exception",
    SPOILED: "a spoiled later call",
}


def _rows(n_rows, n_columns, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n_rows) > 0).astype(int)


def _used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _limit(spare):
    """Allow so many more bytes; all if None."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = resource.RLIM_INFINITY if spare is None else _used() + spare
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _is_same(found, expected):
    if isinstance(expected, float):
        return abs(found - expected) <= OBJECTIVE * abs(expected)
    return np.array_equal(found, expected)


def _attempt(call, expected, spare):
    """Make the call with so many bytes to spare, and return an exit status."""
    _limit(spare)
    try:
        found = call()
        status = RIGHT if _is_same(found, expected) else WRONG
    except MemoryError:
        status = REFUSED
    except BaseException:
        _limit(None)
        traceback.print_exc()
        return RAISED
    _limit(None)
    if status in (RIGHT, REFUSED) and not _is_same(call(), expected):
        return SPOILED
    return status


def _told(status):
    if os.WIFSIGNALED(status):
        return f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return WORDS.get(os.WEXITSTATUS(status), f"exit status {os.WEXITSTATUS(status)}")


def _steps(call, megabytes):
    """Make a call with each of the megabytes to spare."""
    expected = call()
    answers = []
    for spare in megabytes:
        child = os.fork()
        if not child:
            signal.alarm(PATIENCE)
            try:
                os._exit(_attempt(call, expected, int(spare * 2**20)))
            except BaseException:
                traceback.print_exc()
                os._exit(RAISED)
        answers.append((spare, _told(os.waitpid(child, 0)[1])))
    return answers


def _fits(model, X, y, megabytes):
    def call():
        report = model.fit(X, y).report_
        assert report.status == "converged", report
        return report.objective

    return _steps(call, megabytes)


def fit(megabytes, parameters, n_rows):
    X, y = _rows(n_rows, 50)
    return _fits(SVC(**parameters), X, y, megabytes)


def fit_classes(megabytes, multiclass, n_rows):
    X, _ = _rows(n_rows, 20)
    y = np.arange(n_rows) % 5
    return _fits(SVC(multiclass=multiclass), X, y, megabytes)


def fit_sparse(megabytes, n_rows):
    X = sp.random_array((n_rows, 500), density=0.02, rng=np.random.default_rng(0), format="csr")
    y = np.arange(n_rows) % 2
    return _fits(SVC(C=10.0), X, y, megabytes)


def fit_callable(megabytes, n_rows):
    X, y = _rows(n_rows, 5)
    return _fits(SVC(kernel=lambda A, B: A @ B.T), X, y, megabytes)


def fit_others(megabytes, name, n_rows):
    X, y = _rows(n_rows, 20)
    return _fits(getattr(mercer, name)(), X, y, megabytes)


def decision_function(megabytes, n_rows):
    X, y = _rows(1500, 50)
    model = SVC().fit(X, y)
    Z = np.tile(X, (-(-n_rows // len(X)), 1))[:n_rows]
    return _steps(lambda: model.decision_function(Z), megabytes)


def predict(megabytes, n_rows):
    X, y = _rows(1500, 50)
    model = SVC().fit(X, y)
    Z = np.tile(X, (-(-n_rows // len(X)), 1))[:n_rows]
    return _steps(lambda: model.predict(Z), megabytes)


def first_prediction(megabytes):
    """Predict for the first time with a model, when its core form is made."""
    X, y = _rows(3000, 200)
    model = SVC(C=100.0).fit(X, y)
    return _steps(lambda: copy.copy(model).decision_function(X[:300]), megabytes)


def kernel_matrix(megabytes, n_rows):
    X, _ = _rows(n_rows, 30)
    kernel = 0.5 * RBF(gamma=0.1) + Laplacian(gamma=0.1)
    return _steps(lambda: kernel(X), megabytes)


def impossible_matrix(n_rows):
    """Ask for a matrix that no machine holds; return the message."""
    try:
        RBF(gamma=1.0)(np.zeros((n_rows, 1)))
    except MemoryError as error:
        return str(error)
    return "there is such a machine"


def no_more_threads(n_jobs):
    """Fit where the system refuses threads; return what was raised."""
    X, y = _rows(6000, 50)  # enough work for threads
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    os.setuid(65534)  # the limit does not hold for root
    resource.setrlimit(resource.RLIMIT_NPROC, (1, hard))
    try:
        SVC(n_jobs=n_jobs).fit(X, y)
    except MemoryError as error:
        return str(error)
    return "no limit"


if __name__ == "__main__":
    main(globals())
