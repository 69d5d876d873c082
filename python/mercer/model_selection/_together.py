"""Fits planned together: what is to be trained, on common rows, and who gets which result."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer import _core
from mercer._data import RowsLike, length, make_samples, take_rows
from mercer.kernels._kernel import Kernel
from mercer.model_selection._bar import SearchBar
from mercer.svm._base import BaseKernelMachine
from mercer.svm._classifier import BaseClassifier
from mercer.svm._probability import asked_for
from mercer.svm._regressor import BaseRegressor
from mercer.svm._shared import Collected, FitLike, Known, Request, open_desk

__all__ = ["Entry", "Split", "Supplied", "Together", "all_of", "machine_of", "supplied"]

#: Rows to train on and rows to test, by number.
Split: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


def machine_of(estimator: Any) -> BaseKernelMachine | None:
    """Return the machine that an estimator is or ends in, None if it is none of this package."""
    if isinstance(estimator, Pipeline) and estimator.steps:
        estimator = estimator.steps[-1][1]
    return estimator if isinstance(estimator, BaseKernelMachine) else None


class FoundLike(Protocol):
    """What was found for an entry, as `_core.SearchFit` has it."""

    @property
    def fit(self) -> FitLike: ...
    @property
    def values(self) -> NDArray[np.float64]: ...
    @property
    def seconds(self) -> float: ...


@dataclass(frozen=True)
class Supplied:
    """What the core found for a machine, its rows numbered as the machine knows them."""

    support: NDArray[np.int32]
    n_support: NDArray[np.int32]
    dual_coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    reports: list[_core.Report]
    histories: list[NDArray[np.float64]]
    epsilon: float | None
    squared_radius: float | None = None
    diagonal: float | None = None


@dataclass
class _Place:
    """The rows of one split, after preprocessing."""

    #: The rows to train on and to test, as machines are given them.
    train: RowsLike
    test: RowsLike
    #: Their numbers in the common rows.
    train_at: NDArray[np.int64]
    test_at: NDArray[np.int64]


@dataclass
class Entry:
    """A request, and its result when it is known."""

    place: _Place
    request: Request
    #: The number of the split.
    split: int
    #: The number of the candidate.
    candidate: int = 0
    result: FoundLike | None = None

    def is_regular(self) -> bool:
        """Tell whether training has ended as it should: no one has to be told anything."""
        if self.result is None:
            return False
        fit = self.result.fit
        finite = np.isfinite(fit.dual_coef).all() and np.isfinite(fit.intercept).all()
        return bool(finite) and all(report.status == "converged" for report in fit.reports)

    def predictions(self) -> NDArray[Any] | None:
        """Return what the machine predicts for the rows asked for, None if that is not known.

        Of a classifier these are the numbers of classes.
        """
        machine, result = self.request.machine, self.result
        if isinstance(machine, BaseClassifier) and result is not None:
            n_classes = len(result.fit.n_support)
            return _core.winners(result.values, n_classes, machine._fit_multiclass)
        if isinstance(machine, BaseRegressor) and result is not None:
            return result.values[:, 0]
        return None


@dataclass
class _Data:
    """Common rows, and what is to be trained on them."""

    rows: RowsLike
    #: Where the splits on these rows are, by number.
    places: Mapping[int, _Place]
    entries: list[Entry] = field(default_factory=list)


class Trainer(Protocol):
    """Who trains what a search needs."""

    def train(
        self,
        together: "Together",
        estimator: Any,
        candidates: Sequence[Mapping[str, Any]],
        data: tuple[RowsLike, Any, Mapping[str, Any]],
        splits: Sequence[Split],
    ) -> None:
        """Do what `Together.plan` does."""


class Together:
    """The desk of a search: collects what is to be trained, trains it, and hands results out.

    `trains_too` says whether rows that were trained on will be predicted as well, `verbose` whether
    a bar is shown while the core trains.
    """

    def __init__(self, *, trains_too: bool = False, verbose: bool = False) -> None:
        self.trains_too = trains_too
        self.verbose = verbose
        #: Who trains; None if that is done in this process.
        self.trainer: Trainer | None = None
        self._sets: dict[Any, _Data] = {}
        #: The seconds of each fit that was planned, in the order of candidates, then splits.
        self.seconds: list[float] = []
        #: What was planned, in the same order; None for what could not be shared.
        self.planned: list[Entry | None] = []
        self._entries: dict[Any, list[Entry]] | None = None
        self._served: list[list[Known]] = []

    # Collecting

    def plan(
        self,
        estimator: Any,
        candidates: Sequence[Mapping[str, Any]],
        data: tuple[RowsLike, Any, Mapping[str, Any]],
        splits: Sequence[Split],
        *,
        n_jobs: int | None = None,
    ) -> None:
        """Train an estimator with the parameters of each candidate on each split.

        `data` are the rows, the targets and what else goes to ``fit``. What cannot be shared is
        left to be trained when it is asked for. `n_jobs` are the threads, None for those that the
        machines ask for.
        """
        self.collect(estimator, candidates, data, splits)
        for common in self._sets.values():
            bar = SearchBar(len(candidates)) if self.verbose else None
            try:
                _train(common, self.trains_too, bar, n_jobs)
            finally:
                if bar is not None:
                    bar.close()
        self.count()

    def collect(
        self,
        estimator: Any,
        candidates: Sequence[Mapping[str, Any]],
        data: tuple[RowsLike, Any, Mapping[str, Any]],
        splits: Sequence[Split],
    ) -> list[Entry | None]:
        """Find out what is to be trained, in the order of candidates, then splits."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work = _Work(data, splits)
            collected = [
                entry
                for number, parameters in enumerate(candidates)
                for entry in work.collect(estimator, parameters, number)
            ]
        self._sets = work.sets
        self.planned.extend(collected)
        return collected

    def count(self) -> None:
        """Take note of the results of what was collected."""
        self._sets = {}
        self._entries = None
        known = self.planned[len(self.seconds) :]
        self.seconds += [entry.result.seconds if entry and entry.result else 0.0 for entry in known]

    # Handing out

    def serve(self, request: Request) -> FitLike | None:
        """Return what was found for a request."""
        if self._entries is None:
            self._entries = {}
            for planned in self.planned:
                if planned is not None:
                    key = _signature(planned.request.machine)
                    self._entries.setdefault(key, []).append(planned)
        for entry in self._entries.get(_signature(request.machine), ()):
            if entry.result is not None and _same_request(request, entry.request):
                machine = request.machine
                known = list(_known(entry, request, self.trains_too))
                machine._fit_known = known
                self._served.append(known)
                return supplied(entry)
        return None

    def close(self) -> None:
        """Let machines forget predictions that were for the search only."""
        for known in self._served:
            known.clear()
        self._served.clear()
        self.planned.clear()
        self._entries = None


