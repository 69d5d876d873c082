"""Kernel machines: a Rust core that trains them exactly and fast, behind scikit-learn's manners.

`SVC`, `NuSVC`, `SVR`, `NuSVR` and `OneClassSVM` take the place of scikit-learn's; `SVDD` draws a
sphere around the data; `kernels` holds kernel functions that can be added, multiplied and scaled.
"""

from mercer import kernels
from mercer._core import __version__
from mercer._nu_svc import NuSVC
from mercer._nu_svr import NuSVR
from mercer._one_class import OneClassSVM
from mercer._svc import SVC
from mercer._svdd import SVDD
from mercer._svr import SVR

__all__ = ["SVC", "SVDD", "SVR", "NuSVC", "NuSVR", "OneClassSVM", "__version__", "kernels"]
