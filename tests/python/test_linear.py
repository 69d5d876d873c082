"""The linear kernel goes through weight vectors, in the solver and in predictions."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import make_classification, make_regression

from mercer import SVC, SVR, NuSVR, OneClassSVM
from mercer.kernels import Polynomial

# The same function, which the core does not know to be linear: kernel rows and support vectors.
ROWS = Polynomial(degree=1, gamma=1.0, coef0=0.0)

STORAGES = {
    "dense": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "sparse": scipy.sparse.csr_array,
}


def classes(n, n_classes):
    X, y = make_classification(
        n, 12, n_informative=8, n_classes=n_classes, flip_y=0.1, random_state=0
    )
    X[np.abs(X) < 0.5] = 0.0
    return X, y


@pytest.fixture(params=STORAGES)
def stored(request):
    return STORAGES[request.param]


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_two_classes(stored, C):
    X, y = classes(3000, 2)
    X = stored(X)
    linear = SVC(kernel="linear", C=C, tol=1e-5).fit(X, y)
    rows = SVC(kernel=ROWS, C=C, tol=1e-5).fit(X, y)
    assert linear.report_.status == "converged"
    np.testing.assert_allclose(linear.report_.objective, rows.report_.objective, rtol=1e-6)
    np.testing.assert_allclose(linear.decision_function(X), rows.decision_function(X), atol=1e-3)
    # No row is computed, and each support vector would need one; blocks need the same values.
    spared = rows.report_.kernel_evaluations - linear.report_.kernel_evaluations
    assert spared > X.shape[0] * len(rows.support_)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "dag"])
def test_more_classes(stored, multiclass):
    X, y = classes(800, 4)
    X = stored(X)
    linear = SVC(kernel="linear", multiclass=multiclass, tol=1e-5).fit(X, y)
    rows = SVC(kernel=ROWS, multiclass=multiclass, tol=1e-5).fit(X, y)
    np.testing.assert_allclose(linear.report_.objective, rows.report_.objective, rtol=1e-6)
    for shape in ["ovr", "ovo"]:
        linear.set_params(decision_function_shape=shape)
        rows.set_params(decision_function_shape=shape)
        values = linear.decision_function(X)
        np.testing.assert_allclose(values, rows.decision_function(X), atol=2e-3)
    np.testing.assert_array_equal(linear.predict(X[:5]), linear.predict(X)[:5])
    assert np.mean(linear.predict(X) == rows.predict(X)) >= 0.995


def test_values_are_those_of_the_support_vectors(stored):
    X, y = classes(500, 2)
    X = stored(X)
    model = SVC(kernel="linear").fit(X, y)
    kernel = np.asarray(
        (X @ model.support_vectors_.T).todense()
        if hasattr(X, "todense")
        else X.astype(np.float64) @ model.support_vectors_.astype(np.float64).T
    )
    dual_coef = model.dual_coef_
    dual_coef = dual_coef.toarray() if hasattr(dual_coef, "toarray") else dual_coef
    expected = kernel @ dual_coef[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.classes_[(expected > 0).astype(int)])


@pytest.mark.parametrize("machine", [SVR(epsilon=5.0), NuSVR()], ids=["SVR", "NuSVR"])
def test_regression(stored, machine):
    X, y = make_regression(1500, 8, noise=20.0, random_state=0)
    X = stored(X)
    linear = machine.set_params(kernel="linear", C=1.0, tol=1e-4).fit(X, y)
    values, objective = linear.predict(X), linear.report_.objective
    rows = machine.set_params(kernel=ROWS).fit(X, y)
    np.testing.assert_allclose(objective, rows.report_.objective, rtol=1e-6)
    np.testing.assert_allclose(values, rows.predict(X), atol=1e-2)


def test_one_class(stored):
    X, _ = classes(1500, 2)
    X = stored(X + 3.0)
    linear = OneClassSVM(kernel="linear", nu=0.2, tol=1e-5).fit(X)
    rows = OneClassSVM(kernel=ROWS, nu=0.2, tol=1e-5).fit(X)
    np.testing.assert_allclose(linear.report_.objective, rows.report_.objective, rtol=1e-6)
    size = np.abs(linear.offset_[0])
    np.testing.assert_allclose(
        linear.decision_function(X), rows.decision_function(X), atol=1e-3 * size
    )
