"""Where float64 is too coarse for `tol`: a status of its own, and a warning that says so."""

from math import fsum

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import SVC, SVR, NuSVC
from mercer.kernels import Linear, Polynomial, Sigmoid


def test_float64_too_coarse_is_said():
    random = np.random.default_rng(0)
    X = random.normal(size=(8, 2)).astype(np.float32)
    model = SVR(kernel="linear", C=1e11, epsilon=0.0)
    with pytest.warns(ConvergenceWarning, match=r"float64 is too coarse. The gap is at most"):
        model.fit(X, random.normal(size=8))
    assert model.report_.status == "precision"
    assert model.report_.gap > model.tol
    assert model.fit_status_ == 1
    assert np.isfinite(model.predict(X)).all()


def _terms(beta, K, linear):
    """Return the sizes of the terms of an objective, added up."""
    return np.abs(beta) @ (np.abs(K @ beta) + np.abs(linear))


def test_the_objective_of_rows_in_float32():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), rng.normal(size=600)
    K = X @ X.T + 50.0 * np.exp(-0.05 * np.abs(X[:, np.newaxis] - X).sum(axis=2))
    model = SVR(kernel="precomputed", C=4.0, epsilon=0.0).fit(K, y)
    beta = np.zeros(600)
    beta[model.support_] = model.dual_coef_[0]
    objective = beta @ K @ beta / 2 - y @ beta
    assert abs(model.report_.objective - objective) <= 1e-6 * _terms(beta, K, y)


def test_the_objective_of_an_indefinite_kernel():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    model = SVC(kernel="sigmoid", gamma=0.01, coef0=1.0, C=1000.0).fit(X, y)
    K = np.tanh(0.01 * X @ X.T + 1.0)
    beta = np.zeros(30)
    beta[model.support_] = model.dual_coef_[0]
    signs = 2.0 * y - 1.0
    objective = beta @ K @ beta / 2 - signs @ beta
    assert abs(model.report_.objective - objective) <= 1e-6 * _terms(beta, K, signs)


@pytest.mark.parametrize(("seed", "C", "max_iter"), [(149, 1e6, 300), (153, np.inf, -1)])
def test_the_objective_of_an_indefinite_kernel_that_does_not_converge(seed, C, max_iter):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 40))
    X, y = rng.normal(size=(n, 2)), np.arange(n) % 2
    gamma = 10.0 ** rng.uniform(-3, 0)
    model = SVC(kernel="sigmoid", gamma=gamma, coef0=1.0, C=C, max_iter=max_iter)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    K = np.tanh(gamma * X @ X.T + 1.0)
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    signs = 2.0 * y - 1.0
    objective = beta @ K @ beta / 2 - signs @ beta
    assert abs(model.report_.objective - objective) <= 1e-6 * _terms(beta, K, signs)


def test_a_penalized_intercept_among_large_coefficients():
    """The intercept is the sum of coefficients of 1e12, which cancel; the gap has to know it."""
    rng = np.random.default_rng(1)
    x, y = 1e-7 * rng.normal(size=30) + 2e-7, rng.integers(0, 2, 30)
    C, signs = 1e12, 2.0 * y - 1.0
    model = SVC(kernel="linear", C=C, fit_intercept="penalized").fit(x[:, np.newaxis], y)
    beta = np.zeros(30)
    beta[model.support_] = model.dual_coef_[0]
    total = fsum(beta)
    assert abs(total) < 1e-6 * np.abs(beta).max()
    assert model.intercept_[0] == pytest.approx(total, rel=1e-15)
    descent = signs - [fsum(here * x * beta) for here in x]
    m = max(total, *descent[beta < C * y])
    big_m = min(total, *descent[beta > C * (y - 1)])
    assert model.report_.gap >= (m - big_m) * (1.0 - 1e-6)


def test_kernel_values_too_small_for_float32():
    rng = np.random.default_rng(0)
    X, y = 6e-4 * rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    kernel = Sigmoid(gamma=0.016, coef0=0.0) * Sigmoid(gamma=5.0, coef0=-0.73)
    model = NuSVC(nu=0.15, kernel=kernel).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0.0)


@pytest.mark.parametrize("power", [-12, -10, -7])
@pytest.mark.parametrize(
    "kernel",
    [
        Linear() * (0.6 * Linear()),
        Polynomial(degree=3, gamma=0.07, coef0=0.0),
        Polynomial(degree=7, gamma=0.05, coef0=0.0),
        1e12 * Polynomial(degree=2, gamma=1e-6, coef0=0.0),
    ],
    ids=str,
)
def test_classes_of_rows_whose_kernel_float32_cannot_hold(kernel, power):
    rng = np.random.default_rng(0)
    X = 10.0**power * rng.normal(size=(30, 2))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = NuSVC(nu=0.1, kernel=kernel).fit(X, y)
    for Z in (X, X[:1], 3.0 * X):
        np.testing.assert_array_equal(model.predict(Z), model.decision_function(Z) > 0.0)


