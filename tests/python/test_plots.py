"""The pictures, checked by what is on the axes."""

import sys
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mercer import SVC, SVDD, SVR, NuSVR, OneClassSVM
from mercer.datasets import make_checkerboard
from mercer.model_selection import GridSearchCV
from mercer.plots import (
    convergence,
    decision_boundary,
    novelty,
    regression_tube,
    reliability,
    search,
)

mpl.use("Agg")


@pytest.fixture
def board():
    return make_checkerboard(200, squares=2, random_state=0)


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return X[:, :2], y


def draw(estimator, X, y, **options):
    ax = decision_boundary(estimator, X, y, ax=Figure().subplots(), resolution=40, **options)
    ax.figure.canvas.draw()
    return ax


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_two_classes_show_boundary_margins_and_support_vectors(board):
    model = SVC(C=100, gamma=2).fit(*board)
    ax = draw(model, *board)
    assert legend(ax) == [
        "class 0",
        "class 1",
        "boundary, f = 0",
        "margins, f = ±1",
        f"{len(model.support_)} support vectors",
    ]
    rings = ax.collections[-1].get_offsets()
    assert np.array_equal(rings, board[0][model.support_])
    dots = [line for line in ax.lines if len(line.get_xdata())]
    assert sum(len(line.get_xdata()) for line in dots) == 200


def test_lines_are_where_the_decision_function_says(board):
    model = SVC(C=100, gamma=2).fit(*board)
    ax = decision_boundary(model, *board, ax=Figure().subplots(), resolution=400)
    levels = {}
    for contour in ax.collections:
        if getattr(contour, "filled", True) is False:
            levels[float(contour.levels[0])] = contour.get_paths()[0].vertices
    assert sorted(levels) == [-1.0, 0.0, 1.0]
    for level, vertices in levels.items():
        # Linear interpolation between grid points: exact to second order in their distance.
        assert np.abs(model.decision_function(vertices) - level).max() < 0.05


def test_many_classes_and_labels_of_any_kind(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = SVC(C=10).fit(X, names)
    ax = draw(model, X, names)
    assert legend(ax)[:3] == ["class setosa", "class versicolor", "class virginica"]
    assert legend(ax)[3:] == ["boundary", f"{len(model.support_)} support vectors"]


def test_a_pipeline_shows_the_support_vectors_of_its_last_step(board):
    pipeline = make_pipeline(StandardScaler(), SVC()).fit(*board)
    ax = draw(pipeline, *board)
    assert np.array_equal(ax.collections[-1].get_offsets(), board[0][pipeline[-1].support_])


@pytest.mark.parametrize("other", [LogisticRegression(), DecisionTreeClassifier(random_state=0)])
def test_other_classifiers_work_without_support_vectors(board, other):
    assert not any("support" in text for text in legend(draw(other.fit(*board), *board)))


def test_a_new_figure_is_made_when_no_axes_are_given(board):
    from matplotlib import pyplot as plt

    ax = decision_boundary(SVC().fit(*board), *board, resolution=10)
    assert ax.figure is plt.gcf()
    assert ax.figure.get_window_extent().width >= 1400
    plt.close(ax.figure)


def test_points_on_a_line():
    X = np.column_stack([np.arange(6.0), np.ones(6)])
    y = np.array([0, 0, 0, 1, 1, 1])
    ax = draw(SVC(kernel="linear", C=100).fit(X, y), X, y)
    assert ax.get_ylim() == (0.5, 1.5)


def test_bad_arguments(board):
    X, y = board
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match=r"X must have shape \(n_samples, 2\), got \(200, 3\)"):
        decision_boundary(model, np.ones((200, 3)), y)
    with pytest.raises(
        ValueError, match="y must have one label for each row of X, got 199 for 200"
    ):
        decision_boundary(model, X, y[1:])
    with pytest.raises(ValueError, match="resolution must be at least 2, got 1"):
        decision_boundary(model, X, y, resolution=1)
    with pytest.raises(ValueError, match="y must be given"):
        decision_boundary(model, X)


def test_without_matplotlib_the_error_says_what_to_install(board, monkeypatch):
    model = SVC().fit(*board)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install mercer\[demo\]"):
        decision_boundary(model, *board)


def test_search_shows_every_pair_and_marks_the_best(board):
    grid = {"C": [1.0, 10.0, 100.0], "gamma": [0.5, 2.0]}
    found = GridSearchCV(SVC(), grid, cv=3).fit(*board)
    ax = search(found, ax=Figure().subplots())
    ax.figure.canvas.draw()
    scores = found.cv_results_["mean_test_score"].reshape(3, 2)
    np.testing.assert_array_equal(ax.images[0].get_array(), scores)
    (star,) = ax.lines
    at = int(star.get_ydata()[0]), int(star.get_xdata()[0])
    assert scores[at] == found.best_score_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("gamma", "C")
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["1", "10", "100"]


