"""LIBSVM's text models: written, and read.

A decision value of LIBSVM is sum_i coef_i k(x_i, z) - rho, positive for the first class of a pair.
Ours is sum_i beta_i k(x_i, z) + b, positive for the second of two classes, and for the first of a
pair where there are more: for two classes coef = -beta and rho = b, else coef = beta and rho = -b.
A sigmoid of LIBSVM gives the probability of the first class: with A and -B for two classes, A and B
for more.
"""

import os
from collections.abc import Iterator
from itertools import combinations
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mercer._data import sparse_as_configured
from mercer.kernels import RBF, Linear, Polynomial, Sigmoid
from mercer.kernels._kernel import Kernel
from mercer.report import MachineReport, Report, Seconds
from mercer.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.svm._state import CoreForm, freeze

__all__ = ["from_libsvm", "to_libsvm"]

_TYPES: dict[str, type[Any]] = {
    "c_svc": SVC,
    "nu_svc": NuSVC,
    "one_class": OneClassSVM,
    "epsilon_svr": SVR,
    "nu_svr": NuSVR,
}
_NAMES = {kind: name for name, kind in _TYPES.items()}
_CLASSIFIERS = ("c_svc", "nu_svc")

#: The header lines; not all say something that a model here needs.
_KEYS = (
    *("svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho"),
    *("label", "nr_sv", "probA", "probB", "prob_density_marks"),
)


def to_libsvm(model: Any, path: str | PathLike[str]) -> None:
    """Write a fitted machine as a text model of LIBSVM, which its tools and bindings read.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        The machine. Its kernel must be linear, polynomial, RBF, sigmoid or precomputed, its labels
        whole numbers, and its strategy for several classes 'ovo': LIBSVM knows no others.
    path : str or path-like
        The file, which is replaced if it exists.

    See Also
    --------
    from_libsvm : Read such a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mercer import SVC, io
    >>> model = SVC(kernel="linear").fit([[-1.0, 0.0], [1.0, 0.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.txt")
    ...     io.to_libsvm(model, path)
    ...     text = path.read_text()
    ...     same = io.from_libsvm(path, n_features=2)
    >>> print(text)
    svm_type c_svc
    kernel_type linear
    nr_class 2
    total_sv 2
    rho 0
    label 0 1
    nr_sv 1 1
    SV
    0.5 1:-1
    -0.5 1:1
    <BLANKLINE>
    >>> same.predict([[3.0, 0.0]])
    array([1])
    """
    name = _NAMES.get(type(model))
    if name is None:
        known = ", ".join(kind.__name__ for kind in _NAMES)
        raise TypeError(f"model must be one of {known}, got {type(model).__name__}")
    check_is_fitted(model)
    model._expansion()  # which checks the attributes
    lines = [f"svm_type {name}", *_kernel_lines(model._fit_kernel), *_machine_lines(model, name)]
    lines += ["SV", *_vector_lines(model, name)]
    _replace(path, "\n".join(lines) + "\n")


def _replace(path: str | PathLike[str], text: str) -> None:
    """Write a file under another name, then give it its own."""
    folder, name = os.path.split(os.fspath(path))
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "w", encoding="ascii", newline="\n") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise


def _number(value: Any) -> str:
    """Return the shortest text that is read as this number."""
    number = float(value) + 0.0  # no minus zero
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _numbers(values: Any) -> str:
    return " ".join(map(_number, np.ravel(values)))


def _kernel_lines(kernel: Any) -> list[str]:
    match kernel:
        case Linear():
            return ["kernel_type linear"]
        case "precomputed":
            return ["kernel_type precomputed"]
        case RBF():
            return ["kernel_type rbf", f"gamma {_number(kernel.gamma)}"]
        case Polynomial():
            return [
                "kernel_type polynomial",
                f"degree {kernel.degree}",
                f"gamma {_number(kernel.gamma)}",
                f"coef0 {_number(kernel.coef0)}",
            ]
        case Sigmoid():
            gamma, coef0 = _number(kernel.gamma), _number(kernel.coef0)
            return ["kernel_type sigmoid", f"gamma {gamma}", f"coef0 {coef0}"]
    raise ValueError(
        "kernel must be linear, polynomial, RBF, sigmoid or precomputed, which LIBSVM knows, got "
        f"{kernel!r}"
    )


