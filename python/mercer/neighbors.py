"""Nearest neighbours in feature space."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from mercer import _core
from mercer._data import RowsLike, joined, length, make_samples
from mercer._feature_space import FeatureSpace
from mercer._params import check_integer, naming
from mercer._targets import checked_classes, checked_target
from mercer._threads import thread_count
from mercer.kernels._gamma import Gamma
from mercer.kernels._kernel import Kernel
from mercer.svm._docs import FEATURE_SPACE, documented
from mercer.svm._sources import Given, source_of
from mercer.svm._types import KernelLike

__all__ = ["KernelNeighborsClassifier", "KernelNeighborsRegressor"]

#: How much neighbours count: all alike, the nearer the more, or a function of their distances.
Weights: TypeAlias = Literal["uniform", "distance"] | Callable[[NDArray[np.float64]], ArrayLike]

_TEXTS = {
    **FEATURE_SPACE,
    "n_neighbors": """n_neighbors : int, default=5
    How many neighbours are asked.""",
    "weights": """weights : {'uniform', 'distance'} or callable, default='uniform'
    How much neighbours count: all alike; by one over their distance, where rows at the same place
    count alone; or what a function makes of an array of distances.""",
    "prototypes": """prototypes : estimator, default=None
    A machine such as ``SVC()`` whose support vectors are the rows to choose neighbours from; None
    for all rows. One that is fitted is taken as it is, and must have been fitted to the same rows;
    any other, and so a clone, is fitted to them.""",
    "prototypes_": """prototypes_ : estimator
    The fitted machine; only with `prototypes`.""",
    "support_": """support_ : ndarray of shape (n_fit,)
    The numbers of the rows that neighbours are chosen from.""",
    "X_queries": """X : {array-like, sparse matrix} of shape (n_queries, n_features) or \
(n_queries, n_samples_fit)
    The rows; or their kernel values with all training rows, if the kernel is 'precomputed'.""",
}


class _KernelNeighbors(FeatureSpace):
    """What both estimators share: whom to ask, and how much they count."""

    n_neighbors: Any
    weights: Any
    prototypes: Any

    support_: NDArray[np.int64]

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Weights = "uniform",
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        prototypes: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.prototypes = prototypes
        self.n_jobs = n_jobs

    def _check_rows(self, X: RowsLike) -> RowsLike:
        """Return rows to learn from; raise unless these and every parameter are allowed."""
        check_integer("n_neighbors", self.n_neighbors, "a positive integer", low=1)
        named = isinstance(self.weights, str) and self.weights in ("uniform", "distance")
        if not (named or callable(self.weights)):
            raise ValueError(
                f"weights must be 'uniform', 'distance' or a callable, got {self.weights!r}"
            )
        return source_of(self._check_kernel()).check(self, X, reset=True)

    def _keep_rows(self, X: RowsLike, target: NDArray[Any]) -> NDArray[Any]:
        """Keep the rows that neighbours are chosen from, and return their targets."""
        kernel = self._fix_kernel(self._check_kernel(), X)
        n_rows = length(X) or 0
        self.support_ = np.arange(n_rows)
        if self.prototypes is not None:
            self.support_ = self._support(X, target, n_rows)
            X = source_of(kernel).rows(X, self.support_)
        self.X_fit_ = X
        kept: NDArray[Any] = target[self.support_]
        return kept

    def _support(self, X: RowsLike, target: NDArray[Any], n_rows: int) -> NDArray[np.int64]:
        """Return the numbers of the support vectors of the machine, which is fitted if need be."""
        machine = self.prototypes
        if not hasattr(machine, "support_"):
            machine = clone(machine).fit(X, target)
        if not hasattr(machine, "support_"):
            raise TypeError(f"prototypes must be a machine with support vectors, got {machine!r}")
        rows = getattr(machine, "shape_fit_", (n_rows,))[0]
        if rows != n_rows:
            raise ValueError(
                f"prototypes must have been fitted to the same rows, got {machine!r}, fitted to "
                f"{rows} rows, not {n_rows}"
            )
        self.prototypes_ = machine
        return np.unique(np.asarray(machine.support_, dtype=np.int64))

    @documented(_TEXTS)
    def kneighbors(
        self,
        X: RowsLike | None = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> Any:
        """Return the nearest rows of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features) or \
