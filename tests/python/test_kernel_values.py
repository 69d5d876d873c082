"""Kernels of histograms, periods, interactions and smooth functions, and normalised ones."""

import pickle
from itertools import combinations
from math import comb

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.gaussian_process.kernels import ExpSineSquared
from sklearn.gaussian_process.kernels import Matern as ReferenceMatern
from sklearn.metrics.pairwise import chi2_kernel, cosine_similarity
from sklearn.model_selection import GridSearchCV

from mercer import SVC
from mercer.kernels import (
    ANOVA,
    RBF,
    ChiSquared,
    HistogramIntersection,
    Linear,
    Matern,
    Normalized,
    Periodic,
    Polynomial,
    Sigmoid,
)

HISTOGRAMS = (ChiSquared, HistogramIntersection)


def _rows(n, kernel, seed=0, dtype=np.float64):
    """Return rows with zeros and a copy among them, without signs for kernels of histograms."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 5)) * (rng.random((n, 5)) < 0.7)
    rows[-1] = rows[0]
    histograms = isinstance(getattr(kernel, "kernel", kernel), HISTOGRAMS)
    return (abs(rows) if histograms else rows).astype(dtype)


def _periodic(A, B, length_scale, period):
    sines = np.sin(np.pi * (A[:, None] - B[None]) / period)
    return np.exp(-2.0 * (sines**2).sum(axis=2) / length_scale**2)


def _anova(A, B, gamma, degree):
    values = np.exp(-gamma * (A[:, None] - B[None]) ** 2)
    subsets = combinations(range(A.shape[1]), degree)
    return sum(values[..., list(subset)].prod(axis=2) for subset in subsets)


def _normalized(function):
    def values(A, B):
        own = [np.array([function(x[None], x[None])[0, 0] for x in rows]) for rows in (A, B)]
        return function(A, B) / np.sqrt(np.outer(*own))

    return values


CASES = [
    (Matern(length_scale=0.7), ReferenceMatern(0.7, nu=1.5)),
    (Matern(length_scale=1.6, nu=2.5), ReferenceMatern(1.6, nu=2.5)),
    (Periodic(length_scale=0.8, period=1.7), lambda A, B: _periodic(A, B, 0.8, 1.7)),
    (ChiSquared(gamma=0.4), lambda A, B: chi2_kernel(A, B, gamma=0.4)),
    (HistogramIntersection(), lambda A, B: np.minimum(A[:, None], B[None]).sum(axis=2)),
    (ANOVA(gamma=0.3, degree=1), lambda A, B: _anova(A, B, 0.3, 1)),
    (ANOVA(gamma=0.3, degree=3), lambda A, B: _anova(A, B, 0.3, 3)),
    (Linear().normalized(), cosine_similarity),
    (
        Polynomial(degree=2, gamma=0.5, coef0=1.0).normalized(),
        _normalized(lambda A, B: (0.5 * A @ B.T + 1.0) ** 2),
    ),
    (ANOVA(gamma=0.3, degree=2).normalized(), lambda A, B: _anova(A, B, 0.3, 2) / comb(5, 2)),
]
IDS = [repr(kernel) for kernel, _ in CASES]


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("kernel", "formula"), CASES, ids=IDS)
def test_values(kernel, formula, container):
    A, B = _rows(30, kernel), _rows(20, kernel, seed=1)
    values = kernel(container(A), container(B))
    np.testing.assert_allclose(values, formula(A, B), rtol=1e-12, atol=1e-13)
    single = kernel(container(A.astype(np.float32)), container(B.astype(np.float32)))
    np.testing.assert_allclose(single, values, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("kernel", "formula"), CASES, ids=IDS)
def test_values_of_equal_rows(kernel, formula):
    X = _rows(30, kernel)
    values = kernel(X)
    np.testing.assert_array_equal(values[0], values[-1])
    if not isinstance(kernel, ANOVA | HistogramIntersection):
        np.testing.assert_array_equal(np.diagonal(values), 1.0)


@pytest.mark.parametrize(("kernel", "formula"), CASES, ids=IDS)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_machine_is_that_of_the_precomputed_kernel(kernel, formula, container, dtype):
    X, Z = _rows(60, kernel, dtype=dtype), _rows(40, kernel, seed=1, dtype=dtype)
    y = (np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] > 0.1).astype(int)
    model = SVC(kernel=kernel, C=2.0, tol=1e-8).fit(container(X), y)
    X, Z = X.astype(np.float64), Z.astype(np.float64)
    reference = SVC(kernel="precomputed", C=2.0, tol=1e-8).fit(formula(X, X), y)
    np.testing.assert_allclose(
        model.decision_function(container(Z.astype(dtype))),
        reference.decision_function(formula(Z, X)),
        atol=1e-6,
    )
    assert model.report_.gap <= 1e-8
    assert (model.predict(container(Z)) == reference.predict(formula(Z, X))).all()


def test_one_feature_is_the_periodic_kernel_of_gaussian_processes():
    X = np.random.default_rng(0).normal(size=(30, 1))
    expected = ExpSineSquared(length_scale=0.6, periodicity=1.3)(X)
    np.testing.assert_allclose(Periodic(length_scale=0.6, period=1.3)(X), expected, rtol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_many_features(container):
    rng = np.random.default_rng(2)
    A, B = (rng.random((25, 300)) * (rng.random((25, 300)) < 0.05) for _ in range(2))
    for kernel, formula in [
        (ChiSquared(gamma=0.2), lambda A, B: chi2_kernel(A, B, gamma=0.2)),
        (HistogramIntersection(), lambda A, B: np.minimum(A[:, None], B[None]).sum(axis=2)),
        (Periodic(length_scale=3.0, period=0.8), lambda A, B: _periodic(A, B, 3.0, 0.8)),
        (ANOVA(gamma=0.5, degree=2), lambda A, B: _anova(A, B, 0.5, 2)),
    ]:
        values = kernel(container(A), container(B))
        np.testing.assert_allclose(values, formula(A, B), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("kernel", [ChiSquared(), Linear() + HistogramIntersection()])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_negative_numbers_are_refused(kernel, container):
    X = container([[1.0, 2.0], [0.5, -0.25]])
    with pytest.raises(ValueError, match=r"X must be not negative.*-0\.25 in row 1"):
        kernel(X)
    model = SVC(kernel=kernel)
    with pytest.raises(ValueError, match="X must be not negative"):
        model.fit(X, [0, 1])
    model.fit(abs(X), [0, 1])
    with pytest.raises(ValueError, match="X must be not negative"):
        model.predict(X)


def test_rows_of_length_zero():
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    np.testing.assert_array_equal(Linear().normalized()(X), [[0.0, 0.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="kernel must be not negative for a row with itself"):
        Sigmoid(gamma=1.0, coef0=-1.0).normalized()(X)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Matern(nu=2.0), "nu"),
        (lambda: Matern(length_scale=0.0), "length_scale"),
        (lambda: Periodic(period=-1.0), "period"),
        (lambda: Periodic(length_scale=1e-300), "length_scale"),
        (lambda: ChiSquared(gamma=-1.0), "gamma"),
        (lambda: ANOVA(degree=0), "degree"),
        (lambda: ANOVA(degree=17), "degree"),
        (lambda: ANOVA(gamma=-1.0).normalized(), "gamma"),
    ],
)
def test_bad_parameters_are_named(make, name):
    with pytest.raises(ValueError, match=f"^{name} must be "):
        make()


def test_normalised_kernels_are_kernels_like_others():
    kernel = (RBF(gamma=0.5) + Linear()).normalized()
    assert repr(kernel) == "(RBF(gamma=0.5) + Linear()).normalized()"
    assert eval(repr(kernel)) == kernel
    assert kernel == Normalized(RBF(gamma=0.5) + Linear())
    assert pickle.loads(pickle.dumps(kernel)) == clone(kernel, safe=False) == kernel
    assert kernel.replace(kernel__left__gamma=2.0).kernel.left == RBF(gamma=2.0)
    assert len({kernel, Normalized(RBF(gamma=0.5) + Linear())}) == 1
    with pytest.raises(TypeError, match="kernel must be an object of"):
        Normalized("rbf")([[1.0]])


def test_grid_search_over_parameters():
    X = _rows(60, Linear())
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    search = GridSearchCV(
        SVC(kernel=ANOVA().normalized()), {"kernel__kernel__degree": [1, 2]}, cv=3
    )
    assert search.fit(X, y).best_params_ == {"kernel__kernel__degree": 2}
