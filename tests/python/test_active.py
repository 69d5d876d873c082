"""Selective sampling: which rows are asked for, what is learnt, when it stops."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVC, NuSVC
from mercer.active import SelectiveSampler

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
Y = (X[:, 0] + X[:, 1] > 0.0).astype(int)
START = [int(np.flatnonzero(label == Y)[0]) for label in (0, 1)]


def sampler(**options):
    return SelectiveSampler(SVC(kernel="linear", C=100.0), **options).teach(X[START], Y[START])


def test_the_nearest_rows_are_asked_for():
    model = sampler()
    wanted = model.query(X, 5)
    left = np.setdiff1d(np.arange(len(X)), START)
    distance = np.abs(model.decision_function(X))
    np.testing.assert_array_equal(np.sort(distance[left])[:5], distance[wanted])


def test_rows_are_asked_for_once():
    model = sampler()
    seen = set(START)
    for _ in range(20):
        (wanted,) = model.query(X, 1)
        assert wanted not in seen
        seen.add(wanted)
        model.teach(X[[wanted]], Y[[wanted]])
    assert model.n_labels_ == 22


def test_the_machine_is_that_of_all_rows_taught():
    model = sampler()
    wanted = model.query(X, 30)
    model.teach(X[wanted], Y[wanted])
    rows = [*START, *wanted]
    whole = SVC(kernel="linear", C=100.0, tol=1e-3).fit(X[rows], Y[rows])
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=2e-2)


def test_starts_from_the_last_solution():
    rows = RNG.normal(size=(1000, 5))
    labels = (np.sin(2.0 * rows[:, 0]) + 0.5 * RNG.normal(size=1000) > 0.0).astype(int)
    machine = SVC(C=10.0)
    model = SelectiveSampler(machine).teach(rows[:990], labels[:990])
    model.teach(rows[990:], labels[990:])
    fresh = machine.fit(rows, labels).report_.iterations
    assert model.history_["iterations"][-1] < 0.75 * fresh


def test_learns_faster_than_from_random_rows():
    rows = RNG.integers(0, 2, size=(400, 15)).astype(float)
    labels = (rows.sum(axis=1) > 7.5).astype(int)
    pool, test = slice(0, 200), slice(200, 400)
    start = [int(np.flatnonzero(labels[pool] == label)[0]) for label in (0, 1)]
    model = SelectiveSampler(SVC(kernel="linear", C=1e3)).teach(rows[start], labels[start])
    while model.n_labels_ < 60:
        wanted = model.query(rows[pool], 1)
        model.teach(rows[wanted], labels[wanted])
    random = SVC(kernel="linear", C=1e3).fit(rows[:60], labels[:60])
    assert model.score(rows[test], labels[test]) > random.score(rows[test], labels[test])


def test_stops_on_the_plateau():
    model = sampler(patience=5)
    while not model.stop_ and model.n_labels_ < 200:
        wanted = model.query(X, 1)
        model.teach(X[wanted], Y[wanted])
    assert 7 < model.n_labels_ < 100
    objective = np.array(model.history_["objective"])
    assert abs(objective[-1] - objective[-6]) <= 1e-3 * objective[-1]
    assert model.score(X, Y) > 0.97


def test_stops_when_the_band_is_empty():
    flip = np.random.default_rng(1).uniform(size=300) < 0.1
    noisy = np.where(flip, 1 - Y, Y)
    model = sampler(stop="band", patience=3, validation=(X[200:], noisy[200:]))
    while not model.stop_ and model.n_labels_ < 200:
        wanted = model.query(X[:200], 5)
        model.teach(X[wanted], noisy[wanted])
    assert model.stop_ or model.n_labels_ >= 195
    assert len(model.history_["error"]) == len(model.history_["labels"])


def test_several_classes():
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    for multiclass in ("ovo", "ovr"):
        machine = SVC(kernel="rbf", C=100.0, multiclass=multiclass)
        start = [int(np.flatnonzero(labels == label)[0]) for label in range(3)]
        model = SelectiveSampler(machine).teach(X[start], labels[start])
        for _ in range(15):
            wanted = model.query(X, 3)
            model.teach(X[wanted], labels[wanted])
        assert model.score(X, labels) > 0.9


def test_sparse_rows():
    rows = sp.csr_array(np.where(np.abs(X) > 0.3, X, 0.0))
    model = SelectiveSampler(SVC(kernel="linear")).teach(rows[START], Y[START])
    wanted = model.query(rows, 10)
    model.teach(rows[wanted], Y[wanted])
    assert not set(wanted) & set(model.query(rows, 10))


def test_fit_forgets():
    model = sampler()
    model.teach(X[:50], Y[:50])
    model.fit(X[:20], Y[:20])
    assert model.n_labels_ == 20
    assert len(model.history_["labels"]) == 1


def test_what_is_refused():
    model = sampler()
    with pytest.raises(ValueError, match="n must be a positive integer, got 0"):
        model.query(X, 0)
    with pytest.raises(ValueError, match="X must have 2 columns"):
        model.teach(X[:, :1], Y)
    with pytest.raises(ValueError, match="y must have one label for each row"):
        model.teach(X[:3], Y[:2])
    with pytest.raises(TypeError, match="estimator must be an SVC, got NuSVC"):
        SelectiveSampler(NuSVC()).teach(X, Y)
    with pytest.raises(ValueError, match="stop must be"):
        SelectiveSampler(stop="never").teach(X, Y)
