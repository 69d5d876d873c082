"""Docstrings: every parameter and every attribute is documented, and nothing else is."""

import inspect
import re

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import (
    SVDD,
    NuSVC,
    active,
    bayes,
    bounds,
    cluster,
    datasets,
    decomposition,
    discriminant_analysis,
    io,
    kernel_approximation,
    kernels,
    model_selection,
    neighbors,
    plots,
    preprocessing,
    report,
    svm,
)

ESTIMATORS = [getattr(svm, name) for name in svm.__all__]
IN_FEATURE_SPACE = [
    getattr(module, name)
    for module in (
        *(active, bayes, cluster, decomposition, discriminant_analysis),
        *(kernel_approximation, neighbors, preprocessing),
    )
    for name in module.__all__
    if hasattr(getattr(module, name), "fit") or module is not kernel_approximation
]
FUNCTIONS = [
    getattr(module, name)
    for module in (bounds, datasets, io, kernel_approximation, model_selection, plots)
    for name in module.__all__
    if inspect.isfunction(getattr(module, name))
]
FUNCTIONS += [mercer.patch_sklearn, mercer.unpatch_sklearn]
CLASSES = [getattr(module, name) for module in (kernels, report) for name in module.__all__]
CLASSES = [kind for kind in CLASSES if inspect.isclass(kind)]


def _methods(kind):
    names = [name for name in dir(kind) if not name.startswith("_")]
    methods = [getattr(kind, name) for name in names]
    ours = [method for method in methods if "mercer" in str(getattr(method, "__module__", ""))]
    return [method for method in ours if inspect.isfunction(method)]


METHODS = {
    method.__qualname__: method
    for kind in ESTIMATORS + IN_FEATURE_SPACE + CLASSES
    for method in _methods(kind)
}


def _sections(documented):
    """Return the entries of a docstring, name and type, by section."""
    lines = inspect.getdoc(documented).replace("\\\n", "").splitlines()
    sections, entries = {}, []
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below and set(below) == {"-"}:
            entries = sections.setdefault(line, [])
        elif line and not line.startswith(" ") and set(line) != {"-"}:
            names, _, kind = line.partition(" : ")
            entries.extend((name, kind) for name in names.split(", "))
    return sections


def _parameters(function):
    skipped = {"self", "cls"}
    return {
        name: parameter
        for name, parameter in inspect.signature(function).parameters.items()
        if name not in skipped
    }


def _check_parameters(documented, function):
    entries = _sections(documented).get("Parameters", [])
    parameters = _parameters(function)
    names = [name.lstrip("*") for name, _ in entries]
    assert sorted(names) == sorted(parameters)
    for name, kind in entries:
        if not kind or name.startswith("*"):
            continue  # described together with others
        default = parameters[name].default
        if default is inspect.Parameter.empty:
            assert "default" not in kind
        else:
            assert f"default={default!r}" in kind.replace("1e-3", "0.001")


@pytest.mark.parametrize("estimator", ESTIMATORS + IN_FEATURE_SPACE)
def test_parameters_of_machines(estimator):
    _check_parameters(estimator, estimator.__init__)
    entries = _sections(estimator)["Parameters"]
    assert [name for name, _ in entries] == list(_parameters(estimator.__init__))


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind.__module__ != "mercer.report"])
def test_parameters_of_kernels(kind):
    _check_parameters(kind, kind)


@pytest.mark.parametrize("name", METHODS)
def test_parameters_of_methods(name):
    _check_parameters(METHODS[name], METHODS[name])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_parameters_of_functions(function):
    _check_parameters(function, function)


@pytest.mark.parametrize("kind", [report.MachineReport, model_selection.SigmaPath])
def test_attributes_of_records(kind):
    names = [name for name, _ in _sections(kind)["Attributes"]]
    assert names == list(kind.__dataclass_fields__)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_attributes_of_machines(estimator):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["a", "b"])
    y = np.arange(30) % 2
    if estimator is svm.Perceptron:  # which knows no errors
        y = (X["a"] > 0.0).astype(int)
    found = set()
    for solver in ("smo", "adatron"):
        model = estimator(kernel="linear", nu=0.5) if _has(estimator, "nu") else estimator()
        if _has(estimator, "kernel"):
            model.set_params(kernel="linear")
        if _has(estimator, "solver"):
            model.set_params(solver=solver)
        if _has(estimator, "probability"):
            model.set_params(probability=True)
        model.fit(X, y)
        found |= {name for name in dir(model) if re.fullmatch(r"[a-zA-Z]\w*_", name)}
    documented = [name for name, _ in _sections(estimator)["Attributes"]]
    assert len(documented) == len(set(documented))
    assert set(documented) == {name for name in found if hasattr(model, name)}


def _has(estimator, name):
    return name in _parameters(estimator.__init__)


@pytest.mark.parametrize("estimator", ESTIMATORS + IN_FEATURE_SPACE)
def test_every_public_class_has_an_example(estimator):
    assert ">>>" in estimator.__doc__
    assert not re.search(r"^ *\{\w+\}$", estimator.__doc__, flags=re.MULTILINE)


def test_texts_are_in_their_place():
    assert "two classes, the only machine is positive" in inspect.getdoc(NuSVC)
    assert "until `fit` returns" in inspect.getdoc(SVDD.fit)
    assert "kernel values with all training rows" in inspect.getdoc(mercer.SVC.predict)
