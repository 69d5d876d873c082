"""Forks: a child uses models and pools that its parent made, at any moment of the parent's work.

Children are forked while other threads fit and predict, so a lock may be held, a pool half made, by
a thread that does not exist in the child. Each function returns how many children failed.
"""

import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
import warnings

import numpy as np
import scipy.sparse as sp
from attack import main
from joblib import Parallel, delayed

from mercer import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM

# Python 3.12 warns of exactly what is attempted here.
warnings.filterwarnings("ignore", category=DeprecationWarning)

#: Seconds after which a child counts as hanging on a machine with nothing else to do.
PATIENCE = 60

# Where it hangs is written before it is ended.
faulthandler.register(signal.SIGALRM, chain=True)


def _patience():
    """Return how long a child may take on a machine as busy as this one is now."""
    return round(PATIENCE * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


def _rows(n_rows=400, n_columns=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n_rows) > 0).astype(int)


def _child(work):
    """Fork a child that does the work, and return its process id."""
    limit = _patience()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        signal.alarm(limit)  # ends the child, whatever it waits for
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _failed(children):
    return sum(os.waitpid(child, 0)[1] != 0 for child in children)


def predict_in_child(n_jobs, n_rows):
    """Predict in the parent and then in a child, few rows too: pools are easily forgotten there."""
    X, y = _rows()
    model = SVC(n_jobs=n_jobs).fit(X, y)
    expected = model.predict(X[:n_rows])

    def work():
        np.testing.assert_array_equal(model.predict(X[:n_rows]), expected)

    return _failed([_child(work)])


def preloaded(n_children):
    """Fit once and serve from several children, as web servers do that load before forking."""
    X, y = _rows(1500)
    model, target = SVC().fit(X, y), SVR().fit(X, y)
    expected, values = model.decision_function(X), target.predict(X[:20])

    def work():
        for _ in range(5):
            np.testing.assert_array_equal(model.decision_function(X), expected)
            np.testing.assert_array_equal(target.predict(X[:20]), values)
        np.testing.assert_array_equal(SVC().fit(X, y).decision_function(X), expected)

    return _failed([_child(work) for _ in range(n_children)])


def generations(depth):
    """Fork children of children, each of which fits and predicts before and after its own child."""
    X, y = _rows()
    expected = SVC().fit(X, y).decision_function(X)

    def work(left=depth):
        model = SVC().fit(X, y)
        np.testing.assert_array_equal(model.decision_function(X), expected)
        if left:
            assert _failed([_child(lambda: work(left - 1))]) == 0
        np.testing.assert_array_equal(model.decision_function(X), expected)

    return _failed([_child(work)])


def during_fits(n_forks, n_threads):
    """Fork while other threads fit and predict without a pause."""
    X, y = _rows(600)
    model = SVC().fit(X, y)
    expected = model.decision_function(X)
    ended = threading.Event()

    def keep_busy(seed):
        while not ended.is_set():
            busy = SVC(C=10.0, n_jobs=1 + seed % 2).fit(X, y)
            busy.predict(X[:100])
            busy.decision_function(X)

    threads = [threading.Thread(target=keep_busy, args=(seed,)) for seed in range(n_threads)]
    for thread in threads:
        thread.start()

    def work():
        np.testing.assert_array_equal(model.decision_function(X), expected)
        np.testing.assert_array_equal(SVC().fit(X, y).decision_function(X), expected)
        model.predict(X[:100])

    failed = 0
    for _ in range(n_forks):
        failed += _failed([_child(work)])
        time.sleep(0.001)
    ended.set()
    for thread in threads:
        thread.join()
    return failed


def first_calls(n_forks):
    """Fork while another thread makes the first calls of the process: nothing stays half made.

    Each try is a child of its own, so that there is a first call to be disturbed.
    """
    X, y = _rows(300)

    def attempt(delay):
        thread = threading.Thread(target=lambda: SVC().fit(X, y).predict(X))
        thread.start()
        time.sleep(delay)

        def work():
            assert SVC().fit(X, y).score(X, y) > 0.5

        assert _failed([_child(work)]) == 0
        thread.join()

    return sum(_failed([_child(lambda k=k: attempt(1e-4 * k))]) for k in range(n_forks))


def imported_by_first_calls():
    """Make the first calls of the process; return the modules that they have imported.

    A module that another thread is importing at a fork stays locked in the child.
    """
    X, y = _rows(300)
    before = set(sys.modules)
    for estimator in (SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD):
        for rows in (X, sp.csr_array(X)):
            model = estimator().fit(rows, y)
            model.predict(rows)
            if hasattr(model, "score"):
                model.score(rows, y)
    return sorted(set(sys.modules) - before)


def looked_up_by_first_calls():
    """Make the first calls of the process; return what they look for in numpy and do not find.

    Rust's numpy keeps its borrows there. Who looks for them first makes them, and holds a lock
    meanwhile, which a fork would leave locked in the child.
    """
    names = []

    def note(name):
        names.append(name)
        raise AttributeError(name)

    name = "numpy._core" if "numpy._core" in sys.modules else "numpy.core"
    sys.modules[f"{name}.multiarray"].__getattr__ = note
    X, y = _rows(300)
    SVC().fit(X, y).predict(X)
    return names


def inside_kernel():
    """Fork inside a callable kernel: a child that ends, and one that returns into the fit.

    The latter has no threads: it either raises, or ends right, if its fit is too small for threads.
    """
    X, y = _rows(1500)
    right = SVC(kernel="linear").fit(X, y).score(X, y)
    state = {"forks": 0, "failed": 0}

    def kernel(A, B):
        if state["forks"] == 0:
            state["forks"] = 1
            state["failed"] += _failed([_child(lambda: SVC().fit(X, y).predict(X))])
            if not os.fork():
                signal.alarm(_patience())
                state["is_child"] = True
        return A @ B.T

    try:
        model = SVC(kernel=kernel, n_jobs=2).fit(X, y)
    except RuntimeError:
        os._exit(0 if "is_child" in state else 1)
    if "is_child" in state:
        os._exit(int(abs(model.score(X, y) - right) > 0.01))
    return state["failed"] + (os.wait()[1] != 0)


def _score(n_jobs):
    X, y = _rows()
    return SVC(n_jobs=n_jobs).fit(X, y).score(X, y)


def joblib_multiprocessing():
    """Fit in the processes of joblib's backend that forks, after the parent has used its pools."""
    X, y = _rows(1500)
    expected = [_score(1), _score(2)] * 3
    SVC().fit(X, y).predict(X[:100])
    tasks = (delayed(_score)(n_jobs) for n_jobs in [1, 2] * 3)
    found = Parallel(n_jobs=3, backend="multiprocessing")(tasks)
    return int(found != expected)


if __name__ == "__main__":
    main(globals())
