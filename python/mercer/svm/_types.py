"""What the parameters of several machines may be."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mercer.kernels._gamma import Gamma
from mercer.kernels._kernel import Kernel
from mercer.report import Progress
from mercer.svm._sources import KernelFunction

__all__ = [
    "Callback",
    "ClassWeight",
    "ClassifierSolver",
    "Gamma",
    "KernelLike",
    "Matrix",
    "Multiclass",
    "RandomState",
    "Solver",
]

#: A kernel: by name, an object of `mercer.kernels`, or a function of two sets of rows.
KernelLike: TypeAlias = (
    Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "imq", "precomputed"]
    | Kernel
    | KernelFunction
)

#: A matrix of an estimator: an array, or sparse after a fit on sparse rows. Type checkers take it
#: for an array, and let it be passed on as anything.
Matrix: TypeAlias = NDArray[np.float64] | Any

#: The weights of classes.
ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None

#: How more than two classes are trained and decided.
Multiclass: TypeAlias = (
    Literal["ovo", "ovr", "dag", "weston_watkins", "crammer_singer"] | list[Any] | tuple[Any, ...]
)

#: The training algorithm.
Solver: TypeAlias = Literal["smo", "interior", "adatron"]

#: That of classifiers: hulls have corners.
ClassifierSolver: TypeAlias = Literal["smo", "interior", "adatron", "npa"]

#: What is told how far a fit is; True ends it.
Callback: TypeAlias = Callable[[Progress], bool | None]

#: Where random numbers come from.
RandomState: TypeAlias = int | np.random.RandomState | None
