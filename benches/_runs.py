"""One library on one case, in a process of its own that may be stopped.

As a script it is that process: python benches/_runs.py JOB, where JOB is what `run_apart` writes.
"""

import contextlib
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from _cases import Kind, find
from _data import Data
from _libraries import LIBRARIES, Machine

# Seconds of work on one case after which a library is not run again.
ENOUGH = 60.0
# Share of its time limit after which a process does not begin again what may not end in time.
NEARLY = 0.9


@dataclass(frozen=True)
class Job:
    """What to run: best of `repeat`, within `limit` seconds, results to `output`.

    The cache is in MB; None is "auto" for Mercer, 4000 for the peers. It changes scikit-learn and
    Mercer alone.
    """

    case: str
    library: str
    repeat: int
    limit: float
    cache: float | None = None
    output: str | None = None


@dataclass(frozen=True)
class Run:
    """What one library did on one case; the last five are of Mercer's `report_` alone.

    `peak_mb` is of the process up to the end of the first prediction (only fast libraries fit
    again, and hold the last model meanwhile), `fit_mb` what the first fit added to it at its peak.
    `first_fit` is the time of the first fit of the process, `fit` that of the fastest.
    """

    case: str
    library: str
    n: int
    d: int
    kind: Kind
    classes: int | None
    support_vectors: int
    score: float
    peak_mb: float
    fit_mb: float
    fit: float
    first_fit: float
    predict: float
    status: str | None = None
    gap: float | None = None
    objective: float | None = None
    iterations: int | None = None
    kernel_evaluations: int | None = None

    @property
    def machine(self) -> str:
        """The number of classes, or the kind of a machine that has none."""
        return self.kind if self.classes is None else str(self.classes)

    @property
    def evaluations(self) -> float | None:
        """Kernel evaluations for each pair of a row and a support vector, of two classes."""
        if self.kernel_evaluations is None or self.classes != 2:
            return None
        return self.kernel_evaluations / (self.n * self.support_vectors)


@dataclass(frozen=True)
class Failure:
    """Why there is no run; `limit` is set if its time was up."""

    case: str
    library: str
    reason: str
    limit: float | None = None


def numbered(data: Data) -> Data:
    """Put numbers in the place of class labels: LIBSVM takes no others."""
    from sklearn.preprocessing import LabelEncoder

    encoder = LabelEncoder().fit(data.y)
    y, y_test = (encoder.transform(part).astype(np.float64) for part in (data.y, data.y_test))
    return Data(data.X, y, data.X_test, y_test)


def load(case: str) -> Data:
    found = find(case)
    return numbered(found.load()) if found.kind == "SVC" else found.load()


def score(kind: Kind, y: Any, predicted: NDArray[Any]) -> float:
    if kind == "SVR":
        return float(1.0 - np.mean((y - predicted) ** 2) / np.var(y))
    if kind == "OneClassSVM":
        return float(np.mean(predicted[y == 1] == 1))
    return float(np.mean(predicted == y))


def work(job: Job) -> Run:
    case, started = find(job.case), time.monotonic()
    data = load(job.case)
    machine = LIBRARIES[job.library].prepare(case, data, job.cache)
    # What is predicted in one call, made before the clock starts.
    calls = [data.X_test]
    if case.one_row:
        calls = [data.X_test[i : i + 1] for i in range(data.X_test.shape[0])]

    before = _memory("VmHWM")
    _forget_peak()
    resident = _memory("VmRSS")
    fit_mb = peak_mb = math.nan
    fit_seconds: list[float] = []
    predict_seconds: list[float] = []
    slowest, first = 0.0, time.monotonic()
    while len(fit_seconds) < job.repeat:
        begun = time.monotonic()
        late = begun - started + slowest > NEARLY * job.limit
        if fit_seconds and (late or begun - first >= ENOUGH):
            break
        start = time.perf_counter()
        machine.fit()
        fit_seconds.append(time.perf_counter() - start)
        if len(fit_seconds) == 1:
            fit_mb = _memory("VmHWM") - resident
        start = time.perf_counter()
        parts = [machine.predict(rows) for rows in calls]
        predict_seconds.append((time.perf_counter() - start) / len(calls))
        predicted = np.concatenate(parts)
        if len(predict_seconds) == 1:
            peak_mb = max(before, _memory("VmHWM"))
        slowest = max(slowest, time.monotonic() - begun)
    if job.output is not None:
        _save(Path(job.output), machine, predicted)
    report = getattr(machine.estimator, "report_", None)
    figures = ("status", "gap", "objective", "iterations", "kernel_evaluations")
    return Run(
        case=job.case,
        library=job.library,
        n=data.X.shape[0],
        d=data.X.shape[1],
        kind=case.kind,
        classes=len(np.unique(data.y)) if case.kind == "SVC" else None,
        support_vectors=machine.support_vectors(),
        score=score(case.kind, data.y_test, predicted),
        peak_mb=peak_mb,
        fit_mb=fit_mb,
        fit=min(fit_seconds),
        first_fit=fit_seconds[0],
        predict=min(predict_seconds),
        **({name: getattr(report, name) for name in figures} if report else {}),
    )


def _save(output: Path, machine: Machine, predicted: NDArray[Any]) -> None:
    model = machine.estimator
    if model is None:
        np.savez(output, predicted=predicted)
    else:
        # scikit-learn's coefficients are sparse where the data are.
        dual_coef = model.dual_coef_
        dual_coef = dual_coef.toarray() if hasattr(dual_coef, "toarray") else dual_coef
        np.savez(output, predicted=predicted, support=model.support_, dual_coef=dual_coef)


def _memory(field: str) -> float:
    """Return a figure of this process in MB: VmRSS is now, VmHWM the peak (Linux only)."""
    # Not getrusage: its peak starts from the parent's.
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return math.nan
    found = [line.split()[1] for line in status.splitlines() if line.startswith(f"{field}:")]
    return int(found[0]) / 1024 if found else math.nan


def _forget_peak() -> None:
    """Let VmHWM begin again from what is resident now, so that it shows what a fit adds."""
    # Where that is refused, fit_mb is what exceeds the peak before.
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def run_apart(job: Job) -> Run | Failure:
    """Run `work` in a new process."""
    threads = str(len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count())
    environment = {"OMP_NUM_THREADS": threads, **os.environ}
    try:
        done = subprocess.run(
            [sys.executable, __file__, json.dumps(asdict(job))],
            env=environment,
            capture_output=True,
            text=True,
            timeout=job.limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Failure(job.case, job.library, f"> {job.limit:.3g} s", job.limit)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return Failure(job.case, job.library, f"failed: {reason}")
    return Run(**json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    print(json.dumps(asdict(work(Job(**json.loads(sys.argv[1]))))))