def test_a_hard_margin_between_equal_rows():
    model = SVC(kernel="linear", C=np.inf, solver="adatron", max_iter=28)
    with pytest.warns(ConvergenceWarning, match="diverged"):
        model.fit(np.ones((7, 3)), [0, 1, 0, 0, 1, 1, 1])
    assert np.isfinite(model.decision_function(np.ones((2, 3)))).all()


def test_rounding_that_makes_a_kernel_indefinite():
    """Values of 1e21 are rounded by 1e5: a ridge of 5 does not hold coefficients back."""
    rng = np.random.default_rng(0)
    X, y = 400.0 + rng.normal(size=(34, 4)), rng.normal(size=34)
    kernel = 17.5 * Polynomial(gamma=12411.0, coef0=0.5, degree=2)
    model = SVR(kernel=kernel, C=0.09, loss="squared_epsilon_insensitive", epsilon=0.0, tol=1e-7)
    with pytest.warns(ConvergenceWarning):
        model.set_params(max_time=60.0).fit(X, y)
    assert model.report_.status == "precision"
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    ("seed", "scale", "C"), [(1, 1e17, 0.08), (19, 4.5e20, 3.4), (3, 2e20, 55.0)]
)
@pytest.mark.parametrize("given", ["kernel", "precomputed"])
def test_a_ridge_that_rounding_hides_is_a_matter_of_precision(seed, scale, C, given):
    """The kernel is positive semi-definite: nothing diverges, and no step leads uphill."""
    rng = np.random.default_rng(seed)
    X = 30.0 + rng.normal(size=(24, 2))
    y = rng.integers(0, 2, 24)
    kernel = scale / np.abs(X @ X.T).max() ** 2 * Polynomial(gamma=1.0, coef0=0.0, degree=2)
    model = SVC(kernel=kernel, C=C, loss="squared_hinge", max_time=60.0)
    if given == "precomputed":
        model.set_params(kernel="precomputed")
    with pytest.warns(ConvergenceWarning, match="float64 is too coarse.*is positive semi-definite"):
        model.fit(kernel(X) if given == "precomputed" else X, y)
    assert model.report_.status == "precision"
    assert model.report_.objective <= 0.0  # that of the start


@pytest.mark.parametrize("solver", ["smo", "adatron"])
def test_a_squared_loss_with_a_kernel_that_is_not_semi_definite_ends(solver):
    """A polynomial with a negative constant has negative values on the diagonal: no minimum."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 1))
    polynomial = Polynomial(gamma=0.09, coef0=-1.3, degree=7)
    for rows, kernel in ((X, polynomial), (polynomial(X), "precomputed")):
        model = SVR(kernel=kernel, C=264.0, epsilon=0.0, loss="squared_epsilon_insensitive")
        with pytest.warns(ConvergenceWarning):
            model.set_params(solver=solver, max_time=60.0).fit(rows, rng.normal(size=8))
        assert model.report_.status in ("diverged", "precision")
        assert np.isfinite(model.report_.objective)
        assert np.isfinite(model.predict(rows)).all()


def test_the_objective_after_divergence():
    """Coefficients that were large leave roundings in a gradient that none of them is left in."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 4))[rng.integers(20, size=41)]
    y = rng.integers(0, 2, 41)
    model = SVC(kernel="poly", degree=7, gamma=75.0, C=83.0, loss="squared_hinge", tol=2e-7)
    with pytest.warns(ConvergenceWarning):
        model.set_params(max_time=60.0).fit(X, y)
    K = np.longdouble(75.0 * X @ X.T) ** 7
    beta = np.zeros(41, np.longdouble)
    beta[model.support_] = model.dual_coef_[0]
    signs = 2.0 * y - 1.0
    objective = beta @ K @ beta / 2 + beta @ beta / (4.0 * 83.0) - signs @ beta
    assert abs(model.report_.objective - objective) <= 1e-6 * _terms(beta, K, signs)


def test_rounding_that_keeps_a_coefficient_from_its_bound_does_not_decide_on_the_intercept():
    """All coefficients are at their bounds, one but for rounding: the middle is the intercept."""
    K = np.diag([1.0, 1.5, 1.2, 0.9])
    weight = np.array([0.1, 0.2, 0.3 / 2, 0.3 / 2])
    model = SVC(kernel="precomputed", C=0.01).fit(K, [0, 0, 1, 1], sample_weight=weight)
    f = K[:, model.support_] @ model.dual_coef_[0]
    above, below = 1.0 - f[2:], -1.0 - f[:2]  # what the intercept may be is between these
    middle = (above.min() + below.max()) / 2
    assert model.intercept_[0] == pytest.approx(middle, abs=1e-6)
