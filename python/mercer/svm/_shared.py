"""Fits that were done together: where a machine asks for its own before it trains.

A search opens a `Desk` for the time it runs. First it lets machines be fitted as usual up to the
point where the core would train them (`Collecting`); so it knows what is to be trained, with all
checks made and all parameters resolved. The core trains everything at once, and when scikit-learn
then fits the same machines one by one, they find their results at the desk.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer._data import RowsLike

__all__ = ["Collected", "Desk", "FitLike", "Request", "desk", "open_desk", "recalled"]


class FitLike(Protocol):
    """What the core found, as `_core.Fit` has it."""

    @property
    def support(self) -> NDArray[np.int32]: ...
    @property
    def n_support(self) -> NDArray[np.int32]: ...
    @property
    def dual_coef(self) -> NDArray[np.float64]: ...
    @property
    def intercept(self) -> NDArray[np.float64]: ...
    @property
    def reports(self) -> list[_core.Report]: ...
    @property
    def histories(self) -> list[NDArray[np.float64]]: ...
    @property
    def epsilon(self) -> float | None: ...
    @property
    def squared_radius(self) -> float | None: ...
    @property
    def diagonal(self) -> float | None: ...


@dataclass(frozen=True)
class Request:
    """What a machine is about to train."""

    machine: Any
    #: The rows with a weight, and their numbers.
    rows: RowsLike
    keep: NDArray[np.intp]
    kernel: Any
    #: A `Problem` of `mercer.svm._base`.
    problem: Any
    settings: _core.Settings


class Desk(Protocol):
    """Where a machine asks before it trains."""

    def serve(self, request: Request) -> FitLike | None:
        """Return the result if it is known, None if the machine is to train."""


class Collected(BaseException):
    """Ends a fit of which only the request was wanted."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        self.request = request


#: The desk of the search that runs in this context.
_DESK: ContextVar[Desk | None] = ContextVar("mercer_desk", default=None)


def desk() -> Desk | None:
    """Return the desk that is open, if any."""
    return _DESK.get()


@contextmanager
def open_desk(desk: Desk | None) -> Iterator[None]:
    """Open a desk for the machines that are fitted here."""
    token = _DESK.set(desk)
    try:
        yield
    finally:
        _DESK.reset(token)


@dataclass(frozen=True)
class Known:
    """Predictions for some rows: class numbers, or values."""

    rows: NDArray[Any]
    predictions: NDArray[Any]


def recalled(machine: Any, X: RowsLike) -> NDArray[Any] | None:
    """Return the predictions for these very rows, None if they are not known."""
    for known in vars(machine).get("_fit_known", ()):
        rows = known.rows
        same = isinstance(X, np.ndarray) and X.dtype == rows.dtype and X.shape == rows.shape
        if same and np.array_equal(X, rows):
            predictions: NDArray[Any] = known.predictions
            return predictions
    return None
