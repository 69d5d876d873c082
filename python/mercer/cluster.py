"""Clusters in feature space."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer import _core
from mercer._data import RowsLike, joined, length, weighted_rows
from mercer._feature_space import FeatureSpace, as_rows
from mercer._params import check_integer
from mercer._threads import thread_count
from mercer.svm._docs import FEATURE_SPACE, documented
from mercer.svm._sources import source_of

__all__ = ["KernelKMeans"]


@documented(FEATURE_SPACE)
class KernelKMeans(TransformerMixin, ClusterMixin, FeatureSpace):
    """k-means with distances in feature space.

    With a linear kernel and the same first centres it finds the clusters of scikit-learn's
    ``KMeans``. First centres are drawn by k-means++ in feature space.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    {kernel}
    {degree}
    {gamma}
    {coef0}
    init : 'k-means++' or array-like of shape (n_clusters,), default='k-means++'
        How the first centres are found: drawn far from each other, or the rows of these numbers.
    n_init : int, default=10
        Starts of 'k-means++', of which the best is kept.
    max_iter : int, default=300
        Iterations of each start.
    random_state : int, RandomState instance or None, default=None
        Where the numbers of 'k-means++' come from.
    {n_jobs}

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row. Clusters are numbered by their weight, the heaviest first, or, if
        `init` names rows, in the order of these.
    inertia_ : float
        Sum of squared distances in feature space from the nearest centre, weighted.
    n_iter_ : int
        Iterations of the best start.
    dual_coef_ : ndarray of shape (n_clusters, n_samples)
        Coefficients of the rows in the centres.
    {X_fit_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.cluster import KernelKMeans
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> model = KernelKMeans(2, gamma=1.0, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    >>> model.predict([[4.8]]) == model.labels_[2]
    array([ True])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    @documented(FEATURE_SPACE)
    def fit(
        self, X: RowsLike, y: None = None, sample_weight: ArrayLike | None = None
    ) -> "KernelKMeans":
        """Find the clusters.

        Parameters
        ----------
        {X}
        {y}
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. A row of weight 2 counts like two rows; rows of zero or negative
            weight do not count, but have a label.

        Returns
        -------
        self : KernelKMeans
            This estimator.
        """
        positive = "a positive integer"
        n_clusters = check_integer("n_clusters", self.n_clusters, positive, low=1)
        n_init = check_integer("n_init", self.n_init, positive, low=1)
        max_iter = check_integer("max_iter", self.max_iter, positive, low=1)
        X = source_of(self._check_kernel()).check(self, X, reset=True)
        keep, weight = weighted_rows(sample_weight, length(X) or 0)
        if len(keep) < n_clusters:
            raise ValueError(f"n_samples={len(keep)} should be >= n_clusters={n_clusters}.")
        training = self._take_rows(X, keep, weight)
        seeds = self._seeds(keep)
        settings = _core.ClusterSettings(
            n_clusters=n_clusters,
            seeds=seeds,
            n_init=n_init,
            max_iter=max_iter,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            n_threads=thread_count(self.n_jobs),
        )
        found = settings.fit(training.kernel, training.samples, weight)
        if not found.converged:
            warnings.warn(
                f"The clusters still changed after max_iter={max_iter} iterations.",
                ConvergenceWarning,
                stacklevel=2,
            )
        order = np.arange(n_clusters)
        if seeds is None:  # the heaviest first, whatever was drawn
            order = np.argsort(-np.bincount(found.labels, weight, n_clusters), kind="stable")
        self.dual_coef_, self._norms = found.coefficients[order], found.norms[order]
        self.inertia_, self.n_iter_ = found.inertia, max(1, found.iterations)
        complete = len(keep) == (length(X) or 0)
        labels = np.argsort(order)[found.labels] if complete else self.predict(X)
        self.labels_ = labels.astype(np.int32)
        return self

    def _seeds(self, keep: NDArray[np.intp]) -> NDArray[np.int64] | None:
        """Return the rows to begin with, among those that are kept; None to draw them."""
        if isinstance(self.init, str):
            if self.init == "k-means++":
                return None
            raise ValueError(f"init must be 'k-means++' or row numbers, got {self.init!r}")
        rows = np.asarray(self.init)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not np.isin(rows, keep).all():
            raise ValueError("init must be 'k-means++' or numbers of rows of positive weight")
        return np.searchsorted(keep, rows).astype(np.int64)

    def _products(self, X: RowsLike) -> NDArray[np.float64]:
        """Return the inner products with the centres."""
        return self._project(X, self.dual_coef_, np.zeros(len(self._norms)))

    @documented(FEATURE_SPACE)
    def predict(self, X: RowsLike) -> NDArray[np.int32]:
        """Return the nearest cluster of each row.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers of clusters.
        """
        check_is_fitted(self)
        X = self._check_new(X)
        squares = self._norms - 2.0 * self._products(X)
        return np.asarray(squares.argmin(axis=1), dtype=np.int32)

    def transform(self, X: RowsLike) -> NDArray[Any]:
        """Return the distances from the centres, in feature space.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
(n_samples, n_samples_fit)
            As in `predict`; a precomputed kernel needs a constant diagonal.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            The distances.
        """
        check_is_fitted(self)
        X = self._check_new(X)
        own = joined(self._source().diagonal(X, self._constant()))
        squares = own[:, None] - 2.0 * self._products(X) + self._norms
        return as_rows(np.sqrt(np.maximum(squares, 0.0)), X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
