"""Nystrom's method: features from kernel values with a few of the rows."""

from typing import Any, TypeVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._data import RowsLike, length, take_rows
from mercer._feature_space import FeatureSpace, as_rows
from mercer._params import check_integer
from mercer._threads import thread_count
from mercer.kernels._kernel import Kernel
from mercer.svm._docs import FEATURE_SPACE, documented
from mercer.svm._sources import Custom, source_of
from mercer.svm._state import freeze
from mercer.svm._types import Gamma, KernelLike, RandomState

__all__ = ["Nystroem"]

_Self = TypeVar("_Self", bound="Nystroem")

#: Eigenvalues below this share of the largest are rounding, and their features are zero.
_ROUNDING = 1e-12

#: Features per block of rows: what a tile of kernel values and its product take, 16 MB in float64.
_BLOCK_VALUES = 2**21


@documented(FEATURE_SPACE)
class Nystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FeatureSpace):
    """Features whose inner products approximate a kernel, from a sample of the rows.

    With B the sample and K_BB = U diag(s) U' its kernel matrix, the features of z are
    k(z, B) U diag(s)^(-1/2) U': those of the projection of phi(z) on the span of the sample. Inner
    products are exact for rows of the sample. The interface is that of scikit-learn's `Nystroem`,
    and so is the map for the same sample. Kernel values are computed in tiles by all threads and
    multiplied at once, so that only the features take memory.

    Parameters
    ----------
    {kernel}
    {gamma}
    {coef0}
    {degree}
    n_components : int, default=100
        Rows in the sample, and features. All rows if there are no more.
    {random_state}
    {n_jobs}

    Attributes
    ----------
    components_ : ndarray or sparse matrix of shape (n_components, n_features)
        The rows of the sample.
    component_indices_ : ndarray of shape (n_components,)
        Their numbers.
    normalization_ : ndarray of shape (n_components, n_components)
        K_BB^(-1/2): what kernel values with the sample are multiplied by.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    Williams, Seeger: Using the Nystrom method to speed up kernel machines, NIPS 13 (2001).

    Examples
    --------
    >>> from mercer import LinearSVC
    >>> from mercer.datasets import load_sonar
    >>> from mercer.kernel_approximation import Nystroem
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_sonar(return_X_y=True)
    >>> model = make_pipeline(Nystroem(n_components=50, random_state=0), LinearSVC(C=10.0))
    >>> model.fit(X, y).score(X, y) > 0.85
    True
    """

    components_: Any
    component_indices_: NDArray[np.int32]
    normalization_: NDArray[np.float64]

    def __init__(
        self,
        kernel: KernelLike = "rbf",
        *,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        degree: int = 3,
        n_components: int = 100,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.n_components = n_components
        self.random_state = random_state
        self.n_jobs = n_jobs

    @documented(FEATURE_SPACE)
    def fit(self: _Self, X: RowsLike, y: object = None) -> _Self:
        """Draw the sample and decompose its kernel matrix.

        Parameters
        ----------
        {X}
        {y}

        Returns
        -------
        self : Nystroem
            The fitted transformer.
        """
        kernel = self._check_kernel()
        count = check_integer("n_components", self.n_components, "a positive integer", 1)
        thread_count(self.n_jobs)
        if isinstance(kernel, str):
            raise ValueError("kernel must not be 'precomputed' here: give a function")
        X = source_of(kernel).check(self, X, reset=True)
        n_rows = length(X) or 0
        random = check_random_state(self.random_state)
        self.component_indices_ = random.permutation(n_rows)[:count].astype(np.int32)
        kernel = self._fix_kernel(kernel, X)
        self.components_ = freeze(take_rows(X, self.component_indices_))
        self._columns = np.arange(len(self.component_indices_), dtype=np.int32)
        values = self._values(self.components_)
        eigenvalues, vectors = scipy.linalg.eigh(values)
        kept = eigenvalues > _ROUNDING * eigenvalues[-1]
        scales = np.zeros(len(eigenvalues))
        scales[kept] = 1.0 / np.sqrt(eigenvalues[kept])
        self.normalization_ = freeze((vectors * scales) @ vectors.T)
        return self

    def _kernel_of_map(self) -> Any:
        """Return the kernel that the map approximates, its parameters being numbers."""
        return self._fit_kernel

    @property
    def _model_rows(self) -> Any:
        return self.components_

    def _values(self, X: RowsLike) -> NDArray[np.float64]:
        """Return the kernel values of checked rows with the sample."""
        kernel = self._fit_kernel
        if isinstance(kernel, Kernel):
            return kernel._values(X, self.components_, thread_count(self.n_jobs))
        source = source_of(kernel)
        assert isinstance(source, Custom)
        return source.values(X, self.components_)

    @documented(FEATURE_SPACE)
    def transform(self, X: RowsLike) -> NDArray[Any]:
        """Compute the features of rows.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The features; float32 for rows in float32.
        """
        check_is_fitted(self)
        X = self._check_new(X)
        n_rows, width = length(X) or 0, len(self.component_indices_)
        single = getattr(X, "dtype", None) == np.float32
        features = np.empty((n_rows, width), dtype=np.float32 if single else np.float64)
        matrix = self.normalization_.astype(features.dtype)
        step = max(1, _BLOCK_VALUES // width)
        for start in range(0, n_rows, step):
            block = take_rows(X, slice(start, start + step))
            values = as_rows(self._values(block), features)
            # The matrix is symmetric: no transpose.
            np.matmul(values, matrix, out=features[start : start + step])
        return features

    @property
    def _n_features_out(self) -> int:
        return len(self.component_indices_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
