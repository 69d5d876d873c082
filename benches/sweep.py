"""Is every fit optimal? Recompute it in float64, outside the solver, on many real data sets.

    python benches/sweep.py [--sets a,b] [--kernels a,b] [--max-time 60] [--cache-dir DIR]

For each classification set of at most 5000 rows (standardised), each kernel, C and tol, each
one-vs-one machine is rebuilt from `support_` and `dual_coef_` alone. With the labels y = +-1 of the
machine, its kernel matrix K and its signed coefficients beta,

    gradient     g = K beta - y
    gap          max of -g over those that may grow  -  min of -g over those that may shrink
    sum          |sum of beta|, relative to the sum of |beta|
    box          how far beta leaves [0, C] (y = +1) or [-C, 0] (y = -1)
    objective    1/2 beta' K beta - y' beta

must satisfy: gap <= 1.1 tol, sum 0 to rounding, box 0, and at tol = 1e-5 an objective at most 1e-6
(relative) above that of scikit-learn at tol = 1e-7. scikit-learn's fits run one to a core, are
stopped after --max-time seconds (then n/a) and are kept in --cache-dir for the next time.
Where K is indefinite (sigmoid) the problem is not convex: two solvers may end at different
stationary points, either one lower. Objectives that fail are listed with K's smallest eigenvalue.
The exit status is 1 if anything fails.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import _data

Floats = NDArray[np.float64]

MAX_ROWS = 5000
KERNELS = ("linear", "poly", "rbf", "sigmoid")
COSTS = (0.1, 10.0, 1000.0)
EXTRA_COSTS = {"rbf": (1e4,)}
TOLERANCES = (1e-3, 1e-5)
REFERENCE_TOLERANCE = 1e-7

GAP_SLACK = 1.1
SUM_LIMIT = 1e-12
OBJECTIVE_LIMIT = 1e-6

REGRESSION = {"abalone", "boston_housing", "cal_housing", "cpusmall", "mpg", "space_ga"}
NO_LABELS_OR_ROWS = {"spirals", "kernlab_reuters_text"}


# --- Data and kernels.


def small_sets() -> list[str]:
    """Names of the classification sets whose training rows are few enough."""
    found = sorted(path.stem for path in _data.directory().glob("*.npz"))
    labelled = [name for name in found if name not in REGRESSION | NO_LABELS_OR_ROWS]
    return [name for name in labelled if _data.load(name).X.shape[0] <= MAX_ROWS]


@lru_cache(maxsize=1)
def training_data(name: str) -> tuple[Floats, NDArray[np.int64]]:
    """Complete rows, standardised, and their class numbers."""
    from sklearn.preprocessing import LabelEncoder, StandardScaler

    data = _data.load(name)
    X = np.asarray(data.X, dtype=np.float64)
    if name == "vowel":
        X = X[:, 1:]  # column 0 is the speaker
    complete = ~np.isnan(X).any(axis=1)
    y = LabelEncoder().fit_transform(data.y[complete])
    return StandardScaler().fit_transform(X[complete]), y


@lru_cache(maxsize=1)
def kernel_matrix(data: str, kernel: str) -> Floats:
    """scikit-learn's defaults: gamma = 'scale', degree 3, coef0 0."""
    X, _ = training_data(data)
    products: Floats = X @ X.T
    scaled: Floats = products / (X.shape[1] * X.var())
    match kernel:
        case "linear":
            return products
        case "poly":
            return np.power(scaled, 3)
        case "sigmoid":
            return np.tanh(scaled)
        case "rbf":
            norms = np.diag(scaled)
            return np.exp(np.minimum(2.0 * scaled - norms[:, None] - norms, 0.0))
    raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, got {kernel!r}")


@lru_cache
def smallest_eigenvalue(data: str, kernel: str) -> float:
    from scipy.sparse.linalg import eigsh

    return float(eigsh(kernel_matrix(data, kernel), k=1, which="SA", return_eigenvectors=False)[0])


# --- One binary machine, rebuilt.


@dataclass(frozen=True)
class Machine:
    """What the signed coefficients of one binary machine say of it."""

    gap: float
    sum: float
    box: float
    objective: float


def examine(product: Floats, y: Floats, beta: Floats, C: float) -> Machine:
    """Examine beta, where the product is K beta."""
    upper = np.where(y > 0, C, 0.0)
    lower = np.where(y > 0, 0.0, -C)
    downhill = y - product
    grow, shrink = downhill[beta < upper], downhill[beta > lower]
    return Machine(
        gap=float(grow.max() - shrink.min()) if len(grow) and len(shrink) else 0.0,
        sum=float(abs(beta.sum()) / max(np.abs(beta).sum(), 1e-300)),
        box=max(0.0, float((beta - upper).max()), float((lower - beta).max())),
        objective=float(0.5 * beta @ product - y @ beta),
    )


