"""Differential fuzzing: random fits against the optimality conditions and scikit-learn.

A fit may end in a model that is right, in a ConvergenceWarning within max_time, or in an error
that names a parameter where there is reason for one. Whatever the status, coefficients are
feasible, the reported gap is no smaller than the true one, and values are those of the attributes.
"""

import re
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from tests.torture import against_sklearn, reference
from tests.torture.cases import CLASSIFIERS, Case, draw
from tests.torture.harness import Fault, Piece, main, patience
from tests.torture.optimality import Machine, machines
from tests.torture.reference import ROUNDING, Long
from tests.torture.values import check_values

import mercer

#: Seconds beyond max_time that a fit may take.
_LATE = 3.0

#: Words of which an error has to name one.
_NAMES = (
    *("X", "y", "sample_weight", "class_weight", "kernel", "gamma", "coef0", "degree", "C", "nu"),
    *("epsilon", "tol", "loss", "eta", "solver", "max_iter", "max_time", "cache_size"),
)

#: Kernel values and features from which on a fit may be refused with the advice to scale.
_HUGE = 1e100
_LARGE_FEATURE = 1e5


def case(seed: int) -> str:
    """Draw a fit, do it, and check what came of it."""
    drawn = draw(seed)
    try:
        return _check(drawn)
    except Fault as fault:
        raise Fault(f"{drawn}\n{fault}") from fault


def _check(drawn: Case) -> str:
    K, E = _kernel(drawn, drawn.X)
    model = make(drawn)
    caught, error, seconds = _fit(model, drawn)
    if seconds > drawn.parameters["max_time"] + _LATE * patience():
        raise Fault(f"fit took {seconds:.2f} s with max_time={drawn.parameters['max_time']:g}")
    if error is not None:
        return _refused(drawn, error, K)
    if not np.isfinite(K.astype(np.float64)).all():
        raise Fault("trained on kernel values that are not finite")
    _check_warnings(model, caught)
    found = machines(model, drawn)
    for machine, report in zip(found, model.report_, strict=True):
        _check_machine(machine, report, drawn, K, E)
    check_values(model, drawn, _kernel(drawn, drawn.Z))
    if model.report_.status != "converged":
        return str(model.report_.status)
    return against_sklearn.compare(model, drawn, found, (K, E))


def make(drawn: Case) -> Any:
    """Return the estimator of a case."""
    parameters = dict(drawn.parameters)
    if drawn.kernel_as == "name":
        parameters |= reference.kernel_parameters(drawn.kernel)
    elif drawn.kernel_as == "object":
        parameters["kernel"] = reference.kernel_object(drawn.kernel)
    elif drawn.kernel_as == "precomputed":
        parameters["kernel"] = "precomputed"
    else:
        parameters["kernel"] = lambda A, B: function(drawn.kernel, A, B)
    return getattr(mercer, drawn.estimator)(**parameters)


def function(spec: reference.Spec, A: Any, B: Any) -> Any:
    """Compute a kernel as a user's callable does."""
    A, B = (X.toarray() if sp.issparse(X) else np.asarray(X) for X in (A, B))
    with np.errstate(all="ignore"):
        return reference.values(spec, A, B)[0].astype(np.float64)


def _kernel(drawn: Case, rows: Any) -> tuple[Long, Long]:
    """Return the kernel values of some rows with those trained on, and their errors."""
    if drawn.kernel_as == "precomputed":
        return rows.astype(np.longdouble), np.zeros(rows.shape, np.longdouble)
    return reference.values(drawn.kernel, rows, drawn.X, sp.issparse(drawn.given))


def _fit(model: Any, drawn: Case) -> tuple[list[Any], Exception | None, float]:
    start = time.perf_counter()
    error: Exception | None = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        arguments = () if drawn.y is None else (drawn.y,)
        try:
            model.fit(drawn.given, *arguments, sample_weight=drawn.weight)
        except (ValueError, TypeError) as raised:
            error = raised
    return list(caught), error, time.perf_counter() - start


