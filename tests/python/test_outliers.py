"""OneClassSVM and SVDD on problems whose solution is known, and all kinds of rows."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import kernel_matrix
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM as Reference

from mercer import SVDD, OneClassSVM
from mercer.kernels import RBF, Linear, Polynomial

TIGHT = {"tol": 1e-8}
DETECTORS = [OneClassSVM, SVDD]


@pytest.fixture(scope="module")
def rows():
    X, _ = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:200]


# The hyperplane of two points, on paper


@pytest.mark.parametrize(
    ("nu", "beta", "rho"),
    [
        (0.25, [0.5], 0.5),  # the nearer one alone, f(1) = beta = rho
        (0.5, [1.0], 1.5),  # at its bound: rho is the middle of f(1) = 1 and f(2) = 2
        (0.75, [1.0, 0.5], 4.0),  # the farther one is free: f(2) = 2 (1 + 2 * 0.5)
    ],
)
def test_two_points_on_a_ray(nu, beta, rho):
    model = OneClassSVM(kernel="linear", nu=nu, **TIGHT).fit([[1.0], [2.0]])
    np.testing.assert_allclose(model.dual_coef_, [beta], rtol=1e-6)
    np.testing.assert_allclose(model.offset_, [rho], rtol=1e-6)
    np.testing.assert_array_equal(model.intercept_, -model.offset_)
    np.testing.assert_allclose(model.coef_, [[np.dot(beta, [1.0, 2.0][: len(beta)])]], rtol=1e-6)
    theirs = Reference(kernel="linear", nu=nu, **TIGHT).fit([[1.0], [2.0]])
    np.testing.assert_allclose(model.offset_, theirs.offset_, rtol=1e-6)


@pytest.mark.parametrize("nu", [0.1, 0.6])
def test_two_points_and_a_gaussian(nu):
    k = np.exp(-0.5)
    model = OneClassSVM(gamma=0.5, nu=nu, **TIGHT).fit([[0.0], [1.0]])
    np.testing.assert_allclose(model.dual_coef_, [[nu, nu]], rtol=1e-6)
    np.testing.assert_allclose(model.offset_, [nu * (1.0 + k)], rtol=1e-6)
    # The slack is nu / 2, scaled by nu * 2.
    squared = OneClassSVM(gamma=0.5, nu=nu, loss="squared_hinge", **TIGHT).fit([[0.0], [1.0]])
    np.testing.assert_allclose(squared.dual_coef_, [[nu, nu]], rtol=1e-6)
    np.testing.assert_allclose(squared.offset_, [nu * (1.0 + k) + nu**2], rtol=1e-6)


# The sphere of two points and more, on paper


@pytest.mark.parametrize("nu", [0.1, 0.4, 0.9])
def test_sphere_of_two_points(nu):
    X = np.array([[1.0, 0.0], [4.0, 4.0]])
    model = SVDD(kernel="linear", nu=nu, **TIGHT).fit(X)
    np.testing.assert_allclose(model.coef_, [[2.5, 2.0]], rtol=1e-6)
    assert model.radius_ == pytest.approx(2.5, rel=1e-6)
    np.testing.assert_allclose(model.dual_coef_, [[0.5, 0.5]], rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, [-(2.5**2 + 2.0**2)], rtol=1e-6)
    np.testing.assert_allclose(model.offset_, [-6.25], rtol=1e-6)
    Z = np.random.default_rng(0).normal(size=(20, 2), scale=4.0)
    squared_distances = ((Z - [2.5, 2.0]) ** 2).sum(axis=1)
    np.testing.assert_allclose(model.score_samples(Z), -squared_distances, atol=1e-6)
    np.testing.assert_allclose(model.decision_function(Z), 6.25 - squared_distances, atol=1e-6)
    np.testing.assert_array_equal(model.predict(Z), np.where(squared_distances <= 6.25, 1, -1))


@pytest.mark.parametrize("nu", [0.1, 1.0])
def test_sphere_of_two_points_and_squared_losses(nu):
    # Both lie nu / 2 outside, in squared distances.
    model = SVDD(kernel="linear", nu=nu, loss="squared_hinge", **TIGHT).fit([[0.0], [3.0]])
    np.testing.assert_allclose(model.coef_, [[1.5]], rtol=1e-6)
    assert model.radius_ == pytest.approx(np.sqrt(2.25 - nu / 2.0), rel=1e-6)


def test_sphere_that_the_slack_makes_vanish():
    model = SVDD(kernel="linear", nu=1.0, loss="squared_hinge", **TIGHT).fit([[0.0], [1.0]])
    np.testing.assert_allclose(model.offset_, [0.25], rtol=1e-6)  # R^2 = 1/4 - 1/2
    assert model.radius_ == 0.0
    np.testing.assert_array_equal(model.predict([[0.0], [0.5], [1.0]]), [-1, -1, -1])


def test_sphere_of_one_point():
    model = SVDD(kernel="linear", **TIGHT).fit([[3.0, 4.0]])
    np.testing.assert_allclose(model.coef_, [[3.0, 4.0]])
    assert model.radius_ == pytest.approx(0.0, abs=1e-6)
    assert model.decision_function([[3.0, 5.0]]) == pytest.approx(-1.0, abs=1e-6)


def test_sphere_of_a_triangle():
    angles = np.array([0.3, 2.0, 4.0])
    X = 2.0 * np.column_stack([np.cos(angles), np.sin(angles)]) + [5.0, -1.0]
    inside = np.array([[5.1, -1.0], [5.0, -0.5]])
    model = SVDD(kernel="linear", nu=0.05, **TIGHT).fit(np.vstack([X, inside]))
    np.testing.assert_allclose(model.coef_, [[5.0, -1.0]], atol=1e-6)
    assert model.radius_ == pytest.approx(2.0, rel=1e-6)
    np.testing.assert_array_equal(model.support_, [0, 1, 2])


def test_sphere_with_outliers():
    # The bound is 1 / (nu m) = 5 / 12: the outermost two are there, the next takes what is left.
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [100.0]])
    model = SVDD(kernel="linear", nu=0.4, **TIGHT).fit(X)
    np.testing.assert_array_equal(model.support_, [0, 1, 5])
    np.testing.assert_allclose(model.dual_coef_, [[5 / 12, 2 / 12, 5 / 12]], rtol=1e-6)
    centre = 100.0 * 5 / 12 + 2 / 12
    np.testing.assert_allclose(model.coef_, [[centre]], rtol=1e-6)
    assert model.radius_ == pytest.approx(centre - 1.0, rel=1e-6)
    np.testing.assert_array_equal(model.predict(X[[0, 2, 3, 4, 5]]), [-1, 1, 1, 1, -1])


def test_weights_move_the_centre_of_a_sphere():
    # With nu = 1 every coefficient is its share of the weight: the centre is the mean.
    X = np.array([[0.0], [1.0], [5.0]])
    model = SVDD(kernel="linear", nu=1.0, **TIGHT).fit(X, sample_weight=[2.0, 1.0, 1.0])
    np.testing.assert_allclose(model.coef_, [[1.5]], rtol=1e-6)
    np.testing.assert_allclose(model.dual_coef_, [[0.5, 0.25, 0.25]], rtol=1e-6)


# k(z, z), which the sphere needs of every row


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    "kernel",
    [Linear(), RBF(gamma=0.05), Polynomial(degree=2, gamma=0.1, coef0=1.0), 2.0 * RBF() + Linear()],
)
def test_distances_to_the_centre(rows, kernel, container):
    X, Z = rows[:150], rows[150:]
    model = SVDD(kernel=kernel, nu=0.2, **TIGHT).fit(container(X))
    fixed = kernel._fitted_to(X)
    beta = np.zeros(len(X))
    beta[model.support_] = np.ravel(
        model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    )
    norm = beta @ fixed(X) @ beta
    expected = np.diagonal(fixed(Z)) - 2.0 * fixed(Z, X) @ beta + norm
    scale = np.abs(expected).max()
    np.testing.assert_allclose(model.score_samples(container(Z)), -expected, atol=1e-6 * scale)
    inside = expected <= -model.offset_[0]
    np.testing.assert_array_equal(model.predict(container(Z)), np.where(inside, 1, -1))


def test_a_callable_is_asked_for_the_diagonal_in_small_blocks(rows):
    asked = []

    def kernel(A, B):
        asked.append((len(A), len(B)))
        return np.asarray(A) @ np.asarray(B).T

    model = SVDD(kernel=kernel, nu=0.2, **TIGHT).fit(rows)
    expected = SVDD(kernel="linear", nu=0.2, **TIGHT).fit(rows)
    assert max(n * m for n, m in asked) <= len(rows) ** 2
    asked.clear()
    np.testing.assert_allclose(
        model.score_samples(rows), expected.score_samples(rows), rtol=1e-6, atol=1e-6
    )
    n_support = len(model.support_)
    assert sorted(asked) == sorted([(200, n_support), *[(32, 32)] * 6, (8, 8)])


def test_rows_of_any_kind():
    words = ["abc", "abd", "bcd", "bce", "xyz"]

    def kernel(A, B):
        return [[len(set(a) & set(b)) for b in B] for a in A]

    K = np.array(kernel(words, words), dtype=float)
    model = SVDD(kernel=kernel, nu=0.8, **TIGHT).fit(words)
    matrix = SVDD(kernel="precomputed", nu=0.8, **TIGHT).fit(K)
    np.testing.assert_allclose(model.score_samples(words), matrix.score_samples(K), atol=1e-9)
    assert model.predict(["xyz"]) == [-1]
    assert model.score_samples(["abc", "xyz", "", "abcdefgh"]).argmax() == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_matrix_with_a_constant_diagonal(rows, dtype):
    K = 3.0 * kernel_matrix("rbf", rows, rows, gamma=0.05)
    # Constant to rounding is enough.
    K[np.diag_indices_from(K)] *= 1.0 + np.finfo(dtype).eps * (np.arange(len(K)) % 2)
    model = SVDD(kernel="precomputed", nu=0.2, tol=1e-6).fit(K.astype(dtype))
    expected = SVDD(kernel=3.0 * RBF(gamma=0.05), nu=0.2, tol=1e-6).fit(rows)
    np.testing.assert_allclose(model.score_samples(K), expected.score_samples(rows), atol=1e-5)
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.score_samples(K[:7]), model.score_samples(K[:7]))


def test_a_matrix_with_another_diagonal(rows):
    K = rows @ rows.T
    model = SVDD(kernel="precomputed", nu=0.2, **TIGHT).fit(K)
    expected = SVDD(kernel="linear", nu=0.2, **TIGHT).fit(rows)
    assert model.radius_ == pytest.approx(expected.radius_, rel=1e-6)
    np.testing.assert_allclose(model.dual_coef_, expected.dual_coef_, atol=1e-6)
    for method in (model.score_samples, model.decision_function, model.predict):
        with pytest.raises(ValueError, match=r"not constant: normalise the kernel.*callable"):
            method(K)


def test_only_the_diagonal_of_rows_with_weight_counts(rows):
    K = kernel_matrix("rbf", rows, rows, gamma=0.05)
    K[0, 0] = 7.0
    weight = np.ones(len(rows))
    weight[0] = 0.0
    model = SVDD(kernel="precomputed", nu=0.2, **TIGHT).fit(K, sample_weight=weight)
    expected = SVDD(gamma=0.05, nu=0.2, **TIGHT).fit(rows[1:])
    np.testing.assert_allclose(
        model.score_samples(K[1:]), expected.score_samples(rows[1:]), atol=1e-6
    )


# Both


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("estimator", DETECTORS)
def test_relations(rows, estimator, loss):
    model = estimator(nu=0.1, loss=loss).fit(rows)
    decision = model.decision_function(rows)
    np.testing.assert_array_equal(decision, model.score_samples(rows) - model.offset_)
    np.testing.assert_array_equal(model.predict(rows), np.where(decision >= 0.0, 1, -1))
    np.testing.assert_array_equal(model.fit_predict(rows), model.predict(rows))
    assert (np.diff(model.support_) > 0).all()


@pytest.mark.parametrize("estimator", DETECTORS)
def test_labels_are_ignored(rows, estimator):
    model = estimator().fit(rows)
    for y in (np.arange(200), ["a"] * 200, [1.0, np.nan], None):
        np.testing.assert_array_equal(estimator().fit(rows, y).dual_coef_, model.dual_coef_)


def _gaussian(A, B):
    return kernel_matrix("rbf", A, B, gamma=0.05)


@pytest.mark.parametrize("estimator", DETECTORS)
def test_blocks_of_rows_are_the_same(rows, estimator, monkeypatch):
    K = kernel_matrix("rbf", rows, rows, gamma=0.05)
    for kernel, Z in [("rbf", rows), (_gaussian, rows), ("precomputed", K)]:
        model = estimator(kernel=kernel).fit(Z)
        whole = model.decision_function(Z)
        with monkeypatch.context() as patch:
            patch.setattr("mercer.svm._sources._BLOCK_ROWS", 7)
            np.testing.assert_allclose(model.decision_function(Z), whole, rtol=1e-6, atol=1e-9)
