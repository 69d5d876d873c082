"""Kernel objects: values, algebra, identity, parameters."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import kernel_matrix, scale_gamma
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from mercer import SVC, kernels
from mercer.kernels import (
    RBF,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Polynomial,
    Product,
    Scaled,
    Sigmoid,
    Sum,
)

NAMED = {
    "linear": Linear(),
    "poly": Polynomial(degree=2, gamma=0.3, coef0=1.0),
    "rbf": RBF(gamma=0.3),
    "sigmoid": Sigmoid(gamma=0.3, coef0=1.0),
    "laplacian": Laplacian(gamma=0.3),
    "imq": InverseMultiquadric(),
}


def _rows(n, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 4)).astype(dtype)


# Values


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, np.asfortranarray])
@pytest.mark.parametrize("name", NAMED)
def test_values(name, container, dtype):
    A, B = _rows(7, dtype), _rows(5, dtype, seed=1)
    values = NAMED[name](container(A), container(B))
    assert values.dtype == np.float64
    expected = kernel_matrix(name, A, B, gamma=0.3, coef0=1.0, degree=2)
    np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", NAMED)
def test_double_precision_is_kept(name):
    A = _rows(7)
    expected = kernel_matrix(name, A, A, gamma=0.3, coef0=1.0, degree=2)
    np.testing.assert_allclose(NAMED[name](A), expected, rtol=1e-11, atol=1e-12)


def test_one_matrix_stands_for_both():
    A = _rows(6)
    np.testing.assert_array_equal(RBF(gamma=0.5)(A), RBF(gamma=0.5)(A, A))


def test_dense_beside_sparse_and_single_beside_double():
    A, B = _rows(6), _rows(4, np.float32)
    np.testing.assert_allclose(
        RBF(gamma=0.5)(sp.csr_array(A), B), kernel_matrix("rbf", A, B, gamma=0.5), rtol=1e-10
    )


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_gamma_by_name(container):
    A = np.where(_rows(50) > 0.5, _rows(50), 0.0)
    np.testing.assert_allclose(
        RBF()(container(A)), kernel_matrix("rbf", A, A, gamma=scale_gamma(A)), rtol=1e-10
    )
    np.testing.assert_allclose(
        RBF(gamma="auto")(container(A)), kernel_matrix("rbf", A, A, gamma=0.25), rtol=1e-10
    )


def test_scale_of_many_rows_in_single_precision():
    # More values than are summed at a time, far from zero, where float32 sums go wrong.
    A = (_rows(300_000) + 1000.0).astype(np.float32)
    expected = 1.0 / (4 * A.astype(np.float64).var())
    assert RBF()._fitted_to(A).gamma == pytest.approx(expected, rel=1e-9)
    assert RBF()._fitted_to(sp.csr_array(A)).gamma == pytest.approx(expected, rel=1e-5)


def test_sigma_is_a_width():
    A = _rows(5)
    np.testing.assert_allclose(RBF(sigma=1.5)(A), RBF(gamma=1.0 / 4.5)(A), rtol=1e-14)


# Algebra


def _expressions():
    leaves = st.one_of(
        st.just(Linear()),
        st.builds(RBF, gamma=st.sampled_from([0.0, 0.1, 2])),
        st.builds(RBF, sigma=st.sampled_from([0.5, 1.0])),
        st.builds(Polynomial, degree=st.integers(0, 3), gamma=st.just(0.2), coef0=st.just(0.5)),
        st.builds(Laplacian, gamma=st.sampled_from([0.3, 1.0])),
        st.builds(Sigmoid, gamma=st.just(0.1), coef0=st.sampled_from([0.0, -0.5])),
        st.builds(InverseMultiquadric, c=st.sampled_from([0.5, 2.0])),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Sum, inner, inner),
            st.builds(Product, inner, inner),
            st.builds(Scaled, st.sampled_from([0, 0.25, 3.0]), inner),
        ),
        max_leaves=6,
    )


def _expected(kernel, A, B):
    """The same by numpy, following the structure."""
    match kernel:
        case Sum():
            return _expected(kernel.left, A, B) + _expected(kernel.right, A, B)
        case Product():
            return _expected(kernel.left, A, B) * _expected(kernel.right, A, B)
        case Scaled():
            return kernel.factor * _expected(kernel.kernel, A, B)
        case Linear():
            return kernel_matrix("linear", A, B)
        case RBF():
            gamma = kernel.gamma if kernel.sigma is None else 0.5 / kernel.sigma**2
            return kernel_matrix("rbf", A, B, gamma=gamma)
        case Polynomial():
            return kernel_matrix("poly", A, B, kernel.gamma, kernel.coef0, kernel.degree)
        case Laplacian():
            return kernel_matrix("laplacian", A, B, gamma=kernel.gamma)
        case Sigmoid():
            return kernel_matrix("sigmoid", A, B, kernel.gamma, kernel.coef0)
        case InverseMultiquadric():
            return 1.0 / np.sqrt(kernel.c**2 - 1.0 + kernel_matrix("imq", A, B) ** -2.0)


@given(kernel=_expressions(), seed=st.integers(0, 1000))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_algebra_of_values(kernel, seed):
    A, B = _rows(4, seed=seed), _rows(3, seed=seed + 1)
    np.testing.assert_allclose(kernel(A, B), _expected(kernel, A, B), rtol=1e-9, atol=1e-9)


@given(kernel=_expressions())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_repr_and_copies_are_equal(kernel):
    again = eval(repr(kernel), vars(kernels).copy())
    for twin in (again, clone(kernel), copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert twin is not kernel
        assert twin == kernel
        assert hash(twin) == hash(kernel)
        assert repr(twin) == repr(kernel)


@given(first=_expressions(), second=_expressions())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_operators_build_the_structure(first, second):
    assert first + second == Sum(first, second)
    assert first * second == Product(first, second)
    assert 2.0 * first == first * 2.0 == Scaled(2.0, first)
    assert np.float64(2.0) * first == first * np.float32(2.0) == Scaled(2.0, first)
    assert (first == second) == (repr(first) == repr(second))


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (RBF(sigma=1.5) + 0.1 * Linear(), "RBF(sigma=1.5) + 0.1 * Linear()"),
        (RBF(gamma="auto"), "RBF(gamma='auto')"),
        (RBF() * (Linear() + Laplacian()), "RBF() * (Linear() + Laplacian())"),
        (2 * (RBF() * Linear()), "2 * (RBF() * Linear())"),
        (2 * RBF() * Linear(), "2 * RBF() * Linear()"),
        (2 * (3 * RBF()), "2 * (3 * RBF())"),
        (RBF() + (Linear() + Sigmoid()), "RBF() + (Linear() + Sigmoid())"),
        (RBF() + Linear() + Sigmoid(), "RBF() + Linear() + Sigmoid()"),
        (np.float64(0.5) * Polynomial(degree=2), "0.5 * Polynomial(degree=2)"),
    ],
)
def test_repr(kernel, text):
    assert repr(kernel) == text


def test_equal_and_unequal():
    assert RBF(gamma=1) == RBF(gamma=1.0)
    assert hash(RBF(gamma=1)) == hash(RBF(gamma=1.0))
    assert RBF(gamma=1.0) != RBF(gamma=2.0)
    assert RBF(gamma=1.0) != Laplacian(gamma=1.0)
    assert RBF() != "rbf"
    assert len({RBF(), RBF(), Linear()}) == 2


@pytest.mark.parametrize("other", ["2", None, True, [1.0], 1j])
def test_what_cannot_be_combined(other):
    with pytest.raises(TypeError):
        RBF() * other
    with pytest.raises(TypeError):
        other * RBF()
    with pytest.raises(TypeError):
        RBF() + other


# Parameters


def test_nested_parameters():
    kernel = RBF(sigma=1.5) + 0.1 * Polynomial()
    assert kernel.get_params()["right__kernel__degree"] == 3
    other = kernel.replace(left__sigma=2.0, right__factor=0.5, right__kernel__degree=2)
    assert other == RBF(sigma=2.0) + 0.5 * Polynomial(degree=2)
    assert other.replace(left=Linear()) == Linear() + 0.5 * Polynomial(degree=2)
    assert other.replace(left=RBF(), left__sigma=3.0) == RBF(sigma=3.0) + other.right
    assert kernel == RBF(sigma=1.5) + 0.1 * Polynomial()


@pytest.mark.parametrize(
    "name", ["width", "left__width", "factor", "left__sigma__x", "right__left"]
)
def test_unknown_parameters(name):
    with pytest.raises(ValueError, match=f"{name.split('__')[-1]}|sigma__x"):
        (RBF() + Linear()).replace(**{name: 1.0})


@given(kernel=_expressions())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_kernels_cannot_be_changed(kernel):
    # They are hashable, and one that changes would be lost in a set.
    members = {kernel}
    for name in [*kernel.get_params(deep=False), "other"]:
        with pytest.raises(AttributeError):
            setattr(kernel, name, 1.0)
        with pytest.raises(AttributeError):
            delattr(kernel, name)
    assert kernel in members
    assert not hasattr(kernel, "set_params")  # scikit-learn would expect it to change the kernel


def test_an_estimator_replaces_its_kernel():
    kernel = RBF(sigma=1.5)
    model = SVC(kernel=kernel).set_params(kernel__sigma=3.0, C=2.0)
    assert (model.kernel, model.C, kernel) == (RBF(sigma=3.0), 2.0, RBF(sigma=1.5))
    model.set_params(kernel__left__gamma=2.0, kernel=RBF() + Linear())
    assert model.kernel == RBF(gamma=2.0) + Linear()
    with pytest.raises(ValueError, match="kernel"):
        SVC().set_params(kernel__sigma=3.0)
    with pytest.raises(ValueError, match="width"):
        model.set_params(kernel__width=3.0)


def test_an_estimator_shows_and_clones_the_parameters():
    model = SVC(kernel=RBF(sigma=1.5) + 0.1 * Linear())
    assert model.get_params()["kernel__left__sigma"] == 1.5
    twin = clone(model).set_params(kernel__left__sigma=3.0)
    assert twin.kernel == RBF(sigma=3.0) + 0.1 * Linear()
    assert model.kernel == RBF(sigma=1.5) + 0.1 * Linear()
    assert repr(model) == "SVC(kernel=RBF(sigma=1.5) + 0.1 * Linear())"


def test_grid_search_over_parameters():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(SVC(kernel=RBF()), {"kernel__sigma": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel__sigma": 1.0}
    assert search.best_estimator_.kernel == RBF(sigma=1.0)
    search = GridSearchCV(SVC(), {"kernel": [RBF(sigma=0.01), Linear()]}, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel": Linear()}


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: RBF(gamma=-1.0), "gamma"),
        (lambda: RBF(gamma=np.nan), "gamma"),
        (lambda: RBF(gamma=np.inf), "gamma"),
        (lambda: RBF(gamma="wide"), "gamma"),
        (lambda: RBF(gamma=None), "gamma"),
        (lambda: RBF(gamma=True), "gamma"),
        (lambda: RBF(sigma=0.0), "sigma"),
        (lambda: RBF(sigma=-1.0), "sigma"),
        (lambda: RBF(sigma=1e-200), "sigma"),
        (lambda: RBF(sigma="1"), "sigma"),
        (lambda: RBF(sigma=1.0, gamma=1.0), "sigma and gamma"),
        (lambda: RBF(sigma=1.0, gamma="auto"), "sigma and gamma"),
        (lambda: Polynomial(degree=-1), "degree"),
        (lambda: Polynomial(degree=2.0), "degree"),
        (lambda: Polynomial(degree=2**40), "degree"),
        (lambda: Polynomial(coef0=np.nan), "coef0"),
        (lambda: Sigmoid(coef0="0"), "coef0"),
        (lambda: Laplacian(gamma=-0.5), "gamma"),
        (lambda: InverseMultiquadric(c=0.0), "c"),
        (lambda: InverseMultiquadric(c=np.inf), "c"),
        (lambda: -1.0 * RBF(), "factor"),
        (lambda: np.nan * RBF(), "factor"),
        (lambda: RBF() + (-2) * Linear(), "factor"),
        (lambda: Sum(RBF(), "linear"), "right"),
        (lambda: Product(None, RBF()), "left"),
        (lambda: Scaled(1.0, RBF), "kernel"),
    ],
)
def test_bad_parameters_are_named_when_a_kernel_is_made(make, name):
    with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
        make()


def test_a_kernel_that_was_tampered_with_is_refused_when_used():
    kernel = RBF(gamma=1.0)
    object.__setattr__(kernel, "gamma", -1.0)
    with pytest.raises(ValueError, match=r"^gamma must be"):
        kernel(np.eye(2))
    with pytest.raises(ValueError, match=r"^gamma must be"):
        SVC(kernel=pickle.loads(pickle.dumps(kernel))).fit(np.eye(2), [0, 1])


def test_misspelt_parameters_are_told():
    with pytest.raises(TypeError, match=r"^RBF\(\) .*'gama'\. Did you mean 'gamma'\?$"):
        RBF(gama=1.0)
    with pytest.raises(ValueError, match=r"Did you mean 'sigma'\?$"):
        (RBF() + Linear()).replace(left__sigm=1.0)
    with pytest.raises(TypeError, match=r"positional arguments? but"):
        RBF(1.0)


def test_bad_matrices_are_named():
    kernel = RBF(gamma=1.0)
    with pytest.raises(ValueError, match=r"\bA\b"):
        kernel([[np.nan]])
    with pytest.raises(ValueError, match=r"\bA\b"):
        kernel([1.0, 2.0])
    with pytest.raises(ValueError, match=r"\bB\b.*got 3 and 2"):
        kernel(np.eye(2), np.eye(3))


def test_the_median_of_distances():
    X = np.array([[0.0], [1.0], [3.0], [3.0]])
    # Distances 1, 3, 3, 2, 2 between rows that differ.
    assert SVC(gamma="median").fit(X, [0, 1, 0, 1])._fit_kernel == RBF(gamma=1.0 / 4.0)
    many = np.random.RandomState(0).normal(size=(1200, 3))
    gamma = RBF(gamma="median")._fitted_to(many).gamma
    squares = ((many[:, None] - many[None]) ** 2).sum(axis=-1)
    assert gamma == pytest.approx(1.0 / np.median(squares[squares > 0]), rel=0.05)
    assert RBF(gamma="median")._fitted_to(np.ones((3, 2))).gamma == 1.0
