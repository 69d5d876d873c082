"""SVC with squared losses, hard margins, no intercept and a penalised one."""

import time
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as Reference
from sklearn.svm import LinearSVC

from mercer import SVC

TIGHT = {"tol": 1e-8}


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:300], y[:300]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


# Solutions known on paper


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("distance", [0.5, 2.0])
def test_two_points_and_squared_losses(distance, C):
    # Both slacks are t, w distance / 2 = 1 - t, and 1/2 w^2 + 2 C t^2 is least.
    model = SVC(kernel="linear", loss="squared_hinge", C=C, **TIGHT)
    model.fit([[0.0], [distance]], [0, 1])
    w = 2.0 * C * distance / (1.0 + C * distance**2)
    np.testing.assert_allclose(model.coef_, [[w]], rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, [-w * distance / 2.0], rtol=1e-6)
    np.testing.assert_allclose(model.dual_coef_, [[-w / distance, w / distance]], rtol=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("distance", [0.5, 2.0, 30.0])
def test_two_points_and_a_hard_margin(distance, loss):
    model = SVC(kernel="linear", C=np.inf, loss=loss, **TIGHT)
    model.fit([[0.0], [distance]], [0, 1])
    alpha = 2.0 / distance**2
    np.testing.assert_allclose(model.dual_coef_, [[-alpha, alpha]], rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, [-1.0], atol=1e-6)


@pytest.mark.parametrize("distance", [0.5, 2.0])
def test_two_points_and_a_penalised_intercept(distance):
    # f(0) = b = -1 and f(distance) = w distance + b = 1, where b is the sum of beta.
    model = SVC(kernel="linear", C=np.inf, fit_intercept="penalized", **TIGHT)
    model.fit([[0.0], [distance]], [0, 1])
    alpha = 2.0 / distance**2
    np.testing.assert_allclose(model.dual_coef_, [[-1.0 - alpha, alpha]], rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, [-1.0], rtol=1e-6)
    np.testing.assert_allclose(model.coef_, [[2.0 / distance]], rtol=1e-6)


@pytest.mark.parametrize("fit_intercept", [False, np.False_])
@pytest.mark.parametrize(("C", "w"), [(10.0, 1.0), (np.inf, 1.0), (0.1, 0.3)])
def test_points_without_an_intercept(fit_intercept, C, w):
    # -f(-1) = w and f(2) = 2 w must be 1; with C = 0.1 both are at their bounds.
    model = SVC(kernel="linear", C=C, fit_intercept=fit_intercept, **TIGHT)
    model.fit([[-1.0], [2.0]], [0, 1])
    np.testing.assert_allclose(model.coef_, [[w]], rtol=1e-6)
    np.testing.assert_array_equal(model.intercept_, [0.0])
    assert not np.signbit(model.intercept_).any()
    assert model.support_.tolist() == ([0] if w == 1.0 else [0, 1])


def test_one_point_of_each_class_in_the_same_place():
    # f = b, and the costs decide: C_0 (1 + b)+ + C_1 (1 - b)+ is to be least.
    model = SVC(class_weight={1: 3.0}, **TIGHT).fit([[1.0], [1.0]], [0, 1])
    assert model.predict([[1.0]]) == 1
    squared = SVC(loss="squared_hinge", class_weight={1: 3.0}, **TIGHT)
    squared.fit([[1.0], [1.0]], [0, 1])
    # (1 + b)^2 + 3 (1 - b)^2 is least at b = 1/2.
    np.testing.assert_allclose(squared.decision_function([[1.0]]), [0.5], atol=1e-6)


def test_three_classes_without_an_intercept(wine):
    X, y = wine
    model = SVC(fit_intercept=False, decision_function_shape="ovo").fit(X, y)
    np.testing.assert_array_equal(model.intercept_, np.zeros(3))
    assert model.score(X, y) > 0.9


# The same problem in other words


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_squared_losses_are_a_hard_margin_with_a_ridge(cancer, kernel, C):
    X, y = cancer
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    squared = SVC(kernel=kernel, gamma=0.05, loss="squared_hinge", C=C, **TIGHT)
    squared.fit(X, y, sample_weight=weight)
    K = X @ X.T if kernel == "linear" else np.exp(-0.05 * _squared_distances(X))
    ridge = K + np.diag(0.5 / (C * weight))
    for model in (
        SVC(kernel="precomputed", C=np.inf, **TIGHT).fit(ridge, y),
        Reference(kernel="precomputed", C=1e10, **TIGHT).fit(ridge, y),
    ):
        # The ridge is not there for other rows than these.
        expected = K[:, model.support_] @ model.dual_coef_[0] + model.intercept_
        np.testing.assert_allclose(squared.decision_function(X), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("C", [0.1, 10.0, np.inf])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_penalised_intercept_is_one_more_in_the_kernel(cancer, loss, C):
    X, y = cancer
    K = np.exp(-0.05 * _squared_distances(X))
    penalised = SVC(gamma=0.05, C=C, loss=loss, fit_intercept="penalized", **TIGHT).fit(X, y)
    model = SVC(kernel="precomputed", C=C, loss=loss, fit_intercept=False, **TIGHT).fit(K + 1.0, y)
    np.testing.assert_allclose(
        penalised.decision_function(X), model.decision_function(K + 1.0), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(penalised.intercept_, [model.dual_coef_.sum()], rtol=1e-5)


def _squared_distances(X):
    norms = (X**2).sum(axis=1)
    return np.maximum(0.0, norms[:, None] + norms - 2.0 * X @ X.T)


@pytest.mark.parametrize("class_weight", [None, {0: 5.0}, "balanced"])
@pytest.mark.parametrize("fit_intercept", [False, "penalized"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_same_as_liblinear(cancer, loss, fit_intercept, class_weight):
    X, y = cancer
    ours = SVC(
        kernel="linear",
        C=0.1,
        loss=loss,
        fit_intercept=fit_intercept,
        class_weight=class_weight,
        **TIGHT,
    ).fit(X, y)
    theirs = LinearSVC(
        C=0.1,
        loss=loss,
        dual=True,
        fit_intercept=bool(fit_intercept),
        class_weight=class_weight,
        tol=1e-9,
        max_iter=10**6,
        random_state=0,
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, np.ravel(theirs.intercept_), atol=1e-5)


# Hard margins


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("fit_intercept", [True, False, "penalized"])
def test_a_hard_margin_is_a_very_large_cost(kernel, fit_intercept):
    X, y = make_blobs(100, centers=[[-3.0, 0.0], [3.0, 1.0]], random_state=0)
    options = {"kernel": kernel, "fit_intercept": fit_intercept, **TIGHT}
    hard = SVC(C=np.inf, **options).fit(X, y)
    large = SVC(C=1e8, **options).fit(X, y)
    assert hard.fit_status_ == 0
    np.testing.assert_allclose(hard.decision_function(X), large.decision_function(X), atol=1e-5)
    margins = np.where(y == 1, 1.0, -1.0) * hard.decision_function(X)
    assert margins.min() == pytest.approx(1.0, abs=1e-6)


def test_a_hard_margin_between_three_classes(wine):
    X, y = wine
    hard, large = (SVC(C=C, decision_function_shape="ovo", **TIGHT) for C in (np.inf, 1e8))
    np.testing.assert_allclose(
        hard.fit(X, y).decision_function(X), large.fit(X, y).decision_function(X), atol=1e-5
    )
    assert hard.score(X, y) == 1.0


def test_weights_do_not_matter_to_a_hard_margin(wine):
    X, y = wine
    weight = np.random.default_rng(0).uniform(0.1, 10.0, size=len(y))
    options = {"C": np.inf, "gamma": 0.05, **TIGHT}
    plain = SVC(**options).fit(X, y)
    weighted = SVC(class_weight={0: 7.0}, **options).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(plain.decision_function(X), weighted.decision_function(X))


def _identical_points():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[1] = X[0]
    return X, np.arange(60) % 2, "rbf"


def _overlapping_blobs():
    X, y = make_blobs(200, centers=[[-1.0, 0.0], [1.0, 0.0]], random_state=0)
    return X, y, "linear"


def _labels_by_chance():
    rng = np.random.default_rng(0)
    return rng.normal(size=(500, 4)), rng.integers(2, size=500), "linear"


def _two_points_in_one_place():
    return np.ones((2, 1)), np.array([0, 1]), "rbf"


INSEPARABLE = [_identical_points, _overlapping_blobs, _labels_by_chance, _two_points_in_one_place]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("fit_intercept", [True, False, "penalized"])
@pytest.mark.parametrize("problem", INSEPARABLE)
def test_classes_that_cannot_be_separated(problem, fit_intercept, loss):
    X, y, kernel = problem()
    model = SVC(kernel=kernel, C=np.inf, fit_intercept=fit_intercept, loss=loss)
    start = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match=r"diverged.*C=inf.*cannot separate.*finite C"):
        model.fit(X, y)
    assert time.perf_counter() - start < 10.0
    assert model.fit_status_ == 1
    assert model.report_.status == "diverged"
    for attribute in (model.dual_coef_, model.intercept_, model.decision_function(X)):
        assert np.isfinite(attribute).all()


@pytest.mark.parametrize("problem", INSEPARABLE)
def test_classes_that_cannot_be_separated_in_a_few_iterations(problem):
    X, y, kernel = problem()
    model = SVC(kernel=kernel, C=np.inf, max_iter=3)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.fit_status_ == 1
    assert model.n_iter_[0] <= 3
    assert np.isfinite(model.decision_function(X)).all()


def test_one_pair_of_classes_that_cannot_be_separated(wine):
    # The others are not disturbed.
    X, y = wine
    X = X.copy()
    X[y == 0] = X[y == 1][: (y == 0).sum()]
    with pytest.warns(ConvergenceWarning, match="diverged"):
        model = SVC(C=np.inf, gamma=0.05).fit(X, y)
    assert [part.status for part in model.report_] == ["diverged", "converged", "converged"]
    assert (model.predict(X[y == 2]) == 2).all()


@pytest.mark.parametrize("gamma", [0.01, 0.1, 1.0])
def test_separable_data_does_not_diverge(cancer, gamma):
    # Distinct points are always separable by a Gaussian, if with large coefficients.
    X, y = cancer
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SVC(C=np.inf, gamma=gamma).fit(X, y)
    assert model.score(X, y) == 1.0
