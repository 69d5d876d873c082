"""LinearSVC and LinearSVR: scikit-learn's optimum, attributes and refusals."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import make_classification, make_regression

from mercer import LinearSVC, LinearSVR


def classes(n_classes=2, n=400):
    return make_classification(
        n, 12, n_informative=6, n_classes=n_classes, flip_y=0.1, class_sep=0.7, random_state=3
    )


def numbers(n=400):
    X, y = make_regression(n, 8, noise=20.0, random_state=4)
    return X, y / y.std()


def primal(model, coef, intercept, X, target, cost):
    """The primal objective, written out."""
    f = X @ coef + intercept
    if isinstance(model, LinearSVC):
        t = np.maximum(0.0, 1.0 - target * f)
    else:
        t = np.maximum(0.0, np.abs(target - f) - model.epsilon)
    v = intercept / model.intercept_scaling
    loss = t**2 if model.loss.startswith("squared") else t
    return 0.5 * (coef @ coef + v * v) + (cost * loss).sum()


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("scaling", [1.0, 5.0, None])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_optimum_of_classification_is_scikit_learns(loss, scaling, n_classes):
    X, y = classes(n_classes)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    options = {"loss": loss, "C": 0.3, "class_weight": {0: 2.0}}
    options |= {"fit_intercept": scaling is not None, "intercept_scaling": scaling or 1.0}
    model = LinearSVC(tol=1e-6, **options).fit(X, y, weight)
    other = svm.LinearSVC(tol=1e-8, max_iter=200000, dual=True, random_state=0, **options)
    other.fit(X, y, weight)
    assert model.report_.status == "converged"
    assert model.report_.gap <= 1e-6
    assert model.coef_.shape == other.coef_.shape
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-3)
    for k, coef in enumerate(model.coef_):
        positive = 1 if n_classes == 2 else k
        target = np.where(y == positive, 1.0, -1.0)
        # Of more than two classes, its weight counts in the machine of a class only.
        heavy = (y == 0) & (n_classes == 2 or k == 0)
        cost = 0.3 * weight * np.where(heavy, 2.0, 1.0)
        best = np.broadcast_to(other.intercept_, len(other.coef_))[k]
        found = primal(model, coef, model.intercept_[k], X, target, cost)
        expected = primal(model, other.coef_[k], best, X, target, cost)
        assert found <= expected * (1.0 + 1e-6)
    dual = sum(machine.objective for machine in model.report_)
    assert dual < 0.0
    np.testing.assert_array_equal(model.predict(X), model.classes_[_winners(model, X)])


def _winners(model, X):
    values = model.decision_function(X)
    return (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("scaling", [1.0, 3.0, None])
def test_the_optimum_of_regression_is_scikit_learns(loss, epsilon, scaling):
    X, y = numbers()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    options = {"loss": loss, "C": 0.5, "epsilon": epsilon}
    options |= {"fit_intercept": scaling is not None, "intercept_scaling": scaling or 1.0}
    model = LinearSVR(tol=1e-6, **options).fit(X, y, weight)
    other = svm.LinearSVR(tol=1e-8, max_iter=200000, dual=True, random_state=0, **options)
    other.fit(X, y, weight)
    assert model.report_.status == "converged"
    assert model.coef_.shape == other.coef_.shape
    best = np.atleast_1d(other.intercept_)[0]
    found = primal(model, model.coef_, model.intercept_[0], X, y, 0.5 * weight)
    expected = primal(model, other.coef_, best, X, y, 0.5 * weight)
    assert found <= expected * (1.0 + 1e-6)
    assert model.report_.method == "newton"
    # No duality gap: the dual objective is minus the primal one.
    np.testing.assert_allclose(-model.report_.objective, found, rtol=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_sparse_rows_of_any_index_and_float32_give_the_same(loss):
    X, y = classes()
    X[np.abs(X) < 0.8] = 0.0
    dense = LinearSVC(loss=loss, tol=1e-6).fit(X, y)
    rows = sp.csr_matrix(X)
    wide = rows.copy()
    wide.indices, wide.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    for other in (rows, wide):
        model = LinearSVC(loss=loss, tol=1e-6).fit(other, y)
        np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-5)
        np.testing.assert_allclose(
            model.decision_function(other), dense.decision_function(X), atol=1e-5
        )
    single = X.astype(np.float32)
    model = LinearSVC(loss=loss, tol=1e-5).fit(single, y)
    np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-4)
    assert model.decision_function(single).dtype == np.float32


def text(n=300, d=3000, values=None):
    """More features than equations are made of."""
    return sp.random(n, d, density=0.01, format="csr", random_state=0, data_rvs=values)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_features_go_one_coefficient_at_a_time(loss, dense, n_classes):
    X, y = text(), np.arange(300) % n_classes
    rows = X.toarray() if dense else X
    model = LinearSVC(loss=loss, tol=1e-7, C=2.0).fit(rows, y)
    other = svm.LinearSVC(loss=loss, tol=1e-10, C=2.0, dual=True, max_iter=100000).fit(X, y)
    assert model.report_.method == "descent"
    assert model.report_.gap <= 1e-7
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, other.intercept_, atol=1e-5)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_regressions_of_many_features_go_one_coefficient_at_a_time(loss, epsilon):
    X = text()
    y = np.asarray(X[:, :300].sum(axis=1)).ravel() + np.random.default_rng(0).normal(size=300)
    options = {"loss": loss, "epsilon": epsilon}
    model = LinearSVR(tol=1e-7, **options).fit(X, y)
    other = svm.LinearSVR(tol=1e-10, dual=True, max_iter=100000, **options).fit(X, y)
    assert model.report_.method == "descent"
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-5)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_where_sweeps_do_not_end_newtons_method_goes_on(loss):
    # A common feature that is large beside the others makes all coefficients depend on each other.
    X = sp.hstack([text(), sp.csr_matrix(np.full((300, 1), 30.0))]).tocsr()
    y = np.arange(300) % 2
    model = LinearSVC(loss=loss, C=1.0, tol=1e-7, max_iter=100000).fit(X, y)
    target = np.where(y == 1, 1.0, -1.0)
    found = primal(model, model.coef_[0], model.intercept_[0], X, target, 1.0)
    assert model.report_.status == "converged"
    assert model.report_.iterations > 400  # more than sweeps are given
    np.testing.assert_allclose(-model.report_.objective, found, rtol=1e-6)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LinearSVC(penalty="l1"), "penalty='l1' is not supported"),
        (LinearSVC(multi_class="crammer_singer"), "multi_class='crammer_singer' is not supported"),
        (LinearSVC(loss="hinge", dual=False), "dual=False"),
        (LinearSVC(loss="squared"), "loss must be"),
        (LinearSVC(C=0.0), "C must be"),
        (LinearSVC(intercept_scaling=0.0), "intercept_scaling must be"),
        (LinearSVC(dual="no"), "dual must be"),
        (LinearSVC(max_iter=-1), "max_iter must be"),
        (LinearSVR(dual=False), "dual=False"),
        (LinearSVR(epsilon=-1.0), "epsilon must be"),
    ],
)
def test_what_is_refused(model, message):
    X, y = classes(n=20)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_running_out_of_iterations_warns():
    X, y = classes()
    with pytest.warns(UserWarning, match="failed to converge"):
        model = LinearSVC(max_iter=0).fit(X, y)
    assert model.report_.status == "max_iterations"
