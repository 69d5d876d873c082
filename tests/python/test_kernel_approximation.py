"""Explicit maps: exact where they must be, unbiased on average, and what they lose."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import kernel_approximation as theirs
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline

from mercer import SVC, LinearSVC
from mercer.kernel_approximation import Nystroem, RandomFeatures, objective_lost
from mercer.kernels import RBF, Laplacian, Linear, Matern

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.mark.parametrize(
    ("name", "ours"),
    [("rbf", {}), ("polynomial", {"kernel": "poly", "coef0": 1.0, "degree": 2})],
)
def test_nystroem_is_that_of_scikit_learn(name, ours):
    options = {"gamma": 0.2, "n_components": 60, "random_state": 3}
    mapped = Nystroem(**{**options, **ours}).fit_transform(X)
    others = {key: value for key, value in ours.items() if key != "kernel"}
    expected = theirs.Nystroem(kernel=name, **options, **others).fit(X)
    np.testing.assert_allclose(
        mapped @ mapped.T, (lambda F: F @ F.T)(expected.transform(X)), atol=1e-8
    )


def test_inner_products_are_exact_on_the_span_of_the_sample():
    kernel = RBF(gamma=0.3) + 0.5 * Linear()
    approximation = Nystroem(kernel, n_components=80, random_state=0).fit(X)
    basis = X[approximation.component_indices_]
    mapped, of_basis = approximation.transform(X), approximation.transform(basis)
    np.testing.assert_allclose(mapped @ of_basis.T, kernel(X, basis), atol=1e-8)
    # What is left is positive semi-definite: the features are a projection.
    rest = kernel(X) - mapped @ mapped.T
    assert np.linalg.eigvalsh(rest).min() > -1e-8


def test_as_many_components_as_rows_are_the_kernel():
    mapped = Nystroem(RBF(gamma=0.3), n_components=1000).fit_transform(X[:100])
    assert mapped.shape == (100, 100)
    np.testing.assert_allclose(mapped @ mapped.T, RBF(gamma=0.3)(X[:100]), atol=1e-8)


def test_equal_rows_do_not_matter():
    doubled = np.vstack([X[:20], X[:20]])
    mapped = Nystroem(RBF(gamma=0.3), n_components=40, random_state=0).fit_transform(doubled)
    assert np.isfinite(mapped).all()
    np.testing.assert_allclose(mapped @ mapped.T, RBF(gamma=0.3)(doubled), atol=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Nystroem(n_components=30, random_state=0),
        lambda: RandomFeatures(n_components=30, random_state=0),
    ],
)
def test_sparse_rows_single_precision_and_blocks(make, monkeypatch):
    rows = np.where(np.abs(X) > 0.5, X, 0.0)
    dense = make().fit_transform(rows)
    np.testing.assert_allclose(make().fit_transform(sp.csr_array(rows)), dense, atol=1e-12)
    single = make().fit_transform(rows.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, dense, atol=2e-4)
    for module in ("_nystroem", "_random"):
        monkeypatch.setattr(f"mercer.kernel_approximation.{module}._BLOCK_VALUES", 210)
    np.testing.assert_allclose(make().fit_transform(rows), dense, atol=1e-12)


def test_a_callable():
    mapped = Nystroem(lambda A, B: (A @ B.T) ** 2, n_components=50).fit_transform(X)
    # Its features are 15 products, of which 50 rows span all.
    np.testing.assert_allclose(mapped @ mapped.T, (X @ X.T) ** 2, atol=1e-6)


KERNELS = [
    RBF(gamma=0.2),
    Laplacian(gamma=0.2),
    Matern(length_scale=2.0, nu=1.5),
    2.0 * RBF(gamma=0.1) * Laplacian(gamma=0.1),
    0.5 * RBF(gamma=1.0) + 2.0 * Matern(length_scale=3.0, nu=2.5),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_random_features_are_right_on_average(kernel):
    count = 40_000
    rows = X[:30]
    mapped = RandomFeatures(kernel, n_components=count, random_state=0).fit_transform(rows)
    expected = kernel(rows)
    # An inner product is a mean of terms between -2 k and 2 k: five standard deviations.
    assert np.abs(mapped @ mapped.T - expected).max() < 5.0 * 2.0 * expected[0, 0] / count**0.5


def test_kernels_without_a_spectrum_are_refused():
    with pytest.raises(ValueError, match="Gaussian, Laplacian or Matern"):
        RandomFeatures(RBF() + Linear()).fit(X)
    with pytest.raises(ValueError, match="kernel must be"):
        RandomFeatures(lambda A, B: A @ B.T).fit(X)
    with pytest.raises(ValueError, match="precomputed"):
        Nystroem("precomputed").fit(X)
    with pytest.raises(ValueError, match="n_components must be a positive integer, got 0"):
        Nystroem(n_components=0).fit(X)


def test_what_is_lost_falls_to_nothing():
    rows, labels = make_moons(600, noise=0.2, random_state=0)
    machine = LinearSVC(C=10.0, tol=1e-6)
    lost = [
        objective_lost(
            Nystroem(RBF(gamma=2.0), n_components=count, random_state=0),
            machine,
            rows,
            labels,
            n_samples=300,
            random_state=0,
        )
        for count in (5, 20, 300)
    ]
    assert lost[0].relative > lost[1].relative > lost[2].relative
    assert all(each.approximate >= each.exact * (1.0 - 1e-5) for each in lost)
    assert lost[2].relative == pytest.approx(0.0, abs=1e-5)
    assert lost[2].disagreement < 0.01
    # The exact machine is an SVC with the same objective.
    sample = np.random.RandomState(0).permutation(600)[:300]
    exact = SVC(
        kernel=RBF(gamma=2.0), C=10.0, loss="squared_hinge", fit_intercept="penalized", tol=1e-6
    ).fit(rows[sample], labels[sample])
    assert lost[0].exact == pytest.approx(exact.report_.primal_objective, rel=1e-6)
    with pytest.raises(ValueError, match="class_weight=None"):
        objective_lost(Nystroem(), LinearSVC(class_weight="balanced"), rows, labels)


def test_random_features_in_a_pipeline():
    rows, labels = make_moons(600, noise=0.2, random_state=0)
    features = RandomFeatures(RBF(gamma=2.0), n_components=300, random_state=0)
    model = make_pipeline(features, LinearSVC(C=10.0)).fit(rows, labels)
    assert model.score(rows, labels) > 0.95
    lost = objective_lost(features, LinearSVC(C=10.0), rows, labels, n_samples=300, random_state=0)
    assert abs(lost.relative) < 0.3
