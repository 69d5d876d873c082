"""Kernel machines: a Rust core that trains them exactly and fast, behind scikit-learn's manners.

`SVC` takes the place of scikit-learn's; `kernels` holds kernel functions that can be added,
multiplied and scaled.
"""

from mercer import kernels
from mercer._core import __version__
from mercer._svc import SVC

__all__ = ["SVC", "__version__", "kernels"]
