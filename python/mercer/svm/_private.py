"""The private attributes of scikit-learn's machines that other packages read."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.svm._state import freeze
from mercer.svm._types import Matrix

__all__ = ["PrivateNames"]


class PrivateNames:
    """What converters to other formats take from LIBSVM's form of a model.

    There the machine of two classes has the opposite sign.
    """

    _fit_kernel: Any
    dual_coef_: Matrix
    intercept_: NDArray[np.float64]
    n_support_: NDArray[np.int32]

    @property
    def _sign(self) -> float:
        return -1.0 if len(getattr(self, "classes_", ())) == 2 else 1.0

    @property
    def _gamma(self) -> float:
        """The number that `gamma` stands for, zero for kernels without it."""
        return float(getattr(self._fit_kernel, "gamma", 0.0))

    @property
    def _dual_coef_(self) -> Matrix:
        return freeze(self._sign * self.dual_coef_)

    @_dual_coef_.setter
    def _dual_coef_(self, value: Matrix) -> None:
        self.dual_coef_ = freeze(self._sign * value)

    @property
    def _intercept_(self) -> NDArray[np.float64]:
        return freeze(self._sign * self.intercept_)

    @property
    def _n_support(self) -> NDArray[np.int32]:
        return self.n_support_
