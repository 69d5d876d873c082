"""What runs on the workers.

A fit keeps two kinds of state on them, both the results of tasks, so that Dask can compute again
what was lost with a worker:

- of each partition, the coefficients of its rows and the image K beta in float64 (`State`);
- of each group of machines, the working sets and their solutions (`Working`).

A round solves the working sets (`solve`), sends the coefficients that changed with their rows to
all partitions (`Change`), and adds them to the images (`step`), which finds the thresholds of all
rows and the rows that are to join the working sets (`Found`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from distributed import get_worker
from numpy.typing import NDArray

from mercer import _core
from mercer._data import RowsLike, take_rows
from mercer.dask._machines import Job, Machine, Rows
from mercer.dask._rows import bytes_of, kernel_sums, stacked
from mercer.svm._sources import source_of

__all__ = ["Change", "Found", "Part", "Solved", "changes", "seed", "solve", "step", "support"]

#: Rows that a partition without a solution of its own sends to the first working set.
_SAMPLE = 1000

#: What a partition is solved to, as a multiple of the tolerance: its solution is only a guess.
_GUESS = 300.0

#: Violations below this share of the tolerance do not matter: they may add up to the tolerance.
_JOINS = 0.1


@dataclass(frozen=True)
class Part:
    """The rows of a partition that have a weight."""

    X: RowsLike
    rows: Rows
    #: Their numbers among all rows.
    numbers: NDArray[np.int64]
    #: k(x, x), where it is needed.
    diagonal: NDArray[np.float64]

    @property
    def largest(self) -> float:
        """k(x, x) at the most, where it is needed."""
        return float(self.diagonal.max(initial=0.0))

    def posed(self, machine: Machine) -> "Posed":
        """Return the problem of the rows that take part in a machine."""
        members = machine.members(self.rows)
        diagonal = self.diagonal[members] if len(self.diagonal) else self.diagonal
        problem, sums, cost = machine.pose(self.rows, members, diagonal)
        terms = problem.terms
        terms[5] = 0.0
        return Posed(machine, members, terms, problem.constraint, problem.second, sums, cost)


@dataclass(frozen=True)
class Posed:
    """The problem of some rows of a partition."""

    machine: Machine
    #: The rows of the partition that take part.
    members: NDArray[np.intp]
    terms: NDArray[np.float64]
    constraint: str
    second: NDArray[np.bool_] | None
    #: The sums of the whole problem by group.
    sums: tuple[float, float]
    cost: NDArray[np.float64]


@dataclass(frozen=True)
class Variables:
    """Rows of a machine that are or become variables of its working set, and their problem."""

    X: RowsLike
    numbers: NDArray[np.int64]
    #: Class numbers, for the order of support vectors; zeros where there are none.
    labels: NDArray[np.int64]
    #: As `_core.DualProblem` has them; the last row is the start.
    terms: NDArray[np.float64]
    constraint: str
    second: NDArray[np.bool_] | None

    @property
    def problem(self) -> _core.DualProblem:
        """The problem of these rows."""
        return _core.DualProblem(np.ascontiguousarray(self.terms), self.constraint, self.second)

    @property
    def n_bytes(self) -> int:
        """Bytes on the way to another process."""
        return bytes_of(self.X, self.numbers, self.labels, self.terms)


@dataclass(frozen=True)
class Found:
    """What a partition has found for a machine."""

    #: Rows to join the working set; None if there are none.
    joining: Variables | None
    #: m and M of each group of variables.
    thresholds: NDArray[np.float64]
    duality_gap: float
    #: k(x, x) at the most, where that matters.
    largest: float = 0.0
    #: The rows of the working set that are here, and K beta of these: so it need not be computed
    #: again.
    numbers: NDArray[np.int64] | None = None
    image: NDArray[np.float64] | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes on the way to another process."""
        images = 0 if self.numbers is None else 16 * len(self.numbers)
        return images + (0 if self.joining is None else self.joining.n_bytes)


@dataclass(frozen=True)
class Solved:
    """The working set of a machine, and its solution."""

    variables: Variables
    beta: NDArray[np.float64]
    intercepts: tuple[float, float]
    report: Mapping[str, Any]
    #: How often it was solved.
    round: int = 1


@dataclass(frozen=True)
class Change:
    """Coefficients that have changed, of all machines, with their rows."""

    X: RowsLike
    numbers: NDArray[np.int64]
    #: What is added to the coefficients, a row for each machine, and what they are now where that
    #: is not zero: a sum of changes would miss a bound by a rounding.
    added: NDArray[np.float64]
    beta: NDArray[np.float64]
    #: The intercepts of each machine that is not done.
    intercepts: Mapping[int, tuple[float, float]]


