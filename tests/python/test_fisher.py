"""Kernel Fisher discriminants beside linear algebra in numpy and linear discriminant analysis."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import linalg
from sklearn.base import BaseEstimator
from sklearn.covariance import empirical_covariance
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from mercer.discriminant_analysis import KernelFisherDiscriminant
from mercer.kernels import RBF, Polynomial


def _iris():
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def _reference(features, y, reg, weight):
    """Solve the eigenproblem of explicit features; return directions, values, means and mean."""
    classes = np.unique(y)
    weight = weight / weight.sum()
    overall = weight @ features
    priors = np.array([weight[y == k].sum() for k in classes])
    means = np.array([weight[y == k] @ features[y == k] for k in classes]) / priors[:, None]
    apart = features - means[np.searchsorted(classes, y)]
    within = (apart * weight[:, None]).T @ apart + reg * np.eye(features.shape[1])
    between = ((means - overall) * priors[:, None]).T @ (means - overall)
    values, vectors = linalg.eigh(between, within)
    order = np.argsort(values)[::-1][: len(classes) - 1]
    return vectors[:, order], values[order], means, overall


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Polynomial(degree=2, gamma=1.0, coef0=1.0)])
def test_equals_numpy(kernel, classes):
    X, y = _iris()
    X, y = X[y < classes], y[y < classes]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    # Features whose inner products are the kernel, of training rows and of others.
    Z = X[::7] + 0.05
    values, vectors = np.linalg.eigh(kernel(np.vstack([X, Z])))
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    known, new = features[: len(X)], features[len(X) :]
    directions, ratios, means, overall = _reference(known, y, 0.01, weight)
    model = KernelFisherDiscriminant(kernel=kernel, reg=0.01).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.eigenvalues_, ratios, rtol=1e-6)
    expected = (new - overall) @ directions
    found = model.transform(Z)
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found * signs, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        model.means_ * signs, (means - overall) @ directions, rtol=1e-6, atol=1e-6
    )


class _Ridge(BaseEstimator):
    """The covariance of a class with a constant added to its diagonal."""

    def __init__(self, reg=0.0):
        self.reg = reg

    def fit(self, X):
        self.covariance_ = empirical_covariance(X) + self.reg * np.eye(X.shape[1])
        return self


@pytest.mark.parametrize("priors", [None, [0.2, 0.3, 0.5]])
def test_linear_kernel_is_linear_discriminant_analysis(priors):
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    reference = LinearDiscriminantAnalysis(
        solver="eigen", covariance_estimator=_Ridge(0.2), priors=priors
    ).fit(X, y)
    model = KernelFisherDiscriminant(kernel="linear", reg=0.2, priors=priors).fit(X, y)
    # Scores count up to what all classes have in common.
    ours, theirs = (
        scores - scores.mean(axis=1, keepdims=True)
        for scores in (model.decision_function(X), reference.decision_function(X))
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
    assert (model.predict(X) == reference.predict(X)).all()


def test_leaving_one_out_is_done_in_closed_form():
    X, y = _iris()
    X, y = X[::5], y[::5]
    model = KernelFisherDiscriminant(kernel=RBF(gamma=0.3)).fit(X, y)
    kernel = RBF(gamma=0.3)(X)
    targets = np.eye(3)[y]
    # Where reg is next to nothing, 1 - h_ii is, too, and the errors are those of rounding.
    for reg, error in model.reg_path_[4::4]:
        total = 0.0
        for i in range(len(X)):
            keep = np.arange(len(X)) != i
            # Ridge regression with a free constant, without row i; its ridge is that of all rows.
            inner = kernel[np.ix_(keep, keep)] + len(X) * reg * np.eye(len(X) - 1)
            ones = np.ones((len(X) - 1, 1))
            system = np.block([[inner, ones], [ones.T, np.zeros((1, 1))]])
            right = np.vstack([targets[keep], np.zeros((1, 3))])
            solution = np.linalg.solve(system, right)
            fitted = kernel[i, keep] @ solution[:-1] + solution[-1]
            total += ((fitted - targets[i]) ** 2).sum() / len(X)
        assert total == pytest.approx(error, rel=1e-6)
    # The largest of those that are as good as the best.
    regs, errors = model.reg_path_.T
    assert model.reg_ == regs[errors <= 1.01 * errors.min()].max()


def test_weights_are_repeated_rows_sparse_is_dense_and_precomputed_too():
    X, y = _iris()
    weight = 1 + np.arange(len(y)) % 3
    kernel = RBF(gamma=0.3)
    weighted = KernelFisherDiscriminant(kernel=kernel, reg=0.05).fit(X, y, sample_weight=weight)
    others = {
        "repeated": (kernel, np.repeat(X, weight, axis=0), np.repeat(y, weight), None, X),
        "sparse": (kernel, sp.csr_array(X), y, weight, sp.csr_array(X)),
        "precomputed": ("precomputed", kernel(X), y, weight, kernel(X)),
        "callable": (lambda A, B: kernel(A, B), X, y, weight, X),
    }
    expected = weighted.decision_function(X)
    for name, (other, rows, labels, weights, new) in others.items():
        model = KernelFisherDiscriminant(kernel=other, reg=0.05)
        model.fit(rows, labels, sample_weight=weights)
        found = model.decision_function(new)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("reg", [0.02, "auto"])
@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Polynomial(degree=2, gamma=1.0, coef0=1.0)])
def test_landmarks_that_explain_all_rows_change_nothing(kernel, reg):
    X, y = _iris()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    full = KernelFisherDiscriminant(kernel=kernel, reg=reg).fit(X, y, sample_weight=weight)
    few = KernelFisherDiscriminant(kernel=kernel, reg=reg, n_landmarks=len(y))
    few.fit(X, y, sample_weight=weight)
    assert len(few.landmarks_) == len(few.X_fit_) == few.dual_coef_.shape[1]
    if isinstance(kernel, Polynomial):  # of four features there are fifteen of degree two
        assert len(few.landmarks_) == 15
    assert few.reg_ == pytest.approx(full.reg_, rel=1e-6)
    np.testing.assert_allclose(few.eigenvalues_, full.eigenvalues_, rtol=1e-5)
    np.testing.assert_allclose(few.transform(X), full.transform(X), rtol=1e-4, atol=1e-4)


def test_few_landmarks_are_the_discriminants_of_their_features():
    X, y = _iris()
    kernel = RBF(gamma=0.3)
    model = KernelFisherDiscriminant(kernel=kernel, reg=0.02, n_landmarks=12).fit(X, y)
    marks = X[model.landmarks_]
    assert len(np.unique(model.landmarks_)) == 12
    features = kernel(X, marks) @ np.linalg.inv(np.linalg.cholesky(kernel(marks))).T
    directions, ratios, _, overall = _reference(features, y, 0.02, np.ones(len(y)))
    np.testing.assert_allclose(model.eigenvalues_, ratios, rtol=1e-6)
    expected = (features - overall) @ directions
    found = model.transform(X)
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found * signs, expected, rtol=1e-6, atol=1e-6)
    # Each landmark is the row that those before explain least.
    left = 1.0 - np.cumsum(features**2, axis=1)
    np.testing.assert_allclose(left[model.landmarks_[1:], np.arange(11)], left[:, :11].max(axis=0))


def test_landmarks_of_sparse_precomputed_and_weightless_rows():
    X, y = _iris()
    kernel, weight = RBF(gamma=0.3), (np.arange(len(y)) % 3).astype(float)
    options = {"reg": 0.02, "n_landmarks": 10}
    model = KernelFisherDiscriminant(kernel=kernel, **options).fit(X, y, sample_weight=weight)
    assert (weight[model.landmarks_] > 0.0).all()
    expected = model.decision_function(X)
    others = {
        "sparse": (kernel, sp.csr_array(X)),
        "precomputed": ("precomputed", kernel(X)),
        "callable": (lambda A, B: kernel(A, B), X),
    }
    for name, (other, rows) in others.items():
        again = KernelFisherDiscriminant(kernel=other, **options)
        again.fit(rows, y, sample_weight=weight)
        found = again.decision_function(rows)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6, err_msg=name)
    full = KernelFisherDiscriminant(kernel="precomputed", reg=0.02)
    full.fit(kernel(X), y, sample_weight=weight)
    plain = KernelFisherDiscriminant(kernel=kernel, reg=0.02).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(full.transform(kernel(X)), plain.transform(X), atol=1e-6)


@pytest.mark.parametrize(
    "options", [{"n_landmarks": 0}, {"reg": 0.0}, {"reg": "other"}, {"priors": [1.0, -1.0, 1.0]}]
)
def test_bad_parameters(options):
    X, y = _iris()
    with pytest.raises((ValueError, TypeError), match=next(iter(options))):
        KernelFisherDiscriminant(**options).fit(X, y)
