"""Relevance vector machines."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mercer import _core
from mercer._data import MatrixLike
from mercer._kernel_rows import KernelRows
from mercer._params import check_bool, check_integer, check_positive, naming
from mercer._targets import checked_target
from mercer.bayes._classes import KernelClassifier
from mercer.kernels._gamma import Gamma
from mercer.svm._docs import FEATURE_SPACE, documented
from mercer.svm._types import KernelLike

__all__ = ["RVC", "RVR"]


_TEXTS = {
    **FEATURE_SPACE,
    "fit_intercept": """fit_intercept : bool, default=True
    Whether a constant is among the basis functions.""",
    "tol": """tol : float, default=1e-06
    The gain in log marginal likelihood below which to stop.""",
    "max_iter": """max_iter : int, default=10000
    The most steps, each of which changes one precision.""",
}


class _Relevance(KernelRows):
    """What both machines share: a basis function for each row, and one for the intercept."""

    tol: Any
    max_iter: Any
    fit_intercept: Any

    relevance_: NDArray[np.int32]
    relevance_vectors_: Any
    n_iter_: int

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 10000,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    def _design(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the columns of the design."""
        if not check_bool("fit_intercept", self.fit_intercept):
            return matrix
        return np.column_stack([matrix, np.ones(len(matrix))])

    def _learn(
        self, design: NDArray[np.float64], target: NDArray[np.float64], *, classes: bool
    ) -> _core.Relevance:
        tol = check_positive("tol", self.tol)
        steps = check_integer("max_iter", self.max_iter, "a positive integer", 1)
        found = _core.Relevance.fit(design, target, classes, tol, steps)
        if not found.converged:
            warnings.warn(
                f"The marginal likelihood still rises after max_iter={steps} steps: the model can "
                "be used but is not optimal. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return found

    def _keep_relevant(self, X: Any, found: list[_core.Relevance], n_rows: int) -> None:
        """Keep the rows that some machine needs."""
        columns = np.unique(np.concatenate([machine.columns for machine in found]))
        self.relevance_ = columns[columns < n_rows].astype(np.int32)
        self._keep(X, self.relevance_)
        self.relevance_vectors_ = self._rows
        self.n_iter_ = max(machine.iterations for machine in found)

    def _places(self, machine: _core.Relevance, n_rows: int) -> NDArray[np.intp]:
        """Return where the columns of a machine stand among the rows kept, the intercept last."""
        places = np.searchsorted(self.relevance_, machine.columns)
        return np.where(machine.columns < n_rows, places, len(self.relevance_))

    def _coefficients(
        self, machine: _core.Relevance, n_rows: int
    ) -> tuple[NDArray[np.float64], float]:
        weights = np.zeros(len(self.relevance_) + 1)
        weights[self._places(machine, n_rows)] = machine.mean
        return weights[:-1], float(weights[-1])

    @staticmethod
    def _variances(
        values: NDArray[np.float64], covariance: NDArray[np.float64], places: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the variance of a machine's values, given kernel values of the rows kept."""
        design = np.column_stack([values, np.ones(len(values))])[:, places]
        return ((design @ covariance) * design).sum(axis=1)  # type: ignore[no-any-return]


@documented(_TEXTS)
class RVR(RegressorMixin, _Relevance):
    """Relevance vector regression.

    A weight for the kernel of each training row, and for the intercept, each with a Gaussian prior
    of its own precision. The precisions, and that of the noise, maximise the marginal likelihood;
    most become infinite, which leaves a few relevance vectors, fewer than support vectors as a
    rule. Predictions are distributions: ``predict(X, return_std=True)``. The kernel need not be a
    Mercer kernel: its values are basis functions.

    Parameters
    ----------
    {kernel}
    {degree}
    {gamma}
    {coef0}
    {fit_intercept}
    {tol}
    {max_iter}

    Attributes
    ----------
    relevance_ : ndarray of shape (n_relevance,)
        The numbers of the relevance vectors.
    relevance_vectors_ : rows
        The relevance vectors; empty for a precomputed kernel.
    dual_coef_ : ndarray of shape (n_relevance,)
        The mean of their weights.
    intercept_ : float
        The mean of the constant.
    alpha_ : ndarray of shape (n_columns,)
        The precisions of the weights, with that of the constant, if it is in the model, at the end.
    sigma_ : ndarray of shape (n_columns, n_columns)
        The covariance of the weights.
    noise_ : float
        The standard deviation of the noise.
    log_marginal_likelihood_ : float
        The evidence for the model.
    n_iter_ : int
        Steps taken.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    Tipping: Sparse Bayesian learning and the relevance vector machine (2001). Tipping, Faul: Fast
    marginal likelihood maximisation for sparse Bayesian models (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.bayes import RVR
    >>> X = np.linspace(-10.0, 10.0, 100)[:, None]
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.1 * np.random.default_rng(0).normal(size=100)
    >>> model = RVR(gamma=0.1).fit(X, y)
    >>> len(model.relevance_) < 15
    True
    >>> mean, std = model.predict([[0.0]], return_std=True)
    >>> bool(abs(mean[0] - 1.0) < 3 * std[0])
    True
    """

    dual_coef_: NDArray[np.float64]
    intercept_: float

    @documented(_TEXTS)
    def fit(self, X: MatrixLike, y: ArrayLike) -> "RVR":
        """Learn from rows and targets.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_rows,)
            The targets.

        Returns
        -------
        self : RVR
            The fitted machine.
        """
        X, matrix = self._take_rows(X)
        target = checked_target(y, X)
        with naming("y"):
            target = target.astype(np.float64)
        found = self._learn(self._design(matrix), target, classes=False)
        n_rows = len(matrix)
        self._keep_relevant(X, [found], n_rows)
        self.dual_coef_, self.intercept_ = self._coefficients(found, n_rows)
        self._fit_places = self._places(found, n_rows)
        self.alpha_ = found.alpha
        self.sigma_ = found.covariance
        self.noise_ = float(found.beta**-0.5)
        self.log_marginal_likelihood_ = found.evidence
        return self

    @documented(_TEXTS)
    def predict(self, X: MatrixLike, return_std: bool = False) -> Any:
        """Return the mean of the targets of rows.

        Parameters
        ----------
        {X_new}
        return_std : bool, default=False
            Whether to return the standard deviations too: of the noise, and of the weights.

        Returns
        -------
        ndarray of shape (n_rows,), or a pair of them
            The means, and the standard deviations if asked for.
        """
        check_is_fitted(self)
        values = self._new_values(X)
        mean = values @ self.dual_coef_ + self.intercept_
        if not return_std:
            return mean
        variances = self._variances(values, self.sigma_, self._fit_places)
        return mean, np.sqrt(self.noise_**2 + variances)


@documented(_TEXTS)
class RVC(_Relevance, KernelClassifier):
    """Relevance vector classification.

    Like `RVR` with a logistic likelihood, whose integral is approximated at the most probable
    weights (Laplace's method). More than two classes have one machine each, against the others.

    Parameters
    ----------
    {kernel}
    {degree}
    {gamma}
    {coef0}
    {fit_intercept}
    {tol}
    {max_iter}

    Attributes
    ----------
    {classes_}
    relevance_ : ndarray of shape (n_relevance,)
        The numbers of the relevance vectors of all machines.
    relevance_vectors_ : rows
        The relevance vectors; empty for a precomputed kernel.
    dual_coef_ : ndarray of shape (n_machines, n_relevance)
        The most probable weights, 0 where a machine does not need a vector.
    intercept_ : ndarray of shape (n_machines,)
        The most probable constants.
    sigma_ : list of ndarray
        For each machine, the covariance of the weights that are in its model, the constant last.
    log_marginal_likelihood_ : ndarray of shape (n_machines,)
        The evidence for each machine, approximately.
    n_iter_ : int
        The most steps of a machine.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    Tipping: Sparse Bayesian learning and the relevance vector machine (2001). Tipping, Faul: Fast
    marginal likelihood maximisation for sparse Bayesian models (2003).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.bayes import RVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RVC().fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> len(model.relevance_) < 30
    True
    """

    @documented(_TEXTS)
    def fit(self, X: MatrixLike, y: ArrayLike) -> "RVC":
        """Learn from rows and classes.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_rows,)
            The classes.

        Returns
        -------
        self : RVC
            The fitted machine.
        """
        X, matrix = self._take_rows(X)
        numbers = self._class_numbers(y, X)
        design, n_rows = self._design(matrix), len(matrix)
        found = [
            self._learn(design, (numbers == positive).astype(np.float64), classes=True)
            for positive in self._machine_classes
        ]
        self._keep_relevant(X, found, n_rows)
        weights = [self._coefficients(machine, n_rows) for machine in found]
        self.dual_coef_ = np.array([pair[0] for pair in weights])
        self.intercept_ = np.array([pair[1] for pair in weights])
        self.sigma_ = [machine.covariance for machine in found]
        self.log_marginal_likelihood_ = np.array([machine.evidence for machine in found])
        return self

    @documented(_TEXTS)
    def predict_proba(self, X: MatrixLike) -> NDArray[np.float64]:
        """Return the probabilities of the classes.

        They are those at the most probable weights: 1 / (1 + exp(-decision_function(X))). Of more
        than two classes, the probabilities of their machines are made to sum to 1.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The probabilities.
        """
        values = self.decision_function(X)
        positive = 0.5 * (1.0 + np.tanh(0.5 * values))  # which does not overflow
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - positive, positive])
        total = np.maximum(positive.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return positive / total  # type: ignore[no-any-return]
