"""Bad input ends in a ValueError or TypeError that names what is wrong."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from variants import ESTIMATORS

from mercer import SVC, SVDD, SVR, NuSVC, NuSVR
from mercer.kernels import RBF
from mercer.svm import Perceptron

X = np.array([[-2.0, -1.0], [-1.0, -1.0], [-1.0, -2.0], [1.0, 1.0], [1.0, 2.0], [2.0, 1.0]])
Y = np.array([0, 0, 0, 1, 1, 1])


def _with(value):
    changed = X.copy()
    changed[1, 1] = value
    return changed


# Values that no estimator takes, by parameter.
BAD_PARAMETERS = {
    "C": [0.0, -1, np.nan, -np.inf, 10**400, "1", None, [1.0], True],
    "nu": [0.0, -0.1, 1.0 + 1e-9, 2, np.nan, np.inf, "0.5", None, [0.5], True],
    "epsilon": [-0.1, np.nan, np.inf, 10**400, "0.1", None, [0.1], True],
    "delta": [0.0, -1.0, np.nan, np.inf, "1", None, True],
    "quantile": [0.0, 1.0, -0.1, np.nan, "0.5", None, True],
    "loss": ["l2", "", "Hinge", "squared", "hinge_squared", None, 1, True],
    "fit_intercept": ["yes", "penalised", "free", None, 0, 1, 1.0],
    "kernel": ["gauss", None, 3, RBF],
    "degree": [-1, 2.5, "3"],
    "gamma": [-0.1, "big", np.nan, np.inf, None],
    "coef0": [np.nan, np.inf, "0"],
    "shrinking": [1, "yes"],
    "solver": ["newton", "SMO", "", None, 1],
    "eta": [0.0, -1, 2.0, np.nan, np.inf, "1", None, True],
    "order": ["shuffled", "", None, 1],
    "mu": [0.0, -0.1, np.nan, np.inf, "small"],
    "stop": ["objective", "", None, 1],
    "rule": ["hebb", "", None, 1],
    "tol": [0.0, -1e-3, np.nan, np.inf, "small"],
    "cache_size": [0, -200, np.inf, "all", None],
    "class_weight": [
        "even",
        2.0,
        [1.0, 2.0],
        {0: -1.0},
        {0: 0.0},
        {1: np.nan},
        {1: np.inf},
        {5: 1.0},
        {1: "heavy"},
    ],
    "verbose": [-1, "loud"],
    "max_iter": [-2, 10.0, 2**63, None],
    "decision_function_shape": ["ovx", None],
    "break_ties": [1, "yes"],
    "probability": [1, "yes"],
    "multiclass": ["ova", "OVR", "", None, 1, ["ovo"], [0, 1, 2], [0, [0, 1]]],
    "random_state": ["seed", -1],
    "max_time": [0.0, -1.0, np.inf, np.nan, "1s"],
    "n_jobs": [0, 1.5, "all"],
    "warm_start": [1, "yes", None],
    "callback": [1, "print"],
}


@pytest.mark.parametrize(
    ("estimator", "name", "value"),
    [
        *(
            (estimator, name, value)
            for estimator in ESTIMATORS
            for name in estimator().get_params()
            for value in BAD_PARAMETERS[name]
        ),
        *((Perceptron, "rule", value) for value in BAD_PARAMETERS["rule"]),
        (Perceptron, "fit_intercept", True),
        (NuSVR, "C", np.inf),
        (SVC, "loss", "epsilon_insensitive"),
        (SVR, "loss", "squared_hinge"),
    ],
)
def test_parameters(estimator, name, value):
    model = estimator(**{name: value})
    with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
        model.fit(X, Y)
    assert not hasattr(model, "support_")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SVC(C=np.int64(-1)), "C must be a positive number, inf for a hard margin, got -1"),
        (NuSVR(C=np.inf), "C must be a positive finite number, got inf"),
        (NuSVC(nu=1.5), "nu must be a number above 0 and at most 1, got 1.5"),
        (SVR(epsilon=-1.0), "epsilon must be a non-negative finite number, got -1.0"),
        (SVDD(loss="l2"), "loss must be 'hinge' or 'squared_hinge', got 'l2'"),
        (SVC(fit_intercept="no"), "fit_intercept must be True, False or 'penalized', got 'no'"),
    ],
)
def test_the_message_says_what_is_allowed(model, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        model.fit(X, Y)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_values_that_are_not_finite(estimator, kernel, value):
    K = X @ X.T
    K[2, 1] = value
    bad = K if kernel == "precomputed" else _with(value)
    good = X @ X.T if kernel == "precomputed" else X
    with pytest.raises(ValueError, match=r"\bX\b"):
        estimator(kernel=kernel).fit(bad, Y)
    model = estimator(kernel=kernel).fit(good, Y)
    for name in ("predict", "decision_function", "score_samples"):
        if hasattr(model, name):
            with pytest.raises(ValueError, match=r"\bX\b"):
                getattr(model, name)(bad)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_sparse_values_that_are_not_finite(estimator, value):
    with pytest.raises(ValueError, match=r"\bX\b"):
        estimator().fit(sp.csr_array(_with(value)), Y)


@pytest.mark.parametrize(
    "rows",
    [
        np.empty((0, 2)),
        np.empty((6, 0)),
        np.ones(6),
        np.ones((6, 2, 2)),
        np.float64(1.0),
        sp.csr_array((0, 2)),
        [["a", "b"]] * 6,
        np.full((6, 2), 1j),
        [[1.0, 2.0], [1.0]] * 3,
    ],
    ids=[
        "no rows",
        "no columns",
        "a vector",
        "a cube",
        "a number",
        "no sparse rows",
        "texts",
        "complex",
        "ragged",
    ],
)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_rows_of_the_wrong_kind(estimator, rows):
    with pytest.raises((ValueError, TypeError), match=r"\bX\b"):
        estimator().fit(rows, Y)
    with pytest.raises((ValueError, TypeError), match=r"\bX\b"):
        estimator().fit(X, Y).predict(rows)


@pytest.mark.parametrize(
    "labels",
    [
        Y[:-1],
        np.append(Y, 1),
        [],
        None,
        np.zeros(6),
        np.zeros((6, 2)),
        np.linspace(0.1, 0.9, 6),
        [0, 1, 0, 1, 0, np.nan],
        [0, 1, 0, 1, 0, "a"],
        1,
    ],
    ids=[
        "too short",
        "too long",
        "empty",
        "none",
        "one class",
        "a matrix",
        "continuous",
        "nan",
        "mixed kinds",
        "a number",
    ],
)
@pytest.mark.parametrize("kernel", ["rbf", lambda A, B: A @ B.T])
def test_labels(labels, kernel):
    if isinstance(labels, list) and "a" in labels:
        labels = np.array(labels, dtype=object)
    with pytest.raises((ValueError, TypeError), match=r"\by\b"):
        SVC(kernel=kernel).fit(X, labels)


@pytest.mark.parametrize(
    "numbers",
    [
        Y[:-1],
        np.append(Y, 1),
        [],
        None,
        np.zeros((6, 2)),
        [0, 1, 0, 1, 0, np.nan],
        [0, 1, 0, 1, 0, np.inf],
        ["a"] * 6,
        np.full(6, 1j),
        1,
    ],
    ids=[
        "too short",
        "too long",
        "empty",
        "none",
        "a matrix",
        "nan",
        "infinity",
        "texts",
        "complex",
        "a number",
    ],
)
@pytest.mark.parametrize("kernel", ["rbf", lambda A, B: A @ B.T])
@pytest.mark.parametrize("estimator", [SVR, NuSVR])
def test_numbers(estimator, kernel, numbers):
    if estimator is SVR and np.ndim(numbers) == 2:
        pytest.skip("SVR learns several targets")
    with pytest.raises((ValueError, TypeError), match=r"\by\b"):
        estimator(kernel=kernel).fit(X, numbers)


def test_one_class_is_counted():
    with pytest.raises(ValueError, match="greater than one; got 1 class"):
        SVC().fit(X, np.ones(6))


@pytest.mark.parametrize(
    "weight",
    [np.ones(5), np.ones((6, 1)), [1, 1, np.nan, 1, 1, 1], [1, 1, np.inf, 1, 1, 1], ["a"] * 6, []],
)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_sample_weight(estimator, weight):
    with pytest.raises((ValueError, TypeError), match="sample_weight"):
        estimator().fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("value", [0.0, -0.3])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_no_weight_at_all(estimator, value):
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        estimator().fit(X, Y, sample_weight=[value] * 6)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_weights_whose_sum_overflows(estimator):
    with pytest.raises(ValueError, match="sample_weight must have a finite sum"):
        estimator().fit(X, Y, sample_weight=[1e308] * 6)


@pytest.mark.parametrize("weight", [[0, -0.5, 0, 1, 1, 1], [1, 1, 1, 0, -0.1, -0.3]])
@pytest.mark.parametrize("estimator", [SVC, NuSVC])
def test_weight_on_one_class_only(estimator, weight):
    match = "all samples with positive weights belong to the same class"
    with pytest.raises(ValueError, match=match):
        estimator().fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize(("C", "weight"), [(1e300, 1e300), (1e-300, 1e-300)])
@pytest.mark.parametrize("estimator", [SVC, SVR, NuSVR])
def test_costs_beyond_the_numbers(estimator, C, weight):
    with pytest.raises(ValueError, match=r"\bC\b.*sample_weight"):
        estimator(C=C).fit(X, Y, sample_weight=[1, 1, 1, 1, 1, weight])


@pytest.mark.parametrize("factor", [1e300, 1e-300])
def test_weights_of_classes_beyond_the_numbers(factor):
    with pytest.raises(ValueError, match="class_weight times sample_weight"):
        NuSVC(class_weight={1: factor}).fit(X, Y, sample_weight=[1, 1, 1, 1, 1, factor])


def test_values_too_large_for_their_variance():
    huge = np.finfo(np.float64).max * np.random.default_rng(0).uniform(size=(10, 2))
    with pytest.raises(ValueError, match=r"gamma='scale'.*\bX\b"):
        SVC().fit(huge, np.arange(10) % 2)


@pytest.mark.parametrize(
    ("rows", "parameters"),
    [
        (1e200 * X, {"kernel": "linear"}),
        (1e200 * X, {"kernel": "poly", "gamma": 1.0}),
        (10.0 * X, {"kernel": "poly", "gamma": 1.0, "degree": 2**31 - 1}),
    ],
)
def test_kernel_values_that_overflow(rows, parameters):
    with pytest.raises(ValueError, match=r"\b(X|kernel)\b"):
        SVC(**parameters).fit(rows, Y)


# Prediction


@pytest.mark.parametrize(
    ("estimator", "method"),
    [
        (estimator, method)
        for estimator in ESTIMATORS
        for method in ("predict", "decision_function", "score_samples", "score")
        if hasattr(estimator, method)
    ],
)
def test_prediction_before_training(estimator, method):
    arguments = (X, Y) if method == "score" else (X,)
    with pytest.raises(NotFittedError, match=estimator.__name__):
        getattr(estimator(), method)(*arguments)


def test_failed_training_is_no_training():
    model = SVC()
    with pytest.raises(ValueError, match="class"):
        model.fit(X, np.ones(6))
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("kernel", ["rbf", RBF(sigma=1.0), lambda A, B: A @ B.T])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_other_features_than_in_training(estimator, kernel):
    model = estimator(kernel=kernel).fit(X, Y)
    match = f"X has 3 features, but {estimator.__name__} is expecting 2 features"
    with pytest.raises(ValueError, match=match):
        model.predict(np.ones((4, 3)))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_sparse_rows_for_a_dense_model(estimator):
    model = estimator().fit(X, Y)
    match = f"sparse input in '{estimator.__name__}' trained on dense data"
    with pytest.raises(ValueError, match=match):
        model.predict(sp.csr_array(X))


def test_break_ties_needs_one_value_per_class():
    model = SVC(break_ties=True, decision_function_shape="ovo").fit(X, [0, 1, 2] * 2)
    with pytest.raises(ValueError, match="break_ties must be False"):
        model.predict(X)


# Kernels of the user


def test_precomputed_must_be_square():
    match = r"Precomputed matrix must be a square matrix\. Input is a 6x2 matrix.*\bX\b"
    with pytest.raises(ValueError, match=match):
        SVC(kernel="precomputed").fit(X, Y)


def test_precomputed_must_be_dense():
    with pytest.raises(TypeError, match="Sparse precomputed"):
        SVC(kernel="precomputed").fit(sp.csr_array(X @ X.T), Y)
    model = SVC(kernel="precomputed").fit(X @ X.T, Y)
    with pytest.raises(TypeError, match="Sparse precomputed"):
        model.predict(sp.csr_array(X @ X.T))


def test_precomputed_needs_all_columns():
    model = SVC(kernel="precomputed").fit(X @ X.T, Y)
    with pytest.raises(ValueError, match=r"\bX\b"):
        model.predict(np.ones((2, len(model.support_))))


def _values(A, B):
    return np.asarray(A) @ np.asarray(B).T


BAD_KERNELS = {
    "too many columns": (lambda A, B: np.ones((len(A), len(B) + 1)), r"shape \(\d+, \d+\).*got"),
    "a vector": (lambda A, B: np.ones(len(A)), "shape"),
    "a number": (lambda A, B: 1.0, "shape"),
    "the rows": (lambda A, B: np.hstack([A, A, A, A]), "shape"),
    "nothing": (lambda A, B: None, "shape"),
    "ragged": (lambda A, B: [[1.0], [1.0, 2.0]], "kernel"),
    "nan": (lambda A, B: np.full((len(A), len(B)), np.nan), "finite"),
    "infinity": (lambda A, B: np.full((len(A), len(B)), np.inf), "finite"),
    "texts": (lambda A, B: np.full((len(A), len(B)), "a"), "numbers"),
    "objects": (lambda A, B: np.full((len(A), len(B)), object()), "float|number"),
    "complex": (lambda A, B: np.full((len(A), len(B)), 1j), "numbers"),
}


@pytest.mark.parametrize("case", BAD_KERNELS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_callables_that_return_something_else(estimator, case):
    function, match = BAD_KERNELS[case]
    with pytest.raises((ValueError, TypeError), match=r"\bkernel\b") as caught:
        estimator(kernel=function).fit(X, Y)
    assert caught.match(match)
    model = estimator(kernel=_values).fit(X, Y)
    model._fit_kernel = function
    with pytest.raises((ValueError, TypeError), match=r"\bkernel\b"):
        model.predict(X)


class Unusual(Exception):
    """Something only the user's code raises."""


@pytest.mark.parametrize("error", [Unusual("mine"), ValueError("mine"), KeyError("mine")])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_exceptions_of_a_callable_are_left_alone(estimator, error):
    def function(A, B):
        raise error

    model = estimator(kernel=function)
    with pytest.raises(type(error)) as caught:
        model.fit(X, Y)
    assert caught.value is error
    learned = [name for name in vars(model) if name.endswith("_")]
    assert not learned, "what is learned is set when the fit has succeeded"
    # And nothing is left broken.
    assert SVC().fit(X, Y).score(X, Y) == 1.0


def test_a_callable_that_fails_in_the_middle():
    calls = []

    def function(A, B):
        calls.append(len(A))
        if len(calls) > 2:
            raise Unusual
        return _values(A, B)

    rng = np.random.default_rng(0)
    with pytest.raises(Unusual):
        SVC(kernel=function, cache_size=0.01).fit(
            rng.normal(size=(900, 5)), rng.integers(2, size=900)
        )


@pytest.mark.parametrize("rows", [[], 5, np.empty((0, 2))])
def test_rows_a_callable_cannot_have(rows):
    with pytest.raises((ValueError, TypeError), match=r"\bX\b"):
        SVC(kernel=_values).fit(rows, Y)
