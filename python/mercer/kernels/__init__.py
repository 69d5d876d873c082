"""Kernel functions that can be added, multiplied, scaled, compared, tuned and called.

Every estimator takes one as its `kernel`::

    SVC(kernel=RBF(sigma=1.5) + 0.1 * Linear())

The parameters of a kernel are parameters of the estimator too, so a grid search can reach them:
``kernel__sigma``, or ``kernel__left__sigma`` and ``kernel__right__factor`` in the example above.
"""

from mercer.kernels._functions import (
    ANOVA,
    RBF,
    ChiSquared,
    HistogramIntersection,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Sigmoid,
)
from mercer.kernels._kernel import Normalized, Product, Scaled, Sum
from mercer.kernels._mercer import MercerCheck, MercerMap, check
from mercer.kernels._sequences import Spectrum, Subsequence

__all__ = [
    "ANOVA",
    "RBF",
    "ChiSquared",
    "HistogramIntersection",
    "InverseMultiquadric",
    "Laplacian",
    "Linear",
    "Matern",
    "MercerCheck",
    "MercerMap",
    "Normalized",
    "Periodic",
    "Polynomial",
    "Product",
    "Scaled",
    "Sigmoid",
    "Spectrum",
    "Subsequence",
    "Sum",
    "check",
]
