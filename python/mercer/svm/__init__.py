"""Support vector machines: classifiers, regressors and detectors of novelty."""

from mercer.svm._linear_svc import LinearSVC
from mercer.svm._linear_svr import LinearSVR
from mercer.svm._nu_svc import NuSVC
from mercer.svm._nu_svr import NuSVR
from mercer.svm._one_class import OneClassSVM
from mercer.svm._perceptron import Perceptron
from mercer.svm._svc import SVC
from mercer.svm._svdd import SVDD
from mercer.svm._svr import SVR

__all__ = [
    "SVC",
    "SVDD",
    "SVR",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Perceptron",
]
