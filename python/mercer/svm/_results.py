"""What the core found, as the attributes that users see."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer.report import History, MachineReport, Report, Seconds
from mercer.svm._shared import FitLike
from mercer.svm._sources import Training
from mercer.svm._state import freeze

__all__ = ["history_of", "margins_of", "report_of"]


def report_of(fit: FitLike | _core.LinearFit, given: Training | None, seconds: float) -> Report:
    """Return what the solver did in a fit that took so many seconds.

    What was computed beforehand for all machines is told of the first.
    """
    phases = [sum(phase) for phase in zip(*(r.phases for r in fit.reports), strict=True)]
    machines = [_machine_report(report) for report in fit.reports]
    if given is not None and given.evaluations:
        phases[1] += given.seconds
        evaluations = machines[0].kernel_evaluations + given.evaluations
        machines[0] = replace(machines[0], kernel_evaluations=evaluations)
    return Report(tuple(machines), Seconds(seconds, *phases))


def _machine_report(report: _core.Report) -> MachineReport:
    return MachineReport(
        status=report.status,
        method=report.method,
        gap=report.gap,
        objective=report.objective,
        primal_objective=report.primal_objective,
        duality_gap=report.duality_gap,
        squared_norm=report.squared_norm,
        iterations=report.iterations,
        kernel_evaluations=report.kernel_evaluations,
        cache_hits=report.cache_hits,
        cache_misses=report.cache_misses,
        cache_bypasses=report.cache_bypasses,
        seconds=Seconds(report.seconds, *report.phases),
    )


def margins_of(report: Report) -> float | NDArray[np.float64]:
    """Return 1 / |w| of the only machine, or those of each."""
    with np.errstate(divide="ignore"):
        margins = 1.0 / np.sqrt([machine.squared_norm for machine in report])
    return float(margins[0]) if len(margins) == 1 else freeze(margins)


def history_of(fit: FitLike) -> History | list[History]:
    """Return the epochs of the only machine, or a list of those of each."""
    names = ("objective", "margin", "intercept", "gap")
    histories = [dict(zip(names, table.T.copy(), strict=True)) for table in fit.histories]
    return histories[0] if len(histories) == 1 else histories
