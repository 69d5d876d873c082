"""Selective sampling: a classifier that asks for the labels it can learn most from."""

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from mercer._data import RowsLike, dense, length
from mercer._estimator import Estimator
from mercer._params import check_choice, check_integer, check_non_negative
from mercer.svm import SVC
from mercer.svm._tree import PER_CLASS, is_tree

__all__ = ["SelectiveSampler"]

_Self = TypeVar("_Self", bound="SelectiveSampler")


class SelectiveSampler(ClassifierMixin, MetaEstimatorMixin, Estimator):
    """A classifier that is taught row by row, and says which label it wants to know next.

    Only support vectors matter to a machine, and the rows nearest to its plane are the likeliest to
    become some: whatever their label, a row inside the margin band changes the machine, while one
    outside does only if it was classified wrong. So labels are asked for those rows of a pool that
    are nearest to the present plane [1]_. This works best where few rows are support vectors.

    Each `teach` trains the machine on all rows taught so far, starting from the last solution where
    there are two classes.

    Parameters
    ----------
    estimator : SVC or None, default=None
        The machine to train, a default `SVC` if None. It is cloned.
    stop : {'plateau', 'band'}, default='plateau'
        When `stop_` says that labels are not worth asking for any more. 'plateau', for data without
        noise: the dual objective, which only support vectors change, has grown by no more than
        `tol` times itself in the last `patience` calls of `teach`. 'band', for noisy data: no row
        of the pool of the last `query` was inside the margin band, and the error on `validation`,
        if given, has not fallen in the last `patience` calls of `teach`.
    tol : float, default=1e-3
        The growth that counts as none, not negative.
    patience : int, default=10
        How many calls of `teach` have to agree, at least 1.
    validation : tuple of (X, y) or None, default=None
        Rows and labels that are never taught, to measure the error on after each `teach`.

    Attributes
    ----------
    estimator_ : SVC
        The trained machine.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_labels_ : int
        How many rows were taught.
    stop_ : bool
        Whether labels are not worth asking for any more.
    history_ : dict of str to list
        An entry for each `teach`: 'labels', the number of rows taught; 'objective', the dual
        objective, added up over machines; 'support_vectors', their number; 'iterations', of the
        solver; and 'error', on the validation rows, if there are some.

    References
    ----------
    .. [1] C. Campbell, N. Cristianini, A. Smola, "Query learning with large margin classifiers",
       ICML 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.active import SelectiveSampler
    >>> X = np.linspace(-1.0, 1.0, 201)[:, np.newaxis]
    >>> y = X[:, 0] > 0.3
    >>> sampler = SelectiveSampler(SVC(kernel="linear", C=1e4)).teach(X[[0, 200]], y[[0, 200]])
    >>> for _ in range(10):
    ...     wanted = sampler.query(X, 1)
    ...     sampler = sampler.teach(X[wanted], y[wanted])
    >>> float((sampler.predict(X) == y).mean()), sampler.n_labels_
    (1.0, 12)
    """

    def __init__(
        self,
        estimator: SVC | None = None,
        *,
        stop: Literal["plateau", "band"] = "plateau",
        tol: float = 1e-3,
        patience: int = 10,
        validation: tuple[RowsLike, ArrayLike] | None = None,
    ) -> None:
        self.estimator = estimator
        self.stop = stop
        self.tol = tol
        self.patience = patience
        self.validation = validation

    def fit(self: _Self, X: RowsLike, y: ArrayLike) -> _Self:
        """Forget everything, and teach these rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows, of at least two classes.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : SelectiveSampler
            The sampler.
        """
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        return self.teach(X, y)

    def teach(self: _Self, X: RowsLike, y: ArrayLike) -> _Self:
        """Learn the labels of more rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows. The first ones must be of at least two classes.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : SelectiveSampler
            The sampler.
        """
        check_choice("stop", self.stop, ("plateau", "band"))
        check_non_negative("tol", self.tol)
        check_integer("patience", self.patience, "a positive integer", low=1)
        taught, labels = self._with(X, np.asarray(y))
        machine = clone(SVC() if self.estimator is None else self.estimator)
        if not isinstance(machine, SVC):
            raise TypeError(f"estimator must be an SVC, got {type(machine).__name__}")
        machine._refit(taught, labels, None, self._start(machine, labels))
        self._taught, self._labels = taught, labels
        self.estimator_ = machine
        self.classes_ = machine.classes_
        self.n_features_in_ = machine.n_features_in_
        self.n_labels_ = len(labels)
        self._record()
        self.stop_ = self._settled()
        return self

    def _with(self, X: RowsLike, y: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
        """Return all rows and labels, old and new."""
        new: Any = X if sp.issparse(X) else np.asarray(X)
        if y.ndim != 1 or len(y) != length(new):
            raise ValueError(
                f"y must have one label for each row of X, got shape {y.shape} for {length(new)} "
                "rows"
            )
        if "estimator_" not in vars(self):
            return new, y
        old = self._taught
        if new.ndim != 2 or new.shape[1] != old.shape[1]:
            raise ValueError(f"X must have {old.shape[1]} columns, got shape {new.shape}")
        if sp.issparse(old) != sp.issparse(new):
            raise TypeError("X must be sparse if the rows taught before are, and only then")
        stack = sp.vstack if sp.issparse(new) else np.concatenate
        return stack([old, new]), np.concatenate([self._labels, y])

    def _start(self, machine: SVC, labels: NDArray[Any]) -> NDArray[np.float64] | None:
        """Return the last coefficients, if they are a feasible point of the new problem."""
        if "estimator_" not in vars(self) or machine.class_weight is not None:
            return None
        last = self.estimator_
        same = np.array_equal(np.unique(labels), last.classes_)
        if not same or len(last.classes_) != 2 or last.report_.status != "converged":
            return None
        start = np.zeros(len(labels))
        start[last.support_] = dense(last.dual_coef_)[0]
        return start

    def _record(self) -> None:
        machine = self.estimator_
        entry: dict[str, float] = {
            "labels": self.n_labels_,
            # The solver minimises minus the dual objective.
            "objective": -sum(report.objective for report in machine.report_),
            "support_vectors": len(machine.support_),
            "iterations": machine.report_.iterations,
        }
        if self.validation is not None:
            X, y = self.validation
            entry["error"] = float((machine.predict(X) != np.asarray(y)).mean())
        if "history_" not in vars(self):
            self.history_: dict[str, list[float]] = {name: [] for name in entry}
        for name, value in entry.items():
            self.history_[name].append(value)

    def _settled(self) -> bool:
        """Tell whether labels are not worth asking for any more."""
        if self.stop == "band" and getattr(self, "_inside", 1) > 0:
            return False
        if self.stop == "band" and "error" not in self.history_:
            return True
        if len(self.history_["labels"]) <= self.patience:
            return False
        if self.stop == "plateau":
            before, now = (self.history_["objective"][at] for at in (-1 - self.patience, -1))
            return bool(abs(now - before) <= self.tol * abs(now))
        errors: Sequence[float] = self.history_["error"]
        return min(errors[-self.patience :]) >= min(errors[: -self.patience])

    def query(self, X_pool: RowsLike, n: int = 1) -> NDArray[np.intp]:
        """Choose the rows whose labels are worth most.

        Parameters
        ----------
        X_pool : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to choose from. Rows that were taught already may be among them: they are not
            chosen.
        n : int, default=1
            How many.

        Returns
        -------
        ndarray of shape (min(n, n_left),)
            The numbers of the rows nearest to the plane, the nearest first. With several classes,
            those with the smallest difference between their two best classes.
        """
        check_is_fitted(self, "estimator_")
        n = check_integer("n", n, "a positive integer", low=1)
        distance = self._distance(X_pool)
        pool: Any = X_pool if sp.issparse(X_pool) else np.asarray(X_pool)
        left = np.flatnonzero(~_contained(pool, self._taught))
        self._inside = int((distance[left] < 1.0).sum())
        self.stop_ = self._settled()
        order = np.argsort(distance[left], kind="stable")
        return left[order[:n]]

    def _distance(self, X: RowsLike) -> NDArray[np.float64]:
        """Return how far rows are from the plane, in margins."""
        values = self.estimator_.decision_function(X)
        if values.ndim == 1:
            return np.abs(values)
        strategy = self.estimator_._fit_multiclass
        if is_tree(strategy) or strategy not in PER_CLASS:
            # Votes come in steps; what is clear of a pair is the value of its machine.
            machines = self.estimator_._decide(X, lambda values: values)
            nearest: NDArray[np.float64] = np.abs(machines).min(axis=1)
            return nearest
        best = np.sort(values, axis=1)
        difference: NDArray[np.float64] = best[:, -1] - best[:, -2]
        return difference

    def predict(self, X: RowsLike) -> NDArray[Any]:
        """Find the class of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X)

    def decision_function(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute how clearly each row belongs to each class; see `SVC.decision_function`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray
            The values.
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.decision_function(X)


def _contained(pool: Any, taught: Any) -> NDArray[np.bool_]:
    """Tell which rows of a pool are among those taught."""
    known = set(map(hash, _keys(taught)))
    return np.array([hash(key) in known for key in _keys(pool)], dtype=bool)


def _keys(rows: Any) -> list[bytes]:
    """Return the bytes of each row, the same for equal rows."""
    if sp.issparse(rows):
        rows = sp.csr_array(rows, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        bounds = list(zip(rows.indptr[:-1], rows.indptr[1:], strict=True))
        indices, data = rows.indices.astype(np.int64), rows.data.astype(np.float64)
        return [indices[a:b].tobytes() + data[a:b].tobytes() for a, b in bounds]
    values = np.asarray(rows, dtype=np.float64) + 0.0  # minus zero is zero
    return [row.tobytes() for row in values]
