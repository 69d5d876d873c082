"""Optimality of every machine from its definition alone: what it minimises equals its dual.

No feasible point of the dual is above any point of the primal, so that where both meet, both are
optimal. Everything is recomputed here from the documented programmes and the fitted attributes.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import kernel_matrix
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.preprocessing import StandardScaler
from variants import VARIANTS, machine, target

from mercer import SVC, SVDD, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM


def _beta(model, n):
    beta = np.zeros(n)
    dual_coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    beta[model.support_] = dual_coef[0]
    return beta


def _loss(model, slack, cost):
    """The sum of all losses, and the loss' part of the dual for coefficients of this size."""
    slack = np.maximum(0.0, slack)
    if "squared" in model.loss:
        return (cost * slack**2).sum(), lambda beta: (beta**2 / (4.0 * cost)).sum()
    if np.isinf(cost).any():
        assert slack.max() <= 1e-5
        return 0.0, lambda beta: 0.0
    return (cost * slack).sum(), lambda beta: 0.0


def _assert_bounds(model, beta, cost):
    if "squared" not in getattr(model, "loss", "hinge"):
        assert (np.abs(beta) <= cost * (1.0 + 1e-12)).all()


def _norm(model, beta, K):
    """|w|^2, with b^2 where b is penalised; and that the intercept is what it should be."""
    kind = getattr(model, "fit_intercept", True)
    squared = beta @ K @ beta
    if kind == "penalized":
        assert model.intercept_[0] == pytest.approx(beta.sum(), rel=1e-9, abs=1e-9)
        return squared + beta.sum() ** 2
    if kind:
        assert abs(beta.sum()) <= 1e-9 * (1.0 + np.abs(beta).sum())
    else:
        assert model.intercept_[0] == 0.0
    return squared


def _classifier(model, K, y, C, weight):
    beta = _beta(model, len(y))
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    cost = C * weight
    assert (signs * beta >= 0.0).all()
    _assert_bounds(model, beta, cost)
    norm = _norm(model, beta, K)
    slack = 1.0 - signs * (K @ beta + model.intercept_[0])
    if isinstance(model, NuSVC):
        losses, ridge = (cost * np.maximum(0.0, slack)).sum(), lambda beta: 0.0
    else:
        losses, ridge = _loss(model, slack, cost)
    return norm / 2.0 + losses, signs @ beta - norm / 2.0 - ridge(beta)


def _svc(model, K, y, weight):
    primal, dual = _classifier(model, K, y, model.C, weight)
    return primal, dual, -dual, primal


def _nu_svc(model, K, y, weight):
    # Divided by the margin r, it is an SVC with C = 1 / r; the sums tell r.
    beta = _beta(model, len(y))
    r = model.nu * weight.sum() / np.abs(beta).sum()
    for label in model.classes_:
        assert r * np.abs(beta[y == label]).sum() == pytest.approx(
            model.nu / 2.0 * weight.sum(), rel=1e-9
        )
    primal, dual = _classifier(model, K, y, 1.0 / r, weight)
    norm = r**2 * (beta @ K @ beta)
    # The programme itself is that of r f, with r for 1.
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    excess = np.maximum(0.0, 1.0 - signs * (K @ beta + model.intercept_[0]))
    itself = norm / 2.0 - model.nu * weight.sum() * r + r * (weight @ excess)
    return primal, dual, norm / 2.0, itself


def _svr(model, K, y, weight):
    beta = _beta(model, len(y))
    cost = model.C * weight
    _assert_bounds(model, beta, cost)
    norm = _norm(model, beta, K)
    residual = np.abs(y - K @ beta - model.intercept_[0])
    losses, ridge = _loss(model, residual - model.epsilon, cost)
    dual = y @ beta - model.epsilon * np.abs(beta).sum() - norm / 2.0 - ridge(beta)
    return norm / 2.0 + losses, dual, -dual, norm / 2.0 + losses


def _nu_svr(model, K, y, weight):
    beta = _beta(model, len(y))
    _assert_bounds(model, beta, model.C * weight)
    norm = _norm(model, beta, K)
    assert np.abs(beta).sum() <= model.C * model.nu * weight.sum() * (1.0 + 1e-9)
    assert model.epsilon_ >= 0.0
    excess = np.maximum(0.0, np.abs(y - K @ beta - model.intercept_[0]) - model.epsilon_)
    tube = model.nu * model.epsilon_ * weight.sum()
    dual = y @ beta - norm / 2.0
    primal = norm / 2.0 + model.C * (tube + weight @ excess)
    return primal, dual, -dual, primal


