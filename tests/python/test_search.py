"""Searches that share work: the same results as scikit-learn's over the same machines."""

import os
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from results import TIGHT, assert_same_results
from sklearn import model_selection as sklearn_selection
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, recall_score
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM, _core
from mercer.datasets import load_ionosphere, load_sonar
from mercer.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_validate,
)
from mercer.model_selection._bar import SearchBar


def binary():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def many_classes():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["a", "b", "c"])[y]


def numbers():
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X), y / 50.0


COSTS = {"C": [0.1, 1.0, 30.0], "gamma": [0.01, "scale"]}
CASES = {
    "binary": (SVC(**TIGHT), COSTS, binary),
    "squared": (SVC(loss="squared_hinge", **TIGHT), COSTS, binary),
    "no intercept": (SVC(fit_intercept=False, **TIGHT), COSTS, binary),
    "linear": (SVC(kernel="linear", **TIGHT), {"C": [0.01, 0.1, 1.0]}, binary),
    "ovo": (SVC(**TIGHT), COSTS, many_classes),
    "ovr": (SVC(multiclass="ovr", **TIGHT), COSTS, many_classes),
    "dag": (SVC(multiclass="dag", **TIGHT), COSTS, many_classes),
    "ties": (SVC(break_ties=True, **TIGHT), COSTS, many_classes),
    "nu": (NuSVC(**TIGHT), {"nu": [0.1, 0.3], "gamma": [0.01, 0.1]}, binary),
    "classes weighted": (
        SVC(**TIGHT),
        {"class_weight": [None, "balanced", {0: 1.0, 1: 5.0}], "C": [0.1, 10.0]},
        binary,
    ),
    "regression": (SVR(**TIGHT), {**COSTS, "epsilon": [0.0, 0.2]}, numbers),
    "nu regression": (NuSVR(**TIGHT), {"nu": [0.2, 0.6], "C": [1.0, 10.0]}, numbers),
    "pipeline": (
        Pipeline([("scale", StandardScaler()), ("pca", PCA()), ("svc", SVC(**TIGHT))]),
        {"pca__n_components": [2, 5], "svc__C": [0.1, 10.0], "svc__gamma": [0.05, "scale"]},
        binary,
    ),
    "other": (LogisticRegression(max_iter=1000), {"C": [0.1, 1.0]}, binary),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_scikit_learn(name):
    machine, grid, data = CASES[name]
    X, y = data()
    options = {"cv": 4, "return_train_score": True}
    found = GridSearchCV(machine, grid, **options).fit(X, y)
    expected = sklearn_selection.GridSearchCV(machine, grid, **options).fit(X, y)
    assert_same_results(found, expected)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


SETS = {
    "sonar": load_sonar,
    "ionosphere": load_ionosphere,
    "iris": load_iris,
    "wine": load_wine,
    "cancer": load_breast_cancer,
}
GRID = {"C": [0.1, 10.0, 1000.0], "gamma": [0.02, 0.2]}
NUS = {"nu": [0.1, 0.3], "gamma": [0.05, 0.2]}


def share_inside(model, X, y=None):
    """Return a score of detectors."""
    return float((model.predict(X) == 1).mean())


def kinds(X, y):
    """Return machines of all kinds with their grids, rows, targets, and what else ``fit`` takes."""
    random = np.random.RandomState(0)
    weight, groups = random.randint(0, 4, len(y)).astype(float), random.randint(0, 9, len(y))
    sparse = sp.csr_matrix(np.where(np.abs(X) < 0.7, 0.0, X))
    pipeline = make_pipeline(StandardScaler(), SVC(**TIGHT))
    inside = {f"svc__{name}": values for name, values in GRID.items()}
    yield SVC(**TIGHT), GRID, X, y, {}
    # With larger costs no row is at its bound, and the scores of two costs tie.
    yield SVR(**TIGHT), {**GRID, "C": [0.1, 1.0]}, X[:, 1:], X[:, 0], {}
    yield NuSVC(**TIGHT), NUS, X, y, {}
    yield OneClassSVM(**TIGHT), NUS, X, y, {}
    yield pipeline, inside, X, y, {}
    yield SVC(**TIGHT), GRID, sparse, y, {}
    yield SVC(**TIGHT), GRID, X, y, {"sample_weight": weight}
    yield SVC(**TIGHT), GRID, X, y, {"groups": groups}


@pytest.mark.parametrize("name", SETS)
def test_results_are_those_of_scikit_learn_on_five_sets(name):
    X, y = SETS[name](return_X_y=True)
    # A copy of a support vector on the boundary is on it, inside or outside by rounding.
    rows = np.sort(np.unique(X, axis=0, return_index=True)[1])
    X, y = StandardScaler().fit_transform(X[rows][:, X.std(axis=0) > 0.0]), y[rows]
    for machine, grid, rows, target, more in kinds(X, y):
        scoring = share_inside if isinstance(machine, OneClassSVM) else None
        options = {"cv": GroupKFold(3) if "groups" in more else 3, "scoring": scoring}
        found = GridSearchCV(machine, grid, refit=False, **options).fit(rows, target, **more)
        expected = sklearn_selection.GridSearchCV(machine, grid, refit=False, **options)
        assert_same_results(found, expected.fit(rows, target, **more))


def test_fits_are_done_together(monkeypatch):
    """Only the refit is a fit of its own."""
    X, y = binary()
    search = GridSearchCV(SVC(), COSTS, cv=3)
    calls = []
    original = _core.search

    def counted(samples, fits, settings, *, expected):
        calls.append(len(fits))
        return original(samples, fits, settings, expected=expected)

    monkeypatch.setattr(_core, "search", counted)
    search.fit(X, y)
    assert calls == [18]
    times = search.cv_results_["mean_fit_time"]
    assert (times > 0).all()


def test_one_class_machines_are_searched_by_a_scorer_of_the_user():
    X, y = binary()
    grid = {"nu": [0.05, 0.2, 0.5], "gamma": [0.001, 0.1]}

    def inside(model, X, y):
        return float((model.predict(X) == np.where(y == 1, 1, -1)).mean())

    for machine in [OneClassSVM(**TIGHT), SVDD(**TIGHT)]:
        found = GridSearchCV(machine, grid, scoring=inside, cv=3).fit(X, y)
        expected = sklearn_selection.GridSearchCV(machine, grid, scoring=inside, cv=3).fit(X, y)
        assert_same_results(found, expected)


def test_sparse_rows():
    X, y = binary()
    X = sp.csr_matrix(np.where(np.abs(X) < 0.7, 0.0, X))
    found = GridSearchCV(SVC(**TIGHT), COSTS, cv=3).fit(X, y)
    expected = sklearn_selection.GridSearchCV(SVC(**TIGHT), COSTS, cv=3).fit(X, y)
    assert_same_results(found, expected)


def test_weights_and_groups():
    X, y = binary()
    random = np.random.RandomState(0)
    weight, groups = random.randint(0, 4, len(y)).astype(float), random.randint(0, 9, len(y))
    for machine, prefix in [(SVC(**TIGHT), ""), (make_pipeline(StandardScaler(), SVC()), "svc__")]:
        options = {"cv": GroupKFold(3)}
        grid = {prefix + "C": [0.1, 10.0]}
        arguments = {prefix + "sample_weight": weight, "groups": groups}
        found = GridSearchCV(machine, grid, **options).fit(X, y, **arguments)
        expected = sklearn_selection.GridSearchCV(machine, grid, **options).fit(X, y, **arguments)
        assert_same_results(found, expected)


def test_several_scorers_and_a_refit_of_the_user():
    X, y = binary()

    def second(results):
        return int(np.argsort(results["rank_test_auc"])[1])

    scoring = {"auc": "roc_auc", "recall": make_scorer(recall_score), "hits": "accuracy"}
    splits = ShuffleSplit(3, test_size=0.2, random_state=1)
    options = {"scoring": scoring, "refit": second, "cv": splits, "return_train_score": True}
    found = GridSearchCV(SVC(**TIGHT), COSTS, **options).fit(X, y)
    expected = sklearn_selection.GridSearchCV(SVC(**TIGHT), COSTS, **options).fit(X, y)
    assert_same_results(found, expected)


def test_random_search():
    X, y = many_classes()
    choices = {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1, 1.0]}
    options = {"n_iter": 5, "random_state": 3, "cv": StratifiedKFold(3)}
    found = RandomizedSearchCV(SVC(**TIGHT), choices, **options).fit(X, y)
    expected = sklearn_selection.RandomizedSearchCV(SVC(**TIGHT), choices, **options).fit(X, y)
    assert_same_results(found, expected)


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
def test_what_fails_alone_fails_here():
    X, y = binary()
    grid = {"nu": [0.3, 0.99]}
    for error_score in [np.nan, -1.0]:
        options = {"cv": 3, "error_score": error_score}
        with pytest.warns(FitFailedWarning, match="3 fits failed"):
            found = GridSearchCV(NuSVC(), grid, **options).fit(X, y)
        assert found.best_params_ == {"nu": 0.3}
        score = found.cv_results_["mean_test_score"][1]
        assert np.isnan(score) if np.isnan(error_score) else score == error_score
    with pytest.raises(ValueError, match="nu must be at most"):
        GridSearchCV(NuSVC(), grid, cv=3, error_score="raise").fit(X, y)
    with pytest.raises(ValueError, match="C must be"):
        GridSearchCV(SVC(), {"C": [-1.0]}, cv=3, error_score="raise").fit(X, y)


