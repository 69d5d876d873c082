"""What must not change a model: how the same problem is posed, stored, cached and computed."""

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import kernel_matrix, machines
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from mercer import SVC
from mercer.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid

TIGHT = {"tol": 1e-8}


@pytest.fixture(scope="module", params=["two classes", "three classes"])
def data(request):
    if request.param == "two classes":
        X, y = load_breast_cancer(return_X_y=True)
        X, y = X[:200], y[:200]
    else:
        X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def _same_decisions(first, second, X, Z=None, atol=1e-6):
    np.testing.assert_allclose(
        first.decision_function(X), second.decision_function(X if Z is None else Z), atol=atol
    )


# Weights


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 1: 0.5}])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_weights_are_repetitions(data, kernel, class_weight):
    X, y = data
    weight = np.random.default_rng(5).integers(4, size=len(y))
    model = SVC(kernel=kernel, class_weight=class_weight, **TIGHT)
    model.fit(X, y, sample_weight=weight)
    repeated = SVC(kernel=kernel, class_weight=class_weight, **TIGHT)
    repeated.fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(model.class_weight_, repeated.class_weight_)
    _same_decisions(model, repeated, X)
    assert model.report_.objective == pytest.approx(repeated.report_.objective, rel=1e-9)


def test_rows_of_zero_weight_are_absent(data):
    X, y = data
    keep = np.random.default_rng(6).random(len(y)) < 0.7
    for container in (np.asarray, sp.csr_array):
        weighted = SVC(**TIGHT).fit(container(X), y, sample_weight=keep)
        absent = SVC(**TIGHT).fit(container(X)[keep], y[keep])
        _same_decisions(weighted, absent, X)
        np.testing.assert_array_equal(weighted.support_, np.flatnonzero(keep)[absent.support_])
        assert weighted.shape_fit_ == X.shape


def test_rows_of_zero_weight_are_absent_from_kernels_of_the_user(data):
    X, y = data
    keep = np.random.default_rng(6).random(len(y)) < 0.7
    expected = SVC(kernel="linear", **TIGHT).fit(X[keep], y[keep])
    matrix = SVC(kernel="precomputed", **TIGHT).fit(X @ X.T, y, sample_weight=keep)
    function = SVC(kernel=lambda A, B: A @ B.T, **TIGHT).fit(X, y, sample_weight=keep)
    _same_decisions(matrix, expected, X @ X.T, X)
    _same_decisions(function, expected, X)


def test_scaling_weights_is_scaling_the_cost(data):
    X, y = data
    weight = np.random.default_rng(7).uniform(0.5, 2.0, size=len(y))
    plain = SVC(C=3.0, **TIGHT).fit(X, y, sample_weight=weight)
    _same_decisions(SVC(C=0.75, **TIGHT).fit(X, y, sample_weight=4.0 * weight), plain, X)
    uniform = SVC(C=100.0, **TIGHT).fit(X, y, sample_weight=np.full(len(y), 0.01))
    np.testing.assert_array_equal(uniform.dual_coef_, SVC(C=1.0, **TIGHT).fit(X, y).dual_coef_)


def test_class_weights_are_weights_of_rows(data):
    X, y = data
    factors = {0: 3.0, 1: 0.5}
    by_class = SVC(class_weight=factors, gamma=0.05, **TIGHT).fit(X, y)
    by_row = SVC(gamma=0.05, **TIGHT)
    by_row.fit(X, y, sample_weight=[factors.get(label, 1.0) for label in y])
    _same_decisions(by_class, by_row, X)


# The order of things


def test_order_of_rows(data):
    X, y = data
    order = np.random.default_rng(8).permutation(len(y))
    straight, shuffled = SVC(**TIGHT).fit(X, y), SVC(**TIGHT).fit(X[order], y[order])
    _same_decisions(straight, shuffled, X)
    np.testing.assert_array_equal(np.sort(straight.support_), np.sort(order[shuffled.support_]))


def test_order_of_features(data):
    X, y = data
    order = np.random.default_rng(9).permutation(X.shape[1])
    _same_decisions(SVC(**TIGHT).fit(X, y), SVC(**TIGHT).fit(X[:, order], y), X, X[:, order])


def test_swapping_two_classes_turns_the_sign(data):
    X, y = data
    two = y < 2
    model, swapped = SVC(**TIGHT).fit(X[two], y[two]), SVC(**TIGHT).fit(X[two], 1 - y[two])
    np.testing.assert_allclose(model.decision_function(X), -swapped.decision_function(X), atol=1e-6)


def test_moving_all_rows_far_away(data):
    # Squared distances by the norm trick would lose their digits here.
    X, y = data
    far = X + 1e5
    for kernel in ("rbf", "laplacian", "imq"):
        near_model = SVC(kernel=kernel, gamma=0.05, tol=1e-6).fit(X, y)
        far_model = SVC(kernel=kernel, gamma=0.05, tol=1e-6).fit(far, y)
        _same_decisions(near_model, far_model, X, far, atol=1e-4)


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
    X, y = data
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
    _same_decisions(named, called, X)
    np.testing.assert_array_equal(named.support_vectors_, called.support_vectors_)
    matrix = SVC(kernel="precomputed", **options).fit(K, y)
    _same_decisions(named, matrix, X, K)
    np.testing.assert_array_equal(named.support_, matrix.support_)
    np.testing.assert_allclose(named.intercept_, matrix.intercept_, atol=1e-6)


