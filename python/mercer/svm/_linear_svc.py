"""Linear support vector classification."""

from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from mercer._data import RowsLike, dense, scaled, sparse_as_configured, weighted_rows
from mercer._params import check_choice
from mercer.svm._classifier import check_class_weight, classes_of, weights_of
from mercer.svm._docs import LINEAR, documented
from mercer.svm._linear import BaseLinearMachine
from mercer.svm._types import ClassWeight, RandomState

__all__ = ["LinearSVC"]

_Self = TypeVar("_Self", bound="LinearSVC")


@documented(LINEAR)
class LinearSVC(ClassifierMixin, BaseLinearMachine):
    """Linear support vector classification, a replacement for scikit-learn's `LinearSVC`.

    For two classes, or every class against the rest, it trains the machine f(z) = w.z + b that
    solves ::

        minimise  1/2 |w|^2 + 1/2 v^2 + sum_i C_i loss(1 - y_i f(x_i)),   b = intercept_scaling * v

    with y_i = +-1, C_i = C * class weight * sample weight, and loss(t) = max(0, t) ('hinge') or
    max(0, t)^2 ('squared_hinge'). The intercept is penalised, as that of LIBLINEAR; `SVC` has one
    that is not. It is solved by Newton's method in the weights, or by coordinate descent where
    there are more than 1024 features. Training uses all processors, can be interrupted, and stops
    when the optimality conditions of the dual problem hold to `tol`.

    Parameters
    ----------
    penalty : {'l2'}, default='l2'
        The norm of the penalty. 'l1' is refused: it has no solver here.
    loss : {'squared_hinge', 'hinge'}, default='squared_hinge'
        How errors are charged: by the square of how far a row is on the wrong side of the margin,
        or by how far it is.
    {dual}
    {tol}
    {C}
    multi_class : {'ovr'}, default='ovr'
        One class against the rest. 'crammer_singer' is refused: it has no solver here.
    {fit_intercept}
    {intercept_scaling}
    class_weight : dict or 'balanced', default=None
        Weights of the classes, 1 for those not named. 'balanced' uses
        n_samples / (n_classes * count of the class), with rows counted by `sample_weight`. Of more
        than two classes, that of a class counts in its own machine only, as in scikit-learn.
    {verbose}
    {random_state}
    {max_iter}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted. A class whose rows all have weight zero is not among them.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features; a sparse matrix after `sparsify`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts, zero without one.
    margin_ : float or ndarray of shape (n_classes,)
        1 / |w|, w being the rows of `coef_`: the distance from the boundary at which the value is 1
        or -1. A number for two classes.
    {n_features_in_}
    {feature_names_in_}
    {n_iter_}
    {report_}

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LinearSVC
    >>> X = np.array([[-1.0], [1.0]])
    >>> model = LinearSVC(C=0.25).fit(X, ["no", "yes"])
    >>> model.coef_.round(6)  # 1/2 w^2 + 1/4 * 2 (1 - w)^2 is least at w = 1/2
    array([[0.5]])
    >>> model.predict([[3.0]])
    array(['yes'], dtype='<U3')
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        penalty: Literal["l2"] = "l2",
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        *,
        dual: bool | Literal["auto"] = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: Literal["ovr"] = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: ClassWeight = None,
        verbose: bool | int = 0,
        random_state: RandomState = None,
        max_iter: int = 1000,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("loss", self.loss, ("squared_hinge", "hinge"))
        self._check_dual(("hinge",), self.penalty)
        for name, only, other in (
            ("penalty", "l2", "l1"),
            ("multi_class", "ovr", "crammer_singer"),
        ):
            value = getattr(self, name)
            if isinstance(value, str) and value == other:
                raise ValueError(f"{name}={other!r} is not supported, only {name}={only!r} is")
            check_choice(name, value, (only,))
        check_class_weight(self.class_weight)

    @documented(LINEAR)
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
        self._check_parameters()
        rows, y = self._check_data(X, y)
        keep, weight = weighted_rows(sample_weight, len(y))
        classes = classes_of(y)
        if len(keep) < len(y):
            rows, y = rows[keep], y[keep]
            classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class"
            )
        labels = np.searchsorted(classes, y).astype(np.int64)
        factors = weights_of(self.class_weight, classes, labels, weight)
        cost = scaled(weight, float(self.C), "C times sample_weight")
        scaled(cost, factors[labels], "C times class_weight times sample_weight")
        squared = self.loss == "squared_hinge"
        self._train(rows, labels, cost, squared=squared, class_weight=factors)
        self.classes_ = classes
        self._warn_unless_converged()
        return self

    @property
    def margin_(self) -> float | NDArray[np.float64]:
        """The margin ``1 / |w|``, or those of all classes; infinite if w = 0."""
        if "coef_" not in vars(self):
            raise AttributeError("margin_ is only available for a fitted model")
        with np.errstate(divide="ignore"):
            margins: NDArray[np.float64] = 1.0 / np.linalg.norm(dense(self.coef_), axis=1)
        return float(margins[0]) if len(margins) == 1 else margins

    def sparsify(self: _Self) -> _Self:
        """Make `coef_` a sparse matrix.

        Predictions are then faster and the model is smaller if most weights are zero, else not.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_is_fitted(self)
        self.coef_ = sparse_as_configured(self.coef_)
        return self

    def densify(self: _Self) -> _Self:
        """Make `coef_` an array again, which it is after `fit`.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_is_fitted(self)
        self.coef_ = dense(self.coef_)
        return self

    @documented(LINEAR)
    def decision_function(self, X: RowsLike) -> NDArray[Any]:
        """Compute how clearly each row belongs to each class.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive for ``classes_[1]``, for more one value per class.
        """
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    @documented(LINEAR)
    def predict(self, X: RowsLike) -> NDArray[Any]:
        """Find the class of each row: the one with the largest value.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.
        """
        values = self.decision_function(X)
        winners = (values > 0.0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[winners]
        return labels
