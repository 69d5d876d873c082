"""The machines of an estimator as problems that can be divided among workers.

A `Machine` is one quadratic programme over some or all rows. It is made of numbers only, so that
it can be sent; `Machine.pose` makes the problem of the rows at hand, wherever these are. Rows
elsewhere matter by the sum of their weights alone, and only to machines with a nu.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _core

__all__ = ["Job", "Machine", "Rows"]


@dataclass(frozen=True)
class Rows:
    """What is to be learnt from some rows: numbers of classes or values, and weights."""

    #: Class numbers, one column of values for each machine, or None.
    target: NDArray[Any] | None
    #: The weight of each row, that of its class not counted.
    weight: NDArray[np.float64]


@dataclass(frozen=True)
class Machine:
    """One quadratic programme."""

    #: The constructor of `_core.Formulation` and what it is given.
    kind: str
    parameters: Mapping[str, Any]
    #: What the weight of a row, or of the row's class, is multiplied by to get its cost.
    factors: NDArray[np.float64]
    #: The class on the negative side, -1 for all but the other, and that on the positive side.
    classes: tuple[int, int] | None = None
    #: The column of the targets, of a regression.
    column: int = 0
    #: The weight of all rows that take part.
    weight: float = 1.0
    #: The cost of all rows, where it matters: of the negative and the positive class, or of all.
    totals: tuple[float, ...] = ()
    #: The rows of the negative and the positive class, of machines with a margin to be found.
    counts: tuple[int, int] = (0, 0)
    #: The tolerance of the problem, and what it was made of.
    tol: float = 1e-3
    asked_tol: float = 1e-3

    @property
    def is_pair(self) -> bool:
        """Whether it tells two classes from each other, not one from the rest."""
        return self.classes is not None and self.classes[0] >= 0

    @property
    def formulation(self) -> _core.Formulation:
        """The core's form of what is to be trained."""
        make = getattr(_core.Formulation, self.kind)
        formulation: _core.Formulation = make(**self.parameters)
        return formulation

    def members(self, rows: Rows) -> NDArray[np.intp]:
        """Return which of the rows take part, by number."""
        if not self.is_pair:
            return np.arange(len(rows.weight))
        assert rows.target is not None
        assert self.classes is not None
        return np.flatnonzero(np.isin(rows.target, self.classes))

    def pose(
        self, rows: Rows, members: NDArray[np.intp], diagonal: NDArray[np.float64]
    ) -> tuple[_core.DualProblem, tuple[float, float], NDArray[np.float64]]:
        """Return the problem of these members, the sums of the whole by group, and the costs."""
        weight, target = rows.weight[members], None
        if self.classes is not None:
            assert rows.target is not None
            labels = rows.target[members]
            cost = weight * self.factors[labels]
            target = (labels == self.classes[1]).astype(np.int64)
            here = np.bincount(target, weights=cost, minlength=2)
        else:
            cost = weight * self.factors[0]
            here = np.array([cost.sum()])
            if rows.target is not None:
                target = np.ascontiguousarray(rows.target[members, self.column])
        rest: list[float] = []
        if self.totals:
            totals = np.array(self.totals)
            # What rounding leaves of a total is no row.
            rest = np.where(totals - here > 1e-12 * totals, totals - here, 0.0).tolist()
        problem, sums = self.formulation.pose(target, cost, rest, diagonal)
        return problem, (sums[0], sums[1]), cost


@dataclass(frozen=True)
class Job:
    """What all tasks of a fit are told."""

    machines: tuple[Machine, ...]
    #: An object of `mercer.kernels` whose parameters are numbers, or a callable.
    kernel: Any
    #: Parameters of `_core.Settings`, without the tolerance and the threads.
    settings: Mapping[str, Any]
    #: Threads of a task on a partition, and of one that solves a working set.
    threads: tuple[int, int]
    #: Machines by group: each group is solved by one task.
    groups: tuple[tuple[int, ...], ...]
