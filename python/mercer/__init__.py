"""Kernel machines with scikit-learn's interface, trained exactly and fast by a Rust core.

`SVC`, `NuSVC`, `LinearSVC`, `SVR`, `NuSVR`, `LinearSVR` and `OneClassSVM` replace scikit-learn's;
`SVDD` draws a sphere around the data. `mercer.svm` has them all, and `mercer.patch_sklearn` puts
them into `sklearn.svm`. `mercer.kernels` has kernel
functions that can be added, multiplied and scaled, `mercer.model_selection` helps to choose
parameters, `mercer.report` has the types of `report_`, and `mercer.datasets` and `mercer.plots`
serve examples. `mercer.decomposition`, `mercer.discriminant_analysis`, `mercer.cluster`,
`mercer.neighbors` and `mercer.bayes` have what else lives in feature space, and
`mercer.preprocessing` multiplies images. `save` and `load` keep models in files, `mercer.io` has
other formats.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from mercer import io, kernels, report, svm
from mercer._core import __version__
from mercer._patch import patch_sklearn, unpatch_sklearn
from mercer.io import load, save
from mercer.svm import SVC, SVDD, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

if TYPE_CHECKING:
    from mercer import (
        active,
        bayes,
        bounds,
        cluster,
        datasets,
        decomposition,
        discriminant_analysis,
        kernel_approximation,
        model_selection,
        neighbors,
        plots,
        preprocessing,
    )

__all__ = [
    "SVC",
    "SVDD",
    "SVR",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "__version__",
    "active",
    "bayes",
    "bounds",
    "cluster",
    "datasets",
    "decomposition",
    "discriminant_analysis",
    "io",
    "kernel_approximation",
    "kernels",
    "load",
    "model_selection",
    "neighbors",
    "patch_sklearn",
    "plots",
    "preprocessing",
    "report",
    "save",
    "svm",
    "unpatch_sklearn",
]

#: Imported when first used: they need parts of scikit-learn that the machines do without.
_LATER = (
    "active",
    "bounds",
    "bayes",
    "cluster",
    "datasets",
    "decomposition",
    "discriminant_analysis",
    "kernel_approximation",
    "model_selection",
    "neighbors",
    "plots",
    "preprocessing",
)


def __getattr__(name: str) -> ModuleType:
    if name in _LATER:
        return import_module(f"mercer.{name}")
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
