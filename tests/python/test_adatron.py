"""The Kernel-Adatron beside SMO, its epochs, and the path of widths."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from variants import SQUARED_TUBE

from mercer import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM, _core
from mercer.datasets import load_ionosphere, load_sonar
from mercer.kernels import RBF
from mercer.model_selection import sigma_path

INTERCEPTS = [True, False, "penalized"]
HINGES = ["hinge", "squared_hinge"]
TUBES = ["epsilon_insensitive", SQUARED_TUBE]
BINARY = [
    "sonar",
    "ionosphere",
    "pima",
    "breast_cancer_wisconsin_original",
    "heart_scale",
    "promotergene",
    "svmguide1",
    "spam",
]
REGRESSION = ["mpg", "boston_housing", "space_ga", "abalone"]


def scaled(X):
    return StandardScaler().fit_transform(np.asarray(X, dtype=np.float64))


def complete(X, y):
    rows = ~np.isnan(np.asarray(X, dtype=np.float64)).any(axis=1)
    return scaled(X[rows]), y[rows]


def assert_agree(machine, X, y=None):
    """Both solvers find the same function, to 5e-3 at tol=1e-4."""
    machine.set_params(tol=1e-4)
    values = []
    for solver in ("smo", "adatron"):
        machine.set_params(solver=solver).fit(X, y)
        assert machine.report_.status == "converged"
        decide = getattr(machine, "decision_function", machine.predict)
        values.append(decide(X))
    np.testing.assert_allclose(values[1], values[0], rtol=0.0, atol=5e-3)


@pytest.mark.parametrize("loss", HINGES)
@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("name", BINARY)
def test_classifiers_agree_on_real_data(shared_data, name, loss, fit_intercept):
    X, y, *_ = shared_data(name)
    X, y = complete(X, y)
    for C in (0.1, 1.0):
        assert_agree(SVC(C=C, loss=loss, fit_intercept=fit_intercept), X, y)


@pytest.mark.parametrize("loss", TUBES)
@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("name", REGRESSION)
def test_regressions_agree_on_real_data(shared_data, name, loss, fit_intercept):
    X, y = shared_data(name)
    assert_agree(SVR(loss=loss, fit_intercept=fit_intercept), scaled(X), y)


@pytest.mark.parametrize("loss", HINGES)
@pytest.mark.parametrize("detector", [OneClassSVM, SVDD])
@pytest.mark.parametrize("name", ["pima", "spam"])
def test_detectors_agree_on_real_data(shared_data, name, detector, loss):
    X, _ = shared_data(name)
    assert_agree(detector(nu=0.2, loss=loss), scaled(X))


@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("C", [0.5, 10.0, np.inf])
@pytest.mark.parametrize("loss", HINGES)
@pytest.mark.parametrize("load", [load_sonar, load_ionosphere])
def test_classifiers_agree(load, loss, C, fit_intercept):
    X, y = load(return_X_y=True)
    assert_agree(SVC(C=C, loss=loss, fit_intercept=fit_intercept), scaled(X), y)


@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", TUBES)
def test_regressions_agree(loss, fit_intercept):
    X, _ = load_ionosphere(return_X_y=True)
    target = np.sin(X[:, 2]) + X[:, 4] + 3.0
    assert_agree(SVR(C=5.0, loss=loss, fit_intercept=fit_intercept), X, target)


@pytest.mark.parametrize("loss", HINGES)
@pytest.mark.parametrize("detector", [OneClassSVM, SVDD])
def test_detectors_agree(detector, loss):
    X, _ = load_sonar(return_X_y=True)
    assert_agree(detector(nu=0.2, loss=loss), scaled(X))


@pytest.mark.parametrize("eta", [0.5, 1.0, 1.5, 1.9])
@pytest.mark.parametrize("fit_intercept", [False, "penalized"])
def test_the_objective_never_falls(fit_intercept, eta):
    X, y = load_ionosphere(return_X_y=True)
    model = SVC(solver="adatron", eta=eta, fit_intercept=fit_intercept, C=2.0).fit(X, y)
    history = model.history_
    assert list(history) == ["objective", "margin", "intercept", "gap"]
    assert all(len(values) == model.n_iter_[0] for values in history.values())
    # Up to the rounding of kernel rows in float32.
    assert np.diff(history["objective"]).min() >= -1e-6 * history["objective"][-1]
    assert history["gap"][-1] <= 1.05e-3
    assert history["objective"][-1] == pytest.approx(-model.report_.objective, rel=1e-6)
    assert history["intercept"][-1] == pytest.approx(model.intercept_[0], abs=1e-9)


def mirror_symmetry(seed, n_patterns=200, n_inputs=30):
    """Strings of signs, of which those of the second class are their own mirror images."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n_patterns)
    X = random.choice([-1.0, 1.0], (n_patterns, n_inputs))
    half = n_inputs // 2
    X[y == 1, half:] = X[y == 1, :half][:, ::-1]
    return X, y


