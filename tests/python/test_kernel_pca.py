"""Kernel PCA beside scikit-learn's, and what only this one has."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets as theirs
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import cosine_similarity, pairwise_kernels

from mercer.datasets import load_ionosphere, load_sonar
from mercer.decomposition import KernelPCA
from mercer.kernels import RBF, Linear


def _scaled(X):
    X = np.asarray(X, dtype=np.float64)
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def _sets():
    return {
        "sonar": load_sonar().data,
        "ionosphere": load_ionosphere().data,
        "breast_cancer": theirs.load_breast_cancer().data,
        "digits": theirs.load_digits().data[:700],
        "wine": theirs.load_wine().data,
    }


SETS = {name: _scaled(X) for name, X in _sets().items()}
KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "gamma": 0.02, "coef0": 1.0},
    "rbf": {"kernel": "rbf", "gamma": 0.01},
    "callable": {"kernel": "cosine"},
    "precomputed": {"kernel": "precomputed"},
}


def _agree(ours, reference, X, Z, components):
    """Compare eigenvalues and projections of new rows, up to sign."""
    largest = reference.eigenvalues_[0]
    np.testing.assert_allclose(
        ours.eigenvalues_, reference.eigenvalues_, rtol=1e-8, atol=1e-12 * largest
    )
    mine, other = ours.transform(Z), reference.transform(Z)
    signs = np.sign((mine * other).sum(axis=0))
    scale = np.abs(other).max(axis=0)
    assert (np.abs(mine * signs - other).max(axis=0) <= 1e-6 * scale).all()
    # The signs are the same, too, but for ties between entries of an eigenvector.
    assert (signs == 1).mean() >= 0.8
    assert mine.shape == (len(Z), components)


@pytest.mark.parametrize("solver", ["dense", "arpack"])
@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("name", SETS)
def test_equals_scikit_learn(name, kind, solver):
    X, Z = SETS[name][::2], SETS[name][1::2][:60]
    options = dict(KERNELS[kind])
    if kind == "precomputed":
        X, Z = (
            pairwise_kernels(X, metric="rbf", gamma=0.01),
            pairwise_kernels(Z, X, metric="rbf", gamma=0.01),
        )
    reference = decomposition.KernelPCA(6, eigen_solver="dense", **options).fit(X)
    if kind == "callable":
        options["kernel"] = lambda A, B: cosine_similarity(A, B)
    ours = KernelPCA(6, eigen_solver=solver, **options).fit(X)
    _agree(ours, reference, X, Z, 6)


def test_many_components_by_iterations_without_the_matrix():
    X, Z = SETS["digits"], SETS["digits"][:50] + 0.1
    reference = decomposition.KernelPCA(40, kernel="rbf", gamma=0.01, eigen_solver="dense").fit(X)
    # 1 MB does not hold the matrix.
    options = {"kernel": "rbf", "gamma": 0.01, "eigen_solver": "arpack"}
    ours = KernelPCA(40, cache_size=1.0, random_state=3, **options).fit(X)
    _agree(ours, reference, X, Z, 40)
    held = KernelPCA(40, random_state=3, **options).fit(X)
    np.testing.assert_allclose(held.eigenvalues_, ours.eigenvalues_, rtol=1e-10)


def test_randomized_is_near():
    X = SETS["breast_cancer"]
    reference = decomposition.KernelPCA(5, kernel="rbf", gamma=0.01, eigen_solver="dense").fit(X)
    ours = KernelPCA(5, kernel="rbf", gamma=0.01, eigen_solver="randomized", random_state=0).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, reference.eigenvalues_, rtol=1e-6)


def test_all_components_and_those_of_zero():
    X = SETS["wine"][:40]
    reference = decomposition.KernelPCA(kernel="linear").fit(X)
    ours = KernelPCA(kernel="linear").fit(X)
    assert ours.eigenvalues_.shape == reference.eigenvalues_.shape == (13,)
    np.testing.assert_allclose(ours.eigenvalues_, reference.eigenvalues_, rtol=1e-8)
    # One more than the rank: zero, and then removed.
    assert KernelPCA(20, kernel="linear").fit(X).eigenvalues_[13:].max() == 0.0
    assert len(KernelPCA(20, kernel="linear", remove_zero_eig=True).fit(X).eigenvalues_) == 13
    np.testing.assert_allclose(ours.fit_transform(X), ours.transform(X), atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_is_dense_and_single_stays_single(dtype):
    X = np.where(SETS["digits"][:150] > 0.5, SETS["digits"][:150], 0.0).astype(dtype)
    dense = KernelPCA(4, kernel=RBF(gamma=0.01) + 0.1 * Linear()).fit(X)
    sparse = KernelPCA(4, kernel=RBF(gamma=0.01) + 0.1 * Linear()).fit(sp.csr_matrix(X))
    assert dense.transform(X).dtype == dense.X_fit_.dtype == dtype
    mine, other = dense.transform(X), sparse.transform(sp.csr_matrix(X))
    np.testing.assert_allclose(np.abs(mine), np.abs(other), atol=1e-4)


@pytest.mark.parametrize("solver", ["dense", "arpack"])
def test_a_weight_is_the_row_so_many_times(solver):
    X = SETS["sonar"][:60]
    weight = np.arange(60) % 3
    options = {"kernel": "rbf", "gamma": 0.01, "eigen_solver": solver}
    weighted = KernelPCA(5, **options).fit(X, sample_weight=weight)
    repeated = KernelPCA(5, **options).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-8)
    np.testing.assert_allclose(
        KernelPCA(5, **options).fit_transform(X, sample_weight=weight), weighted.transform(X)
    )


def test_ridge_pre_images_are_those_of_scikit_learn():
    X = SETS["wine"]
    options = {"kernel": "rbf", "gamma": 0.05, "fit_inverse_transform": True, "alpha": 0.1}
    reference = decomposition.KernelPCA(4, eigen_solver="dense", **options).fit(X)
    ours = KernelPCA(4, **options).fit(X)
    expected = reference.inverse_transform(reference.transform(X[:20]))
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X[:20])), expected, atol=1e-6)
    with pytest.raises(NotFittedError, match="fit_inverse_transform"):
        KernelPCA(4, kernel="rbf").fit(X).inverse_transform(reference.transform(X[:20]))


def _distance(pca, Y, Z):
    """The squared distance of the images of rows Z from the projections Y, without a constant."""
    factors = Y @ pca._coefficients + pca._shares
    return -2.0 * (factors * RBF(gamma=pca.gamma_)(Z, pca.X_fit_)).sum(axis=1)


def test_fixed_points_are_stationary_and_no_worse_than_their_start():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 300)
    X = np.c_[np.cos(angle), np.sin(angle)] + 0.05 * rng.normal(size=(300, 2))
    pca = KernelPCA(8, kernel="rbf", gamma=2.0, pre_image="fixed_point").fit(X)
    noisy = X[:100] + 0.2 * rng.normal(size=(100, 2))
    Y = pca.transform(noisy)
    back = pca.inverse_transform(Y, start=noisy)
    assert (_distance(pca, Y, back) <= _distance(pca, Y, noisy) + 1e-12).all()
    nearest = X[((pca.transform(X)[None] - Y[:, None]) ** 2).sum(axis=2).argmin(axis=1)]
    assert (_distance(pca, Y, back) <= _distance(pca, Y, nearest) + 1e-12).all()
    # The gradient of the distance vanishes there.
    step = 1e-4
    for axis in np.eye(2):
        slope = (_distance(pca, Y, back + step * axis) - _distance(pca, Y, back - step * axis)) / (
            2 * step
        )
        assert np.abs(slope).max() < 1e-3
    # Points come back to the ring.
    off = np.abs(np.linalg.norm(back, axis=1) - 1.0)
    assert off.mean() < 0.5 * np.abs(np.linalg.norm(noisy, axis=1) - 1.0).mean()


def test_far_points_do_not_diverge():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    pca = KernelPCA(30, kernel="rbf", gamma=0.5, pre_image="fixed_point").fit(X)
    back = pca.inverse_transform(50.0 * rng.normal(size=(40, 30)))
    assert np.isfinite(back).all()
    assert np.abs(back).max() < 10.0 * np.abs(X).max()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"eigen_solver": "magic"}, "eigen_solver"),
        ({"tol": -1.0}, "tol"),
        ({"pre_image": "none"}, "pre_image"),
        ({"kernel": "no such"}, "kernel"),
        ({"alpha": -1.0}, "alpha"),
        ({"max_iter": 0}, "max_iter"),
        ({"iterated_power": -1}, "iterated_power"),
        ({"kernel": "precomputed", "fit_inverse_transform": True}, "precomputed"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        KernelPCA(**options).fit(np.eye(3))


def test_negative_eigenvalues_are_refused():
    matrix = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
    with pytest.raises(ValueError, match="positive semi-definite"):
        KernelPCA(kernel="precomputed").fit(matrix)


def test_a_limit_of_passes_warns():
    X = np.random.default_rng(0).normal(size=(400, 20))
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        KernelPCA(5, kernel="rbf", gamma=1.0, eigen_solver="arpack", max_iter=1).fit(X)


def test_parameters_are_those_of_scikit_learn():
    ours, reference = KernelPCA().get_params(), decomposition.KernelPCA().get_params()
    assert {name: ours[name] for name in reference} == reference
    assert set(ours) - set(reference) == {"pre_image", "cache_size"}