@dataclass(frozen=True)
class _Own:
    """What a partition knows of a machine: of each member the coefficient and the image."""

    beta: NDArray[np.float64]
    image: NDArray[np.float64]
    #: Whether it is in the working set.
    joined: NDArray[np.bool_]


#: What is told of a solver's report; the counters are added up over rounds.
ADDED = ("iterations", "kernel_evaluations", "cache_hits", "cache_misses", "cache_bypasses")
REPORTED = ("status", "method", "objective", "squared_norm", "seconds", "phases", *ADDED)

#: Of each machine, what a partition knows.
State = Mapping[int, _Own]

#: Of each group of machines, what a partition has found.
Founds = tuple[Mapping[int, Found], ...]


def _settings(job: Job, tol: float, threads: int, max_time: float | None) -> _core.Settings:
    """Return settings for this worker: its memory, and an end if the task is cancelled."""
    settings, watch = dict(job.settings), None
    try:
        worker = get_worker()
        key = worker.get_current_task()
    except ValueError:  # not on a worker
        worker = None
    if worker is not None:
        limit = worker.memory_manager.memory_limit
        if settings["cache_bytes"] is None and limit:
            settings["cache_bytes"] = int(limit / 4 / max(1, worker.state.nthreads // threads))
        watch = _watch(worker, key)
    return _core.Settings(tol=tol, max_time=max_time, n_threads=threads, progress=watch, **settings)


def _watch(worker: Any, key: Any) -> Callable[[_core.Progress], None]:
    def watch(progress: _core.Progress) -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise RuntimeError("the fit was given up")

    return watch


def _variables(part: Part, posed: Posed, which: NDArray[np.intp]) -> Variables:
    """Return some members of a machine in a partition, as variables of a working set."""
    rows, target = posed.members[which], part.rows.target
    labels = np.zeros(len(rows), dtype=np.int64)
    if target is not None and posed.machine.classes is not None:
        labels = target[rows].astype(np.int64)
    second = None if posed.second is None else posed.second[which]
    return Variables(
        take_rows(part.X, rows),
        part.numbers[rows],
        labels,
        posed.terms[:, which],
        posed.constraint,
        second,
    )


# The first round


def seed(part: Part, job: Job, max_time: float | None) -> tuple[State, Founds]:
    """Solve the problems of a partition alone; return the rows for the first working sets.

    A partition stands for all rows: it has a share p of their weight, so its costs are divided by
    p, and its coefficients, multiplied by p, are what it adds to the start of the whole problem.
    """
    state: dict[int, _Own] = {}
    found: list[dict[int, Found]] = []
    empty = np.array([[-np.inf, np.inf]] * 2)
    for group in job.groups:
        found.append({})
        for number in group:
            posed = part.posed(job.machines[number])
            which = _guess(part, job, posed, max_time)
            n = len(posed.members)
            state[number] = _Own(np.zeros(n), np.zeros(n), np.isin(np.arange(n), which))
            joining = _variables(part, posed, which) if len(which) else None
            found[-1][number] = Found(joining, empty, 0.0, part.largest)
    return state, tuple(found)


def _guess(part: Part, job: Job, posed: Posed, max_time: float | None) -> NDArray[np.intp]:
    """Set the start of a problem; return the rows that may be support vectors."""
    n = len(posed.members)
    if not n:
        return np.arange(0)
    machine, terms = posed.machine, posed.terms
    share = float(part.rows.weight[posed.members].sum()) / machine.weight
    start = _start(posed)
    alone = terms.copy()
    alone[2:4] /= share
    alone[4] *= share
    alone[5] = np.clip(start / share, alone[2], alone[3])
    problem = _core.DualProblem(alone, posed.constraint, posed.second)
    settings = _settings(job, _GUESS * machine.tol, job.threads[0], max_time)
    given = source_of(job.kernel).training(take_rows(part.X, posed.members), settings, 1)
    beta, _, report = problem.solve(given.kernel, given.samples, settings)
    if report.status != "diverged":
        start = np.clip(beta * share, terms[2], terms[3])
    terms[5] = start
    if report.status == "diverged" or not start.any():
        return np.union1d(np.arange(0, n, -(-n // _SAMPLE)), np.flatnonzero(start))
    return np.flatnonzero(start)


def _start(posed: Posed) -> NDArray[np.float64]:
    """Return a point whose sums are the share of these rows in those of the whole problem.

    The shares of all partitions add up to the whole, so their solutions together are feasible.
    """
    machine, terms = posed.machine, posed.terms
    start = np.zeros(terms.shape[1])
    if not machine.totals:
        return start
    second = np.zeros(len(start), dtype=bool) if posed.second is None else posed.second
    for group in range(len(machine.totals)):
        rows = np.flatnonzero(second == bool(group))
        # The first group of a classifier is its positive class.
        whole, total = posed.sums[group], machine.totals[-1 - group]
        cost = posed.cost[rows]
        room = terms[3, rows] - terms[2, rows]
        if np.isinf(room).any():
            room = abs(whole) * cost / (total * machine.parameters["nu"])
        before = np.cumsum(room) - room
        filled = np.clip(abs(whole) * cost.sum() / total - before, 0.0, room)
        start[rows] = np.copysign(filled, whole)
    return start


# Every round


def solve(
    working: Mapping[int, Solved],
    found: Sequence[Mapping[int, Found]],
    job: Job,
    tols: Mapping[int, float],
    max_time: float | None,
) -> Mapping[int, Solved]:
    """Let rows join the working sets of the machines that `tols` has, and solve these."""
    solved = dict(working)
    for number, tol in tols.items():
        known = [working[number].variables] if number in working else []
        joining = [partition[number].joining for partition in found]
        variables = _joined([*known, *(rows for rows in joining if rows is not None)])
        image = None
        if known:
            variables.terms[5, : len(known[0].numbers)] = working[number].beta
            image = _image_of(variables.numbers, [partition[number] for partition in found])
        settings = _settings(job, tol, job.threads[1], max_time)
        given = source_of(job.kernel).training(variables.X, settings, 1)
        beta, (first, second), report = variables.problem.solve(
            given.kernel, given.samples, settings, image
        )
        fields = {name: getattr(report, name) for name in REPORTED}
        rounds = 1
        if known:
            rounds += working[number].round
            fields.update({name: fields[name] + working[number].report[name] for name in ADDED})
        solved[number] = Solved(variables, beta, (first, second), fields, rounds)
    return solved


def _image_of(numbers: NDArray[np.int64], found: Sequence[Found]) -> NDArray[np.float64]:
    """Return K beta of the rows with these numbers, each of which is in one of the partitions."""
    known = np.concatenate([each.numbers for each in found if each.numbers is not None])
    images = np.concatenate([each.image for each in found if each.image is not None])
    order = np.argsort(known)
    image: NDArray[np.float64] = images[order[np.searchsorted(known, numbers, sorter=order)]]
    return image


def _joined(variables: Sequence[Variables]) -> Variables:
    """Return variables one after another."""
    first = variables[0]
    second = None
    if first.second is not None:
        second = np.concatenate([each.second for each in variables if each.second is not None])
    return Variables(
        stacked([each.X for each in variables]),
        np.concatenate([each.numbers for each in variables]),
        np.concatenate([each.labels for each in variables]),
        np.concatenate([each.terms for each in variables], axis=1),
        first.constraint,
        second,
    )


def changes(
    before: Sequence[Mapping[int, Solved]], after: Sequence[Mapping[int, Solved]], machines: int
) -> Change:
    """Return the coefficients that changed in a round: each row is sent once for all machines."""
    blocks, numbers, owners, added, betas = [], [], [], [], []
    intercepts: dict[int, tuple[float, float]] = {}
    for old, new in zip(before, after, strict=True):
        for machine, solved in new.items():
            if machine in old and old[machine].round == solved.round:
                continue  # it is done
            intercepts[machine] = solved.intercepts
            difference = solved.beta.copy()
            if machine in old:
                difference[: len(old[machine].beta)] -= old[machine].beta
            moved = np.flatnonzero(difference)
            blocks.append(take_rows(solved.variables.X, moved))
            numbers.append(solved.variables.numbers[moved])
            owners.append(np.full(len(moved), machine))
            added.append(difference[moved])
            betas.append(solved.beta[moved])
    # The same row may have changed in several machines.
    unique, first, place = np.unique(
        np.concatenate(numbers), return_index=True, return_inverse=True
    )
    matrices = np.zeros((2, machines, len(unique)))
    matrices[0, np.concatenate(owners), place] = np.concatenate(added)
    matrices[1, np.concatenate(owners), place] = np.concatenate(betas)
    rows = take_rows(stacked(blocks), first)
    return Change(rows, unique, matrices[0], matrices[1], intercepts)


def step(
    part: Part, before: tuple[State, Founds], change: Change, job: Job, limit: int
) -> tuple[State, Founds]:
    """Add a change of coefficients to the images of a partition; find thresholds and violators.

    Of the machines that have changed, that is: those that are done stay as they are.
    """
    posed = {number: part.posed(job.machines[number]) for number in change.intercepts}
    images = _images(part, posed, change, job)
    state: dict[int, _Own] = dict(before[0])
    found: list[dict[int, Found]] = []
    for group in job.groups:
        found.append({})
        for number in (number for number in group if number in posed):
            own, members = before[0][number], posed[number].members
            beta = _own_beta(own.beta, part.numbers[members], change, number)
            image = own.image + images[number]
            intercepts = change.intercepts[number]
            result = _examined(posed[number], beta, image, intercepts)
            worst = _violators(result[1], own.joined, job.machines[number].tol, limit)
            joined = own.joined.copy()
            joined[worst] = True
            state[number] = _Own(beta, image, joined)
            joining = _variables(part, posed[number], worst) if len(worst) else None
            thresholds = np.array(result[0])
            inside = np.flatnonzero(joined)
            found[-1][number] = Found(
                joining,
                thresholds,
                result[2],
                part.largest,
                part.numbers[members[inside]],
                image[inside],
            )
    return state, tuple(found)


def _images(
    part: Part, posed: Mapping[int, Posed], change: Change, job: Job
) -> Mapping[int, NDArray[np.float64]]:
    """Return what a change adds to the image of each member of each machine.

    Rows of a class have the same machines: kernel values are computed once for these.
    """
    images = {number: np.zeros(len(each.members)) for number, each in posed.items()}
    if not len(change.numbers):
        return images
    target = part.rows.target
    several = len(job.machines) > 1 and job.machines[0].classes is not None
    labels = target if several and target is not None else np.zeros(len(part.numbers))
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        whole = len(rows) == len(labels)
        places = {m: np.flatnonzero(np.isin(each.members, rows)) for m, each in posed.items()}
        machines = [number for number, place in places.items() if len(place)]
        moved = np.flatnonzero(change.added[machines].any(axis=0))
        if not len(moved):
            continue
        values = kernel_sums(
            job.kernel,
            part.X if whole else take_rows(part.X, rows),
            change.X if len(moved) == len(change.numbers) else take_rows(change.X, moved),
            np.ascontiguousarray(change.added[machines][:, moved]),
            job.threads[0],
        )
        for column, machine in enumerate(machines):
            # All rows of a class take part in a machine, or none.
            images[machine][places[machine]] = values[:, column]
    return images


def _own_beta(
    before: NDArray[np.float64], numbers: NDArray[np.int64], change: Change, machine: int
) -> NDArray[np.float64]:
    """Return the coefficients of the rows with these numbers, which rise, after a change."""
    beta = before.copy()
    if len(numbers):
        place = np.searchsorted(numbers, change.numbers)
        here = numbers[np.minimum(place, len(numbers) - 1)] == change.numbers
        here &= change.added[machine] != 0.0
        beta[place[here]] = change.beta[machine, here]
    return beta


def _examined(
    posed: Posed,
    beta: NDArray[np.float64],
    image: NDArray[np.float64],
    intercepts: tuple[float, float],
) -> tuple[Any, NDArray[np.float64], float]:
    """Return thresholds, violations and duality gap of members."""
    problem = _core.DualProblem(posed.terms, posed.constraint, posed.second)
    gradient = image + posed.terms[0] + posed.terms[4] * beta
    return problem.examine(beta, gradient, intercepts)


def _violators(
    violations: NDArray[np.float64], joined: NDArray[np.bool_], tol: float, limit: int
) -> NDArray[np.intp]:
    """Return the worst violators that are not in the working set yet, in order."""
    which = np.flatnonzero((violations > _JOINS * tol) & ~joined)
    if len(which) > limit:
        worst = np.argpartition(violations[which], len(which) - limit)[-limit:]
        which = np.sort(which[worst])
    return which


# What the client asks for


def summary(found: Mapping[int, Found]) -> Mapping[int, tuple[Any, float, int, int, float]]:
    """Return thresholds, duality gap, rows that join, their bytes, and the largest k(x, x)."""
    return {
        number: (
            each.thresholds,
            each.duality_gap,
            0 if each.joining is None else len(each.joining.numbers),
            each.n_bytes,
            each.largest,
        )
        for number, each in found.items()
    }


def outline(solved: Mapping[int, Solved]) -> Mapping[int, tuple[Mapping[str, Any], Any, int]]:
    """Return report, intercepts and size of the working set of each machine."""
    return {
        number: (each.report, each.intercepts, len(each.beta)) for number, each in solved.items()
    }


def size_of(change: Change) -> int:
    """Return the bytes of a change."""
    return bytes_of(change.X, change.numbers, change.added, change.beta)


def support(solved: Mapping[int, Solved]) -> Mapping[int, Solved]:
    """Return working sets without the rows that are no support vectors."""
    kept = {}
    for number, each in solved.items():
        which, known = np.flatnonzero(each.beta), each.variables
        variables = Variables(
            take_rows(known.X, which),
            known.numbers[which],
            known.labels[which],
            known.terms[:, which],
            known.constraint,
            None if known.second is None else known.second[which],
        )
        kept[number] = replace(each, variables=variables, beta=each.beta[which])
    return kept