def _one_class(model, K, y, weight):
    total = model.nu * weight.sum()
    beta = _beta(model, len(K))
    _assert_bounds(model, beta, weight)
    assert (beta >= 0.0).all()
    assert beta.sum() == pytest.approx(total, rel=1e-9)
    rho = model.offset_[0]
    cost = weight / total if "squared" in model.loss else weight
    losses, ridge = _loss(model, rho - K @ beta, cost)
    norm = beta @ K @ beta
    dual = -norm / 2.0 - ridge(beta)
    primal = norm / 2.0 + losses - total * rho
    return primal, dual, -dual, primal


def _svdd(model, K, y, weight):
    cost = weight / (model.nu * weight.sum())
    beta = _beta(model, len(K))
    _assert_bounds(model, beta, cost)
    assert (beta >= 0.0).all()
    assert beta.sum() == pytest.approx(1.0, rel=1e-9)
    norm = beta @ K @ beta
    assert model.intercept_[0] == pytest.approx(-norm, rel=1e-6)
    squared_radius = -model.offset_[0]
    assert model.radius_ == pytest.approx(np.sqrt(max(0.0, squared_radius)))
    squared_distances = np.diagonal(K) - 2.0 * K @ beta + norm
    losses, ridge = _loss(model, squared_distances - squared_radius, cost)
    dual = np.diagonal(K) @ beta - norm - ridge(beta)
    primal = squared_radius + losses
    return primal, dual, -dual / 2.0, primal / 2.0


PROGRAMMES = {
    SVC: _svc,
    NuSVC: _nu_svc,
    SVR: _svr,
    NuSVR: _nu_svr,
    OneClassSVM: _one_class,
    SVDD: _svdd,
}


