"""Bundled and generated data sets."""

import numpy as np
import pytest

from mercer import datasets


@pytest.mark.parametrize(
    ("load", "shape", "counts", "checksum"),
    [
        (datasets.load_sonar, (208, 60), {"M": 111, "R": 97}, 3510.8897),
        (datasets.load_ionosphere, (351, 34), {"bad": 126, "good": 225}, 2956.01597),
    ],
)
def test_bundled_sets_are_the_published_ones(load, shape, counts, checksum):
    bunch = load()
    assert bunch.data.shape == shape
    assert bunch.data.dtype == np.float64
    assert dict(zip(bunch.target_names, np.bincount(bunch.target), strict=True)) == counts
    assert len(bunch.feature_names) == shape[1]
    assert bunch.data.sum() == pytest.approx(checksum, abs=1e-6)
    assert str(shape[0]) in bunch.DESCR

    X, y = load(return_X_y=True)
    assert np.array_equal(X, bunch.data)
    assert np.array_equal(y, bunch.target)


def test_values_are_the_nearest_floats_to_the_published_decimals():
    assert datasets.load_sonar().data[0, :5].tolist() == [0.02, 0.0371, 0.0428, 0.0207, 0.0954]
    first = datasets.load_ionosphere().data[0, :5]
    assert first.tolist() == [1.0, 0.0, 0.99539, -0.05889, 0.85243]


def test_every_load_is_a_fresh_copy():
    datasets.load_sonar().data[:] = -1.0
    assert datasets.load_sonar().data.min() >= 0.0


def test_checkerboard_alternates():
    X, y = datasets.make_checkerboard(5000, squares=3, random_state=1)
    assert X.shape == (5000, 2)
    assert X.min() >= 0.0
    assert X.max() <= 3.0
    fields = np.floor(X).astype(int)
    assert len(np.unique(fields, axis=0)) == 9
    colours = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert np.array_equal(y, colours[fields[:, 0], fields[:, 1]])


def test_checkerboard_depends_on_the_seed_alone():
    X, y = datasets.make_checkerboard(random_state=7)
    assert X.shape == (2000, 2)
    again, labels = datasets.make_checkerboard(random_state=np.random.RandomState(7))
    assert np.array_equal(X, again)
    assert np.array_equal(y, labels)
    assert not np.array_equal(X, datasets.make_checkerboard(random_state=8)[0])


@pytest.mark.parametrize("parameter", ["n_samples", "squares"])
def test_checkerboard_names_the_bad_parameter(parameter):
    with pytest.raises(ValueError, match=f"{parameter} must be at least 1, got 0"):
        datasets.make_checkerboard(**{parameter: 0})
