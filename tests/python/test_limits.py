"""Fits that run into a limit, what they report, and what they show."""

import io
import pickle
import re

import numpy as np
import pytest
from oracle import kernel_matrix, machines
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from variants import ESTIMATORS, VARIANTS, machine, target, values

from mercer import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM
from mercer._progress import Progress
from mercer.model_selection import sigma_path
from mercer.report import MachineReport, Report
from mercer.report import Progress as FitProgress
from mercer.svm._verbose import ProgressLine


@pytest.fixture(scope="module")
def hard():
    """Labels that have nothing to do with the rows."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(1000, 5)), rng.integers(2, size=1000)


# Limits


@pytest.mark.parametrize("max_iter", [1, 2, 7, 100])
def test_max_iter(hard, max_iter):
    X, y = hard
    match = rf"Solver terminated early \(max_iter={max_iter}\).*gap reached.*tol=0\.001"
    with pytest.warns(ConvergenceWarning, match=match):
        model = SVC(gamma=0.1, C=10.0, max_iter=max_iter).fit(X, y)
    assert model.fit_status_ == 1
    np.testing.assert_array_equal(model.n_iter_, [max_iter])
    assert model.report_.status == "max_iterations"
    # An honest gap, and a model that is feasible and can be used.
    (solution,) = machines(model, y)
    K = kernel_matrix("rbf", X, X, gamma=0.1)
    assert model.report_.gap == pytest.approx(solution.gap(K, 10.0), rel=1e-4)
    assert model.report_.gap > 1e-3
    assert abs(solution.beta.sum()) < 1e-9
    np.testing.assert_allclose(
        model.decision_function(X), -(K @ solution.beta + solution.bias), atol=1e-4
    )


@pytest.mark.parametrize("max_iter", [1, 2, 7, 100])
@pytest.mark.parametrize("name", VARIANTS)
def test_max_iter_of_every_machine(hard, name, max_iter):
    X, y = hard
    model = machine(name, gamma=0.1, tol=1e-9, max_iter=max_iter)
    with pytest.warns(ConvergenceWarning, match=rf"terminated early \(max_iter={max_iter}\)"):
        model.fit(X, target(model, y, X[:, 0] + y))
    assert model.fit_status_ == 1
    assert model.report_.status == "max_iterations"
    assert np.ravel(model.n_iter_).tolist() == [max_iter]
    assert model.report_.gap > 1e-9
    assert np.isfinite(values(model, X)).all()
    _assert_feasible(model, len(y))


def _assert_feasible(model, n_rows):
    """Check the sums of the coefficients, which no limit may break."""
    beta = model.dual_coef_[0]
    if isinstance(model, SVDD):
        assert beta.sum() == pytest.approx(1.0)
    elif isinstance(model, OneClassSVM):
        assert beta.sum() == pytest.approx(model.nu * n_rows)
    elif getattr(model, "fit_intercept", True) is True:
        assert abs(beta.sum()) <= 1e-9 * (1.0 + np.abs(beta).sum())


@pytest.mark.parametrize("name", VARIANTS)
def test_no_iteration_of_any_machine(hard, name):
    X, y = hard
    model = machine(name, max_iter=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=0"):
        model.fit(X, target(model, y, X[:, 0] + y))
    assert np.isfinite(values(model, X)).all()
    _assert_feasible(model, len(y))


def test_max_iter_of_each_machine():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning):
        model = SVC(max_iter=3).fit(X, y)
    np.testing.assert_array_equal(model.n_iter_, [3, 3, 3])
    assert model.n_iter_.dtype == np.int32


def test_no_iteration_at_all(hard):
    X, y = hard
    with pytest.warns(ConvergenceWarning, match="max_iter=0"):
        model = SVC(max_iter=0).fit(X, y)
    assert model.support_.shape == (0,)
    assert model.dual_coef_.shape == (1, 0)
    assert model.support_vectors_.shape == (0, 5)
    assert len(set(model.predict(X))) == 1


@pytest.mark.parametrize("kernel", ["precomputed", lambda A, B: A @ B.T])
def test_no_iteration_with_kernels_of_the_user(hard, kernel):
    X, y = hard
    rows = X @ X.T if kernel == "precomputed" else X
    with pytest.warns(ConvergenceWarning, match="max_iter=0"):
        model = SVC(kernel=kernel, max_iter=0).fit(rows, y)
    assert len(set(model.predict(rows))) == 1


def test_enough_iterations_do_not_warn(hard):
    X, y = hard
    needed = int(SVC(gamma=0.1).fit(X, y).n_iter_[0])
    model = SVC(gamma=0.1, max_iter=2 * needed).fit(X, y)
    assert model.fit_status_ == 0
    assert model.report_.status == "converged"


def test_max_time():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 20)), rng.integers(2, size=6000)
    with pytest.warns(ConvergenceWarning, match=r"terminated early \(max_time=0\.05\).*max_time"):
        model = SVC(C=1e4, gamma=0.05, tol=1e-9, max_time=0.05).fit(X, y)
    assert model.fit_status_ == 1
    assert model.report_.status == "time_limit"
    assert model.report_.gap > 1e-9
    (solution,) = machines(model, y)
    assert abs(solution.beta.sum()) <= 1e-9 * (1.0 + np.abs(solution.beta).sum())
    assert np.isfinite(model.decision_function(X[:10])).all()


@pytest.mark.parametrize(
    "model",
    [
        SVR(C=1e4, gamma=0.05, tol=1e-9),
        NuSVR(C=1e4, gamma=0.05, tol=1e-9),
        NuSVC(gamma=0.05, tol=1e-9),
        OneClassSVM(gamma=0.05, tol=1e-12),
        SVDD(kernel="poly", tol=1e-12),
    ],
    ids=lambda model: type(model).__name__,
)
def test_max_time_of_every_machine(model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 20)), rng.integers(2, size=6000)
    y[:3000], y[3000:] = 0, 1
    model = clone(model).set_params(max_time=0.02)
    with pytest.warns(ConvergenceWarning, match=r"terminated early \(max_time=0\.02\)"):
        model.fit(X, target(model, y, X[:, 0] + y))
    assert model.report_.status == "time_limit"
    assert model.fit_status_ == 1
    assert np.isfinite(values(model, X[:10])).all()
    _assert_feasible(model, len(y))


@pytest.mark.parametrize("estimator", [NuSVC, OneClassSVM, SVDD])
def test_the_gap_is_told_where_there_was_no_time_at_all(hard, estimator):
    X, y = hard
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = estimator(gamma=0.1, max_time=1e-9).fit(X, y)
    assert model.report_.status == "time_limit"
    assert model.report_.gap > model.tol
    if estimator is NuSVC:
        return  # of which coefficients are divided by the margin, whatever that is
    beta = np.zeros(len(X))
    beta[model.support_] = model.dual_coef_[0]
    gradient = kernel_matrix("rbf", X, X, gamma=0.1) @ beta
    gap = gradient[beta > 0.0].max() - gradient[beta < beta.max()].min()
    assert 0.0 < gap <= model.report_.gap


def test_converged_means_that_the_gap_is_at_most_tol():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8000, 30)), rng.integers(0, 2, 8000)
    model = SVC(C=100).fit(X, y)
    assert model.report_.status == "converged"
    beta = np.zeros(8000)
    beta[model.support_] = model.dual_coef_[0]
    descent = 2.0 * y - 1.0 - model.decision_function(X)
    gap = descent[beta < 100.0 * y].max() - descent[beta > 100.0 * (y - 1)].min()
    assert gap <= model.report_.gap + 1e-9
    assert model.report_.gap <= 1e-3


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_time_enough_does_not_warn(hard, estimator):
    for max_time in (60.0, 1e300):
        assert estimator(max_time=max_time).fit(*hard).fit_status_ == 0


# Reports


def test_report_of_a_fit():
    X, y = load_digits(return_X_y=True)
    report = SVC().fit(X, y).report_
    assert len(report) == len(list(report)) == 45
    assert report.status == "converged"
    assert report.gap == max(part.gap for part in report) <= 1e-3
    assert report.iterations == sum(part.iterations for part in report) > 0
    assert report.objective == pytest.approx(sum(part.objective for part in report))
    assert report.kernel_evaluations > 0
    assert report.cache_misses > 0
    assert report.cache_hits >= 0
    assert 0 <= report.cache_bypasses <= report.cache_misses
    assert report.seconds > 0.0
    assert report[0] is report.machines[0]
    assert report[-1].iterations > 0
    with pytest.raises(IndexError):
        report[45]
    for part in report:
        assert type(part.gap) is float
        assert type(part.iterations) is int
        assert type(part.status) is str
    assert pickle.loads(pickle.dumps(report)) == report
    assert re.match(r"Report\(status='converged', gap=\S+, .*machines=45\)", repr(report))


def test_the_report_tells_the_worst():
    good = MachineReport("converged", 1e-4, -1.0, 10, 100, 5, 6, 0.5)
    slow = MachineReport("max_iterations", 0.3, -2.0, 20, 200, 7, 8, 0.25)
    late = MachineReport("time_limit", 0.2, -3.0, 30, 300, 9, 10, 0.25)
    lost = MachineReport("diverged", 0.1, -4.0, 40, 400, 11, 12, 0.25)
    assert Report((good, slow), 0.6).status == "max_iterations"
    whole = Report((late, slow, good), 0.6)
    assert whole.status == "time_limit"
    assert Report((late, lost, good), 0.6).status == "diverged"
    assert whole.gap == 0.3
    assert whole.objective == -6.0
    assert whole.iterations == 60
    assert whole.kernel_evaluations == 600
    assert (whole.cache_hits, whole.cache_misses) == (21, 24)
    assert whole.seconds == 0.6
    with pytest.raises(AttributeError):
        whole.seconds = 1.0


def test_less_work_is_counted_for_less_to_do():
    # Well separated classes: few rows of the kernel matrix are ever needed.
    rng = np.random.default_rng(1)
    y = rng.integers(2, size=3000)
    X = rng.normal(size=(3000, 4)) + 8.0 * y[:, None]
    report = SVC(gamma=0.01).fit(X, y).report_
    assert report.kernel_evaluations < 3000**2 / 2


# Progress


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_verbose(hard, capsys, estimator):
    X, y = hard
    estimator().fit(X, y)
    assert capsys.readouterr() == ("", "")
    estimator(verbose=True).fit(X, y)
    output, errors = capsys.readouterr()
    assert output == ""
    outcome = rf"^\[{estimator.__name__}\] converged: \d+ iterations, gap \S+, \S+ s\n$"
    assert re.search(outcome, errors, re.M)


class _Terminal:
    def __init__(self, is_terminal):
        self.text = ""
        self._is_terminal = is_terminal

    def isatty(self):
        return self._is_terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


class _Failing(_Terminal):
    def write(self, text):
        raise OSError("no space left on device")


class _WithoutTerminal:
    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def _closed():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    "stream",
    [lambda: None, _closed, _WithoutTerminal, lambda: _Failing(True), lambda: _Failing(False)],
    ids=["none", "closed", "no isatty", "failing terminal", "failing file"],
)
def test_progress_never_costs_a_fit(hard, monkeypatch, estimator, stream):
    X, y = hard
    stream = stream()
    monkeypatch.setattr("sys.stderr", stream)
    model = estimator(verbose=True).fit(X[:100], y[:100])
    with Progress(1, patience=0.0) as progress:
        progress.step("all")
    monkeypatch.undo()
    assert model.report_.status == "converged"
    if isinstance(stream, _WithoutTerminal):
        assert f"[{estimator.__name__}] converged" in stream.text
        assert "[1/1] all" in stream.text


def test_progress_on_a_terminal_is_one_line():
    stream = _Terminal(is_terminal=True)
    line = ProgressLine("SVC", 1e-3, stream)
    for tenth in range(25):
        gap = 1.0 / (tenth + 1)
        line(FitProgress(0, 1, 0, 1000 * tenth, gap, -1.0, 9, tenth / 10.0))
    line.finish(Report((MachineReport("converged", 1e-3, -1.0, 25000, 0, 0, 0, 2.5),), 2.5))
    line.close()
    line.close()
    text = stream.text
    assert text.count("\n") == 1
    assert text.endswith("\n")
    assert text.count("\r") == 26
    before, last = text.rstrip("\n").split("\r")[-2:]
    assert len(last) >= len(before.rstrip())  # the last line covers the one before


def test_warnings_point_at_the_caller():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning) as by_fit:
        SVC(max_iter=1).fit(X, y)
    with pytest.warns(ConvergenceWarning) as by_path:
        sigma_path(X[:100], y[:100], sigmas=[1.0], max_iter=1)
    assert by_fit[0].filename == by_path[0].filename == __file__
