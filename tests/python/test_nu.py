"""What `nu` promises: how many rows may be wrong, and how many become support vectors."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import StandardScaler
from variants import VARIANTS, machine, target

from mercer import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM

# Decision values are this exact at the tolerance used, relative to the largest.
CLOSE = 1e-5
TIGHT = {"tol": 1e-8}


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X), y / 50.0


@pytest.fixture(scope="module")
def rows_of(cancer, diabetes):
    return lambda model: diabetes if isinstance(model, NuSVR) else cancer


def _wrong(model, X, y):
    """The rows beyond the margin, the tube or the boundary."""
    if isinstance(model, NuSVC):
        signs = np.where(y == model.classes_[1], 1.0, -1.0)
        return signs * model.decision_function(X) < 1.0 - CLOSE
    if isinstance(model, NuSVR):
        return np.abs(y - model.predict(X)) > model.epsilon_ + CLOSE
    decision = model.decision_function(X)
    return decision < -CLOSE * max(1.0, np.abs(decision).max())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("nu", [0.01, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("estimator", [NuSVC, NuSVR, OneClassSVM, SVDD])
def test_shares(rows_of, estimator, nu, weighted):
    model = estimator(nu=nu, gamma=0.02, **TIGHT)
    X, y = rows_of(model)
    weight = np.ones(len(y))
    if weighted:
        weight = np.random.default_rng(1).uniform(0.2, 3.0, size=len(y))
    model.fit(X, y, sample_weight=weight)
    one = weight.max()  # within one sample
    assert weight[_wrong(model, X, y)].sum() <= nu * weight.sum() + one
    assert weight[model.support_].sum() >= nu * weight.sum() - one


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
@pytest.mark.parametrize("nu", [0.01, 0.1, 0.3, 0.6])
@pytest.mark.parametrize("estimator", [OneClassSVM, SVDD])
def test_rows_on_the_boundary_are_inside(cancer, estimator, nu, tol, weighted):
    # So that the share is one of those that `predict` rejects, to the last row.
    X, _ = cancer
    weight = np.ones(len(X))
    if weighted:
        weight = np.random.default_rng(1).uniform(0.2, 3.0, size=len(X))
    model = estimator(nu=nu, tol=tol).fit(X, sample_weight=weight)
    assert weight[model.predict(X) == -1].sum() <= nu * weight.sum()
    bounds = weight if estimator is OneClassSVM else weight / (nu * weight.sum())
    free = model.support_[model.dual_coef_[0] < (1.0 - 1e-9) * bounds[model.support_]]
    assert len(free) > 0
    assert (model.predict(X[free]) == 1).all()
    assert model.decision_function(X[free]).max() <= 2.0 * (2.0 * tol)


@pytest.mark.parametrize("nu", [0.05, 0.3])
def test_shares_of_classes_with_weights(cancer, nu):
    X, y = cancer
    model = NuSVC(nu=nu, gamma=0.02, class_weight={0: 3.0}, **TIGHT).fit(X, y)
    weight = np.where(y == 0, 3.0, 1.0)
    assert weight[_wrong(model, X, y)].sum() <= nu * weight.sum() + 3.0
    assert weight[model.support_].sum() >= nu * weight.sum() - 3.0
    # Each class has half of the errors that nu allows, whatever its size.
    for label in (0, 1):
        mine = y == label
        assert weight[mine & _wrong(model, X, y)].sum() <= nu / 2.0 * weight.sum() + 3.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("estimator", [OneClassSVM, SVDD])
def test_with_squared_losses_it_is_twice_the_mean_slack(cancer, estimator, weighted):
    X, _ = cancer
    weight = np.ones(len(X))
    if weighted:
        weight = np.random.default_rng(1).uniform(0.2, 3.0, size=len(X))
    for nu in (0.02, 0.2, 0.9):
        model = estimator(nu=nu, loss="squared_hinge", gamma=0.02, **TIGHT)
        model.fit(X, sample_weight=weight)
        slack = np.maximum(0.0, -model.decision_function(X))
        if estimator is OneClassSVM:
            slack /= nu * weight.sum()  # scikit-learn's scaling
        assert np.average(slack, weights=weight) == pytest.approx(nu / 2.0, rel=1e-5)


# The same model with C or epsilon


@pytest.mark.parametrize("nu", [0.1, 0.4])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_cost_that_gives_the_same_classifier(cancer, kernel, nu):
    X, y = cancer
    model = NuSVC(kernel=kernel, nu=nu, **TIGHT).fit(X, y)
    # The bounds were 1 for each row, before the division by the margin.
    C = np.abs(model.dual_coef_).max()
    same = SVC(kernel=kernel, C=C, **TIGHT).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), same.decision_function(X), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("nu", [0.1, 0.4, 0.9])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_tube_that_gives_the_same_regression(diabetes, kernel, nu, weighted):
    X, y = diabetes
    weight = np.random.default_rng(2).uniform(0.2, 3.0, size=len(y)) if weighted else None
    model = NuSVR(kernel=kernel, nu=nu, C=0.5, **TIGHT).fit(X, y, sample_weight=weight)
    assert model.epsilon_ > 0.0
    same = SVR(kernel=kernel, epsilon=model.epsilon_, C=0.5, **TIGHT)
    same.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict(X), same.predict(X), atol=1e-5)


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.8])
@pytest.mark.parametrize("gamma", [0.01, 0.3])
def test_sphere_and_hyperplane_are_one_boundary(cancer, nu, gamma):
    # k(z, z) is constant: |phi(z) - a|^2 and w.phi(z) tell the same.
    X, _ = cancer
    sphere, plane = (kind(nu=nu, gamma=gamma, **TIGHT).fit(X) for kind in (SVDD, OneClassSVM))
    factor = nu * len(X) / 2.0
    np.testing.assert_allclose(
        factor * sphere.decision_function(X), plane.decision_function(X), atol=1e-5 * factor
    )
    np.testing.assert_allclose(nu * len(X) * sphere.dual_coef_, plane.dual_coef_, atol=1e-4)
    clear = np.abs(plane.decision_function(X)) > 1e-5 * factor
    np.testing.assert_array_equal(sphere.predict(X)[clear], plane.predict(X)[clear])
    assert 0.0 < sphere.radius_ < 1.0


def test_sphere_and_hyperplane_with_squared_losses(cancer):
    # The slack of a squared distance is twice that of a scalar product.
    X, _ = cancer
    sphere = SVDD(nu=0.2, loss="squared_hinge", gamma=0.05, **TIGHT).fit(X)
    plane = OneClassSVM(nu=0.1, loss="squared_hinge", gamma=0.05, **TIGHT).fit(X)
    np.testing.assert_allclose(
        sphere.decision_function(X) / 2.0,
        plane.decision_function(X) / (0.1 * len(X)),
        atol=1e-5,
    )


# Values of nu that cannot be


def _never(A, B):
    raise AssertionError("the kernel was used")


@pytest.mark.parametrize(
    ("labels", "weight", "class_weight", "largest"),
    [
        ([0, 0, 0, 0, 1], None, None, 0.4),
        ([0, 0, 0, 0, 1], [1, 1, 1, 1, 2], None, 2.0 / 3.0),
        ([0, 0, 0, 0, 1], None, {1: 2.0}, 2.0 / 3.0),
        ([0, 1, 1, 1, 2], [1, 1, 1, 1, 2], None, 4.0 / 5.0),
        ([0, 0, 1, 1, 1], [0.5, 0.5, 3, 0, 3], None, 2.0 / 7.0),
    ],
)
@pytest.mark.parametrize("kernel", ["rbf", _never])
def test_infeasible(kernel, labels, weight, class_weight, largest):
    X = np.arange(5.0)[:, np.newaxis]
    for nu in (largest + 1e-6, 0.99):
        model = NuSVC(kernel=kernel, nu=nu, class_weight=class_weight)
        with pytest.raises(ValueError, match=r"^nu must be at most") as caught:
            model.fit(X, labels, sample_weight=weight)
        assert not hasattr(model, "support_")
        told = float(re.match(r"nu must be at most (\S+) .*, got \S+$", str(caught.value)).group(1))
        assert told == pytest.approx(largest, rel=1e-12)
    # What is told is taken.
    model = NuSVC(nu=told, class_weight=class_weight).fit(X, labels, sample_weight=weight)
    assert model.fit_status_ == 0


def test_pairs_have_as_much_of_nu_as_they_can():
    # Two rows against one, two against three, one against three.
    X = np.arange(6.0)[:, np.newaxis]
    y = np.array([0, 1, 2, 2, 0, 2])
    model = NuSVC(nu=0.7, decision_function_shape="ovo", **TIGHT).fit(X, y)
    np.testing.assert_allclose(model.nu_, [2 / 3, 0.7, 0.5])
    for column, pair, nu in zip(
        model.decision_function(X).T, [(0, 1), (0, 2), (1, 2)], model.nu_, strict=True
    ):
        rows = np.isin(y, pair)
        alone = NuSVC(nu=nu, gamma=model._fit_kernel.gamma, **TIGHT).fit(X[rows], y[rows])
        np.testing.assert_allclose(column, -alone.decision_function(X), atol=1e-6)


def test_class_weights_may_ask_for_more_than_is_feasible():
    # The rows allow 0.8; with these weights the second class is at its bounds, and the first has
    # all it wants.
    X = np.arange(5.0)[:, np.newaxis]
    y = [0, 0, 1, 1, 1]
    model = NuSVC(nu=0.7, class_weight={0: 1000.0, 1: 1e-3}, **TIGHT).fit(X, y)
    assert model.nu_ == pytest.approx(2 * 3e-3 / (2000 + 3e-3))
    assert model.predict(X)[:2].tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"^nu must be at most"):
        NuSVC(nu=0.81, class_weight={0: 1000.0, 1: 1e-3}).fit(X, y)


@pytest.mark.parametrize("factor", [1.0, 0.999999, 0.5])
@pytest.mark.parametrize(
    ("labels", "weight", "largest", "lighter"),
    [
        ([0, 0, 0, 0, 1], None, 0.4, 1),
        ([0, 0, 0, 1, 1, 1], None, 1.0, 0),
        ([0, 0, 1, 1, 1], [0.3, 0.3, 0.7, 0.1, 0.1], 0.8, 0),
        ([0, 1, 1, 2, 2], None, 2.0 / 3.0, 0),
        ([0] * 7 + [1] * 3, [0.1] * 10, 0.6, 1),
    ],
)
def test_the_largest_feasible_value(labels, weight, largest, lighter, factor):
    rng = np.random.default_rng(0)
    labels = np.array(labels)
    X = rng.normal(size=(len(labels), 2)) + labels[:, np.newaxis]
    model = NuSVC(nu=largest * factor, gamma=0.5, **TIGHT).fit(X, labels, sample_weight=weight)
    assert model.fit_status_ == 0
    assert np.isfinite(model.decision_function(X)).all()
    if factor == 1.0:
        # Every row of the lighter class is at its bound.
        assert set(np.flatnonzero(labels == lighter)) <= set(model.support_)


def test_six_samples_of_scikit_learn_issue_13075():
    # LIBSVM never returns from this one.
    X = np.zeros((6, 13))
    X[0, [2, 5, 6, 9]] = [0.3, 1.0, 0.625, 0.31865753]
    X[1, [5, 6, 9, 10, 12]] = [0.33333333, 0.61538462, 0.59230137, 1.0, 1.0]
    X[2, [9, 10]] = [0.31778082, 1.0]
    X[3, [0, 3, 4, 5, 7, 8, 9]] = [0.66666667, 0.5, 1.0, 0.8, 1.0, 0.5625, 0.36430137]
    X[4, [9, 10]] = [0.33638356, 1.0]
    X[5, [2, 5, 6, 9]] = [0.3, 1.0, 0.625, 0.31843836]
    y = np.array([False, True, True, False, True, False])
    for fold in [np.arange(6), *(np.delete(np.arange(6), i) for i in range(6))]:
        for tol in (1e-3, 1e-8):
            model = NuSVC(coef0=10.0, gamma="auto", kernel="poly", nu=2 / 7, tol=tol)
            model.fit(X[fold], y[fold])
            assert model.fit_status_ == 0
            np.testing.assert_array_equal(model.predict(X[fold]), y[fold])


@pytest.mark.parametrize("name", [name for name in VARIANTS if hasattr(VARIANTS[name], "nu")])
def test_all_rows_at_their_bounds(name):
    # nu = 1 leaves one feasible point, without any free vector to tell the intercept.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    model = machine(name, nu=1.0)
    model.fit(X, target(model, y, X[:, 0]))
    assert model.fit_status_ == 0
    assert np.isfinite(model.predict(X)).all()
    if "squared" not in name and "SVR" not in name:
        assert len(model.support_) == 20


@pytest.mark.parametrize("name", [name for name in VARIANTS if hasattr(VARIANTS[name], "nu")])
def test_a_tiny_share(name):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    model = machine(name, nu=1e-9, gamma=2.0)
    model.fit(X, target(model, y, X[:, 0]))
    assert model.fit_status_ == 0
    assert np.isfinite(model.predict(X)).all()
