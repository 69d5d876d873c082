"""What the classifiers share: labels, class weights, and classes from the values of machines."""

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight

from mercer import _core
from mercer._batches import streaming
from mercer._data import LABEL_KINDS, MatrixLike, RowsLike, joined, scaled, weighted_rows
from mercer._params import check_bool, check_choice, check_non_negative, check_real, naming
from mercer._targets import check_labels
from mercer.svm._available import available_if
from mercer.svm._base import BaseKernelMachine, Problem
from mercer.svm._docs import CLASSIFIER, documented
from mercer.svm._going import Kept
from mercer.svm._probability import Calibrating, asked_for
from mercer.svm._results import margins_of
from mercer.svm._shared import open_desk, recalled
from mercer.svm._state import freeze, whole_numbers
from mercer.svm._tree import JOINT, PER_CLASS, check_multiclass, is_tree, numbered
from mercer.svm._types import Multiclass

__all__ = ["BaseClassifier", "check_class_weight", "classes_of", "weights_of"]

_Self = TypeVar("_Self", bound="BaseClassifier")


def _check_probability(classifier: "BaseClassifier") -> None:
    """Raise an error that says how to ask for probabilities, unless they were asked for."""
    if not asked_for(classifier):
        raise AttributeError(
            f"predict_proba is not available: probability={classifier.probability!r}. Fit with "
            "probability=True"
        )


