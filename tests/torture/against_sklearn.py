"""The same fit by scikit-learn, where it has the machine.

Two solutions M and S of one convex programme, with gaps g_M and g_S, differ by no more than

    |w_M - w_S|^2 <= (g_M + g_S) |M - S|_1 / 2

because a unit of weight moved from one coefficient to another changes the objective by at most the
gap. That bounds how far their decision values may be apart, and nothing has to be guessed.
"""

import warnings
from typing import Any

import numpy as np
import sklearn.svm
from sklearn.exceptions import ConvergenceWarning
from tests.torture import reference
from tests.torture.cases import Case
from tests.torture.harness import Fault
from tests.torture.optimality import Machine, class_weights, machines
from tests.torture.reference import ROUNDING, Long

#: What LIBSVM is given at most; where it needs more, there is nothing to compare with.
_ITERATIONS = 20_000

#: From this on features and kernel values are beyond what LIBSVM computes well.
_LARGE = 1e3


def compare(model: Any, case: Case, ours: list[Machine], kernel: tuple[Long, Long]) -> str:
    """Return 'right' after a comparison, 'right alone' if scikit-learn has no such machine."""
    other = _fit(case, kernel[0])
    if other is None:
        return "right alone"
    K, E = kernel
    for index, (mine, theirs) in enumerate(zip(ours, machines(other, case), strict=True)):
        if theirs.name == "nu_svr" or theirs.infeasibility():
            return "right alone"  # beyond their rounding, or not told by the attributes
        moved = np.abs(mine.beta - theirs.beta).sum() / 2
        noise = (np.abs(mine.beta) + np.abs(theirs.beta)) @ (mine.noise(K, E) + theirs.noise(K, E))
        excess = mine.objective(K) - theirs.objective(K)
        if excess > model.report_[index].gap * moved + noise:
            raise Fault(f"objective {float(excess):.3g} above that of scikit-learn, {moved=:.3g}")
        bound = (model.report_[index].gap + theirs.gap(K, E)) * moved + 4 * noise
        if case.estimator != "NuSVC":
            _compare_intercepts(model, other, index, (mine, theirs), (K, bound))
    _compare_predictions(model, other, case)
    return "right"


def _fit(case: Case, K: Long) -> Any:
    p = case.parameters
    if (
        case.estimator == "SVDD"
        or "squared" in p.get("loss", "")
        or p.get("fit_intercept", True) is not True
        or p.get("multiclass") in ("ovr", "dag")
        or not 1e-6 < p.get("C", 1.0) < 1e6
        or case.kernel[0] == "sigmoid"
        or not np.abs(K).max() < _LARGE
        or not _positive_definite(K)
        or (case.estimator == "OneClassSVM" and (case.weight is not None or p["nu"] > 0.99))
    ):
        # The last: scikit-learn 1.9 then writes behind the end of an array.
        return None
    names = ("C", "nu", "epsilon", "tol", "shrinking", "class_weight", "decision_function_shape")
    parameters = {name: p[name] for name in names if name in p}
    keep = np.flatnonzero(case.weight > 0) if case.weight is not None else np.arange(len(K))
    if len(keep) < len(K) or (case.estimator == "NuSVC" and p["class_weight"]):
        return None
    if p.get("class_weight") == "balanced":
        # Theirs counts rows without their weights: only numbers are the same problem.
        classes, labels = np.unique(case.y, return_inverse=True)
        weight = np.ones(len(K)) if case.weight is None else case.weight
        balanced = class_weights(case, labels, weight)
        parameters["class_weight"] = dict(zip(classes, balanced, strict=True))
    if case.kernel_as == "name" and np.abs(case.X).max() < _LARGE:
        parameters |= reference.kernel_parameters(case.kernel)
        rows = np.asarray(case.X, dtype=np.float64)
    else:
        parameters["kernel"], rows = "precomputed", K.astype(np.float64)
    if parameters["kernel"] in ("laplacian", "imq"):
        parameters, rows = {**parameters, "kernel": "precomputed"}, K.astype(np.float64)
    other = getattr(sklearn.svm, case.estimator)(max_iter=_ITERATIONS, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            other.fit(rows, case.y, sample_weight=case.weight)
        except (ConvergenceWarning, ValueError):
            return None
    other.rows_asked = _asked(case, parameters["kernel"])
    return other


def _asked(case: Case, kernel: str) -> Any:
    """Return the rows to predict in the form that scikit-learn was trained on."""
    if case.kernel_as == "precomputed":
        return case.Z.astype(np.float64)
    if kernel != "precomputed":
        return np.asarray(case.Z, dtype=np.float64)
    return reference.values(case.kernel, case.Z, case.X)[0].astype(np.float64)


def _positive_definite(K: Long) -> bool:
    eigenvalues = np.linalg.eigvalsh(K.astype(np.float64))
    return bool(eigenvalues[0] >= -1e-9 * max(eigenvalues[-1], 1e-300))


def _free(machine: Machine) -> Any:
    """Tell which coefficients are off their bounds by more than the rounding of their sum.

    Where costs of both classes sum to the same, rounding keeps one of them from its bound.
    """
    beta, size = machine.beta, np.abs(machine.beta)
    rounding = (len(beta) + 8) * ROUNDING * size.sum()
    inside = (beta > machine.lower + rounding) & (beta < machine.upper - rounding)
    return inside & ((size > rounding) | (machine.absolute == 0))


def _compare_intercepts(
    model: Any, other: Any, index: int, pair: tuple[Machine, Machine], kernel: tuple[Long, Any]
) -> None:
    """Compare where a coefficient is free in both, which fixes both intercepts."""
    mine, theirs = pair
    K, bound = kernel
    free = _free(mine) & _free(theirs)
    both = np.flatnonzero(free & (np.sign(mine.beta) == np.sign(theirs.beta)))
    if not len(both):
        return
    largest = np.sqrt(max(np.diagonal(K).max(), 0))
    gaps = model.report_[index].gap + other.tol * 2
    # The boundary of one-class machines is moved outwards by at most tol.
    limit = np.sqrt(max(bound, 0)) * largest + gaps + model.tol + 1e-9
    difference = abs(float(model.intercept_[index]) - float(other.intercept_[index]))
    if difference > limit:
        raise Fault(
            f"intercept {model.intercept_[index]!r}, scikit-learn's {other.intercept_[index]!r}, "
            f"which should be within {float(limit):.3g}"
        )


def _compare_predictions(model: Any, other: Any, case: Case) -> None:
    """Compare shapes and kinds, which bounds say nothing of."""
    for name in ("predict", "decision_function", "score_samples"):
        if not hasattr(model, name) or not hasattr(other, name):
            continue
        ours = getattr(model, name)(case.asked)
        theirs = getattr(other, name)(other.rows_asked)
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            raise Fault(
                f"{name}: {ours.dtype}{ours.shape}, scikit-learn's {theirs.dtype}{theirs.shape}"
            )