def test_search_takes_the_best_of_other_parameters_and_pipelines(board):
    pipeline = make_pipeline(StandardScaler(), SVC())
    grid = {"svc__C": [1.0, 10.0], "svc__gamma": [0.5, 2.0], "svc__shrinking": [True, False]}
    found = GridSearchCV(pipeline, grid, cv=3).fit(*board)
    ax = search(found, ax=Figure().subplots())
    assert np.nanmax(ax.images[0].get_array()) == found.best_score_
    one = GridSearchCV(SVC(), {"C": [1.0, 10.0]}, cv=3).fit(*board)
    with pytest.raises(ValueError, match="two numeric parameters"):
        search(one)


def test_reliability_compares_what_is_said_with_what_is_right(board):
    X, y = board
    model = SVC(C=10.0, gamma=2.0, probability=True).fit(X[::2], y[::2])
    ax = reliability(model, X[1::2], y[1::2], bins=4, ax=Figure().subplots())
    diagonal, curve = ax.lines
    assert diagonal.get_xdata()[0] == 0.5
    said, right = curve.get_xdata(), curve.get_ydata()
    assert len(said) == 4
    assert (np.diff(said) >= 0).all()
    # Bins of equal numbers: their mean is that of all rows.
    assert np.mean(right) == pytest.approx(model.score(X[1::2], y[1::2]))
    assert np.mean(said) == pytest.approx(model.predict_proba(X[1::2]).max(axis=1).mean())
    with pytest.raises(ValueError, match="bins must be at least 1"):
        reliability(model, X, y, bins=0)
    with pytest.raises(ValueError, match="one label for each row"):
        reliability(model, X, y[:3])


# Regressions


@pytest.fixture
def wave():
    rng = np.random.RandomState(0)
    X = np.sort(rng.uniform(0, 6, size=(60, 1)), axis=0)
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=60)


def test_regressions_have_a_colour_for_each_value():
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.uniform(size=(40, 2)), columns=["height", "width"])
    model = SVR(C=10.0).fit(X, 3.0 * X["height"])
    ax = draw(model, X, 3.0 * X["height"])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("height", "width")
    ground, dots = ax.collections[0], ax.collections[-2]
    # The ground and the points are on one scale, which holds all values.
    assert dots.norm.vmin == ground.norm.vmin <= 3.0 * X["height"].min()
    assert dots.norm.vmax == ground.norm.vmax >= 3.0 * X["height"].max()
    np.testing.assert_array_equal(dots.get_array(), 3.0 * X["height"])
    assert legend(ax) == ["40 rows, the colour is y", f"{len(model.support_)} support vectors"]


def test_the_lines_of_a_regression_are_where_it_has_their_value():
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(40, 2))
    model = SVR(C=10.0).fit(X, X[:, 0] - X[:, 1])
    ax = decision_boundary(model, X, X[:, 0], ax=Figure().subplots(), resolution=200)
    lines = [one for one in ax.collections if getattr(one, "filled", True) is False]
    assert len(lines) > 3
    for contour in lines:
        (level,) = contour.levels
        vertices = np.vstack([path.vertices for path in contour.get_paths()])
        np.testing.assert_allclose(model.predict(vertices), level, atol=1e-3)


@pytest.mark.parametrize("constant", [np.zeros(40), np.full(40, 3.0)])
def test_a_regression_of_equal_values(constant):
    X = np.random.RandomState(0).uniform(size=(40, 2))
    ax = draw(SVR().fit(X, constant), X, constant)
    assert legend(ax)[0] == "40 rows, the colour is y"


def test_the_tube_is_where_errors_begin_to_cost(wave):
    X, y = wave
    model = SVR(C=10.0, epsilon=0.25).fit(X, y)
    ax = regression_tube(model, X, y, ax=Figure().subplots())
    ax.figure.canvas.draw()
    curve = ax.lines[0]
    np.testing.assert_allclose(curve.get_ydata(), model.predict(curve.get_xdata()[:, None]))
    band = ax.collections[0].get_paths()[0].vertices
    assert np.isin(np.round(curve.get_ydata() + 0.25, 12), np.round(band[:, 1], 12)).all()
    outside = np.abs(y - model.predict(X)) > 0.25 + 1e-3 * np.ptp(y)
    assert 0 < outside.sum() < 60
    assert legend(ax) == [
        "f",
        "tube, f ± 0.25",
        f"{60 - outside.sum()} rows inside",
        f"{outside.sum()} rows outside",
        f"{len(model.support_)} support vectors",
    ]
    np.testing.assert_array_equal(ax.lines[-1].get_ydata(), y[outside])


def test_the_tube_of_other_machines(wave):
    X, y = wave
    learned = NuSVR(nu=0.3).fit(X, y)
    ax = regression_tube(learned, X, y, ax=Figure().subplots())
    assert legend(ax)[1] == f"tube, f ± {learned.epsilon_:.3g}"
    # Least squares have no tube.
    ax = regression_tube(SVR(loss="squared_error").fit(X, y), X, y, ax=Figure().subplots())
    assert legend(ax)[:2] == ["f", "60 rows"]
    frame, named = pd.DataFrame(X, columns=["time"]), pd.Series(y, name="height")
    pipeline = make_pipeline(StandardScaler(), SVR()).fit(frame, named)
    ax = regression_tube(pipeline, frame, named, ax=Figure().subplots())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time", "height")
    with pytest.raises(ValueError, match="one value for each row of X, got 59 for 60"):
        regression_tube(learned, X, y[1:])
    two = SVR().fit(X, np.column_stack([y, -y]))
    with pytest.raises(ValueError, match="one value for each row, got 2"):
        regression_tube(two, X, y)


