"""Leaving one row out is as training without it, for every machine and kind of kernel."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.datasets import load_ionosphere, load_sonar, make_checkerboard
from mercer.kernels import RBF, Linear
from mercer.model_selection import leave_one_out

# Between decision values, where both are of a gap of TOL.
ALLOWED = 1e-4
TOL = 1e-6


def _set(name):
    if name == "checkerboard":
        X, y = make_checkerboard(150, squares=2, random_state=0)
    else:
        load = {
            "sonar": load_sonar,
            "ionosphere": load_ionosphere,
            "iris": load_iris,
            "wine": load_wine,
            "cancer": load_breast_cancer,
        }[name]
        X, y = load(return_X_y=True)
        X, y = StandardScaler().fit_transform(X)[::2], y[::2]
    return X, y


SETS = ("checkerboard", "sonar", "ionosphere", "iris", "wine", "cancer")

MACHINES = [
    SVC(C=5.0, gamma=0.1, tol=TOL, decision_function_shape="ovo"),
    NuSVC(nu=0.2, gamma=0.1, tol=TOL, decision_function_shape="ovo"),
    SVR(C=3.0, gamma=0.1, epsilon=0.05, tol=TOL),
    NuSVR(C=3.0, nu=0.3, gamma=0.1, tol=TOL),
    OneClassSVM(nu=0.2, gamma=0.1, tol=TOL),
    SVDD(nu=0.2, gamma=0.1, tol=TOL),
]


def values_of(model, X):
    return (model.decision_function if hasattr(model, "decision_function") else model.predict)(X)


def check(machine, X, y, weight=None, rows=12):
    """Compare with training without each of a few rows."""
    found = leave_one_out(machine, X, y, sample_weight=weight)
    n_rows = X.shape[0]
    # Support vectors and others.
    for row in np.linspace(0, n_rows - 1, rows).astype(int):
        keep = np.arange(n_rows) != row
        weights = {} if weight is None else {"sample_weight": weight[keep]}
        target = None if y is None else y[keep]
        pairwise = isinstance(machine.kernel, str) and machine.kernel == "precomputed"
        trained, asked = X[keep], X[[row]]
        if pairwise:
            trained, asked = trained[:, keep], asked[:, keep]
        model = clone(machine).fit(trained, target, **weights)
        expected = values_of(model, asked)[0]
        assert np.abs(found.decision_values[row] - expected).max() < ALLOWED, row
        assert found.predictions[row] == pytest.approx(model.predict(asked)[0], abs=ALLOWED)
    return found


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
def test_equals_brute_force(machine, name):
    X, y = _set(name)
    if isinstance(machine, SVR | NuSVR):
        y = X[:, 0] - np.tanh(X[:, -1])
        X = X[:, 1:]
    check(machine, X, y)


@pytest.mark.parametrize(
    "machine",
    [
        SVC(C=2.0, gamma=0.1, multiclass="ovr", tol=TOL),
        SVC(C=2.0, gamma=0.1, multiclass="dag", tol=TOL),
        SVC(C=2.0, gamma=0.1, break_ties=True, tol=TOL),
        SVC(C=2.0, gamma=0.1, loss="squared_hinge", tol=TOL),
        SVC(C=2.0, gamma=0.1, fit_intercept=False, tol=TOL),
        SVC(C=2.0, gamma=0.1, fit_intercept="penalized", tol=TOL),
        SVC(C=2.0, gamma=0.1, probability=True, tol=TOL),
        SVC(C=0.5, kernel="linear", tol=TOL),
        SVC(C=0.5, kernel=Linear() + 0.5 * RBF(gamma=0.1), tol=TOL),
        pytest.param(
            SVC(C=0.5, kernel=lambda A, B: (1.0 + A @ B.T / 10.0) ** 2, tol=TOL), id="callable"
        ),
        NuSVC(nu=0.2, gamma=0.1, multiclass="ovr", tol=TOL),
    ],
    ids=str,
)
def test_every_kind_of_classifier(machine):
    check(machine, *_set("iris"))


def test_sparse_and_precomputed_rows():
    X, y = _set("iris")
    dense = check(SVC(C=2.0, gamma=0.1, tol=TOL), X, y).decision_values
    sparse = check(SVC(C=2.0, gamma=0.1, tol=TOL), sp.csr_array(X), y).decision_values
    matrix = RBF(gamma=0.1)(X, X)
    given = check(SVC(C=2.0, kernel="precomputed", tol=TOL), matrix, y).decision_values
    np.testing.assert_allclose(sparse, dense, atol=1e-6)
    np.testing.assert_allclose(given, dense, atol=1e-6)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
def test_weights_and_rows_without_one(machine):
    X, y = _set("sonar")
    if isinstance(machine, SVR | NuSVR):
        y = X[:, 0].copy()
    weight = np.array([0.0, 1.0, 2.0])[np.arange(len(X)) % 3]
    found = check(machine, X, y, weight)
    model = clone(machine).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(found.decision_values[::3], values_of(model, X[::3]), atol=ALLOWED)


def test_errors():
    X, y = _set("sonar")
    found = leave_one_out(SVC(C=2.0, gamma=0.01), X, y)
    assert found.error == np.mean(found.predictions != y)
    weight = np.arange(len(y)) + 1.0
    weighted = leave_one_out(SVC(C=2.0, gamma=0.01), X, y, sample_weight=weight)
    assert weighted.error == pytest.approx(np.average(weighted.predictions != y, weights=weight))
    X, y = load_diabetes(return_X_y=True)
    found = leave_one_out(SVR(C=100.0), X[:100], y[:100])
    assert found.error == pytest.approx(np.mean((found.predictions - y[:100]) ** 2))
    found = leave_one_out(OneClassSVM(nu=0.3), X[:100])
    assert found.error == np.mean(found.predictions == -1)


def test_only_support_vectors_are_solved_anew():
    X, y = _set("cancer")
    machine = SVC(C=10.0, gamma=0.05)
    found = leave_one_out(machine, X, y)
    model = machine.fit(X, y)
    assert found.n_solved == len(model.support_)
    others = np.setdiff1d(np.arange(len(X)), model.support_)
    np.testing.assert_allclose(
        found.decision_values[others], model.decision_function(X[others]), atol=1e-6
    )


def test_estimator_is_left_alone():
    X, y = _set("sonar")
    machine = SVC(probability=True)
    leave_one_out(machine, X, y)
    assert machine.probability
    assert not hasattr(machine, "support_")


def test_what_it_refuses():
    X, y = _set("sonar")
    with pytest.raises(TypeError, match="estimator must be a kernel machine"):
        leave_one_out(LogisticRegression(), X, y)
    with pytest.raises(ValueError, match="y must be of classes that have two rows or more"):
        leave_one_out(SVC(), X[:5], [0, 0, 1, 1, 2])
    with pytest.raises(ValueError, match="C must be"):
        leave_one_out(SVC(C=-1.0), X, y)


def test_unconverged_problems_are_told():
    X, y = _set("sonar")
    with pytest.warns(ConvergenceWarning, match="were not solved to tol"):
        leave_one_out(SVC(C=1e6, max_iter=3), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        leave_one_out(SVC(), X, y)
