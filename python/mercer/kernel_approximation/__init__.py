"""Explicit maps that approximate a kernel, for more rows than an exact machine can take.

`Nystroem` and `RandomFeatures` are transformers with scikit-learn's interface. A `LinearSVC` or
`LinearSVR` on their features takes time in proportion to the number of rows. What that costs is
not left to hope: `objective_lost` compares it with the exact machine on a sample.
"""

from mercer.kernel_approximation._bill import ObjectiveLost, objective_lost
from mercer.kernel_approximation._nystroem import Nystroem
from mercer.kernel_approximation._random import RandomFeatures

__all__ = ["Nystroem", "ObjectiveLost", "RandomFeatures", "objective_lost"]