(n_queries, n_samples_fit), default=None
            The rows; or their kernel values with all training rows, if the kernel is 'precomputed'.
            None for the rows that neighbours are chosen from, none of which is a neighbour of
            itself.
        n_neighbors : int, default=None
            How many, by default as many as the parameter says.
        return_distance : bool, default=True
            Whether to return the distances too. Those of a precomputed kernel need a constant
            diagonal.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            The distances in feature space, the smallest first; only if asked for.
        rows : ndarray of shape (n_queries, n_neighbors)
            The numbers of the nearest rows of those given to `fit`.
        """
        check_is_fitted(self)
        wanted = self.n_neighbors if n_neighbors is None else n_neighbors
        count = check_integer("n_neighbors", wanted, "a positive integer", low=1)
        if X is None:
            near, distances = self._others(count)
        else:
            near, distances = self._nearest(self._check_new(X), count, return_distance)
        rows = self.support_[near]
        return (distances, rows) if return_distance else rows

    def _nearest(
        self, X: RowsLike, count: int, measured: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the nearest of the rows kept, and how far they are if that is to be `measured`."""
        n_fit = len(self.support_)
        if count > n_fit:
            raise ValueError(
                f"n_neighbors must be at most {n_fit}, the number of rows to choose from: Expected "
                f"n_neighbors <= n_samples_fit, but n_neighbors = {count}, n_samples_fit = {n_fit}"
            )
        source, kernel = self._source(), self._fit_kernel
        if isinstance(source, Given):
            # The order does not depend on k(z, z), which is not always known.
            own = joined(source.diagonal(X, self._constant())) if measured else None
            values = source.kernel_values(X, self.support_, self.X_fit_)
            return self._nearest_given(values, count, own)
        assert isinstance(kernel, Kernel)
        known, samples = make_samples(self.X_fit_), make_samples(X)
        near, distances = _core.nearest(
            kernel._build(), known, samples, count, thread_count(self.n_jobs)
        )
        return near.reshape(-1, count), distances.reshape(-1, count)

    def _nearest_given(
        self,
        blocks: Iterator[NDArray[np.float64]],
        count: int,
        own: NDArray[np.float64] | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        known = self._known_diagonal()
        found = []
        start = 0
        for values in blocks:
            stop = start + len(values)
            block = np.zeros(len(values)) if own is None else own[start:stop]
            found.append(_core.nearest_from_kernel(values, known, block, count))
            start = stop
        near, distances = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return near.reshape(-1, count), distances.reshape(-1, count)

    def _known_diagonal(self) -> NDArray[np.float64]:
        """Return k(x, x) of the rows kept."""
        if isinstance(self._fit_kernel, str):
            return np.ascontiguousarray(np.diagonal(self.X_fit_), dtype=np.float64)
        return joined(self._source().diagonal(self.X_fit_, None))

    def _others(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the nearest of the rows kept of each of them, other than itself."""
        if isinstance(self._fit_kernel, str):
            matrix = np.ascontiguousarray(self.X_fit_, dtype=np.float64)
            near, distances = self._nearest_given(iter([matrix]), count + 1, np.diagonal(matrix))
        else:
            near, distances = self._nearest(self.X_fit_, count + 1, True)
        own = near == np.arange(len(near))[:, None]
        # Of many rows at the same place, a row itself need not be among the nearest.
        own[~own.any(axis=1), -1] = True
        return near[~own].reshape(-1, count), distances[~own].reshape(-1, count)

    def _asked(self, X: RowsLike) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the neighbours of new rows among those kept, and how much they count."""
        check_is_fitted(self)
        X = self._check_new(X)
        alike = isinstance(self.weights, str) and self.weights == "uniform"
        count = check_integer("n_neighbors", self.n_neighbors, "a positive integer", low=1)
        near, distances = self._nearest(X, count, not alike)
        if alike:
            return near, np.ones(near.shape)
        if callable(self.weights):
            with naming("weights"):
                weights = np.asarray(self.weights(distances), dtype=np.float64)
            if weights.shape != near.shape:
                raise ValueError(
                    f"weights must return an array of shape {near.shape}, got {weights.shape}"
                )
            return near, weights
        here = distances == 0.0
        with np.errstate(divide="ignore"):
            return near, np.where(here.any(axis=1, keepdims=True), here, 1.0 / distances)


@documented(_TEXTS)
class KernelNeighborsClassifier(ClassifierMixin, _KernelNeighbors):
    """Classification by the nearest rows, with distances in feature space.

    The squared distance is k(x, x) - 2 k(x, z) + k(z, z). With a linear kernel this is
    scikit-learn's ``KNeighborsClassifier``; so it is with an RBF kernel, other than for the weights
    of neighbours, since its distance rises with the Euclidean one.

    Parameters
    ----------
    {n_neighbors}
    {weights}
    {kernel}
    {degree}
    {gamma}
    {coef0}
    {prototypes}
    {n_jobs}

    Attributes
    ----------
    {classes_}
    {support_}
    {prototypes_}
    {X_fit_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC
    >>> from mercer.neighbors import KernelNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelNeighborsClassifier(3).fit(X, y)
    >>> model.predict(X[[0, 75, 149]])
    array([0, 1, 2])
    >>> few = KernelNeighborsClassifier(1, prototypes=SVC()).fit(X, y)
    >>> len(few.support_) < 80
    True
    """

    classes_: NDArray[Any]

    @documented(_TEXTS)
    def fit(self, X: RowsLike, y: ArrayLike) -> "KernelNeighborsClassifier":
        """Keep rows and their classes.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_samples,)
            The classes.

        Returns
        -------
        self : KernelNeighborsClassifier
            This estimator.
        """
        X = self._check_rows(X)
        target = checked_classes(y, X)
        self.classes_ = np.unique(target)
        self._numbers = np.searchsorted(self.classes_, self._keep_rows(X, target))
        return self

    @documented(_TEXTS)
    def predict_proba(self, X: RowsLike) -> NDArray[np.float64]:
        """Return the share of each class among the neighbours.

        Parameters
        ----------
        {X_queries}

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            The shares, which add up to 1.
        """
        votes = self._votes(X)
        total = votes.sum(axis=1, keepdims=True)
        return np.asarray(votes / np.where(total == 0.0, 1.0, total))

    @documented(_TEXTS)
    def predict(self, X: RowsLike) -> NDArray[Any]:
        """Return the class that has most of the neighbours; of several, the first.

        Parameters
        ----------
        {X_queries}

        Returns
        -------
        ndarray of shape (n_queries,)
            The classes.
        """
        winners = self._votes(X).argmax(axis=1)
        return np.asarray(self.classes_[winners])

    def _votes(self, X: RowsLike) -> NDArray[np.float64]:
        near, weights = self._asked(X)
        n_queries, n_classes = len(near), len(self.classes_)
        places = np.arange(n_queries)[:, None] * n_classes + self._numbers[near]
        votes = np.bincount(places.ravel(), weights.ravel(), n_queries * n_classes)
        return np.asarray(votes, dtype=np.float64).reshape(n_queries, n_classes)


@documented(_TEXTS)
class KernelNeighborsRegressor(RegressorMixin, _KernelNeighbors):
    """Regression by the nearest rows, with distances in feature space.

    The squared distance is k(x, x) - 2 k(x, z) + k(z, z). With a linear kernel this is
    scikit-learn's ``KNeighborsRegressor``.

    Parameters
    ----------
    {n_neighbors}
    {weights}
    {kernel}
    {degree}
    {gamma}
    {coef0}
    {prototypes}
    {n_jobs}

    Attributes
    ----------
    {support_}
    {prototypes_}
    {X_fit_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from mercer.neighbors import KernelNeighborsRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0]
    >>> model = KernelNeighborsRegressor(2, kernel="linear", weights="distance").fit(X, y)
    >>> model.predict([[1.5], [2.0]])
    array([2.5, 4. ])
    """

    @documented(_TEXTS)
    def fit(self, X: RowsLike, y: ArrayLike) -> "KernelNeighborsRegressor":
        """Keep rows and their values.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The values.

        Returns
        -------
        self : KernelNeighborsRegressor
            This estimator.
        """
        X = self._check_rows(X)
        target = checked_target(y, X, columns=True)
        with naming("y"):
            target = target.astype(np.float64)
        self._values = self._keep_rows(X, target)
        return self

    @documented(_TEXTS)
    def predict(self, X: RowsLike) -> NDArray[np.float64]:
        """Return the mean of the values of the neighbours, by their weights.

        Parameters
        ----------
        {X_queries}

        Returns
        -------
        ndarray of shape (n_queries,) or (n_queries, n_outputs)
            The values.
        """
        near, weights = self._asked(X)
        values = self._values[near]
        if values.ndim == 3:
            weights = weights[:, :, None]
        return np.asarray((values * weights).sum(axis=1) / weights.sum(axis=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