def test_only_machines_that_share_are_planned(monkeypatch):
    """A sphere is fitted alone; an error of a call that is wrong is not taken for that."""
    X, _ = binary()

    def refuse(*args, **kwargs):
        raise TypeError("a wrong call")

    monkeypatch.setattr(_core, "search", refuse)
    grid = {"nu": [0.1, 0.3]}
    GridSearchCV(SVDD(gamma=0.1), grid, scoring=share_inside, cv=3, refit=False).fit(X)
    with pytest.raises(TypeError, match="a wrong call"):
        GridSearchCV(OneClassSVM(gamma=0.1), grid, scoring=share_inside, cv=3).fit(X)


def test_time_is_limited_for_each_fit():
    """A corner that takes too long is cut short; the others are as ever."""
    random = np.random.RandomState(0)
    X, y = random.normal(size=(600, 2)), random.randint(0, 2, 600)
    grid = {"C": [1.0, 1e7]}
    with pytest.warns(ConvergenceWarning, match="max_time"):
        found = GridSearchCV(SVC(max_time=0.02, tol=1e-9), grid, cv=3, refit=False).fit(X, y)
    alone = cross_validate(SVC(C=1.0, tol=1e-9), X, y, cv=3)["test_score"].mean()
    assert found.cv_results_["mean_test_score"][0] == pytest.approx(alone)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()


