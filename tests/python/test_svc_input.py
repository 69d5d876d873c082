"""The kinds of rows and labels SVC takes, and that it leaves them as they are."""

import copy
import pickle
from itertools import product

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr
from variants import ESTIMATORS, values

from mercer import SVC
from mercer.kernels import RBF


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def expected(iris):
    return SVC().fit(*iris).decision_function(iris[0])


# Rows

DENSE = {
    "list": lambda X: X.tolist(),
    "tuple": lambda X: tuple(map(tuple, X)),
    "Fortran order": np.asfortranarray,
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1].copy()[::-1],
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
    "big-endian": lambda X: X.astype(">f8"),
    "long double": lambda X: X.astype(np.longdouble),
    "data frame": lambda X: pd.DataFrame(X, columns=list("abcd")),
    "objects": lambda X: X.astype(object),
    "masked nowhere": lambda X: np.ma.masked_array(X, mask=False),
}


@pytest.mark.parametrize("kind", DENSE)
def test_dense_rows(iris, expected, kind):
    X, y = iris
    rows = DENSE[kind](X)
    before = copy.deepcopy(rows)
    model = SVC().fit(rows, y)
    np.testing.assert_allclose(model.decision_function(rows), expected, rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(rows), np.asarray(before))
    assert model.support_vectors_.dtype == np.float64


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.bool_, np.float16])
def test_other_numbers_become_doubles(dtype):
    X, y = load_digits(n_class=3, return_X_y=True)
    X = X.astype(dtype)
    model = SVC().fit(X, y)
    assert model.support_vectors_.dtype == np.float64
    np.testing.assert_allclose(
        model.decision_function(X), SVC().fit(X.astype(np.float64), y).decision_function(X)
    )


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_single_precision_is_kept(iris, container):
    X, y = iris
    X = X.astype(np.float32)
    model = SVC().fit(container(X), y)
    assert model.support_vectors_.dtype == np.float32
    assert model.dual_coef_.dtype == np.float64
    assert model.decision_function(container(X)).dtype == np.float64


def test_names_of_features(iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = SVC().fit(frame, y)
    np.testing.assert_array_equal(model.feature_names_in_, frame.columns)
    assert model.n_features_in_ == 4
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["d", "c", "b", "a"]])


FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("family", ["array", "matrix"])
@pytest.mark.parametrize("form", FORMATS)
def test_sparse_rows(iris, expected, form, family):
    X, y = iris
    rows = getattr(sp, f"{form}_{family}")(X)
    model = SVC().fit(rows, y)
    np.testing.assert_allclose(model.decision_function(rows), expected, atol=2e-3)
    assert type(model.support_vectors_) is sp.csr_matrix
    assert type(model.dual_coef_) is sp.csr_matrix
    np.testing.assert_array_equal(rows.toarray(), X)


def _untidy(X):
    """Unsorted columns, every value in two halves, in int64: what scipy sums to X."""
    tidy = sp.csr_array(X)
    order = np.concatenate(
        [
            np.tile(np.arange(start, end)[::-1], 2)
            for start, end in zip(tidy.indptr[:-1], tidy.indptr[1:], strict=True)
        ]
    )
    untidy = sp.csr_array(tidy.shape)
    untidy.data = tidy.data[order] / 2.0
    untidy.indices = tidy.indices[order].astype(np.int64)
    untidy.indptr = 2 * tidy.indptr.astype(np.int64)
    return untidy


