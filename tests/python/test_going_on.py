"""Going on: warm starts, learning and unlearning rows, and fits that were stopped.

Whatever is started from, the optimum is that of a fit from nothing: the gap is computed again, in
plain numpy, from the attributes. What is saved is counted in iterations.
"""

import copy
import os
import pickle
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from variants import VARIANTS, assert_same_values, target

from mercer import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import RBF

# The programmes of fitted models, rebuilt from their attributes, are a part of the torture.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.torture.cases import Case
from tests.torture.optimality import machines

GAMMA = 0.3
ROWS, MORE = 400, 40


def _data():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(ROWS + MORE, 4))
    score = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.5 * rng.normal(size=len(X))
    return X, (score > 0.0).astype(int), score, np.digitize(score, [-0.7, 0.7])


X, LABELS, NUMBERS, THREE = _data()

MACHINES = {
    **{name: model for name, model in VARIANTS.items() if "hard" not in name},
    "SVC three ovo": SVC(),
    "SVC three ovr": SVC(multiclass="ovr"),
    "SVC three dag": SVC(multiclass="dag"),
    "NuSVC three": NuSVC(nu=0.4),  # of a smaller one the margin is badly determined
    "SVC adatron": SVC(solver="adatron"),
    "SVC least squares": SVC(loss="squared_error"),
    "SVR huber": SVR(loss="huber", delta=0.3),
    "SVR pinball": SVR(loss="pinball", quantile=0.7),
    "SVR least squares": SVR(loss="squared_error"),
    "SVR columns": SVR(),
}

#: What else there is to change, by the parameter; every machine has gamma and tol.
CHANGES = {"C": (0.7, 1.5), "epsilon": (0.8,), "nu": (0.9, 1.1), "gamma": (1.05,), "tol": (0.1,)}


def _machine(name, **parameters):
    machine = clone(MACHINES[name]).set_params(gamma=GAMMA, **parameters)
    if is_classifier(machine):
        machine.decision_function_shape = "ovo"  # values, which have no votes in them
    return machine


def _target(name, model):
    if "columns" in name:
        return np.column_stack([NUMBERS, X[:, 1] - NUMBERS])
    return target(model, THREE if "three" in name else LABELS, NUMBERS)


def _cut(y, rows):
    return None if y is None else y[rows]


def _assert_optimal(model, rows, y, weight=None):
    """Check the programme of each machine: constraints, and the gap."""
    parameters = model.get_params()
    if parameters.get("loss") in ("squared_error", "huber", "pinball") or np.ndim(y) == 2:
        return
    if "multiclass" in parameters:
        parameters["multiclass"] = model._fit_multiclass
    case = Case(
        estimator=type(model).__name__, wild=frozenset(), kernel=(), kernel_as="name", X=rows,
        Z=rows, y=y, weight=weight, parameters=parameters,
    )  # fmt: skip
    distances = ((rows[:, None, :] - rows[None, :, :]) ** 2).sum(axis=2)
    K = np.exp(-parameters["gamma"] * distances).astype(np.longdouble)
    for machine, report in zip(machines(model, case), model.report_, strict=True):
        if machine.name == "svdd":
            machine.linear = -np.ones(len(machine.rows), np.longdouble) / 2
        assert machine.infeasibility() == ""
        assert machine.gap(K, 1e-15 * np.abs(K)) <= max(report.gap, 0.0) + 1e-12
    assert model.report_.gap <= model.tol


def _assert_same(warm, fresh, rows, y, weight=None):
    """Check that a model is as good as one from nothing, at the same tolerance."""
    assert warm.report_.status == fresh.report_.status == "converged"
    scale = max(1.0, abs(fresh.report_.objective))
    sizes = np.abs(np.asarray(fresh.dual_coef_)).sum()
    # Two points with gaps of tol at the most are so far apart in objective.
    assert (
        abs(warm.report_.objective - fresh.report_.objective) <= 2 * warm.tol * sizes + 1e-9 * scale
    )
    assert_same_values(warm, fresh, rows, atol=50.0 * warm.tol)
    _assert_optimal(warm, rows, y, weight)


