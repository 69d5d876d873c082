"""Relevance vector machines and Bayes points: against plain numpy."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from mercer import SVR
from mercer.bayes import RVC, RVR, BayesPointClassifier
from mercer.kernels import RBF, Linear, Spectrum


def _sinc(n=100, noise=0.1, seed=0):
    X = np.linspace(-10.0, 10.0, n)[:, None]
    return X, np.sinc(X[:, 0] / np.pi) + noise * np.random.default_rng(seed).normal(size=n)


def _evidence(design, y, alpha, noise):
    """Return the log density of y ~ N(0, noise^2 + Phi Phi' / alpha)."""
    C = noise**2 * np.eye(len(y)) + (design / alpha) @ design.T
    sign, log = np.linalg.slogdet(C)
    assert sign == 1.0
    return -0.5 * (len(y) * np.log(2 * np.pi) + log + y @ np.linalg.solve(C, y))


def _parts(model, X, kernel):
    """Return the columns of the design that a model uses."""
    columns = kernel(X, X[model.relevance_])
    return np.column_stack([columns, np.ones(len(X))])[:, : len(model.alpha_)]


@pytest.mark.parametrize("seed", range(3))
def test_evidence_and_posterior_are_those_of_their_definitions(seed):
    X, y = _sinc(seed=seed)
    kernel = RBF(gamma=0.1)
    model = RVR(kernel=kernel).fit(X, y)
    design = _parts(model, X, kernel)
    expected = _evidence(design, y, model.alpha_, model.noise_)
    assert model.log_marginal_likelihood_ == pytest.approx(expected, rel=1e-6)
    beta = model.noise_**-2
    sigma = np.linalg.inv(beta * design.T @ design + np.diag(model.alpha_))
    np.testing.assert_allclose(model.sigma_, sigma, rtol=1e-5, atol=1e-9)
    mean = beta * sigma @ design.T @ y
    weights = np.append(model.dual_coef_, model.intercept_)[: len(model.alpha_)]
    np.testing.assert_allclose(weights, mean, rtol=1e-5)
    Z = np.linspace(-9.0, 9.0, 7)[:, None]
    values, std = model.predict(Z, return_std=True)
    new = np.column_stack([kernel(Z, X[model.relevance_]), np.ones(7)])[:, : len(model.alpha_)]
    np.testing.assert_allclose(values, new @ mean, rtol=1e-5, atol=1e-8)
    variances = model.noise_**2 + np.diagonal(new @ sigma @ new.T)
    np.testing.assert_allclose(std, np.sqrt(variances), rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_no_single_precision_could_be_better(seed):
    X, y = _sinc(60, seed=seed)
    kernel = RBF(gamma=0.1)
    model = RVR(kernel=kernel, tol=1e-10).fit(X, y)
    full = np.column_stack([kernel(X), np.ones(len(X))])
    alpha = np.full(61, np.inf)
    columns = [*model.relevance_, 60][: len(model.alpha_)]
    alpha[columns] = model.alpha_
    best = _evidence(full, y, alpha, model.noise_)
    for column in range(61):
        for factor in (0.5, 0.9, 1.1, 2.0, np.inf):
            other = alpha.copy()
            start = alpha[column] if np.isfinite(alpha[column]) else 1.0
            other[column] = start * factor
            assert _evidence(full, y, other, model.noise_) <= best + 1e-6
    for factor in (0.9, 1.1):
        assert _evidence(full, y, alpha, factor * model.noise_) <= best + 1e-6


def test_fewer_relevance_vectors_than_support_vectors():
    X, y = _sinc()
    relevant = RVR(gamma=0.1).fit(X, y)
    support = SVR(gamma=0.1, C=1.0, epsilon=0.1).fit(X, y)
    assert len(relevant.relevance_) < 15 < len(support.support_)
    truth = np.sinc(X[:, 0] / np.pi)
    assert np.sqrt(np.mean((relevant.predict(X) - truth) ** 2)) < 0.05
    assert 0.08 < relevant.noise_ < 0.12


def test_scales_of_targets_do_not_matter():
    X, y = _sinc()
    model, other = RVR(gamma=0.1).fit(X, y), RVR(gamma=0.1).fit(X, 1e3 * y)
    np.testing.assert_array_equal(model.relevance_, other.relevance_)
    np.testing.assert_allclose(1e3 * model.predict(X), other.predict(X), rtol=1e-4, atol=1e-3)


def test_laplace_evidence_of_a_classifier():
    X, t = make_classification(80, 4, random_state=0)
    kernel = RBF(gamma=0.2)
    model = RVC(kernel=kernel).fit(X, t)
    assert len(model.relevance_) < 20
    (covariance,) = model.sigma_
    places = np.arange(len(covariance))
    full = np.column_stack([kernel(X, X[model.relevance_]), np.ones(len(X))])[:, places]
    w = np.append(model.dual_coef_[0], model.intercept_[0])[places]
    p = 1.0 / (1.0 + np.exp(-full @ w))
    curvature = full.T @ (full * (p * (1.0 - p))[:, None])
    # At the most probable weights the gradient vanishes: alpha w = Phi' (t - p).
    alpha = full.T @ (t - p) / w
    assert (alpha > 0).all()
    np.testing.assert_allclose(
        covariance, np.linalg.inv(curvature + np.diag(alpha)), rtol=1e-4, atol=1e-6
    )
    fit = np.log(np.where(t == 1, p, 1.0 - p)).sum() - 0.5 * w @ (alpha * w)
    log = np.linalg.slogdet(curvature + np.diag(alpha))[1]
    evidence = fit + 0.5 * (np.log(alpha).sum() - log)
    assert model.log_marginal_likelihood_[0] == pytest.approx(evidence, rel=1e-4)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), probabilities.argmax(axis=1))


