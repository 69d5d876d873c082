"""Machines on a cluster of two processes: the same optimum as at home, certified over all rows."""

import os
import pickle
import signal
import threading
import time
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs, make_moons
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR
from mercer.datasets import load_ionosphere, load_sonar
from mercer.kernels import RBF, Linear
from mercer.model_selection import GridSearchCV, _distributed

distributed = pytest.importorskip("distributed", reason="mercer[dask] is not installed")
da = pytest.importorskip("dask.array")

from mercer.dask import (  # noqa: E402
    DaskNuSVC,
    DaskOneClassSVM,
    DaskSVC,
    DaskSVDD,
    DaskSVR,
    _rounds,
)

# Closing a cluster while the interpreter lives on is not always quiet.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def _divided(*arrays, parts=4):
    """Return arrays in chunks of rows of slightly different sizes."""
    n_rows = arrays[0].shape[0]
    ends = np.linspace(0, n_rows, parts + 1).astype(int)
    ends[1:-1] += 1
    chunks = tuple(int(size) for size in np.diff(ends))
    rest = [array.shape[1:] for array in arrays]
    divided = [
        da.from_array(array, chunks=(chunks, *shape))
        for array, shape in zip(arrays, rest, strict=True)
    ]
    return divided if len(divided) > 1 else divided[0]


def _blobs():
    X, y = make_blobs(400, n_features=3, centers=2, cluster_std=3.0, random_state=0)
    return X, np.where(y > 0, "yes", "no")


def _breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


SETS = {
    "sonar": lambda: load_sonar(return_X_y=True),
    "ionosphere": lambda: load_ionosphere(return_X_y=True),
    "moons": lambda: make_moons(500, noise=0.3, random_state=0),
    "blobs": _blobs,
    "breast cancer": _breast_cancer,
}


def _gap(model, X, y, cost):
    """Return the gap over all rows, from the attributes and numpy alone."""
    gamma = model._fit_kernel.gamma
    squares = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    beta = np.zeros(len(X))
    beta[model.support_] = model.dual_coef_[0]
    descent = signs - np.exp(-gamma * squares) @ beta
    lower, upper = np.minimum(signs * cost, 0.0), np.maximum(signs * cost, 0.0)
    assert abs(beta.sum()) < 1e-9 * np.abs(beta).sum()
    assert (beta >= lower).all()
    assert (beta <= upper).all()
    return descent[beta < upper].max() - descent[beta > lower].min()


def test_without_a_cluster():
    # The first test, before there is one.
    X, y = _blobs()
    with pytest.raises(ValueError, match="client must be given"):
        DaskSVC().fit(*_divided(X, y))


@pytest.mark.parametrize("name", SETS)
def test_the_optimum_is_that_of_all_rows(client, name):
    X, y = SETS[name]()
    model = DaskSVC(C=3.0, tol=1e-4).fit(*_divided(X, y))
    local = SVC(C=3.0, tol=1e-4).fit(X, y)
    assert np.abs(model.decision_function(X) - local.decision_function(X)).max() < 5e-3
    assert model.report_.status == "converged"
    assert _gap(model, X, y, 3.0) <= 1e-4
    assert abs(_gap(model, X, y, 3.0) - model.report_.gap) < 1e-9
    assert model._fit_kernel.gamma == pytest.approx(local._fit_kernel.gamma, rel=1e-12)
    assert model.report_.objective == pytest.approx(local.report_.objective, rel=1e-6)
    assert 0.0 <= model.report_.duality_gap <= 1e-4 * len(X) * 3.0
    assert model.report_.primal_objective == pytest.approx(-local.report_.objective, rel=1e-4)
    assert model.report_.rounds == len(model.report_.gaps) >= 1
    assert model.report_.gaps[-1] == model.report_.gap
    assert model.report_.bytes_sent > model.support_vectors_.nbytes
    np.testing.assert_array_equal(X[model.support_], model.support_vectors_)


CLASSIFIERS = [
    (DaskSVC, {"loss": "squared_hinge"}),
    (DaskSVC, {"fit_intercept": False}),
    (DaskSVC, {"fit_intercept": "penalized", "class_weight": "balanced"}),
    (DaskSVC, {"kernel": RBF(gamma=0.05) + 0.1 * Linear()}),
    (DaskSVC, {"gamma": "median"}),
    (DaskSVC, {"kernel": "linear", "C": 0.1}),
    (DaskNuSVC, {"nu": 0.2}),
    (DaskNuSVC, {"nu": 0.2, "class_weight": {"no": 2.0}}),
]


