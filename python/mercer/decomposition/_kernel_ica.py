"""Independent components in feature space."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer import _core
from mercer._data import RowsLike, length
from mercer._feature_space import FeatureSpace, as_rows
from mercer._params import check_integer
from mercer._threads import thread_count
from mercer.kernels._gamma import Gamma
from mercer.svm._docs import FEATURE_SPACE, documented
from mercer.svm._sources import source_of
from mercer.svm._types import KernelLike

__all__ = ["KernelICA"]

#: Axes of the basis whose variance is below this share of the largest have no signal but rounding.
_ROUNDING = 1e-12


@documented(FEATURE_SPACE)
class KernelICA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FeatureSpace):
    """Independent components in feature space: sources of time series that were mixed nonlinearly.

    This is kTDSEP (Harmeling, Ziehe, Kawanabe and Müller, 2003). Rows are the samples of the
    mixtures, in the order of time. They are projected on a basis of `n_basis` dimensions in feature
    space, found by kernel PCA, and made white; then a rotation makes their covariances with
    themselves, `n_lags` times delayed by 1, 2, ..., as diagonal as can be (TDSEP, Ziehe and Müller,
    1998). Sources whose autocorrelations differ come apart if the basis holds functions that undo
    the mixing.

    Of the `n_basis` signals that come out, most are functions of the sources. Those that are kept
    are chosen one after another: the signal with the largest sum of squared autocorrelations, of
    what polynomials in those chosen before do not explain. Signs and scales of sources cannot be
    known: each has the variance 1, and its largest value in size is positive. Of purely periodic
    sources, such as a sine beside a sawtooth, one may be missed.

    Parameters
    ----------
    n_components : int, default=2
        Number of sources.
    {kernel}
    {degree}
    {gamma}
    {coef0}
    n_basis : int, default=20
        Dimensions of the basis in feature space. More can undo more, but also fit noise.
    n_lags : int, default=20
        Number of delays. They should reach over the time in which the sources differ.
    {n_jobs}

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_components, n_samples)
        Coefficients of the rows in the sources.
    intercept_ : ndarray of shape (n_components,)
        Constants of the sources: their mean is zero.
    autocorrelations_ : ndarray of shape (n_components, n_lags)
        Autocorrelations of the sources at the delays 1, 2, ...
    n_basis_ : int
        Dimensions of the basis that have a signal.
    {X_fit_}
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    Harmeling, Ziehe, Kawanabe, Müller: Kernel-based nonlinear blind source separation, Neural
    Computation 15 (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.decomposition import KernelICA
    >>> from scipy.signal import lfilter
    >>> noise = np.random.default_rng(0).normal(size=(2, 1000))
    >>> slow, fast = lfilter([1], [1, -1.9, 0.95], noise[0]), lfilter([1], [1, -1.2, 0.9], noise[1])
    >>> sources = np.array([slow / abs(slow).max(), fast / abs(fast).max()])
    >>> angle, radius = 0.5 * np.pi * sources[0], sources[1] + 2.0
    >>> X = np.c_[radius * np.cos(angle), radius * np.sin(angle)]
    >>> found = KernelICA(2).fit_transform(X)
    >>> likeness = abs(np.corrcoef(found.T, sources)[:2, 2:])
    >>> bool((likeness.max(axis=0) > 0.98).all())
    True
    """

    dual_coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    autocorrelations_: NDArray[np.float64]
    n_basis_: int

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        n_basis: int = 20,
        n_lags: int = 20,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.n_basis = n_basis
        self.n_lags = n_lags
        self.n_jobs = n_jobs

    @documented(FEATURE_SPACE)
    def fit(self, X: RowsLike, y: None = None) -> "KernelICA":
        """Find the sources.

        Parameters
        ----------
        {X}
        {y}

        Returns
        -------
        self : KernelICA
            This estimator.
        """
        positive = "a positive integer"
        n_components = check_integer("n_components", self.n_components, positive, low=1)
        n_basis = check_integer("n_basis", self.n_basis, positive, low=1)
        n_lags = check_integer("n_lags", self.n_lags, positive, low=1)
        X = source_of(self._check_kernel()).check(self, X, reset=True)
        n_rows = length(X) or 0
        if n_rows < 3:
            raise ValueError(f"X must have at least 3 samples in time, got n_samples={n_rows}")
        basis = self._basis(X, min(max(n_basis, n_components), n_rows))
        kept = basis.eigenvalues > _ROUNDING * basis.eigenvalues[0]
        self.n_basis_ = int(kept.sum())
        # Signals of variance 1, and the functions that make them.
        white = np.sqrt(n_rows) * basis.eigenvectors[:, kept]
        scales = np.sqrt(n_rows / basis.eigenvalues[kept])
        rotation, self.autocorrelations_ = _core.sources(white, n_components, n_lags)
        functions = scales[:, None] * rotation
        self.dual_coef_ = functions.T @ basis.coefficients[kept]
        self.intercept_ = functions.T @ basis.intercept[kept]
        return self

    @documented(FEATURE_SPACE)
    def transform(self, X: RowsLike) -> NDArray[Any]:
        """Return the sources of rows.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The sources.
        """
        check_is_fitted(self)
        X = self._check_new(X)
        return as_rows(self._project(X, self.dual_coef_, self.intercept_), X)

    def _basis(self, X: RowsLike, n_basis: int) -> _core.Components:
        """Return the leading components of the rows in feature space."""
        training = self._take_rows(X)
        settings = _core.ComponentSettings(
            n_components=n_basis,
            eigen_solver="auto",
            tol=0.0,
            max_iter=None,
            iterated_power=None,
            seed=0,
            cache_bytes=None,
            n_threads=thread_count(self.n_jobs),
        )
        basis = settings.fit(training.kernel, training.samples, np.ones(length(X) or 0))
        if not basis.eigenvalues[0] > 0.0:
            raise ValueError("X must have rows that differ: the kernel does not tell them apart")
        return basis

    @property
    def _n_features_out(self) -> int:
        return len(self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
