"""Probabilities: calibrated, deterministic, and in agreement with the classes predicted."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from mercer import SVC, NuSVC, OneClassSVM, _core
from mercer.model_selection import GridSearchCV

SETS = {
    "cancer": load_breast_cancer,
    "iris": load_iris,
    "wine": load_wine,
    "digits": load_digits,
}


def split(name):
    X, y = SETS[name](return_X_y=True)
    parts = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    scaler = StandardScaler().fit(parts[0])
    return scaler.transform(parts[0]), scaler.transform(parts[1]), parts[2], parts[3]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "dag"])
def test_the_class_predicted_is_the_most_probable(name, multiclass):
    X, X_test, y, y_test = split(name)
    # A cost that is far too low makes machines and sigmoids disagree.
    for C in [0.001, 10.0]:
        model = SVC(C=C, probability=True, multiclass=multiclass).fit(X, y)
        p = model.predict_proba(X_test)
        assert p.shape == (len(X_test), len(model.classes_))
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
        assert p.min() >= 0.0
        predicted = model.predict(X_test)
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], predicted)
    assert log_loss(y_test, p) < 0.35
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X_test)), p, atol=1e-15)


def test_a_sigmoid_is_the_one_that_regression_finds():
    """Against logistic regression on Platt's targets, each row twice with weights."""
    random = np.random.RandomState(0)
    labels = (random.rand(400) < 0.3).astype(np.int64)
    values = random.randn(400) + 1.5 * labels
    (a,), (b,) = _core.calibrate(values[:, np.newaxis], labels, 2, "ovo", 1)
    plus, minus = labels.sum(), (1 - labels).sum()
    target = np.where(labels == 1, (plus + 1) / (plus + 2), 1 / (minus + 2))
    X = np.r_[values, values][:, np.newaxis]
    y = np.r_[np.ones(400), np.zeros(400)]
    weight = np.r_[target, 1 - target]
    reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(X, y, weight)
    assert a == pytest.approx(-reference.coef_[0, 0], abs=1e-4)
    assert b == pytest.approx(-reference.intercept_[0], abs=1e-4)


def test_the_model_is_that_without_probabilities():
    X, X_test, y, _ = split("wine")
    plain = SVC(tol=1e-6).fit(X, y)
    model = SVC(tol=1e-6, probability=True).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X_test), plain.decision_function(X_test), atol=1e-4
    )
    assert len(model.probA_) == len(model.probB_) == 3
    assert (model.probA_ < 0).all()


def test_repeats_are_identical():
    X, X_test, y, _ = split("cancer")
    first, second = (
        NuSVC(nu=0.2, probability=True).fit(X, y).predict_proba(X_test) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(("rows", "features"), [(3000, 4), (1000, 150)])
def test_folds_side_by_side_find_what_they_find_one_after_another(rows, features):
    """Of rows that are cheap, and of rows that the folds take from each other."""
    random = np.random.RandomState(0)
    X = random.randn(rows, features)
    y = np.sin(X[:, 0]) + 0.3 * random.randn(rows) > 0.0
    first, *others = (
        SVC(gamma=1.0 / features, probability=True, n_jobs=n_jobs).fit(X, y).predict_proba(X)
        for n_jobs in (1, 2, 2, 3)
    )
    for other in others:
        np.testing.assert_array_equal(first, other)


def test_without_the_parameter_the_error_names_it():
    X, _, y, _ = split("iris")
    model = SVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")
    with pytest.raises(AttributeError, match=r"probability=False. Fit with probability=True"):
        model.predict_proba(X)
    with pytest.raises(AttributeError, match="probability=True"):
        SVC.predict_proba(model, X)
    model.probability = True
    with pytest.raises(AttributeError, match="when fitted with probability=False"):
        model.predict_proba(X)
    assert not hasattr(OneClassSVM().fit(X), "predict_proba")
    with pytest.raises(TypeError, match="probability"):
        SVC(probability="yes").fit(X, y)


def test_rare_classes_and_other_kernels():
    X, _, y, _ = split("iris")
    keep = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1), np.flatnonzero(y == 2)[:1]]
    X, y = X[keep], y[keep]
    for machine, rows in [
        (SVC(probability=True), X),
        (SVC(probability=True, kernel="precomputed"), X @ X.T),
        (SVC(probability=True, kernel=lambda A, B: A @ B.T), X),
    ]:
        model = machine.fit(rows, y)
        p = model.predict_proba(rows)
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(rows))


def test_searches_score_probabilities():
    X, _, y, _ = split("iris")
    grid = {"C": [0.1, 10.0]}
    search = GridSearchCV(SVC(probability=True), grid, scoring="neg_log_loss", cv=3).fit(X, y)
    assert search.best_score_ > -0.4
    assert search.predict_proba(X).shape == (len(X), 3)
