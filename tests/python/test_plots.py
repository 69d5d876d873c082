"""The pictures, checked by what is on the axes."""

import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mercer import SVC
from mercer.datasets import make_checkerboard
from mercer.model_selection import GridSearchCV
from mercer.plots import decision_boundary, reliability, search

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
