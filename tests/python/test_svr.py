"""SVR and NuSVR on problems whose solution is known, and beside scikit-learn's."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR as Reference
from sklearn.svm import LinearSVR
from variants import SQUARED_TUBE

from mercer import SVR, NuSVR

TIGHT = {"tol": 1e-8}


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X), y / 50.0


# Solutions known on paper


@pytest.mark.parametrize("rise", [3.0, -3.0])
def test_two_points(rise):
    # The flattest line that passes both at a distance of epsilon.
    model = SVR(kernel="linear", C=10.0, epsilon=0.5, **TIGHT).fit([[0.0], [2.0]], [0.0, rise])
    w = np.sign(rise) * (abs(rise) - 1.0) / 2.0
    np.testing.assert_allclose(model.coef_, [[w]], rtol=1e-6)
    np.testing.assert_allclose(model.dual_coef_, [[-w / 2.0, w / 2.0]], rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, [np.sign(rise) * 0.5], rtol=1e-6)


def test_two_points_at_the_bounds():
    # The slope is C * 2, and the intercept is the middle of what is left to it.
    model = SVR(kernel="linear", C=0.25, epsilon=0.5, **TIGHT).fit([[0.0], [2.0]], [0.0, 3.0])
    np.testing.assert_allclose(model.dual_coef_, [[-0.25, 0.25]], rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, [(3.0 - 0.25 * 4.0) / 2.0], rtol=1e-6)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_two_points_and_squared_losses(C):
    # Both are t outside the tube, 2 w = 3 - 2 (epsilon + t), and 1/2 w^2 + 2 C t^2 is least.
    model = SVR(kernel="linear", C=C, epsilon=0.5, loss=SQUARED_TUBE, **TIGHT)
    model.fit([[0.0], [2.0]], [0.0, 3.0])
    w = 2.0 * C * (3.0 - 1.0) / (1.0 + 4.0 * C)
    np.testing.assert_allclose(model.coef_, [[w]], rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, [(3.0 - 2.0 * w) / 2.0], rtol=1e-6)


@pytest.mark.parametrize(("C", "alpha"), [(10.0, 0.625), (0.1, 0.1)])
def test_one_point_without_an_intercept(C, alpha):
    # w 2 = 3 - epsilon if C allows it.
    model = SVR(kernel="linear", C=C, epsilon=0.5, fit_intercept=False, **TIGHT)
    model.fit([[2.0]], [3.0])
    np.testing.assert_allclose(model.dual_coef_, [[alpha]], rtol=1e-6)
    np.testing.assert_array_equal(model.intercept_, [0.0])
    np.testing.assert_allclose(model.predict([[4.0]]), [8.0 * alpha], rtol=1e-6)


@pytest.mark.parametrize(("C", "alpha"), [(10.0, 0.5), (0.1, 0.1)])
def test_one_point_and_a_penalised_intercept(C, alpha):
    # The kernel is 2 * 2 + 1.
    model = SVR(kernel="linear", C=C, epsilon=0.5, fit_intercept="penalized", **TIGHT)
    model.fit([[2.0]], [3.0])
    np.testing.assert_allclose(model.dual_coef_, [[alpha]], rtol=1e-6)
    np.testing.assert_allclose(model.intercept_, [alpha], rtol=1e-6)
    np.testing.assert_allclose(model.coef_, [[2.0 * alpha]], rtol=1e-6)


def test_one_point_squared_without_an_intercept():
    # 1/2 k beta^2 + C t^2 with k beta = 3 - epsilon - t and t = beta / (2 C).
    for fit_intercept, k in ((False, 4.0), ("penalized", 5.0)):
        model = SVR(kernel="linear", C=2.0, epsilon=0.5, loss=SQUARED_TUBE, **TIGHT)
        model.set_params(fit_intercept=fit_intercept).fit([[2.0]], [3.0])
        np.testing.assert_allclose(model.dual_coef_, [[2.5 / (k + 0.25)]], rtol=1e-6)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", SQUARED_TUBE])
def test_targets_that_the_tube_holds(loss):
    X = np.arange(6.0)[:, np.newaxis]
    model = SVR(epsilon=1.0, loss=loss, **TIGHT).fit(X, [5.0, 6.0, 5.5, 5.2, 5.8, 5.1])
    assert model.support_.shape == (0,)
    assert model.support_vectors_.shape == (0, 1)
    assert model.dual_coef_.shape == (1, 0)
    np.testing.assert_array_equal(model.n_support_, [0])
    # The middle of all intercepts that hold them.
    np.testing.assert_allclose(model.predict(X), np.full(6, 5.5), atol=1e-6)


def test_equal_targets():
    X = np.arange(4.0)[:, np.newaxis]
    for model in (SVR(epsilon=0.0), NuSVR()):
        np.testing.assert_allclose(model.fit(X, np.full(4, 7.0)).predict(X), 7.0, atol=1e-3)


def test_the_median_of_a_kernel_that_tells_nothing():
    # k = 0: f = b, and the least sum of distances is at the (weighted) median.
    K, y = np.zeros((5, 5)), [1.0, 2.0, 4.0, 8.0, 16.0]
    model = SVR(kernel="precomputed", epsilon=0.0, **TIGHT)
    np.testing.assert_allclose(model.fit(K, y).intercept_, [4.0], atol=1e-6)
    model.fit(K, y, sample_weight=[1, 1, 1, 1, 5])
    np.testing.assert_allclose(model.intercept_, [16.0], atol=1e-6)
    mean = SVR(kernel="precomputed", epsilon=0.0, loss=SQUARED_TUBE, **TIGHT).fit(K, y)
    np.testing.assert_allclose(mean.intercept_, [np.mean(y)], atol=1e-6)


@pytest.mark.parametrize(
    ("C", "nu", "epsilon", "w"),
    [
        (0.5, 0.5, 1.0, 0.5),  # epsilon = (rise - C nu distance^2) / 2, w = C nu distance
        (0.5, 1.0, 0.5, 1.0),
        (10.0, 0.5, 0.0, 1.5),  # the tube has closed
    ],
)
def test_two_points_find_their_tube(C, nu, epsilon, w):
    model = NuSVR(kernel="linear", C=C, nu=nu, **TIGHT).fit([[0.0], [2.0]], [0.0, 3.0])
    np.testing.assert_allclose(model.coef_, [[w]], rtol=1e-6)
    assert type(model.epsilon_) is float
    if nu < 1.0:
        assert model.epsilon_ == pytest.approx(epsilon, abs=1e-6)
    np.testing.assert_allclose(model.predict([[1.0]]), [1.5], atol=1e-6)


# Beside scikit-learn


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("fit_intercept", [False, "penalized"])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", SQUARED_TUBE])
def test_same_as_liblinear(diabetes, loss, fit_intercept, epsilon):
    X, y = diabetes
    weight = np.random.default_rng(0).uniform(0.2, 2.0, size=len(y))
    ours = SVR(
        kernel="linear", C=0.1, epsilon=epsilon, loss=loss, fit_intercept=fit_intercept, **TIGHT
    ).fit(X, y, sample_weight=weight)
    theirs = LinearSVR(
        C=0.1,
        epsilon=epsilon,
        loss=loss,
        dual=True,
        fit_intercept=bool(fit_intercept),
        tol=1e-10,
        max_iter=10**6,
        random_state=0,
    ).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)
    np.testing.assert_allclose(ours.coef_[0], theirs.coef_, atol=1e-4)


def test_squared_losses_are_a_ridge_with_a_large_cost(diabetes):
    X, y = diabetes
    K = X @ X.T
    squared = SVR(kernel="linear", C=0.1, loss=SQUARED_TUBE, **TIGHT).fit(X, y)
    ridge = K + np.diag(np.full(len(y), 0.5 / 0.1))
    theirs = Reference(kernel="precomputed", C=1e8, **TIGHT).fit(ridge, y)
    expected = K[:, theirs.support_] @ theirs.dual_coef_[0] + theirs.intercept_
    np.testing.assert_allclose(squared.predict(X), expected, atol=1e-4)


def test_same_sample_weights(diabetes):
    X, y = diabetes
    weight = np.random.default_rng(0).uniform(0.01, 5.0, size=len(y))
    ours = SVR(gamma=0.05, **TIGHT).fit(X, y, sample_weight=weight)
    theirs = Reference(gamma=0.05, **TIGHT).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-4)


def test_support_vectors_are_in_the_order_of_rows(diabetes):
    for model in (SVR(), NuSVR()):
        model.fit(*diabetes)
        assert (np.diff(model.support_) > 0).all()
        np.testing.assert_array_equal(model.support_vectors_, diabetes[0][model.support_])
        np.testing.assert_array_equal(model.n_support_, [len(model.support_)])


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_targets_of_any_size(diabetes, scale):
    X, y = diabetes
    options = {"gamma": 0.05, "epsilon": 0.2 * scale, "C": scale, "tol": 1e-6 * scale}
    model = SVR(**options).fit(X, scale * y)
    expected = SVR(gamma=0.05, epsilon=0.2, tol=1e-6).fit(X, y).predict(X)
    np.testing.assert_allclose(model.predict(X) / scale, expected, atol=1e-4)


@pytest.mark.parametrize("kind", [list, np.float32, np.int64, object, "column"])
def test_kinds_of_targets(kind):
    X, y = np.arange(10.0)[:, np.newaxis], np.arange(10) % 4
    expected = SVR().fit(X, y.astype(float)).predict(X)
    if kind == "column":
        with pytest.warns(UserWarning, match="column-vector"):
            model = SVR().fit(X, y[:, np.newaxis])
    else:
        model = SVR().fit(X, list(y) if kind is list else y.astype(kind))
    np.testing.assert_array_equal(model.predict(X), expected)
