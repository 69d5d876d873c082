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

__all__ = [
    "ANOVA",
    "RBF",
    "ChiSquared",
    "HistogramIntersection",
    "InverseMultiquadric",
    "Laplacian",
    "Linear",
    "Matern",
    "Normalized",
    "Periodic",
    "Polynomial",
    "Product",
    "Scaled",
    "Sigmoid",
    "Sum",
]