@pytest.mark.parametrize(("estimator", "parameters"), CLASSIFIERS)
def test_classifiers_of_weighted_rows(client, estimator, parameters):
    X, y = _blobs()
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], size=len(X))
    # The margin of NuSVC, by which all is divided, is small here.
    tol = 1e-8 if estimator is DaskNuSVC else 1e-5
    model = estimator(tol=tol, **parameters).fit(*_divided(X, y, weight))
    local = model._local(tol=tol, **parameters).fit(X, y, weight)
    _assert_same(model, local, X)
    for name in ("classes_", "class_weight_", "n_support_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(local, name))


def _assert_same(model, local, X, name="decision_function", tol=1e-3):
    assert model.report_.status == "converged"
    assert model.report_.gap <= model.tol
    found, expected = getattr(model, name)(X), getattr(local, name)(X)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, atol=tol * max(1.0, np.abs(expected).max()))
    assert model.dual_coef_.shape[0] == local.dual_coef_.shape[0]
    assert model.report_.objective == pytest.approx(local.report_.objective, rel=1e-6, abs=1e-9)
    assert model.shape_fit_ == local.shape_fit_


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "dag"])
@pytest.mark.parametrize("estimator", [DaskSVC, DaskNuSVC])
def test_several_classes(client, estimator, multiclass):
    X, y = load_iris(return_X_y=True)
    # In the order of the classes: partitions that miss some, or have only one.
    parameters = {"multiclass": multiclass, "tol": 1e-5, "decision_function_shape": "ovo"}
    if estimator is DaskNuSVC:
        parameters["nu"] = 0.1
    model = estimator(**parameters).fit(*_divided(X, y, parts=5))
    local = model._local(**parameters).fit(X, y)
    _assert_same(model, local, X)
    np.testing.assert_array_equal(model.predict(X), local.predict(X))
    assert len(model.report_) == 3


DETECTORS = [
    (DaskOneClassSVM, {"nu": 0.2}),
    (DaskOneClassSVM, {"nu": 0.05, "loss": "squared_hinge"}),
    (DaskSVDD, {"nu": 0.2}),
    (DaskSVDD, {"nu": 0.1, "kernel": "linear"}),
]


@pytest.mark.parametrize(("estimator", "parameters"), DETECTORS)
def test_detectors(client, estimator, parameters):
    X, _ = _blobs()
    weight = np.random.default_rng(1).uniform(0.5, 1.5, size=len(X))
    parameters = {**parameters, "tol": 1e-5}
    model = estimator(**parameters).fit(_divided(X), sample_weight=_divided(weight))
    local = model._local(**parameters).fit(X, sample_weight=weight)
    _assert_same(model, local, X)
    assert model.offset_ == pytest.approx(local.offset_, abs=1e-3 * max(1.0, abs(local.offset_[0])))


REGRESSIONS = [{"C": 5.0}, {"loss": "huber"}, {"loss": "pinball", "quantile": 0.8}]


@pytest.mark.parametrize("parameters", REGRESSIONS)
def test_regressions(client, parameters):
    X, _ = _blobs()
    y = np.sin(X[:, 0]) + 0.1 * X[:, 1]
    parameters = {**parameters, "tol": 1e-5, "gamma": 0.05}
    model = DaskSVR(**parameters).fit(*_divided(X, y))
    _assert_same(model, SVR(**parameters).fit(X, y), X, "predict")
    assert model.score(*_divided(X, y)) == pytest.approx(model.to_local().score(X, y))


def test_several_targets_share_support_vectors(client):
    X, _ = _blobs()
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
    model = DaskSVR(tol=1e-5).fit(*_divided(X, y))
    local = SVR(tol=1e-5).fit(X, y)
    _assert_same(model, local, X, "predict")
    assert model.predict(_divided(X)).compute().shape == y.shape


def test_sparse_rows(client):
    X, y = _blobs()
    X = np.where(np.abs(X) > 3.0, X, 0.0)
    divided, labels = _divided(X, y)
    model = DaskSVC(tol=1e-5).fit(divided.map_blocks(sp.csr_array), labels)
    local = SVC(tol=1e-5).fit(sp.csr_array(X), y)
    assert sp.issparse(model.support_vectors_)
    _assert_same(model, local, sp.csr_array(X))


