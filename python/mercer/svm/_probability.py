"""Probabilities of classes: held-out values, found together with the fit itself."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer._threads import thread_count
from mercer.svm._shared import FitLike, Request
from mercer.svm._sources import source_of

__all__ = ["Calibrating", "asked_for", "held_out"]

#: Parts of which each is held out once.
_FOLDS = 5


def asked_for(machine: Any) -> Any:
    """Return the parameter `probability` of a machine, False if it has none.

    'deprecated', the default of scikit-learn since 1.9 and so among the parameters of its machines,
    means False.
    """
    probability = getattr(machine, "probability", False)
    unset = isinstance(probability, str) and probability == "deprecated"
    return False if unset else probability


def held_out(labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the rows that are held out in turn: of each class every fifth.

    The only row of a class is never held out.
    """
    rank = np.empty(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        rank[rows] = np.arange(len(rows)) % _FOLDS if len(rows) > 1 else -1
    parts = [np.flatnonzero(rank == fold) for fold in range(_FOLDS)]
    return [part for part in parts if len(part)]


class Calibrating:
    """A desk that trains a classifier and, from its solution, those without a part of the rows."""

    def __init__(self) -> None:
        #: The slopes and constants of the sigmoids.
        self.sigmoids: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def serve(self, request: Request) -> FitLike | None:
        """Train, and fit the sigmoids."""
        problem, labels = request.problem, request.problem.target
        parts = held_out(labels)
        source = source_of(request.kernel)
        n_classes, multiclass = int(labels.max()) + 1, request.machine._fit_multiclass
        # The folds are more machines.
        given = source.training(request.rows, request.settings, _FOLDS * n_classes)
        nothing = np.empty(0, dtype=np.int64)
        fit = (problem.formulation, given.kernel, labels, problem.cost, nothing, request.settings)
        whole, values = _core.held_out(given.samples, fit, parts, request.settings)
        if values is None:
            raise ValueError(
                "probability=True trains on four fifths of the rows as well, where this is not "
                "possible: lower nu, or give more rows of each class"
            )
        rows = np.concatenate(parts)
        n_threads = thread_count(request.machine.n_jobs)
        slopes, constants = _core.calibrate(
            values[rows], labels[rows], n_classes, multiclass, n_threads
        )
        self.sigmoids = slopes, constants
        return whole.fit
