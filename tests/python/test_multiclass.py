"""One-vs-one, one-vs-rest and the directed acyclic graph: machines, values, labels, rejection."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import kernel_matrix, machines
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine, make_blobs
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as Reference
from variants import assert_same_values

from mercer import SVC, NuSVC
from mercer.kernels import RBF, Linear

TIGHT = {"tol": 1e-8}
STRATEGIES = ["ovo", "ovr", "dag"]
REAL = ["vowel", "glass", "segment", "satellite"]
THRESHOLDS = [0.0, 1e-3, 0.3, 0.8, 1.0, 2.0]


@pytest.fixture(scope="module")
def blobs():
    """Six classes that overlap, and rows between and far from them."""
    X, y = make_blobs(180, centers=6, n_features=3, cluster_std=3.0, random_state=0)
    X = StandardScaler().fit_transform(X)
    Z = np.random.default_rng(1).uniform(-3.0, 3.0, size=(500, 3))
    return X, np.array(list("fbadec"))[y], Z


@pytest.fixture(scope="module")
def real(shared_data):
    def load(name):
        X, y = shared_data(name)[:2]
        X, y = X[:2000].astype(np.float64), y[:2000]
        X = X[:, X.std(axis=0) > 0.0]
        return StandardScaler().fit_transform(X), y

    return load


def pairs(n_classes):
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def pairwise(model, Z):
    """The values of all pairs, and a way to ask one for the value in favour of its first class."""
    shape = model.decision_function_shape
    values = model.set_params(decision_function_shape="ovo").decision_function(Z)
    model.set_params(decision_function_shape=shape)
    columns = {pair: column for column, pair in enumerate(pairs(len(model.classes_)))}

    def favour(row, first, second):
        if first < second:
            return values[row, columns[first, second]]
        return -values[row, columns[second, first]]

    return values, favour


def walk(favour, row, n_classes):
    """The comparisons (winner, loser, value) of the list of all classes, until one is left."""
    left = list(range(n_classes))
    steps = []
    while len(left) > 1:
        first, last = left[0], left[-1]
        value = favour(row, first, last)
        if value > 0.0:
            steps.append((first, last, value))
            left.pop()
        else:
            steps.append((last, first, -value))
            left.pop(0)
    return left[0], steps


# One-vs-rest


@pytest.mark.parametrize("name", REAL)
def test_one_vs_rest_is_a_machine_for_each_class(real, name):
    X, y = real(name)
    model = SVC(C=10.0, tol=1e-4, multiclass="ovr").fit(X, y)
    values = model.decision_function(X)
    for c, label in enumerate(model.classes_):
        alone = SVC(C=10.0, tol=1e-4).fit(X, y == label)
        np.testing.assert_allclose(values[:, c], alone.decision_function(X), rtol=0.0, atol=5e-3)
    np.testing.assert_array_equal(model.predict(X), model.classes_[values.argmax(axis=1)])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "linear"},
        {"loss": "squared_hinge"},
        {"fit_intercept": False},
        {"fit_intercept": "penalized"},
        {"C": np.inf, "gamma": 20.0},
        {"shrinking": False, "n_jobs": 1},
        {"cache_size": 1e-3},
    ],
    ids=str,
)
def test_one_vs_rest_tightly_solved(blobs, options):
    X, y, Z = blobs
    options = {"C": 10.0, **TIGHT, **options}
    model = SVC(multiclass="ovr", **options).fit(X, y)
    n_classes = len(model.classes_)
    assert model.dual_coef_.shape == (n_classes, len(model.support_))
    assert model.intercept_.shape == model.n_iter_.shape == (n_classes,)
    assert len(model.report_) == n_classes
    values = model.decision_function(Z)
    assert values.shape == (len(Z), n_classes)
    used = []
    for c, label in enumerate(model.classes_):
        alone = SVC(**options).fit(X, y == label)
        expected = alone.decision_function(Z)
        np.testing.assert_allclose(values[:, c], expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(model.intercept_[c], alone.intercept_[0], rtol=1e-6, atol=1e-6)
        assert model.report_[c].objective == pytest.approx(alone.report_.objective, rel=1e-9)
        used.append(alone.support_)
    if model.kernel != "linear":  # whose coefficients are not unique
        np.testing.assert_array_equal(np.sort(model.support_), np.unique(np.concatenate(used)))
    np.testing.assert_array_equal(model.predict(Z), model.classes_[values.argmax(axis=1)])


def test_support_vectors_of_one_vs_rest_are_sorted_by_class(blobs):
    X, y, _ = blobs
    model = SVC(multiclass="ovr").fit(X, y)
    counts = [(y[model.support_] == label).sum() for label in model.classes_]
    np.testing.assert_array_equal(model.n_support_, counts)
    order = np.lexsort((model.support_, y[model.support_]))
    np.testing.assert_array_equal(order, np.arange(len(order)))
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    # Row c is positive for the class c, and never for another.
    own = y[model.support_] == model.classes_[:, np.newaxis]
    assert (model.dual_coef_[own] >= 0.0).all()
    assert (model.dual_coef_[~own] <= 0.0).all()
    assert (model.dual_coef_ != 0.0).any(axis=0).all()
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0.0, atol=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_weights_of_the_features(blobs, container):
    X, y, Z = blobs
    for strategy in STRATEGIES:
        model = SVC(kernel="linear", multiclass=strategy, decision_function_shape="ovo")
        model.fit(container(X), y)
        coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
        assert coef.shape == (len(model.intercept_), X.shape[1])
        np.testing.assert_allclose(
            model.decision_function(container(Z)), Z @ coef.T + model.intercept_, atol=1e-9
        )


def test_one_vs_rest_has_one_shape_and_no_ties_to_break(blobs):
    X, y, Z = blobs
    model = SVC(multiclass="ovr").fit(X, y)
    values, labels = model.decision_function(Z), model.predict(Z)
    model.set_params(decision_function_shape="ovo", break_ties=True)
    np.testing.assert_array_equal(model.decision_function(Z), values)
    np.testing.assert_array_equal(model.predict(Z), labels)


def test_weights_are_repetitions_for_one_vs_rest(blobs):
    X, y, Z = blobs
    weight = np.random.default_rng(5).integers(4, size=len(y))
    for make in (SVC(multiclass="ovr"), NuSVC(nu=0.2, multiclass="ovr")):
        for class_weight in (None, "balanced", {"a": 3.0}):
            make.set_params(class_weight=class_weight, **TIGHT)
            model = clone(make).fit(X, y, sample_weight=weight)
            repeated = clone(make).fit(X.repeat(weight, axis=0), y.repeat(weight))
            assert_same_values(model, repeated, Z, atol=1e-5)


def test_class_weights_count_for_the_class_wherever_it_is(blobs):
    X, y, Z = blobs
    model = SVC(multiclass="ovr", class_weight={"a": 5.0, "d": 0.2}, **TIGHT).fit(X, y)
    weight = np.where(y == "a", 5.0, np.where(y == "d", 0.2, 1.0))
    weighted = SVC(multiclass="ovr", gamma=model._fit_kernel.gamma, **TIGHT)
    weighted.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(
        model.decision_function(Z), weighted.decision_function(Z), rtol=1e-6, atol=1e-6
    )


# The graph


@pytest.mark.parametrize("name", REAL)
def test_the_graph_walks_over_the_pairs_on_real_data(real, name):
    X, y = real(name)
    model = SVC(C=10.0, tol=1e-4, multiclass="dag").fit(X, y)
    one_vs_one = SVC(C=10.0, tol=1e-4).fit(X, y)
    _, favour = pairwise(one_vs_one, X)
    winners = [walk(favour, row, len(model.classes_))[0] for row in range(len(X))]
    np.testing.assert_array_equal(model.predict(X), model.classes_[winners])
    values = model.decision_function(X)
    np.testing.assert_array_equal(model.classes_[values.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("model", [SVC(), SVC(C=100.0, gamma=50.0), NuSVC(nu=0.2)], ids=str)
def test_values_of_the_graph(blobs, model):
    X, y, Z = blobs
    one_vs_one = clone(model).fit(X, y)
    model = clone(model).set_params(multiclass="dag").fit(X, y)
    for name in ("dual_coef_", "support_", "n_support_", "intercept_", "n_iter_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(one_vs_one, name))
    assert len(model.report_) == len(one_vs_one.report_)
    expected_pairs, favour = pairwise(one_vs_one, Z)
    np.testing.assert_array_equal(pairwise(model, Z)[0], expected_pairs)
    n_classes = len(model.classes_)
    values = model.decision_function(Z)
    labels = model.predict(Z)
    assert values.shape == (len(Z), n_classes)
    for row in range(len(Z)):
        winner, steps = walk(favour, row, n_classes)
        assert labels[row] == model.classes_[winner]
        expected = np.empty(n_classes)
        for number, (_, loser, value) in enumerate(steps):
            expected[loser] = number - value / (3.0 * (value + 1.0))
        expected[winner] = n_classes - 1 + steps[-1][2] / (3.0 * (steps[-1][2] + 1.0))
        np.testing.assert_allclose(values[row], expected, rtol=1e-12)
        assert values[row].argmax() == winner


def test_a_pair_without_opinion_drops_the_first():
    # Every value is zero: 0 is dropped, then 1, then 2.
    X, y = np.zeros((4, 1)), [0, 1, 2, 3]
    model = SVC(kernel="linear", fit_intercept=False, multiclass="dag").fit(X, y)
    np.testing.assert_array_equal(model.predict([[1.0]]), [3])
    np.testing.assert_array_equal(model.decision_function([[1.0]]), [[0.0, 1.0, 2.0, 3.0]])


# One-vs-one


@pytest.mark.parametrize("name", REAL)
def test_one_vs_one_is_that_of_scikit_learn(real, name):
    X, y = real(name)
    options = {"C": 10.0, "tol": 1e-4, "decision_function_shape": "ovo"}
    ours, theirs = SVC(**options).fit(X, y), Reference(**options).fit(X, y)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=0.0, atol=5e-3
    )
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0]
    assert (ours.predict(X) == theirs.predict(X)).mean() >= 0.999
    gamma = 1.0 / (X.shape[1] * X.var())
    K = kernel_matrix("rbf", X, X, gamma=gamma)
    for machine in machines(ours, y):
        assert machine.gap(K, 10.0) <= 1.1e-4


# Two classes


@pytest.mark.parametrize("make", [SVC, NuSVC])
def test_two_classes_are_the_same_under_all(make):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    models = [make(kernel="linear", multiclass=name).fit(X, y) for name in STRATEGIES]
    f = models[0].decision_function(X)
    assert f.shape == (len(X),)
    for model in models:
        for name in ("dual_coef_", "support_", "n_support_", "intercept_", "n_iter_", "coef_"):
            np.testing.assert_array_equal(getattr(model, name), getattr(models[0], name))
        np.testing.assert_array_equal(model.decision_function(X), f)
        np.testing.assert_array_equal(model.predict(X), (f > 0.0).astype(int))
        for threshold in THRESHOLDS:
            np.testing.assert_array_equal(model.reject(X, threshold), np.abs(f) < threshold)
        with pytest.raises(ValueError, match="threshold must be a non-negative finite number"):
            model.reject(X, -0.1)
        model.set_params(break_ties=True, decision_function_shape="ovo")
        with pytest.raises(ValueError, match="break_ties"):
            model.predict(X)


def test_two_classes_left_by_weights_are_a_binary_problem(blobs):
    X, y, Z = blobs
    weight = np.isin(y, ["a", "b"]).astype(float)
    models = [SVC(multiclass=name).fit(X, y, sample_weight=weight) for name in STRATEGIES]
    for model in models:
        assert model.decision_function(Z).shape == (len(Z),)
        np.testing.assert_array_equal(model.decision_function(Z), models[0].decision_function(Z))


# Rejection


@pytest.mark.parametrize("model", [SVC(C=10.0), NuSVC(nu=0.1)], ids=str)
def test_rejection_recomputed(blobs, model):
    X, y, Z = blobs
    for strategy in STRATEGIES:
        fitted = clone(model).set_params(multiclass=strategy).fit(X, y)
        n_classes = len(fitted.classes_)
        winner = np.searchsorted(fitted.classes_, fitted.predict(Z))
        shares = []
        for threshold in [*THRESHOLDS, *([-0.5, -3.0] if strategy == "ovr" else [])]:
            rejected = fitted.reject(Z, threshold)
            assert rejected.dtype == bool
            if strategy == "ovr":
                expected = ~(fitted.decision_function(Z) > threshold).any(axis=1)
            else:
                _, favour = pairwise(fitted, Z)
                expected = []
                for row, c in enumerate(winner):
                    if strategy == "ovo":
                        won = [favour(row, c, j) for j in range(n_classes) if j != c]
                        won = [value for value in won if value > 0.0]
                    else:
                        steps = walk(favour, row, n_classes)[1]
                        won = [value for first, _, value in steps if first == c]
                    expected.append(all(value < threshold for value in won))
            np.testing.assert_array_equal(rejected, expected)
            shares.append(rejected.mean())
        assert len(set(shares)) > 2
        np.testing.assert_array_equal(fitted.reject(Z), fitted.reject(Z, threshold=0.0))


def test_rejection_is_of_the_class_that_breaks_the_tie(blobs):
    X, y, Z = blobs
    model = SVC(C=100.0, gamma=0.3).fit(X, y)
    plain = model.predict(Z)
    model.set_params(break_ties=True)
    winner = np.searchsorted(model.classes_, model.predict(Z))
    assert (model.predict(Z) != plain).any()
    _, favour = pairwise(model, Z)
    clearest = [
        max(favour(row, c, j) for j in range(len(model.classes_)) if j != c)
        for row, c in enumerate(winner)
    ]
    for threshold in THRESHOLDS[1:]:
        np.testing.assert_array_equal(model.reject(Z, threshold), np.array(clearest) < threshold)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_bad_thresholds(blobs, strategy):
    X, y, Z = blobs
    model = SVC(multiclass=strategy).fit(X, y)
    for bad in (np.nan, np.inf, -np.inf, *([] if strategy == "ovr" else [-1e-9])):
        with pytest.raises(ValueError, match="threshold must be"):
            model.reject(Z, bad)
    for bad in ("0", None, [0.5], True):
        with pytest.raises(TypeError, match="threshold must be"):
            model.reject(Z, bad)


# Nu


@pytest.mark.parametrize("options", [{}, {"kernel": "linear"}, {"class_weight": {"a": 3.0}}])
def test_nu_one_vs_rest_is_a_machine_for_each_class(blobs, options):
    X, y, Z = blobs
    nu = 0.2
    model = NuSVC(nu=nu, multiclass="ovr", **options, **TIGHT).fit(X, y)
    values = model.decision_function(Z)
    np.testing.assert_array_equal(model.predict(Z), model.classes_[values.argmax(axis=1)])
    np.testing.assert_allclose(model.nu_, nu)
    weight = np.where(y == "a", 3.0 if "class_weight" in options else 1.0, 1.0)
    for c, label in enumerate(model.classes_):
        alone = NuSVC(nu=nu, **TIGHT, gamma=1.0 / (3 * X.var()))
        alone.set_params(kernel=options.get("kernel", "rbf"))
        alone.fit(X, y == label, sample_weight=weight)
        np.testing.assert_allclose(values[:, c], alone.decision_function(Z), rtol=1e-5, atol=1e-5)


def test_nu_too_large_for_some_classes_against_the_rest():
    X, _ = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    y = np.repeat([0, 1, 2], [100, 58, 20])
    largest = 2.0 * np.array([78, 58, 20]) / 178
    model = NuSVC(nu=0.5, multiclass="ovr").fit(X, y)
    np.testing.assert_allclose(model.nu_, np.minimum(0.5, largest))
    assert len(model.intercept_) == 3
    with pytest.raises(ValueError, match="nu must be"):
        NuSVC(nu=0.9, multiclass="ovr").fit(X, y)
    # Class weights are not a reason to refuse what the rows allow.
    heavy = NuSVC(nu=0.8, multiclass="ovr", class_weight={0: 1000.0}).fit(X, y)
    weights = np.array([100_000.0, 58.0, 20.0])
    expected = 2.0 * np.minimum(weights, weights.sum() - weights) / weights.sum()
    np.testing.assert_allclose(heavy.nu_, np.minimum(0.8, expected))


@pytest.mark.parametrize("seed", range(20))
def test_nu_at_the_largest_that_weights_allow(seed):
    # What is feasible is computed twice, here and in the core: roundings must not matter.
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    weight = {c: 10.0 ** rng.uniform(-5.0, 5.0) for c in range(3)}
    rows = rng.uniform(0.9, 1.1, size=30)
    model = NuSVC(nu=0.6, multiclass="ovr", class_weight=weight).fit(X, y, sample_weight=rows)
    assert (model.nu_ <= 0.6).all()


# Classes of all sizes


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_class_of_one_in_ten_thousand(strategy):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_002, 2))
    X[10_000:] += [8.0, 0.0]
    X[20_000:] += [-4.0, 10.0]
    y = np.repeat([0, 1, 2], [10_000, 10_000, 2])
    model = SVC(C=100.0, gamma=0.1, multiclass=strategy).fit(X, y)
    assert model.report_.status == "converged"
    assert (model.n_support_ > 0).all()
    np.testing.assert_array_equal(model.predict(X[20_000:]), [2, 2])
    assert model.score(X, y) > 0.999


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("make", [SVC(C=10.0), NuSVC(nu=0.01)], ids=str)
def test_a_class_of_a_single_row(blobs, make, strategy):
    X, y, _ = blobs
    X, y = np.vstack([X, [5.0, 5.0, 5.0]]), np.append(y, "z")
    model = clone(make).set_params(multiclass=strategy).fit(X, y)
    assert model.n_support_[-1] == 1
    assert model.predict(X[-1:]) == ["z"]
    assert not model.reject(X[-1:], 0.5)[0]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_two_hundred_classes(strategy):
    centres = np.stack(np.meshgrid(np.arange(20.0), np.arange(10.0)), axis=-1).reshape(-1, 2)
    X = np.concatenate([centres, centres + 0.05])
    y = np.tile(np.arange(200), 2)
    model = SVC(C=100.0, gamma=10.0, multiclass=strategy).fit(X, y)
    n_machines = 200 if strategy == "ovr" else 200 * 199 // 2
    assert len(model.intercept_) == len(model.n_iter_) == len(model.report_) == n_machines
    np.testing.assert_array_equal(model.predict(X), y)
    values = model.decision_function(X)
    assert values.shape == (400, 200)
    np.testing.assert_array_equal(values.argmax(axis=1), y)
    assert not model.reject(X, 0.9).any()


# However it is computed


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("make", [SVC(C=5.0), NuSVC(nu=0.3)], ids=str)
def test_every_source_of_kernel_values(blobs, make, strategy):
    X, y, Z = blobs
    kernel = 0.5 * RBF(gamma=0.4) + 0.1 * Linear()

    def values(A, B):
        A, B = (rows.toarray() if sp.issparse(rows) else rows for rows in (A, B))
        return 0.5 * kernel_matrix("rbf", A, B, gamma=0.4) + 0.1 * A @ B.T

    make = clone(make).set_params(multiclass=strategy, **TIGHT)
    built_in = clone(make).set_params(kernel=kernel).fit(X, y)
    expected = built_in.decision_function(Z)
    clear = np.partition(expected, -2, axis=1)[:, -2:] @ [-1.0, 1.0] > 1e-4
    others = {
        "precomputed": (clone(make).set_params(kernel="precomputed"), values(X, X), values(Z, X)),
        "callable": (clone(make).set_params(kernel=values), X, Z),
        "sparse": (clone(make).set_params(kernel=kernel), sp.csr_array(X), sp.csr_array(Z)),
    }
    for model, rows, new in others.values():
        model.fit(rows, y)
        found = model.decision_function(new)
        # A pair near zero may go either way, and the graph another way with it.
        same = (np.round(found) == np.round(expected)).all(axis=1) | (strategy == "ovr")
        assert same.mean() > 0.99
        np.testing.assert_allclose(found[same], expected[same], rtol=0.0, atol=1e-5)
        both = same & clear
        np.testing.assert_array_equal(model.predict(new)[both], built_in.predict(Z)[both])
        if strategy != "ovo":
            winners = model.classes_[found.argmax(axis=1)]
            np.testing.assert_array_equal(model.predict(new), winners)
        assert (model.reject(new, 0.5) == built_in.reject(Z, 0.5)).mean() > 0.99
        assert model.dual_coef_.shape[0] == built_in.dual_coef_.shape[0]
        assert sp.issparse(model.dual_coef_) == sp.issparse(rows)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_row_at_a_time_and_all_at_once(blobs, strategy):
    X, y, Z = blobs
    model = SVC(multiclass=strategy).fit(X, y)
    alone = [model.predict(row[np.newaxis])[0] for row in Z]
    np.testing.assert_array_equal(model.predict(Z), alone)
    alone = [model.decision_function(row[np.newaxis])[0] for row in Z]
    np.testing.assert_allclose(model.decision_function(Z), alone, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_labels_and_values_agree_over_many_rows(blobs, strategy):
    X, y, _ = blobs
    Z = np.random.default_rng(2).uniform(-3.0, 3.0, size=(100_000, 3)).astype(np.float32)
    model = SVC(multiclass=strategy, break_ties=strategy == "ovo").fit(X.astype(np.float32), y)
    values = model.decision_function(Z)
    np.testing.assert_array_equal(model.predict(Z), model.classes_[values.argmax(axis=1)])


# State


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("make", [SVC(), NuSVC(nu=0.1)], ids=str)
def test_a_fitted_model_keeps_its_strategy(blobs, make, container, strategy):
    X, y, Z = blobs
    Z = container(Z)
    model = clone(make).set_params(multiclass=strategy).fit(container(X), y)
    expected = model.decision_function(Z), model.predict(Z), model.reject(Z, 0.5)
    for other in STRATEGIES:
        model.set_params(multiclass=other)
        copy = pickle.loads(pickle.dumps(model))  # which computes everything anew
        assert copy.multiclass == other
        for fitted in (model, copy):
            found = fitted.decision_function(Z), fitted.predict(Z), fitted.reject(Z, 0.5)
            for one, another in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, another)
    fresh = clone(model.set_params(multiclass=strategy)).fit(container(X), y)
    np.testing.assert_array_equal(fresh.decision_function(Z), expected[0])


def test_fitting_again_with_another_strategy(blobs):
    X, y, Z = blobs
    model = SVC()
    for strategy in [*STRATEGIES, *STRATEGIES[::-1]]:
        model.set_params(multiclass=strategy).fit(X, y)
        expected = SVC(multiclass=strategy).fit(X, y)
        np.testing.assert_array_equal(model.decision_function(Z), expected.decision_function(Z))
        np.testing.assert_array_equal(model.predict(Z), expected.predict(Z))
