"""Mercer's own files: one for each model, read and written by Python and by Rust."""

import json
from collections.abc import Callable
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from mercer import _core
from mercer.io._values import Reader, Writer
from mercer.kernels._kernel import Kernel
from mercer.svm._base import BaseKernelMachine
from mercer.svm._state import CoreForm, freeze

__all__ = ["load", "save", "saved_estimators"]

#: Where the estimators are that files can hold.
_MODULES = {
    "SVC": "mercer.svm",
    "NuSVC": "mercer.svm",
    "SVR": "mercer.svm",
    "NuSVR": "mercer.svm",
    "OneClassSVM": "mercer.svm",
    "Perceptron": "mercer.svm",
    "SVDD": "mercer.svm",
    "LinearSVC": "mercer.svm",
    "LinearSVR": "mercer.svm",
    "KernelPCA": "mercer.decomposition",
    "KernelICA": "mercer.decomposition",
    "KernelFisherDiscriminant": "mercer.discriminant_analysis",
    "KernelKMeans": "mercer.cluster",
    "KernelNeighborsClassifier": "mercer.neighbors",
    "KernelNeighborsRegressor": "mercer.neighbors",
    "RVC": "mercer.bayes",
    "RVR": "mercer.bayes",
    "BayesPointClassifier": "mercer.bayes",
    "MercerMap": "mercer.kernels",
    "SelectiveSampler": "mercer.active",
}

#: Attributes that are called otherwise in files; other private ones only lose their underscore.
_PRIVATE = {
    "kernel": "_fit_kernel",
    "multiclass": "_fit_multiclass",
    "diagonal": "_fit_diagonal",
    "places": "_fit_places",
}

#: Attributes with rows, which may be sequences in containers of any kind.
_ROWS = ("support_vectors_", "X_fit_", "rows", "relevance_vectors_")


def save(model: BaseEstimator, path: str | PathLike[str]) -> None:
    """Save a fitted model as a file.

    The file is in the safetensors format: arrays, and JSON that says what they are. It holds no
    code, and loads with this version and all later ones of Mercer, in Python and in Rust. It is
    written under another name and then renamed: there is never half a file under `path`.

    Parameters
    ----------
    model : estimator
        A fitted estimator of Mercer. Not saved are searches (save their ``best_estimator_``),
        pipelines and other estimators of scikit-learn, subclasses of users, and models whose
        kernel is a Python function, since files hold no code: pickle these.
    path : str or path-like
        The file, which is replaced if it exists.

    See Also
    --------
    load : Read it again.

    Examples
    --------
    >>> import os, tempfile
    >>> import mercer
    >>> model = mercer.SVC(C=10.0).fit([[0.0], [1.0], [2.0]], ["cold", "warm", "warm"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     mercer.save(model, path)
    ...     same = mercer.load(path)
    >>> same
    SVC(C=10.0)
    >>> same.predict([[1.8]])
    array(['warm'], dtype='<U4')
    """
    writer = Writer()
    written = _written(model, writer, "")
    _core.write_model(path, json.dumps(written, allow_nan=False), writer.arrays)


def load(path: str | PathLike[str]) -> Any:
    """Load a model that `save` has written, or Rust.

    Nothing in the file is executed. Shapes, ranges and finiteness of everything in it are checked,
    so that a damaged file gives a ValueError that says what is wrong, never a wrong answer by an
    impossible number. (That numbers are the ones that were saved, nothing can tell: keep a
    checksum, if that is needed.)

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    estimator
        The model, as it was. Labels and features keep their types; row numbers, numbers of numpy
        and the like come back as what they were in a fitted model, parameters as numbers of Python.

    See Also
    --------
    save : Write such a file.
    """
    text, arrays = _core.read_model(path)
    reader = Reader(arrays)
    try:
        return _read(json.loads(text), reader)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ValueError(f"{path}: {error}") from error