@dataclass(frozen=True)
class Solution:
    """A fitted classifier, as scikit-learn lays it out."""

    support: NDArray[np.int64]
    dual_coef: Floats

    def machines(self, K: Floats, y: NDArray[np.int64], C: float) -> Iterator[Machine]:
        """Every one-vs-one machine (i, j), i < j, in the usual order."""
        n_classes = int(y.max()) + 1
        for i in range(n_classes):
            for j in range(i + 1, n_classes):
                rows = np.flatnonzero((y == i) | (y == j))
                labels = np.where(y[rows] == i, 1.0, -1.0)
                beta = self._coefficients(y, i, j, n_classes)[rows]
                yield examine(K[np.ix_(rows, rows)] @ beta, labels, beta, C)

    def _coefficients(self, y: NDArray[np.int64], i: int, j: int, n_classes: int) -> Floats:
        """Coefficients of all rows in machine (i, j), positive for class i."""
        beta = np.zeros(len(y))
        if n_classes == 2:
            # Two classes are stored with the other sign: positive for the second class.
            beta[self.support] = -self.dual_coef[0]
            return beta
        classes = y[self.support]
        for own, other in ((i, j), (j, i)):
            # A class keeps its coefficients against the others in order, leaving itself out.
            line = other - 1 if other > own else other
            beta[self.support[classes == own]] = self.dual_coef[line, classes == own]
        return beta


def solve(estimator: Any, X: Floats, y: NDArray[np.int64]) -> Solution:
    estimator.fit(X, y)
    return Solution(
        np.asarray(estimator.support_, dtype=np.int64),
        np.asarray(estimator.dual_coef_, dtype=np.float64),
    )


# --- scikit-learn's solutions, each in a process that can be stopped.


@dataclass(frozen=True)
class Problem:
    """A set, a kernel and a C."""

    data: str
    kernel: str
    C: float

    def file(self, folder: Path) -> Path:
        return folder / f"{self.data}-{self.kernel}-C{self.C:g}.npz"


def problems(sets: Sequence[str], kernels: Sequence[str]) -> list[Problem]:
    return [
        Problem(data, kernel, C)
        for data, kernel in product(sets, kernels)
        for C in COSTS + EXTRA_COSTS.get(kernel, ())
    ]


def solve_reference(problem: Problem, folder: Path) -> None:
    from sklearn.svm import SVC

    X, y = training_data(problem.data)
    model = SVC(C=problem.C, kernel=problem.kernel, tol=REFERENCE_TOLERANCE, cache_size=1000)
    solution = solve(model, X, y)
    # Renamed when complete: this process may be stopped at any moment.
    partial = problem.file(folder).with_suffix(".part.npz")
    np.savez(partial, support=solution.support, dual_coef=solution.dual_coef)
    partial.rename(problem.file(folder))


def find_references(todo: Sequence[Problem], folder: Path, max_time: float) -> None:
    """Solve what is not yet in the folder; what takes too long leaves a note of the limit."""
    folder.mkdir(parents=True, exist_ok=True)

    def find(problem: Problem) -> None:
        gave_up = problem.file(folder).with_suffix(".late")
        if problem.file(folder).exists():
            return
        if gave_up.exists() and float(gave_up.read_text()) >= max_time:
            return
        job = json.dumps([asdict(problem), str(folder)])
        # The start of the interpreter, the data and the imports are not the fit's fault.
        limit = max_time + 5.0
        try:
            command = [sys.executable, __file__, "--worker", job]
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            subprocess.run(command, timeout=limit, check=True, env=environment)
        except subprocess.TimeoutExpired:
            gave_up.write_text(f"{max_time}")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, _ in enumerate(pool.map(find, todo), start=1):
            note(f"scikit-learn at tol {REFERENCE_TOLERANCE:g}: {done} of {len(todo)}")


