"""The numbers that 'scale', 'auto' and 'median' stand for."""

from math import isfinite
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mercer._data import MatrixLike, variance
from mercer._params import check_gamma

__all__ = ["Gamma", "Gammas"]

#: A factor, or the rule that finds it for given rows.
Gamma: TypeAlias = float | Literal["scale", "auto", "median"]


#: Rows whose distances tell their median.
_ROWS = 500


class Gammas:
    """The numbers that rules stand for on the rows of `X`, weighted if need be."""

    def __init__(self, X: MatrixLike, weight: NDArray[np.float64] | None) -> None:
        self._X = X
        self._weight = weight
        self._scale: float | None = None

    def number(self, gamma: Any) -> float:
        """Return `gamma` as a number."""
        checked = check_gamma(gamma)
        if isinstance(checked, float):
            return checked
        if checked == "auto":
            return 1.0 / int(self._X.shape[1])
        if checked == "median":
            return self._find_median()
        # Not a cached_property: up to Python 3.11 that has a lock, which a fork may catch.
        if self._scale is None:
            self._scale = self._find_scale()
        return self._scale

    def _find_median(self) -> float:
        """Return 1 / (the median squared distance between rows), of a sample of them.

        Caputo, Sim, Furesjo, Smola: Appearance-based object recognition using SVMs (2002).
        """
        # Imported when it is needed: it takes longer than all else that `import mercer` does.
        from sklearn.metrics import pairwise_distances

        n_rows = int(self._X.shape[0])
        rows = self._X[:: -(-n_rows // _ROWS)]
        squares = pairwise_distances(rows, metric="sqeuclidean")
        squares = squares[np.triu_indices(len(squares), k=1)]
        # Neither copies of a row nor what overflows.
        squares = squares[(squares > 0.0) & np.isfinite(squares)]
        return 1.0 / float(np.median(squares)) if len(squares) else 1.0

    def _variance(self) -> float:
        return variance(self._X, self._weight)

    def _find_scale(self) -> float:
        spread = self._variance()
        if not isfinite(spread):
            raise ValueError(
                "gamma='scale' needs the variance of X, which overflows. The dual coefficients or "
                "intercepts are not finite for such values: scale X, or give gamma as a number"
            )
        return 1.0 / (self._X.shape[1] * spread) if spread > 0.0 else 1.0
