"""Bounds: the formulas at points computed by hand, what they refuse, and fitted machines."""

import math

import numpy as np
import pytest

from mercer import SVC, SVR, bounds

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(-1.5, 1.0, size=(60, 2)), RNG.normal(1.5, 1.0, size=(60, 2))])
Y = np.repeat([0, 1], 60)


def test_theorem_of_the_chapter():
    n, radius, margin, delta = 10**6, 2.0, 0.5, 0.1
    ratio = 64 * 4 / 0.25
    logs = math.log(0.5 * math.e * n / 32) * math.log(32 * n / 0.25)
    expected = 2 / n * (ratio * logs + math.log(40))
    assert bounds.margin(n, radius, margin, delta=delta) == pytest.approx(expected, rel=1e-12)
    # 64 R^2 / margin^2 = 1024 rows are not enough.
    assert bounds.margin(1024, radius, margin) == math.inf


def test_theorem_of_the_simple_algorithms():
    n, k = 10**6, 577 * 16
    expected = (k * math.log(8 * math.e * n / k) * math.log(32 * n) + math.log(160 * n)) / n
    found = bounds.margin(n, 2.0, 0.5, form="simple_algorithms")
    assert found == pytest.approx(expected, rel=1e-12)


def test_soft_margins():
    slack = [0.5, 0.25]
    squared = 1 / 100 * ((1 + 0.3125) / 0.04 * math.log(100) ** 2 + math.log(20))
    assert bounds.soft_margin(100, 1.0, 0.2, slack) == pytest.approx(squared, rel=1e-12)
    linear = 1 / 100 * ((1 + 0.5625 * math.log(5)) / 0.04 * math.log(100) ** 2 + math.log(20))
    assert bounds.soft_margin_l1(100, 1.0, 0.2, slack) == pytest.approx(linear, rel=1e-12)
    assert bounds.soft_margin(100, 1.0, 0.2, slack, constant=3.0) == pytest.approx(3 * squared)


def test_regression():
    expected = 1 / 100 * ((4 + 0.25) / 0.25 * math.log(100) ** 2 + math.log(20))
    found = bounds.regression(100, 2.0, [0.5], 0.5)
    assert found == pytest.approx(expected, rel=1e-12)


def test_vc_dimension_of_both_texts():
    # Where R^2 / margin^2 is whole, the integer greater than it is the next.
    assert bounds.vc_dimension(2.0, 1.0) == 5
    assert bounds.vc_dimension(2.0, 1.0, form="tutorial") == 6
    assert bounds.vc_dimension(2.0, 1.0, n_features=2, form="tutorial") == 3


def test_vc_bounds_of_both_texts():
    capacity = 7 * (math.log(200 / 7) + 1)
    slides = 0.1 + math.sqrt((capacity - math.log(0.05 / 4)) / 100)
    assert bounds.vc(0.1, 100, 7) == pytest.approx(slides, rel=1e-12)
    spread = 0.04 * (capacity - math.log(0.05))
    tutorial = 0.1 + spread / 2 * (1 + math.sqrt(1 + 0.4 / spread))
    assert bounds.vc(0.1, 100, 7, form="tutorial") == pytest.approx(tutorial, rel=1e-12)
    assert bounds.vc(0.0, 100, 201) == math.inf


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (bounds.margin, {"n": 10**7, "radius": 1.0, "margin": 0.3}),
        (bounds.soft_margin, {"n": 10**4, "radius": 1.0, "margin": 0.3, "slack": [1.0]}),
        (bounds.regression, {"n": 10**4, "length": 1.0, "slack": [], "gamma": 1.0}),
        (bounds.vc, {"error": 0.0, "n": 10**4, "dimension": 9}),
    ],
)
def test_more_rows_and_less_confidence_are_better(function, options):
    level = "eta" if function is bounds.vc else "delta"
    value = function(**options)
    assert function(**{**options, "n": 10 * options["n"]}) < value
    assert function(**options, **{level: 0.2}) < value


@pytest.mark.parametrize("options", [{}, {"loss": "squared_hinge"}, {"kernel": "linear"}])
def test_fitted_machines(options):
    model = SVC(C=10.0, tol=1e-6, **options).fit(X, Y)
    found = bounds.of(model, X, Y)
    beta = np.zeros(len(Y))
    beta[model.support_] = model.dual_coef_[0]
    gamma = 1.0 / (2 * X.var())
    K = (
        X @ X.T
        if options.get("kernel")
        else np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    )
    assert found.margin == pytest.approx(1.0 / math.sqrt(beta @ K @ beta), rel=1e-6)
    assert found.margin == pytest.approx(model.margin_, rel=1e-4)
    assert found.radius == pytest.approx(math.sqrt(K.diagonal().max()), rel=1e-6)
    assert found.sphere <= found.radius * (1 + 1e-6)
    assert found.training_error == pytest.approx(1.0 - model.score(X, Y))
    assert found.support_vectors == len(model.support_) / len(Y)
    assert found.hard_margin == math.inf  # the classes overlap
    assert found.vc >= found.training_error


def test_a_plane_without_errors_has_the_bound_of_hard_margins():
    rows = np.repeat([[-1.0], [1.0]], 500, axis=0) + RNG.uniform(-0.1, 0.1, size=(1000, 1))
    labels = np.repeat([0, 1], 500)
    found = bounds.of(SVC(kernel="linear", C=100.0).fit(rows, labels), rows, labels)
    assert found.hard_margin == bounds.margin(1000, found.radius, found.margin)
    assert np.isfinite(found.hard_margin)


def test_what_is_refused():
    with pytest.raises(TypeError, match="model must be an SVC, got SVR"):
        bounds.of(SVR().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="model must have 2 classes, got 3"):
        bounds.of(SVC().fit(X, np.arange(120) % 3), X, np.arange(120) % 3)
    with pytest.raises(ValueError, match="margin must be a positive finite number"):
        bounds.margin(10, 1.0, 0.0)
    with pytest.raises(ValueError, match="margin must be a number above 0 and below 1"):
        bounds.soft_margin_l1(10, 1.0, 2.0, [])
    with pytest.raises(ValueError, match="slack must be"):
        bounds.soft_margin(10, 1.0, 0.5, [-1.0])
    with pytest.raises(ValueError, match="n_support must be"):
        bounds.support_vectors(11, 10)
