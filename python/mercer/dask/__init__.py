"""Kernel machines on a Dask cluster: the optimum of all rows, certified over all rows.

The estimators are those of `mercer` with a `client`. `fit` takes dask arrays and data frames. Every
worker solves the problem of its own partitions; the support vectors of all become a working set,
which the usual solver solves; every worker then computes the gradient of its rows in float64 and
sends those that violate the optimality conditions, until no row of any partition violates them by
more than `tol`. Predictions are lazy, and ``to_local()`` returns the machine without the cluster.

Needs dask and distributed: ``pip install mercer[dask]``.
"""

try:
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError("mercer.dask needs dask and distributed: pip install mercer[dask]") from error

from mercer.dask._estimators import DaskNuSVC, DaskOneClassSVM, DaskSVC, DaskSVDD, DaskSVR
from mercer.dask._report import DistributedReport

__all__ = [
    "DaskNuSVC",
    "DaskOneClassSVM",
    "DaskSVC",
    "DaskSVDD",
    "DaskSVR",
    "DistributedReport",
]