def test_who_does_not_converge_is_told():
    X, y = binary()
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        GridSearchCV(SVC(max_iter=3), {"C": [1.0, 10.0]}, cv=3, refit=False).fit(X, y)


def test_data_frames_and_lists():
    pandas = pytest.importorskip("pandas")
    X, y = many_classes()
    frame = pandas.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    expected = sklearn_selection.GridSearchCV(SVC(**TIGHT), COSTS, cv=3).fit(X, y)
    for rows in [frame, X.tolist()]:
        found = GridSearchCV(SVC(**TIGHT), COSTS, cv=3).fit(rows, y)
        assert_same_results(found, expected)
    assert list(GridSearchCV(SVC(), COSTS, cv=3).fit(frame, y).feature_names_in_) == list(frame)


def test_kernels_of_the_user_and_matrices_are_fitted_as_in_scikit_learn():
    X, y = load_iris(return_X_y=True)
    grid = {"C": [0.1, 10.0]}
    for machine, rows in [
        (SVC(kernel=lambda A, B: A @ B.T, **TIGHT), X),
        (SVC(kernel="precomputed", **TIGHT), X @ X.T),
    ]:
        found = GridSearchCV(machine, grid, cv=3).fit(rows, y)
        expected = sklearn_selection.GridSearchCV(machine, grid, cv=3).fit(rows, y)
        assert_same_results(found, expected)


def test_estimators_that_are_replaced_share_what_they_can():
    X, y = load_iris(return_X_y=True)
    steps = Pipeline([("scale", StandardScaler()), ("machine", SVC())])
    grid = [
        {"machine": [SVC(**TIGHT), NuSVC(nu=0.1, **TIGHT)], "machine__gamma": [0.1, 1.0]},
        {"machine": [LogisticRegression(max_iter=1000)], "scale": ["passthrough"]},
    ]
    found = GridSearchCV(steps, grid, cv=3).fit(X, y)
    expected = sklearn_selection.GridSearchCV(steps, grid, cv=3).fit(X, y)
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"], atol=1e-6
    )