@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("seed", range(3))
def test_steps_to_the_top_need_the_fewest_epochs(seed, C, fit_intercept):
    X, y = mirror_symmetry(seed)

    def epochs(eta):
        machine = SVC(C=C, kernel=RBF(sigma=7.0), fit_intercept=fit_intercept)
        machine.set_params(solver="adatron", eta=eta)
        return machine.fit(X, y).n_iter_[0]

    assert epochs(1.0) < min(epochs(0.2), epochs(1.9))


@pytest.mark.parametrize("eta", [0, -1, 2, 2.5, float("nan")])
@pytest.mark.parametrize("machine", [SVC, SVR, OneClassSVM, SVDD])
def test_eta_out_of_range_is_refused(machine, eta):
    X, y = load_sonar(return_X_y=True)
    with pytest.raises(ValueError, match="eta must be above 0 and below 2") as caught:
        machine(solver="adatron", eta=eta).fit(X, y)
    assert str(caught.value).count("eta must be") == 1


def test_solver_is_one_of_two():
    X, y = load_sonar(return_X_y=True)
    with pytest.raises(
        ValueError, match="solver must be 'smo', 'interior', 'adatron' or 'npa', got 'newton'"
    ):
        SVC(solver="newton").fit(X, y)
    with pytest.raises(ValueError, match="solver must be 'smo' for a kernel that need not be"):
        SVC(solver="adatron", kernel="sigmoid").fit(X, y)
    for machine in (NuSVC, NuSVR):
        assert not {"solver", "eta"} & set(machine().get_params())


def test_settings_of_the_core_are_known_by_name():
    with pytest.raises(TypeError, match="unexpected keyword argument 'tolerance'"):
        _core.Settings(tolerance=1.0)
    with pytest.raises(TypeError, match=r"missing .* required keyword arguments: 'solver', 'eta'"):
        _core.Settings(tol=1.0)


def test_history_is_for_adatron_and_for_each_machine():
    X, y = load_sonar(return_X_y=True)
    y = y + (X[:, 0] > 0.05)
    model = SVC(solver="adatron").fit(X, y)
    assert [len(history["gap"]) for history in model.history_] == list(model.n_iter_)
    assert not hasattr(model.set_params(solver="smo").fit(X, y), "history_")
    assert np.isnan(SVR(solver="adatron").fit(X, y).history_["margin"]).all()


@pytest.mark.parametrize("limit", [{"max_iter": 2}, {"max_time": 1e-6}])
def test_a_limit_leaves_a_usable_model(limit):
    X, y = load_ionosphere(return_X_y=True)
    machine = SVC(solver="adatron", tol=1e-8, **limit)
    with pytest.warns(ConvergenceWarning, match="Solver terminated early"):
        model = machine.fit(X, y)
    assert model.fit_status_ == 1
    assert np.isfinite(model.decision_function(X)).all()
    assert model.dual_coef_.sum() == pytest.approx(0.0, abs=1e-9)


