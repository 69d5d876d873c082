"""Linear support vector regression."""

from typing import Any, Literal, TypeVar

from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from mercer._data import RowsLike, scaled, weighted_rows
from mercer._params import check_choice, check_non_negative
from mercer.svm._docs import LINEAR, documented
from mercer.svm._linear import BaseLinearMachine
from mercer.svm._types import RandomState

__all__ = ["LinearSVR"]

_Self = TypeVar("_Self", bound="LinearSVR")


@documented(LINEAR)
class LinearSVR(RegressorMixin, BaseLinearMachine):
    """Linear support vector regression, a replacement for scikit-learn's `LinearSVR`.

    The function f(z) = w.z + b solves ::

        minimise  1/2 |w|^2 + 1/2 v^2 + sum_i C_i loss(|y_i - f(x_i)| - epsilon)

    with b = intercept_scaling * v, C_i = C * sample weight, and loss(t) = max(0, t)
    ('epsilon_insensitive') or max(0, t)^2 ('squared_epsilon_insensitive'). The intercept is
    penalised, as that of LIBLINEAR; `SVR` has one that is not. Training is that of `LinearSVC`.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half the width of the tube around f within which errors cost nothing, not negative.
    {tol}
    {C}
    loss : {'epsilon_insensitive', 'squared_epsilon_insensitive'}, \
            default='epsilon_insensitive'
        How errors are charged: by how far a row is outside the tube, or by the square of that.
    {fit_intercept}
    {intercept_scaling}
    {dual}
    {verbose}
    {random_state}
    {max_iter}

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : ndarray of shape (1,)
        The intercept, zero without one.
    {n_features_in_}
    {feature_names_in_}
    {n_iter_}
    {report_}

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LinearSVR
    >>> X = np.arange(5.0)[:, np.newaxis]
    >>> model = LinearSVR(C=1e4).fit(X, 2.0 * X[:, 0] + 1.0)
    >>> model.coef_.round(2), model.intercept_.round(2)
    (array([2.]), array([1.]))
    """

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: bool | Literal["auto"] = "auto",
        verbose: bool | int = 0,
        random_state: RandomState = None,
        max_iter: int = 1000,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_non_negative("epsilon", self.epsilon)
        check_choice("loss", self.loss, ("epsilon_insensitive", "squared_epsilon_insensitive"))
        self._check_dual(("epsilon_insensitive",))

    @documented(LINEAR)
    def fit(
        self: _Self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> _Self:
        """Train on rows and their values.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_samples,)
            The values to learn.
        {sample_weight}

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self._check_parameters()
        rows, target = self._check_data(X, y, numeric=True)
        keep, weight = weighted_rows(sample_weight, len(target))
        if len(keep) < len(target):
            rows, target = rows[keep], target[keep]
        cost = scaled(weight, float(self.C), "C times sample_weight")
        squared = self.loss == "squared_epsilon_insensitive"
        self._train(rows, target, cost, squared=squared, epsilon=float(self.epsilon))
        self.coef_ = self.coef_[0]
        self._warn_unless_converged()
        return self

    @documented(LINEAR)
    def predict(self, X: RowsLike) -> NDArray[Any]:
        """Compute the value of each row.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples,)
            The values.
        """
        return self._values(X)[:, 0]
