"""Independent components: sources that are known, and the equations they solve."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.signal import lfilter
from sklearn.decomposition import FastICA

from mercer import _core
from mercer.decomposition import KernelICA
from mercer.kernels import RBF, Linear


def _sources(seed, n_samples=1200):
    noise = np.random.default_rng(seed).normal(size=(2, n_samples))
    slow = lfilter([1.0], [1.0, -1.9, 0.95], noise[0])
    fast = lfilter([1.0], [1.0, -1.2, 0.9], noise[1])
    return np.column_stack([slow / abs(slow).max(), fast / abs(fast).max()])


def _bent(sources):
    angle, radius = 0.5 * np.pi * sources[:, 0], sources[:, 1] + 2.0
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _likeness(found, sources):
    return abs(np.corrcoef(found.T, sources.T)[:2, 2:]).max(axis=0)


@pytest.mark.parametrize("seed", range(3))
def test_sources_that_linear_methods_do_not_find(seed):
    sources = _sources(seed)
    X = _bent(sources)
    assert (_likeness(KernelICA(2).fit_transform(X), sources) > 0.98).all()
    assert _likeness(FastICA(2, random_state=0).fit_transform(X), sources).min() < 0.85


def test_a_linear_kernel_undoes_a_linear_mixture():
    sources = _sources(3)
    X = sources @ np.array([[1.0, 0.4], [-0.3, 0.8]]) + 5.0
    model = KernelICA(2, kernel=Linear(), n_basis=2)
    assert (_likeness(model.fit_transform(X), sources) > 0.998).all()
    assert model.n_basis_ == 2


def test_sources_are_white_and_their_delayed_covariances_diagonal():
    X = _bent(_sources(4))
    model = KernelICA(6, n_basis=6, n_lags=10)
    found = model.fit_transform(X)
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-8)
    np.testing.assert_allclose(found.T @ found / len(found), np.eye(6), atol=1e-8)
    delayed = []
    for lag in range(1, 11):
        product = found[:-lag].T @ found[lag:] / (len(found) - lag)
        delayed.append(0.5 * (product + product.T))
        own = model.autocorrelations_[:, lag - 1]
        np.testing.assert_allclose(np.diagonal(delayed[-1]), own, atol=1e-8)
    # No rotation of two of them makes the covariances more diagonal.
    off = np.sum([np.square(C - np.diag(np.diag(C))).sum() for C in delayed])
    for first in range(6):
        for second in range(first):
            for angle in (-0.05, 0.05):
                turn = np.eye(6)
                turn[first, first] = turn[second, second] = np.cos(angle)
                turn[first, second], turn[second, first] = np.sin(angle), -np.sin(angle)
                turned = [turn.T @ C @ turn for C in delayed]
                worse = np.sum([np.square(C - np.diag(np.diag(C))).sum() for C in turned])
                assert worse > off
    peaks = found[abs(found).argmax(axis=0), np.arange(6)]
    assert (peaks > 0.0).all()


def test_other_ways_to_give_rows():
    X = _bent(_sources(5, 500))
    kernel = RBF(gamma=0.5)
    expected = KernelICA(2, kernel=kernel).fit(X).transform(X[:40])
    sparse = KernelICA(2, kernel=kernel).fit(sp.csr_array(X)).transform(sp.csr_array(X[:40]))
    given = KernelICA(2, kernel="precomputed").fit(kernel(X)).transform(kernel(X[:40], X))
    called = KernelICA(2, kernel=lambda A, B: kernel(A, B)).fit(X).transform(X[:40])
    single = (
        KernelICA(2, kernel=kernel).fit(X.astype(np.float32)).transform(X[:40].astype(np.float32))
    )
    assert single.dtype == np.float32
    for found in (sparse, given, called):
        np.testing.assert_allclose(found, expected, atol=1e-5)
    # Rounding to float32 moves the basis, hardly the sources.
    assert (_likeness(single, expected) > 0.999).all()


@pytest.mark.parametrize("options", [{"n_components": 0}, {"n_basis": 0}, {"n_lags": 0}])
def test_bad_parameters(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        KernelICA(**options).fit(np.eye(4))


def test_rows_that_do_not_differ():
    with pytest.raises(ValueError, match="differ"):
        KernelICA(kernel="linear").fit(np.ones((5, 2)))


def test_a_rotation_that_is_known():
    rng = np.random.default_rng(0)
    rotation, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    matrices = [rotation @ np.diag(rng.normal(size=4)) @ rotation.T for _ in range(3)]
    found = _core.joint_diagonalizer([np.ascontiguousarray(matrix) for matrix in matrices])
    np.testing.assert_allclose(abs(found.T @ rotation).max(axis=0), 1.0, atol=1e-10)
