"""Rows of numbers on their way into the core."""

from collections.abc import Iterable
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from mercer import _core
from mercer._batches import first_row, is_arrow, matrix_of
from mercer._params import naming

__all__ = [
    "FLOATS",
    "MatrixLike",
    "RowNumbers",
    "RowsLike",
    "canonical",
    "check_rows",
    "checked",
    "dense",
    "is_plain",
    "is_vector",
    "joined",
    "length",
    "make_samples",
    "scaled",
    "sparse_as_configured",
    "take_rows",
    "variance",
    "weighted_rows",
]

#: A matrix as users give it: nested sequences, an array, a data frame, any of scipy's formats.
MatrixLike: TypeAlias = Any

#: Training rows in general: a matrix, or any sequence of objects if a callable kernel reads them.
RowsLike: TypeAlias = Any

#: Some rows of a matrix or sequence, by number.
RowNumbers: TypeAlias = NDArray[np.integer[Any]]

#: Kept as they are; everything else becomes the first.
FLOATS = [np.float64, np.float32]

#: The same as types of arrays, in the byte order of this machine.
_FLOAT_TYPES = tuple(np.dtype(dtype) for dtype in FLOATS)

#: Values handled at a time where a temporary copy is needed: 8 MB in float64.
_BLOCK_VALUES = 2**20


def check_rows(X: MatrixLike, name: str, at_least: int = 1) -> MatrixLike:
    """Return `X` as a finite two-dimensional float array or canonical CSR matrix, else raise."""
    with naming(name):
        X = check_array(
            X, accept_sparse="csr", dtype=FLOATS, input_name=name, ensure_min_samples=at_least
        )
        return canonical(X)


def is_plain(X: Any) -> bool:
    """Tell whether `X` is an array that scikit-learn's checks would return as it is.

    They would: an array of floats, not empty, with finite values. For such a matrix they take
    longer than a small fit.
    """
    return (
        type(X) in (np.ndarray, np.memmap)
        and X.ndim == 2
        and X.dtype in _FLOAT_TYPES
        and X.size > 0
        and _core.is_finite(X)
    )


def is_plain_csr(X: Any) -> bool:
    """Tell whether `X` is a sparse matrix that scikit-learn's checks would return as it is."""
    return (
        type(X) in (sp.csr_matrix, sp.csr_array)
        and X.ndim == 2
        and X.dtype in _FLOAT_TYPES
        and min(X.shape) > 0
        and bool(np.isfinite(X.data).all())
    )


#: The kinds of numbers and strings that labels are made of, as numpy's dtypes name them.
LABEL_KINDS = "biufUS"


def is_vector(y: Any, kinds: str) -> TypeGuard[NDArray[Any]]:
    """Tell whether scikit-learn's checks would return `y` as it is, a vector of such values."""
    return (
        type(y) is np.ndarray
        and y.ndim == 1
        and y.dtype.kind in kinds
        and (y.dtype.kind != "f" or bool(np.isfinite(y).all()))
    )


def checked(estimator: Any, X: MatrixLike, *, reset: bool, **options: Any) -> MatrixLike:
    """Return what scikit-learn's ``validate_data`` would for rows of floats, and note the same.

    A plain array has no names of features and needs no other form; the same holds for CSR where
    that is accepted. Whatever else there is to be said of rows is left to scikit-learn.
    """
    if is_arrow(X):
        return _from_arrow(estimator, X, reset)
    plain = is_plain(X) or (options.get("accept_sparse") == "csr" and is_plain_csr(X))
    if plain and noted(estimator, X, reset=reset):
        return X
    with naming("X"):
        return validate_data(estimator, X, dtype=FLOATS, reset=reset, **options)


def noted(estimator: Any, X: MatrixLike, *, reset: bool) -> bool:
    """Note of a matrix without names of features what scikit-learn would.

    Return False if the features are not those of the fit: scikit-learn has to say so.
    """
    state = vars(estimator)
    if reset:
        state.pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
        return True
    return "feature_names_in_" not in state and state.get("n_features_in_") == X.shape[1]


def _from_arrow(estimator: Any, X: Any, reset: bool) -> NDArray[Any]:
    """Return rows of Arrow as a matrix; scikit-learn sees the first, for the names of features."""
    first, batches = first_row(X)
    with naming("X"):
        validate_data(estimator, first.to_pandas(), dtype=FLOATS, reset=reset)
        matrix = matrix_of(batches, getattr(X, "num_rows", None))
        # Which says what is wrong with values, and returns the very matrix.
        return check_array(matrix, dtype=FLOATS, input_name="X", estimator=estimator)  # type: ignore[no-any-return]