class _Work:
    """The fits of a search on its splits, collected candidate after candidate.

    `data` are the rows, the targets and what else goes to ``fit``.
    """

    def __init__(
        self, data: tuple[RowsLike, Any, Mapping[str, Any]], splits: Sequence[Split]
    ) -> None:
        self.sets: dict[Any, _Data] = {}
        self._data = data
        self._splits = splits
        self._targets = [
            None if data[1] is None else take_rows(data[1], train) for train, _ in splits
        ]

    def collect(
        self, estimator: Any, parameters: Mapping[str, Any], candidate_number: int
    ) -> list[Entry | None]:
        """Find out what a candidate trains on each split; None if that cannot be shared."""
        nothing: list[Entry | None] = [None] * len(self._splits)
        try:
            candidate = clone(estimator).set_params(**clone(dict(parameters), safe=False))
            machine = machine_of(candidate)
            # Whoever has a callback wants to hear of each fit.
            if machine is None or asked_for(machine) or machine.callback is not None:
                return nothing
            if hasattr(machine, "set_callbacks"):
                machine.set_callbacks()  # which hear of the fit that finds the result
            kernel = machine._given_kernel()
            if not isinstance(kernel, Kernel) or kernel._of_sequences:
                return nothing
        except Exception:  # whoever fits it alone will hear of it
            return nothing
        collected = [
            self._collect_on(candidate, machine, parameters, number)
            for number in range(len(self._splits))
        ]
        for entry in collected:
            if entry is not None:
                entry.candidate = candidate_number
        return collected

    def _collect_on(
        self, candidate: Any, machine: Any, parameters: Mapping[str, Any], number: int
    ) -> Entry | None:
        X, y, more = self._data
        try:
            place, common = _place_of(
                self.sets, candidate, parameters, (X, y), number, self._splits
            )
            arguments = _cut(candidate, more, self._splits[number][0], length(X) or 0)
            with open_desk(_Collecting()):
                machine.fit(place.train, self._targets[number], **arguments)
        except Collected as collected:
            request = collected.request
            if not (request.machine._is_optimal and request.problem.formulation.shares):
                return None
            entry = Entry(place, collected.request, number)
            common.entries.append(entry)
            return entry
        except Exception:  # as above
            return None
        return None


