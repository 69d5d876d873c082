"""What a fit on a cluster has found, in the form in which the core tells what a fit has found."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer._data import RowsLike, take_rows
from mercer.dask._machines import Job, Machine
from mercer.dask._report import DistributedReport
from mercer.dask._rounds import Outcome, Progress
from mercer.dask._rows import stacked
from mercer.dask._tasks import Solved
from mercer.report import MachineReport, Seconds

__all__ = ["Assembled", "assemble", "report_of"]


@dataclass(frozen=True)
class Assembled:
    """The machines, as `mercer.svm._shared.FitLike` has them, and the support vectors of all."""

    rows: RowsLike
    numbers: NDArray[np.intp]
    n_support: NDArray[np.int32]
    dual_coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    squared_radius: float | None
    #: By what the coefficients of each machine were multiplied at the end.
    factors: Sequence[float]
    reports: list[_core.Report] = field(default_factory=list)
    histories: list[NDArray[np.float64]] = field(default_factory=list)
    epsilon: float | None = None
    diagonal: float | None = None

    @property
    def support(self) -> NDArray[np.int32]:
        """The support vectors among `rows`: all of them."""
        return np.arange(len(self.numbers), dtype=np.int32)


def assemble(outcome: Outcome, job: Job, n_classes: int) -> Assembled:
    """Make the machines of the solutions of their problems; `n_classes` is 1 if there are none."""
    betas, intercepts, factors, radius = [], [], [], None
    for machine, solved, progress in zip(
        job.machines, outcome.solved, outcome.machines, strict=True
    ):
        beta, intercept, radius = _finished(machine, solved, progress)
        betas.append(beta)
        intercepts.append(intercept)
        before = np.abs(solved.beta).sum()
        factors.append(float(np.abs(beta).sum() / before) if before > 0.0 else 1.0)
    variables = [solved.variables for solved in outcome.solved]
    numbers = np.concatenate([each.numbers for each in variables])
    labels = np.concatenate([each.labels for each in variables])
    numbers, first = np.unique(numbers, return_index=True)
    labels = labels[first]
    # Sorted by class and, within a class, by row.
    order = np.lexsort((numbers, labels))
    rows = take_rows(stacked([each.X for each in variables]), first[order])
    numbers, labels = numbers[order], labels[order]
    dual_coef = np.zeros((_n_coefficients(job, n_classes), len(numbers)))
    by_number = np.argsort(numbers)
    for number, (machine, each, beta) in enumerate(
        zip(job.machines, variables, betas, strict=True)
    ):
        column = by_number[np.searchsorted(numbers[by_number], each.numbers)]
        dual_coef[_rows_of(machine, number, each.labels, n_classes), column] = beta
    n_support = np.bincount(labels, minlength=n_classes).astype(np.int32)
    return Assembled(
        rows, numbers, n_support, dual_coef, np.array(intercepts) + 0.0, radius, factors
    )


def _finished(
    machine: Machine, solved: Solved, progress: Progress
) -> tuple[NDArray[np.float64], float, float | None]:
    """Return the coefficients, the intercept and the squared radius of a machine."""
    problem = solved.variables.problem
    thresholds = progress.thresholds.tolist()
    intercepts = problem.settled(solved.beta, solved.intercepts, thresholds)
    second = solved.variables.second
    here = 0 if second is None else int(second.sum())
    known = {
        "squared_norm": solved.report["squared_norm"],
        "gap": progress.gap,
        "tol": machine.asked_tol,
        "largest": progress.largest,
        # Rows of the positive class are the first group.
        "open": (machine.counts[1] > len(solved.beta) - here, machine.counts[0] > here),
    }
    return machine.formulation.finish(problem, solved.beta, intercepts, known)


def _n_coefficients(job: Job, n_classes: int) -> int:
    """Return how many coefficients a support vector has."""
    pairs = n_classes > 2 and job.machines[0].is_pair
    return n_classes - 1 if pairs else len(job.machines)


def _rows_of(
    machine: Machine, number: int, labels: NDArray[np.int64], n_classes: int
) -> NDArray[np.int64]:
    """Return the row of `dual_coef_` in which the coefficient of each support vector stands."""
    if n_classes <= 2 or not machine.is_pair:
        return np.full(len(labels), number)
    assert machine.classes is not None
    first, last = sorted(machine.classes)
    return np.where(labels == first, last - 1, first)


def report_of(outcome: Outcome, factors: Sequence[float]) -> DistributedReport:
    """Return what the fit did."""
    machines, phases = [], np.zeros(4)
    for solved, progress, factor in zip(outcome.solved, outcome.machines, factors, strict=True):
        found = solved.report
        phases += found["phases"]
        machines.append(
            MachineReport(
                status=progress.status,
                method=found["method"],
                gap=progress.gap,
                objective=found["objective"],
                primal_objective=progress.duality_gap - found["objective"],
                duality_gap=progress.duality_gap,
                squared_norm=found["squared_norm"] * factor**2,
                iterations=found["iterations"],
                kernel_evaluations=found["kernel_evaluations"],
                cache_hits=found["cache_hits"],
                cache_misses=found["cache_misses"],
                cache_bypasses=found["cache_bypasses"],
                seconds=Seconds(found["seconds"], *found["phases"]),
            )
        )
    return DistributedReport(
        tuple(machines),
        Seconds(outcome.seconds, *phases.tolist()),
        len(outcome.gaps),
        outcome.bytes_sent,
        sum(progress.size for progress in outcome.machines),
        tuple(outcome.gaps),
    )
