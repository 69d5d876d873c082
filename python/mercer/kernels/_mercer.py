"""Mercer's theorem on a sample: its condition, and the features it promises."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer import _core
from mercer._data import MatrixLike, RowsLike
from mercer._kernel_rows import KernelRows, kernel_values
from mercer._params import check_integer, naming
from mercer.kernels._gamma import Gamma
from mercer.kernels._kernel import Kernel
from mercer.svm._docs import FEATURE_SPACE, documented
from mercer.svm._types import KernelLike

__all__ = ["MercerCheck", "MercerMap", "check"]


@dataclass(frozen=True)
class MercerCheck:
    """What Mercer's theorem asks of a kernel, and what its matrix on a sample has.

    Parameters
    ----------
    symmetric : bool
        Whether k(x, z) = k(z, x), to rounding.
    positive : bool
        Whether the matrix is symmetric and has no negative eigenvalue, to rounding. If not, the
        kernel is no Mercer kernel; if it is, the sample is no evidence against it.
    asymmetry : float
        The largest abs(k(x, z) - k(z, x)).
    smallest, largest : float
        The extreme eigenvalues of the symmetric part of the matrix.
    witness : ndarray of shape (n_rows,) or None
        Coefficients c of length one with c' K c < 0, None if there are none.

    Examples
    --------
    >>> from mercer.kernels import Linear, check
    >>> found = check(Linear(), [[1.0], [2.0]])
    >>> found.positive, round(found.largest, 6), found.witness
    (True, 5.0, None)
    """

    symmetric: bool
    positive: bool
    asymmetry: float
    smallest: float
    largest: float
    witness: NDArray[np.float64] | None


def check(kernel: Kernel | Callable[[Any, Any], Any] | str, X: RowsLike) -> MercerCheck:
    """Check Mercer's condition for a kernel on a sample.

    Parameters
    ----------
    kernel : Kernel or callable or 'precomputed'
        The kernel; if 'precomputed', `X` is its matrix.
    X : {array-like, sparse matrix} of shape (n_rows, n_features), or rows that the kernel takes
        The sample. It takes about n_rows^3 operations.

    Returns
    -------
    MercerCheck
        Whether the matrix is symmetric and positive semi-definite, and a witness if not.

    Examples
    --------
    >>> from mercer.kernels import Sigmoid, check
    >>> found = check(Sigmoid(gamma=1.0, coef0=-1.0), [[0.5], [1.0], [2.0]])
    >>> found.positive, found.smallest < 0.0
    (False, True)
    """
    if isinstance(kernel, str) and kernel == "precomputed":
        values = X
    elif isinstance(kernel, Kernel) or callable(kernel):
        values = kernel_values(kernel, X)
    else:
        raise TypeError(
            f"kernel must be an object of mercer.kernels, 'precomputed' or a callable, got "
            f"{kernel!r}"
        )
    with naming("kernel"):
        values = np.ascontiguousarray(values, dtype=np.float64)
    (symmetric, positive, asymmetry, smallest, largest), witness = _core.mercer_condition(values)
    return MercerCheck(
        symmetric=symmetric,
        positive=positive,
        asymmetry=asymmetry,
        smallest=smallest,
        largest=largest,
        witness=witness if symmetric and not positive else None,
    )


@documented(FEATURE_SPACE)
class MercerMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelRows):
    """The features that Mercer's theorem promises: sqrt(lambda_k) psi_k(x).

    lambda and psi are the eigenvalues and eigenfunctions of the kernel on the training rows, of
    which the matrix is decomposed: K = sum_k lambda_k v_k v_k'. Inner products of the features of
    two rows approximate their kernel value. With all components they are equal for training rows;
    for others they are those of the projections on the span of the training rows in feature space
    (Nystrom's method).

    Parameters
    ----------
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'laplacian', 'imq', 'precomputed'}, Kernel or \
callable, default='rbf'
        The kernel.
    n_components : int, default=None
        The most components; None for all with a positive eigenvalue.
    degree : int, default=3
        Degree of 'poly'.
    gamma : {'scale', 'auto', 'median'} or float, default='scale'
        Factor of 'rbf', 'poly', 'sigmoid' and 'laplacian'.
    coef0 : float, default=0.0
        Constant term of 'poly' and 'sigmoid'.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues lambda, the largest first.
    components_ : ndarray of shape (n_rows, n_components)
        What kernel values with the training rows are multiplied by.
    X_fit_ : rows
        The training rows; empty for a precomputed kernel.
    {n_features_in_}
    {feature_names_in_}

    References
    ----------
    Mercer: Functions of positive and negative type, and their connection with the theory of
    integral equations (1909).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF, MercerMap
    >>> X = np.array([[0.0], [0.5], [2.0]])
    >>> features = MercerMap(RBF(gamma=1.0)).fit_transform(X)
    >>> np.allclose(features @ features.T, RBF(gamma=1.0)(X))
    True
    """

    eigenvalues_: NDArray[np.float64]
    components_: NDArray[np.float64]

    def __init__(
        self,
        kernel: KernelLike = "rbf",
        n_components: int | None = None,
        *,
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def fit(self, X: MatrixLike, y: Any = None) -> "MercerMap":
        """Decompose the kernel matrix of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            The rows, or the kernel matrix if it is precomputed.
        y : object, default=None
            Ignored.

        Returns
        -------
        self : MercerMap
            The fitted map.
        """
        count = 2**62
        if self.n_components is not None:
            allowed = "None or a positive integer"
            count = check_integer("n_components", self.n_components, allowed, 1)
        X, matrix = self._take_rows(X)
        self.eigenvalues_, self.components_ = _core.mercer_features(matrix, count)
        self._keep(X, np.arange(len(matrix)))
        self.X_fit_ = self._rows
        return self

    def transform(self, X: MatrixLike) -> NDArray[Any]:
        """Return the features of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            The rows, or their kernel values with the training rows if these are precomputed.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            The features; float32 for rows in float32.
        """
        check_is_fitted(self)
        features = self._new_values(X) @ self.components_
        return features.astype(np.float32) if self._in_single(X) else features

    @staticmethod
    def _in_single(X: MatrixLike) -> bool:
        return bool(getattr(X, "dtype", None) == np.float32)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
