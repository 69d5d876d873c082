"""Random Fourier features of kernels that depend on differences of rows."""

from math import pi, sqrt
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._data import MatrixLike, canonical, checked
from mercer._params import check_integer, naming
from mercer.kernels import RBF, Laplacian, Matern
from mercer.kernels._kernel import Kernel, Product, Scaled, Sum
from mercer.svm._docs import FEATURE_SPACE, documented
from mercer.svm._parameters import KernelParameters
from mercer.svm._state import freeze
from mercer.svm._types import Gamma, KernelLike, RandomState

__all__ = ["RandomFeatures"]

_Self = TypeVar("_Self", bound="RandomFeatures")

#: Features per block of rows while their cosines are computed: 8 MB in float64.
_BLOCK_VALUES = 2**20


def _spectrum(
    kernel: Kernel, shape: tuple[int, int], random: np.random.RandomState
) -> tuple[NDArray[np.float64], float]:
    """Return frequencies drawn from the Fourier transform of a kernel, and k(x, x).

    By Bochner's theorem, k(x, z) = k(0, 0) E cos(w.(x - z)). A product of kernels has sums of
    frequencies, and a sum has those of its terms in proportion to k(0, 0).
    """
    count = shape[1]
    if isinstance(kernel, RBF):
        return sqrt(2.0 * float(kernel.gamma)) * random.normal(size=shape), 1.0
    if isinstance(kernel, Laplacian):
        return float(kernel.gamma) * random.standard_cauchy(size=shape), 1.0
    if isinstance(kernel, Matern):
        # Student's t distribution with 2 nu degrees of freedom.
        freedom = 2.0 * kernel.nu
        lengths = np.sqrt(freedom / random.chisquare(freedom, size=count))
        return random.normal(size=shape) * lengths / kernel.length_scale, 1.0
    if isinstance(kernel, Scaled):
        frequencies, size = _spectrum(kernel.kernel, shape, random)
        return frequencies, float(kernel.factor) * size
    if isinstance(kernel, Product):
        left, of_left = _spectrum(kernel.left, shape, random)
        right, of_right = _spectrum(kernel.right, shape, random)
        return left + right, of_left * of_right
    if isinstance(kernel, Sum):
        left, of_left = _spectrum(kernel.left, shape, random)
        right, of_right = _spectrum(kernel.right, shape, random)
        whole = of_left + of_right
        is_left = random.uniform(size=count) * whole < of_left
        return np.where(is_left, left, right), whole
    raise ValueError(
        "kernel must be a Gaussian, Laplacian or Matern kernel, or built from these by sums, "
        f"products and factors, got {kernel!r}: Nystroem takes any kernel"
    )


@documented(FEATURE_SPACE)
class RandomFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelParameters):
    """Random features whose inner products are those of a kernel on average.

    The features of z are sqrt(2 k(z, z) / D) cos(W' z + b), with the D columns of W drawn from the
    Fourier transform of the kernel and b from 0 to 2 pi. No rows are kept. The kernel is a
    Gaussian, Laplacian or Matern one, or built from these by sums, products and factors.

    Parameters
    ----------
    {kernel}
    {gamma}
    n_components : int, default=100
        The number of features.
    {random_state}

    Attributes
    ----------
    random_weights_ : ndarray of shape (n_features, n_components)
        The frequencies W.
    random_offset_ : ndarray of shape (n_components,)
        The phases b.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    Rahimi, Recht: Random features for large-scale kernel machines, NIPS 20 (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernel_approximation import RandomFeatures
    >>> from mercer.kernels import RBF
    >>> X = np.array([[0.0], [0.5], [2.0]])
    >>> features = RandomFeatures(RBF(gamma=1.0), n_components=20000, random_state=0)
    >>> mapped = features.fit_transform(X)
    >>> bool(np.abs(mapped @ mapped.T - RBF(gamma=1.0)(X)).max() < 0.02)
    True
    """

    degree: Any = 3
    coef0: Any = 0.0

    random_weights_: NDArray[np.float64]
    random_offset_: NDArray[np.float64]

    def __init__(
        self,
        kernel: KernelLike = "rbf",
        *,
        gamma: Gamma = "scale",
        n_components: int = 100,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state

    @documented(FEATURE_SPACE)
    def fit(self: _Self, X: MatrixLike, y: object = None) -> _Self:
        """Draw the frequencies.

        Parameters
        ----------
        {X}
        {y}

        Returns
        -------
        self : RandomFeatures
            The fitted transformer.
        """
        kernel = self._check_kernel()
        count = check_integer("n_components", self.n_components, "a positive integer", 1)
        if not isinstance(kernel, Kernel) or kernel._of_sequences:
            raise ValueError(
                f"kernel must be a kernel of mercer.kernels of numbers, got {kernel!r}"
            )
        X = self._check(X, reset=True)
        random = check_random_state(self.random_state)
        self._fit_kernel = kernel._fitted_to(X)
        weights, size = _spectrum(self._fit_kernel, (X.shape[1], count), random)
        self.random_weights_ = freeze(weights)
        self.random_offset_ = freeze(random.uniform(0.0, 2.0 * pi, size=count))
        self._scale = sqrt(2.0 * size / count)
        return self

    def _kernel_of_map(self) -> Kernel:
        """Return the kernel that the map approximates, its parameters being numbers."""
        return self._fit_kernel

    def _check(self, X: MatrixLike, *, reset: bool) -> MatrixLike:
        X = checked(self, X, accept_sparse="csr", reset=reset)
        with naming("X"):
            return canonical(X)

    @documented(FEATURE_SPACE)
    def transform(self, X: MatrixLike) -> NDArray[Any]:
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
        X = self._check(X, reset=False)
        width = len(self.random_offset_)
        features = np.empty((X.shape[0], width), dtype=X.dtype)
        weights = self.random_weights_.astype(X.dtype)
        offset = self.random_offset_.astype(X.dtype)
        step = max(1, _BLOCK_VALUES // width)
        for start in range(0, X.shape[0], step):
            block = features[start : start + step]
            if sp.issparse(X):
                block[:] = X[start : start + step] @ weights
            else:
                np.matmul(X[start : start + step], weights, out=block)
            block += offset
            np.cos(block, out=block)
            block *= features.dtype.type(self._scale)
        return features

    @property
    def _n_features_out(self) -> int:
        return len(self.random_offset_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
