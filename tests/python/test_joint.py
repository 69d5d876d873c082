"""Machines of all classes in one problem, and trees of classes."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from oracle import kernel_matrix
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from mercer import SVC, NuSVC
from mercer.model_selection import GridSearchCV, error_estimates, leave_one_out

JOINT = ["weston_watkins", "crammer_singer"]
INTERCEPTS = [True, False, "penalized"]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def full_coefficients(model, n_rows):
    """Return the table of coefficients, a row for each training row."""
    beta = np.zeros((n_rows, len(model.classes_)))
    dual_coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    beta[model.support_] = dual_coef.T
    return beta


def largest_violation(model, X, y, cost, gamma):
    """Return the largest gap of a row, recomputed from coefficients and intercepts in numpy."""
    K, beta = kernel_matrix("rbf", X, X, gamma), full_coefficients(model, len(X))
    margin = 2.0 if model.multiclass == "weston_watkins" else 1.0
    own = y[:, None] == model.classes_
    slope = -(K @ beta + model.intercept_ - margin * own)
    if model.multiclass == "weston_watkins":
        lower, upper = np.where(own, 0.0, -cost[:, None]), np.where(own, np.inf, 0.0)
    else:
        lower, upper = np.where(own, 0.0, -np.inf), np.where(own, cost[:, None], 0.0)
    assert (lower <= beta).all()
    assert (beta <= upper).all()
    up = np.where(beta < upper, slope, -np.inf).max(axis=1)
    return (up - np.where(beta > lower, slope, np.inf).min(axis=1)).max()


@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("multiclass", JOINT)
def test_the_conditions_hold(wine, multiclass, fit_intercept):
    X, y = wine
    X, y = X[::2], y[::2]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    model = SVC(
        C=2.0,
        gamma=0.1,
        multiclass=multiclass,
        fit_intercept=fit_intercept,
        tol=1e-5,
        class_weight={0: 2.0},
    )
    model.fit(X, y, weight)
    cost = 2.0 * weight * np.where(y == 0, 2.0, 1.0)
    gap = largest_violation(model, X, y, cost, 0.1)
    assert gap <= 1.01e-5
    assert model.report_.status == "converged"
    assert model.report_.gap <= 1e-5
    beta = full_coefficients(model, len(X))
    np.testing.assert_allclose(beta.sum(axis=1), 0.0, atol=1e-12)
    if fit_intercept is True:
        np.testing.assert_allclose(beta.sum(axis=0), 0.0, atol=1e-12)
        assert model.intercept_.sum() == pytest.approx(0.0, abs=1e-12)
    elif fit_intercept == "penalized":
        np.testing.assert_allclose(model.intercept_, beta.sum(axis=0), atol=1e-12)
    else:
        assert not model.intercept_.any()
    primal = 0.5 * np.sum(beta * (kernel_matrix("rbf", X, X, 0.1) @ beta))
    if fit_intercept == "penalized":
        primal += 0.5 * np.square(model.intercept_).sum()
    values = kernel_matrix("rbf", X, X, 0.1) @ beta + model.intercept_
    margin = 2.0 if multiclass == "weston_watkins" else 1.0
    errors = np.maximum(0.0, margin - (values[np.arange(len(y)), y][:, None] - values))
    errors[np.arange(len(y)), y] = 0.0
    losses = errors.sum(axis=1) if multiclass == "weston_watkins" else errors.max(axis=1)
    primal += cost @ losses
    found = sum(machine.primal_objective for machine in model.report_)
    assert found == pytest.approx(primal, rel=1e-6)
    assert 0.0 <= model.report_.duality_gap <= 1e-4 * primal


@pytest.mark.parametrize("multiclass", JOINT)
def test_weights_are_repeated_rows_and_sparse_is_dense(multiclass):
    X, y = load_iris(return_X_y=True)
    weight = 1 + np.arange(len(y)) % 3
    model = SVC(multiclass=multiclass, kernel="linear", tol=1e-7)
    weighted = model.fit(X, y, weight).decision_function(X)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(repeated.decision_function(X), weighted, atol=1e-5)
    sparse = clone(model).fit(sp.csr_array(X), y, weight)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), weighted, atol=1e-5)
    np.testing.assert_allclose(X @ model.coef_.T + model.intercept_, weighted, atol=1e-9)
    precomputed = clone(model).set_params(kernel="precomputed").fit(X @ X.T, y, weight)
    np.testing.assert_allclose(precomputed.decision_function(X @ X.T), weighted, atol=1e-5)
    assert (model.predict(X) == y).mean() > 0.95
    np.testing.assert_array_equal(model.predict(X), weighted.argmax(axis=1))
    lead = np.diff(np.sort(weighted, axis=1)[:, -2:])[:, 0]
    margin = 2.0 if multiclass == "weston_watkins" else 1.0
    np.testing.assert_array_equal(model.reject(X, 0.5), lead < 0.5 * margin)


def test_two_classes_are_one_machine():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    for multiclass, factor in zip(JOINT, (1.0, 2.0), strict=True):
        joint = SVC(C=0.7, multiclass=multiclass).fit(X, y)
        plain = SVC(C=0.7 * factor).fit(X, y)
        np.testing.assert_array_equal(joint.decision_function(X), plain.decision_function(X))
        np.testing.assert_array_equal(joint.predict(X), plain.predict(X))


@pytest.mark.parametrize("multiclass", JOINT)
def test_hard_margins(multiclass):
    X, y = load_iris(return_X_y=True)
    model = SVC(C=np.inf, gamma=1.0, multiclass=multiclass, tol=1e-5).fit(X[::2] + 1e-3, y[::2])
    values = model.decision_function(X[::2] + 1e-3)
    lead = np.diff(np.sort(values, axis=1)[:, -2:])[:, 0]
    margin = 2.0 if multiclass == "weston_watkins" else 1.0
    assert lead.min() == pytest.approx(margin, abs=1e-4)
    with pytest.warns(ConvergenceWarning, match="diverged"):
        SVC(C=np.inf, kernel="linear", multiclass=multiclass).fit(
            [[0.0], [1.0], [2.0], [3.0], [1.0]], [0, 1, 2, 0, 2]
        )


@pytest.mark.parametrize("multiclass", [*JOINT, [0, [1, 2]]])
def test_limits_copies_and_searches(wine, multiclass):
    X, y = wine
    model = SVC(multiclass=multiclass, max_iter=2)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.fit_status_ == 1
    model.set_params(max_iter=-1).fit(X, y)
    values = model.decision_function(X)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(X), values)
    np.testing.assert_array_equal(copy.predict(X), values.argmax(axis=1))
    search = GridSearchCV(model, {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    with pytest.raises(ValueError, match="estimator must be"):
        leave_one_out(model, X, y)
    with pytest.raises(ValueError, match="model must be"):
        error_estimates(model, X, y)


def test_what_is_not_offered_is_refused(wine):
    X, y = wine
    for parameters, name in [
        ({"loss": "squared_hinge"}, "loss"),
        ({"solver": "adatron"}, "solver"),
        ({"probability": True}, "probability"),
    ]:
        with pytest.raises(ValueError, match=rf"^{name} must be"):
            SVC(multiclass="weston_watkins", **parameters).fit(X, y)
    with pytest.raises(ValueError, match=r"^multiclass must be"):
        NuSVC(multiclass="crammer_singer").fit(X, y)
    for tree in [[0, 1], [0, 1, [2, 3]], [0, [1, 1]], [0, [1]], [[0, 1], [2, "a"]]]:
        with pytest.raises(ValueError, match=r"^multiclass must be a tree"):
            SVC(multiclass=tree).fit(X, y)
    with pytest.raises(ValueError, match=r"^probability must be"):
        SVC(multiclass=[0, [1, 2]], probability=True).fit(X, y)


def test_a_tree_of_labels():
    """The two-stage classifier of the tutorial: one class first, then each of the others."""
    X, y = load_wine(return_X_y=True)
    X, names = StandardScaler().fit_transform(X), np.array(["L", "R", "W", "AT"])[y]
    # Some of R are a class of their own.
    names[np.flatnonzero(names == "R")[::3]] = "AT"
    X[names == "AT", 0] += 3.0
    model = SVC(multiclass=["AT", ["L", "R", "W"]], tol=1e-6).fit(X, names)
    assert model.dual_coef_.shape[0] == len(model.intercept_) == len(model.report_) == 4
    first = SVC(tol=1e-6).fit(X, names != "AT")
    rest = names != "AT"
    stage = SVC(multiclass="ovr", gamma=model._fit_kernel.gamma, tol=1e-6)
    stage.fit(X[rest], names[rest])
    values = model.set_params(decision_function_shape="ovo").decision_function(X)
    np.testing.assert_allclose(values[:, 0], first.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(values[:, 1:], stage.decision_function(X), atol=1e-5)
    expected = np.where(values[:, 0] >= 0.0, stage.predict(X), "AT")
    np.testing.assert_array_equal(model.predict(X), expected)
    leads = model.set_params(decision_function_shape="ovr").decision_function(X)
    np.testing.assert_array_equal(model.classes_[leads.argmax(axis=1)], expected)
    assert (leads.max(axis=1) > 0.0).all()
    claimed = (values[:, 1:] > 0.0).any(axis=1)
    np.testing.assert_array_equal(model.reject(X), (values[:, 0] >= 0.0) & ~claimed)
    nu = NuSVC(nu=0.1, multiclass=["AT", ["L", "R", "W"]]).fit(X, names)
    assert (nu.predict(X) == names).mean() > 0.9
