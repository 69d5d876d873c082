"""Attributes of fitted models that someone has changed: errors that name them, never NaN."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVC, SVDD, OneClassSVM

X = np.array([[0.0, 0.0], [1.0, 0.2], [0.1, 1.0], [1.1, 1.2], [2.0, 0.3], [2.2, 1.9]])
Y = [0, 1, 2, 0, 1, 2]


def _sparse_model():
    return SVC().fit(sp.csr_array(X), Y)


def _changed(array, **changes):
    """Return a copy of a CSR matrix with other parts."""
    other = array.copy()
    for name, change in changes.items():
        setattr(other, name, change(getattr(other, name)))
    return other


@pytest.mark.parametrize("value", [None, np.nan, [np.inf], [1.0, 2.0], ["1"], [1j], []])
@pytest.mark.parametrize("estimator", [OneClassSVM, SVDD])
def test_the_offset_is_one_finite_number(estimator, value):
    model = estimator().fit(X)
    model.predict(X)
    model.offset_ = value
    with pytest.raises(ValueError, match="offset_"):
        model.decision_function(X)


@pytest.mark.parametrize("name", ["dual_coef_", "intercept_"])
@pytest.mark.parametrize("kind", [str, complex, object])
def test_coefficients_are_real_numbers(name, kind):
    model = SVC().fit(X, Y)
    setattr(model, name, getattr(model, name).astype(kind))
    with pytest.raises(ValueError, match=f"{name} must be an array of numbers"):
        model.predict(X)


@pytest.mark.parametrize("name", ["dual_coef_", "intercept_"])
def test_coefficients_are_finite(name):
    model = SVC().fit(X, Y)
    setattr(model, name, getattr(model, name) * np.nan)
    with pytest.raises(ValueError, match=f"{name} must be finite"):
        model.predict(X)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("classes_", None),
        ("classes_", np.array([[0], [1], [2]])),
        ("classes_", np.array([0, 1])),
        ("n_support_", None),
        ("n_support_", [2.5, 1.0, 1.0]),
    ],
)
@pytest.mark.parametrize("method", ["predict", "decision_function", "reject"])
def test_classes_and_their_counts(method, name, value):
    model = SVC().fit(X, Y)
    setattr(model, name, value)
    with pytest.raises(ValueError, match=name):
        getattr(model, method)(X)


@pytest.mark.parametrize(
    "changes",
    [
        {"indptr": lambda a: a[:0]},
        {"indptr": lambda a: a.astype(complex)},
        {"indptr": lambda a: np.r_[a[:-1], -1].astype(a.dtype)},
        {"indptr": lambda a: np.r_[a[:-1], 10**9].astype(a.dtype)},
        {"indices": lambda a: a + 1000},
        {"indices": lambda a: a[::-1][:-1]},
        {"data": lambda a: a[:-1]},
        {"data": lambda a: a * np.inf},
    ],
)
@pytest.mark.parametrize("name", ["dual_coef_", "support_vectors_"])
def test_sparse_attributes_fit_together(name, changes):
    model = _sparse_model()
    setattr(model, name, _changed(getattr(model, name), **changes))
    with pytest.raises(ValueError, match=re.escape(name)):
        model.decision_function(sp.csr_array(X))


@pytest.mark.parametrize("indptr", [[0, 9], [0, 2, 1], [1, 1, 2], [0, 1, 10**9]])
def test_rows_that_are_no_matrix(indptr):
    rows = sp.csr_array(np.eye(2))
    rows.indptr = np.array(indptr, dtype=np.int32)
    with pytest.raises(ValueError, match="X: indptr must rise from 0 to at most 2"):
        SVC().fit(rows, [0, 1])


def test_rows_with_room_to_spare():
    rows = sp.csr_array(X)
    roomy = _changed(rows, data=lambda a: np.r_[a, 7.0], indices=lambda a: np.r_[a, 0])
    expected, found = (SVC().fit(given, Y) for given in (rows, roomy))
    np.testing.assert_array_equal(found.decision_function(rows), expected.decision_function(rows))
    assert len(roomy.data) == len(rows.data) + 1


@pytest.mark.parametrize("kernel", ["nothing", None, 3])
def test_a_kernel_that_is_none(kernel):
    model = SVC().fit(X, Y)
    model._fit_kernel = kernel
    with pytest.raises(TypeError, match="kernel must be"):
        model.predict(X)


@pytest.mark.parametrize("shape", [None, (), 6, ("six",), 10**9])
def test_the_shape_of_a_precomputed_matrix(shape):
    K = X @ X.T
    model = SVC(kernel="precomputed").fit(K, Y)
    model.shape_fit_ = shape
    with pytest.raises(ValueError, match="shape_fit_"):
        model.predict(K)


def test_the_diagonal_of_a_precomputed_matrix():
    K = np.exp(-((X[:, :1] - X[:, :1].T) ** 2))
    model = SVDD(kernel="precomputed").fit(K)
    model._fit_diagonal = np.inf
    with pytest.raises(ValueError, match="_fit_diagonal"):
        model.predict(K)
