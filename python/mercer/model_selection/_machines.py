"""The machines of a fitted classifier one by one, as the theory of two classes sees them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from mercer import _core
from mercer._data import RowsLike, length, weighted_rows
from mercer._params import check_intercept
from mercer.kernels._kernel import Kernel
from mercer.svm._sources import Custom, source_of
from mercer.svm._svc import SVC
from mercer.svm._svdd import SVDD

__all__ = ["BinaryMachine", "TrainedRows", "dense", "machines_of"]

#: Kernel values computed at a time: 32 MB.
_VALUES = 2**22

#: A coefficient counts as at its upper bound within this share of it.
_AT_BOUND = 1e-9


@dataclass(frozen=True)
class TrainedRows:
    """The rows that a classifier was trained on, those without a weight aside."""

    model: SVC
    #: The rows as the model has checked them, their labels as numbers, and their weights.
    rows: RowsLike
    labels: NDArray[np.intp]
    weight: NDArray[np.float64]
    #: The number of each among all rows that were given.
    keep: NDArray[np.intp]

    @staticmethod
    def of(model: SVC, X: RowsLike, y: Any, sample_weight: ArrayLike | None) -> "TrainedRows":
        """Check that rows can be those of ``fit``."""
        source = source_of(model._fit_kernel)
        rows = source.check(model, X, reset=False)
        target = np.asarray(y)
        n_rows = length(rows)
        if target.shape != (n_rows,) or n_rows != model.shape_fit_[0]:
            raise ValueError(
                f"X and y must be those of fit, {model.shape_fit_[0]} rows, got {n_rows} rows and "
                f"y of shape {target.shape}"
            )
        keep, weight = weighted_rows(sample_weight, len(target))
        known = np.isin(target[keep], model.classes_).all()
        if not known or not np.isin(model.support_, keep).all():
            raise ValueError("X, y and sample_weight must be those of fit, got others")
        labels = np.searchsorted(model.classes_, target[keep])
        rows = rows if len(keep) == n_rows else source.rows(rows, keep)
        return TrainedRows(model, rows, labels, weight, keep)

    @property
    def cost(self) -> NDArray[np.float64]:
        """What an error on each row costs."""
        cost: NDArray[np.float64] = self.weight * self.model.class_weight_[self.labels]
        return cost * float(self.model.C)

    def values(
        self, at: NDArray[np.intp] | slice, columns: NDArray[np.intp] | slice
    ) -> NDArray[np.float64]:
        """Return the kernel values between some rows and others."""
        kernel, rows = self.model._fit_kernel, self.rows
        if isinstance(kernel, str):
            block: NDArray[np.float64] = np.asarray(rows[at][:, columns], dtype=np.float64)
            return block
        source = source_of(kernel)
        some, others = (
            source.rows(rows, np.arange(len(self.labels))[part]) for part in (at, columns)
        )
        if isinstance(source, Custom):
            return source.values(some, others)
        assert isinstance(kernel, Kernel)
        return kernel(some, others)

    def blocks(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Yield rows of the kernel matrix, some at a time."""
        n_rows = len(self.labels)
        step = max(1, _VALUES // n_rows)
        for start in range(0, n_rows, step):
            part = slice(start, min(start + step, n_rows))
            yield part, self.values(part, slice(None))

    @cached_property
    def geometry(self) -> "Geometry":
        """How far the rows are from each other in feature space."""
        return Geometry.of(self)


@dataclass(frozen=True)
class Geometry:
    """How far rows are from each other in feature space."""

    #: k(x, x) of each row.
    diagonal: NDArray[np.float64]
    #: The squared distance of each row to the farthest row of each class.
    farthest: NDArray[np.float64]
    #: The smallest kernel value.
    smallest: float
    #: The squared radius of the smallest sphere around all rows.
    squared_radius: float

    @staticmethod
    def of(rows: TrainedRows) -> "Geometry":
        model, n_rows = rows.model, len(rows.labels)
        kernel: Any = model._fit_kernel
        given = {name: getattr(model, name) for name in ("cache_size", "n_jobs")}
        sphere = SVDD(kernel=kernel, nu=1.0 / n_rows, tol=1e-6, **given).fit(rows.rows)
        centre = dense(sphere.dual_coef_)[0]
        classes = [np.flatnonzero(rows.labels == label) for label in range(len(model.classes_))]
        if isinstance(model._fit_kernel, str):
            diagonal = np.diagonal(rows.rows).astype(np.float64)
        else:
            source = source_of(model._fit_kernel)
            diagonal = np.concatenate(list(source.diagonal(rows.rows, None)))
        farthest, products = np.empty((n_rows, len(classes))), np.empty(n_rows)
        smallest = np.inf
        for part, block in rows.blocks():
            products[part] = block[:, sphere.support_] @ centre
            smallest = min(smallest, float(block.min()))
            for label, members in enumerate(classes):
                reach = (diagonal[members] - 2.0 * block[:, members]).max(axis=1)
                farthest[part, label] = diagonal[part] + reach
        norm = float(centre @ products[sphere.support_])
        # That of the solution is right to its tolerance; this one has all rows inside.
        squared_radius = float((diagonal - 2.0 * products + norm).max())
        return Geometry(diagonal, farthest, smallest, max(0.0, squared_radius))


@dataclass(frozen=True)
class BinaryMachine:
    """One machine of a classifier, on its own rows.

    With the squared hinge loss it is a machine without upper bounds in a feature space of its own,
    in which ``ridge`` is added to the squared length of each row.
    """

    trained: TrainedRows
    #: Its rows among those trained on, and their signs.
    at: NDArray[np.intp]
    signs: NDArray[np.float64]
    #: The signed coefficients, the values f(x), upper bounds of the multipliers, and ridges.
    beta: NDArray[np.float64]
    values: NDArray[np.float64]
    upper: NDArray[np.float64]
    ridge: NDArray[np.float64]
    gap: float

    @property
    def alpha(self) -> NDArray[np.float64]:
        """The multipliers."""
        return np.abs(self.beta)

    @property
    def is_support(self) -> NDArray[np.bool_]:
        """Which rows are support vectors."""
        support: NDArray[np.bool_] = self.beta != 0.0
        return support

    @property
    def is_bounded(self) -> NDArray[np.bool_]:
        """Which rows have their multipliers at the upper bounds."""
        near: NDArray[np.bool_] = self.alpha >= (1.0 - _AT_BOUND) * self.upper
        return self.is_support & near

    @property
    def reached(self) -> NDArray[np.float64]:
        """How far each row is on its side: 1 on the margin, less inside."""
        reached: NDArray[np.float64] = self.signs * self.values + self.ridge * self.alpha
        return reached

    @property
    def slack(self) -> NDArray[np.float64]:
        """How far each row is inside the margin; 0 for the squared hinge, see `ridge`."""
        return np.where(self.is_support, np.maximum(0.0, 1.0 - self.reached), 0.0)

    @property
    def opposite(self) -> NDArray[np.float64]:
        """The squared distance of each row to the farthest row of the other side."""
        geometry, labels = self.trained.geometry, self.trained.labels[self.at]
        found = np.empty(len(self.at))
        for sign in (-1.0, 1.0):
            others = np.unique(labels[self.signs != sign])
            mine = self.signs == sign
            found[mine] = geometry.farthest[self.at[mine]][:, others].max(axis=1)
        return found

    def spans(self, free: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the squared spans of some support vectors, in terms of all of these."""
        trained, model = self.trained, self.trained.model
        source, settings = source_of(model._fit_kernel), model._settings(None)
        given = source.training(source.rows(trained.rows, self.at[free]), settings, 2)
        upper, positive = self.upper[free], self.signs[free] > 0.0
        bounds = [np.where(positive, 0.0, -upper), np.where(positive, upper, 0.0)]
        vectors = [self.beta[free], *bounds, self.ridge[free]]
        intercept = check_intercept(model.fit_intercept)
        return _core.spans(given.kernel, given.samples, vectors, intercept, settings)


def machines_of(trained: TrainedRows) -> Iterator[BinaryMachine]:
    """Yield the machines of a classifier, in the order of `intercept_`."""
    model, n_classes = trained.model, len(trained.model.classes_)
    if model._fit_multiclass not in ("ovo", "ovr", "dag"):
        raise ValueError(
            f"model must be one of multiclass 'ovo', 'ovr' or 'dag', got {model.multiclass!r}"
        )
    coefficients = dense(model._rows_of_coefficients())
    places = np.searchsorted(trained.keep, model.support_)
    if isinstance(model._fit_kernel, str):  # of whose matrix rows may be missing
        values = trained.values(slice(None), places) @ coefficients.T + model.intercept_
    else:
        values = model._decide(trained.rows, lambda values: values)
    cost = trained.cost
    squared = model.loss == "squared_hinge"
    sides: list[tuple[int, ...]] = list(combinations(range(n_classes), 2))
    if n_classes > 2 and model._fit_multiclass == "ovr":
        sides = [(label, *np.delete(range(n_classes), label)) for label in range(n_classes)]
    for number, (first, *others) in enumerate(sides):
        at = np.flatnonzero(np.isin(trained.labels, [first, *others]))
        # The machine of two classes is positive for the second, others for the first.
        positive = 1 if n_classes == 2 else first
        beta = np.zeros(len(cost))
        beta[places] = coefficients[number]
        yield BinaryMachine(
            trained=trained,
            at=at,
            signs=np.where(trained.labels[at] == positive, 1.0, -1.0),
            beta=beta[at],
            values=values[at, number],
            upper=np.full(len(at), np.inf) if squared else cost[at],
            ridge=0.5 / cost[at] if squared else np.zeros(len(at)),
            gap=max(0.0, model.report_[number].gap),
        )


def dense(matrix: Any) -> NDArray[np.float64]:
    """Return a matrix as an array."""
    array: NDArray[np.float64] = matrix.toarray() if sp.issparse(matrix) else matrix
    return array
