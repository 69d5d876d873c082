"""ONNX: machines as graphs of primitive operators in double precision.

The operators that ONNX has for support vector machines compute in single precision, and those of
one-class machines decide otherwise than they should. So graphs are made of matrix products, sums
and functions of numbers. They need operator set 18, and no extension.

`to_onnx` needs the package ``onnx``. If ``skl2onnx`` is installed, importing this module makes our
machines known to it, so that pipelines with them can be converted. ``pip install mercer[onnx]``
installs both. The names of the outputs are `label` and `decision_function`, or `variable` for
regressions; in pipelines the second output of a classifier is called `probabilities`, as skl2onnx
has it, and holds the decision function.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import onnx
import scipy.sparse as sp
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer import _core
from mercer.io._graph import Graph, Rows, diagonal, kernel_values
from mercer.kernels import Linear
from mercer.svm import SVC, SVDD, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from mercer.svm._base import BaseKernelMachine
from mercer.svm._tree import PER_CLASS, is_tree

__all__ = ["to_onnx"]

#: The version of the operators: the first in which sums take their axes as an input.
_OPSET = 18
_MACHINES = (SVC, NuSVC, LinearSVC, SVR, NuSVR, LinearSVR, OneClassSVM, SVDD)


def to_onnx(model: Any) -> Any:
    """Make an ONNX model of a fitted machine.

    Parameters
    ----------
    model : SVC, NuSVC, LinearSVC, SVR, NuSVR, LinearSVR, OneClassSVM or SVDD
        The machine, with any kernel of `mercer.kernels` for rows of numbers, or a precomputed one.
        Machines with a kernel that is a Python function or one of sequences have no graph.

    Returns
    -------
    onnx.ModelProto
        The model: ``model.SerializeToString()`` are the bytes of its file. Its input `X` has the
        type double. Classifiers and detectors have the outputs `label`, as `predict` returns, and
        `decision_function`; regressions have `variable`. Probabilities are not in it.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.io import to_onnx
    >>> model = SVC().fit([[0.0], [1.0], [2.0]], ["cold", "warm", "warm"])
    >>> [output.name for output in to_onnx(model).graph.output]
    ['label', 'decision_function']
    """
    _check(model)
    builder = _Builder()
    outputs = _outputs(builder.graph, model, "X")
    return builder.finished(outputs, _n_features(model))


def _check(model: Any) -> None:
    """Raise unless there is a graph of such a machine."""
    if not isinstance(model, _MACHINES):
        known = ", ".join(kind.__name__ for kind in _MACHINES)
        raise TypeError(f"model must be one of {known}, got {type(model).__name__}")
    check_is_fitted(model)
    if isinstance(model, BaseKernelMachine):
        model._expansion()  # which checks the attributes
        kernel = model._fit_kernel
        if not isinstance(kernel, str) and (
            not hasattr(kernel, "_of_sequences") or kernel._of_sequences
        ):
            raise ValueError(
                f"kernel must be one of rows of numbers or precomputed, for a graph, got {kernel!r}"
            )


def _n_features(model: Any) -> int:
    return int(model.n_features_in_)


class _Builder:
    """A model that is built alone."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._initializers: list[Any] = []
        self.graph = Graph(self._node, self._constant)

    def _node(self, operator: str, inputs: list[str], attributes: dict[str, Any]) -> str:
        output = f"v{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def _constant(self, array: NDArray[Any]) -> str:
        key = str(array.dtype), array.shape, repr(array.tolist()).encode()
        if array.size > 16 or key not in self._constants:
            self._constants[key] = f"c{len(self._initializers)}"
            self._initializers.append(numpy_helper.from_array(array, self._constants[key]))
        return self._constants[key]

    def finished(self, outputs: dict[str, tuple[str, int, list[Any]]], features: int) -> Any:
        """Return the model; outputs have a name, a value, its type and its shape."""
        nodes, infos = list(self._nodes), []
        for name, (value, kind, shape) in outputs.items():
            nodes.append(helper.make_node("Identity", [value], [name]))
            infos.append(helper.make_tensor_value_info(name, kind, shape))
        rows = helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["n", features])
        graph = helper.make_graph(nodes, "mercer", [rows], infos, self._initializers)
        opset = [helper.make_opsetid("", _OPSET)]
        model = helper.make_model(graph, opset_imports=opset, producer_name="mercer")
        model.producer_version = _core.__version__
        # What this operator set came with: older runtimes read it.
        model.ir_version = 8
        onnx.checker.check_model(model)
        return model


