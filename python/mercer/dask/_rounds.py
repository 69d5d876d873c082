"""The loop of a fit, on the client: working sets, gradients, violators, until the gap is closed.

Let b be the intercept of a working set that is solved to half the tolerance. If no other row
violates its conditions at b by more than half the tolerance, the gap of the whole problem is at
most the tolerance. So rows that do join the working set, and there is an end: each round adds a
row, or is the last. The gap itself is m - M over all rows, whatever the working set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from distributed import Client, Future

from mercer import _core
from mercer._stream import Stream
from mercer.dask import _tasks
from mercer.dask._machines import Job
from mercer.dask._tasks import Solved

__all__ = ["Outcome", "Progress", "Rounds"]

#: What a working set is solved to, as a share of the tolerance.
_SHARE = 0.5

#: The least number of rows that a partition may send for a machine in one round.
_LEAST = 2000


@dataclass
class Progress:
    """How far a machine is."""

    tol: float
    thresholds: Any = None
    gap: float = np.inf
    duality_gap: float = np.inf
    largest: float = 0.0
    size: int = 0
    status: Any = "unsolved"

    def take(self, summaries: Sequence[Any], outline: Any, constraint_is_free: bool) -> None:
        """Take over what all partitions have found, and the working set."""
        report, intercepts, self.size = outline
        groups = np.array([summary[0] for summary in summaries])
        merged = np.stack([groups[:, :, 0].max(axis=0), groups[:, :, 1].min(axis=0)], axis=1)
        if constraint_is_free:
            # No sum is fixed: the intercept is known, and counts like a variable that is free.
            merged[0] = [max(merged[0, 0], intercepts[0]), min(merged[0, 1], intercepts[0])]
        self.thresholds = merged
        self.gap = _core.DualProblem.gap(merged.tolist())
        self.duality_gap = float(sum(summary[1] for summary in summaries))
        self.largest = max(summary[4] for summary in summaries)
        self.status = report["status"]
        if self.status == "converged" and self.gap > self.tol:
            joining = sum(summary[2] for summary in summaries)
            self.status = "unsolved" if joining else "precision"


@dataclass(frozen=True)
class Outcome:
    """What a fit has found: of each machine the support vectors, and what all rows say of it."""

    solved: Sequence[Solved]
    machines: Sequence[Progress]
    gaps: Sequence[float]
    bytes_sent: int
    seconds: float


@dataclass
class Rounds:
    """A fit in progress."""

    client: Client
    job: Job
    parts: Sequence[Future]
    max_time: float | None = None
    title: str | None = None
    bytes_sent: int = 0
    _gaps: list[float] = field(default_factory=list)
    _started: float = field(default_factory=perf_counter)
    _machines: list[Progress] = field(default_factory=list)
    # Futures of this round and the last: what is to be cancelled if the fit is given up.
    _steps: Sequence[Future] = ()
    _working: Sequence[Any] = ()
    _others: list[Future] = field(default_factory=list)

    def run(self) -> Outcome:
        """Train all machines; cancel what was begun if that is interrupted."""
        self._machines = [Progress(machine.tol) for machine in self.job.machines]
        try:
            self._working = [{} for _ in self.job.groups]
            self._steps = [
                self._submit(_tasks.seed, part, self.job, self._time_left()) for part in self.parts
            ]
            while self._next_round():
                pass
            solved: dict[int, Solved] = {}
            supports = [self._submit(_tasks.support, working) for working in self._working]
            for group in self.client.gather(supports):
                solved.update(group)
        except BaseException:
            working = [each for each in self._working if isinstance(each, Future)]
            self.client.cancel([*self._others, *self._steps, *working], force=True)
            raise
        ordered = [solved[number] for number in range(len(self._machines))]
        seconds = perf_counter() - self._started
        return Outcome(ordered, self._machines, self._gaps, self.bytes_sent, seconds)

    def _submit(self, function: Any, *arguments: Any) -> Future:
        future = self.client.submit(function, *arguments, pure=False)
        self._others.append(future)
        return future

    def _time_left(self) -> float | None:
        if self.max_time is None:
            return None
        return max(1e-3, self.max_time - (perf_counter() - self._started))

    def _open(self) -> list[int]:
        """Return the machines that are not done."""
        return [
            number for number, machine in enumerate(self._machines) if machine.status == "unsolved"
        ]

    def _next_round(self) -> bool:
        """Solve the working sets and examine all rows; return whether there is more to do."""
        job, open_machines = self.job, self._open()
        solved, outlines = [], []
        for place, (group, working) in enumerate(zip(job.groups, self._working, strict=True)):
            tols = {n: _SHARE * self._machines[n].tol for n in group if n in open_machines}
            if not tols:
                solved.append(working)
                continue
            found = [self._submit(_found, step, place) for step in self._steps]
            future = self._submit(_tasks.solve, working, found, job, tols, self._time_left())
            solved.append(future)
            outlines.append(self._submit(_tasks.outline, future))
        change = self._submit(_tasks.changes, self._working, solved, len(job.machines))
        limit = self._limit()
        steps = [
            self._submit(_tasks.step, part, step, change, job, limit)
            for part, step in zip(self.parts, self._steps, strict=True)
        ]
        summaries = [self._submit(_summaries, step) for step in steps]
        self._steps, self._working = steps, solved
        size = self._submit(_tasks.size_of, change)
        found_all, outlines_all, bytes_of_change = self.client.gather([summaries, outlines, size])
        self._take(found_all, outlines_all, bytes_of_change)
        self._others = []
        return bool(self._open())

    def _take(
        self,
        found: Sequence[Mapping[int, Any]],
        outlines: Sequence[Mapping[int, Any]],
        bytes_of_change: int,
    ) -> None:
        """Take over what a round has found."""
        outline = {number: value for group in outlines for number, value in group.items()}
        for number in self._open():
            free = self.job.machines[number].parameters.get("intercept", "free") != "free"
            mine = [partition[number] for partition in found]
            self._machines[number].take(mine, outline[number], free)
            self.bytes_sent += sum(summary[3] for summary in mine)
        self._gaps.append(max(machine.gap for machine in self._machines))
        self.bytes_sent += bytes_of_change * len(self.client.scheduler_info()["workers"])
        if self.max_time is not None and perf_counter() - self._started > self.max_time:
            for number in self._open():
                self._machines[number].status = "time_limit"
        if self.title is not None:
            rows = sum(machine.size for machine in self._machines)
            text = f"round {len(self._gaps)}, {rows} rows in working sets, gap {self._gaps[-1]:.3g}"
            Stream().write(f"[{self.title}] {text}\n")

    def _limit(self) -> int:
        """Return how many rows of a partition may join a working set in this round.

        Working sets grow by about half at the most.
        """
        largest = max(machine.size for machine in self._machines)
        return max(_LEAST, largest // (2 * len(self.parts)))


def _found(step: Any, group: int) -> Any:
    """Return what a partition has found for the machines of a group."""
    return step[1][group]


def _summaries(step: Any) -> Mapping[int, Any]:
    """Return what the client wants to know of a step."""
    merged: dict[int, Any] = {}
    for group in step[1]:
        merged.update(_tasks.summary(group))
    return merged
