"""Estimates of the error of a classifier from the rows that it was trained on."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from mercer._data import RowsLike
from mercer._params import check_intercept
from mercer.model_selection._machines import BinaryMachine, TrainedRows, machines_of
from mercer.svm._svc import SVC

__all__ = ["ErrorEstimate", "ErrorEstimates", "error_estimates"]

#: Added to the diagonal of a kernel matrix that is inverted, as a share of its mean.
_RIDGE = 1e-12

#: What all of them estimate.
_ERROR = "the leave-one-out error"


@dataclass(frozen=True)
class ErrorEstimate:
    """An estimate of the error.

    Attributes
    ----------
    value : float
        The share of rows, by weight. That of `radius_margin` may exceed 1, and says nothing then.
    is_bound : bool
        Whether the value is an upper bound of the leave-one-out error of this very model, proved
        for machines of its kind. It is one of the exact solution; the solver's is exact to `tol`.
    estimates : str
        What is estimated, and by which count.
    bound_if : str
        For which machines the value is a bound.
    """

    value: float
    is_bound: bool
    estimates: str
    bound_if: str

    def __float__(self) -> float:
        """Return the value."""
        return self.value


@dataclass(frozen=True)
class ErrorEstimates:
    """What `error_estimates` found; ``str()`` of it is a table.

    Attributes
    ----------
    support_vectors : ErrorEstimate
        The share of support vectors.
    jaakkola_haussler : ErrorEstimate
        Rows that their own coefficients keep on the right side, by Jaakkola and Haussler.
    span : ErrorEstimate
        The same by the span of the other support vectors, whose bounds are respected.
    span_same_support : ErrorEstimate
        The span rule: exact if the support vectors stay the same when one is left out.
    xi_alpha : ErrorEstimate
        Joachims' count, from slacks and coefficients alone.
    radius_margin : ErrorEstimate
        From the radius of the rows and the margin.
    """

    support_vectors: ErrorEstimate
    jaakkola_haussler: ErrorEstimate
    span: ErrorEstimate
    span_same_support: ErrorEstimate
    xi_alpha: ErrorEstimate
    radius_margin: ErrorEstimate

    def __iter__(self) -> Iterator[tuple[str, ErrorEstimate]]:
        """Go over names and estimates."""
        return ((field.name, getattr(self, field.name)) for field in fields(self))

    def __str__(self) -> str:
        """Return a table."""
        lines = [
            f"{name:18} {estimate.value:8.4f}  {'bound' if estimate.is_bound else 'estimate'}"
            for name, estimate in self
        ]
        return "\n".join(lines)


def error_estimates(
    model: Any, X: RowsLike, y: Any, *, sample_weight: ArrayLike | None = None
) -> ErrorEstimates:
    """Estimate the error of a trained classifier without training it again.

    All of them look at what would happen if a row were left out, without leaving it out. Let
    alpha_p be the multiplier of row p, f its value, and S_p the distance of phi(x_p) from what the
    other support vectors can make up. Without the row its value y_p f(x_p) falls by at most
    alpha_p times a squared distance; where that is less than the value, the row is still on the
    right side. `leave_one_out` computes what is estimated here.

    Parameters
    ----------
    model : SVC
        A fitted classifier with any kernel. Of more than two classes, a row counts if it counts
        for one of the machines: if none errs, nor do they together.
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        The rows that it was fitted to.
    y : array-like of shape (n_samples,)
        Their labels.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights that were given to ``fit``. Rows count by them.

    Returns
    -------
    ErrorEstimates
        The estimates, each of which says what it is and when it is a bound.

    Notes
    -----
    With K(x, x) + r_p in place of K(x, x), r_p = 1 / (2 C_p), a machine with the squared hinge loss
    is a hard margin machine; with K + 1 in place of K, one with a penalised intercept is a machine
    without one. So each holds for all losses and intercepts, and a row counts if

    - `support_vectors`: alpha_p > 0.
    - `jaakkola_haussler`: alpha_p K(x_p, x_p) >= y_p f(x_p). Their theorem is for machines without
      an intercept. Where there is a free one, K(x_p, x_p) is replaced by the squared distance of
      x_p to the farthest row of another class, for which the same argument holds.
    - `span`: alpha_p^2 S_p^2 >= min(C_p, 1 / D^2), or alpha_p = C_p. S_p is found by a quadratic
      programme for each support vector. D is the diameter of the smallest sphere around all rows;
      without an intercept D^2 = K(x_p, x_p).
    - `span_same_support`: alpha_p S_p^2 >= y_p f(x_p), where S_p is the distance from the span of
      the support vectors that are not at their bounds, whatever their coefficients become.
    - `xi_alpha`: 2 alpha_p R^2 + max(0, 1 - y_p f(x_p)) >= 1, where R^2 is the largest kernel value
      less the smallest; without an intercept alpha_p R^2, and R^2 the largest value.
    - `radius_margin` is the sum of D^2 alpha_p + max(0, 1 - y_p f(x_p)): 4 R^2 / margin^2 for a
      hard margin in a sphere of radius R, and R^2 / margin^2 without an intercept.

    T. Jaakkola and D. Haussler, Probabilistic kernel regression models (1999). V. Vapnik and O.
    Chapelle, Bounds on error expectation for support vector machines (2000). T. Joachims,
    Estimating the generalization performance of a SVM efficiently (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.datasets import load_ionosphere
    >>> from mercer.model_selection import error_estimates, leave_one_out
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> model = SVC(C=np.inf, gamma=0.1).fit(X, y)
    >>> found = error_estimates(model, X, y)
    >>> print(found)
    support_vectors      0.1909  bound
    jaakkola_haussler    0.1823  bound
    span                 0.1709  bound
    span_same_support    0.0940  estimate
    xi_alpha             0.1823  bound
    radius_margin       13.1839  bound
    >>> round(leave_one_out(model, X, y).error, 4)
    0.0883
    """
    if not isinstance(model, SVC):
        raise TypeError(
            "model must be a fitted SVC, got "
            f"{model!r}: the theory is that of a cost C. For others, use leave_one_out"
        )
    model = model._snapshot()
    trained = TrainedRows.of(model, X, y, sample_weight)
    counts = [_Counts(machine) for machine in machines_of(trained)]
    free = check_intercept(model.fit_intercept) == "free"
    hard = model.loss == "squared_hinge" or bool(np.isinf(trained.cost).all())
    converged = model.report_.status == "converged"
    some_free = all(count.some_are_free for count in counts)

    def share(name: str) -> float:
        counted = np.zeros(len(trained.labels), dtype=bool)
        for count in counts:
            counted[count.machine.at[getattr(count, name)]] = True
        return float(np.average(counted, weights=trained.weight))

    def estimate(name: str, value: float, proved: bool) -> ErrorEstimate:
        return ErrorEstimate(value, converged and proved, *_WORDS[name])

    losses = sum(float((count.losses * trained.weight[count.machine.at]).sum()) for count in counts)
    names = ("jaakkola_haussler", "span", "xi_alpha")
    proved = {name: hard or not free for name in names}
    return ErrorEstimates(
        support_vectors=estimate(
            "support_vectors", share("support_vectors"), some_free or not free
        ),
        span_same_support=estimate("span_same_support", share("span_same_support"), False),
        radius_margin=estimate(
            "radius_margin", losses / float(trained.weight.sum()), hard or not free
        ),
        **{name: estimate(name, share(name), proved[name]) for name in names},
    )


#: What each estimates, and when it is a bound.
_SOMETIMES = (
    "with a hard margin, with loss='squared_hinge', or without a free intercept. With a finite C "
    "and a free intercept only as long as some support vector is between its bounds whatever is "
    "left out, which is not checked"
)
_WORDS = {
    "support_vectors": (
        f"{_ERROR}, by the support vectors: without any other row the machine is the same",
        "always, except where all support vectors are at their upper bounds and the intercept is "
        "free, which then is not unique",
    ),
    "jaakkola_haussler": (
        f"{_ERROR}, by the support vectors that would be on the wrong side if only their own "
        "coefficients were taken away, or given to the farthest row of another class if the "
        "intercept is free",
        _SOMETIMES,
    ),
    "span": (
        f"{_ERROR}, by the support vectors whose place the others cannot take without moving the "
        "weight vector too far",
        _SOMETIMES,
    ),
    "span_same_support": (
        f"{_ERROR}, which it is if the support vectors, and those among them that are at their "
        "bounds, stay the same when one is left out",
        "never; it is usually the closest",
    ),
    "xi_alpha": (
        f"{_ERROR}, by the rows whose slack and coefficient are large: pessimistic",
        _SOMETIMES,
    ),
    "radius_margin": (
        f"{_ERROR}, up to a factor: it follows the error of machines that differ in their kernel, "
        "and is usually far above it",
        _SOMETIMES,
    ),
}


class _Counts:
    """Which rows of a machine count for which estimate."""

    def __init__(self, machine: BinaryMachine) -> None:
        self.machine = machine
        model = machine.trained.model
        self._is_free = check_intercept(model.fit_intercept) == "free"
        own = machine.trained.geometry.diagonal[machine.at] + machine.ridge
        if model.fit_intercept == "penalized":
            own = own + 1.0
        #: The squared length of each row in the feature space of the machine.
        self._own = own
        #: What its value has to be more than: the solver's is right to the gap.
        self._reached = machine.reached - machine.gap
        self._support = machine.is_support

    @property
    def some_are_free(self) -> bool:
        machine = self.machine
        return bool((machine.is_support & ~machine.is_bounded).any())

    @property
    def support_vectors(self) -> NDArray[np.bool_]:
        return self._support

    @property
    def jaakkola_haussler(self) -> NDArray[np.bool_]:
        machine = self.machine
        reach = self._own
        if self._is_free:
            reach = machine.opposite + machine.ridge + machine.ridge.max()
        counted: NDArray[np.bool_] = self._support & (machine.alpha * reach >= self._reached)
        return counted

    @property
    def span(self) -> NDArray[np.bool_]:
        machine = self.machine
        counted = machine.is_bounded
        free = self._support & ~counted
        if free.any():
            moved = machine.alpha[free] ** 2 * machine.spans(free)
            least = np.minimum(machine.upper, 1.0 / np.maximum(self._diameter, 1e-300))
            counted[free] = moved >= least[free] * (1.0 - machine.gap) ** 2
        return counted

    @property
    def span_same_support(self) -> NDArray[np.bool_]:
        machine = self.machine
        counted = np.zeros(len(machine.at), dtype=bool)
        support = np.flatnonzero(self._support)
        fall = machine.alpha[support] * self._distances(support)
        counted[support] = fall >= machine.reached[support]
        return counted

    @property
    def xi_alpha(self) -> NDArray[np.bool_]:
        machine, geometry = self.machine, self.machine.trained.geometry
        if self._is_free:
            reach = 2.0 * (geometry.diagonal.max() - geometry.smallest)
            reach = reach + machine.ridge + machine.ridge.max()
        else:
            reach = np.full(len(machine.at), self._own.max())
        fall = machine.alpha * reach + machine.slack
        counted: NDArray[np.bool_] = self._support & (fall >= 1.0 - machine.gap)
        return counted

    @property
    def losses(self) -> NDArray[np.float64]:
        """What each row adds to the radius-margin bound."""
        machine = self.machine
        diameter = self._diameter if self._is_free else np.full_like(self._own, self._own.max())
        losses: NDArray[np.float64] = machine.alpha * diameter + machine.slack
        return losses

    @property
    def _diameter(self) -> NDArray[np.float64]:
        """The squared distance beyond which no other row is from each, or from the origin."""
        machine = self.machine
        if not self._is_free:
            return self._own
        squared_radius = machine.trained.geometry.squared_radius
        found: NDArray[np.float64] = 4.0 * squared_radius + machine.ridge + machine.ridge.max()
        return found

    def _distances(self, support: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the squared distance of each support vector from the span of the free others."""
        machine = self.machine
        bounded = machine.is_bounded[support]
        free, fixed = support[~bounded], support[bounded]
        own, found = self._own[support], np.full(len(support), np.inf)
        if not len(free):
            return found if self._is_free else own
        at = machine.at
        charged = 1.0 if machine.trained.model.fit_intercept == "penalized" else 0.0
        matrix = machine.trained.values(at[free], at[free]) + charged
        ridge = _RIDGE * np.trace(matrix) / len(free)
        matrix[np.diag_indices_from(matrix)] += machine.ridge[free] + ridge
        inverse = scipy.linalg.inv(matrix, overwrite_a=True)
        sums, total = inverse.sum(axis=1), inverse.sum()
        entries = np.diagonal(inverse).copy()
        if self._is_free:
            entries -= sums**2 / total
        with np.errstate(divide="ignore"):
            found[~bounded] = np.maximum(0.0, 1.0 / np.maximum(entries, 0.0) - ridge)
        if len(fixed):
            values = machine.trained.values(at[fixed], at[free]) + charged
            squared = self._own[fixed] - np.einsum("ij,jk,ik->i", values, inverse, values)
            if self._is_free:
                squared += (1.0 - values @ sums) ** 2 / total
            found[bounded] = np.maximum(0.0, squared)
        return found