def canonical(X: MatrixLike) -> MatrixLike:
    """Return `X` with sorted and unique entries if it is CSR; `X` itself is left as it is.

    Raises
    ------
    ValueError
        If `indptr` does not divide the entries into rows: scipy would read beyond them.
    """
    if not sp.issparse(X):
        return X
    starts, n_stored = np.asarray(X.indptr), min(len(X.indices), len(X.data))
    if (
        starts.shape != (X.shape[0] + 1,)
        or starts.dtype.kind not in "iu"
        or starts[0] != 0
        or starts[-1] > n_stored
        or (starts[1:] < starts[:-1]).any()
    ):
        raise ValueError(
            f"indptr must rise from 0 to at most {n_stored}, the stored values, in "
            f"{X.shape[0] + 1} integers"
        )
    if starts[-1] < n_stored or not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
        X.prune()
    return X


def make_samples(X: MatrixLike) -> _core.Samples:
    """Return the core's form of a checked matrix; a C-contiguous array stays where it is."""
    if sp.issparse(X):
        return _core.Samples.csr(X.data, X.indices, X.indptr, X.shape[1])
    return _core.Samples.dense(X)


def sparse_as_configured(X: MatrixLike) -> MatrixLike:
    """Return `X` in CSR, as a matrix or an array after scikit-learn's ``sparse_interface``."""
    if get_config().get("sparse_interface", "spmatrix") == "spmatrix":
        return sp.csr_matrix(X)
    return sp.csr_array(X)


def dense(X: MatrixLike) -> NDArray[Any]:
    """Return a matrix as an array."""
    array: NDArray[Any] = X.toarray() if sp.issparse(X) else X
    return array


def variance(X: MatrixLike, weight: NDArray[np.float64] | None = None) -> float:
    """Return the variance of all values of `X` in float64, the zeros of a sparse matrix included.

    Rows count by their weight, so that a row of weight 2 is worth two rows. An infinity or NaN is
    returned if the sums overflow.
    """
    n_rows, n_columns = X.shape
    if weight is None or (weight == weight[0]).all():
        weight = np.ones(n_rows)  # so that equal weights do not change even the last digit
    mean = total = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        size = weight.sum() * n_columns
        if sp.issparse(X):
            weight = np.repeat(weight, np.diff(X.indptr))
            mean = (weight @ X.data) / size
            total = (size - weight.sum()) * mean**2 + weight @ np.square(X.data - mean)
        else:
            step = max(1, _BLOCK_VALUES // n_columns)
            blocks = [slice(start, start + step) for start in range(0, n_rows, step)]
            for block in blocks:
                mean += (weight[block] @ X[block].sum(axis=1, dtype=np.float64)) / size
            for block in blocks:
                deviation = np.subtract(X[block], mean, dtype=np.float64)
                total += weight[block] @ np.square(deviation).sum(axis=1)
        return float(total / size)


def weighted_rows(sample_weight: Any, n_rows: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the rows of positive weight and these weights, else raise."""
    weight = _check_sample_weight(sample_weight, n_rows)
    keep = np.flatnonzero(weight > 0.0)
    weight = weight[keep]
    if len(keep) == 0:
        raise ValueError(
            "Invalid input - all samples have zero or negative weights. Check sample_weight."
        )
    with np.errstate(over="ignore"):
        if not np.isfinite(weight.sum()):
            raise ValueError("sample_weight must have a finite sum, but its sum overflows")
    return keep, weight


def scaled(
    weight: NDArray[np.float64], factor: float | NDArray[np.float64], names: str
) -> NDArray[np.float64]:
    """Return the weights times `factor`; raise if one is not positive, or overflows.

    `names` says in an error what was multiplied.
    """
    with np.errstate(over="ignore"):
        product: NDArray[np.float64] = factor * weight
    if product.min() <= 0.0 or (np.isinf(product) & np.isfinite(factor)).any():
        raise ValueError(
            f"{names} must be positive and finite, got values from {product.min():g} to "
            f"{product.max():g}"
        )
    return product


def _check_sample_weight(sample_weight: Any, n_rows: int) -> NDArray[np.float64]:
    """Return one finite weight for each row, ones for None."""
    if sample_weight is None:
        return np.ones(n_rows)
    with naming("sample_weight"):
        weight: NDArray[np.float64] = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, weight)
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must be a number or have shape ({n_rows},), one weight for each row "
            f"of X, got shape {weight.shape}"
        )
    if not np.isfinite(weight).all():
        raise ValueError("sample_weight must be finite, got NaN or infinity")
    return weight


def joined(blocks: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Return blocks of rows, at least one, as one array."""
    try:
        arrays = list(blocks)
    except RuntimeError as error:
        # Python's name for a StopIteration of the user's kernel inside a generator.
        if isinstance(error.__cause__, StopIteration):
            raise error.__cause__ from None
        raise
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def length(rows: Any) -> int | None:
    """Return the number of rows, None if `rows` has no length."""
    shape = getattr(rows, "shape", None)
    if isinstance(shape, tuple) and len(shape) > 0 and isinstance(shape[0], int):
        return shape[0]
    return len(rows) if hasattr(rows, "__len__") and shape is None else None


def take_rows(X: RowsLike, rows: RowNumbers | slice) -> RowsLike:
    """Return some rows of an array, a CSR matrix, a data frame or a sequence of objects."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "shape") or isinstance(rows, slice):
        return X[rows]
    return [X[row] for row in rows]
