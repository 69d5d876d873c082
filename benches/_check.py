"""Are the solutions that compare.py times equally good? Recomputed in numpy, outside the solvers.

For each case of two classes and at most ROWS rows (20000), scikit-learn and Mercer fit once, each
in a process of its own. From `support_` and `dual_coef_` alone, with K computed in float64 in
blocks of rows, follow the dual objective 1/2 beta' K beta - y' beta, where lower is better, and the
gap (as in sweep.py). It must hold that Mercer's objective is at most 1e-5 (relative) above
scikit-learn's, that its gap is at most 1.1 tol, that `report_` says the same objective to 1e-6, and
that the scores are within 0.2 points. The exit status is 1 if anything fails.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sweep
from _cases import CASES
from _data import Data
from _libraries import TOLERANCE
from _runs import Failure, Job, Run, load, run_apart

# The default, which takes about a minute; `--check 60000` includes every case of two classes.
MAX_ROWS = 20_000
OBJECTIVE_LIMIT = 1e-5
REPORT_LIMIT = 1e-6
SCORE_DIFFERENCE = 2e-3
# Kernel values held at a time: 128 MB.
BLOCK_VALUES = 1 << 24


def kernel_product(X: Any, support: NDArray[Any], beta: sweep.Floats, gamma: float) -> sweep.Floats:
    """Compute K beta of an RBF kernel, where beta is of the support rows, in blocks of rows."""
    vectors = X[support]
    vectors = vectors.toarray() if hasattr(vectors, "toarray") else vectors
    squares = _squared_norms(X)
    product = np.empty(X.shape[0])
    step = max(1, BLOCK_VALUES // len(support))
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        distances = squares[rows, None] - 2.0 * (X[rows] @ vectors.T) + squares[support]
        product[rows] = np.exp(-gamma * np.maximum(distances, 0.0)) @ beta
    return product


def _squared_norms(X: Any) -> sweep.Floats:
    squared = X.multiply(X) if hasattr(X, "multiply") else X * X
    return np.asarray(squared.sum(axis=1), dtype=np.float64).ravel()


def recompute(case: str, data: Data, solution: Path) -> sweep.Machine:
    parameters = CASES[case].parameters
    with np.load(solution) as arrays:
        support, signed = arrays["support"], arrays["dual_coef"][0]
    # Two classes: coefficients are positive for the second.
    beta = np.zeros(data.X.shape[0])
    beta[support] = signed
    product = kernel_product(data.X, support, signed, parameters["gamma"])
    return sweep.examine(product, np.where(data.y == 1, 1.0, -1.0), beta, parameters["C"])


@dataclass(frozen=True)
class Check:
    """Mercer's solution of a case beside scikit-learn's."""

    case: str
    objective: float
    objective_reported: float
    objective_peer: float
    gap: float
    gap_peer: float
    score: float
    score_peer: float

    @property
    def excess(self) -> float:
        """How far Mercer's objective is above scikit-learn's, relative to it."""
        return (self.objective - self.objective_peer) / abs(self.objective_peer)

    def failures(self) -> Iterator[str]:
        if not self.excess <= OBJECTIVE_LIMIT:
            yield f"objective {self.excess:+.1e}"
        error = abs(self.objective_reported / self.objective - 1.0)
        if not error <= REPORT_LIMIT:
            yield f"report_.objective {error:.1e} off"
        if not self.gap <= sweep.GAP_SLACK * TOLERANCE:
            yield f"gap {self.gap / TOLERANCE:.3g} tol"
        if not abs(self.score - self.score_peer) <= SCORE_DIFFERENCE:
            yield f"score {self.score - self.score_peer:+.2%}"

    def __str__(self) -> str:
        return (
            f"{self.case:17} {self.objective:18.8f} {self.objective_peer:18.8f} {self.excess:+9.1e}"
            f" {self.gap / TOLERANCE:9.4f} {self.gap_peer / TOLERANCE:9.4f}"
            f" {self.score:8.2%} {self.score_peer:8.2%}  {', '.join(self.failures())}"
        )


HEADER = (
    f"{'':17} {'objective':>18} {'':18} {'':9} {'gap/tol':>9} {'':9} {'score':>8}\n"
    f"{'data':17} {'mercer':>18} {'scikit-learn':>18} {'excess':>9}"
    f" {'mercer':>9} {'sklearn':>9} {'mercer':>8} {'sklearn':>8}  failed"
)


def check(case: str, options: argparse.Namespace) -> Check | str:
    """Check one case; a string is the reason why it is not checked."""
    if CASES[case].kind != "SVC" or CASES[case].one_row:
        return "not a classifier of its own"
    data = load(case)
    if len(np.unique(data.y)) != 2:
        return "more than two classes"
    if data.X.shape[0] > options.check:
        return f"more than {options.check} rows"
    runs: dict[str, Run] = {}
    machines: dict[str, sweep.Machine] = {}
    with tempfile.TemporaryDirectory() as folder:
        for library in ("scikit-learn", "mercer"):
            output = Path(folder) / f"{library}.npz"
            run = run_apart(Job(case, library, 1, options.timeout, options.cache, str(output)))
            if isinstance(run, Failure):
                return f"{library} {run.reason}"
            runs[library], machines[library] = run, recompute(case, data, output)
    reported = runs["mercer"].objective
    assert reported is not None
    return Check(
        case,
        objective=machines["mercer"].objective,
        objective_reported=reported,
        objective_peer=machines["scikit-learn"].objective,
        gap=machines["mercer"].gap,
        gap_peer=machines["scikit-learn"].gap,
        score=runs["mercer"].score,
        score_peer=runs["scikit-learn"].score,
    )


def run(cases: Sequence[str], options: argparse.Namespace) -> int:
    print(f"\ntol = {TOLERANCE:g}\n\n{HEADER}")
    checks: list[Check] = []
    for case in cases:
        found = check(case, options)
        if isinstance(found, Check):
            checks.append(found)
            print(found, flush=True)
        else:
            print(f"{case:17} not checked: {found}", flush=True)
    if options.json:
        figures = [{**asdict(one), "failures": list(one.failures())} for one in checks]
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return int(any(list(one.failures()) for one in checks))
