"""What a solver did: the types of ``report_`` and ``history_``."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

__all__ = ["History", "MachineReport", "Method", "Progress", "Report", "Seconds", "Status"]

#: The epochs of one machine: arrays "objective", "margin", "intercept" and "gap".
History: TypeAlias = dict[str, NDArray[np.float64]]

#: How a solver may end, from the best to the worst.
Status: TypeAlias = Literal[
    "converged", "settled", "precision", "max_iterations", "time_limit", "diverged", "interrupted"
]

#: What may find a solution.
Method: TypeAlias = Literal[
    "smo", "adatron", "interior", "newton", "descent", "npa", "perceptron", "minover"
]
_STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True)
class Progress:
    """How far a fit is: what `callback` is told about ten times a second.

    Attributes
    ----------
    machine : int
        The number of the machine being trained, from 0 on; of several at a time, the last begun.
    machines : int
        How many there are.
    done : int
        How many of them are done.
    iteration : int
        Iterations of that machine so far.
    gap : float
        Its largest violation of the optimality conditions, on its way to `tol`. Infinite before the
        first iteration.
    objective : float
        Its dual objective, minimised; an estimate. NaN before the first iteration.
    support_vectors : int
        Its coefficients that are not zero.
    seconds : float
        The time since the fit began.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.report import Progress
    >>> def impatient(progress: Progress) -> bool:
    ...     return progress.seconds > 60.0  # True ends the fit
    >>> SVC(callback=impatient).fit([[0.0], [1.0]], [0, 1]).report_.status
    'converged'
    """

    machine: int
    machines: int
    done: int
    iteration: int
    gap: float
    objective: float
    support_vectors: int
    seconds: float


class Seconds(float):
    """A time in seconds, and where it went.

    Parameters
    ----------
    total : float
        The number itself.
    selection : float
        Choosing coefficients to change.
    kernel : float
        Computing kernel values.
    inner : float
        Changing coefficients.
    update : float
        Adding kernel rows to the gradient.

    Examples
    --------
    >>> from mercer import SVC
    >>> model = SVC().fit([[0.0], [1.0]], [0, 1])
    >>> model.report_.seconds > 0
    True
    >>> sorted(model.report_.seconds.by_phase)
    ['inner', 'kernel', 'selection', 'update']
    """

    selection: float
    kernel: float
    inner: float
    update: float

    def __new__(
        cls, total: float, selection: float, kernel: float, inner: float, update: float
    ) -> "Seconds":
        """Make the number."""
        seconds = super().__new__(cls, total)
        seconds.selection, seconds.kernel = selection, kernel
        seconds.inner, seconds.update = inner, update
        return seconds

    def __getnewargs__(self) -> tuple[float, float, float, float, float]:  # type: ignore[override]
        """Return what a copy is made from."""
        return float(self), self.selection, self.kernel, self.inner, self.update

    @property
    def by_phase(self) -> dict[str, float]:
        """The phases by name; the rest of the total is preparation."""
        return {
            "selection": self.selection,
            "kernel": self.kernel,
            "inner": self.inner,
            "update": self.update,
        }


@dataclass(frozen=True)
class MachineReport:
    """What the solver did on one quadratic programme.

    Attributes
    ----------
    status : str
        Why the solver stopped: 'converged'; 'settled' if it has what was asked for instead of a
        small gap, the margin of ``stop='margin'`` or the stability of a perceptron; 'precision' if
        float64 is too coarse to reach `tol`; 'max_iterations'; 'time_limit'; 'diverged' if the
        objective has no lower bound; 'interrupted'.
    gap : float
        Upper bound of the largest violation of the optimality conditions, whatever the status: at
        most `tol` if converged, infinite if there was no time to find one.
    objective : float
        Value of the dual objective, to be minimised. After a stop by the clock or Ctrl-C it is an
        estimate; after one before the first gradient, an upper bound.
    iterations : int
        Number of pairs of coefficients optimised; of the solver 'adatron', the number of epochs.
        Those of the interior-point method are added.
    kernel_evaluations : int
        Number of kernel values computed. Rows are kept or computed again as the memory at hand
        makes it faster: this and the counters of the cache may differ from fit to fit, nothing
        else does.
    cache_hits, cache_misses : int
        Kernel rows found in the cache, and rows that had to be computed.
    seconds : Seconds
        Time taken; its attributes `selection`, `kernel`, `inner` and `update` tell where it went.
    method : {'smo', 'adatron', 'interior', 'newton', 'descent', 'npa', 'perceptron', 'minover'}
        What found the solution; 'interior' if the interior-point method took over from 'smo',
        'newton' if Newton's method found the weights of a linear machine, 'descent' if one
        coefficient after another did.
    cache_bypasses : int
        Rows among `cache_misses` that were not kept, because memory for them would have cost more
        than it takes to compute them again.
    primal_objective : float
        Value of what the machine minimises, as its documentation states it but in the scaling of
        `objective`: at the optimum it is ``-objective``. Infinite if a hard margin is not reached,
        or there was no time to find it.
    duality_gap : float
        ``primal_objective + objective``, which is never negative: how far the solution is from the
        optimum at the most, in terms of the objective.
    squared_norm : float
        The squared length |w|^2 of the weight vector.
    """

    status: Status
    gap: float
    objective: float
    iterations: int
    kernel_evaluations: int
    cache_hits: int
    cache_misses: int
    seconds: Seconds
    method: Method = "smo"
    cache_bypasses: int = 0
    primal_objective: float = np.nan
    duality_gap: float = np.nan
    squared_norm: float = np.nan


@dataclass(frozen=True, repr=False)
class Report:
    """What the solver did in a whole fit: a sequence of reports, one per machine.

    Attributes
    ----------
    machines : tuple of MachineReport
        The parts: ``report[i]``, ``len(report)`` and iteration go over them.
    seconds : Seconds
        Time from beginning to end. Its attributes `selection`, `kernel`, `inner` and `update` are
        sums over the machines, which can exceed the whole if machines were trained in parallel.
    """

    machines: tuple[MachineReport, ...]
    seconds: Seconds

    def __len__(self) -> int:
        """Return the number of machines."""
        return len(self.machines)

    def __getitem__(self, index: int) -> MachineReport:
        """Return the report of one machine."""
        return self.machines[index]

    def __iter__(self) -> Iterator[MachineReport]:
        """Go over the reports of the machines."""
        return iter(self.machines)

    @property
    def status(self) -> Status:
        """The worst status of the machines, 'converged' only if every one converged."""
        return max((machine.status for machine in self), key=_STATUSES.index)

    @property
    def method(self) -> Method:
        """What found the solution: that of the machine with the most iterations."""
        return max(self, key=lambda machine: machine.iterations).method

    @property
    def gap(self) -> float:
        """The largest gap of the machines."""
        return max(machine.gap for machine in self)

    @property
    def objective(self) -> float:
        """The sum of the dual objectives."""
        return sum(machine.objective for machine in self)

    @property
    def primal_objective(self) -> float:
        """The sum of what the machines minimise."""
        return sum(machine.primal_objective for machine in self)

    @property
    def duality_gap(self) -> float:
        """The sum of the duality gaps."""
        return sum(machine.duality_gap for machine in self)

    @property
    def iterations(self) -> int:
        """The number of iterations of all machines."""
        return sum(machine.iterations for machine in self)

    @property
    def kernel_evaluations(self) -> int:
        """The number of kernel values computed for all machines."""
        return sum(machine.kernel_evaluations for machine in self)

    @property
    def cache_hits(self) -> int:
        """The number of kernel rows found in the cache."""
        return sum(machine.cache_hits for machine in self)

    @property
    def cache_misses(self) -> int:
        """The number of kernel rows that had to be computed."""
        return sum(machine.cache_misses for machine in self)

    @property
    def cache_bypasses(self) -> int:
        """The number of kernel rows that were computed and not kept."""
        return sum(machine.cache_bypasses for machine in self)

    def __repr__(self) -> str:
        """Return the figures of the whole fit in one line."""
        return (
            f"Report(status={self.status!r}, gap={self.gap:.3g}, objective={self.objective:.6g}, "
            f"iterations={self.iterations}, kernel_evaluations={self.kernel_evaluations}, "
            f"cache_hits={self.cache_hits}, cache_misses={self.cache_misses}, "
            f"cache_bypasses={self.cache_bypasses}, "
            f"seconds={self.seconds:.3g}, machines={len(self)})"
        )
