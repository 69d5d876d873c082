"""Losses of SVR and SVC beside those of scikit-learn, and y with several columns."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import HuberRegressor, QuantileRegressor

from mercer import SVC, SVR, NuSVR

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
Y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * RNG.standard_t(2, size=150)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_squared_error_is_kernel_ridge(kernel, C):
    options = {"kernel": kernel, "gamma": 0.3, "degree": 2, "coef0": 1.0}
    ours = SVR(loss="squared_error", C=C, fit_intercept=False, tol=1e-9, **options).fit(X, Y)
    theirs = KernelRidge(alpha=0.5 / C, **options).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6, atol=1e-6)


def test_squared_error_with_sparse_rows_and_weights():
    weight = RNG.uniform(0.5, 2.0, size=len(Y))
    sparse = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    options = {"loss": "squared_error", "gamma": 0.3, "fit_intercept": False, "tol": 1e-9}
    ours = SVR(**options).fit(sparse, Y, weight)
    theirs = KernelRidge(alpha=0.5, kernel="rbf", gamma=0.3)
    theirs.fit(sparse.toarray(), Y, weight)
    expected = theirs.predict(sparse.toarray())
    np.testing.assert_allclose(ours.predict(sparse), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_pinball_is_quantile_regression(quantile):
    # Theirs has an L1 penalty, which is nothing here as ours is with a large C.
    theirs = QuantileRegressor(quantile=quantile, alpha=0.0).fit(X, Y)
    ours = SVR(kernel="linear", loss="pinball", quantile=quantile, C=1e5, tol=1e-6).fit(X, Y)
    loss = [
        np.maximum(quantile * r, (quantile - 1.0) * r).sum()
        for r in (Y - theirs.predict(X), Y - ours.predict(X))
    ]
    assert loss[1] == pytest.approx(loss[0], rel=1e-4)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_the_right_share_of_real_rows_is_below(shared_data, quantile):
    rows, target = shared_data("abalone")
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    model = SVR(loss="pinball", quantile=quantile, C=10.0).fit(rows, target)
    assert np.mean(target < model.predict(rows)) == pytest.approx(quantile, abs=0.02)


def test_huber_is_hubers_regression():
    # Theirs finds a scale; with ours fixed to it the planes are the same.
    theirs = HuberRegressor(epsilon=1.35, alpha=1e-9, tol=1e-9, max_iter=1000).fit(X, Y)
    delta = 1.35 * theirs.scale_
    ours = SVR(kernel="linear", loss="huber", delta=delta, C=1e5, tol=1e-6).fit(X, Y)
    np.testing.assert_allclose(ours.coef_[0], theirs.coef_, atol=1e-4)
    assert ours.intercept_[0] == pytest.approx(theirs.intercept_, abs=1e-4)


def test_huber_of_a_wide_square_is_squared_error():
    # C r^2 / 2 against C r^2: half the cost.
    huber = SVR(loss="huber", delta=1e3, C=2.0, tol=1e-8).fit(X, Y)
    squared = SVR(loss="squared_error", C=1.0, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(huber.predict(X), squared.predict(X), atol=1e-6)


def test_least_squares_classifier_solves_the_system_of_the_lssvm():
    signs = np.where(Y > 0.0, 1.0, -1.0)
    model = SVC(loss="squared_error", C=2.0, gamma=0.3, tol=1e-9).fit(X, signs)
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2)) + np.eye(len(Y)) / 4.0
    ones = np.ones((len(Y), 1))
    system = np.block([[K, ones], [ones.T, np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.append(signs, 0.0))
    beta = np.zeros(len(Y))
    beta[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(beta, solution[:-1], atol=1e-6)
    assert model.intercept_[0] == pytest.approx(solution[-1], abs=1e-6)


def test_adaline_has_the_minimum_norm():
    wide = RNG.normal(size=(20, 50))
    signs = np.where(wide[:, 0] > 0.0, 1.0, -1.0)
    options = {"kernel": "linear", "fit_intercept": False, "tol": 1e-9}
    model = SVC(loss="squared_error", C=np.inf, **options).fit(wide, signs)
    expected = np.linalg.pinv(wide) @ signs
    np.testing.assert_allclose(model.coef_[0], expected, atol=1e-6)


@pytest.mark.parametrize("rows", [X, sp.csr_array(X)], ids=["dense", "sparse"])
@pytest.mark.parametrize("columns", [2, 4])
def test_several_targets_are_several_machines(rows, columns):
    targets = np.column_stack([Y + shift * X[:, 2] for shift in range(columns)])
    model = SVR(tol=1e-8).fit(rows, targets)
    values = model.predict(rows)
    assert values.shape == targets.shape
    assert model.dual_coef_.shape == (columns, len(model.support_))
    assert model.intercept_.shape == (columns,)
    assert np.isfinite(model.score(rows, targets))
    for target, value in zip(targets.T, values.T, strict=True):
        np.testing.assert_allclose(value, SVR(tol=1e-8).fit(rows, target).predict(rows), atol=1e-6)


def test_several_targets_with_linear_and_precomputed_kernels():
    targets = np.column_stack([Y, X[:, 0]])
    linear = SVR(kernel="linear", tol=1e-8).fit(X, targets)
    assert linear.coef_.shape == (2, 3)
    expected = X @ linear.coef_.T + linear.intercept_
    np.testing.assert_allclose(linear.predict(X), expected, atol=1e-9)
    given = SVR(kernel="precomputed", tol=1e-8).fit(X @ X.T, targets)
    np.testing.assert_allclose(given.predict(X @ X.T), linear.predict(X), atol=1e-6)


def test_several_targets_share_kernel_values():
    # So many features that values are worth keeping.
    rows = RNG.normal(size=(600, 300))
    targets = rows[:, :5] + 0.1 * RNG.normal(size=(600, 5))
    together = sum(machine.kernel_evaluations for machine in SVR().fit(rows, targets).report_)
    alone = sum(SVR().fit(rows, target).report_.kernel_evaluations for target in targets.T)
    assert together < 0.9 * alone


def test_one_target_only_for_nu_svr():
    with pytest.raises(ValueError, match="1d array"):
        NuSVR().fit(X, np.column_stack([Y, Y]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hubert"}, "loss must be"),
        ({"loss": "huber", "delta": 0.0}, "delta must be a positive finite number, got 0.0"),
        ({"loss": "pinball", "quantile": 1.0}, "quantile must be a number above 0 and below 1"),
        ({"C": 0.0}, "C must be a positive number"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        SVR(**options).fit(X, Y)