def _refused(drawn: Case, error: Exception, K: Long) -> str:
    """Check that there is reason for an error, and that it says what is wrong."""
    text = str(error)
    if type(error) not in (ValueError, TypeError) or not any(
        re.search(rf"\b{name}\b", text) for name in _NAMES
    ):
        raise Fault(f"an error that does not name a parameter: {error!r}") from error
    if not may_refuse(drawn, K, text):
        raise Fault(f"refused without need: {text}") from error
    return "refused"


def may_refuse(drawn: Case, K: Long, text: str) -> bool:
    """Tell whether there is reason to refuse a fit."""
    largest = np.abs(K).max()
    if not largest < _HUGE:
        return True
    if "solver must be 'smo'" in text and "sigmoid" in str(drawn.kernel):
        return True  # the Adatron is for positive semi-definite kernels
    scaling = "scale" in text.lower()
    if scaling and drawn.kernel_as != "precomputed" and np.abs(drawn.X).max() > _LARGE_FEATURE:
        return True
    weight = np.ones(len(drawn.X)) if drawn.weight is None else drawn.weight
    if drawn.estimator in CLASSIFIERS:
        classes = len(np.unique(drawn.y[weight > 0.0]))
        return classes < 2 or (drawn.estimator == "NuSVC" and "nu must be at most" in text)
    return not (weight > 0.0).any()


def _check_warnings(model: Any, caught: list[Any]) -> None:
    converged = model.report_.status == "converged"
    warned = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    others = [w for w in caught if issubclass(w.category, RuntimeWarning)]
    if others:
        raise Fault(f"a warning that users cannot place: {others[0].message}")
    if converged == bool(warned) or converged != (model.fit_status_ == 0):
        raise Fault(
            f"status {model.report_.status!r} with fit_status_ {model.fit_status_} and "
            f"{len(warned)} ConvergenceWarnings"
        )


def _check_machine(machine: Machine, report: Any, drawn: Case, K: Long, E: Long) -> None:
    tol = drawn.parameters["tol"]
    if not np.isfinite(machine.beta).all() or np.isnan(report.gap):
        raise Fault(f"coefficients are not finite, or the gap {report.gap!r} is no number")
    if report.status == "converged" and not report.gap <= tol:
        raise Fault(f"converged with a gap of {report.gap:.6g} above tol={tol:g}")
    if machine.name == "svdd":
        machine.linear = -np.diagonal(K)[machine.rows] / 2
    if machine.name == "nu_svr" and _has_common_part(machine):
        return  # the attributes do not tell the two variables of each row
    infeasible = machine.infeasibility()
    if infeasible:
        raise Fault(f"status {report.status!r}: {infeasible}")
    gap = machine.gap(K, E)
    if gap > report.gap + 1e-6 * abs(report.gap) + 1e-300:
        raise Fault(
            f"status {report.status!r}: gap {report.gap:.6g} reported, is at least {gap:.6g}"
        )
    objective = machine.objective(K)
    size = np.abs(machine.beta)
    terms = size @ (np.abs(machine.product(K)) + np.abs(machine.linear) + machine.absolute)
    # What the ridge adds is not computed from rows: it is right to rounding.
    ridge = machine.ridge @ size**2 + machine.absorber * np.square(machine.beta.sum())
    # Rows may have been centred: their values are right to the rounding of the largest.
    centred = 4 * ROUNDING * np.abs(K).max() * size.sum() ** 2
    slack = size @ machine.noise(K, E) + 1e-6 * terms + 16 * ROUNDING * ridge + centred + 1e-300
    # After a stop in the middle it is that of a gradient which some variables were not part of.
    if report.status == "time_limit" or np.float64(objective) == report.objective:
        return  # the same, or both beyond the largest number
    if not abs(objective - report.objective) <= slack:
        raise Fault(f"objective {report.objective!r} reported, is {objective!r}")


def _has_common_part(machine: Machine) -> bool:
    """Whether both sides of a tube of width zero may be in the coefficient of a row."""
    (half, _), total = machine.sums, np.maximum(machine.beta, 0).sum()
    if total > half * (1 + 1e-11):
        raise Fault(f"the coefficients of one side sum to {total:.17g}, more than {half:.17g}")
    return bool(total < half * (1 - 1e-11))


PIECE = Piece("fuzz", case, cases=100_000, seconds=1500, timeout=60)
run = PIECE.run

if __name__ == "__main__":
    raise SystemExit(main(PIECE))
