"""The quadratic programmes of a fitted model, rebuilt from its attributes in 80-bit numbers.

Everything is taken from the documentation and the fitted attributes. Gradients come as intervals,
because a kernel value in f64 is one (see `reference`); the gap returned is the smallest that is
consistent with them, so that a larger one than reported is a fault and not a rounding.
"""

from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from tests.torture.cases import CLASSIFIERS, DETECTORS, Case
from tests.torture.reference import ROUNDING, Long

#: A coefficient so close to its bound is at it: bounds are products and quotients of weights.
_AT_BOUND = 1e-13

#: Sums of coefficients are kept to this, relative to the sum of their sizes.
_SUM = 1e-11


@dataclass
class Machine:
    """minimise 1/2 b'(K + diag(ridge))b + linear'b + absolute'|b| within the bounds.

    `groups` tells the sums that are fixed, None if none is: then `absorber` is the factor of half
    the square of the sum.
    """

    name: str
    rows: NDArray[np.intp]
    beta: Long
    linear: Long
    lower: Long
    upper: Long
    ridge: Long
    absolute: float
    groups: NDArray[np.intp] | None
    sums: tuple[float, ...] = ()
    absorber: float = 0.0

    def product(self, K: Long) -> Long:
        """Return K times the coefficients for this machine's variables."""
        return K[np.ix_(self.rows, self.rows)] @ self.beta

    def objective(self, K: Long) -> Any:
        beta = self.beta
        smooth = beta @ (self.product(K) + self.ridge * beta) / 2 + self.linear @ beta
        square = 0 if self.groups is not None else self.absorber * self._sum() ** 2 / 2
        return smooth + self.absolute * np.abs(beta).sum() + square

    def noise(self, K: Long, E: Long) -> Long:
        """Return how far from the truth a gradient computed in f64 may be."""
        at = np.ix_(self.rows, self.rows)
        size = np.abs(self.beta)
        roundings = (len(self.rows) + 8) * ROUNDING
        terms = np.abs(self.linear) + self.ridge * size + self.absolute
        return (E[at] + roundings * np.abs(K[at])) @ size + 8 * ROUNDING * terms

    def gap(self, K: Long, E: Long) -> Any:
        """Return the smallest gap that the intervals of the gradient allow."""
        descent, noise = -(self.product(K) + self.linear + self.ridge * self.beta), self.noise(K, E)
        up = descent - noise + np.where(self.beta >= 0, -self.absolute, self.absolute)
        down = descent + noise + np.where(self.beta > 0, -self.absolute, self.absolute)
        # Multiplied, because an infinite bound stays infinite then.
        grow = self.beta < self.upper * (1 - _AT_BOUND * np.sign(self.upper))
        shrink = self.beta > self.lower * (1 + _AT_BOUND * np.sign(self.lower))
        gaps = []
        groups = np.zeros(len(up), np.intp) if self.groups is None else self.groups
        for group in np.unique(groups):
            m = up[grow & (groups == group)].max(initial=-np.inf)
            big_m = down[shrink & (groups == group)].min(initial=np.inf)
            if self.groups is None:
                total = self.absorber * self._sum()
                m, big_m = max(m, total), min(big_m, total)
            gaps.append(m - big_m if np.isfinite(m - big_m) else np.longdouble(0))
        return max(gaps)

    def _sum(self) -> Any:
        """Return the sum of the coefficients, exactly: they may be much larger than it is."""
        return np.longdouble(fsum(self.beta.astype(np.float64)))

    def infeasibility(self) -> str:
        """Say which constraint does not hold, '' if all do."""
        beta = self.beta
        if (beta < self.lower * (1 + _AT_BOUND)).any() or (
            beta > self.upper * (1 + _AT_BOUND)
        ).any():
            excess = max((beta - self.upper).max(), (self.lower - beta).max())
            return f"a coefficient is beyond its bound by {excess:.3g}"
        if self.groups is None:
            return ""
        for group, total in enumerate(self.sums):
            members = beta[self.groups == group]
            error = abs(members.sum() - total)
            if error > _SUM * max(np.abs(members).sum(), abs(total)):
                return f"a sum of coefficients is {members.sum():.17g}, not {total:.17g}"
        return ""


def machines(model: Any, case: Case) -> list[Machine]:
    """Return the machines of a fitted model in the order of its reports."""
    weight = np.ones(len(case.X)) if case.weight is None else np.asarray(case.weight)
    keep = np.flatnonzero(weight > 0.0)
    coefficients = dense(model.dual_coef_).astype(np.longdouble)
    full = np.zeros((len(coefficients), len(case.X)), np.longdouble)
    full[:, model.support_] = coefficients
    if case.estimator in CLASSIFIERS:
        return _classifiers(model, case, keep, weight, full)
    build = _detector if case.estimator in DETECTORS else _regressor
    return [build(model, case, keep, weight[keep], full[0, keep])]


def dense(matrix: Any) -> NDArray[Any]:
    return matrix.toarray() if sp.issparse(matrix) else matrix  # type: ignore[no-any-return]


def _bounds(cost: NDArray[Any], squared: bool) -> tuple[Any, Any]:
    """Return the bound and the ridge of coefficients of these costs."""
    cost = cost.astype(np.longdouble)
    if squared:
        return np.full(len(cost), np.longdouble(np.inf)), 1 / (2 * cost)
    return cost, np.zeros_like(cost)  # not 0 * cost, which may be infinite


