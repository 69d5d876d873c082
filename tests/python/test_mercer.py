"""Mercer's condition, his features, and explicit feature maps."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from mercer import SVC
from mercer.kernels import (
    RBF,
    Linear,
    Matern,
    MercerMap,
    Polynomial,
    Sigmoid,
    Spectrum,
    check,
)


def _rows(n=30, columns=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, columns))


@pytest.mark.parametrize("kernel", [Linear(), RBF(gamma=0.5), Matern(), 2.0 * RBF() + Linear()])
def test_mercer_kernels_pass(kernel):
    X = _rows()
    found = check(kernel, X)
    assert found.symmetric
    assert found.positive
    assert found.witness is None
    values = np.linalg.eigvalsh(kernel(X))
    assert found.largest == pytest.approx(values[-1], rel=1e-12)
    assert found.smallest == pytest.approx(values[0], abs=1e-12 * values[-1])


@pytest.mark.parametrize(
    "kernel",
    [Sigmoid(gamma=1.0, coef0=-1.0), lambda A, B: -np.asarray(A) @ np.asarray(B).T],
)
def test_a_witness_is_given_against_others(kernel):
    X = _rows()
    found = check(kernel, X)
    assert found.symmetric
    assert not found.positive
    K, c = kernel(X, X), found.witness
    assert c @ c == pytest.approx(1.0)
    assert c @ K @ c == pytest.approx(found.smallest, rel=1e-9)
    assert found.smallest < 0.0


def test_what_is_not_symmetric():
    found = check(lambda A, B: np.exp(A[:, :1] - B[:, :1].T), _rows())
    assert not found.symmetric
    assert not found.positive
    assert found.witness is None
    assert found.asymmetry > 0.1
    assert check("precomputed", np.eye(3)).positive
    with pytest.raises(TypeError, match="kernel must be"):
        check("rbf", _rows())
    with pytest.raises(ValueError, match="as many rows as columns"):
        check("precomputed", np.ones((2, 3)))


def test_the_warning_of_a_fit_that_diverges_has_the_verdict():
    X = _rows(60)
    y = np.roll((X[:, 0] > 0).astype(int), 7)  # which a plane does not separate
    sentence = "the kernel is positive semi-definite"
    with pytest.warns(ConvergenceWarning, match=sentence):
        model = SVC(kernel=Linear(), C=np.inf).fit(X, y)
    assert model.report_.status == "diverged"


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("given", ["precomputed", "callable"])
def test_the_warning_says_that_a_kernel_is_indefinite(given, loss):
    signs = np.array([1.0, -1.0] * 5)
    C = np.inf if loss == "hinge" else 1e3
    model = SVC(kernel="precomputed", C=C, loss=loss)
    rows = np.diag(signs)
    if given == "callable":
        model.set_params(kernel=lambda A, B: np.where(A == B.T, signs[A.astype(int)], 0.0))
        rows = np.arange(10.0)[:, np.newaxis]
    sentence = "the kernel is not positive semi-definite: eigenvalues go from -1 to 1"
    with pytest.warns(ConvergenceWarning, match=sentence) as caught:
        model.fit(rows, np.arange(10) % 2)
    assert model.report_.status == "diverged"
    assert not any("Scaler" in str(warning.message) for warning in caught)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kernel", ["rbf", Linear(), Matern(nu=2.5), lambda A, B: (A @ B.T) ** 2])
def test_all_components_give_the_kernel(kernel, container):
    X, Z = _rows(), _rows(10, seed=1)
    if callable(kernel) and not isinstance(kernel, Linear | Matern):
        container = np.asarray
    mapped = MercerMap(kernel, gamma=0.4).fit(container(X))
    values = RBF(gamma=0.4) if isinstance(kernel, str) else kernel
    features = mapped.transform(container(X))
    np.testing.assert_allclose(features @ features.T, values(X, X), atol=1e-9)
    # Other rows meet training rows as they should.
    others = mapped.transform(container(Z))
    np.testing.assert_allclose(others @ features.T, values(Z, X), atol=1e-7)
    np.testing.assert_allclose((features**2).sum(axis=0), mapped.eigenvalues_, rtol=1e-9)


def test_components_are_the_leading_ones():
    X = _rows()
    K = RBF(gamma=0.4)(X)
    features = MercerMap(RBF(gamma=0.4), 5).fit_transform(X)
    values, vectors = np.linalg.eigh(K)
    best = (vectors[:, -5:] * values[-5:]) @ vectors[:, -5:].T
    np.testing.assert_allclose(features @ features.T, best, atol=1e-12)
    precomputed = MercerMap("precomputed", 5).fit(K)
    np.testing.assert_allclose(precomputed.transform(K), features, atol=1e-12)
    assert MercerMap(Linear()).fit(X).transform(X.astype(np.float32)).dtype == np.float32
    words = ["abc", "abd", "xyz"]
    features = MercerMap(Spectrum(length=1)).fit_transform(words)
    np.testing.assert_allclose(features @ features.T, Spectrum(length=1)(words), atol=1e-12)
    with pytest.raises(ValueError, match="n_components must be"):
        MercerMap(n_components=0).fit(X)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Polynomial(degree=2, gamma=0.7),
        Polynomial(degree=3, gamma=0.7, coef0=1.5),
        Polynomial(degree=0, gamma=0.7, coef0=1.5),
        2.5 * Linear() + Polynomial(degree=2, gamma=1.0, coef0=1.0),
        Linear() * Polynomial(degree=2, gamma=0.3, coef0=0.5),
        Polynomial(degree=4, coef0=1.0).normalized(),
    ],
    ids=repr,
)
def test_inner_products_of_the_map_are_the_kernel(kernel, container):
    X = _rows()
    features = kernel.feature_map(container(X))
    np.testing.assert_allclose(features @ features.T, kernel(X), rtol=1e-12, atol=1e-12)


def test_the_map_of_the_plane():
    # (x.z)^2 in the plane: x1^2, sqrt(2) x1 x2, x2^2.
    features = Polynomial(degree=2, gamma=1.0).feature_map([[2.0, 3.0]])
    np.testing.assert_allclose(features, [[4.0, np.sqrt(2.0) * 6.0, 9.0]], rtol=1e-15)


def test_maps_that_are_refused():
    with pytest.raises(TypeError, match="no finite feature map"):
        RBF().feature_map(_rows())
    with pytest.raises(ValueError, match="coef0 must be non-negative"):
        Polynomial(coef0=-1.0).feature_map(_rows())
    with pytest.raises(ValueError, match="more than 100000"):
        Polynomial(degree=8).feature_map(_rows(2, 30))
