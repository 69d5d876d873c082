"""Dask collections as partitions that are checked and described on the workers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from distributed import Client, Future
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from mercer._data import RowsLike, length, take_rows, weighted_rows
from mercer._params import naming
from mercer.dask._machines import Rows
from mercer.dask._rows import diagonal, stacked
from mercer.dask._tasks import Part
from mercer.kernels._gamma import Gammas
from mercer.kernels._kernel import Kernel

__all__ = ["Described", "Partitions", "is_collection"]


def is_collection(X: Any) -> bool:
    """Tell whether `X` is a dask array or data frame."""
    return bool(dask.is_dask_collection(X)) and hasattr(X, "to_delayed")


@dataclass(frozen=True)
class _Checked:
    """The rows of a partition that have a weight, in the form machines take."""

    X: RowsLike
    target: NDArray[Any] | None
    weight: NDArray[np.float64]
    #: Their places in the partition, and how many rows it has.
    keep: NDArray[np.intp]
    n_rows: int
    #: `n_features_in_` and the like.
    noted: Mapping[str, Any]


@dataclass(frozen=True)
class _Description:
    """What the client has to know of a partition."""

    n_rows: int
    kept: int
    noted: Mapping[str, Any]
    form: tuple[bool, Any]
    weight: float
    #: Labels, and the rows and weight of each; None unless there are classes.
    classes: tuple[NDArray[Any], NDArray[np.intp], NDArray[np.float64]] | None
    n_targets: int
    #: Number of values by weight, their mean and sum of squared deviations.
    moments: tuple[float, float, float] | None


def _check(estimator: Any, X: Any, y: Any, weight: Any) -> _Checked | None:
    """Check a partition as the local estimator would."""
    n_rows = length(X) or 0
    if n_rows == 0:
        return None
    if hasattr(X, "iloc") is False and isinstance(X, np.ndarray):
        X = np.ascontiguousarray(X)
    rows, target = estimator._check_partition(X, y)
    with naming("sample_weight"):
        weights = np.ones(n_rows) if weight is None else np.asarray(weight, dtype=np.float64)
    if not (weights > 0.0).any() and np.isfinite(weights).all() and weights.shape == (n_rows,):
        return None
    keep, kept = weighted_rows(weights, n_rows)
    if len(keep) < n_rows:
        rows = take_rows(rows, keep)
        target = None if target is None else target[keep]
    names = ("n_features_in_", "feature_names_in_")
    noted = {name: vars(estimator)[name] for name in names if name in vars(estimator)}
    return _Checked(rows, target, kept, keep, n_rows, noted)


def _describe(checked: _Checked | None, n_rows: int, kind: str, spread: bool) -> Any:
    """Return what the client has to know."""
    if checked is None:
        return n_rows
    X, target, weight = checked.X, checked.target, checked.weight
    classes = None
    if kind == "classes":
        assert target is not None
        if target.dtype.kind == "f":
            with naming("y"):
                check_classification_targets(target)
        labels, place = np.unique(target, return_inverse=True)
        weights = np.bincount(place, weights=weight).astype(np.float64)
        classes = labels, np.bincount(place), weights
    form = sp.issparse(X), X.dtype if hasattr(X, "dtype") else None
    return _Description(
        checked.n_rows,
        len(weight),
        checked.noted,
        form,
        float(weight.sum()),
        classes,
        target.shape[1] if target is not None and target.ndim > 1 else 1,
        _moments(X, weight) if spread else None,
    )


def _moments(X: Any, weight: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the number of values of `X` by weight, their mean and their squared deviations."""
    size = float(weight.sum()) * X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
        mean = float(weight @ sums) / size
        if sp.issparse(X):
            by_value = np.repeat(weight, np.diff(X.indptr))
            stored = np.square(X.data.astype(np.float64) - mean)
            total = float(by_value @ stored) + (size - float(by_value.sum())) * mean**2
        else:
            deviations = np.subtract(X, mean, dtype=np.float64)
            total = float(weight @ np.einsum("ij,ij->i", deviations, deviations))
    return size, mean, total