@pytest.mark.parametrize("name", MACHINES)
def test_a_change_of_parameters_goes_on(name):
    model = _machine(name, warm_start=True)
    y = _cut(_target(name, model), slice(ROWS))
    rows = X[:ROWS]
    model.fit(rows, y)
    again = model.n_iter_
    assert np.sum(model.fit(rows, y).n_iter_) == 0 < np.sum(again)  # nothing is left to do
    for parameter, factors in CHANGES.items():
        for factor in factors if parameter in model.get_params() else ():
            parameters = {parameter: factor * getattr(model, parameter)}
            warm = copy.deepcopy(model).set_params(**parameters).fit(rows, y)
            fresh = clone(model).set_params(warm_start=False, **parameters).fit(rows, y)
            _assert_same(warm, fresh, rows, y)
            if (name, parameter, factor) == ("SVC adatron", "C", 1.5):
                continue  # it looks for the intercept first, and begins with that anew
            saved = np.sum(warm.n_iter_) < np.sum(fresh.n_iter_)
            assert saved, (parameters, warm.n_iter_, fresh.n_iter_)


@pytest.mark.parametrize("name", MACHINES)
def test_rows_come_and_go(name):
    model = _machine(name, warm_start=True)
    y = _target(name, model)
    model.fit(X[:ROWS], _cut(y, slice(ROWS)))
    fresh = clone(model).set_params(warm_start=False)
    # At the end of the rows given to fit.
    longer = copy.deepcopy(model).fit(X, y)
    whole = fresh.fit(X, y)
    _assert_same(longer, whole, X, y)
    assert np.sum(longer.n_iter_) < np.sum(whole.n_iter_)
    model.add(X[ROWS:], _cut(y, slice(ROWS, None)))
    np.testing.assert_array_equal(model.dual_coef_, longer.dual_coef_)
    np.testing.assert_array_equal(model.support_, longer.support_)
    # From anywhere, support vectors and others.
    gone = np.unique(np.concatenate([model.support_[:5], [3, 17, ROWS + 2]]))
    left = np.setdiff1d(np.arange(len(X)), gone)
    model.remove(gone)
    without = clone(fresh).fit(X[left], _cut(y, left))
    _assert_same(model, without, X[left], _cut(y, left))
    assert np.sum(model.n_iter_) < np.sum(without.n_iter_)
    assert model.shape_fit_ == (len(left), 4)
    # And the numbers are those of the rows that are left.
    assert model.support_.max() < len(left)
    model.add(X[gone], _cut(y, gone))
    order = np.concatenate([left, gone])
    _assert_same(model, clone(fresh).fit(X[order], _cut(y, order)), X[order], _cut(y, order))


