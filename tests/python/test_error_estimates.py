"""Estimates of the error: their formulas in numpy, and that bounds are above the exact error."""

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import kernel_matrix
from scipy.optimize import minimize
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR
from mercer.datasets import load_ionosphere, load_sonar
from mercer.model_selection import error_estimates, leave_one_out

BOUNDS = ("support_vectors", "jaakkola_haussler", "span", "xi_alpha", "radius_margin")


def cloud(seed, n=40, noise=0.6):
    """Return overlapping rows of two classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + noise * rng.normal(size=n) > 0, "yes", "no")
    y[:4] = ["yes", "yes", "no", "no"]
    return X, y


def smallest_sphere(K):
    """Return the squared radius, by the dual problem in scipy."""
    n, diagonal = len(K), np.diagonal(K)
    found = minimize(
        lambda a: a @ K @ a - diagonal @ a,
        np.full(n, 1.0 / n),
        jac=lambda a: 2.0 * K @ a - diagonal,
        bounds=[(0.0, None)] * n,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1.0, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return -found.fun


def squared_span(K, beta, lower, upper, p, free):
    """Return beta_p^2 S_p^2 by scipy; infinity where the others cannot take the place of p."""
    others = np.delete(np.arange(len(beta)), p)
    own, target = K[np.ix_(others, others)], K @ beta
    sum_of = {"type": "eq", "fun": lambda b: b.sum() - beta.sum(), "jac": np.ones_like}
    if free and not lower[others].sum() <= beta.sum() <= upper[others].sum():
        return np.inf
    found = minimize(
        lambda b: 0.5 * b @ own @ b - target[others] @ b + 0.5 * beta @ K @ beta,
        beta[others],
        jac=lambda b: own @ b - target[others],
        bounds=[(low, high) for low, high in zip(lower[others], upper[others], strict=True)],
        constraints=[sum_of] if free else (),
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return 2.0 * found.fun


def expected(model, K, y):
    """Return all values for a machine of two classes."""
    signs, n = np.where(y == model.classes_[1], 1.0, -1.0), len(y)
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    squared = model.loss == "squared_hinge"
    ridge = 0.5 / model.C if squared else 0.0
    upper = np.inf if squared else model.C
    free = model.fit_intercept is True
    values = K @ beta + model.intercept_[0]
    space = K + (1.0 if model.fit_intercept == "penalized" else 0.0) + ridge * np.eye(n)
    alpha, support = np.abs(beta), beta != 0.0
    reached = signs * values + ridge * alpha
    distances = np.diagonal(K)[:, None] + np.diagonal(K) - 2.0 * K
    own = np.diagonal(space)
    slack = np.where(support, np.maximum(0.0, 1.0 - reached), 0.0)
    bounded = support & (alpha >= upper * (1.0 - 1e-9))
    inside = np.flatnonzero(support & ~bounded)
    opposite = np.where(signs[:, None] != signs, distances, -np.inf).max(axis=1) + 2.0 * ridge
    diameter = 4.0 * smallest_sphere(K) + 2.0 * ridge if free else own
    reach = 2.0 * (np.diagonal(K).max() - K.min()) + 2.0 * ridge if free else own.max()
    moved = np.full(n, np.inf)
    low = np.where(signs > 0, 0.0, -upper)[inside]
    high = np.where(signs > 0, upper, 0.0)[inside]
    part = space[np.ix_(inside, inside)]
    for at, p in enumerate(inside):
        moved[p] = squared_span(part, beta[inside], low, high, at, free)
    # The distance from the span of the free support vectors, p aside, by least squares.
    same = np.zeros(n)
    for p in np.flatnonzero(support):
        others = inside[inside != p]
        kept = part[np.ix_(inside != p, inside != p)]
        border = np.ones((len(others), 1)) if free else np.zeros((len(others), 0))
        system = np.block([[kept, border], [border.T, np.zeros((border.shape[1],) * 2)]])
        right = np.r_[space[others, p], np.ones(border.shape[1])]
        same[p] = own[p] - right @ np.linalg.lstsq(system, right, rcond=None)[0]
    return {
        "support_vectors": support.mean(),
        "jaakkola_haussler": (
            support & (alpha * (opposite if free else own) >= reached - 1e-5)
        ).mean(),
        "span": (support & (moved >= np.minimum(upper, 1.0 / diameter) - 1e-9)).mean(),
        "span_same_support": (support & (alpha * same >= reached)).mean(),
        "xi_alpha": (support & (alpha * reach + slack >= 1.0 - 1e-5)).mean(),
        "radius_margin": (alpha * (diameter if free else own.max()) + slack).sum() / n,
    }


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("fit_intercept", [True, False, "penalized"])
@pytest.mark.parametrize("C", [1.0, 10.0])
def test_values_are_those_of_the_formulas(loss, fit_intercept, C):
    X, y = cloud(1, n=30)
    options = {"loss": loss, "fit_intercept": fit_intercept, "C": C, "gamma": 1.0}
    model = SVC(tol=1e-8, **options).fit(X, y)
    found = dict(error_estimates(model, X, y))
    for name, value in expected(model, kernel_matrix("rbf", X, X), y).items():
        assert found[name].value == pytest.approx(value, abs=2e-5), name


def hard_cases():
    """Return rows, labels and kernels by which classes can be separated."""
    yield "sonar", *load_sonar(return_X_y=True), {"gamma": 1.0}
    yield "ionosphere", *load_ionosphere(return_X_y=True), {"gamma": 0.2}
    for seed in range(12):
        yield f"cloud {seed}", *cloud(seed), {"gamma": [0.5, 3.0, 20.0][seed % 3]}
    X, y = cloud(3, noise=0.0)
    yield "linear", X, y, {"kernel": "linear"}
    yield "poly", *cloud(4, n=25), {"kernel": "poly", "degree": 7, "gamma": 1.0, "coef0": 1.0}


@pytest.mark.parametrize("fit_intercept", [True, False, "penalized"])
@pytest.mark.parametrize("case", list(hard_cases()), ids=lambda case: case[0])
def test_bounds_of_hard_margins_are_above_the_exact_error(case, fit_intercept):
    _, X, y, options = case
    machine = SVC(C=np.inf, tol=1e-6, fit_intercept=fit_intercept, **options)
    model = machine.fit(X, y)
    assert model.report_.status == "converged"
    exact = leave_one_out(machine, X, y).error
    found = dict(error_estimates(model, X, y))
    for name in BOUNDS:
        assert found[name].is_bound, name
        assert found[name].value >= exact - 1e-12, name
    # Each is by a weaker argument than the one before.
    assert found["span"].value <= found["support_vectors"].value
    assert found["jaakkola_haussler"].value <= found["xi_alpha"].value
    assert found["jaakkola_haussler"].value <= found["support_vectors"].value


@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_soft_margins_are_above_the_exact_error(seed):
    X, y = cloud(seed, n=60, noise=1.0)
    for options in (
        {"loss": "squared_hinge"},
        {"fit_intercept": False},
        {"fit_intercept": "penalized"},
        {"loss": "squared_hinge", "fit_intercept": False},
    ):
        machine = SVC(C=[0.3, 3.0, 30.0][seed % 3], gamma=1.0, tol=1e-6, **options)
        exact = leave_one_out(machine, X, y).error
        for name, estimate in error_estimates(machine.fit(X, y), X, y):
            assert estimate.is_bound is (name != "span_same_support")
            if estimate.is_bound:
                assert estimate.value >= exact - 1e-12, (name, options)


def test_the_span_rule_is_close_to_the_exact_error():
    X, y = load_ionosphere(return_X_y=True)
    for C in [1.0, 10.0, np.inf]:
        machine = SVC(C=C, gamma=0.1)
        exact = leave_one_out(machine, X, y).error
        found = error_estimates(machine.fit(X, y), X, y)
        assert abs(float(found.span_same_support) - exact) < 0.015
        assert not found.span_same_support.is_bound


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "dag"])
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_bounds_hold_for_several_classes(load, multiclass):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    machine = SVC(C=np.inf, gamma=1.0, multiclass=multiclass, tol=1e-6)
    exact = leave_one_out(machine, X, y).error
    found = error_estimates(machine.fit(X, y), X, y)
    assert float(found.support_vectors) == len(machine.support_) / len(y)
    for name, estimate in found:
        if estimate.is_bound:
            assert estimate.value >= exact, name


def test_what_is_proved_is_said():
    X, y = cloud(0, n=60)
    soft = dict(error_estimates(SVC(gamma=1.0).fit(X, y), X, y))
    assert [name for name, estimate in soft.items() if estimate.is_bound] == ["support_vectors"]
    with pytest.warns(UserWarning, match="max_iter"):
        early = SVC(gamma=1.0, max_iter=2).fit(X, y)
    assert not any(estimate.is_bound for _, estimate in error_estimates(early, X, y))
    for _, estimate in error_estimates(early, X, y):
        assert "leave-one-out error" in estimate.estimates
        assert estimate.bound_if
    assert str(error_estimates(early, X, y)).count("\n") == 5


def test_kernels_of_all_kinds_and_sparse_rows():
    X, y = cloud(5, n=50)
    K = kernel_matrix("rbf", X, X, gamma=2.0)
    options = {"C": 5.0, "tol": 1e-7}
    reference = error_estimates(SVC(gamma=2.0, **options).fit(X, y), X, y)
    given = [
        (SVC(kernel="precomputed", **options), K),
        (SVC(kernel=lambda A, B: kernel_matrix("rbf", A, B, gamma=2.0), **options), X),
        (SVC(gamma=2.0, **options), sp.csr_matrix(X)),
    ]
    for machine, rows in given:
        found = error_estimates(machine.fit(rows, y), rows, y)
        for (name, estimate), (_, wanted) in zip(found, reference, strict=True):
            assert estimate.value == pytest.approx(wanted.value, rel=1e-4), name


def test_rows_count_by_their_weights():
    X, y = cloud(6, n=50)
    weight = np.random.default_rng(0).integers(0, 4, size=50).astype(float)
    for kernel, rows in [("rbf", X), ("precomputed", kernel_matrix("rbf", X, X, gamma=1.0))]:
        machine = SVC(C=np.inf, gamma=1.0, kernel=kernel, tol=1e-6)
        model = machine.fit(rows, y, sample_weight=weight)
        found = error_estimates(model, rows, y, sample_weight=weight)
        share = weight[model.support_].sum() / weight.sum()
        assert float(found.support_vectors) == pytest.approx(share)
        exact = leave_one_out(machine, rows, y, sample_weight=weight).error
        for name in BOUNDS:
            assert float(getattr(found, name)) >= exact, name


def test_what_does_not_fit_is_refused():
    X, y = cloud(0)
    model = SVC(gamma=1.0).fit(X, y)
    with pytest.raises(TypeError, match="model must be a fitted SVC"):
        error_estimates(SVR(), X, y)
    with pytest.raises(ValueError, match="X and y must be those of fit, 40 rows, got 39"):
        error_estimates(model, X[1:], y[1:])
    with pytest.raises(ValueError, match="must be those of fit"):
        error_estimates(model, X, np.arange(40))
