"""Going on: what a fit with ``warm_start`` leaves behind, and what the next one makes of it."""

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from mercer import _core
from mercer._data import RowsLike, length
from mercer._params import naming
from mercer.kernels._kernel import Kernel
from mercer.svm._shared import FitLike
from mercer.svm._sources import source_of
from mercer.svm._state import freeze

__all__ = ["GoingOn", "Kept"]

_Self = TypeVar("_Self", bound="GoingOn")


@dataclass(frozen=True)
class Kept:
    """What a fit has left behind.

    Coefficients belong to rows, which go by their numbers. Products with the kernel matrix are of
    use as long as kernel and rows are the same; where that is not known, coefficients alone are.
    """

    #: All rows, as they were checked; copies, unless only the user knows what they are.
    rows: RowsLike
    kernel: Any
    #: What is trained, as far as the past of something else is of no use.
    key: tuple[Any, ...]
    past: _core.Past
    y: Any = None
    sample_weight: NDArray[np.float64] | None = None

    def past_for(self, rows: RowsLike, kernel: Any, key: tuple[Any, ...]) -> _core.Past:
        """Return what a fit on these rows may start from: nothing, unless they begin alike."""
        if key != self.key or not _begin_alike(self.rows, rows, compare=_is_numeric(kernel)):
            return _core.Past()
        same = _is_numeric(kernel) and _is_numeric(self.kernel) and kernel == self.kernel
        return self.past if same else self.past.doubted()

    @staticmethod
    def copy_of(rows: RowsLike, kernel: Any) -> RowsLike:
        """Return rows that no one else can change, where the core computes with their values."""
        return rows.copy() if _is_numeric(kernel) else rows


def _is_numeric(kernel: Any) -> bool:
    """Tell whether the core computes the values of a kernel from numbers."""
    return isinstance(kernel, Kernel) and not kernel._of_sequences


def _begin_alike(before: RowsLike, rows: RowsLike, *, compare: bool) -> bool:
    """Tell whether the rows are those before, and perhaps more."""
    n_before = length(before) or 0
    if (length(rows) or 0) < n_before:
        return False
    if not compare:
        return True
    if sp.issparse(before) != sp.issparse(rows) or before.shape[1:] != rows.shape[1:]:
        return False
    if not sp.issparse(rows):
        return np.array_equal(before, rows[:n_before])
    end = rows.indptr[n_before]
    return (
        np.array_equal(before.indptr, rows.indptr[: n_before + 1])
        and np.array_equal(before.indices, rows.indices[:end])
        and np.array_equal(before.data, rows.data[:end])
    )


def _joined_targets(before: Any, y: Any) -> Any:
    """Return the targets of old and new rows."""
    if before is None:
        return None
    if y is None:
        raise ValueError("y must be given: one target for each new row, got None")
    with naming("y"):
        more = np.asarray(y)
    if more.ndim != before.ndim or more.shape[1:] != before.shape[1:]:
        raise ValueError(
            f"y must be like that of the fit, of shape (n, ...) = {before.shape}, got "
            f"shape {more.shape}"
        )
    if (more.dtype.kind in "US") != (before.dtype.kind in "US"):
        raise ValueError(
            f"y must be of the kind of the labels before, {before.dtype}, got {more.dtype}"
        )
    return np.concatenate([before, more])


def _joined_weights(
    before: NDArray[np.float64] | None, weight: ArrayLike | None, n_before: int, n_new: int
) -> NDArray[np.float64] | None:
    """Return the weights of old and new rows, None if none were given for either."""
    if before is None and weight is None:
        return None
    with naming("sample_weight"):
        more = np.ones(n_new) if weight is None else np.asarray(weight, dtype=np.float64)
    if more.shape != (n_new,):
        raise ValueError(
            f"sample_weight must have one entry for each of the {n_new} new rows, got shape "
            f"{more.shape}"
        )
    return np.concatenate([np.ones(n_before) if before is None else before, more])


def _row_numbers(rows: Any, n_rows: int) -> NDArray[np.int64]:
    """Return the numbers of rows that are to be removed, each once, else raise."""
    with naming("rows"):
        numbers = np.atleast_1d(np.asarray(rows))
    if numbers.dtype == bool and numbers.shape == (n_rows,):
        numbers = np.flatnonzero(numbers)
    if numbers.ndim != 1 or (numbers.dtype.kind not in "iu" and numbers.size):
        raise ValueError(
            f"rows must be numbers of rows, from 0 to {n_rows - 1}, or a mask of {n_rows} bools, "
            f"got {rows!r}"
        )
    numbers = np.unique(numbers).astype(np.int64)
    if len(numbers) and not 0 <= numbers[0] <= numbers[-1] < n_rows:
        raise ValueError(
            f"rows must be numbers of rows, from 0 to {n_rows - 1}, got values from {numbers[0]} "
            f"to {numbers[-1]}"
        )
    if len(numbers) == n_rows:
        raise ValueError(f"rows must leave at least one row, got all {n_rows}")
    return numbers