@pytest.mark.parametrize("name", ["SVC", "SVC three ovo", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
def test_weights_may_change(name):
    model = _machine(name, warm_start=True)
    y = _target(name, model)
    rng = np.random.default_rng(3)
    first, second = (rng.uniform(0.5, 1.5, len(X)) for _ in range(2))
    first[::7], second[1::7] = 0.0, 0.0  # rows that leave, and others that enter
    model.fit(X, y, sample_weight=first).fit(X, y, sample_weight=second)
    fresh = clone(model).set_params(warm_start=False).fit(X, y, sample_weight=second)
    _assert_same(model, fresh, X, y, second)
    assert np.sum(model.n_iter_) < np.sum(fresh.n_iter_)
    model.remove([0, 5])
    left = np.setdiff1d(np.arange(len(X)), [0, 5])
    fresh.fit(X[left], _cut(y, left), sample_weight=second[left])
    _assert_same(model, fresh, X[left], _cut(y, left), second[left])


@pytest.mark.parametrize("name", MACHINES)
def test_a_limit_is_not_the_end(name):
    fresh = _machine(name)
    y = _target(name, fresh)
    fresh.fit(X, y)
    limit = max(2, int(np.max(fresh.n_iter_)) // 2)
    model = clone(fresh).set_params(warm_start=True, max_iter=limit)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.report_.status == "max_iterations"
    model.set_params(max_iter=-1).fit(X, y)
    _assert_same(model, fresh, X, y)
    assert np.sum(model.n_iter_) < np.sum(fresh.n_iter_)


@pytest.mark.parametrize("kind", ["sparse", "precomputed", "callable", "sequences", "float32"])
def test_rows_of_every_kind(kind):
    def gaussian(A, B):
        A, B = np.asarray(A), np.asarray(B)
        return np.exp(-GAMMA * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    rows, new = X[:ROWS], X[ROWS:]
    kernel = {"precomputed": "precomputed", "callable": gaussian}.get(kind, RBF(gamma=GAMMA))
    model = SVC(kernel=kernel, tol=1e-4, warm_start=True)
    if kind == "sparse":
        rows, new = sp.csr_array(rows), sp.csr_array(new)
    elif kind == "float32":
        rows, new = rows.astype(np.float32), new.astype(np.float32)
    elif kind == "precomputed":
        rows, new = gaussian(rows, rows), gaussian(new, X)
    elif kind == "sequences":
        model.kernel = lambda A, B: gaussian(np.array(A), np.array(B))
        rows, new = [tuple(row) for row in rows], [tuple(row) for row in new]
    model.fit(rows, LABELS[:ROWS]).add(new, LABELS[ROWS:]).remove([0, 1, 2, 399])
    left = np.setdiff1d(np.arange(len(X)), [0, 1, 2, 399])
    fresh = SVC(gamma=GAMMA, tol=1e-4).fit(X[left], LABELS[left])
    np.testing.assert_allclose(model.report_.objective, fresh.report_.objective, rtol=1e-5)
    assert model.report_.iterations < fresh.report_.iterations
    if kind == "precomputed":
        values = model.decision_function(gaussian(X[left], X[left]))
    elif kind == "sequences":
        values = model.decision_function([tuple(row) for row in X[left]])
    else:
        values = model.decision_function(sp.csr_array(X[left]) if kind == "sparse" else X[left])
    np.testing.assert_allclose(values, fresh.decision_function(X[left]), atol=5e-3)


def test_less_is_computed():
    fresh = SVC(gamma=GAMMA).fit(X, LABELS).report_
    model = SVC(gamma=GAMMA, warm_start=True).fit(X[:-1], LABELS[:-1])
    model.add(X[-1:], LABELS[-1:])
    assert model.report_.kernel_evaluations < 0.8 * fresh.kernel_evaluations
    model.set_params(C=1.05).fit(X, LABELS)
    # One block, which a fresh fit computes as well.
    assert model.report_.kernel_evaluations < 0.7 * fresh.kernel_evaluations
    assert model.report_.iterations < 0.5 * fresh.iterations
    model.fit(X, LABELS)
    assert model.report_.kernel_evaluations == 0


def test_the_users_rows_are_not_needed_any_more():
    rows = X.copy()
    model = SVC(gamma=GAMMA, tol=1e-5, warm_start=True).fit(rows, LABELS)
    rows *= 3.0
    # Other values: the fit starts from nothing, rather than from what they were.
    fresh = SVC(gamma=GAMMA, tol=1e-5).fit(rows, LABELS)
    model.fit(rows, LABELS)
    np.testing.assert_array_equal(model.dual_coef_, fresh.dual_coef_)
    assert model.n_iter_ == fresh.n_iter_


def test_what_has_nothing_in_common_starts_from_nothing():
    model = SVC(gamma=GAMMA, warm_start=True).fit(X, LABELS)
    others = {
        "other features": (X[:, :3], LABELS),
        "other classes": (X, THREE),
        "fewer rows": (X[:100], LABELS[:100]),
        "other order": (X[::-1].copy(), LABELS[::-1]),
    }
    for change, (rows, y) in others.items():
        warm = copy.deepcopy(model).fit(rows, y)
        fresh = SVC(gamma=GAMMA).fit(rows, y)
        np.testing.assert_array_equal(warm.dual_coef_, fresh.dual_coef_, err_msg=change)
    three = SVC(gamma=GAMMA, tol=1e-4, warm_start=True).fit(X, THREE)
    rest = three.set_params(multiclass="ovr").fit(X, THREE)  # as many machines, of something else
    fresh = clone(rest).fit(X, THREE)
    np.testing.assert_array_equal(rest.dual_coef_, fresh.dual_coef_)
    # Labels may change, and so may losses and intercepts.
    flipped = np.where(np.arange(len(X)) % 10 == 0, 1 - LABELS, LABELS)
    for parameters in ({}, {"loss": "squared_hinge"}, {"fit_intercept": False}):
        warm = copy.deepcopy(model).set_params(tol=1e-4, **parameters).fit(X, flipped)
        fresh = clone(warm).set_params(warm_start=False).fit(X, flipped)
        _assert_same(warm, fresh, X, flipped)


def test_what_cannot_be_added_or_removed():
    model = SVC(gamma=GAMMA)
    with pytest.raises(ValueError, match="not fitted"):
        model.add(X, LABELS)
    model.fit(X, LABELS)
    for call in (lambda: model.add(X, LABELS), lambda: model.remove([0])):
        with pytest.raises(ValueError, match="warm_start=True"):
            call()
    model.set_params(warm_start=True).fit(X, LABELS)
    state = model.dual_coef_
    bad = {
        "y must be given": None,
        "one value for each row": LABELS[:3],
        "of the kind": np.array(["a", "b"]),
        "like that": np.zeros((2, 2)),
    }
    for message, y in bad.items():
        with pytest.raises(ValueError, match=message):
            model.add(X[:2], y)
    with pytest.raises(ValueError, match="features"):
        model.add(X[:2, :3], LABELS[:2])
    with pytest.raises(ValueError, match="sample_weight must have"):
        model.add(X[:2], LABELS[:2], sample_weight=[1.0])
    for rows in ([len(X)], [-1], [0.5], "all", [[0]], [True, False]):
        with pytest.raises(ValueError, match="rows must be"):
            model.remove(rows)
    with pytest.raises(ValueError, match="leave at least one"):
        model.remove(np.arange(len(X)))
    with pytest.raises(ValueError, match="two classes"):
        model.remove(LABELS == 1)
    assert model.dual_coef_ is state  # nothing has changed


def test_names_of_features_stay():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = SVC(gamma=GAMMA, warm_start=True).fit(frame[:ROWS], LABELS[:ROWS])
    model.add(frame[ROWS:], LABELS[ROWS:]).remove([1])
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.add(frame[["d", "c", "b", "a"]], LABELS)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_go_on_as_well(copied):
    model = SVC(gamma=GAMMA, warm_start=True).fit(X, THREE)
    other = copied(model)
    model.set_params(C=2.0).fit(X, THREE)
    other.set_params(C=2.0).fit(X, THREE)
    np.testing.assert_array_equal(model.dual_coef_, other.dual_coef_)
    np.testing.assert_array_equal(model.n_iter_, other.n_iter_)


def test_many_steps_end_where_one_does():
    """Sums of coefficients stay right however often a fit goes on."""
    model = OneClassSVM(gamma=GAMMA, nu=0.3, tol=1e-6, warm_start=True).fit(X[:ROWS])
    rng = np.random.default_rng(0)
    for step in range(30):
        model.add(X[ROWS + step][None]).remove(rng.integers(ROWS, size=1))
        model.set_params(nu=float(rng.uniform(0.2, 0.4))).fit(model._fit_kept.rows)
    rows = model._fit_kept.rows
    total = model.nu * len(rows)
    assert abs(model.dual_coef_.sum() - total) <= 4 * np.finfo(float).eps * total
    fresh = clone(model).set_params(warm_start=False).fit(rows)
    _assert_same(model, fresh, rows, None)


# Stopped fits


def _hard(n_rows=1500):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, 10))
    return rows, rng.integers(2, size=len(rows))


def _interrupted(delay, fit):
    def send():
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            fit()
    finally:
        sender.join()


def test_ctrl_c_leaves_what_was_reached():
    rows, y = _hard(4000)
    parameters = {"C": 100.0, "gamma": 0.05, "tol": 1e-6}
    plain = SVC(**parameters)
    _interrupted(0.15, lambda: plain.fit(rows, y))
    assert not hasattr(plain, "support_")  # nobody has asked for it
    model = SVC(warm_start=True, **parameters)
    _interrupted(0.2, lambda: model.fit(rows, y))
    assert model.report_.status == "interrupted"
    assert model.fit_status_ == 1
    assert model.predict(rows[:5]).shape == (5,)
    first = model.report_.iterations
    model.set_params(tol=1e-2).fit(rows, y)
    fresh = SVC(C=100.0, gamma=0.05, tol=1e-2).fit(rows, y)
    assert model.report_.status == "converged"
    np.testing.assert_allclose(model.report_.objective, fresh.report_.objective, rtol=1e-4)
    if first > 0:  # else the machine was too busy to begin
        assert model.report_.iterations < fresh.report_.iterations


def test_max_time_is_not_the_end():
    rows, y = _hard()
    model = SVC(C=100.0, gamma=0.05, max_time=0.2, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        model.set_params(tol=1e-9).fit(rows, y)
    model.set_params(max_time=None, tol=1e-2).fit(rows, y)
    fresh = SVC(C=100.0, gamma=0.05, tol=1e-2).fit(rows, y)
    assert model.report_.status == "converged"
    np.testing.assert_allclose(model.report_.objective, fresh.report_.objective, rtol=1e-4)


# Callbacks


@pytest.mark.parametrize("machine", [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD])
def test_a_callback_is_told_and_may_stop(machine):
    rows, y = _hard()
    told = []

    def callback(progress):
        told.append(progress)
        return len(told) == 3

    model = machine(gamma=0.05, tol=1e-13, callback=callback)
    if hasattr(model, "C"):
        model.set_params(C=1e6)
    if not is_classifier(model):
        y = np.random.default_rng(2).normal(size=len(rows)) if is_regressor(model) else None
    if isinstance(model, OneClassSVM | SVDD):
        rows = np.tile(rows, (5, 1)) + np.random.default_rng(1).normal(size=(7500, 10))
        model.set_params(kernel="poly", degree=9, coef0=1.0)
    model.fit(rows, y)
    assert len(told) == 3
    assert model.report_.status == "interrupted"
    last = told[-1]
    assert (last.machine, last.machines, last.done) == (0, 1, 0)
    assert [p.seconds for p in told] == sorted(p.seconds for p in told)
    assert [p.iteration for p in told] == sorted(p.iteration for p in told)
    if last.iteration > 0:
        assert last.gap > 0.0
        assert np.isfinite(last.objective)
        assert 0 < last.support_vectors <= 2 * len(rows)
    assert model.predict(rows[:3]).shape == (3,)


def test_what_a_callback_raises_passes_through():
    rows, y = _hard()

    class TooSlowError(Exception):
        pass

    def callback(progress):
        raise TooSlowError(progress.machines)

    model = SVC(C=1e6, gamma=0.05, tol=1e-13, callback=callback)
    with pytest.raises(TooSlowError) as raised:
        model.fit(rows, y)
    assert raised.value.args == (1,)
    assert model.report_.status == "interrupted"
    assert model.predict(rows[:3]).shape == (3,)


def test_a_callback_hears_of_all_machines():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(1600, 10)), rng.integers(4, size=1600)
    told = []
    model = SVC(C=100.0, gamma=0.1, n_jobs=1, callback=told.append).fit(rows, y)
    assert model.report_.status == "converged"
    assert {p.machines for p in told} == {6}
    assert [p.done for p in told] == sorted(p.done for p in told)
    assert told[-1].done >= 4
    seconds = np.diff([0.0, *(p.seconds for p in told)])
    assert np.median(seconds) < 0.5