def _count(X: Any) -> int:
    return length(X) or 0


def _part(
    checked: _Checked, offset: int, classes: Any, form: tuple[bool, Any], kernel: Any
) -> Part:
    """Return a partition as rounds need it; `kernel` is None if nothing asks for k(x, x)."""
    X, target = checked.X, checked.target
    if form[1] is not None and X.dtype != form[1]:
        X = X.astype(form[1])
    if classes is not None:
        assert target is not None
        target = np.searchsorted(classes, target)
    elif target is not None and target.ndim == 1:
        target = target[:, np.newaxis]
    own = np.empty(0) if kernel is None else diagonal(kernel, X)
    return Part(X, Rows(target, checked.weight), offset + checked.keep, own)


def _taken(checked: _Checked, rows: NDArray[np.intp]) -> RowsLike:
    return take_rows(checked.X, rows)


@dataclass(frozen=True)
class Described:
    """What is known of all rows together."""

    n_rows: int
    noted: Mapping[str, Any]
    weight: float
    #: Labels in order, and the rows and weight of each; None unless there are classes.
    classes: NDArray[Any] | None
    class_counts: NDArray[np.int64]
    class_weights: NDArray[np.float64]
    n_targets: int


class Partitions:
    """The rows of a fit, checked on the workers that have them."""

    def __init__(self, client: Client, data: Sequence[Any], estimator: Any, kind: str) -> None:
        self._client = client
        self._kernel = estimator._given_kernel()
        X, y, weight = data
        blocks = list(zip(*_aligned(X, y, weight), strict=True))
        wanted = _Asked()
        if isinstance(self._kernel, Kernel):
            self._kernel._with_numbers(wanted)
        self._wanted = wanted
        check = dask.delayed(_check, pure=False)
        checked = [check(estimator, *block) for block in blocks]
        counts = [dask.delayed(_count)(block[0]) for block in blocks]
        self._checked: list[Future] = client.compute(checked)
        described = [
            client.submit(_describe, each, count, kind, "scale" in wanted.rules, pure=False)
            for each, count in zip(self._checked, client.compute(counts), strict=True)
        ]
        self._descriptions = client.gather(described)
        self.whole = self._merged()

    def _merged(self) -> Described:
        known = [each for each in self._descriptions if isinstance(each, _Description)]
        if not known:
            raise ValueError("Found array with 0 sample(s): X must have rows of positive weight")
        for name in ("n_features_in_", "feature_names_in_"):
            found: list[Any] = [each.noted.get(name) for each in known]
            if any(not np.array_equal(found[0], other) for other in found):
                raise ValueError(f"all partitions of X must have the same {name}, got {found}")
        sparse = {each.form[0] for each in known}
        if len(sparse) > 1:
            raise ValueError("all partitions of X must be sparse, or none")
        classes, counts, weights = None, np.zeros(0, np.int64), np.zeros(0)
        if known[0].classes is not None:
            tables = [each.classes for each in known if each.classes is not None]
            classes = np.unique(np.concatenate([table[0] for table in tables]))
            counts, weights = np.zeros(len(classes), np.int64), np.zeros(len(classes))
            for labels, rows, weight in tables:
                place = np.searchsorted(classes, labels)
                counts[place] += rows
                weights[place] += weight
        return Described(
            sum(each if isinstance(each, int) else each.n_rows for each in self._descriptions),
            known[0].noted,
            sum(each.weight for each in known),
            classes,
            counts,
            weights,
            known[0].n_targets,
        )

    def kernel(self) -> Any:
        """Return the kernel, its parameters being numbers."""
        if not isinstance(self._kernel, Kernel) or not self._wanted.rules:
            return self._kernel
        known = [each for each in self._descriptions if isinstance(each, _Description)]
        rows = np.empty((1, self.whole.noted.get("n_features_in_", 1)))
        if "median" in self._wanted.rules:
            rows = self._sample(-(-sum(each.kept for each in known) // _MEDIAN_ROWS))
        moments = [each.moments for each in known if each.moments is not None]
        return self._kernel._with_numbers(_Merged(rows, moments))

    def _sample(self, step: int) -> RowsLike:
        """Return every so many-th row with a weight."""
        blocks, before = [], 0
        for checked, each in zip(self._checked, self._descriptions, strict=True):
            if isinstance(each, _Description):
                rows = np.arange(-before % step, each.kept, step)
                blocks.append(self._client.submit(_taken, checked, rows, pure=False))
                before += each.kept
        return stacked(self._client.gather(blocks))

    def parts(self, kernel: Any, needs_diagonal: bool) -> list[Future]:
        """Return the partitions that have rows with a weight, and give up all else."""
        known = [each for each in self._descriptions if isinstance(each, _Description)]
        types = [each.form[1] for each in known]
        numeric = all(dtype is not None and dtype.kind == "f" for dtype in types)
        form = known[0].form[0], np.result_type(*types) if numeric else None
        parts, offset = [], 0
        for checked, each in zip(self._checked, self._descriptions, strict=True):
            if isinstance(each, int):
                offset += each
                continue
            own = kernel if needs_diagonal else None
            arguments = checked, offset, self.whole.classes, form, own
            parts.append(self._client.submit(_part, *arguments, pure=False))
            offset += each.n_rows
        self._checked = []
        return parts


#: Rows whose distances tell their median, as in `mercer.kernels`.
_MEDIAN_ROWS = 500


class _Asked(Gammas):
    """Notes which rules a kernel asks for."""

    def __init__(self) -> None:
        super().__init__(None, None)
        self.rules: set[str] = set()

    def number(self, gamma: Any) -> float:
        if isinstance(gamma, str):
            self.rules.add(gamma)
            return 1.0
        return super().number(gamma)


class _Merged(Gammas):
    """The numbers that rules stand for, from what the partitions know."""

    def __init__(self, rows: RowsLike, moments: Sequence[tuple[float, float, float]]) -> None:
        super().__init__(rows, None)
        self._moments = moments

    def _variance(self) -> float:
        sizes, means, totals = np.array(self._moments).T
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(sizes @ means) / sizes.sum()
            return float(totals.sum() + sizes @ np.square(means - mean)) / float(sizes.sum())


def _aligned(X: Any, y: Any, weight: Any) -> list[list[Any]]:
    """Return the partitions of rows, targets and weights as lists of the same length."""
    if not is_collection(X):
        raise TypeError(f"X must be a dask array or data frame, got {type(X).__name__}")
    if isinstance(X, da.Array) and X.ndim == 2 and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    rows = _delayed(X)
    aligned = [rows]
    for name, other in (("y", y), ("sample_weight", weight)):
        if other is None:
            aligned.append([None] * len(rows))
            continue
        if not is_collection(other):
            raise TypeError(f"{name} must be a dask collection like X, got {type(other).__name__}")
        if isinstance(other, da.Array):
            other = _like(X, other, name)
        parts = _delayed(other)
        if len(parts) != len(rows):
            raise ValueError(
                f"{name} must be divided like X, which has {len(rows)} partitions, got {len(parts)}"
            )
        aligned.append(parts)
    return aligned


def _like(X: Any, other: Any, name: str) -> Any:
    """Return an array with chunks like those of `X`, as far as these are known."""
    if other.ndim == 2 and len(other.chunks[1]) > 1:
        other = other.rechunk({1: -1})
    known = isinstance(X, da.Array) and not np.isnan([*X.chunks[0], *other.chunks[0]]).any()
    if known and X.chunks[0] != other.chunks[0]:
        if X.shape[0] != other.shape[0]:
            raise ValueError(
                f"{name} must have one value for each row of X, got {other.shape[0]} for "
                f"{X.shape[0]} rows"
            )
        other = other.rechunk({0: X.chunks[0]})
    return other


def _delayed(collection: Any) -> list[Any]:
    """Return the partitions of a collection, one after another."""
    return list(np.ravel(collection.to_delayed()))
