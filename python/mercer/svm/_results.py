"""What the core found, as the attributes that users see."""

from mercer import _core
from mercer.report import History, MachineReport, Report, Seconds
from mercer.svm._shared import FitLike

__all__ = ["history_of", "report_of"]


def report_of(fit: FitLike, seconds: float) -> Report:
    """Return what the solver did in a fit that took so many seconds."""
    phases = [sum(phase) for phase in zip(*(r.phases for r in fit.reports), strict=True)]
    return Report(
        tuple(_machine_report(report) for report in fit.reports), Seconds(seconds, *phases)
    )


def _machine_report(report: _core.Report) -> MachineReport:
    return MachineReport(
        status=report.status,
        gap=report.gap,
        objective=report.objective,
        iterations=report.iterations,
        kernel_evaluations=report.kernel_evaluations,
        cache_hits=report.cache_hits,
        cache_misses=report.cache_misses,
        seconds=Seconds(report.seconds, *report.phases),
    )


def history_of(fit: FitLike) -> History | list[History]:
    """Return the epochs of the only machine, or a list of those of each."""
    names = ("objective", "margin", "intercept", "gap")
    histories = [dict(zip(names, table.T.copy(), strict=True)) for table in fit.histories]
    return histories[0] if len(histories) == 1 else histories