def test_unsorted_and_duplicate_entries(iris):
    X, y = iris
    rows = _untidy(X)
    assert rows.indices.dtype == np.int64
    before = rows.data.copy(), rows.indices.copy(), rows.indptr.copy()
    tidy = SVC().fit(sp.csr_array(X), y)
    model = SVC().fit(rows, y)
    np.testing.assert_allclose(model.decision_function(rows), tidy.decision_function(X), rtol=1e-6)
    np.testing.assert_array_equal(model.support_vectors_.toarray(), X[model.support_])
    for now, then in zip((rows.data, rows.indices, rows.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_stored_zeros_and_empty_rows_and_columns():
    X = np.array([[0.0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 3]])
    rows = sp.csr_array(X)
    rows.data[0] = 0.0
    X[1, 2] = 0.0
    y = [0, 0, 1, 1]
    np.testing.assert_allclose(
        SVC(gamma=1.0).fit(rows, y).decision_function(rows),
        SVC(gamma=1.0).fit(X, y).decision_function(X),
        rtol=1e-6,
    )


# Labels

LABELS = {
    "texts": np.array(["x", "yy", "zzz"]),
    "objects": np.array(["x", "yy", "zzz"], dtype=object),
    "far apart": np.array([-(2**40), 0, 2**40]),
    "whole floats": np.array([-1.0, 0.0, 7.0]),
    "small unsigned": np.array([0, 200, 255], dtype=np.uint8),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels(iris, kind, n_classes):
    X, y = iris
    X, y = X[y < n_classes], y[y < n_classes]
    labels = LABELS[kind]
    model = SVC().fit(X, labels[y])
    np.testing.assert_array_equal(model.classes_, labels[:n_classes])
    assert model.classes_.dtype == labels.dtype
    np.testing.assert_array_equal(model.predict(X), labels[SVC().fit(X, y).predict(X)])


def test_boolean_labels(iris):
    X, y = iris
    model = SVC().fit(X, y == 1)
    assert model.predict(X).dtype == np.bool_
    assert model.score(X, y == 1) > 0.9


@pytest.mark.parametrize("kind", [list, tuple, pd.Series, pd.Categorical])
def test_containers_of_labels(iris, kind):
    X, y = iris
    names = np.array(["x", "yy", "zzz"])[y]
    model = SVC().fit(X, kind(names))
    np.testing.assert_array_equal(model.predict(X), SVC().fit(X, names).predict(X))


# Rows only a callable understands


def _shared_letters(A, B):
    return [[len(set(a) & set(b)) for b in B] for a in A]


@pytest.mark.parametrize(
    "container",
    [list, tuple, pd.Series, lambda rows: np.array(rows, dtype=object)],
    ids=["list", "tuple", "series", "array"],
)
def test_rows_of_any_kind(container):
    words = ["abc", "abd", "bcd", "xyz", "wxy", "wxz"]
    rows = container(words)
    seen = []

    def kernel(A, B):
        seen.append((len(A), len(B)))
        return _shared_letters(A, B)

    K = np.array(_shared_letters(words, words), dtype=float)
    y = [0, 0, 0, 1, 1, 1]
    model = SVC(kernel=kernel).fit(rows, y)
    expected = SVC(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(model.dual_coef_, expected.dual_coef_)
    seen.clear()
    np.testing.assert_allclose(model.decision_function(rows), expected.decision_function(K))
    assert seen == [(6, len(model.support_))]
    assert not hasattr(model, "n_features_in_")
    assert [words[row] for row in model.support_] == list(model.support_vectors_)


def test_a_callable_sees_data_frames_and_sparse_rows(iris):
    X, y = iris
    frame = pd.DataFrame(X, columns=list("abcd"))
    expected = SVC(kernel="linear").fit(X[:, :2], y)
    model = SVC(kernel=lambda A, B: A[["a", "b"]].to_numpy() @ B[["a", "b"]].to_numpy().T)
    model.fit(frame, y)
    np.testing.assert_allclose(
        model.decision_function(frame), expected.decision_function(X[:, :2]), atol=5e-3
    )
    for form in (sp.lil_array, sp.coo_matrix):
        sparse = SVC(kernel=lambda A, B: A @ B.T).fit(form(X[:, :2]), y)
        assert isinstance(sparse.dual_coef_, np.ndarray)
        np.testing.assert_allclose(
            sparse.decision_function(form(X[:, :2])),
            expected.decision_function(X[:, :2]),
            atol=5e-3,
        )


def test_a_callable_is_never_asked_for_the_whole_matrix():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 3)), rng.integers(2, size=4000)
    X[y == 1] += 3.0
    asked = []

    def kernel(A, B):
        asked.append(len(A) * len(B))
        return A @ B.T

    model = SVC(kernel=kernel).fit(X, y)
    assert max(asked) < 4000**2 / 4
    assert sum(asked) < 4000**2 / 2
    asked.clear()
    model.predict(X)
    assert sum(asked) == 4000 * len(model.support_)


# Copies


def _linear(A, B):
    return A @ B.T


@pytest.mark.parametrize(
    ("kernel", "container"),
    [
        ("precomputed", np.asarray),
        *product(["rbf", "linear", RBF(sigma=1.0), _linear], [np.asarray, sp.csr_array]),
    ],
)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_copies_and_pickles(iris, estimator, kernel, container, tmp_path):
    X, y = iris
    if kernel == "precomputed":
        X = RBF(gamma=0.5)(X)
    X = container(X)
    model = estimator(kernel=kernel).fit(X, y)
    fresh = pickle.dumps(model)
    expected = values(model, X)
    assert pickle.dumps(model) == fresh  # prediction leaves nothing behind
    joblib.dump(model, tmp_path / "model")
    for twin in (
        pickle.loads(fresh),
        copy.copy(model),
        copy.deepcopy(model),
        joblib.load(tmp_path / "model"),
    ):
        np.testing.assert_array_equal(values(twin, X), expected)
        assert twin.report_ == model.report_
        assert twin.get_params() == model.get_params()
    assert not hasattr(clone(model), "support_")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_pickles_hold_plain_things_only(iris, estimator):
    model = estimator().fit(*iris)
    model.predict(iris[0])
    assert b"mercer._core" not in pickle.dumps(model)


def test_parameters_changed_later_leave_the_model_alone(iris, expected):
    X, y = iris
    model = SVC().fit(X, y)
    model.set_params(kernel="linear", gamma=10.0, C=1e-3)
    np.testing.assert_array_equal(model.decision_function(X), expected)
    assert not hasattr(model, "coef_")


def test_training_again_replaces_the_model(iris):
    X, y = iris
    model = SVC().fit(X[:100], y[:100])
    model.predict(X[:100])
    model.fit(X[:, :2], y)
    np.testing.assert_array_equal(
        model.decision_function(X[:, :2]), SVC().fit(X[:, :2], y).decision_function(X[:, :2])
    )


# In company


def test_grid_search(iris):
    X, y = iris
    search = GridSearchCV(SVC(), {"C": [1e-3, 1.0], "kernel": ["linear", "rbf"]}, cv=3)
    assert search.fit(X, y).best_params_["C"] == 1.0


def test_cross_validation_cuts_precomputed_kernels_both_ways(iris):
    X, y = iris
    np.testing.assert_array_equal(
        cross_val_score(SVC(kernel="precomputed"), X @ X.T, y),
        cross_val_score(SVC(kernel="linear"), X, y),
    )


def test_pipelines_calibration_and_one_vs_rest(iris):
    X, y = iris
    for model in (
        make_pipeline(StandardScaler(), SVC()),
        CalibratedClassifierCV(SVC(), ensemble=False),
        OneVsRestClassifier(SVC()),
    ):
        assert model.fit(X, y).score(X, y) > 0.9


def test_shown_in_a_notebook():
    assert "RBF(sigma=2.0)" in estimator_html_repr(SVC(kernel=RBF(sigma=2.0)))