def _outputs(graph: Graph, model: Any, X: str) -> dict[str, tuple[str, int, list[Any]]]:
    """Return names, values, types and shapes of the outputs for rows of doubles."""
    double = TensorProto.DOUBLE
    values = _values(graph, model, X)
    if isinstance(model, OneClassSVM | SVDD):
        inside = graph("GreaterOrEqual", values, np.float64(0.0))
        label = graph("Where", inside, np.int64(1), np.int64(-1))
        column = np.array([1])
        return {
            "label": (graph("Squeeze", label, column), TensorProto.INT64, ["n"]),
            "decision_function": (graph("Squeeze", values, column), double, ["n"]),
        }
    if not is_classifier(model):
        several = len(np.atleast_1d(model.intercept_)) > 1
        if several:
            return {"variable": (values, double, ["n", len(model.intercept_)])}
        return {"variable": (graph("Squeeze", values, np.array([1])), double, ["n"])}
    numbers, decision, shape = _classified(graph, model, values)
    labels, kind = _labels(model.classes_)
    return {
        "label": (graph("Gather", labels, numbers, axis=0), kind, ["n"]),
        "decision_function": (decision, double, shape),
    }


def _labels(classes: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return labels of a type that ONNX has."""
    kind = classes.dtype.kind
    if kind in "iu":
        return classes.astype(np.int64), TensorProto.INT64
    if kind == "b":
        return classes, TensorProto.BOOL
    if kind == "f":
        return classes.astype(np.float64), TensorProto.DOUBLE
    return np.array([str(label) for label in classes], dtype=object), TensorProto.STRING


def _values(graph: Graph, model: Any, X: str) -> str:
    """Return the values of all machines, shape (rows, machines); depths of a detector."""
    if not isinstance(model, BaseKernelMachine):
        coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
        return _affine(graph, X, np.atleast_2d(coef), np.atleast_1d(model.intercept_))
    coefficients = model._rows_of_coefficients()
    if sp.issparse(coefficients):
        coefficients = coefficients.toarray()
    coefficients = np.asarray(coefficients, dtype=np.float64)
    intercept = np.asarray(model.intercept_, dtype=np.float64)
    kernel: Any = model._fit_kernel
    if isinstance(model, SVDD):
        coefficients, intercept = 2.0 * coefficients, intercept - model.offset_
    if isinstance(kernel, str):
        values = _affine(graph, graph.gather(X, model.support_), coefficients, intercept)
        if isinstance(model, SVDD):
            if model._fit_diagonal is None:
                raise ValueError("an SVDD with a precomputed kernel needs one of constant diagonal")
            values = graph("Sub", values, np.float64(model._fit_diagonal))
        return values
    vectors: Any = model.support_vectors_
    vectors = vectors.toarray() if sp.issparse(vectors) else np.asarray(vectors)
    rows = Rows(graph, X, vectors.astype(np.float64))
    if len(vectors) == 0:
        return _affine(graph, X, np.zeros((len(intercept), _n_features(model))), intercept)
    if isinstance(kernel, Linear):
        values = _affine(graph, X, coefficients @ rows.kept, intercept)
    else:
        values = _affine(graph, kernel_values(kernel, rows), coefficients, intercept)
    return graph("Sub", values, diagonal(kernel, rows)) if isinstance(model, SVDD) else values


def _affine(
    graph: Graph, rows: str, weights: NDArray[np.float64], constant: NDArray[np.float64]
) -> str:
    product = graph("MatMul", rows, np.ascontiguousarray(weights.T, dtype=np.float64))
    return graph("Add", product, np.asarray(constant, dtype=np.float64))


def _classified(graph: Graph, model: Any, values: str) -> tuple[str, str, list[Any]]:
    """Return class numbers, the decision function and its shape."""
    classes = len(model.classes_)
    if classes == 2:
        first = graph("Squeeze", values, np.array([1]))
        number = graph("Cast", graph("Greater", first, np.float64(0.0)), to=TensorProto.INT64)
        return number, first, ["n"]
    strategy = getattr(model, "_fit_multiclass", "ovr")
    if is_tree(strategy):
        raise ValueError("multiclass must not be a tree for ONNX, got one")
    if strategy in PER_CLASS:
        return _largest(graph, values), values, ["n", classes]
    pairs = list(combinations(range(classes), 2))
    if strategy == "ovo":
        confidences = _votes(graph, values, pairs, classes, "GreaterOrEqual")
        breaks = model._breaks_ties()
        votes = confidences if breaks else _votes(graph, values, pairs, classes, "Greater", False)
        number = _largest(graph, votes)
    else:
        number, confidences = _Walk(graph, values, pairs, classes).results()
    if model.decision_function_shape == "ovo":
        return number, values, ["n", len(pairs)]
    return number, confidences, ["n", classes]


def _largest(graph: Graph, values: str) -> str:
    """Return the number of the first of the largest values of each row."""
    return graph("ArgMax", values, axis=1, keepdims=0)


def _votes(
    graph: Graph,
    values: str,
    pairs: list[tuple[int, int]],
    classes: int,
    won: str,
    confident: bool = True,
) -> str:
    """Return the votes for each class, and how clear they are if that is asked for."""
    first, second = np.zeros((2, len(pairs), classes))
    for machine, (i, j) in enumerate(pairs):
        first[machine, i] = second[machine, j] = 1.0
    positive = graph("Cast", graph(won, values, np.float64(0.0)), to=TensorProto.DOUBLE)
    # A vote for the first of a pair is none for the second.
    votes = graph("Add", graph("MatMul", positive, first - second), second.sum(axis=0))
    if not confident:
        return votes
    return graph("Add", votes, _confidence(graph, graph("MatMul", values, first - second)))


def _confidence(graph: Graph, value: str) -> str:
    size = graph("Add", graph("Abs", value), np.float64(1.0))
    return graph("Div", value, graph("Mul", size, np.float64(3.0)))


class _Walk:
    """The walk that drops the loser of the first and the last class until one is left.

    A state is a pair of classes, and its value in a row is 1 if the walk comes by, else 0.
    """

    def __init__(
        self, graph: Graph, values: str, pairs: list[tuple[int, int]], classes: int
    ) -> None:
        self._graph = graph
        self._pairs = pairs
        self._classes = classes
        value = {pair: graph.gather(values, [at]) for at, pair in enumerate(pairs)}
        self._clear = {pair: _confidence(graph, graph("Abs", v)) for pair, v in value.items()}
        zero, double = np.float64(0.0), TensorProto.DOUBLE
        self._first = {
            pair: graph("Cast", graph("Greater", v, zero), to=double) for pair, v in value.items()
        }
        one = np.float64(1.0)
        self._second = {pair: graph("Sub", one, first) for pair, first in self._first.items()}

    def results(self) -> tuple[str, str]:
        """Return the classes that are left, and the confidences of all."""
        graph, classes = self._graph, self._classes
        parts: dict[int, list[str]] = {k: [] for k in range(classes)}
        left: dict[int, list[str]] = {k: [] for k in range(classes)}
        for (i, j), reached in self._reached().items():
            for won, winner, loser in ((self._first, i, j), (self._second, j, i)):
                here = graph("Mul", reached, won[i, j])
                comparison = np.float64(classes - 1 - (j - i))
                clear = self._clear[i, j]
                parts[loser].append(graph("Mul", here, graph("Sub", comparison, clear)))
                if j == i + 1:
                    last = np.float64(classes - 1)
                    parts[winner].append(graph("Mul", here, graph("Add", last, clear)))
                    left[winner].append(here)
        confidences = [self._added(parts[k]) for k in range(classes)]
        winners = [self._added(left[k]) for k in range(classes)]
        number = _largest(graph, graph("Concat", *winners, axis=1))
        return number, graph("Concat", *confidences, axis=1)

    def _reached(self) -> dict[tuple[int, int], str]:
        graph, last = self._graph, self._classes - 1
        start = graph("Add", graph("Mul", self._first[0, last], np.float64(0.0)), np.float64(1.0))
        reached = {(0, last): start}
        for length in range(last - 1, 0, -1):
            for i in range(last - length + 1):
                j, ways = i + length, []
                if (i, j + 1) in reached:
                    ways.append(graph("Mul", reached[i, j + 1], self._first[i, j + 1]))
                if (i - 1, j) in reached:
                    ways.append(graph("Mul", reached[i - 1, j], self._second[i - 1, j]))
                reached[i, j] = self._added(ways)
        return reached

    def _added(self, values: list[str]) -> str:
        return values[0] if len(values) == 1 else self._graph("Sum", *values)


# Pipelines


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add a machine to a graph of skl2onnx."""

    def node(op: str, inputs: list[str], attributes: dict[str, Any]) -> str:
        output: str = scope.get_unique_variable_name("mercer")
        name = scope.get_unique_operator_name(f"mercer_{op}")
        version = min(_OPSET, container.target_opset_any_domain(""))
        container.add_node(op, inputs, [output], op_version=version, name=name, **attributes)
        return output

    def constant(array: NDArray[Any]) -> str:
        name: str = scope.get_unique_variable_name("mercer_constant")
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        values = [str(v).encode() for v in array] if array.dtype == object else array.ravel()
        container.add_initializer(name, kind, array.shape, values)
        return name

    model = operator.raw_operator
    graph = Graph(node, constant)
    X = graph("Cast", operator.inputs[0].full_name, to=TensorProto.DOUBLE)
    outputs = list(_outputs(graph, model, X).values())
    for variable, (value, _, shape) in zip(operator.outputs, outputs, strict=True):
        # Columns are what follows a regression or a detector in a pipeline expects.
        columns = len(shape) == 1 and not (is_classifier(model) and variable is operator.outputs[0])
        value = graph("Unsqueeze", value, np.array([1])) if columns else value
        name = scope.get_unique_operator_name("mercer_output")
        container.add_node("Identity", [value], [variable.full_name], op_version=14, name=name)


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the outputs of a machine."""
    from skl2onnx.common.data_types import (
        BooleanTensorType,
        DoubleTensorType,
        Int64TensorType,
        StringTensorType,
    )

    _check(model)
    operator = scope.declare_local_operator(f"Mercer{type(model).__name__}", model)
    operator.inputs = inputs
    if is_classifier(model):
        kinds: dict[int, Any] = {
            TensorProto.INT64: Int64TensorType,
            TensorProto.BOOL: BooleanTensorType,
            TensorProto.DOUBLE: DoubleTensorType,
            TensorProto.STRING: StringTensorType,
        }
        declared = {"label": kinds[_labels(model.classes_)[1]]}
        declared["probabilities"] = DoubleTensorType
    elif isinstance(model, OneClassSVM | SVDD):
        declared = {"label": Int64TensorType, "scores": DoubleTensorType}
    else:
        declared = {"variable": DoubleTensorType}
    for name, kind in declared.items():
        operator.outputs.append(scope.declare_local_variable(name, kind()))
    return operator.outputs


def _shapes(operator: Any) -> None:
    """Leave the shapes open, as `_parse` has declared them."""


def _register(update: Callable[..., None]) -> None:
    for kind in _MACHINES:
        update(kind, f"Mercer{kind.__name__}", _shapes, _convert, parser=_parse)


try:
    from skl2onnx import update_registered_converter
except ImportError:
    pass
else:
    _register(update_registered_converter)
