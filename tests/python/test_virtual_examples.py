"""Virtual examples: images are moved as said, and the support vectors are what is multiplied."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, NuSVC
from mercer.preprocessing import VirtualExamples

RANDOM = np.random.RandomState(0)
IMAGES = RANDOM.uniform(size=(5, 6, 9))
ROWS = IMAGES.reshape(5, -1)
LABELS = np.array(["a", "b", "a", "c", "b"])


def moved(rows=ROWS, **options):
    """Return the images that one move makes."""
    options = {"shape": (6, 9), "shifts": 0, **options}
    X, y = VirtualExamples(**options).multiply(rows, LABELS[: len(rows)])
    np.testing.assert_array_equal(X[: len(rows)], rows)
    np.testing.assert_array_equal(y, np.tile(LABELS[: len(rows)], len(X) // len(rows)))
    return X[len(rows) :].reshape(-1, len(rows), *options["shape"])


def test_shifts_move_whole_pixels_and_repeat_the_edge():
    padded = np.pad(IMAGES, ((0, 0), (2, 2), (2, 2)), mode="edge")
    found = moved(shifts=2)
    for image, (down, right) in zip(found, [(-2, 0), (2, 0), (0, -2), (0, 2)], strict=True):
        expected = padded[:, 2 - down : 8 - down, 2 - right : 11 - right]
        np.testing.assert_allclose(image, expected, atol=1e-12)


def test_a_shift_by_half_a_pixel_is_the_mean_of_two():
    (image,) = moved(shifts=[(0.0, 0.5)])
    np.testing.assert_allclose(image[:, :, 1:], (IMAGES[:, :, 1:] + IMAGES[:, :, :-1]) / 2)


def test_a_quarter_turn_is_exact():
    square = RANDOM.uniform(size=(3, 49))
    (image,) = moved(square, shape=(7, 7), rotations=[90])
    expected = np.rot90(square.reshape(-1, 7, 7), axes=(1, 2))
    np.testing.assert_allclose(image, expected, atol=1e-12)


def test_a_zoom_magnifies_about_the_centre():
    square = RANDOM.uniform(size=(3, 49))
    (image,) = moved(square, shape=(7, 7), zooms=[2.0])
    # Seen from the centre, pixel 2k shows what pixel k did; between them is their mean.
    inner = square.reshape(-1, 7, 7)[:, 2:5, 2:5]
    np.testing.assert_allclose(image[:, 1::2, 1::2], inner, atol=1e-12)
    np.testing.assert_allclose(image[:, 1, 2], inner[:, 0, :2].mean(axis=1), atol=1e-12)


def test_what_the_machine_learns_in_the_end():
    X, y = load_digits(return_X_y=True)
    X, y, Z = X[:300], y[:300], X[300:600]
    model = VirtualExamples(SVC(C=10.0, gamma=1e-3), zooms=[0.9], rotations=[5.0]).fit(X, y)
    plain = SVC(C=10.0, gamma=1e-3).fit(X, y)
    np.testing.assert_array_equal(model.first_.support_, plain.support_)
    again = plain.fit(*model.multiply(X[plain.support_], y[plain.support_]))
    np.testing.assert_array_equal(model.decision_function(Z), again.decision_function(Z))
    np.testing.assert_array_equal(model.predict(Z), again.predict(Z))
    assert model.n_rows_ == 7 * len(model.first_.support_)


def test_all_rows_are_multiplied_for_machines_without_support_vectors():
    X, y = load_digits(return_X_y=True)
    X, y = X[:100] / 16.0, y[:100]
    model = VirtualExamples(LogisticRegression(), rows="all").fit(X, y)
    assert model.first_ is None
    assert model.n_rows_ == 500
    with pytest.raises(TypeError, match="estimator must have support vectors, got LogisticReg"):
        VirtualExamples(LogisticRegression()).fit(X, y)


def test_pipelines_and_other_machines():
    X, y = load_digits(return_X_y=True)
    for machine in (make_pipeline(StandardScaler(), SVC()), NuSVC(nu=0.1)):
        model = VirtualExamples(machine).fit(X[:150], y[:150])
        assert model.score(X[150:300], y[150:300]) > 0.85


def test_decision_values_are_there_where_the_machine_has_them():
    assert hasattr(VirtualExamples(), "decision_function")
    with pytest.raises(AttributeError, match="KNeighborsClassifier has none"):
        VirtualExamples(KNeighborsClassifier()).decision_function(ROWS)


def test_rows_that_are_no_images_are_signals():
    X, _ = VirtualExamples().multiply([[1.0, 2.0, 3.0]], [0])
    np.testing.assert_array_equal(X, [[1, 2, 3], [2, 3, 3], [1, 1, 2]])


def test_float32_stays():
    X, _ = VirtualExamples(shape=(6, 9)).multiply(ROWS.astype(np.float32), LABELS)
    assert X.dtype == np.float32


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shape": (5, 9)}, "shape must have as many pixels as X has columns"),
        ({"shape": 7}, r"shape must be \(height, width\), got 7"),
        ({"shape": (0, 54)}, "shape must be a pair of positive integers"),
        ({"shifts": -1}, "shifts must be a non-negative integer"),
        ({"shifts": [1, 2]}, "shifts must be an integer or pairs"),
        ({"shifts": "up"}, "shifts must be"),
        ({"zooms": [0.0]}, "zooms must be positive"),
        ({"zooms": 1.1}, "zooms must be a sequence of numbers, got 1.1"),
        ({"rotations": [np.inf]}, "rotations must be finite"),
        ({"rows": "some"}, "rows must be"),
    ],
)
def test_what_is_wrong_is_said(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        VirtualExamples(**{"shape": (6, 9), **options}).fit(ROWS, LABELS)
