"""Kernel k-means beside scikit-learn's with a linear kernel, and its own objective."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score

from mercer.cluster import KernelKMeans
from mercer.kernels import RBF


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_equals_scikit_learn_with_a_linear_kernel(seed, weighted):
    rng = np.random.default_rng(seed)
    # Whole numbers are sometimes equally far from two centres, and either may have them.
    X = load_digits().data[:400] + rng.normal(scale=1e-3, size=(400, 64))
    rows = rng.choice(len(X), 10, replace=False)
    weight = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    reference = KMeans(10, init=X[rows], n_init=1, tol=0.0).fit(X, sample_weight=weight)
    ours = KernelKMeans(10, kernel="linear", init=rows).fit(X, sample_weight=weight)
    assert (ours.labels_ == reference.labels_).all()
    assert ours.inertia_ == pytest.approx(reference.inertia_, rel=1e-9)
    Z = load_digits().data[400:500]
    assert (ours.predict(Z) == reference.predict(Z)).all()
    np.testing.assert_allclose(ours.transform(Z), reference.transform(Z), rtol=1e-6)


def test_the_objective_is_that_of_the_labels():
    X, _ = make_blobs(200, centers=4, random_state=0)
    weight = np.random.default_rng(0).integers(1, 4, 200)
    model = KernelKMeans(4, kernel=RBF(gamma=0.2), random_state=0).fit(X, sample_weight=weight)
    K = RBF(gamma=0.2)(X)
    total = 0.0
    for cluster in range(4):
        own = model.labels_ == cluster
        share = weight[own] / weight[own].sum()
        block = K[np.ix_(own, own)]
        squares = np.diag(block) - 2 * block @ share + share @ block @ share
        total += weight[own] @ squares
    assert model.inertia_ == pytest.approx(total, rel=1e-9)
    repeated = KernelKMeans(4, kernel=RBF(gamma=0.2), random_state=0)
    repeated.fit(np.repeat(X, weight, axis=0))
    assert repeated.inertia_ == pytest.approx(total, rel=1e-6)


def test_rings_that_no_plane_parts_and_other_ways_to_give_them():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 300)
    radius = np.where(np.arange(300) < 150, 0.3, 3.0)
    X = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
    truth = np.arange(300) < 150
    kernel = RBF(gamma=0.35)

    def radii(A, B):
        return np.outer(np.linalg.norm(A, axis=1), np.linalg.norm(B, axis=1))

    model = KernelKMeans(2, kernel=radii, random_state=0).fit(X)
    assert adjusted_rand_score(truth, model.labels_) > 0.95
    plain = KMeans(2, n_init=10, random_state=0).fit(X)
    assert adjusted_rand_score(truth, plain.labels_) < 0.5
    dense = KernelKMeans(3, kernel=kernel, random_state=1).fit(X)
    sparse = KernelKMeans(3, kernel=kernel, random_state=1).fit(sp.csr_array(X))
    given = KernelKMeans(3, kernel="precomputed", random_state=1).fit(kernel(X))
    called = KernelKMeans(3, kernel=lambda A, B: kernel(A, B), random_state=1).fit(X)
    for other in (sparse, given, called):
        assert adjusted_rand_score(dense.labels_, other.labels_) == 1.0
    np.testing.assert_allclose(given.transform(kernel(X)).min(), dense.transform(X).min())


@pytest.mark.parametrize(
    "options", [{"n_clusters": 0}, {"n_init": 0}, {"init": "other"}, {"init": [0, 99]}]
)
def test_bad_parameters(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        KernelKMeans(**{"n_clusters": 2, **options}).fit(np.eye(4))
