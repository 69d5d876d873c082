"""Kernel principal component analysis."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer import _core
from mercer._data import MatrixLike, RowsLike, check_rows, length, weighted_rows
from mercer._feature_space import FeatureSpace, as_rows, is_dense
from mercer._params import (
    check_bool,
    check_choice,
    check_integer,
    check_non_negative,
    check_positive,
)
from mercer._threads import thread_count
from mercer.kernels import RBF
from mercer.kernels._kernel import Kernel
from mercer.svm._docs import FEATURE_SPACE, documented
from mercer.svm._sources import KernelFunction, source_of

__all__ = ["KernelPCA"]

#: Training rows near a point at which the search for its pre-image may begin.
_STARTS = 3
#: Steps of that search, and the change of a point, as a share of its length, that ends it.
_STEPS = 200
_STILL = 1e-7
#: Values of a temporary array.
_VALUES = 2**22


@documented(FEATURE_SPACE)
class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FeatureSpace):
    """Kernel principal component analysis, with scikit-learn's parameters and attributes.

    The components are directions of largest variance in feature space: eigenvectors of the
    centred kernel matrix. Eigenvalues and projections are scikit-learn's, signs included, as far as
    they are unique. No kernel matrix is held unless it fits into memory, and new rows are
    projected in tiles.

    Parameters
    ----------
    n_components : int, default=None
        Number of components. None keeps all whose eigenvalue is not zero.
    kernel : str, object of `mercer.kernels` or callable, default='linear'
        The kernel function: 'linear', 'poly', 'rbf', 'sigmoid', 'laplacian', 'imq', 'cosine', or
        'precomputed' if `X` is the kernel matrix itself; an object such as ``RBF(sigma=1.5)``; or a
        callable ``k(A, B)`` that returns an array of shape (len(A), len(B)).
    gamma : {'scale', 'auto', 'median'} or float, default=None
        Coefficient of the 'rbf', 'poly', 'sigmoid' and 'laplacian' kernels. None and 'auto' are
        1 / n_features.
    degree : int, default=3
        Degree of the 'poly' kernel.
    coef0 : float, default=1
        Constant term of the 'poly' and 'sigmoid' kernels.
    kernel_params : dict, default=None
        Keyword arguments of a callable kernel.
    alpha : float, default=1.0
        Ridge of the regression that learns pre-images, with ``pre_image='ridge'``.
    fit_inverse_transform : bool, default=False
        Whether to learn pre-images in `fit`. ``pre_image='fixed_point'`` needs no learning.
    eigen_solver : {'auto', 'dense', 'arpack', 'randomized'}, default='auto'
        'dense' decomposes the matrix; 'arpack' stands for block Lanczos iterations, which compute
        kernel values again where they do not fit into memory; 'randomized' takes a fixed number of
        passes. 'auto' is 'arpack' for more than 300 rows and few components. Ctrl-C ends all but
        the decomposition itself at once.
    tol : float, default=0
        Residual, as a share of the eigenvalue, that 'arpack' may leave. 0 is that of rounding.
    max_iter : int, default=None
        Passes over the kernel values that 'arpack' may take, None for no limit.
    iterated_power : int or 'auto', default='auto'
        Passes of 'randomized' after the first.
    remove_zero_eig : bool, default=False
        Whether to remove components whose eigenvalue is zero.
    random_state : int, RandomState instance or None, default=None
        Where the vectors that 'arpack' and 'randomized' begin with come from.
    copy_X : bool, default=True
        Not used, since `X` is never changed: it is kept as it is if it needs no conversion.
    {n_jobs}
    pre_image : {'ridge', 'fixed_point'}, default='ridge'
        How `inverse_transform` finds points: by kernel ridge regression, as scikit-learn does, or,
        for the RBF kernel, by the fixed-point iteration of Mika et al. (1999).
    cache_size : 'auto' or float, default='auto'
        Memory for kernel values in MB. 'auto' is up to 2048, and up to half of what is free.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the centred kernel matrix, the largest first.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Its eigenvectors, of length one.
    dual_coef_ : ndarray of shape (n_samples, n_features)
        Coefficients of the regression that learns pre-images; only with ``fit_inverse_transform``.
    X_transformed_fit_ : ndarray of shape (n_samples, n_components)
        Projections of the rows; only with ``fit_inverse_transform``.
    {X_fit_}
    gamma_ : float
        The coefficient of the kernel, if it has one of its own.
    {n_features_in_}
    {feature_names_in_}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from mercer.decomposition import KernelPCA
    >>> X, _ = load_digits(return_X_y=True)
    >>> pca = KernelPCA(n_components=7, kernel="rbf", gamma="scale").fit(X)
    >>> pca.transform(X[:5]).shape
    (5, 7)
    """

    _gamma_is_optional = True

    eigenvalues_: NDArray[np.float64]
    eigenvectors_: NDArray[np.float64]
    dual_coef_: NDArray[np.float64]
    X_transformed_fit_: NDArray[np.float64]
    _coefficients: NDArray[np.float64]
    _intercept: NDArray[np.float64]
    _shares: NDArray[np.float64]

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "linear",
        gamma: Any = None,
        degree: int = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        iterated_power: int | str = "auto",
        remove_zero_eig: bool = False,
        random_state: Any = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
        pre_image: str = "ridge",
        cache_size: float | str = "auto",
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.copy_X = copy_X
        self.n_jobs = n_jobs
        self.pre_image = pre_image
        self.cache_size = cache_size

    @documented(FEATURE_SPACE)
    def fit(
        self, X: RowsLike, y: None = None, sample_weight: ArrayLike | None = None
    ) -> "KernelPCA":
        """Find the components.

        Parameters
        ----------
        {X}
        {y}
        {sample_weight}

        Returns
        -------
        self : KernelPCA
            This estimator.
        """
        settings = self._settings()
        if self.fit_inverse_transform and isinstance(self.kernel, str) and self._is_precomputed():
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        X = source_of(self._check_kernel()).check(self, X, reset=True)
        keep, weight = weighted_rows(sample_weight, length(X) or 0)
        training = self._take_rows(X, keep, weight)
        found = settings.fit(training.kernel, training.samples, weight)
        if not found.converged:
            warnings.warn(
                f"The eigenvalues did not converge in max_iter={self.max_iter} passes: the "
                "components can be used but are not exact. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        values = found.eigenvalues
        kept = values > 0.0 if self.remove_zero_eig else np.ones(len(values), dtype=bool)
        self.eigenvalues_ = as_rows(values[kept], self.X_fit_)
        self.eigenvectors_ = as_rows(found.eigenvectors[:, kept], self.X_fit_)
        self._coefficients = found.coefficients[kept]
        self._intercept = found.intercept[kept]
        self._shares = weight / weight.sum()
        self._roots = np.sqrt(weight)
        self._all_kept = len(keep) == (length(X) or 0)
        gamma = getattr(self._fit_kernel, "gamma", None)
        self.gamma_ = 1.0 / X.shape[1] if gamma is None and hasattr(X, "shape") else gamma
        if self.fit_inverse_transform:
            self._learn_pre_images()
        return self

    @documented(FEATURE_SPACE)
    def fit_transform(
        self, X: RowsLike, y: None = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[Any]:
        """Find the components and project the rows on them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            As in `fit`.
        {y}
        sample_weight : array-like of shape (n_samples,), default=None
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The projections.
        """
        self.fit(X, sample_weight=sample_weight)
        return self._projections() if self._all_kept else self.transform(X)

    @documented(FEATURE_SPACE)
    def transform(self, X: RowsLike) -> NDArray[Any]:
        """Project rows on the components.

        Parameters
        ----------
        {X_new}

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The projections.
        """
        check_is_fitted(self)
        X = self._check_new(X)
        return as_rows(self._project(X, self._coefficients, self._intercept), X)

    def inverse_transform(self, X: MatrixLike, start: MatrixLike | None = None) -> NDArray[Any]:
        """Return points whose projections are near to those given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Projections, as `transform` returns them.
        start : array-like of shape (n_samples, n_features), default=None
            Points at which the search for fixed points may begin, such as the noisy rows that are
            to be cleaned; beside them it tries the training rows with the nearest projections.
            Not used by ``pre_image='ridge'``.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The points.
        """
        check_is_fitted(self)
        coordinates = np.ascontiguousarray(check_rows(X, "X"), dtype=np.float64)
        if coordinates.shape[1] != len(self.eigenvalues_):
            raise ValueError(
                f"X must have {len(self.eigenvalues_)} columns, one for each component, got "
                f"{coordinates.shape[1]}"
            )
        if check_choice("pre_image", self.pre_image, ("ridge", "fixed_point")) == "fixed_point":
            return self._fixed_points(coordinates, start)
        if not hasattr(self, "dual_coef_"):
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True when instantiating and "
                "hence the inverse transform is not available."
            )
        kernel: Any = self._fit_kernel
        return np.asarray(kernel(coordinates, self.X_transformed_fit_) @ self.dual_coef_)

    # Parameters

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _given_kernel(self) -> Kernel | str | KernelFunction:
        if isinstance(self.kernel, str) and self.kernel == "cosine":
            from sklearn.metrics.pairwise import cosine_similarity

            return cosine_similarity  # type: ignore[no-any-return]
        if callable(self.kernel) and not isinstance(self.kernel, Kernel) and self.kernel_params:
            function, options = self.kernel, dict(self.kernel_params)
            return lambda A, B: function(A, B, **options)
        return super()._given_kernel()

    def _named_kernel(self, name: str) -> Kernel | str:
        if self.gamma is not None:
            return super()._named_kernel(name)
        gamma, self.gamma = self.gamma, "auto"
        try:
            return super()._named_kernel(name)
        finally:
            self.gamma = gamma

    def _settings(self) -> _core.ComponentSettings:
        """Return how components are found; raise unless every parameter is allowed."""
        check_non_negative("alpha", self.alpha)
        check_bool("fit_inverse_transform", self.fit_inverse_transform)
        check_bool("remove_zero_eig", self.remove_zero_eig)
        check_choice("pre_image", self.pre_image, ("ridge", "fixed_point"))
        some = "None or a positive integer"
        n_components, max_iter, power = self.n_components, self.max_iter, self.iterated_power
        if n_components is not None:
            n_components = check_integer("n_components", n_components, some, low=1)
        if max_iter is not None:
            max_iter = check_integer("max_iter", max_iter, some, low=1)
        if isinstance(power, str):
            check_choice("iterated_power", power, ("auto", "auto"))
            passes = None
        else:
            passes = check_integer("iterated_power", power, "'auto' or an integer from 0 on", low=0)
        cache = None
        if not (isinstance(self.cache_size, str) and self.cache_size == "auto"):
            size = check_positive("cache_size", self.cache_size, "'auto' or a positive number")
            cache = int(size * 2**20)
        return _core.ComponentSettings(
            n_components=n_components,
            eigen_solver=check_choice(
                "eigen_solver", self.eigen_solver, ("auto", "dense", "arpack", "randomized")
            ),
            tol=check_non_negative("tol", self.tol),
            max_iter=max_iter,
            iterated_power=passes,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            cache_bytes=cache,
            n_threads=thread_count(self.n_jobs),
        )

    # Pre-images

    def _projections(self) -> NDArray[Any]:
        """Return the projections of the rows the components were found from."""
        projections = self.eigenvectors_ * np.sqrt(self.eigenvalues_) / self._roots[:, None]
        return as_rows(projections, self.X_fit_)

    def _learn_pre_images(self) -> None:
        """Learn rows from their projections by kernel ridge regression."""
        if not is_dense(self.X_fit_):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices!")
        self.X_transformed_fit_ = self._projections()
        kernel: Any = self._fit_kernel
        points = np.ascontiguousarray(self.X_transformed_fit_)
        matrix = kernel(points, points)
        matrix.flat[:: len(matrix) + 1] += self.alpha / self._roots**2
        self.dual_coef_ = linalg.solve(matrix, self.X_fit_, assume_a="pos", overwrite_a=True)

    def _fixed_points(
        self, coordinates: NDArray[np.float64], start: MatrixLike | None
    ) -> NDArray[Any]:
        if not isinstance(self._fit_kernel, RBF) or not is_dense(self.X_fit_):
            raise ValueError(
                "pre_image='fixed_point' needs the RBF kernel and dense rows, got "
                f"kernel={self.kernel!r}"
            )
        rows = np.asarray(self.X_fit_, dtype=np.float64)
        starts = rows[self._nearest(coordinates)]
        if start is not None:
            given = np.asarray(check_rows(start, "start"), dtype=np.float64)
            if given.shape != (len(coordinates), rows.shape[1]):
                raise ValueError(
                    f"start must have shape {(len(coordinates), rows.shape[1])}, got {given.shape}"
                )
            starts = np.concatenate([starts, given[:, None]], axis=1)
        images = _core.PreImages(
            self._fit_kernel._build(),
            _core.Samples.dense(np.ascontiguousarray(self.X_fit_)),
            self._coefficients,
            self._shares,
            max_iter=_STEPS,
            tol=_STILL,
            n_threads=thread_count(self.n_jobs),
        )
        found = images.find(coordinates, np.ascontiguousarray(starts.reshape(-1, rows.shape[1])))
        return as_rows(found, self.X_fit_)

    def _nearest(self, coordinates: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the training rows with the nearest projections, a few for each point."""
        known = np.asarray(self._projections(), dtype=np.float64)
        count = min(_STARTS, len(known))
        norms = np.square(known).sum(axis=1)
        step = max(1, _VALUES // len(known))
        found = [
            np.argpartition(norms - 2.0 * block @ known.T, count - 1, axis=1)[:, :count]
            for block in np.array_split(coordinates, -(-len(coordinates) // step))
        ]
        return np.concatenate(found)

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
