"""The algorithms of the papers beside SMO: nearest points, the published Adatron, perceptrons."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR
from mercer.datasets import load_ionosphere, load_sonar
from mercer.svm import Perceptron

INTERCEPTS = [True, False, "penalized"]

#: The Kernel-Adatron as published: rows in turn, and the plain secant rule.
PUBLISHED = {"solver": "adatron", "order": "cyclic", "mu": 0.1}


def scaled(load):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def values_of(X, y, **parameters):
    model = SVC(tol=1e-4, **parameters).fit(X, y)
    assert model.report_.status == "converged"
    assert model.report_.gap <= 1e-4
    return model.decision_function(X), model


@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("machine", [{"C": np.inf}, {"C": 10.0, "loss": "squared_hinge"}])
@pytest.mark.parametrize("load", [load_sonar, load_ionosphere])
def test_nearest_points_are_the_optimum_of_smo(load, machine, fit_intercept):
    X, y = scaled(load)
    expected, smo = values_of(X, y, fit_intercept=fit_intercept, **machine)
    values, npa = values_of(X, y, fit_intercept=fit_intercept, solver="npa", **machine)
    np.testing.assert_allclose(values, expected, rtol=0.0, atol=5e-3)
    assert npa.report_.method == "npa"
    assert npa.report_.objective == pytest.approx(smo.report_.objective, rel=1e-4)
    history = npa.history_
    assert list(history) == ["objective", "margin", "intercept", "gap"]
    assert (np.diff(history["objective"]) >= -1e-6 * history["objective"][-1]).all()
    assert history["objective"][-1] == pytest.approx(-npa.report_.objective, rel=1e-6)
    assert history["intercept"][-1] == pytest.approx(npa.intercept_[0], abs=1e-3)


def test_nearest_points_by_hand():
    """The hulls are a point and a line; the plane halves the way between."""
    X, y = [[0.0, 1.0], [2.0, -1.0], [2.0, 3.0], [5.0, 0.0]], [0, 1, 1, 1]
    model = SVC(kernel="linear", C=np.inf, solver="npa", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, [[1.0, 0.0]], atol=1e-8)
    np.testing.assert_allclose(model.intercept_, [-1.0], atol=1e-8)
    np.testing.assert_allclose(model.dual_coef_, [[-0.5, 0.25, 0.25]], atol=1e-8)


def test_nearest_points_are_for_margins_without_bounds():
    X, y = [[0.0], [1.0], [0.5], [2.0]], [0, 1, 1, 0]
    with pytest.raises(ValueError, match=r"^solver must be another one than 'npa'"):
        SVC(solver="npa").fit(X, y)
    with pytest.raises(ValueError, match=r"^solver must be 'smo'"):
        SVR(solver="npa").fit(X, y)
    with pytest.warns(ConvergenceWarning, match="diverged"):
        SVC(solver="npa", kernel="linear", C=np.inf).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        limited = SVC(solver="npa", C=np.inf, max_iter=1).fit(X, y)
    assert limited.n_iter_ == [1]


@pytest.mark.parametrize("order", ["cyclic", "random"])
@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_the_published_adatron_has_the_optimum_of_smo(C, fit_intercept, order):
    X, y = scaled(load_sonar)
    expected, _ = values_of(X, y, C=C, fit_intercept=fit_intercept)
    parameters = {**PUBLISHED, "order": order, "C": C, "fit_intercept": fit_intercept}
    values, _ = values_of(X, y, **parameters)
    np.testing.assert_allclose(values, expected, rtol=0.0, atol=5e-3)


def test_the_first_intercepts_are_those_of_the_paper():
    X, y = scaled(load_ionosphere)
    model = SVC(C=np.inf, **{**PUBLISHED, "mu": 5.0}).fit(X, y)
    assert list(model.history_["intercept"][:2]) == [5.0, -5.0]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_published_stop(fit_intercept):
    X, y = scaled(load_sonar)
    parameters = {**PUBLISHED, "C": np.inf, "fit_intercept": fit_intercept, "tol": 1e-2}
    model = SVC(stop="margin", **parameters).fit(X, y)
    assert model.report_.status in ("settled", "converged")
    assert model.fit_status_ == 0
    assert model.history_["margin"][-1] == pytest.approx(1.0, abs=1e-2)
    later = SVC(**{**parameters, "tol": 1e-4}).fit(X, y)
    assert model.n_iter_[0] < later.n_iter_[0]
    np.testing.assert_allclose(
        model.decision_function(X), later.decision_function(X), rtol=0.0, atol=0.2
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("fit_intercept", [False, "penalized"])
def test_perceptrons_have_their_stability(fit_intercept, kernel):
    X, y = scaled(load_sonar)
    if kernel == "linear":
        X = np.hstack([X, 6.0 * np.eye(len(X))])  # which can be separated
    models = {
        rule: Perceptron(
            rule=rule, kernel=kernel, fit_intercept=fit_intercept, tol=0.02, max_iter=20000
        ).fit(X, y)
        for rule in ("perceptron", "minover", "adatron")
    }
    signs = np.where(y == models["adatron"].classes_[1], 1.0, -1.0)
    hard = SVC(C=np.inf, kernel=kernel, fit_intercept=fit_intercept, tol=1e-5).fit(X, y)
    largest = 1.0 / np.hypot(1.0 / hard.margin_, hard.intercept_[0])
    for rule, model in models.items():
        potentials = signs * model.decision_function(X)
        assert potentials.min() == pytest.approx(1.0, abs=0.03 if rule == "adatron" else 1e-6)
        assert model.report_.status == ("converged" if rule == "adatron" else "settled")
        assert model.report_.method == rule
        assert 0.0 < model.margin_ <= 1.03 * largest
    assert models["minover"].margin_ >= 0.98 * largest
    assert models["adatron"].margin_ == pytest.approx(largest, rel=0.03)
    assert models["perceptron"].margin_ <= models["minover"].margin_
    assert models["perceptron"].history_["margin"][-1] == pytest.approx(
        models["perceptron"].margin_, rel=1e-6
    )


def test_perceptrons_know_no_errors():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = Perceptron(rule="perceptron", fit_intercept="penalized", max_iter=20).fit(X, y)
    assert model.margin_ < 0.0
    assert model.fit_status_ == 1
    with pytest.raises(ValueError, match=r"^fit_intercept must be"):
        Perceptron(fit_intercept=True).fit(X, y)


BINARY = ["sonar", "ionosphere", "pima", "breast_cancer_wisconsin_original", "heart_scale"]


@pytest.mark.parametrize("name", [*BINARY, "promotergene"])
def test_all_algorithms_agree_on_real_data(shared_data, name):
    X, y, *_ = shared_data(name)
    rows = ~np.isnan(np.asarray(X, dtype=np.float64)).any(axis=1)
    X, y = StandardScaler().fit_transform(X[rows]), y[rows]
    for solver, loss in (({"solver": "npa"}, "squared_hinge"), (PUBLISHED, "hinge")):
        expected, _ = values_of(X, y, loss=loss)
        values, _ = values_of(X, y, loss=loss, **solver)
        np.testing.assert_allclose(values, expected, rtol=0.0, atol=5e-3)