def test_composed_kernels(data):
    X, y = data
    kernel = RBF(gamma=0.05) * Linear() + 0.5 * Laplacian(gamma=0.1)
    K = kernel_matrix("rbf", X, X, gamma=0.05) * (X @ X.T)
    K += 0.5 * kernel_matrix("laplacian", X, X, gamma=0.1)
    composed = SVC(kernel=kernel, **TIGHT).fit(X, y)
    _same_decisions(composed, SVC(kernel="precomputed", **TIGHT).fit(K, y), X, K)


def test_scaling_the_kernel_is_scaling_the_cost(data):
    # beta / 4 solves the problem of 4 K, with bounds C / 4.
    X, y = data
    plain = SVC(kernel=RBF(gamma=0.05), C=4.0, **TIGHT).fit(X, y)
    scaled = SVC(kernel=4.0 * RBF(gamma=0.05), C=1.0, **TIGHT).fit(X, y)
    _same_decisions(plain, scaled, X)
    np.testing.assert_allclose(plain.dual_coef_, 4.0 * scaled.dual_coef_, atol=1e-5)


# Storage


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "imq"])
def test_sparse_is_dense(data, kernel):
    X, y = data
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    dense = SVC(kernel=kernel, C=0.5, **TIGHT).fit(X, y)
    sparse = SVC(kernel=kernel, C=0.5, **TIGHT).fit(sp.csr_array(X), y)
    _same_decisions(dense, sparse, X, sp.csr_array(X))
    _same_decisions(dense, sparse, X)
    np.testing.assert_array_equal(dense.support_, sparse.support_)
    np.testing.assert_array_equal(dense.support_vectors_, sparse.support_vectors_.toarray())
    np.testing.assert_allclose(dense.dual_coef_, sparse.dual_coef_.toarray(), atol=1e-6)
    if kernel == "linear":
        np.testing.assert_allclose(dense.coef_, sparse.coef_.toarray(), atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_single_is_nearly_double(data, kernel):
    X, y = data
    double = SVC(kernel=kernel, C=0.5, tol=1e-5).fit(X, y)
    single = SVC(kernel=kernel, C=0.5, tol=1e-5).fit(X.astype(np.float32), y)
    assert single.support_vectors_.dtype == np.float32
    _same_decisions(double, single, X, X.astype(np.float32), atol=1e-3)
    # Rows that float32 holds exactly are the same problem, whatever holds them.
    rounded = X.astype(np.float32)
    exact = SVC(kernel=kernel, C=0.5, gamma=0.05, **TIGHT).fit(rounded.astype(np.float64), y)
    same = SVC(kernel=kernel, C=0.5, gamma=0.05, **TIGHT).fit(rounded, y)
    _same_decisions(exact, same, rounded.astype(np.float64), rounded, atol=1e-5)
    _same_decisions(exact, same, X, atol=1e-5)


# Computation


@pytest.mark.parametrize("C", [0.1, 100.0])
def test_shrinking(data, C):
    X, y = data
    with_it = SVC(C=C, shrinking=True, **TIGHT).fit(X, y)
    without = SVC(C=C, shrinking=False, **TIGHT).fit(X, y)
    _same_decisions(with_it, without, X)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_size_of_the_cache(kernel):
    X, y = load_digits(return_X_y=True)
    X, y = X[:600] / 16.0, y[:600] % 3
    K = kernel_matrix(kernel, X, X, gamma=0.02)
    options = {"kernel": kernel, "gamma": 0.02, "C": 10.0, "tol": 1e-6}
    roomy = SVC(**options).fit(X, y)
    for cache_size in (1e-6, 0.05, 1.0):
        tight = SVC(cache_size=cache_size, **options).fit(X, y)
        for machine in machines(tight, y):
            assert machine.gap(K, 10.0) <= 1.1e-6
        _same_decisions(roomy, tight, X, atol=1e-4)
    assert roomy.report_.kernel_evaluations <= tight.report_.kernel_evaluations


def test_number_of_threads(data):
    X, y = data
    one, two = (SVC(n_jobs=n_jobs, **TIGHT).fit(X, y) for n_jobs in (1, 2))
    _same_decisions(one, two, X)
    np.testing.assert_array_equal(one.support_, two.support_)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_two_runs_are_identical(n_jobs):
    X, y = load_digits(return_X_y=True)
    first, second = (SVC(n_jobs=n_jobs).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)
    np.testing.assert_array_equal(first.intercept_, second.intercept_)
    np.testing.assert_array_equal(first.n_iter_, second.n_iter_)
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