class GoingOn:
    """What a machine needs to go on from its last fit: a base of `BaseKernelMachine`."""

    # Machines with parameters of their own may have neither.
    warm_start: Any = False
    callback: Any = None

    support_: NDArray[np.int32]
    shape_fit_: tuple[int | None, ...]
    n_features_in_: int
    _fit_kernel: Any

    # What the next fit may start from, if it was asked to be kept.
    _fit_kept: Kept

    # What a signal or a callback has raised while the core trained.
    _raised: BaseException | None

    def _refit(self: _Self, *data: Any, gone: Any = None, names: Any = None) -> _Self:
        raise NotImplementedError

    def _past_for(self, rows: RowsLike, kernel: Any) -> _core.Past:
        """Return what a fit on these rows may start from, nothing if there is no such thing."""
        before: Kept | None = vars(self).get("_before")
        return _core.Past() if before is None else before.past_for(rows, kernel, self._past_key())

    def _past_key(self) -> tuple[Any, ...]:
        """Return what is trained, as far as the past of something else is of no use."""
        return (type(self).__name__,)

    def _note_end(self, fit: FitLike, X: RowsLike, kernel: Any) -> None:
        """Take note of what has ended a fit, and of what the next one may start from."""
        raised = getattr(fit, "raised", None)
        if raised is not None and not (self.warm_start or self.callback is not None):
            raise raised
        self._raised = raised
        if self.warm_start:
            past = getattr(fit, "past", None) or _core.Past()
            self._fit_kept = Kept(Kept.copy_of(X, kernel), kernel, self._past_key(), past)

    def _keep(self, y: Any, sample_weight: ArrayLike | None) -> None:
        """Keep targets and weights with what the next fit may start from."""
        y = None if y is None else np.array(y)
        if y is not None and y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        weight = None if sample_weight is None else np.array(sample_weight, dtype=np.float64)
        self._fit_kept = replace(self._fit_kept, y=y, sample_weight=weight)

    def _forget(self, gone: NDArray[np.int64]) -> None:
        """Forget rows that the fit has left out, and number the others anew."""
        kept, n_rows = self._fit_kept, length(self._fit_kept.rows) or 0
        left = np.setdiff1d(np.arange(n_rows), gone)
        number = np.full(n_rows, -1, dtype=np.int64)
        number[left] = np.arange(len(left))
        rows = source_of(self._fit_kernel).rows(kept.rows, left)
        self._fit_kept = replace(
            kept,
            rows=rows,
            past=kept.past.renumbered(number),
            y=None if kept.y is None else kept.y[left],
            sample_weight=None if kept.sample_weight is None else kept.sample_weight[left],
        )
        self.support_ = freeze(number[self.support_].astype(np.int32))
        shape: tuple[Any, ...] = rows.shape if hasattr(rows, "shape") else (length(rows),)
        self.shape_fit_ = shape
        if "n_features_in_" in vars(self) and len(shape) > 1:
            self.n_features_in_ = shape[1]  # fewer, of a matrix that is given

    def _kept(self, method: str) -> Kept:
        """Return what the last fit has kept, else raise."""
        check_is_fitted(self)
        kept: Kept | None = vars(self).get("_fit_kept")
        if kept is None or not self.warm_start:
            raise ValueError(
                f"{method} needs the rows of the last fit: set warm_start=True before that"
            )
        return kept

    def add(
        self: _Self, X: RowsLike, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> _Self:
        """Learn more rows, at the cost of what they change.

        The model is that of a fit on all rows, old and new, to `tol`. The new ones are counted on
        from the last one before. Needs a fit with ``warm_start=True``, which keeps its rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_new, n_features)
            The new rows. If the kernel is 'precomputed': their kernel values with all rows, old and
            new, of shape (n_new, n_samples + n_new).
        y : array-like of shape (n_new,) or (n_new, n_targets), default=None
            Their labels or values; not used by machines that need none.
        sample_weight : array-like of shape (n_new,), default=None
            Their weights, 1 if None.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        kept = self._kept("add")
        n_before = length(kept.rows) or 0
        rows = source_of(self._fit_kernel).join(self, kept.rows, X)
        targets = _joined_targets(kept.y, y)
        n_new = (length(rows) or 0) - n_before
        weight = _joined_weights(kept.sample_weight, sample_weight, n_before, n_new)
        return self._refit(rows, targets, weight, names=vars(self).get("feature_names_in_"))

    def remove(self: _Self, rows: ArrayLike) -> _Self:
        """Unlearn rows, at the cost of what they change.

        The model is that of a fit without them, to `tol`: nothing is left of them. The other rows
        move up, as if those had never been there. Needs a fit with ``warm_start=True``, which keeps
        its rows.

        Parameters
        ----------
        rows : array-like of int
            The numbers of the rows, from 0 on, as they were given to ``fit`` and ``add``; or a
            mask.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        kept = self._kept("remove")
        n_rows = length(kept.rows) or 0
        gone = _row_numbers(rows, n_rows)
        self._check_without(kept, gone)
        weight = np.ones(n_rows) if kept.sample_weight is None else kept.sample_weight.copy()
        weight[gone] = 0.0
        names = vars(self).get("feature_names_in_")
        self._refit(kept.rows, kept.y, weight, gone=gone, names=names)
        if kept.sample_weight is None:
            self._fit_kept = replace(self._fit_kept, sample_weight=None)
        return self

    def _check_without(self, kept: Kept, gone: NDArray[np.int64]) -> None:
        """Raise unless a machine can be trained without some rows."""