def _machine_lines(model: Any, name: str) -> list[str]:
    """Return what the header says of the machines."""
    total = [f"total_sv {len(model.support_)}"]
    if name == "one_class":
        return ["nr_class 2", *total, f"rho {_numbers(model.offset_)}"]
    if name not in _CLASSIFIERS:
        if len(model.intercept_) > 1:
            raise ValueError(f"LIBSVM knows one output, got {len(model.intercept_)}")
        return ["nr_class 2", *total, f"rho {_numbers(-model.intercept_)}"]
    classes = len(model.classes_)
    if classes > 2 and model._fit_multiclass != "ovo":
        raise ValueError(f"multiclass must be 'ovo' for LIBSVM, got {model._fit_multiclass!r}")
    sign = 1.0 if classes == 2 else -1.0
    lines = [
        f"nr_class {classes}",
        *total,
        f"rho {_numbers(sign * model.intercept_)}",
        f"label {_labels(model.classes_)}",
    ]
    if "probA_" in vars(model):
        lines += [f"probA {_numbers(model.probA_)}", f"probB {_numbers(-sign * model.probB_)}"]
    return [*lines, f"nr_sv {_numbers(model.n_support_)}"]


def _labels(classes: NDArray[Any]) -> str:
    whole = classes.dtype.kind in "biu" or (
        classes.dtype.kind == "f" and bool((classes == np.round(classes)).all())
    )
    if not whole or np.abs(classes.astype(np.float64)).max() >= 2**31:
        raise ValueError(
            "LIBSVM knows no labels but whole numbers of 32 bits: train with numbers, such as "
            f"those of sklearn.preprocessing.LabelEncoder, got {classes!r}"
        )
    return " ".join(str(int(label)) for label in classes)


def _vector_lines(model: Any, name: str) -> Iterator[str]:
    _, dual_coef, _ = model._machines()
    if name in _CLASSIFIERS and len(model.classes_) == 2:
        dual_coef = -dual_coef
    if isinstance(model._fit_kernel, str):
        for coef, row in zip(dual_coef.T, model.support_, strict=True):
            yield f"{_numbers(coef)} 0:{row + 1}"
        return
    vectors = sp.csr_array(model.support_vectors_)
    vectors.sum_duplicates()
    for at, coef in enumerate(dual_coef.T):
        entries = slice(vectors.indptr[at], vectors.indptr[at + 1])
        pairs = zip(vectors.indices[entries], vectors.data[entries], strict=True)
        values = [f"{column + 1}:{_number(value)}" for column, value in pairs if value != 0.0]
        yield " ".join([_numbers(coef), *values])


def from_libsvm(
    path: str | PathLike[str], *, n_features: int | None = None, sparse: bool = False
) -> Any:
    """Read a text model of LIBSVM as a fitted machine.

    Parameters
    ----------
    path : str or path-like
        The file.
    n_features : int, default=None
        The number of features, which is not in the file; for a precomputed kernel, the number of
        training rows. The largest that occurs in a support vector if None.
    sparse : bool, default=False
        Whether to keep the support vectors sparse: the machine then takes sparse rows, too.

    Returns
    -------
    SVC, NuSVC, SVR, NuSVR or OneClassSVM
        The machine. Its labels are in order; where votes are equal, the lowest wins, and with
        LIBSVM the first in its file. What the file does not say is unknown: `support_`
        numbers the support vectors, ``report_`` has NaN, parameters such as C have their defaults,
        and there is no ``nu_`` or ``epsilon_``. Estimates of noise of regressions, and of
        densities, are left out.

    See Also
    --------
    to_libsvm : Write such a file.
    """
    with open(path, encoding="ascii", errors="replace") as file:
        lines = file.read().splitlines()
    try:
        return _model_of(lines, n_features, sparse)
    except (ValueError, KeyError, IndexError, OverflowError) as error:
        raise ValueError(f"{os.fspath(path)} is no model of LIBSVM: {error}") from error