def test_predictions_for_the_search_are_forgotten():
    X, y = binary()
    options = {"cv": 3, "return_estimator": True, "return_train_score": True}
    found = cross_validate(SVC(**TIGHT), X, y, **options)
    expected = sklearn_selection.cross_validate(SVC(**TIGHT), X, y, **options)
    for name in ["test_score", "train_score"]:
        np.testing.assert_allclose(found[name], expected[name], atol=1e-6)
    for model, other in zip(found["estimator"], expected["estimator"], strict=True):
        assert not vars(model)["_fit_known"]
        np.testing.assert_array_equal(model.support_, other.support_)
        np.testing.assert_array_equal(model.n_support_, other.n_support_)
        difference = model.decision_function(X) - other.decision_function(X)
        assert np.abs(difference).max() < 1e-3
        np.testing.assert_array_equal(model.support_vectors_, other.support_vectors_)


def test_cross_val_predict():
    X, y = many_classes()
    for method in ["predict", "decision_function"]:
        found = cross_val_predict(SVC(**TIGHT), X, y, cv=4, method=method)
        expected = sklearn_selection.cross_val_predict(SVC(**TIGHT), X, y, cv=4, method=method)
        if method == "predict":
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, atol=1e-3)
    X, y = numbers()
    found = cross_val_predict(SVR(**TIGHT), X, y, cv=4)
    expected = sklearn_selection.cross_val_predict(SVR(**TIGHT), X, y, cv=4)
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_ctrl_c_ends_a_search():
    X, y = binary()
    grid = {"C": [1e3, 1e4, 1e5], "gamma": np.geomspace(1e-4, 1.0, 500).tolist()}
    search = GridSearchCV(SVC(tol=1e-9), grid, cv=5)
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)
    assert not hasattr(search, "cv_results_")


@pytest.mark.parametrize("n_gammas", [1, 3])
def test_backends_of_joblib_distribute_kernels_and_folds(n_gammas):
    X, y = binary()
    grid = {"C": [0.1, 10.0], "gamma": [0.01, 0.03, 0.1][:n_gammas]}
    expected = GridSearchCV(SVC(**TIGHT), grid, cv=3).fit(X, y)
    with parallel_config(backend="loky", n_jobs=2):
        found = GridSearchCV(SVC(**TIGHT), grid, cv=3).fit(X, y)
        values = cross_val_predict(SVC(**TIGHT), X, y, cv=3, method="decision_function")
    assert_same_results(found, expected)
    assert (found.cv_results_["mean_fit_time"] > 0.0).all()
    others = cross_val_predict(SVC(**TIGHT), X, y, cv=3, method="decision_function")
    np.testing.assert_allclose(values, others, atol=1e-4)


def test_verbose_shows_the_best_so_far(monkeypatch):
    lines = []
    monkeypatch.setattr(SearchBar, "__call__", lambda self, *state: lines.append(state))
    X, y = binary()
    grid = {"C": [1.0, 10.0, 100.0], "gamma": np.geomspace(1e-4, 1.0, 8).tolist()}
    search = GridSearchCV(SVC(tol=1e-7), grid, cv=5, verbose=1).fit(X, y)
    assert lines, "a search of this size takes longer than a tenth of a second"
    done, fits, candidates, best, seconds = lines[-1]
    assert fits == 120
    assert 0 < done <= 120
    assert candidates <= 24
    assert seconds > 0.0
    if candidates:
        assert best <= search.best_score_ + 1e-12
        assert np.isclose(search.cv_results_["mean_test_score"], best, atol=1e-12).any()


def test_rows_held_out_keep_their_class(monkeypatch):
    """Then pairs of classes are the same rows in every fold, and one matrix serves them all."""
    targets = []

    def search(samples, fits, *args, **kwargs):
        targets.extend(target for _, _, target, *_ in fits)
        return _core.search(samples, fits, *args, **kwargs)

    core = SimpleNamespace(search=search, winners=_core.winners)
    monkeypatch.setattr("mercer.model_selection._together._core", core)
    X, y = many_classes()
    GridSearchCV(SVC(), {"C": [1.0, 10.0]}, cv=3).fit(X, y)
    assert len(targets) == 6
    for target in targets:
        np.testing.assert_array_equal(target, targets[0])


def test_several_targets_are_searched_as_by_scikit_learn():
    """They share their kernel with each other, not with other fits."""
    X, y = numbers()
    Y = np.column_stack([y, X[:, 0]])[:150]
    grid = {"C": [0.1, 1.0]}
    mine = GridSearchCV(SVR(**TIGHT), grid, cv=3, error_score="raise").fit(X[:150], Y)
    peer = sklearn_selection.GridSearchCV(SVR(**TIGHT), grid, cv=3).fit(X[:150], Y)
    assert_same_results(mine, peer)