def note(message: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{message:70}\r")
        sys.stderr.flush()


# --- Mercer's fits.


@dataclass(frozen=True)
class Check:
    """The worst machine of one fit in each respect; excess is None without a reference."""

    problem: Problem
    tol: float
    status: str
    seconds: float
    machines: int
    gap: float
    sum: float
    box: float
    excess: float | None

    @property
    def failures(self) -> list[str]:
        found = []
        if self.status != "converged":
            found.append(self.status)
        if not self.gap <= GAP_SLACK * self.tol:
            found.append(f"gap {self.gap / self.tol:.3g} tol")
        if not self.sum <= SUM_LIMIT:
            found.append(f"sum {self.sum:.1e}")
        if not self.box <= 0.0:
            found.append(f"box {self.box:.1e}")
        if self.excess is not None and self.tol <= 1e-5 and not self.excess <= OBJECTIVE_LIMIT:
            found.append(f"objective {self.excess:+.1e}")
        return found


def check(problem: Problem, tol: float, folder: Path, fit_time: float | None) -> Check:
    from mercer import SVC

    X, y = training_data(problem.data)
    K = kernel_matrix(problem.data, problem.kernel)
    model = SVC(C=problem.C, tol=tol, max_time=fit_time).set_params(kernel=problem.kernel)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that ends early is seen in its status
        solution = solve(model, X, y)
    seconds = time.perf_counter() - start
    ours = list(solution.machines(K, y, problem.C))

    excess = None
    if problem.file(folder).exists():
        with np.load(problem.file(folder)) as arrays:
            reference = Solution(arrays["support"], arrays["dual_coef"])
        theirs = reference.machines(K, y, problem.C)
        excess = max(
            (a.objective - b.objective) / max(abs(b.objective), 1e-300)
            for a, b in zip(ours, theirs, strict=True)
        )
    return Check(
        problem,
        tol,
        status=model.report_.status,
        seconds=seconds,
        machines=len(ours),
        gap=max(machine.gap for machine in ours),
        sum=max(machine.sum for machine in ours),
        box=max(machine.box for machine in ours),
        excess=excess,
    )


HEADER = (
    f"{'data':32} {'kernel':8} {'fits':>4} {'machines':>8} {'gap / tol':>10} {'sum':>9} {'box':>9}"
    f" {'objective':>10} {'n/a':>4} {'slowest s':>9}  failed"
)


def summary(data: str, kernel: str, checks: Sequence[Check]) -> str:
    """One line: the worst of all fits of one kernel on one set."""
    excesses = [c.excess for c in checks if c.excess is not None and c.tol <= 1e-5]
    missing = sum(c.excess is None for c in checks if c.tol <= 1e-5)
    failed = sum(bool(c.failures) for c in checks)
    return (
        f"{data:32} {kernel:8} {len(checks):4} {sum(c.machines for c in checks):8}"
        f" {max(c.gap / c.tol for c in checks):10.4f} {max(c.sum for c in checks):9.1e}"
        f" {max(c.box for c in checks):9.1e}"
        f" {f'{max(excesses):+.1e}' if excesses else 'n/a':>10} {missing:4}"
        f" {max(c.seconds for c in checks):9.2f}  {failed or ''}"
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", help="names with commas between (all that are small enough)")
    parser.add_argument("--kernels", default=",".join(KERNELS), help="%(default)s")
    parser.add_argument(
        "--max-time", type=float, default=60, help="seconds of a scikit-learn fit (%(default)g)"
    )
    parser.add_argument("--fit-time", type=float, help="seconds of a Mercer fit (no limit)")
    parser.add_argument(
        "--cache-dir", type=Path, default=Path("target/sweep"), help="(%(default)s)"
    )
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    if options.worker:
        problem, folder = json.loads(options.worker)
        solve_reference(Problem(**problem), Path(folder))
        return 0
    sets = options.sets.split(",") if options.sets else small_sets()
    kernels = options.kernels.split(",")
    if not sets:
        print(f"no data in {_data.directory()}: set MERCER_DATA", file=sys.stderr)
        return 2
    find_references(problems(sets, kernels), options.cache_dir, options.max_time)

    failed: list[Check] = []
    fits = 0
    print(HEADER)
    for data, kernel in product(sets, kernels):
        checks = []
        for problem, tol in product(problems([data], [kernel]), TOLERANCES):
            note(f"{data} {kernel} C = {problem.C:g} tol = {tol:g}")
            checks.append(check(problem, tol, options.cache_dir, options.fit_time))
        print(summary(data, kernel, checks), flush=True)
        failed += [c for c in checks if c.failures]
        fits += len(checks)

    print(f"\n{fits} fits, {len(failed)} failed")
    for c in failed:
        where = f"{c.problem.data} {c.problem.kernel} C = {c.problem.C:g} tol = {c.tol:g}"
        found = ", ".join(c.failures)
        if "objective" in found:
            lowest = smallest_eigenvalue(c.problem.data, c.problem.kernel)
            found += f" (smallest eigenvalue of K {lowest:.1e})"
        print(f"  {where}: {found}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
