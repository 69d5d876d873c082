"""Fits of a search in other processes: any backend of joblib distributes kernels and folds.

Without a backend chosen by the user the core does all fits at once on the threads of this process,
which is faster than processes that each compute the kernel again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from mercer._data import RowsLike
from mercer.model_selection._together import Entry, Split, Supplied, Together, supplied

__all__ = ["Workers"]


@dataclass(frozen=True)
class _Report:
    """What the solver did, as `_core.Report` tells it, but fit to be sent."""

    status: str
    method: str
    iterations: int
    gap: float
    objective: float
    primal_objective: float
    duality_gap: float
    squared_norm: float
    kernel_evaluations: int
    cache_hits: int
    cache_misses: int
    cache_bypasses: int
    seconds: float
    phases: tuple[float, float, float, float]


@dataclass(frozen=True)
class _Found:
    """What another process has found for an entry, as `_core.SearchFit` has it."""

    fit: Supplied
    values: NDArray[np.float64]
    seconds: float


@dataclass(frozen=True)
class Workers:
    """A backend of joblib that the user has chosen, and its number of jobs."""

    backend: Any
    n_jobs: int | None

    @staticmethod
    def chosen(n_jobs: int | None) -> "Workers | None":
        """Return the workers of this context; None if fits are better done in this process.

        `n_jobs` is that of the search, which goes before that of the context.
        """
        backend, of_context = get_active_backend()
        usual = type(backend).__name__ == "LokyBackend" and of_context is None
        if usual or getattr(backend, "supports_sharedmem", False):
            return None
        n_jobs = of_context if n_jobs is None else n_jobs
        return None if n_jobs == 1 else Workers(backend, n_jobs)

    @property
    def _is_cluster(self) -> bool:
        return type(self.backend).__name__ == "DaskDistributedBackend"

    def train(
        self,
        together: Together,
        estimator: Any,
        candidates: Sequence[Mapping[str, Any]],
        data: tuple[RowsLike, Any, Mapping[str, Any]],
        splits: Sequence[Split],
    ) -> None:
        """Plan like `Together.plan`, but have the work done by these workers."""
        entries = together.collect(estimator, candidates, data, splits)
        with parallel_config(backend=self.backend, n_jobs=self.n_jobs):
            parts = _parts(entries, len(splits), effective_n_jobs(self.n_jobs), self._is_cluster)
            found = Parallel(n_jobs=self.n_jobs)(
                delayed(_train_part)(
                    estimator,
                    [candidates[number] for number in some],
                    data,
                    [splits[number] for number in folds],
                    together.trains_too,
                )
                for some, folds in parts
            )
        for (some, folds), results in zip(parts, found, strict=True):
            places = [number * len(splits) + fold for number in some for fold in folds]
            for place, result in zip(places, results, strict=True):
                entry = entries[place]
                if entry is not None:
                    entry.result = result
        together.count()


def _parts(
    entries: Sequence[Entry | None], n_splits: int, n_workers: int, apart: bool = False
) -> list[tuple[list[int], list[int]]]:
    """Return which candidates and splits are done together: those that share a kernel.

    Where there are fewer kernels than workers, folds are done apart. So they are on a cluster,
    whose workers come, go and die: short tasks are soon done again, by whoever is free.
    """
    groups: dict[str, list[int]] = {}
    for number in range(len(entries) // n_splits):
        of_candidate = entries[number * n_splits : (number + 1) * n_splits]
        entry = next((entry for entry in of_candidate if entry is not None), None)
        if entry is not None:
            groups.setdefault(repr(entry.request.kernel), []).append(number)
    folds = [list(range(n_splits))]
    if apart or len(groups) < n_workers:
        folds = [[fold] for fold in range(n_splits)]
    return [(group, some) for group in groups.values() for some in folds]


def _train_part(
    estimator: Any,
    candidates: Sequence[Mapping[str, Any]],
    data: tuple[RowsLike, Any, Mapping[str, Any]],
    splits: Sequence[Split],
    trains_too: bool,
) -> list[_Found | None]:
    """Train in a process that is one of many."""
    together = Together(trains_too=trains_too)
    together.plan(estimator, candidates, data, splits, n_jobs=1)
    return [None if entry is None else _found(entry) for entry in together.planned]


def _found(entry: Entry) -> _Found | None:
    """Return a result in a form that can be sent."""
    if entry.result is None:
        return None
    fit = supplied(entry)
    names = _Report.__dataclass_fields__
    reports: list[Any] = [
        _Report(**{name: getattr(report, name) for name in names}) for report in fit.reports
    ]
    return _Found(replace(fit, reports=reports), entry.result.values, entry.result.seconds)