def _check(model, K, y, weight, rel):
    primal, dual, objective, itself = PROGRAMMES[type(model)](model, K, y, weight)
    assert model.report_.status == "converged"
    assert primal - dual <= rel * max(abs(primal), abs(dual))
    assert primal - dual >= -1e-9 * max(abs(primal), abs(dual))
    report = model.report_
    assert report.objective == pytest.approx(objective, rel=1e-6, abs=1e-9)
    assert report.primal_objective == pytest.approx(itself, rel=rel, abs=1e-8)
    assert report.duality_gap >= 0.0
    size = abs(report.primal_objective) + abs(report.objective)
    assert report.primal_objective + report.objective == pytest.approx(
        report.duality_gap, abs=1e-12 * size
    )
    assert report.duality_gap <= rel * size + 1e-9
    beta = _beta(model, len(K))
    assert report[0].squared_norm == pytest.approx(beta @ K @ beta, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian"])
@pytest.mark.parametrize("name", VARIANTS)
def test_primal_meets_dual_on_real_data(name, kernel, weighted):
    model = machine(name, kernel=kernel, gamma=0.05, coef0=1.0, tol=1e-8)
    X, y = load_diabetes(return_X_y=True) if "SVR" in name else load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[:200], y[:200] / 50.0 if "SVR" in name else y[:200]
    if name.startswith("OneClassSVM") and kernel == "linear":
        X = X + 5.0  # else the origin lies among the rows, and w = 0 is best
    weight = np.ones(len(X))
    if weighted:
        weight = np.random.default_rng(0).uniform(0.1, 3.0, size=len(X))
    model.fit(X, y, sample_weight=weight if weighted else None)
    _check(model, kernel_matrix(kernel, X, X, gamma=0.05, coef0=1.0), y, weight, rel=1e-5)


@given(
    name=st.sampled_from(list(VARIANTS)),
    n=st.integers(4, 24),
    seed=st.integers(0, 2**32 - 1),
    kernel=st.sampled_from(["rbf", "laplacian"]),
    strength=st.sampled_from([0.02, 0.2, 5.0]),
    shrinking=st.booleans(),
    duplicates=st.booleans(),
)
@settings(max_examples=400, deadline=None, derandomize=True)
def test_primal_meets_dual_on_any_small_data(
    name, n, seed, kernel, strength, shrinking, duplicates
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(1)
    if duplicates and "hard" not in name:
        X = X[rng.integers(n, size=n)]
    labels = rng.integers(2, size=n)
    labels[:2] = [0, 1]
    weight = rng.uniform(0.1, 3.0, size=n)
    model = machine(name, kernel=kernel, gamma=0.5, tol=1e-8, shrinking=shrinking)
    if hasattr(model, "C") and "hard" not in name:
        model.set_params(C=strength)
    if isinstance(model, NuSVC):
        share = 2.0 * min(weight[labels == label].sum() for label in (0, 1)) / weight.sum()
        model.set_params(nu=share * (0.1 + 0.9 * min(strength, 1.0)))
    elif hasattr(model, "nu"):
        model.set_params(nu=min(strength, 1.0))
    numbers = rng.normal(size=n).round(2)
    model.fit(X, target(model, labels, numbers), sample_weight=weight)
    y = numbers if "SVR" in name else labels
    if isinstance(model, NuSVC) and model.report_.objective < 1e-12:
        # w = 0: there is no margin to divide by.
        np.testing.assert_allclose(model.decision_function(X), model.intercept_[0], atol=1e-5)
        return
    _check(model, kernel_matrix(kernel, X, X, gamma=0.5), y, weight, rel=1e-5)


def test_the_duality_gap_is_that_of_the_objectives_far_from_the_optimum():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    K = kernel_matrix("rbf", X, X, gamma=0.05)
    for tol in [1.0, 1e-1, 1e-2]:
        for C in [0.1, 10.0]:
            model = SVC(C=C, gamma=0.05, tol=tol).fit(X, y)
            primal, dual, _, _ = _svc(model, K, y, np.ones(len(y)))
            report = model.report_
            assert report.primal_objective == pytest.approx(primal, rel=1e-6)
            assert report.duality_gap == pytest.approx(primal - dual, rel=1e-3, abs=1e-6 * primal)
            assert report.duality_gap > 0.0


def test_objectives_of_several_machines_are_added_up():
    X, y = load_wine(return_X_y=True)
    model = SVC().fit(StandardScaler().fit_transform(X), y)
    assert model.report_.primal_objective == sum(r.primal_objective for r in model.report_)
    assert model.report_.duality_gap == sum(r.duality_gap for r in model.report_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_primal_objective_is_infinite_where_there_is_none():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 0, 1]
    model = SVC(C=np.inf, kernel="linear").fit(X, y)
    assert model.report_.status == "diverged"
    assert model.report_.primal_objective == np.inf


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_objectives_of_linear_machines(loss):
    X, y = load_breast_cancer(return_X_y=True)
    X, signs = StandardScaler().fit_transform(X), np.where(y == 1, 1.0, -1.0)
    model = LinearSVC(loss=loss, C=0.5, tol=1e-6, max_iter=10_000).fit(X, y)
    slack = np.maximum(0.0, 1.0 - signs * model.decision_function(X))
    losses = slack.sum() if loss == "hinge" else (slack**2).sum()
    norm = (model.coef_**2).sum() + model.intercept_[0] ** 2
    report = model.report_
    assert report.primal_objective == pytest.approx(norm / 2.0 + 0.5 * losses, rel=1e-5)
    assert 0.0 <= report.duality_gap <= 1e-4 * report.primal_objective
    assert report.primal_objective + report.objective == pytest.approx(
        report.duality_gap, abs=1e-12 * report.primal_objective
    )
    assert model.margin_ == pytest.approx(1.0 / np.linalg.norm(model.coef_))


def test_margins():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    K = kernel_matrix("rbf", X, X, gamma=0.05)
    for model in [SVC(gamma=0.05), SVC(gamma=0.05, fit_intercept="penalized"), NuSVC(gamma=0.05)]:
        beta = _beta(model.fit(X, y), len(y))
        assert model.margin_ == pytest.approx(1.0 / np.sqrt(beta @ K @ beta), rel=1e-5)
    model = OneClassSVM(gamma=0.05).fit(X)
    beta = _beta(model, len(X))
    assert model.margin_ == pytest.approx(model.offset_[0] / np.sqrt(beta @ K @ beta), rel=1e-5)
    model = SVC(kernel="linear").fit(X[:, :4], np.arange(len(X)) % 3)
    np.testing.assert_allclose(model.margin_, 1.0 / np.linalg.norm(model.coef_, axis=1), rtol=1e-4)
    # The closest rows of two separable classes are as far from the boundary as the margin.
    model = SVC(C=np.inf, kernel="linear").fit([[0.0], [1.0], [5.0], [9.0]], [0, 0, 1, 1])
    assert model.margin_ == pytest.approx(2.0)
    with pytest.raises(AttributeError, match="margin_ is only available for a fitted model"):
        SVC().margin_  # noqa: B018
