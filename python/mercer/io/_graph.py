"""Kernels as graphs of primitive operators in double precision."""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import kernels
from mercer.kernels._kernel import Kernel

__all__ = ["Graph", "Rows", "diagonal", "kernel_values"]

#: Operators of an ANOVA kernel at the most: there are two for each feature and degree.
_MOST_OPERATORS = 4000


class Graph:
    """A graph that grows: whoever keeps it says how operators and constants are added."""

    def __init__(
        self,
        node: Callable[[str, list[str], dict[str, Any]], str],
        constant: Callable[[NDArray[Any]], str],
    ) -> None:
        self._node = node
        self._constant = constant

    def __call__(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Add an operator; inputs are names of values, numbers or arrays. Return its output."""
        return self._node(operator, [self.input(value) for value in inputs], attributes)

    def input(self, value: Any) -> str:
        """Return the name of a value."""
        if isinstance(value, str):
            return value
        array = np.asarray(value)
        return self._constant(array.astype(np.float64) if array.dtype.kind == "f" else array)

    def gather(self, values: str, columns: Any) -> str:
        """Return some columns of a matrix."""
        return self("Gather", values, np.asarray(columns, dtype=np.int64), axis=1)

    def sum_rows(self, values: str, axis: int = 1, keep: int = 1) -> str:
        """Return the sums over an axis."""
        return self("ReduceSum", values, np.array([axis]), keepdims=keep)


@dataclass(frozen=True)
class Rows:
    """Rows to decide, and the rows that a model keeps."""

    graph: Graph
    X: str
    kept: NDArray[np.float64]

    def products(self, factor: float = 1.0) -> str:
        """Return x.z times a factor for all pairs.

        The factor is in the constant: onnxruntime takes one that comes after a product into it, and
        rounds it to single precision.
        """
        return self.graph("MatMul", self.X, np.ascontiguousarray(factor * self.kept.T))

    def squared_distances(self) -> str:
        """Return |x - z|^2 for all pairs, of rows that were moved to the centre: to cancel less."""
        graph, centre = self.graph, self.kept.mean(axis=0)
        rows, kept = graph("Sub", self.X, centre), self.kept - centre
        products = graph("MatMul", rows, np.ascontiguousarray(-2.0 * kept.T))
        squares = graph.sum_rows(graph("Mul", rows, rows))
        sums = graph("Add", graph("Add", products, squares), (kept * kept).sum(axis=1))
        return graph("Max", sums, np.float64(0.0))

    def differences(self) -> str:
        """Return x - z for all pairs, with an axis for the features."""
        return self.graph("Sub", self.across(), self.kept[np.newaxis])

    def across(self) -> str:
        """Return the rows with an axis for those that are kept."""
        return self.graph("Unsqueeze", self.X, np.array([1]))


def kernel_values(kernel: Kernel, rows: Rows) -> str:
    """Return the values of a kernel for all pairs."""
    graph = rows.graph
    match kernel:
        case kernels.Sum():
            return graph("Add", kernel_values(kernel.left, rows), kernel_values(kernel.right, rows))
        case kernels.Product():
            return graph("Mul", kernel_values(kernel.left, rows), kernel_values(kernel.right, rows))
        case kernels.Scaled():
            return _scaled(kernel, rows)
        case kernels.Normalized():
            return _normalized(kernel.kernel, rows)
        case kernels.Linear():
            return rows.products()
        case kernels.Polynomial() | kernels.Sigmoid():
            return _of_products(kernel, graph, rows.products(float(kernel.gamma)))
        case kernels.RBF() | kernels.InverseMultiquadric() | kernels.Matern():
            return _of_distances(kernel, rows)
        case kernels.ANOVA():
            return _anova(kernel, rows)
    return _of_features(kernel, rows)


def _scaled(kernel: Any, rows: Rows) -> str:
    factor, inner = 1.0, kernel
    while isinstance(inner, kernels.Scaled):
        factor, inner = factor * inner.factor, inner.kernel
    if isinstance(inner, kernels.Linear):
        return rows.products(factor)
    return rows.graph("Mul", kernel_values(inner, rows), np.float64(factor))


def _of_products(kernel: Any, graph: Graph, products: str) -> str:
    """Return the values of a kernel from gamma x.z."""
    affine = graph("Add", products, np.float64(kernel.coef0))
    if isinstance(kernel, kernels.Sigmoid):
        return graph("Tanh", affine)
    return graph("Pow", affine, np.float64(kernel.degree))


def _of_distances(kernel: Any, rows: Rows) -> str:
    graph, squares = rows.graph, rows.squared_distances()
    if isinstance(kernel, kernels.RBF):
        return graph("Exp", graph("Mul", squares, np.float64(-float(kernel.gamma))))
    if isinstance(kernel, kernels.InverseMultiquadric):
        return graph("Reciprocal", graph("Sqrt", graph("Add", squares, np.float64(kernel.c**2))))
    scale = np.float64(sqrt(2.0 * kernel.nu) / kernel.length_scale)
    r = graph("Mul", graph("Sqrt", squares), scale)
    factor = graph("Add", r, np.float64(1.0))
    if kernel.nu == 2.5:
        factor = graph("Add", factor, graph("Div", graph("Mul", r, r), np.float64(3.0)))
    return graph("Mul", factor, graph("Exp", graph("Neg", r)))


def _of_features(kernel: Any, rows: Rows) -> str:
    """Return the values of a kernel that is a sum over features, each with all pairs of rows."""
    graph = rows.graph

    def summed(values: str) -> str:
        return graph.sum_rows(values, axis=2, keep=0)

    match kernel:
        case kernels.Laplacian():
            sums = summed(graph("Abs", rows.differences()))
            return graph("Exp", graph("Mul", sums, np.float64(-float(kernel.gamma))))
        case kernels.Periodic():
            angles = graph("Mul", rows.differences(), np.float64(pi / kernel.period))
            sines = graph("Sin", angles)
            factor = np.float64(-2.0 / kernel.length_scale**2)
            return graph("Exp", graph("Mul", summed(graph("Mul", sines, sines)), factor))
        case kernels.ChiSquared():
            differences = rows.differences()
            total = graph("Add", rows.across(), rows.kept[np.newaxis])
            squares = graph("Mul", differences, differences)
            # Where both are 0, the difference is.
            total = graph(
                "Add", total, graph("Cast", graph("Equal", total, np.float64(0.0)), to=11)
            )
            sums = summed(graph("Div", squares, total))
            return graph("Exp", graph("Mul", sums, np.float64(-kernel.gamma)))
        case kernels.HistogramIntersection():
            return summed(graph("Min", rows.across(), rows.kept[np.newaxis]))
    raise ValueError(f"kernel must be one that a graph can have, got {kernel!r}")


def _anova(kernel: Any, rows: Rows) -> str:
    """Return elementary symmetric polynomials, by adding one feature after another."""
    graph, features = rows.graph, rows.kept.shape[1]
    if features * kernel.degree > _MOST_OPERATORS:
        raise ValueError(
            f"an ANOVA kernel of degree {kernel.degree} with {features} features takes too many "
            "operators"
        )
    polynomials: list[str | None] = [None] * (kernel.degree + 1)
    for feature in range(features):
        column = graph.gather(rows.X, [feature])
        difference = graph("Sub", column, np.ascontiguousarray(rows.kept[:, feature]))
        square = graph("Mul", difference, difference)
        value = graph("Exp", graph("Mul", square, np.float64(-float(kernel.gamma))))
        for degree in range(kernel.degree, 0, -1):
            lower = polynomials[degree - 1]
            if degree > 1 and lower is None:
                continue
            term = value if degree == 1 else graph("Mul", lower, value)
            known = polynomials[degree]
            polynomials[degree] = term if known is None else graph("Add", known, term)
    found: str | None = polynomials[kernel.degree]
    if found is not None:
        return found
    return graph("Mul", graph("Sub", rows.products(), rows.products()), np.float64(0.0))


def _normalized(kernel: Kernel, rows: Rows) -> str:
    graph = rows.graph
    own = np.array([float(kernel(row[np.newaxis])[0, 0]) for row in rows.kept])
    # A row of length zero has the value 0 with every row.
    with np.errstate(divide="ignore"):
        factors = np.where(own > 0.0, 1.0 / np.sqrt(own), 0.0)
    values = graph("Mul", kernel_values(kernel, rows), factors)
    length = graph("Sqrt", diagonal(kernel, rows))
    zero = graph("Cast", graph("Equal", length, np.float64(0.0)), to=11)
    inverse = graph("Sub", graph("Reciprocal", graph("Add", length, zero)), zero)
    return graph("Mul", values, inverse)


def diagonal(kernel: Kernel, rows: Rows) -> str:
    """Return k(x, x) of all rows, as a column."""
    graph = rows.graph

    def constant(value: float) -> str:
        zeros = graph("Mul", graph.gather(rows.X, [0]), np.float64(0.0))
        return graph("Add", zeros, np.float64(value))

    match kernel:
        case kernels.Sum():
            return graph("Add", diagonal(kernel.left, rows), diagonal(kernel.right, rows))
        case kernels.Product():
            return graph("Mul", diagonal(kernel.left, rows), diagonal(kernel.right, rows))
        case kernels.Scaled():
            return graph("Mul", diagonal(kernel.kernel, rows), np.float64(kernel.factor))
        case kernels.Normalized():
            positive = graph("Greater", diagonal(kernel.kernel, rows), np.float64(0.0))
            return graph("Cast", positive, to=11)
        case kernels.Linear() | kernels.Polynomial() | kernels.Sigmoid():
            squares = graph.sum_rows(graph("Mul", rows.X, rows.X))
            if isinstance(kernel, kernels.Linear):
                return squares
            return _of_products(kernel, graph, graph("Mul", squares, np.float64(kernel.gamma)))
        case kernels.HistogramIntersection():
            return graph.sum_rows(rows.X)
        case kernels.InverseMultiquadric():
            return constant(1.0 / kernel.c)
        case kernels.ANOVA():
            return constant(float(comb(rows.kept.shape[1], kernel.degree)))
    return constant(1.0)
