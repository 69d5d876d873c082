"""What a fit on a cluster did."""

from dataclasses import dataclass

from mercer.report import Report

__all__ = ["DistributedReport"]


@dataclass(frozen=True, repr=False)
class DistributedReport(Report):
    """What the solver did in a whole fit on a cluster: a report with the costs of distribution.

    `gap`, `duality_gap` and `primal_objective` are those of the whole problem: each worker computed
    the gradient of its rows in float64. What else it says of the machines is of their last working
    sets.

    Attributes
    ----------
    machines : tuple of MachineReport
        The parts: ``report[i]``, ``len(report)`` and iteration go over them.
    seconds : Seconds
        Time from beginning to end, and that of the last working sets by phase.
    rounds : int
        How often the gradient of all rows was computed.
    bytes_sent : int
        Bytes of rows and coefficients that went from one process to another: violators to the
        working sets, and changed coefficients with their rows to every worker.
    working_set : int
        Rows in the working sets at the end, the sum over machines.
    gaps : tuple of float
        The largest gap after each round.

    Examples
    --------
    >>> from mercer.dask import DistributedReport
    >>> from mercer.report import Seconds
    >>> DistributedReport((), Seconds(1.0, 0.0, 0.0, 0.0, 0.0), 3, 1024, 50).rounds
    3
    """

    rounds: int = 0
    bytes_sent: int = 0
    working_set: int = 0
    gaps: tuple[float, ...] = ()

    def __repr__(self) -> str:
        """Return the figures of the whole fit in one line."""
        of_rounds = f"rounds={self.rounds}, bytes_sent={self.bytes_sent}, "
        return super().__repr__().replace("Report(", f"DistributedReport({of_rounds}", 1)