def test_single_precision_stays(client):
    X, y = _blobs()
    model = DaskSVC().fit(*_divided(X.astype(np.float32), y))
    assert model.support_vectors_.dtype == np.float32
    assert model.report_.gap <= 1e-3


def test_a_callable_that_pickles(client):
    X, y = _blobs()

    def kernel(A, B):
        return (1.0 + A @ B.T / 10.0) ** 2

    model = DaskSVC(kernel=kernel, tol=1e-4).fit(*_divided(X, y))
    _assert_same(model, SVC(kernel=kernel, tol=1e-4).fit(X, y), X, tol=5e-3)


def test_data_frames_in_and_out(client):
    frames = pytest.importorskip("dask.dataframe", reason="dask[dataframe] is not installed")
    X, y = _blobs()
    table = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(100, 100 + len(X)))
    labels = pd.Series(y, index=table.index)
    divided = frames.from_pandas(table, npartitions=3)
    model = DaskSVC(tol=1e-5).fit(divided, frames.from_pandas(labels, npartitions=3))
    local = SVC(tol=1e-5).fit(table, y)
    _assert_same(model, local, table)
    np.testing.assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    predicted = model.predict(divided).compute()
    assert predicted.index.equals(table.index)
    np.testing.assert_array_equal(predicted.to_numpy(), local.predict(table))


def test_predictions_are_lazy(client):
    X, y = _blobs()
    rows, labels = _divided(X, y)
    model = DaskSVC().fit(rows, labels)
    values, classes = model.decision_function(rows), model.predict(rows)
    assert isinstance(values, da.Array)
    assert values.chunks[0] == rows.chunks[0] == classes.chunks[0]
    np.testing.assert_allclose(values.compute(), model.decision_function(X))
    np.testing.assert_array_equal(classes.compute(), model.predict(X))
    assert model.score(rows, labels) == np.mean(model.predict(X) == y)
    assert model.client_ is client


def test_the_local_estimator_and_copies(client):
    X, y = _blobs()
    model = DaskSVC(C=2.0, client=client).fit(*_divided(X, y))
    local = model.to_local()
    assert type(local) is SVC
    assert local.get_params() == SVC(C=2.0).get_params()
    np.testing.assert_array_equal(local.decision_function(X), model.decision_function(X))
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    copy = clone(model)
    assert copy.client is client
    assert copy.C == 2.0
    assert not hasattr(copy, "support_")
    assert DaskSVC().get_params() == {**SVC().get_params(), "client": None}


def test_empty_partitions_and_row_numbers(client):
    X, y = _blobs()
    weight = np.ones(len(X))
    weight[:150] = 0.0  # all rows of the first partition
    model = DaskSVC(tol=1e-5).fit(*_divided(X, y, weight))
    local = SVC(tol=1e-5).fit(X, y, weight)
    _assert_same(model, local, X)
    assert model.support_.min() >= 150
    rows, labels = _divided(X, y)
    none = rows[:, 0] > 1e9
    empty = da.concatenate([rows[none], rows])
    some = DaskSVC(tol=1e-5).fit(empty, da.concatenate([labels[none], labels]))
    _assert_same(some, SVC(tol=1e-5).fit(X, y), X)


def test_rows_in_the_order_of_their_classes(client):
    X, y = make_moons(600, noise=0.3, random_state=0)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    for estimator, parameters in ((DaskSVC, {}), (DaskNuSVC, {"nu": 0.3})):
        model = estimator(tol=1e-5, **parameters).fit(*_divided(X, y))
        _assert_same(model, model._local(tol=1e-5, **parameters).fit(X, y), X)


def test_limits_are_kept_and_told(client):
    X, y = _blobs()
    rows, labels = _divided(X, y)
    with pytest.warns(UserWarning, match="max_iter=1"):
        model = DaskSVC(max_iter=1).fit(rows, labels)
    assert model.report_.status == "max_iterations"
    assert model.report_.gap > model.tol
    assert model.fit_status_ == 1
    assert _gap(model, X, y, 1.0) == pytest.approx(model.report_.gap)


