"""Who watches a fit: the line of `verbose`, the user's `callback`, scikit-learn's callbacks."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from mercer import _core
from mercer.report import Progress

__all__ = ["Watchers", "Way"]


class Watchers:
    """The progress function of the core: tells all watchers, any of which may stop the fit.

    What one of them raises ends the fit and passes through.
    """

    def __init__(self, watchers: Sequence[Callable[[Progress], Any]]) -> None:
        self._watchers = watchers

    def __call__(self, told: _core.Progress) -> bool:
        """Tell everyone; return whether to stop."""
        progress = Progress(
            machine=told.machine,
            machines=told.machines,
            done=told.done,
            iteration=told.iteration,
            gap=told.gap,
            objective=told.objective,
            support_vectors=told.support_vectors,
            seconds=told.seconds,
        )
        return any([bool(watcher(progress)) for watcher in self._watchers])


class Way:
    """The share of the way to `tol` that a fit has come.

    A gap falls by a factor rather than by an amount, so the way of a machine is that of the
    logarithm of its gap, from the largest seen to `tol`. It never goes back.

    Parameters
    ----------
    tol : float
        The gap at which a machine is done.

    Examples
    --------
    >>> from mercer.report import Progress
    >>> way = Way(tol=1e-3)
    >>> way.share(Progress(0, 2, 0, 10, 1.0, -1.0, 3, 0.1))
    0.0
    >>> way.share(Progress(1, 2, 1, 10, 1e-3, -1.0, 3, 0.2))
    1.0
    """

    def __init__(self, tol: float) -> None:
        self._tol = tol
        self._largest = 0.0
        self._share = 0.0

    def share(self, progress: Progress) -> float:
        """Return the share of all machines, between 0 and 1."""
        gap, own = progress.gap, 0.0
        if 0.0 < gap < math.inf:
            self._largest = max(self._largest, gap)
            whole = math.log(max(self._largest, 2.0 * self._tol) / self._tol)
            own = 1.0 - max(0.0, math.log(max(gap, self._tol) / self._tol)) / whole
        running = min(own, 1.0) if progress.done < progress.machines else 0.0
        share = (progress.done + running) / max(progress.machines, 1)
        self._share = max(self._share, min(share, 1.0))
        return self._share
