"""What the classifiers share: labels, class weights, and classes from the values of machines."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mercer import _core
from mercer._base import BaseKernelMachine
from mercer._data import MatrixLike, RowsLike, joined, scaled, weighted_rows
from mercer._params import check_bool, check_choice, check_non_negative, check_real, naming

__all__ = ["BaseClassifier"]

_Self = TypeVar("_Self", bound="BaseClassifier")


class BaseClassifier(ClassifierMixin, BaseKernelMachine):
    """Base of the classifiers, which pose the problem of two classes."""

    class_weight: Any
    decision_function_shape: Any
    break_ties: Any
    random_state: Any
    multiclass: Any

    classes_: NDArray[Any]
    class_weight_: NDArray[np.float64]
    n_iter_: NDArray[np.int32]

    @abstractmethod
    def _problem(
        self,
        labels: NDArray[np.int64],
        weight: NDArray[np.float64],
        row_weight: NDArray[np.float64],
        multiclass: str,
    ) -> Callable[..., _core.Fit]:
        """Return the call of the core for rows of these labels 0, 1, ... and weights.

        `weight` is the weight of the class times `row_weight`; `multiclass` is 'ovo' or 'ovr'.
        """

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        check_bool("break_ties", self.break_ties)
        check_choice("multiclass", self.multiclass, ("ovo", "ovr", "dag"))
        with naming("random_state"):
            check_random_state(self.random_state)
        if isinstance(self.class_weight, str):
            check_choice("class_weight", self.class_weight, ("balanced",))
        elif not isinstance(self.class_weight, dict | None):
            raise TypeError(
                f"class_weight must be None, 'balanced' or a dict, got {self.class_weight!r}"
            )

    def fit(self: _Self, X: RowsLike, y: Any, sample_weight: ArrayLike | None = None) -> _Self:
        """Train on rows and their labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
                (n_samples, n_samples)
            The rows, or the kernel matrix if the kernel is 'precomputed', or any sequence that
            a callable kernel understands. float32 stays float32.
        y : array-like of shape (n_samples,)
            The labels, of any kind that can be sorted.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A weight of two is worth the row twice; rows of zero or negative
            weight are left out.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self._check_parameters()
        X, y = self._check_rows_and_target(X, y)
        with naming("y"):
            # Whole numbers and strings are labels; scikit-learn has only to say whether there are
            # suspiciously many, for which it looks at all of them several times.
            surely_labels = y.dtype.kind in "biuUS"
            if not surely_labels:
                check_classification_targets(y)
            classes = np.unique(y)
            if surely_labels and 2 * len(classes) > len(y):
                check_classification_targets(y)
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class in y"
            )
        keep, weight = weighted_rows(sample_weight, len(y))
        if len(keep) < len(y):
            y = y[keep]
            classes = np.unique(y)
        # Faster than return_inverse, which sorts.
        labels = np.searchsorted(classes, y)
        if len(classes) < 2:
            raise ValueError(
                "Invalid input - all samples with positive weights belong to the same class. "
                "Check sample_weight."
            )
        class_weight = self._weights_of(classes, labels, weight)
        # The machine of two classes is one and the same.
        multiclass = "ovo" if len(classes) == 2 else str(self.multiclass)
        problem = self._problem(
            labels.astype(np.int64),
            scaled(weight, class_weight[labels], "class_weight times sample_weight"),
            weight,
            "ovr" if multiclass == "ovr" else "ovo",
        )
        self._train(X, keep, weight, problem, sign=_sign_of_the_core(classes))
        self._fit_multiclass = multiclass
        self.classes_ = classes
        self.class_weight_ = class_weight
        iterations = [machine.iterations for machine in self.report_]
        self.n_iter_ = np.minimum(iterations, np.iinfo(np.int32).max).astype(np.int32)
        self._warn_unless_converged()
        return self

    def _weights_of(
        self, classes: NDArray[Any], labels: NDArray[np.intp], weight: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the weight of each class, from the labels 0, 1, ... of weighted rows."""
        factors: NDArray[np.float64]
        if self.class_weight == "balanced":
            factors = weight.sum() / (len(classes) * np.bincount(labels, weights=weight))
        else:
            with naming("class_weight"):
                factors = compute_class_weight(self.class_weight, classes=classes, y=classes)
        if not (np.isfinite(factors).all() and factors.min() > 0.0):
            raise ValueError(f"class_weight must be positive and finite, got {self.class_weight!r}")
        return factors

    def _machines(self) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        n_support, dual_coef, intercept = super()._machines()
        sign = _sign_of_the_core(self.classes_)
        return n_support, sign * dual_coef, sign * intercept

    def _rows_of_coefficients(self) -> MatrixLike:
        if len(self.classes_) == 2 or self._fit_multiclass == "ovr":
            return self.dual_coef_
        n_support, dual_coef, _ = self._machines()
        return _one_vs_one(dual_coef, n_support)

    def decision_function(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute how clearly each row belongs to the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
                (n_samples, n_samples_fit)
            The rows, or their kernel values with all training rows if the kernel is
            'precomputed'.

        Returns
        -------
        ndarray
            For two classes of shape (n_samples,), positive for ``classes_[1]``. For more, by the
            strategy `multiclass` of the fit:

            - 'ovr': of shape (n_samples, n_classes), the values of the machines, each positive
              for its own class and negative for the rest.
            - 'ovo': of shape (n_samples, n_classes), the votes v for each class, plus
              s / (3 (|s| + 1)) where s is the sum of the values for and against it.
            - 'dag': of shape (n_samples, n_classes), for each class the number 0, 1, ...,
              n_classes - 2 of the comparison that dropped it, and n_classes - 1 for the one that
              is left; plus c / (3 (|c| + 1)) where c is the value in favour of the class in that
              comparison, the last one for the class that is left.
            - 'ovo' and 'dag' with ``decision_function_shape='ovo'``: of shape
              (n_samples, n_classes * (n_classes - 1) / 2), the values of the machines (0, 1),
              (0, 2), ..., (1, 2), ..., positive for the first class of the pair.

            The largest of the values of shape (n_samples, n_classes) stands for the class that
            `predict` returns; with 'ovo' this is so for ties only if `break_ties` is set.
        """
        check_is_fitted(self)
        n_classes = len(self.classes_)
        if n_classes == 2:
            return self._decide(X, lambda values: -values[:, 0])
        if self._fit_multiclass == "ovr" or self.decision_function_shape == "ovo":
            return self._decide(X, lambda values: values)
        if self._fit_multiclass == "dag":
            return self._decide(X, lambda values: _rounds(values, n_classes))
        return self._decide(X, lambda values: _votes(values, n_classes))

    def predict(self, X: RowsLike) -> NDArray[Any]:
        """Find the class of each row, by the strategy `multiclass` of the fit.

        'ovo': the class with most votes. 'ovr': the class of the largest value. 'dag': the list of
        all classes is reduced by comparing the first and the last, of which the loser is dropped,
        until one is left.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
                (n_samples, n_samples_fit)
            The rows, or their kernel values with all training rows if the kernel is
            'precomputed'.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.
        """
        check_is_fitted(self)
        if self._breaks_ties():
            n_classes = len(self.classes_)
            winners = self._decide(X, lambda values: _votes(values, n_classes).argmax(axis=1))
        else:
            source, *arguments = self._prediction(X)
            winners = joined(source.classes(*arguments))
        labels: NDArray[Any] = self.classes_[winners]
        return labels

    def _breaks_ties(self) -> bool:
        """Return whether ties of votes are resolved by confidence; raise if that cannot be."""
        if self._fit_multiclass != "ovo" or not self.break_ties:
            return False
        if self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return len(self.classes_) > 2

    def reject(self, X: RowsLike, threshold: float = 0.0) -> NDArray[np.bool_]:
        """Tell which rows are too uncertain to be given a class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
                (n_samples, n_samples_fit)
            The rows, or their kernel values with all training rows if the kernel is
            'precomputed'.
        threshold : float, default=0.0
            How clear a class has to be, in values of the machines: 1 is the margin. Finite, and
            not negative except with 'ovr'.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            True where a row is rejected. By the strategy `multiclass` of the fit:

            - Two classes: if |f| < threshold, where f is the `decision_function`.
            - 'ovr': if no machine has a value above the threshold; with 0, the default, if no
              machine claims the row for its class.
            - 'ovo': if every one of the n_classes - 1 comparisons with the class that `predict`
              returns which that class won was won by less than the threshold: |value| <
              threshold. Comparisons that it lost, and those between other classes, do not count.
            - 'dag': if every comparison on the way that the class left at the end took part in,
              and so won, has |value| < threshold. Those that it was never put to do not count.

            Except with 'ovr', a threshold of 0 rejects nothing.
        """
        check_is_fitted(self)
        n_classes, multiclass = len(self.classes_), self._fit_multiclass
        if multiclass == "ovr":
            threshold = check_real("threshold", threshold, "a finite number")
            return self._decide(X, lambda values: values.max(axis=1) <= threshold)
        threshold = check_non_negative("threshold", threshold)
        if n_classes == 2:
            return self._decide(X, lambda values: np.abs(values[:, 0]) < threshold)
        if multiclass == "dag":
            return self._decide(
                X, lambda values: _clearest_on_the_way(values, n_classes) < threshold
            )
        breaks_ties = self._breaks_ties()

        def rejected(values: NDArray[np.float64]) -> NDArray[np.bool_]:
            if breaks_ties:
                winner = _votes(values, n_classes).argmax(axis=1)
            else:
                winner = _core.winners(values, n_classes, multiclass)
            return _clearest_win(values, winner, n_classes) < threshold

        return self._decide(X, rejected)


def _sign_of_the_core(classes: NDArray[Any]) -> float:
    """Return -1.0 if attributes and core differ in sign.

    With two classes positive values stand for the second, as everywhere in scikit-learn; the
    core's machine (i, j) is always positive for the first.
    """
    return -1.0 if len(classes) == 2 else 1.0


def _one_vs_one(
    dual_coef: NDArray[np.float64], n_support: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the coefficients of machine (i, j) in a row of its own, shape (n_machines, n_SV).

    In `dual_coef`, the support vectors of class i have their coefficients of machine (i, j) in
    row j - 1 if j > i, and in row j if j < i.
    """
    n_classes = len(n_support)
    ends = np.cumsum(n_support)
    of_class = [slice(end - count, end) for end, count in zip(ends, n_support, strict=True)]
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    rows = np.zeros((len(pairs), dual_coef.shape[1]))
    for row, (i, j) in zip(rows, pairs, strict=True):
        row[of_class[i]] = dual_coef[j - 1, of_class[i]]
        row[of_class[j]] = dual_coef[i, of_class[j]]
    return rows


def _votes(values: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Return votes plus confidences for each class from the values of all pairs.

    The sum s of the values for and against a class becomes s / (3 (|s| + 1)), which lies between
    -1/3 and 1/3 and so can only decide between classes with as many votes.
    """
    votes = np.zeros((len(values), n_classes))
    confidence = np.zeros((len(values), n_classes))
    pairs = ((i, j) for i in range(n_classes) for j in range(i + 1, n_classes))
    for value, (i, j) in zip(values.T, pairs, strict=True):
        confidence[:, i] += value
        confidence[:, j] -= value
        votes[:, i] += value >= 0.0
        votes[:, j] += value < 0.0
    return votes + confidence / (3.0 * (np.abs(confidence) + 1.0))


def _pair(first: NDArray[np.int64], second: NDArray[np.int64], n_classes: int) -> NDArray[np.int64]:
    """Return the numbers of the machines (first, second), where first < second."""
    return first * (2 * n_classes - first - 1) // 2 + second - first - 1


def _clearest_win(
    values: NDArray[np.float64], winner: NDArray[np.int64], n_classes: int
) -> NDArray[np.float64]:
    """Return the largest value of a pair in favour of the class `winner` of each row."""
    rows = np.arange(len(values))
    clearest = np.zeros(len(values))
    for step in range(1, n_classes):
        other = (winner + step) % n_classes
        first, second = np.minimum(winner, other), np.maximum(winner, other)
        value = values[rows, _pair(first, second, n_classes)]
        np.maximum(clearest, np.where(winner < other, value, -value), out=clearest)
    return clearest


def _walk(
    values: NDArray[np.float64], n_classes: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
    """Yield winner, loser and clearness of each of the n_classes - 1 comparisons of each row.

    Of the classes first, ..., last that are left, these two are compared.
    """
    rows = np.arange(len(values))
    first, last = np.zeros(len(values), np.int64), np.full(len(values), n_classes - 1)
    for _ in range(n_classes - 1):
        value = values[rows, _pair(first, last, n_classes)]
        first_wins = value > 0.0
        yield np.where(first_wins, first, last), np.where(first_wins, last, first), np.abs(value)
        first, last = first + ~first_wins, last - first_wins


def _rounds(values: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Return for each class the comparison that dropped it, and how clearly it did.

    The clearness c becomes c / (3 (c + 1)), which is below 1/3 and so cannot change the order.
    """
    rows = np.arange(len(values))
    scores = np.empty((len(values), n_classes))
    for number, (winner, loser, clearness) in enumerate(_walk(values, n_classes)):
        confidence = clearness / (3.0 * (clearness + 1.0))
        scores[rows, loser] = number - confidence
        scores[rows, winner] = number + 1.0 + confidence  # unless a later one drops it
    return scores


def _clearest_on_the_way(values: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Return the largest clearness of the comparisons that the class left at the end won."""
    so_far = np.zeros((len(values), n_classes))
    rows = np.arange(len(values))
    for winner, _, clearness in _walk(values, n_classes):
        so_far[rows, winner] = np.maximum(so_far[rows, winner], clearness)
    clearest: NDArray[np.float64] = so_far[rows, winner]
    return clearest
