"""What must not change a model: how the same problem is posed, stored, cached and computed."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import kernel_matrix, machines
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler
from variants import ESTIMATORS, VARIANTS, assert_same_values, machine, target

from mercer import SVC, NuSVC
from mercer.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid

TIGHT = {"tol": 1e-8}


@dataclass
class Data:
    X: np.ndarray
    y: np.ndarray
    numbers: np.ndarray

    def fit(self, model, rows=None, keep=slice(None), sample_weight=None):
        """Train on X, or on other rows that stand for those of X."""
        rows = self.X[keep] if rows is None else rows
        goal = target(model, self.y[keep], self.numbers[keep])
        return model.fit(rows, goal, sample_weight=sample_weight)


@pytest.fixture(scope="module", params=["two classes", "three classes"])
def data(request):
    if request.param == "two classes":
        X, y = load_breast_cancer(return_X_y=True)
        X, y = X[:200], y[:200]
    else:
        X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    return Data(X, y, 2.0 + X[:, 0] + np.sin(2.0 * X[:, 1]))


@pytest.fixture(params=VARIANTS)
def make(request):
    """Make one of the variants, tightly solved."""
    return lambda **parameters: machine(request.param, **{**TIGHT, **parameters})


# Weights


def test_weights_are_repetitions(data, make):
    weight = np.random.default_rng(5).integers(4, size=len(data.y))
    model = data.fit(make(), sample_weight=weight)
    repeated = data.fit(make(), keep=np.arange(len(data.y)).repeat(weight))
    assert_same_values(model, repeated, data.X)
    assert model.report_.objective == pytest.approx(repeated.report_.objective, rel=1e-8)
    for name in ("radius_", "epsilon_", "offset_"):
        if hasattr(model, name):
            np.testing.assert_allclose(
                getattr(model, name), getattr(repeated, name), rtol=1e-6, atol=1e-6
            )


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 1: 0.5}])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "nu"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_weights_are_repetitions_among_classes_with_weights(data, kernel, loss, class_weight):
    weight = np.random.default_rng(5).integers(4, size=len(data.y))
    options = {"kernel": kernel, "class_weight": class_weight, **TIGHT}
    model, repeated = (
        NuSVC(nu=0.15, **options) if loss == "nu" else SVC(loss=loss, **options) for _ in range(2)
    )
    model.fit(data.X, data.y, sample_weight=weight)
    repeated.fit(data.X.repeat(weight, axis=0), data.y.repeat(weight))
    np.testing.assert_allclose(model.class_weight_, repeated.class_weight_)
    assert_same_values(model, repeated, data.X)
    assert model.report_.objective == pytest.approx(repeated.report_.objective, rel=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_rows_of_zero_weight_are_absent(data, make, container):
    keep = np.random.default_rng(6).random(len(data.y)) < 0.7
    weighted = data.fit(make(), rows=container(data.X), sample_weight=keep)
    absent = data.fit(make(), rows=container(data.X)[keep], keep=keep)
    assert_same_values(weighted, absent, data.X)
    np.testing.assert_array_equal(weighted.support_, np.flatnonzero(keep)[absent.support_])
    assert weighted.shape_fit_ == data.X.shape


def test_rows_of_zero_weight_are_absent_from_kernels_of_the_user(data, make):
    keep = np.random.default_rng(6).random(len(data.y)) < 0.7
    X, K = data.X, kernel_matrix("rbf", data.X, data.X, gamma=0.05)
    expected = data.fit(make(gamma=0.05), keep=keep)
    matrix = data.fit(make(kernel="precomputed"), rows=K, sample_weight=keep)
    assert_same_values(matrix, expected, K, X)
    function = data.fit(
        make(kernel=lambda A, B: kernel_matrix("rbf", A, B, gamma=0.05)), sample_weight=keep
    )
    assert_same_values(function, expected, X)


@pytest.mark.parametrize("name", [name for name in VARIANTS if hasattr(VARIANTS[name], "C")])
def test_scaling_weights_is_scaling_the_cost(data, name):
    weight = np.random.default_rng(7).uniform(0.5, 2.0, size=len(data.y))
    plain = data.fit(machine(name, C=3.0, **TIGHT), sample_weight=weight)
    scaled = data.fit(machine(name, C=0.75, **TIGHT), sample_weight=4.0 * weight)
    assert_same_values(scaled, plain, data.X)
    uniform = data.fit(
        machine(name, C=64.0, **TIGHT), sample_weight=np.full(len(data.y), 1.0 / 64.0)
    )
    unweighted = data.fit(machine(name, C=1.0, **TIGHT))
    np.testing.assert_array_equal(uniform.dual_coef_, unweighted.dual_coef_)


@pytest.mark.parametrize(
    "name", ["NuSVC", "OneClassSVM", "OneClassSVM squared", "SVDD", "SVDD squared"]
)
def test_scale_of_weights_does_not_matter_to_shares(data, name):
    weight = np.random.default_rng(7).uniform(0.5, 2.0, size=len(data.y))
    model = data.fit(machine(name, **TIGHT), sample_weight=weight)
    scaled = data.fit(machine(name, **TIGHT), sample_weight=4.0 * weight)
    # Those of scikit-learn's scaling grow with the sum of the weights.
    factor = 4.0 if name.startswith("OneClassSVM") else 1.0
    np.testing.assert_allclose(
        scaled.decision_function(data.X),
        factor * model.decision_function(data.X),
        atol=1e-6 * max(1.0, np.abs(scaled.decision_function(data.X)).max()),
    )


@pytest.mark.parametrize("name", ["SVC", "SVC squared", "SVC no intercept", "NuSVC"])
def test_class_weights_are_weights_of_rows(data, name):
    factors = {0: 3.0, 1: 0.5}
    options = {"gamma": 0.05, **TIGHT}
    by_class = data.fit(machine(name, class_weight=factors, **options))
    weight = [factors.get(label, 1.0) for label in data.y]
    by_row = data.fit(machine(name, **options), sample_weight=weight)
    assert_same_values(by_class, by_row, data.X)


# The order of things


def test_order_of_rows(data, make):
    order = np.random.default_rng(8).permutation(len(data.y))
    straight, shuffled = data.fit(make()), data.fit(make(), keep=order)
    assert_same_values(straight, shuffled, data.X)
    np.testing.assert_array_equal(np.sort(straight.support_), np.sort(order[shuffled.support_]))


def test_order_of_features(data, make):
    order = np.random.default_rng(9).permutation(data.X.shape[1])
    straight, shuffled = data.fit(make()), data.fit(make(), rows=data.X[:, order])
    assert_same_values(straight, shuffled, data.X, data.X[:, order])


@pytest.mark.parametrize("name", [name for name in VARIANTS if "SVC" in name])
def test_swapping_two_classes_turns_the_sign(data, name):
    X, y = data.X[data.y < 2], data.y[data.y < 2]
    model = machine(name, **TIGHT).fit(X, y)
    swapped = machine(name, **TIGHT).fit(X, 1 - y)
    np.testing.assert_allclose(model.decision_function(X), -swapped.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("name", [name for name in VARIANTS if "SVR" in name])
def test_turning_the_targets_turns_the_function(data, name):
    model = machine(name, **TIGHT).fit(data.X, data.numbers)
    turned = machine(name, **TIGHT).fit(data.X, -data.numbers)
    np.testing.assert_allclose(model.predict(data.X), -turned.predict(data.X), atol=1e-6)


@pytest.mark.parametrize("name", ["SVR", "SVR squared", "NuSVR"])
def test_moving_the_targets_moves_the_function(data, name):
    model = machine(name, **TIGHT).fit(data.X, data.numbers)
    moved = machine(name, **TIGHT).fit(data.X, data.numbers + 100.0)
    np.testing.assert_allclose(moved.predict(data.X), model.predict(data.X) + 100.0, atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "imq"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_moving_all_rows_far_away(data, estimator, kernel):
    # Squared distances by the norm trick would lose their digits here.
    far = data.X + 1e5
    options = {"kernel": kernel, "gamma": 0.05, "tol": 1e-6}
    near_model = data.fit(estimator(**options))
    far_model = data.fit(estimator(**options), rows=far)
    assert_same_values(near_model, far_model, data.X, far, atol=1e-4)


# The same kernel in other words


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("linear", Linear()),
        ("poly", Polynomial(degree=3, gamma=0.05, coef0=1.0)),
        ("rbf", RBF(gamma=0.05)),
        ("sigmoid", Sigmoid(gamma=0.05, coef0=1.0)),
        ("laplacian", Laplacian(gamma=0.05)),
    ],
)
def test_named_object_callable_and_precomputed(data, name, kernel):
    X, y = data.X, data.y
    K = kernel_matrix(name, X, X, gamma=0.05, coef0=1.0)
    options = {"C": 0.1, "tol": 1e-8}
    named = SVC(kernel=name, gamma=0.05, coef0=1.0, **options).fit(X, y)
    given = SVC(kernel=kernel, **options).fit(X, y)
    np.testing.assert_array_equal(named.dual_coef_, given.dual_coef_)
    np.testing.assert_array_equal(named.decision_function(X), given.decision_function(X))
    if name == "sigmoid":  # not convex: rounding may lead to another optimum
        return

    def function(A, B):
        return kernel_matrix(name, A, B, gamma=0.05, coef0=1.0)

    called = SVC(kernel=function, **options).fit(X, y)
    assert_same_values(named, called, X)
    np.testing.assert_array_equal(named.support_vectors_, called.support_vectors_)
    matrix = SVC(kernel="precomputed", **options).fit(K, y)
    assert_same_values(named, matrix, X, K)
    np.testing.assert_array_equal(named.support_, matrix.support_)
    np.testing.assert_allclose(named.intercept_, matrix.intercept_, atol=1e-6)


@pytest.mark.parametrize(("name", "gamma"), [("rbf", 0.05), ("laplacian", 0.1)])
def test_kernels_of_the_user(data, make, name, gamma):
    X, K = data.X, kernel_matrix(name, data.X, data.X, gamma=gamma)
    built_in = data.fit(make(kernel=name, gamma=gamma))
    called = data.fit(make(kernel=lambda A, B: kernel_matrix(name, A, B, gamma=gamma)))
    assert_same_values(built_in, called, X)
    np.testing.assert_array_equal(built_in.support_vectors_, called.support_vectors_)
    matrix = data.fit(make(kernel="precomputed"), rows=K)
    assert_same_values(built_in, matrix, X, K)
    np.testing.assert_array_equal(built_in.support_, matrix.support_)
    np.testing.assert_allclose(
        built_in.intercept_, matrix.intercept_, atol=1e-6 * max(1.0, abs(matrix.intercept_).max())
    )


def test_composed_kernels(data):
    X, y = data.X, data.y
    kernel = RBF(gamma=0.05) * Linear() + 0.5 * Laplacian(gamma=0.1)
    K = kernel_matrix("rbf", X, X, gamma=0.05) * (X @ X.T)
    K += 0.5 * kernel_matrix("laplacian", X, X, gamma=0.1)
    composed = SVC(kernel=kernel, **TIGHT).fit(X, y)
    assert_same_values(composed, SVC(kernel="precomputed", **TIGHT).fit(K, y), X, K)


@pytest.mark.parametrize(
    "name", [name for name in VARIANTS if hasattr(VARIANTS[name], "C") and "penalized" not in name]
)
def test_scaling_the_kernel_is_scaling_the_cost(data, name):
    # beta / 4 solves the problem of 4 K, with bounds C / 4.
    plain = data.fit(machine(name, kernel=RBF(gamma=0.05), C=4.0, **TIGHT))
    scaled = data.fit(machine(name, kernel=4.0 * RBF(gamma=0.05), C=1.0, **TIGHT))
    assert_same_values(plain, scaled, data.X)
    np.testing.assert_allclose(plain.dual_coef_, 4.0 * scaled.dual_coef_, atol=1e-5)


# Storage


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "imq"])
def test_sparse_is_dense(data, kernel):
    X, y = np.where(np.abs(data.X) > 0.8, data.X, 0.0), data.y
    dense = SVC(kernel=kernel, C=0.5, **TIGHT).fit(X, y)
    sparse = SVC(kernel=kernel, C=0.5, **TIGHT).fit(sp.csr_array(X), y)
    assert_same_values(dense, sparse, X, sp.csr_array(X))
    assert_same_values(dense, sparse, X)
    np.testing.assert_array_equal(dense.support_, sparse.support_)
    np.testing.assert_array_equal(dense.support_vectors_, sparse.support_vectors_.toarray())
    np.testing.assert_allclose(dense.dual_coef_, sparse.dual_coef_.toarray(), atol=1e-6)
    if kernel == "linear":
        np.testing.assert_allclose(dense.coef_, sparse.coef_.toarray(), atol=1e-6)


def test_sparse_is_dense_for_every_machine(data, make):
    X = np.where(np.abs(data.X) > 0.8, data.X, 0.0)
    dense, sparse = data.fit(make(), rows=X), data.fit(make(), rows=sp.csr_array(X))
    assert_same_values(dense, sparse, X, sp.csr_array(X))
    assert_same_values(dense, sparse, X)
    np.testing.assert_array_equal(dense.support_, sparse.support_)
    np.testing.assert_array_equal(dense.support_vectors_, sparse.support_vectors_.toarray())
    assert type(sparse.dual_coef_) is sp.csr_matrix
    assert sparse.dual_coef_.shape == dense.dual_coef_.shape


@pytest.mark.parametrize("name", ["SVR", "SVDD"])
def test_sparse_is_dense_in_the_linear_coefficients(data, name):
    X = np.where(np.abs(data.X) > 0.8, data.X, 0.0)
    dense = data.fit(machine(name, kernel="linear", **TIGHT), rows=X)
    sparse = data.fit(machine(name, kernel="linear", **TIGHT), rows=sp.csr_array(X))
    np.testing.assert_allclose(dense.coef_, sparse.coef_.toarray(), atol=1e-6)
    assert_same_values(dense, sparse, X, sp.csr_array(X))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_single_is_nearly_double(data, kernel):
    X, y = data.X, data.y
    double = SVC(kernel=kernel, C=0.5, tol=1e-5).fit(X, y)
    single = SVC(kernel=kernel, C=0.5, tol=1e-5).fit(X.astype(np.float32), y)
    assert single.support_vectors_.dtype == np.float32
    assert_same_values(double, single, X, X.astype(np.float32), atol=1e-3)
    # Rows that float32 holds exactly are the same problem, whatever holds them.
    rounded = X.astype(np.float32)
    exact = SVC(kernel=kernel, C=0.5, gamma=0.05, **TIGHT).fit(rounded.astype(np.float64), y)
    same = SVC(kernel=kernel, C=0.5, gamma=0.05, **TIGHT).fit(rounded, y)
    assert_same_values(exact, same, rounded.astype(np.float64), rounded, atol=1e-5)
    assert_same_values(exact, same, X, atol=1e-5)


def test_single_is_nearly_double_for_every_machine(data, make):
    rounded = data.X.astype(np.float32)
    double, single = data.fit(make(tol=1e-5)), data.fit(make(tol=1e-5), rows=rounded)
    assert single.support_vectors_.dtype == np.float32
    assert_same_values(double, single, data.X, rounded, atol=1e-3)


# Computation


def test_shrinking(data, make):
    with_it, without = data.fit(make(shrinking=True)), data.fit(make(shrinking=False))
    assert_same_values(with_it, without, data.X)


@pytest.mark.parametrize("C", [0.1, 100.0])
def test_shrinking_at_extreme_costs(data, C):
    with_it = SVC(C=C, shrinking=True, **TIGHT).fit(data.X, data.y)
    without = SVC(C=C, shrinking=False, **TIGHT).fit(data.X, data.y)
    assert_same_values(with_it, without, data.X)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_size_of_the_cache(kernel):
    X, y = load_digits(return_X_y=True)
    X, y = X[:600] / 16.0, y[:600] % 3
    K = kernel_matrix(kernel, X, X, gamma=0.02)
    options = {"kernel": kernel, "gamma": 0.02, "C": 10.0, "tol": 1e-6}
    roomy = SVC(**options).fit(X, y)
    for cache_size in (1e-6, 0.05, 1.0):
        tight = SVC(cache_size=cache_size, **options).fit(X, y)
        for solution in machines(tight, y):
            assert solution.gap(K, 10.0) <= 1.1e-6
        assert_same_values(roomy, tight, X, atol=1e-4)
    # Of several machines, those with room gather from rows what others compute.
    roomy, tight = (SVC(**options, **few).fit(X, y == 0) for few in ({}, {"cache_size": 1.0}))
    assert roomy.report_.kernel_evaluations <= tight.report_.kernel_evaluations


def test_a_small_cache_for_every_machine(data, make):
    roomy, tight = data.fit(make()), data.fit(make(cache_size=1e-3))
    assert_same_values(roomy, tight, data.X)


def test_number_of_threads(data, make):
    one, two = (data.fit(make(n_jobs=n_jobs)) for n_jobs in (1, 2))
    assert_same_values(one, two, data.X)
    np.testing.assert_array_equal(one.support_, two.support_)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_two_runs_are_identical(estimator, n_jobs):
    X, y = load_digits(return_X_y=True)
    first, second = (estimator(n_jobs=n_jobs).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)
    np.testing.assert_array_equal(first.intercept_, second.intercept_)
    np.testing.assert_array_equal(first.n_iter_, second.n_iter_)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