def _model_of(lines: list[str], n_features: int | None, sparse: bool) -> Any:
    header, rest = _header(lines)
    name = header.get("svm_type", ["nothing"])[0]
    if name not in _TYPES:
        raise ValueError(f"svm_type must be one of {', '.join(_TYPES)}, got {name!r}")
    kernel, parameters = _kernel_of(header)
    total = _integers(header, "total_sv", 1)[0]
    if total != len(rest):
        raise ValueError(f"total_sv is {total}, but there are {len(rest)} support vectors")
    classes = _integers(header, "nr_class", 1)[0]
    if not 2 <= classes <= total + 2:
        raise ValueError(f"nr_class must be at least 2 and have support vectors, got {classes}")
    height = classes - 1 if name in _CLASSIFIERS else 1
    coef, vectors, rows = _vectors_of(rest, height, kernel, n_features)
    rho = _reals(header, "rho", classes * (classes - 1) // 2 if name in _CLASSIFIERS else 1)
    state: dict[str, Any] = {
        "_fit_kernel": kernel,
        "n_features_in_": n_features if n_features is not None else vectors.shape[1],
        "fit_status_": 0,
    }
    if name in _CLASSIFIERS:
        parameters["probability"] = "probA" in header
        state |= _classified(header, (coef, vectors, rows), rho, classes)
    else:
        state |= _kept(coef, vectors, rows, np.array([total], dtype=np.int32))
        state |= {"offset_": rho} if name == "one_class" else {"intercept_": -rho}
        state["n_iter_"] = 0
    return _fitted(_TYPES[name](**parameters), state, len(rho), sparse)


def _header(lines: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    header: dict[str, list[str]] = {}
    for at, line in enumerate(lines):
        words = line.split()
        if words == ["SV"]:
            return header, [line for line in lines[at + 1 :] if line.strip()]
        if not words or words[0] not in _KEYS or words[0] in header:
            raise ValueError(f"line {at + 1} says {line[:60]!r}")
        header[words[0]] = words[1:]
    raise ValueError("it has no support vectors")


def _reals(header: dict[str, list[str]], key: str, count: int) -> NDArray[np.float64]:
    values = np.array([float(word) for word in header[key]])
    if len(values) != count or not np.isfinite(values).all():
        raise ValueError(f"{key} must be {count} finite numbers, got {' '.join(header[key])[:60]}")
    return values


def _integers(header: dict[str, list[str]], key: str, count: int) -> list[int]:
    if key not in header:
        raise ValueError(f"{key} is missing")
    values = [int(word) for word in header[key]]
    if len(values) != count or (key != "label" and min(values, default=0) < 0):
        raise ValueError(f"{key} must be {count} whole numbers, got {' '.join(header[key])[:60]}")
    return values


def _kernel_of(header: dict[str, list[str]]) -> tuple[Kernel | str, dict[str, Any]]:
    """Return the kernel, and the parameters of an estimator that has it."""

    def real(key: str) -> float:
        return float(_reals(header, key, 1)[0])

    kernel: Kernel | str
    match header.get("kernel_type"):
        case ["linear"]:
            return Linear(), {"kernel": "linear"}
        case ["precomputed"]:
            return "precomputed", {"kernel": "precomputed"}
        case ["rbf"]:
            parameters: dict[str, Any] = {"kernel": "rbf", "gamma": real("gamma")}
            kernel = RBF(gamma=parameters["gamma"])
        case ["polynomial"]:
            degree = _integers(header, "degree", 1)[0]
            parameters = {"degree": degree, "gamma": real("gamma"), "coef0": real("coef0")}
            kernel = Polynomial(**parameters)
            parameters["kernel"] = "poly"
        case ["sigmoid"]:
            parameters = {"gamma": real("gamma"), "coef0": real("coef0")}
            kernel = Sigmoid(**parameters)
            parameters["kernel"] = "sigmoid"
        case other:
            raise ValueError(f"kernel_type must be one that LIBSVM has, got {other}")
    kernel._build()  # which checks the parameters
    return kernel, parameters


def _vectors_of(
    lines: list[str], height: int, kernel: Kernel | str, n_features: int | None
) -> tuple[NDArray[np.float64], Any, NDArray[np.int64]]:
    """Return the coefficients, the support vectors, and their row numbers."""
    coef = np.empty((height, len(lines)))
    data: list[float] = []
    indices: list[int] = []
    indptr = [0]
    for at, line in enumerate(lines):
        words = line.split()
        if len(words) < height:
            raise ValueError(f"support vector {at + 1} needs {height} coefficients: {line[:60]!r}")
        coef[:, at] = [float(word) for word in words[:height]]
        for word in words[height:]:
            column, value = word.split(":")
            indices.append(int(column))
            data.append(float(value))
        indptr.append(len(data))
    if not (np.isfinite(coef).all() and np.isfinite(data).all()):
        raise ValueError("coefficients and support vectors must be finite")
    if isinstance(kernel, str):
        return coef, *_precomputed(np.array(indices), np.array(data), indptr, n_features)
    columns = np.array(indices, dtype=np.int64) - 1
    width = int(columns.max(initial=0)) + 1
    if columns.min(initial=0) < 0 or width >= 2**31:
        raise ValueError("features must be numbered from 1 on")
    if n_features is not None and n_features < width:
        raise ValueError(f"n_features must be at least {width}, got {n_features}")
    vectors = sp.csr_array((data, columns, indptr), shape=(len(lines), n_features or width))
    return coef, vectors, np.arange(len(lines))


def _precomputed(
    indices: NDArray[Any], data: NDArray[Any], indptr: list[int], n_features: int | None
) -> tuple[Any, NDArray[np.int64]]:
    first = np.array(indptr[:-1], dtype=np.int64)
    if (np.diff(indptr) < 1).any() or (indices[first] != 0).any():
        raise ValueError("support vectors of a precomputed kernel must begin with 0:number")
    rows = data[first].astype(np.int64) - 1
    end = n_features if n_features is not None else int(rows.max(initial=0)) + 1
    if (data[first] != rows + 1).any() or not 0 <= rows.min(initial=0) <= rows.max(initial=0) < end:
        raise ValueError(f"numbers of training rows must be from 1 to {end}")
    return sp.csr_array((len(rows), end)), rows


def _classified(
    header: dict[str, list[str]], kept: tuple[Any, ...], rho: NDArray[np.float64], classes: int
) -> dict[str, Any]:
    """Return the attributes of a classifier, its labels in order."""
    coef, vectors, rows = kept
    labels = np.array(_integers(header, "label", classes), dtype=np.int64)
    counts = np.array(_integers(header, "nr_sv", classes), dtype=np.int64)
    if len(np.unique(labels)) != classes or counts.sum() != len(rows):
        raise ValueError("label must be different numbers, and nr_sv must add up to total_sv")
    order = np.argsort(labels)
    place = np.argsort(order)
    own = np.repeat(np.arange(classes), counts)
    # A pair that changes places changes its sign.
    pairs = list(combinations(range(classes), 2))
    number = {pair: at for at, pair in enumerate(pairs)}
    sigmoids = [_reals(header, key, len(pairs)) for key in ("probA", "probB") if key in header]
    moved, rho_moved = np.empty_like(coef), np.empty_like(rho)
    turned = [np.empty_like(rho) for _ in sigmoids]
    for at, (a, b) in enumerate(pairs):
        i, j = place[a], place[b]
        sign = 1.0 if i < j else -1.0
        i, j = min(i, j), max(i, j)
        new = number[i, j]
        rho_moved[new] = sign * rho[at]
        first, second = (a, b) if sign > 0 else (b, a)
        moved[j - 1, own == first] = sign * coef[b - 1 if first == a else a, own == first]
        moved[i, own == second] = sign * coef[a if second == b else b - 1, own == second]
        for values, (kind, given) in zip(turned, enumerate(sigmoids), strict=True):
            values[new] = given[at] * (sign if kind else 1.0)
    sorted_vectors = np.argsort(place[own], kind="stable")
    two = classes == 2
    sign = -1.0 if two else 1.0
    n_support = counts[order].astype(np.int32)
    state = _kept(
        sign * moved[:, sorted_vectors], vectors[sorted_vectors], rows[sorted_vectors], n_support
    )
    state |= {
        "classes_": labels[order],
        "class_weight_": np.ones(classes),
        "_fit_multiclass": "ovo",
        "intercept_": rho_moved if two else -rho_moved,
        "n_iter_": np.zeros(len(rho), dtype=np.int32),
    }
    if sigmoids:
        state |= {"probA_": turned[0], "probB_": sign * turned[1]}
    return state


def _kept(
    dual_coef: NDArray[np.float64], vectors: Any, rows: NDArray[Any], n_support: NDArray[np.int32]
) -> dict[str, Any]:
    return {
        "dual_coef_": dual_coef,
        "support_vectors_": vectors,
        "support_": rows.astype(np.int32),
        "n_support_": n_support,
    }


def _fitted(model: Any, state: dict[str, Any], machines: int, sparse: bool) -> Any:
    """Return an estimator with these attributes, and those that say that nothing is known."""
    width = state["n_features_in_"]
    if isinstance(state["_fit_kernel"], str):
        state["support_vectors_"] = np.empty((0, 0))
        state["shape_fit_"] = (width, width)
    else:
        state["shape_fit_"] = (None, width)
        if sparse:
            state["dual_coef_"] = sparse_as_configured(state["dual_coef_"])
        else:
            state["support_vectors_"] = state["support_vectors_"].toarray()
    nothing, nan = Seconds(0.0, 0.0, 0.0, 0.0, 0.0), float("nan")
    unknown = MachineReport("converged", nan, nan, 0, 0, 0, 0, nothing)
    state["report_"] = Report((unknown,) * machines, nothing)
    for value in state.values():
        freeze(value)
    state["_fit_form"] = CoreForm()
    state["_fit_names"] = (*state, "_fit_names")
    vars(model).update(state)
    model._expansion()  # which checks that the parts fit together
    return model
