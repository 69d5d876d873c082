"""Neighbours in feature space beside scikit-learn's with a precomputed metric."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from mercer import SVC, SVR
from mercer.kernels import RBF, ChiSquared, Laplacian, Linear, Polynomial, Spectrum
from mercer.neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor

KERNELS = [
    Linear(),
    RBF(gamma=0.4),
    Polynomial(degree=2, gamma=0.3, coef0=1.0),
    Laplacian(gamma=0.2),
]


@pytest.fixture(scope="module")
def data():
    X, y = load_iris(return_X_y=True)
    # Iris has equal distances, of which either neighbour may come first.
    X = X + np.random.default_rng(0).normal(scale=1e-3, size=X.shape)
    order = np.random.default_rng(1).permutation(len(y))
    X, y = X[order], y[order]
    return X[:100], y[:100], X[100:]


def _distances(kernel, A, B):
    own = [np.array([kernel(row[None])[0, 0] for row in rows]) for rows in (A, B)]
    return np.sqrt(np.maximum(own[0][:, None] - 2 * kernel(A, B) + own[1], 0.0))


@pytest.mark.parametrize("weights", ["uniform", "distance", np.exp])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_equal_scikit_learns(kernel, weights, data):
    X, y, Z = data
    ours = KernelNeighborsClassifier(7, kernel=kernel, weights=weights).fit(X, y)
    theirs = KNeighborsClassifier(7, weights=weights, metric="precomputed")
    theirs.fit(_distances(kernel, X, X), y)
    apart = _distances(kernel, Z, X)
    np.testing.assert_allclose(ours.predict_proba(Z), theirs.predict_proba(apart), atol=1e-9)
    assert (ours.predict(Z) == theirs.predict(apart)).all()
    for found, expected in zip(ours.kneighbors(Z), theirs.kneighbors(apart), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    for found, expected in zip(ours.kneighbors(), theirs.kneighbors(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7)
    target = np.c_[X[:, 0], X[:, 1] ** 2]
    ours = KernelNeighborsRegressor(4, kernel=kernel, weights=weights)
    theirs = KNeighborsRegressor(4, weights=weights, metric="precomputed")
    for values in (target, target[:, 0]):
        expected = theirs.fit(_distances(kernel, X, X), values).predict(apart)
        np.testing.assert_allclose(ours.fit(X, values).predict(Z), expected, rtol=1e-9)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_sparse_single_precomputed_and_callable_rows(weights, data):
    X, y, Z = data
    kernel = RBF(gamma=0.4)
    options = {"n_neighbors": 5, "weights": weights}
    model = KernelNeighborsClassifier(kernel=kernel, **options).fit(X, y)
    expected = model.predict_proba(Z)
    sparse = KernelNeighborsClassifier(kernel=kernel, **options).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_array(Z)), expected, atol=1e-12)
    given = KernelNeighborsClassifier(kernel="precomputed", **options).fit(kernel(X), y)
    np.testing.assert_allclose(given.predict_proba(kernel(Z, X)), expected, atol=1e-12)
    called = KernelNeighborsClassifier(kernel=lambda A, B: kernel(A, B), **options).fit(X, y)
    np.testing.assert_allclose(called.predict_proba(Z), expected, atol=1e-12)
    single = KernelNeighborsClassifier(kernel=kernel, **options).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.predict_proba(Z.astype(np.float32)), expected, atol=1e-4)
    near = KernelNeighborsClassifier(kernel="precomputed").fit(kernel(X), y).kneighbors()
    np.testing.assert_allclose(near[0], model.kneighbors()[0], atol=1e-7)


def test_strings_are_rows_too():
    words = ["abab", "baba", "abba", "xyxy", "yxyx", "xyyx"]
    model = KernelNeighborsClassifier(1, kernel=Spectrum(length=2)).fit(words, [0, 0, 0, 1, 1, 1])
    assert model.predict(["ababab", "yxyxyx"]).tolist() == [0, 1]


def test_a_precomputed_kernel_needs_its_diagonal_for_distances_only(data):
    X, y, Z = data
    model = KernelNeighborsClassifier(3, kernel="precomputed").fit(X @ X.T, y)
    plain = KernelNeighborsClassifier(3, kernel="linear").fit(X, y)
    assert (model.predict(Z @ X.T) == plain.predict(Z)).all()
    rows = model.kneighbors(Z @ X.T, return_distance=False)
    assert (rows == plain.kneighbors(Z, return_distance=False)).all()
    with pytest.raises(ValueError, match="diagonal"):
        model.kneighbors(Z @ X.T)


def test_neighbours_among_support_vectors(data):
    X, y, Z = data
    machine = SVC(kernel=RBF(gamma=0.4)).fit(X, y)
    support = np.sort(machine.support_)
    alone = KernelNeighborsClassifier(3, kernel=RBF(gamma=0.4)).fit(X[support], y[support])
    fitted = KernelNeighborsClassifier(3, kernel=RBF(gamma=0.4), prototypes=machine).fit(X, y)
    assert fitted.prototypes_ is machine
    cloned = clone(fitted)
    assert not hasattr(cloned.prototypes, "support_")
    matrix = RBF(gamma=0.4)
    given = KernelNeighborsClassifier(
        3, kernel="precomputed", prototypes=SVC(kernel="precomputed")
    ).fit(matrix(X), y)
    for model, rows in ((fitted, Z), (cloned.fit(X, y), Z), (given, matrix(Z, X))):
        assert (model.support_ == support).all()
        assert (model.predict(rows) == alone.predict(Z)).all()
        near = model.kneighbors(rows, return_distance=False)
        assert (near == support[alone.kneighbors(Z, return_distance=False)]).all()
    assert cross_val_score(fitted, X, y, cv=3).min() > 0.8
    values = KernelNeighborsRegressor(2, prototypes=SVR(epsilon=0.3)).fit(X, X[:, 0])
    assert len(values.support_) < 100
    with pytest.raises(ValueError, match="same rows"):
        KernelNeighborsClassifier(prototypes=machine).fit(X[:50], y[:50])
    with pytest.raises(TypeError, match="prototypes"):
        KernelNeighborsClassifier(prototypes=KNeighborsClassifier()).fit(X, y)


@pytest.mark.parametrize(
    "options", [{"n_neighbors": 0}, {"weights": "near"}, {"kernel": "other"}, {"gamma": -1.0}]
)
def test_bad_parameters(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        KernelNeighborsClassifier(**options).fit(np.eye(4), [0, 1, 0, 1])


def test_more_neighbours_than_rows():
    model = KernelNeighborsClassifier(5).fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="n_neighbors"):
        model.predict(np.eye(4))


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    "kernel", [*KERNELS, ChiSquared(gamma=0.3), 2.0 * RBF(gamma=0.4) + Linear()], ids=repr
)
def test_distances_of_kernels(kernel, container, data):
    X, _, Z = data
    found = kernel.distance(container(X), container(X[::-1]))
    assert (np.diagonal(found[:, ::-1]) == 0.0).all()
    np.testing.assert_allclose(found[:, ::-1], kernel.distance(container(X)), rtol=1e-9)
    # Where squares of distances are lost to rounding, the root has half of the digits.
    rounding = 1e-7 * np.sqrt(np.diagonal(kernel(X)).max())
    np.testing.assert_allclose(found, _distances(kernel, X, X[::-1]), rtol=1e-9, atol=rounding)
    exact = np.sqrt(((Z[:, None] - X) ** 2).sum(axis=2))
    np.testing.assert_allclose(Linear().distance(container(Z), container(X)), exact, rtol=1e-12)


def test_distances_of_near_rows_keep_their_digits():
    x = np.array([[1.0, 2.0]])
    z = x + np.array([[1e-9, 0.0]])
    apart = float((z - x)[0, 0])
    assert RBF(gamma=0.5).distance(x, z)[0, 0] == pytest.approx(apart, rel=1e-12)
    assert Linear().distance(1e6 * x, 1e6 * z)[0, 0] == pytest.approx(
        float((1e6 * z - 1e6 * x)[0, 0]), rel=1e-12
    )


def test_distances_of_sequences():
    words = ["abab", "baba", "abab"]
    kernel = Spectrum(length=2)
    matrix = kernel(words)
    squares = np.diagonal(matrix)[:, None] - 2 * matrix + np.diagonal(matrix)
    np.testing.assert_allclose(kernel.distance(words) ** 2, squares, rtol=1e-12)
    assert kernel.normalized().distance(words)[0, 2] == 0.0