def test_threads_do_not_change_the_result():
    X, y = load_ionosphere(return_X_y=True)
    one, two = (SVC(solver="adatron", n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.dual_coef_, two.dual_coef_)
    assert np.array_equal(one.history_["objective"], two.history_["objective"])


def test_one_digit_against_the_rest(shared_data):
    X, y, X_test, y_test = shared_data("usps")
    machine = SVC(C=np.inf, kernel=RBF(sigma=6.5), fit_intercept=False, multiclass="ovr")
    model = machine.set_params(solver="adatron").fit(X, y)
    claims = model.decision_function(X_test) > 0.0
    errors = claims != (y_test[:, None] == model.classes_)
    assert errors.sum() <= 205


def test_going_on_is_cheaper_than_beginning_again():
    X, y = load_sonar(return_X_y=True)
    path, again = (sigma_path(X, y, restart=restart) for restart in (False, True))
    assert path.epochs.sum() < again.epochs.sum()
    # The solutions are the same.
    np.testing.assert_allclose(path.bounds, again.bounds, rtol=5e-3)
    np.testing.assert_array_equal(path.widths, again.widths)


@pytest.mark.parametrize("loss", HINGES)
@pytest.mark.parametrize("C", [2.0, np.inf])
def test_the_estimate_is_that_of_margin_and_losses(C, loss):
    X, y = load_sonar(return_X_y=True)
    path = sigma_path(X, y, sigmas=[0.5], C=C, loss=loss, tol=1e-6)
    kernel = RBF(sigma=0.5)
    model = SVC(C=C, loss=loss, kernel=kernel, tol=1e-6).fit(X, y)
    beta = model.dual_coef_[0]
    K = kernel(X[model.support_], X[model.support_])
    squared_norm = beta @ K @ beta
    assert path.margins[0] == pytest.approx(squared_norm**-0.5, rel=1e-4)
    slack = np.maximum(
        0.0, 1.0 - np.where(y == model.classes_[1], 1, -1) * model.decision_function(X)
    )
    losses = 0.0 if np.isinf(C) else (slack ** (1 if loss == "hinge" else 2)).sum()
    assert path.bounds[0] == pytest.approx((squared_norm + losses) / len(X), rel=1e-4)
    if np.isinf(C):
        assert path.margins[0] == pytest.approx(np.abs(beta).sum() ** -0.5, rel=1e-4)
    sphere = sigma_path(X, y, sigmas=[0.5], C=C, loss=loss, tol=1e-6, radius="svdd")
    radius = SVDD(kernel=kernel, nu=1.0 / len(X), tol=1e-6).fit(X).radius_
    expected = (squared_norm * radius**2 + losses) / len(X)
    assert sphere.bounds[0] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("loss", HINGES)
def test_paths_are_the_same_by_either_solver(loss):
    X, y = load_sonar(return_X_y=True)
    options = {"sigmas": [0.4, 0.6, 0.9], "C": 5.0, "loss": loss, "tol": 1e-6}
    one, other = (sigma_path(X, y, solver=solver, **options) for solver in ("adatron", "smo"))
    np.testing.assert_allclose(one.estimates, other.estimates, rtol=1e-5)
    np.testing.assert_allclose(one.margins, other.margins, rtol=1e-5)
    assert one.bounds is one.estimates
    assert one.errors is None
    penalized = sigma_path(X, y, fit_intercept="penalized", **options)
    model = SVC(C=5.0, loss=loss, kernel=RBF(sigma=0.4), fit_intercept="penalized", tol=1e-6)
    model.fit(X, y)
    slack = np.maximum(
        0.0, 1.0 - np.where(y == model.classes_[1], 1, -1) * model.decision_function(X)
    )
    losses = (slack ** (1 if loss == "hinge" else 2)).sum()
    expected = (model.margin_**-2 + losses) / len(X)
    assert penalized.estimates[0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_paths_of_several_classes(multiclass):
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), np.array(["a", "b", "c"])[y]
    path = sigma_path(X, y, sigmas=[1.0, 2.0], C=3.0, multiclass=multiclass, solver="smo")
    assert path.margins.shape == (2, 3)
    for width, estimate, margins in zip(path.widths, path.estimates, path.margins, strict=True):
        model = SVC(C=3.0, kernel=RBF(sigma=width), multiclass=multiclass).fit(X, y)
        np.testing.assert_allclose(margins, model.margin_, rtol=1e-3)
        losses = model.report_.primal_objective - 0.5 * (margins**-2).sum()
        expected = ((margins**-2).sum() + losses / 3.0) / len(X)
        assert estimate == pytest.approx(expected, rel=1e-3)


def test_widths_can_be_chosen_by_rows_held_out():
    X, y = load_sonar(return_X_y=True)
    train, rest = (X[::2], y[::2]), (X[1::2], y[1::2])
    options = {"sigmas": [0.1, 0.5, 2.0], "C": 10.0}
    path = sigma_path(*train, validation=rest, **options)
    for width, error in zip(path.widths, path.errors, strict=True):
        model = SVC(C=10.0, kernel=RBF(sigma=width)).fit(*train)
        assert error == pytest.approx(1.0 - model.score(*rest))
    assert path.best_width == path.widths[path.errors.argmin()]
    # Of the same error, the lowest estimate is chosen; what did not converge never is.
    same = replace(path, errors=np.zeros(3))
    assert same.best_width == path.widths[path.estimates.argmin()]
    best = int(path.estimates.argmin())
    others = replace(same, estimates=np.where(np.arange(3) == best, np.nan, path.estimates))
    assert others.best_width != path.widths[best]


def test_paths_need_two_classes_and_positive_widths():
    X, y = load_sonar(return_X_y=True)
    with pytest.raises(ValueError, match="y must have at least two classes, got 1"):
        sigma_path(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="sigmas must be positive finite numbers"):
        sigma_path(X, y, sigmas=[1.0, -1.0])
    with pytest.raises(ValueError, match="radius must be 'unit' or 'svdd'"):
        sigma_path(X, y, radius="largest")