def test_what_cannot_be_is_refused(client):
    X, y = _blobs()
    rows, labels = _divided(X, y)
    with pytest.raises(TypeError, match="X must be a dask array or data frame, got ndarray"):
        DaskSVC().fit(X, labels)
    with pytest.raises(TypeError, match="y must be a dask collection"):
        DaskSVC().fit(rows, y)
    with pytest.raises(ValueError, match="one value for each row"):
        DaskSVC().fit(rows, labels[:-1])
    with pytest.raises(ValueError, match="precomputed"):
        DaskSVC(kernel="precomputed").fit(rows, labels)
    with pytest.raises(ValueError, match="probability must be False"):
        DaskSVC(probability=True).fit(rows, labels)
    with pytest.raises(ValueError, match="warm_start must be False on a cluster, got True"):
        DaskSVC(warm_start=True).fit(rows, labels)
    with pytest.raises(ValueError, match="callback must be None on a cluster, got <built-in"):
        DaskSVC(callback=print).fit(rows, labels)
    with pytest.raises(ValueError, match="solver must be 'smo' or 'interior'"):
        DaskSVC(solver="adatron").fit(rows, labels)
    with pytest.raises(ValueError, match="multiclass must be 'ovo', 'ovr' or 'dag'"):
        DaskSVC(multiclass="crammer_singer").fit(rows, labels)
    with pytest.raises(ValueError, match="greater than one"):
        DaskSVC().fit(rows, da.zeros_like(rows[:, 0]))
    with pytest.raises(ValueError, match="C must be"):
        DaskSVC(C=-1.0).fit(rows, labels)
    with pytest.raises(ValueError, match="NaN"):
        DaskSVC().fit(da.where(rows > 3.0, np.nan, rows), labels)
    with pytest.raises(TypeError, match="client must be"):
        DaskSVC(client="here").fit(rows, labels)
    with pytest.raises(ValueError, match="nu must be at most"):
        DaskNuSVC(nu=0.9).fit(rows, da.where(rows[:, 0] > 6.0, 1, 0))


def test_a_worker_that_dies_is_survived(client, monkeypatch):
    X, y = make_moons(3000, noise=0.3, random_state=0)
    rows, labels = _divided(X, y)
    killed = []
    following = _rounds.Rounds._next_round

    def kill_one(self):
        if len(self._gaps) == 1 and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)
        return following(self)

    monkeypatch.setattr(_rounds.Rounds, "_next_round", kill_one)
    model = DaskSVC(C=100.0, tol=1e-4).fit(rows, labels)
    assert killed
    local = SVC(C=100.0, tol=1e-4).fit(X, y)
    assert model.report_.rounds > 1
    assert np.abs(model.decision_function(X) - local.decision_function(X)).max() < 5e-3
    assert model.report_.gap <= 1e-4
    client.wait_for_workers(2)


def test_a_search_on_the_cluster_is_that_at_home(client, monkeypatch):
    X, y = load_iris(return_X_y=True)
    grid = {"gamma": [0.1, 1.0], "C": [0.1, 1.0, 10.0]}
    here = GridSearchCV(SVC(), grid, cv=3).fit(X, y)
    sent = []
    delayed = _distributed.delayed

    def counted(function):
        sent.append(function)
        return delayed(function)

    monkeypatch.setattr(_distributed, "delayed", counted)
    with joblib.parallel_backend("dask"):
        there = GridSearchCV(SVC(), grid, cv=3).fit(X, y)
    assert len(sent) == 2 * 3  # one task for each gamma and fold
    assert there.best_params_ == here.best_params_
    for name, column in here.cv_results_.items():
        if "time" not in name:
            np.testing.assert_array_equal(there.cv_results_[name], column, err_msg=name)


def test_an_interrupt_cancels_the_tasks(client):
    X, y = make_moons(20000, noise=0.5, random_state=0)
    rows, labels = _divided(X, y)
    # To the main thread, as a terminal does: a signal to another one would not wake it.
    interrupt = threading.main_thread().ident, signal.SIGINT
    timer = threading.Timer(0.3, signal.pthread_kill, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        DaskSVC(C=1e6, gamma=10.0, tol=1e-6).fit(rows, labels)
    timer.join()
    deadline = time.monotonic() + 20.0
    while any(client.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(client.processing().values())
    # And the cluster is there for the next.
    X, y = _blobs()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert DaskSVC().fit(*_divided(X, y)).report_.status == "converged"