def class_weights(case: Case, labels: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[Any]:
    """Return the weight of each class by the rows that are trained on."""
    n_classes = labels.max() + 1
    if case.parameters.get("class_weight") != "balanced":
        return np.ones(n_classes)
    of_class = np.bincount(labels, weights=weight)
    return weight.sum() / (n_classes * of_class)  # type: ignore[no-any-return]


def _classifiers(
    model: Any, case: Case, keep: NDArray[np.intp], weight: NDArray[Any], full: Long
) -> list[Machine]:
    classes, labels = np.unique(case.y[keep], return_inverse=True)
    assert (classes == model.classes_).all()
    cost = class_weights(case, labels, weight[keep])[labels] * weight[keep]
    beta, k = full[:, keep], len(classes)
    if k == 2:
        return [_classifier(case, keep, cost, labels == 1, beta[0])]
    if case.parameters["multiclass"] == "ovr":
        everything = np.ones(len(keep), bool)
        parts = [(labels == c, everything, beta[c]) for c in range(k)]
    else:
        parts = []
        for i in range(k):
            for j in range(i + 1, k):
                own = np.where(labels == i, beta[j - 1], beta[i])
                parts.append((labels == i, (labels == i) | (labels == j), own))
    return [
        _classifier(case, keep[among], cost[among], positive[among], own[among])
        for positive, among, own in parts
    ]


def _classifier(
    case: Case,
    rows: NDArray[np.intp],
    cost: NDArray[Any],
    positive: NDArray[np.bool_],
    beta: Long,
) -> Machine:
    groups: NDArray[np.intp] | None
    sums: tuple[float, ...]
    signs = np.where(positive, np.longdouble(1), np.longdouble(-1))
    p = case.parameters
    if case.estimator == "NuSVC":
        smaller = min(cost[positive].sum(), cost[~positive].sum())
        total = cost.sum()
        half = min(p["nu"], 2.0 * smaller / total) * total / 2.0
        # The attributes are divided by the margin, which the sums tell.
        size = np.abs(beta).sum()
        beta = beta * (2.0 * half / size) if size > 0 else beta
        bound, ridge = _bounds(cost, squared=False)
        groups, sums = np.where(positive, 0, 1), (half, -half)
        linear = 0 * signs
    else:
        bound, ridge = _bounds(p["C"] * cost, squared=p["loss"] == "squared_hinge")
        groups, sums = _intercept(p["fit_intercept"], len(rows))
        linear = -signs
    upper, lower = np.where(positive, bound, 0), np.where(positive, 0, -bound)
    machine = Machine("", rows, beta, linear, lower, upper, ridge, 0.0, groups, sums)
    machine.absorber = float(p.get("fit_intercept") == "penalized")
    return machine


def _intercept(kind: Any, n: int) -> tuple[NDArray[np.intp] | None, tuple[float, ...]]:
    return (np.zeros(n, np.intp), (0.0,)) if kind is True else (None, ())


def _regressor(
    model: Any, case: Case, rows: NDArray[np.intp], weight: NDArray[Any], beta: Long
) -> Machine:
    p = case.parameters
    y = np.asarray(case.y, dtype=np.longdouble)[rows]
    if case.estimator == "NuSVR":
        bound, ridge = _bounds(p["C"] * weight, squared=False)
        half = float(p["nu"] * bound.sum() / 2)
        zero, n = np.zeros(len(rows), np.longdouble), len(rows)
        sides = np.concatenate([np.maximum(beta, 0), np.minimum(beta, 0)])
        return Machine(
            "nu_svr", np.tile(rows, 2), sides, np.tile(-y, 2),
            np.concatenate([zero, -bound]), np.concatenate([bound, zero]), np.tile(ridge, 2),
            0.0, np.repeat([0, 1], n), (half, -half),
        )  # fmt: skip
    bound, ridge = _bounds(p["C"] * weight, squared="squared" in p["loss"])
    groups, sums = _intercept(p["fit_intercept"], len(rows))
    machine = Machine("", rows, beta, -y, -bound, bound, ridge, p["epsilon"], groups, sums)
    machine.absorber = float(p["fit_intercept"] == "penalized")
    return machine


def _detector(
    model: Any, case: Case, rows: NDArray[np.intp], weight: NDArray[Any], beta: Long
) -> Machine:
    p = case.parameters
    total = np.longdouble(p["nu"]) * weight.sum()
    squared, sphere = p["loss"] == "squared_hinge", case.estimator == "SVDD"
    scale = total if sphere else np.longdouble(1)
    weight = weight.astype(np.longdouble)
    zero = 0 * weight
    upper = np.full(len(rows), np.longdouble(np.inf)) if squared else weight / scale
    ridge = total / ((4 if sphere else 2) * weight) if squared else zero
    groups = np.zeros(len(rows), np.intp)
    # The linear term of a sphere, half of minus the diagonal, is set where the kernel is known.
    return Machine(
        "svdd" if sphere else "", rows, beta, zero, zero, upper, ridge, 0.0, groups,
        (float(total / scale),),
    )  # fmt: skip
