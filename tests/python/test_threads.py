"""Threads, nesting in joblib, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from mercer import SVC, _core
from mercer._threads import thread_count

AVAILABLE = _core.available_threads()


def test_numbers_of_threads():
    processors = max(AVAILABLE, os.cpu_count() or 1)
    assert thread_count(None) == AVAILABLE
    assert thread_count(1) == 1
    assert thread_count(np.int64(1)) == 1
    assert thread_count(10**6) == processors
    assert thread_count(-1) == AVAILABLE
    assert thread_count(-2) == max(1, AVAILABLE - 1)
    assert thread_count(-(10**6)) == 1


def _ask(variables):
    code = "from mercer._threads import thread_count; print(thread_count(None))"
    environment = {**os.environ, **variables}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return int(run.stdout)


def test_threads_asked_for_by_the_environment():
    assert _ask({"RAYON_NUM_THREADS": "3"}) == 3


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_threads_allowed_by_the_system():
    variables = {key: value for key, value in os.environ.items() if key != "RAYON_NUM_THREADS"}
    code = (
        "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]);"
        "from mercer._threads import thread_count; print(thread_count(None), thread_count(-1))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["1", "1"]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_one_thread_inside_a_worker(backend):
    asked = [None, None, 1, -1]
    counts = Parallel(n_jobs=2, backend=backend)(delayed(thread_count)(n) for n in asked)
    assert counts == [1, 1, 1, AVAILABLE]


def test_all_threads_where_joblib_is_sequential():
    assert Parallel(n_jobs=1)([delayed(thread_count)(None)]) == [AVAILABLE]


def test_grid_search_in_parallel():
    X, y = load_digits(n_class=4, return_X_y=True)
    grid = {"C": [0.1, 1.0]}
    one = GridSearchCV(SVC(), grid, cv=2).fit(X, y)
    two = GridSearchCV(SVC(), grid, cv=2, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_fits_at_the_same_time():
    # The GIL is released and nothing is shared: threads of the user do not disturb each other.
    X, y = load_digits(return_X_y=True)
    expected = SVC(n_jobs=1).fit(X, y)
    models = [SVC(n_jobs=1) for _ in range(4)]
    threads = [threading.Thread(target=model.fit, args=(X, y)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model in models:
        np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
        np.testing.assert_array_equal(model.predict(X), expected.predict(X))


def test_the_array_may_change_and_go_after_training():
    # Rows are not copied for training, but a model has copies of its support vectors.
    rng = np.random.default_rng(0)
    X, y, new = rng.normal(size=(200, 10)), rng.integers(2, size=200), rng.normal(size=(50, 10))
    model = SVC(gamma=0.1).fit(X, y)
    expected = model.decision_function(new)
    X[:] = np.nan
    np.testing.assert_array_equal(model.decision_function(new), expected)
    assert not np.shares_memory(model.support_vectors_, X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_in_order_stay_where_they_are(dtype):
    X = np.random.default_rng(0).normal(size=(50, 4)).astype(dtype)
    before = sys.getrefcount(X)
    samples = _core.Samples.dense(X)
    assert sys.getrefcount(X) == before + 1  # shared, so kept alive
    kernel = _core.Kernel.rbf(0.1)
    expected = kernel.matrix(samples, samples, 1)
    del samples
    assert sys.getrefcount(X) == before
    samples = _core.Samples.dense(X.copy())  # of which nothing else is left
    np.testing.assert_array_equal(kernel.matrix(samples, samples, 1), expected)
    for other in (np.asfortranarray(X), np.hstack([X, X])[:, :4], X[::-1][::-1], X.copy()[:, ::-1]):
        samples = _core.Samples.dense(other)
        values = kernel.matrix(samples, samples, 1)
        np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_results_are_handed_over_once():
    X, y = np.array([[0.0], [1.0], [3.0]]), np.array([0, 1, 1])
    settings = _core.Settings(
        solver="smo",
        eta=1.0,
        tol=1e-3,
        shrinking=True,
        cache_bytes=None,
        max_iter=-1,
        max_time=None,
        n_threads=1,
    )
    formulation = _core.Formulation.svc(loss="hinge", intercept="free", multiclass="ovo")
    kernel, samples = _core.Kernel.linear(), _core.Samples.dense(X)
    fit = formulation.fit(kernel, samples, (y, np.ones(3)), settings)
    for name in ("support", "n_support", "dual_coef", "intercept"):
        assert getattr(fit, name) is getattr(fit, name)
    with pytest.raises(ValueError, match="sample_weight must have 3 entries, one per row of X"):
        formulation.fit(kernel, samples, (y, np.ones(2)), settings)
    with pytest.raises(ValueError, match="y must have 3 entries, one per row of X, got 2"):
        formulation.fit(kernel, samples, (y[:2], np.ones(3)), settings)


_LONG_FIT = """
import signal, sys
import numpy as np
import mercer
from mercer import SVC

signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X, y = rng.normal(size=(20000, 20)), rng.integers(2, size=20000)
model = {model}
print("fitting", flush=True)
try:
    model.fit(X, y)
    print("finished", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(SVC().fit(X[:500], y[:500]).report_.status, flush=True)
"""


@pytest.mark.parametrize(
    "model",
    [
        "mercer.SVC(gamma=0.05, C=1e4, tol=1e-9)",
        "mercer.SVC(kernel=lambda A, B: np.exp(A @ B.T / 20), C=1e4, tol=1e-9)",
        "mercer.SVR(gamma=0.05, C=1e4, tol=1e-9)",
        "mercer.SVC(gamma=0.05, C=1e4, tol=1e-9, solver='adatron')",
        "mercer.OneClassSVM(kernel=lambda A, B: np.exp(-0.05 * (A[:, :1] - B.T[:1]) ** 2))",
        "mercer.decomposition.KernelPCA(20, kernel='rbf', cache_size=1)",
        "mercer.cluster.KernelKMeans(50, n_init=1000)",
    ],
)
def test_interrupt(model):
    program = _LONG_FIT.replace("{model}", model)
    child = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "fitting\n"
        time.sleep(1.0)
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate(timeout=30)
    finally:
        child.kill()
        child.wait()
    assert errors == ""
    assert output.split() == ["interrupted", "converged"]