class _Collecting:
    """The desk that ends a fit when it is about to train."""

    def serve(self, request: Request) -> FitLike | None:
        raise Collected(request)


def _place_of(
    sets: dict[Any, _Data],
    candidate: Any,
    parameters: Mapping[str, Any],
    data: tuple[RowsLike, Any],
    number: int,
    splits: Sequence[Split],
) -> tuple[_Place, _Data]:
    """Return where a split is, and the common rows; make them if they are not there yet."""
    X, y = data
    before = _preprocessing(candidate, parameters)
    if before is None:
        if None not in sets:
            places, rows = _common_places(X, y, splits)
            sets[None] = _Data(rows, dict(enumerate(places)))
        return sets[None].places[number], sets[None]
    key = (before[0], number)
    if key not in sets:
        train, test = splits[number]
        target = None if y is None else take_rows(y, train)
        fitted = before[1]
        train_rows = fitted.fit_transform(take_rows(X, train), target)
        test_rows = fitted.transform(take_rows(X, test))
        place = _Place(
            train_rows,
            test_rows,
            np.arange(len(train), dtype=np.int64),
            np.arange(len(train), len(train) + len(test), dtype=np.int64),
        )
        stack = sp.vstack if sp.issparse(train_rows) else np.vstack
        sets[key] = _Data(stack([train_rows, test_rows]), {number: place})
    return sets[key].places[number], sets[key]


