"""Progress: lines and bars of verbose, and scikit-learn's callbacks."""

import io
import subprocess
import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, LinearSVC
from mercer.model_selection import GridSearchCV
from mercer.report import MachineReport, Progress, Report
from mercer.svm._verbose import ProgressLine, RichBar
from mercer.svm._watch import Way

REPORT = Report((MachineReport("converged", 1e-3, -1.0, 25000, 0, 0, 0, 2.5),), 2.5)


def _progress(seconds, *, machine=0, machines=1, done=0, gap=0.5):
    return Progress(machine, machines, done, int(1e4 * seconds), gap, -1.0, 7, seconds)


def _rows(n, classes):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 10)), rng.integers(classes, size=n)


def test_a_file_has_a_line_a_second_of_the_whole_fit():
    """Ten machines of a second each: the clock is that of the fit, not of a machine."""
    stream = io.StringIO()
    line = ProgressLine("SVC", 1e-3, stream)
    for tenth in range(100):
        machine, gap = tenth // 10, 10.0 ** (-3.0 * (tenth % 10) / 9.0)
        line(_progress(tenth / 10.0, machine=machine, machines=10, done=machine, gap=gap))
    line.finish(REPORT)
    line.close()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[0] == (
        "[SVC] 10%, 1 of 10 machines done, gap 1 on its way to 0.001, 10000 iterations, 1.0 s"
    )
    assert [text.rsplit(", ", 1)[1] for text in lines[:-1]] == [f"{s}.0 s" for s in range(1, 10)]
    assert lines[-1] == "[SVC] converged: 25000 iterations, gap 0.001, 2.5 s"


def test_the_way_to_tol_is_that_of_the_logarithm_and_never_goes_back():
    way = Way(tol=1e-4)
    gaps = [np.inf, 1.0, 1e-1, 1e-2, 5e-2, 1e-3, 1e-4, 1e-5]
    shares = [way.share(_progress(0.1, gap=gap)) for gap in gaps]
    np.testing.assert_allclose(shares, [0.0, 0.0, 0.25, 0.5, 0.5, 0.75, 1.0, 1.0], atol=1e-12)


def test_output_that_is_redirected():
    code = (
        "import numpy as np; from mercer import SVC; rng = np.random.default_rng(0)\n"
        "X, y = rng.normal(size=(3000, 10)), rng.integers(3, size=3000)\n"
        "SVC(C=1e5, gamma=0.05, tol=1e-13, max_time=2.4, verbose=True).fit(X, y)"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert run.stdout == ""
    *lines, outcome = run.stderr.splitlines()
    assert len(lines) == 2
    assert all("of 3 machines done" in line for line in lines)
    assert outcome.startswith("[SVC] time_limit: 3 machines, ")


def test_a_live_bar():
    console = pytest.importorskip("rich.console")
    stream = io.StringIO()
    terminal = console.Console(file=stream, force_terminal=True, width=120, color_system=None)
    bar = RichBar("SVC", 1e-3, terminal)
    bar(_progress(0.1, machines=3, gap=1.0))
    bar(_progress(1.1, machines=3, done=1, gap=0.1))
    bar.finish(REPORT)
    bar.close()
    text = stream.getvalue()
    assert "44%" in text
    assert "1 of 3 machines done, gap 0.1 on its way to 0.001, 11000 iterations, 1.1 s" in text
    assert "[SVC] converged: 25000 iterations, gap 0.001, 2.5 s" in text


def test_a_bar_that_fails_costs_no_fit():
    console = pytest.importorskip("rich.console")

    class Full(io.StringIO):
        def write(self, text):
            raise OSError("no space left on device")

    bar = RichBar("SVC", 1e-3, console.Console(file=Full(), force_terminal=True))
    bar(_progress(0.1))
    bar.finish(REPORT)
    bar.close()


# scikit-learn's callbacks

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")


class Recorder:
    """Counts tasks by the names of estimator and task; stops at a step if told to."""

    def __init__(self, stop_at=None):
        self.begun, self.ended, self.fitted = [], [], []
        self.set_up = 0
        self._stop_at = stop_at

    def setup(self, estimator, context):
        self.set_up += 1

    def teardown(self, estimator, context):
        self.set_up -= 1

    def on_fit_task_begin(self, estimator, context):
        self.begun.append((context.estimator_name, context.task_name))

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.ended.append((context.estimator_name, context.task_name))
        if fitted_estimator is not None:
            self.fitted.append(fitted_estimator.predict(X[:3]))
        return self._stop_at is not None and len(self.ended) >= self._stop_at


def test_callbacks_of_scikit_learn_hear_of_steps():
    X, y = _rows(2500, 2)
    recorder = Recorder()
    model = SVC(C=1e5, gamma=0.05, tol=1e-6).set_callbacks(recorder).fit(X, y)
    assert recorder.set_up == 0
    assert recorder.begun[0] == ("SVC", "fit")
    assert recorder.ended[-1] == ("SVC", "fit")
    assert ("SVC", "step") in recorder.ended
    assert len(recorder.ended) <= 101
    np.testing.assert_array_equal(recorder.fitted[0], model.predict(X[:3]))


def test_callbacks_of_scikit_learn_may_stop():
    X, y = _rows(2500, 2)
    recorder = Recorder(stop_at=1)
    model = SVC(C=1e6, gamma=0.05, tol=1e-13).set_callbacks(recorder).fit(X, y)
    assert model.report_.status == "interrupted"
    assert model.predict(X[:2]).shape == (2,)


def test_callbacks_are_torn_down_whatever_happens():
    recorder = Recorder()
    with pytest.raises(ValueError, match="C must be"):
        SVC(C=-1.0).set_callbacks(recorder).fit([[0.0], [1.0]], [0, 1])
    assert recorder.set_up == 0


@pytest.mark.parametrize("estimator", ["SVC", "pipeline"])
def test_a_progress_bar_shows_searches(estimator, capsys):
    pytest.importorskip("rich")
    X, y = _rows(120, 2)
    model, prefix = SVC(), ""
    if estimator == "pipeline":
        model, prefix = make_pipeline(StandardScaler(), SVC()), "svc__"
    search = GridSearchCV(model, {f"{prefix}C": [0.1, 1.0], f"{prefix}gamma": [0.1, 1.0]}, cv=3)
    plain = search.fit(X, y).cv_results_["mean_test_score"]
    search.set_callbacks(callback.ProgressBar(max_propagation_depth=2)).fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], plain)
    shown = capsys.readouterr().out
    assert "GridSearchCV - fit" in shown
    assert "100%" in shown
    assert "SVC - fit" in shown


def test_a_progress_bar_shows_fits(capsys):
    pytest.importorskip("rich")
    X, y = _rows(300, 3)
    SVC().set_callbacks(callback.ProgressBar()).fit(X, y)
    shown = capsys.readouterr().out
    assert "SVC - fit" in shown
    assert "100%" in shown


def test_linear_machines_show_lines(capsys):
    X, y = _rows(100, 2)
    LinearSVC(verbose=1).fit(X, y)
    assert "[LinearSVC] converged" in capsys.readouterr().err