@pytest.mark.parametrize("machine", [RVC(), BayesPointClassifier(random_state=0)])
def test_real_classes(machine):
    X, y = load_iris(return_X_y=True)
    assert machine.fit(X, y).score(X, y) > 0.95
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = machine.fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.94


@pytest.mark.parametrize("machine", [RVC, RVR, BayesPointClassifier])
def test_kernels_and_containers_agree(machine):
    X, y = make_classification(60, 4, random_state=1)
    kernel = RBF(gamma=0.2)
    extra = {"random_state": 0} if machine is BayesPointClassifier else {}
    model = machine(kernel=kernel, **extra).fit(X, y)
    expected = model.predict(X)
    for other, rows in [
        (machine(kernel="rbf", gamma=0.2, **extra), X),
        (machine(kernel=lambda A, B: kernel(A, B), **extra), X),
        (machine(kernel="precomputed", **extra), kernel(X)),
        (machine(kernel=kernel, **extra), sp.csr_array(X)),
    ]:
        np.testing.assert_allclose(other.fit(rows, y).predict(rows), expected, atol=1e-3)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict(X), expected)
    words = ["aab", "aba", "xyy", "yyx"] * 3
    text = machine(kernel=Spectrum(length=1), **extra).fit(words, [0, 0, 1, 1] * 3)
    np.testing.assert_allclose(text.predict(words), [0, 0, 1, 1] * 3, atol=0.2)


def test_perceptrons_by_their_definition():
    X, y = make_classification(40, 3, n_informative=2, n_redundant=0, random_state=2)
    model = BayesPointClassifier(kernel=Linear(), n_perceptrons=1, ridge=1.0, random_state=0)
    model.fit(X, y)
    K = Linear()(X) + 1.0
    alpha = np.zeros(40)
    alpha[model.support_] = model.dual_coef_[0]
    signs = 2.0 * y - 1.0
    assert (signs * ((K + np.eye(40)) @ alpha) > 0.0).all()  # no errors, with the ridge
    assert alpha @ (K + np.eye(40)) @ alpha == pytest.approx(1.0)
    assert model.intercept_[0] == pytest.approx(alpha.sum())


def test_limits_are_warned_of():
    X, y = _sinc()
    with pytest.warns(ConvergenceWarning, match="max_iter=2 steps"):
        RVR(gamma=0.1, max_iter=2).fit(X, y)
    X, y = make_classification(60, 4, flip_y=0.4, random_state=3)
    with pytest.warns(ConvergenceWarning, match="perceptrons still make errors"):
        BayesPointClassifier(kernel=Linear(), ridge=0.0, max_iter=3, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("machine", "name"),
    [
        (RVR(tol=0.0), "tol"),
        (RVC(max_iter=0), "max_iter"),
        (RVR(fit_intercept=1), "fit_intercept"),
        (BayesPointClassifier(ridge=-1.0), "ridge"),
        (BayesPointClassifier(n_perceptrons=0), "n_perceptrons"),
        (RVR(kernel="chess"), "kernel"),
    ],
)
def test_bad_parameters_are_named(machine, name):
    with pytest.raises((ValueError, TypeError), match=f"^{name} must be "):
        machine.fit([[0.0], [1.0], [2.0]], [0, 1, 1])
