"""Discriminants in feature space."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer import _core
from mercer._data import RowsLike, weighted_rows
from mercer._feature_space import FeatureSpace, as_rows
from mercer._params import check_integer, check_positive
from mercer._targets import checked_classes, several_classes
from mercer._threads import thread_count
from mercer.svm._docs import FEATURE_SPACE, documented
from mercer.svm._sources import source_of

__all__ = ["KernelFisherDiscriminant"]


@documented(FEATURE_SPACE)
class KernelFisherDiscriminant(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, FeatureSpace
):
    """Fisher's discriminant analysis in feature space: a classifier and a transformer.

    The discriminants are the directions in feature space along which the means of the classes lie
    farthest apart, measured by the scatter within the classes plus `reg` times the identity. With a
    linear kernel this is linear discriminant analysis: ``LinearDiscriminantAnalysis(solver='eigen',
    shrinkage=s)`` has the same discriminants for ``reg = s / (1 - s) * trace(S) / n_features``, S
    being the covariance within the classes.

    There is no `predict_proba`: within the training rows the projected classes are far narrower
    than among new rows, so the Gaussians fitted to them would be sure of everything.

    The fit holds the kernel matrix and factors it, in time that grows with the cube of the number
    of rows. For many rows, `n_landmarks` of them stand for all, and time and memory grow linearly.

    Parameters
    ----------
    {kernel}
    {degree}
    {gamma}
    {coef0}
    reg : float or 'auto', default='auto'
        What is added to the diagonal of the scatter within the classes, positive. 'auto' takes the
        largest value whose squared error of rows left out one by one is within 1% of the least,
        computed in closed form for the regression on class indicators that has the same
        discriminants.
    priors : array-like of shape (n_classes,), default=None
        Shares of the classes, by default those of their rows.
    n_components : int, default=None
        Number of discriminants that `transform` returns, None for all.
    n_landmarks : int, default=None
        Rows that stand for all in feature space: discriminants are sums over these alone, and all
        rows count by their projections on them. They are chosen one after another, each the row
        that those before explain least (pivoted Cholesky). None for all rows.
    {n_jobs}

    Attributes
    ----------
    {classes_}
    priors_ : ndarray of shape (n_classes,)
        Shares of the classes.
    reg_ : float
        What was added to the diagonal.
    reg_path_ : ndarray of shape (n_values, 2)
        Values of `reg` that were tried, each with its squared error; empty unless 'auto'.
    means_ : ndarray of shape (n_classes, n_discriminants)
        The projected means of the classes.
    eigenvalues_ : ndarray of shape (n_discriminants,)
        Variance between the classes over that within, along each discriminant.
    explained_variance_ratio_ : ndarray of shape (n_discriminants,)
        The share of each in their sum.
    dual_coef_ : ndarray of shape (n_discriminants, n_samples) or (n_discriminants, n_landmarks)
        Coefficients of the rows, or of the landmarks, in the discriminants.
    landmarks_ : ndarray of shape (n_landmarks,)
        The rows that stand for all; only with `n_landmarks`. Fewer than asked for if these are
        enough.
    intercept_ : ndarray of shape (n_discriminants,)
        Constants of the discriminants: the mean of the rows is at zero.
    {X_fit_}
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer.discriminant_analysis import KernelFisherDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelFisherDiscriminant().fit(X, y)
    >>> model.transform(X).shape
    (150, 2)
    >>> model.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        reg: float | str = "auto",
        priors: ArrayLike | None = None,
        n_components: int | None = None,
        n_landmarks: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.reg = reg
        self.priors = priors
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.n_jobs = n_jobs

    @documented(FEATURE_SPACE)
    def fit(
        self, X: RowsLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> "KernelFisherDiscriminant":
        """Find the discriminants.

        Parameters
        ----------
        {X}
        y : array-like of shape (n_samples,)
            The labels.
        {sample_weight}

        Returns
        -------
        self : KernelFisherDiscriminant
            This estimator.
        """
        automatic = isinstance(self.reg, str) and self.reg == "auto"
        reg = None if automatic else check_positive("reg", self.reg, "'auto' or a positive number")
        count = self.n_landmarks
        if count is not None:
            count = check_integer("n_landmarks", count, "None or a positive integer", low=1)
        X = source_of(self._check_kernel()).check(self, X, reset=True)
        target = checked_classes(y, X)
        keep, weight = weighted_rows(sample_weight, len(target))
        self.classes_, labels = several_classes(target[keep])
        training = self._take_rows(X, keep, weight)
        settings = _core.DiscriminantSettings(
            reg=reg,
            priors=None if self.priors is None else np.asarray(self.priors, dtype=np.float64),
            n_landmarks=count,
            n_threads=thread_count(self.n_jobs),
        )
        found = settings.fit(training.kernel, training.samples, labels, weight)
        self._keep_landmarks(found.landmarks)
        shares = np.bincount(labels, weights=weight) / weight.sum()
        given = shares if self.priors is None else np.asarray(self.priors, dtype=np.float64)
        self.priors_ = given / given.sum()
        self.reg_, self.reg_path_ = found.reg, np.array(found.tried).reshape(-1, 2)
        self.means_, self.eigenvalues_ = found.means, found.eigenvalues
        total = found.eigenvalues.sum()
        self.explained_variance_ratio_ = found.eigenvalues / (total if total > 0.0 else 1.0)
        self.dual_coef_, self.intercept_ = found.coefficients, found.intercept
        return self

    def _keep_landmarks(self, landmarks: NDArray[np.int32] | None) -> None:
        """Keep the landmarks alone of the rows learned from, if there are any."""
        self.__dict__.pop("landmarks_", None)
        if landmarks is not None:
            self.landmarks_ = self._columns = self._columns[landmarks]
            self.X_fit_ = self._source().rows(self.X_fit_, landmarks)

    def _coordinates(self, X: RowsLike) -> tuple[RowsLike, NDArray[np.float64]]:
        check_is_fitted(self)
        X = self._check_new(X)
        return X, self._project(X, self.dual_coef_, self.intercept_)

    @documented(FEATURE_SPACE)
    def transform(self, X: RowsLike) -> NDArray[Any]:
        """Project rows on the discriminants, in which the classes have unit variance.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The projections.
        """
        X, values = self._coordinates(X)
        return as_rows(values[:, : self._n_features_out], X)

    @documented(FEATURE_SPACE)
    def decision_function(self, X: RowsLike) -> NDArray[np.float64]:
        """Return how far rows are on the side of each class.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores that are largest for the class with the nearest projected mean, priors counted;
            of two classes, that of the second minus that of the first.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def _scores(self, X: RowsLike) -> NDArray[np.float64]:
        _, values = self._coordinates(X)
        constants = np.log(self.priors_) - 0.5 * np.square(self.means_).sum(axis=1)
        return np.asarray(values @ self.means_.T + constants)

    @documented(FEATURE_SPACE)
    def predict(self, X: RowsLike) -> NDArray[Any]:
        """Return the class of each row.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.
        """
        scores = self._scores(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    @property
    def _n_features_out(self) -> int:
        found = len(self.intercept_)
        return found if self.n_components is None else min(found, int(self.n_components))