def _preprocessing(candidate: Any, parameters: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return what comes before the machine, with a key for its parameters; None if nothing does."""
    if not isinstance(candidate, Pipeline) or len(candidate.steps) == 1:
        return None
    last = candidate.steps[-1][0]
    own = sorted(
        (name, repr(value))
        for name, value in parameters.items()
        if name != last and not name.startswith(last + "__")
    )
    return tuple(own), candidate[:-1]


def _common_places(X: RowsLike, y: Any, splits: Sequence[Split]) -> tuple[list[_Place], RowsLike]:
    """Return the places of all splits in rows that are in a good order for pairs of classes."""
    n_rows = length(X) or 0
    fold = np.zeros(n_rows, dtype=np.int64)
    for number, (_, test) in enumerate(splits):
        fold[test] = number
    labels = np.zeros(n_rows, dtype=np.int64)
    if y is not None and np.ndim(y) == 1:
        classes, numbers = np.unique(np.asarray(y), return_inverse=True)
        if len(classes) < n_rows / 10:
            labels = numbers
    order = np.lexsort((fold, labels))
    position = np.empty(n_rows, dtype=np.int64)
    position[order] = np.arange(n_rows)
    places = [
        _Place(take_rows(X, train), take_rows(X, test), position[train], position[test])
        for train, test in splits
    ]
    return places, take_rows(X, order)


def _cut(
    candidate: Any, arguments: Mapping[str, Any], train: NDArray[np.intp], n_rows: int
) -> dict[str, Any]:
    """Return what else goes to ``fit`` of the machine, for the rows to train on."""
    prefix = candidate.steps[-1][0] + "__" if isinstance(candidate, Pipeline) else ""
    cut = {}
    for name, value in arguments.items():
        if not name.startswith(prefix):
            raise ValueError(f"{name} is not for the machine")
        whole = value is not None and np.ndim(value) >= 1 and len(value) == n_rows
        cut[name.removeprefix(prefix)] = take_rows(value, train) if whole else value
    return cut


# Training


def _train(
    common: _Data, trains_too: bool, bar: SearchBar | None = None, n_jobs: int | None = None
) -> None:
    """Train all that is to be trained on common rows."""
    if not common.entries:
        return
    first = common.entries[0].request.machine
    rows = _as_trained(common, first)
    if rows is None:
        return
    targets = [entry.request.problem.target for entry in common.entries]
    if any(target is not None and target.ndim > 1 for target in targets):
        return  # several targets share their kernel with each other only
    n_rows = rows.shape[0]
    expected = _expected(common, n_rows)
    # Rows that are held out keep their class: pairs of classes are then the same rows in every
    # fold, and share one matrix.
    known = np.zeros(n_rows) if expected is None else np.nan_to_num(expected[0])
    fits = []
    for entry in common.entries:
        request, place = entry.request, entry.place
        at = place.train_at[request.keep]
        cost = np.zeros(n_rows)
        cost[at] = request.problem.cost
        target = request.problem.target
        if target is not None:
            spread = known.astype(target.dtype)
            spread[at] = target
            target = spread
        asked = np.concatenate([place.test_at, at]) if trains_too else place.test_at
        formulation, kernel = request.problem.formulation, request.kernel._build()
        fits.append((formulation, kernel, target, cost, asked, request.settings))
    machine = first if n_jobs is None else clone(first).set_params(n_jobs=n_jobs)
    settings = machine._settings(None if bar is None else bar.told)
    if bar is None or trains_too:
        expected = None
    found = _core.search(make_samples(rows), fits, settings, expected=expected)
    for entry, result in zip(common.entries, found, strict=True):
        entry.result = result


def _expected(common: _Data, n_rows: int) -> tuple[NDArray[np.float64], list[int]] | None:
    """Return what held-out rows should give, and the candidate of each fit.

    None if machines do not agree on that.
    """
    values = np.full(n_rows, np.nan)
    for entry in common.entries:
        request, machine = entry.request, entry.request.machine
        target = request.problem.target
        if target is None:
            return None
        at = entry.place.train_at[request.keep]
        known = values[at]
        if isinstance(machine, BaseClassifier) and not np.all((known == target) | np.isnan(known)):
            return None  # a fold without one of the classes
        values[at] = target
    numbers = {
        number: at for at, number in enumerate(sorted({e.candidate for e in common.entries}))
    }
    return values, [numbers[entry.candidate] for entry in common.entries]


def _as_trained(common: _Data, machine: Any) -> Any:
    """Return the common rows as machines see theirs, None if they see others."""
    checker = clone(machine)
    rows = checker._check_rows(common.rows)
    for entry in {id(entry.place): entry for entry in common.entries}.values():
        request = entry.request
        if not _equal(rows[entry.place.train_at[request.keep]], request.rows):
            return None
    return rows


# Handing out


def _signature(machine: Any) -> Any:
    """Return the parameters of a machine as a key."""
    parameters = machine.get_params(deep=False)
    return type(machine), tuple((name, repr(value)) for name, value in parameters.items())


def _same_request(request: Request, planned: Request) -> bool:
    """Tell whether a machine is about to train what was planned."""
    problem, other = request.problem, planned.problem
    same = request.kernel == planned.kernel and np.array_equal(problem.cost, other.cost)
    if not same or (problem.target is None) != (other.target is None):
        return False
    if problem.target is not None and not np.array_equal(problem.target, other.target):
        return False
    return _equal(request.rows, planned.rows)


def _equal(rows: Any, others: Any) -> bool:
    """Tell whether two matrices are the same."""
    if rows.shape != others.shape or rows.dtype != others.dtype:
        return False
    if sp.issparse(rows) != sp.issparse(others):
        return False
    if not sp.issparse(rows):
        return bool(np.array_equal(rows, others))
    parts = ("indptr", "indices", "data")
    return all(np.array_equal(getattr(rows, part), getattr(others, part)) for part in parts)


def supplied(entry: Entry) -> Supplied:
    """Return a result with the rows numbered as the machine knows them, in its order."""
    assert entry.result is not None
    fit, request = entry.result.fit, entry.request
    if isinstance(fit, Supplied):
        return fit  # by another process
    at = entry.place.train_at[request.keep]
    number = np.empty(int(at.max()) + 1, dtype=np.int32)
    number[at] = np.arange(len(at))
    support = number[fit.support]
    classes = np.repeat(np.arange(len(fit.n_support)), fit.n_support)
    order = np.lexsort((support, classes))
    return Supplied(
        support=support[order],
        n_support=fit.n_support.copy(),
        dual_coef=np.ascontiguousarray(fit.dual_coef[:, order]),
        intercept=fit.intercept.copy(),
        reports=fit.reports,
        histories=fit.histories,
        epsilon=fit.epsilon,
    )


def _known(entry: Entry, request: Request, trains_too: bool) -> tuple[Known, ...]:
    """Return the predictions that a search has found on the way."""
    place, predictions = entry.place, entry.predictions()
    if predictions is None:
        return ()
    n_test = len(place.test_at)
    blocks = [(place.test, predictions[:n_test])]
    if trains_too and len(request.keep) == len(place.train_at):
        blocks.append((place.train, predictions[n_test:]))
    return tuple(_numbers(rows, predictions) for rows, predictions in blocks)


def _numbers(rows: RowsLike, predictions: NDArray[Any]) -> Known:
    """Return predictions of rows that are an array; others will not be recognised."""
    return Known(rows if isinstance(rows, np.ndarray) else np.empty(0), predictions)


def all_of(splits: Iterator[Any]) -> list[Split]:
    """Return splits with their rows as numbers."""
    return [(_as_numbers(train), _as_numbers(test)) for train, test in splits]


def _as_numbers(rows: Any) -> NDArray[np.intp]:
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype == bool else rows