def _written(model: Any, writer: Writer, prefix: str) -> dict[str, Any]:
    """Return what stands for an estimator; names of its arrays begin with `prefix`."""
    name = type(model).__name__
    _check_kind(model)
    parameters = {
        key: _parameter(writer, f"{prefix}{key}", value)
        for key, value in model.get_params(deep=False).items()
    }
    written = {"estimator": name, "parameters": parameters}
    state = vars(model)
    names = {_attribute(saved): saved for saved in _core.saved_attributes(name) or ()}
    # In an order of their own, so that equal models have equal files.
    fitted = {key: state[key] for key in names if key in state}
    if not fitted and prefix:
        return written  # a parameter
    if not fitted:
        raise ValueError(f"model must be fitted to be saved, got {model!r}")
    _check_parameters(model)
    written["attributes"] = {
        names[key]: _parameter(writer, f"{prefix}{names[key]}", value)
        for key, value in fitted.items()
    }
    return written


def _check_kind(model: Any) -> None:
    """Raise unless files can hold such a model."""
    kind = type(model)
    if kind.__name__ in _MODULES and kind is _estimator(kind.__name__):
        return
    advice = ""
    if hasattr(model, "best_estimator_"):
        advice = ": save its best_estimator_"
    elif hasattr(model, "steps"):
        advice = ": save its last step, and the others with skops or pickle"
    elif any(base.__name__ in _MODULES for base in kind.__mro__):
        advice = ": a subclass may do what no file can say, so pickle it"
    raise TypeError(f"model must be an estimator of Mercer, got {kind.__qualname__}{advice}")


def _parameter(writer: Writer, name: str, value: Any) -> Any:
    if isinstance(value, BaseEstimator):
        return _written(value, writer, f"{name}/")
    last = name.rpartition("/")[2]
    if last in ("classes_", "feature_names_in_"):
        return writer.labels(name, np.asarray(value))
    if last == "kernel" and isinstance(value, str) and value == "precomputed":
        return {"kernel": "Precomputed", "parameters": {}}
    if last in _ROWS and not isinstance(value, np.ndarray) and hasattr(value, "__len__"):
        return writer.value(name, value if hasattr(value, "indptr") else list(value))
    return writer.value(name, value)


def _attribute(saved: str) -> str:
    """Return the name of an attribute from that in a file."""
    if saved in _PRIVATE:
        return _PRIVATE[saved]
    return saved if saved.endswith("_") else f"_{saved}"


def saved_estimators() -> list[type[Any]]:
    """Return the classes of all models that files can hold."""
    return [_estimator(name) for name in _MODULES]


def _estimator(name: str) -> type[Any]:
    kind: type[Any] = getattr(import_module(_MODULES[name]), name)
    return kind


def _read(written: dict[str, Any], reader: Reader) -> Any:
    """Return the estimator that something stands for."""
    name = written["estimator"]
    if name not in _MODULES:
        raise ValueError(f"there is no estimator {name!r}")
    kind = _estimator(name)
    value = _valued(reader)
    parameters = {key: value(each) for key, each in written["parameters"].items()}
    known = kind._get_param_names()
    unknown = [key for key in parameters if key not in known]
    if unknown:
        raise ValueError(f"{name} has no parameter {unknown[0]!r}")
    model = kind(**parameters)
    if "attributes" in written:
        _check_parameters(model)
        state = {_attribute(key): value(each) for key, each in written["attributes"].items()}
        _check_kernel(state.get("_fit_kernel"))
        if isinstance(model, BaseKernelMachine):
            state = _machine_state(state)
        vars(model).update(state)
    return model


def _check_parameters(model: Any) -> None:
    """Raise unless the parameters are allowed, where that can be told without rows."""
    check = getattr(model, "_check_parameters", None)
    if check is not None:
        check()


def _valued(reader: Reader) -> Callable[[Any], Any]:
    def value(each: Any) -> Any:
        if isinstance(each, dict) and "estimator" in each:
            return _read(each, reader)
        return reader.value(each)

    return value


def _check_kernel(kernel: Any) -> None:
    """Raise unless a fitted kernel has parameters that are allowed."""
    if isinstance(kernel, Kernel):
        fitted = kernel._fitted_to(_NO_ROWS)
        if not kernel._of_sequences:
            fitted._build()


#: Rows that are never looked at, since the parameters of a fitted kernel are numbers.
_NO_ROWS: NDArray[np.float64] = np.zeros((1, 1))


def _machine_state(state: dict[str, Any]) -> dict[str, Any]:
    """Return what a fit of a kernel machine would have left."""
    for value in state.values():
        freeze(value)
    state["_fit_form"] = CoreForm()
    state["_fit_names"] = (*state, "_fit_names")
    return state