def test_with_several_features_the_values_are_drawn_over_f():
    X = np.random.RandomState(0).uniform(size=(40, 3))
    y = X.sum(axis=1)
    model = SVR(epsilon=0.2).fit(X, y)
    ax = regression_tube(model, X, y, ax=Figure().subplots())
    diagonal = ax.lines[0]
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    drawn = np.concatenate([line.get_xydata() for line in ax.lines[1:]])
    expected = np.column_stack([model.predict(X), y])
    assert sorted(map(tuple, drawn)) == sorted(map(tuple, expected))


# Novelties


@pytest.mark.parametrize("machine", [OneClassSVM, SVDD])
def test_the_region_of_a_detector(machine):
    X = pd.DataFrame(np.random.RandomState(0).normal(size=(80, 2)), columns=["flow", "pressure"])
    model = machine(nu=0.2).fit(X)
    ax = decision_boundary(model, X, ax=Figure().subplots(), resolution=200)
    inside = model.predict(X) == 1
    assert legend(ax)[:3] == [
        f"{inside.sum()} inside",
        f"{(~inside).sum()} outside",
        "boundary, f = 0",
    ]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("flow", "pressure")
    (line,) = (one for one in ax.collections if getattr(one, "filled", True) is False)
    vertices = pd.DataFrame(line.get_paths()[0].vertices, columns=X.columns)
    assert np.abs(model.decision_function(vertices)).max() < 0.05
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), X[inside])


def test_novelty_counts_rows_by_their_value():
    rng = np.random.RandomState(0)
    X, new = rng.normal(size=(100, 3)), rng.normal(size=(50, 3)) + 3.0
    model = OneClassSVM(nu=0.2).fit(X)
    ax = novelty(model, X, new, bins=20, ax=Figure().subplots())
    known, others = model.decision_function(X), model.decision_function(new)
    assert legend(ax) == [
        f"100 rows trained on, {np.mean(known < 0):.1%} outside",
        f"50 new rows, {np.mean(others < 0):.1%} outside",
        "boundary, f = 0",
    ]
    for steps, values in zip(ax.patches[1:], (known, others), strict=True):
        shares, edges, _ = steps.get_data()
        # No interval is on both sides of the boundary, so shares tell how many are outside.
        assert 0.0 in edges
        assert shares.sum() == pytest.approx(1.0)
        assert shares[edges[:-1] < 0.0].sum() == pytest.approx(np.mean(values < 0.0))
    assert len(legend(novelty(model, X, ax=Figure().subplots()))) == 2
    with pytest.raises(ValueError, match="bins must be at least 1, got 0"):
        novelty(model, X, bins=0)


# Convergence


def test_convergence_shows_the_epochs_of_each_machine(iris):
    X, y = iris
    model = SVC(solver="adatron").fit(X, y)
    ax = convergence(model, ax=Figure().subplots())
    assert legend(ax) == ["0 or 1", "0 or 2", "1 or 2", "tol = 0.001"]
    for line, history in zip(ax.lines[:3], model.history_, strict=True):
        gaps = history["gap"]
        np.testing.assert_array_equal(line.get_ydata()[gaps > 0], gaps[gaps > 0])
        assert line.get_xdata()[-1] == len(gaps)
    assert list(ax.lines[3].get_ydata()) == [0.001, 0.001]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_convergence_shows_what_machines_have_ended_with(iris):
    model = SVC(C=1e4, max_iter=3, multiclass="ovr").fit(*iris)
    ax = convergence(model, ax=Figure().subplots())
    (points,) = (line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_array_equal(points.get_ydata(), [one.gap for one in model.report_])
    assert legend(ax) == ["3 machines not converged", "tol = 0.001"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "1", "2"]
    assert [text.get_text() for text in ax.texts] == ["3 iterations"] * 3


def test_convergence_shows_what_a_fit_has_told(iris):
    model = SVC().fit(*iris)
    told = [(0, 10, np.inf), (0, 20, 0.5), (2, 5, 0.3), (0, 30, 0.01)]
    steps = [SimpleNamespace(machine=m, iteration=i, gap=g) for m, i, g in told]
    ax = convergence(model, steps, ax=Figure().subplots())
    assert legend(ax) == ["0 or 1", "1 or 2", "tol = 0.001"]
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[20, 0.5], [30, 0.01]])
    np.testing.assert_array_equal(ax.lines[1].get_xydata(), [[5, 0.3]])
    with pytest.raises(TypeError, match=r"must be a machine of mercer\.svm"):
        convergence(LogisticRegression().fit(*iris))