class BaseClassifier(ClassifierMixin, BaseKernelMachine):
    """Base of the classifiers, which pose the problem of two classes."""

    class_weight: Any
    decision_function_shape: Any
    break_ties: Any
    random_state: Any
    multiclass: Any
    probability: Any

    classes_: NDArray[Any]
    class_weight_: NDArray[np.float64]
    n_iter_: NDArray[np.int32]
    probA_: NDArray[np.float64]
    probB_: NDArray[np.float64]

    # What else there is to say of rows with only one label.
    _one_label: ClassVar[str] = ""

    #: Whether the machines of all classes can be trained as one.
    _knows_joint: ClassVar[bool] = False

    @abstractmethod
    def _pose(
        self,
        labels: NDArray[np.int64],
        weight: NDArray[np.float64],
        row_weight: NDArray[np.float64],
        multiclass: Multiclass,
        start: NDArray[np.float64] | None = None,
    ) -> Problem:
        """Return the problem of rows of these labels 0, 1, ... and weights.

        `weight` is the weight of the class times `row_weight`. `start` has coefficients to begin
        with, for two classes and machines that can.
        """

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        check_bool("break_ties", self.break_ties)
        check_bool("probability", asked_for(self))
        check_multiclass(self.multiclass, joint=self._knows_joint)
        if asked_for(self) and (is_tree(self.multiclass) or self.multiclass in JOINT):
            raise ValueError(
                f"probability must be False with multiclass={self.multiclass!r}: there are "
                "probabilities for 'ovo', 'ovr' and 'dag'"
            )
        with naming("random_state"):
            check_random_state(self.random_state)
        check_class_weight(self.class_weight)

    @documented(CLASSIFIER)
    def fit(self: _Self, X: RowsLike, y: Any, sample_weight: ArrayLike | None = None) -> _Self:
        """Train on rows and their labels.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_samples,)
            The labels, of any kind that can be sorted.
        {sample_weight}

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        return self._refit(X, y, sample_weight)

    def _fit(
        self,
        X: RowsLike,
        y: Any,
        sample_weight: ArrayLike | None,
        start: NDArray[np.float64] | None = None,
    ) -> None:
        """Train; `start` may have coefficients of all rows to begin with, for two classes."""
        self._check_parameters()
        X, y = self._check_rows_and_target(X, y)
        classes = classes_of(y)
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class in y"
            )
        keep, weight = weighted_rows(sample_weight, len(y))
        if len(keep) < len(y):
            y = y[keep]
            classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(
                "Invalid input - all samples with positive weights belong to the same class"
                f"{self._one_label}. Check sample_weight."
            )
        # Faster than return_inverse, which sorts.
        labels = np.searchsorted(classes, y).astype(np.int64)
        self.classes_ = classes
        self.class_weight_ = weights_of(self.class_weight, classes, labels, weight)
        # The machine of two classes is one and the same.
        self._fit_multiclass = "ovo" if len(classes) == 2 else self.multiclass
        if is_tree(self.multiclass):
            tree = numbered(self.multiclass, classes)
            self._fit_multiclass = "ovo" if len(classes) == 2 else tree
        elif self.multiclass in JOINT:
            self._fit_multiclass = self.multiclass  # one of them counts costs twice
        row_weight = self.class_weight_[labels]
        cost = scaled(weight, row_weight, "class_weight times sample_weight")
        begin = None if start is None else start[keep]
        problem = self._pose(labels, cost, weight, self._fit_multiclass, begin)
        # Three or more classes have as many machines, or more.
        machines = len(classes) - 1
        if not asked_for(self):
            self._train(X, keep, weight, problem, machines=machines)
        else:
            calibrating = Calibrating()
            with open_desk(calibrating):
                self._train(X, keep, weight, problem, machines=machines)
            if calibrating.sigmoids is not None:
                self.probA_, self.probB_ = map(freeze, calibrating.sigmoids)
        iterations = [machine.iterations for machine in self.report_]
        self.n_iter_ = np.minimum(iterations, np.iinfo(np.int32).max).astype(np.int32)

    def _past_key(self) -> tuple[Any, ...]:
        classes = tuple(self.classes_.tolist())
        return (*super()._past_key(), classes, self._fit_multiclass)

    def _check_without(self, kept: Kept, gone: NDArray[np.int64]) -> None:
        left = np.delete(kept.y, gone)
        if kept.sample_weight is not None:
            left = left[np.delete(kept.sample_weight, gone) > 0.0]
        if len(np.unique(left)) < 2:
            raise ValueError("rows must leave rows of two classes at least, got all but one class")

    @property
    def margin_(self) -> float | NDArray[np.float64]:
        """The margin ``1 / |w|``, or those of all machines; infinite if w = 0."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("margin_ is only available for a fitted model")
        return margins_of(self.report_)

    def _rows_of_coefficients(self) -> MatrixLike:
        per_class = is_tree(self._fit_multiclass) or self._fit_multiclass in PER_CLASS
        if len(self.classes_) == 2 or per_class:
            return self.dual_coef_
        n_support, dual_coef, _ = self._machines()
        return _core.coefficients_by_machine(dual_coef, n_support, self._fit_multiclass)

    def _make_expansion(self) -> _core.Expansion:
        labels, counts = np.asarray(self.classes_), whole_numbers("n_support_", self.n_support_)
        if labels.ndim != 1:
            raise ValueError(f"classes_ must be a vector, got shape {labels.shape}")
        if len(labels) != len(counts):
            raise ValueError(
                f"n_support_ must have one entry for each of the {len(labels)} classes_, got "
                f"{len(counts)}"
            )
        return super()._make_expansion()

    @streaming
    @documented(CLASSIFIER)
    def decision_function(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute how clearly each row belongs to each class.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray
            For two classes of shape (n_samples,), positive for ``classes_[1]``. For more, by the
            strategy `multiclass` of the fit:

            - 'ovr': of shape (n_samples, n_classes), the values of the machines, each positive
              for its own class and negative for the rest.
            - 'ovo': of shape (n_samples, n_classes), the number of votes for each class, plus
              s / (3 (|s| + 1)), where s is the sum of the values for and against it.
            - 'dag': of shape (n_samples, n_classes), the number 0, 1, ..., n_classes - 2 of the
              comparison that dropped the class, or n_classes - 1 for the class that is left; plus
              c / (3 (|c| + 1)), where c is the value in favour of the class in that comparison, or
              in the last one for the class that is left.
            - 'weston_watkins', 'crammer_singer': of shape (n_samples, n_classes), the values of the
              machines, which add up to zero. Only their differences have a meaning.
            - A tree: of shape (n_samples, n_classes), the smallest lead on the way to the class: at
              a fork of two branches the value of its machine, at others how far the value of the
              branch is above the best of the others. It is positive for the class that `predict`
              returns. With ``decision_function_shape='ovo'``, the values of all machines, fork by
              fork, those above before those below.
            - 'ovo' and 'dag' with ``decision_function_shape='ovo'``: of shape
              (n_samples, n_classes * (n_classes - 1) / 2), the values of the machines (0, 1),
              (0, 2), ..., (1, 2), ..., positive for the first class of the pair.

            Where there is one value per class, the largest belongs to the class that `predict`
            returns; with 'ovo', for ties, only if `break_ties` is set.
        """
        model = self._snapshot()
        expansion = model._expansion()  # which checks the attributes
        if len(model.classes_) == 2:
            return model._decide(X, lambda values: values[:, 0])
        per_class = not is_tree(model._fit_multiclass) and model._fit_multiclass in PER_CLASS
        if per_class or self.decision_function_shape == "ovo":
            return model._decide(X, lambda values: values)
        return model._decide(X, expansion.confidences)

    @streaming
    @documented(CLASSIFIER)
    def predict(self, X: RowsLike) -> NDArray[Any]:
        """Find the class of each row, by the strategy `multiclass` of the fit.

        'ovo': the class with the most votes. 'ovr': the class with the largest value. 'dag': the
        first and the last of the list of all classes are compared and the loser is dropped, until
        one is left. 'weston_watkins' and 'crammer_singer': the class with the largest value. A
        tree: the class at the end of the way down, at each fork by the sign of its machine, or by
        the largest value of those of its branches.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.
        """
        model = self._snapshot()
        known = None if model._breaks_ties() else recalled(model, X)
        if known is not None:
            winners = known
        elif model._breaks_ties():
            confidences = model._expansion().confidences
            winners = model._decide(X, lambda values: confidences(values).argmax(axis=1))
        else:
            source, prediction = model._prediction(X)
            winners = joined(source.classes(prediction))
        labels: NDArray[Any] = np.asarray(model.classes_)[winners]
        return labels

    @available_if(_check_probability)
    @streaming
    @documented(CLASSIFIER)
    def predict_proba(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute the probabilities of all classes, if `probability` was set for the fit.

        The values of machines for rows that were held out, a fifth of each class in turn, tell how
        values become probabilities: by a sigmoid for each machine, coupled if there are several.
        They are then changed as little as makes the class that `predict` returns the most probable.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The probabilities, in the order of `classes_`.
        """
        model = self._snapshot()
        if "probA_" not in vars(model):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False: fit again with "
                "probability=True"
            )
        expansion, breaks_ties = model._expansion(), model._breaks_ties()
        sigmoids = model.probA_, model.probB_
        n_classes, multiclass = len(model.classes_), model._fit_multiclass

        def probabilities(values: NDArray[np.float64]) -> NDArray[np.float64]:
            if breaks_ties:
                winners: NDArray[Any] = expansion.confidences(values).argmax(axis=1)
            else:
                winners = expansion.winners(values)
            return _core.probabilities(values, winners, sigmoids, n_classes, multiclass)

        return model._decide(X, probabilities)

    @available_if(_check_probability)
    @documented(CLASSIFIER)
    def predict_log_proba(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute the logarithms of the probabilities of all classes: see `predict_proba`.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The logarithms, in the order of `classes_`.
        """
        with np.errstate(divide="ignore"):
            logarithms: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logarithms

    def _breaks_ties(self) -> bool:
        """Return whether ties of votes are resolved by confidence; raise if that cannot be."""
        check_multiclass(self._fit_multiclass, joint=True)
        if self._fit_multiclass != "ovo" or not self.break_ties:
            return False
        if self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return len(self.classes_) > 2

    @streaming
    @documented(CLASSIFIER)
    def reject(self, X: RowsLike, threshold: float = 0.0) -> NDArray[np.bool_]:
        """Tell which rows are too uncertain to be given a class.

        Parameters
        ----------
        {X_new}
        threshold : float, default=0.0
            How clear a class has to be, in values of the machines: 1 is the margin. Finite, and
            not negative except with 'ovr' and trees.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            True where a row is rejected. By the strategy `multiclass` of the fit:

            - Two classes: if |f| < threshold, where f is the `decision_function`.
            - 'ovr': if no machine has a value above the threshold. With 0, the default: if no
              machine claims the row for its class.
            - 'ovo': if the class that `predict` returns won none of its comparisons by the
              threshold or more. Those that it lost, and those between other classes, do not count.
            - 'dag': if the class that is left won none of its comparisons on the way by the
              threshold or more. Comparisons that were not made do not count.
            - 'weston_watkins', 'crammer_singer': if the largest value is above the second by less
              than the threshold times the margin asked for, which is 2 or 1.
            - A tree: if at a fork on the way the machine of two branches has |f| < threshold, or
              none of those of more branches has a value above the threshold.

            Except with 'ovr' and trees, a threshold of 0 rejects nothing.
        """
        model = self._snapshot()
        if is_tree(model._fit_multiclass) or model._fit_multiclass == "ovr":
            threshold = check_real("threshold", threshold, "a finite number")
        else:
            threshold = check_non_negative("threshold", threshold)
        expansion, breaks_ties = model._expansion(), model._breaks_ties()

        def rejected(values: NDArray[np.float64]) -> NDArray[np.bool_]:
            winners = expansion.confidences(values).argmax(axis=1) if breaks_ties else None
            return expansion.rejects(values, threshold, winners)

        return model._decide(X, rejected)


def classes_of(y: NDArray[Any]) -> NDArray[Any]:
    """Return the labels in order; raise unless they are labels."""
    with naming("y"):
        # Whole numbers, floats or not, and strings are labels; scikit-learn has only to say whether
        # there are suspiciously many, for which it looks at all of them several times.
        kind = y.dtype.kind
        if kind not in LABEL_KINDS:
            check_labels(y)
            return np.unique(y)
        classes = np.unique(y)
        has_fractions = kind == "f" and bool((classes != np.trunc(classes)).any())
        if has_fractions or 2 * len(classes) > len(y):
            check_labels(y)
    return classes


def check_class_weight(class_weight: Any) -> None:
    """Raise unless these may be the weights of classes."""
    if isinstance(class_weight, str):
        check_choice("class_weight", class_weight, ("balanced",))
    elif not isinstance(class_weight, dict | None):
        raise TypeError(f"class_weight must be None, 'balanced' or a dict, got {class_weight!r}")


def weights_of(
    class_weight: Any,
    classes: NDArray[Any],
    labels: NDArray[np.intp],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the weight of each class, from the labels 0, 1, ... of weighted rows."""
    factors: NDArray[np.float64]
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        factors = weight.sum() / (len(classes) * np.bincount(labels, weights=weight))
    else:
        with naming("class_weight"):
            factors = compute_class_weight(class_weight, classes=classes, y=classes)
    if not (np.isfinite(factors).all() and factors.min() > 0.0):
        raise ValueError(f"class_weight must be positive and finite, got {class_weight!r}")
    return factors
