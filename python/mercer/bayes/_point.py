"""Bayes point machines."""

import warnings

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer import _core
from mercer._data import MatrixLike
from mercer._params import check_integer, check_non_negative
from mercer.bayes._classes import KernelClassifier
from mercer.kernels._gamma import Gamma
from mercer.svm._docs import FEATURE_SPACE, documented
from mercer.svm._types import KernelLike, RandomState

__all__ = ["BayesPointClassifier"]


@documented(FEATURE_SPACE)
class BayesPointClassifier(KernelClassifier):
    """The Bayes point: the centre of all classifiers that make no errors.

    The support vector machine has the centre of the largest sphere among them; the centre of mass
    is what Bayes' rule would choose. It is approximated by the mean of kernel perceptrons, each
    trained on the rows in another order and made of length one: the second algorithm of Herbrich,
    Graepel and Campbell. `ridge` makes rows separable that are not, and 1 is added to the kernel,
    which stands for an intercept. More than two classes have one machine each, against the others.

    Parameters
    ----------
    {kernel}
    {degree}
    {gamma}
    {coef0}
    n_perceptrons : int, default=100
        How many orders of the rows are averaged.
    ridge : float, default=1.0
        Added to k(x, x) of each training row; 0 for rows that the kernel separates.
    max_iter : int, default=1000
        The most passes over the rows for each perceptron.
    random_state : int, RandomState or None, default=None
        Where the orders come from.

    Attributes
    ----------
    {classes_}
    support_ : ndarray of shape (n_support,)
        The numbers of the rows with coefficients.
    support_vectors_ : rows
        These rows; empty for a precomputed kernel.
    dual_coef_ : ndarray of shape (n_machines, n_support)
        Their coefficients.
    intercept_ : ndarray of shape (n_machines,)
        The constants.
    n_iter_ : int
        Passes over the rows, of all perceptrons of the machine that took most.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    Herbrich, Graepel, Campbell: Bayes point machines, Journal of Machine Learning Research 1
    (2001), section 3.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.bayes import BayesPointClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(BayesPointClassifier(random_state=0).fit(X, y).score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        *,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        n_perceptrons: int = 100,
        ridge: float = 1.0,
        max_iter: int = 1000,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.n_perceptrons = n_perceptrons
        self.ridge = ridge
        self.max_iter = max_iter
        self.random_state = random_state

    @documented(FEATURE_SPACE)
    def fit(self, X: MatrixLike, y: ArrayLike) -> "BayesPointClassifier":
        """Learn from rows and classes.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_rows,)
            The classes.

        Returns
        -------
        self : BayesPointClassifier
            The fitted machine.
        """
        count = check_integer("n_perceptrons", self.n_perceptrons, "a positive integer", 1)
        passes = check_integer("max_iter", self.max_iter, "a positive integer", 1)
        ridge = check_non_negative("ridge", self.ridge)
        X, matrix = self._take_rows(X)
        numbers = self._class_numbers(y, X)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        found = [
            _core.bayes_point(
                matrix + 1.0,
                np.where(numbers == positive, 1.0, -1.0),
                (count, ridge, passes, seed),
            )
            for positive in self._machine_classes
        ]
        coefficients = np.array([machine[0] for machine in found])
        self.support_ = np.flatnonzero((coefficients != 0.0).any(axis=0)).astype(np.int32)
        self._keep(X, self.support_)
        self.support_vectors_ = self._rows
        self.dual_coef_ = coefficients[:, self.support_]
        self.intercept_ = coefficients.sum(axis=1)
        self.n_iter_ = max(machine[1] for machine in found)
        self._warn_unless_separated(min(machine[2] for machine in found), count)
        return self

    def _warn_unless_separated(self, converged: int, count: int) -> None:
        if converged < count:
            warnings.warn(
                f"{count - converged} of {count} perceptrons still make errors after "
                f"max_iter={self.max_iter} passes: raise max_iter, or ridge if the kernel does not "
                "separate the classes.",
                ConvergenceWarning,
                stacklevel=3,
            )
