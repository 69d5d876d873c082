"""What a fitted model says of rows, against its attributes."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from tests.torture import reference
from tests.torture.cases import CLASSIFIERS, DETECTORS, Case
from tests.torture.harness import Fault
from tests.torture.optimality import dense
from tests.torture.reference import ROUNDING, Long


def check_values(model: Any, case: Case, kernel: tuple[Long, Long]) -> None:
    """Check decision values and predictions on the rows `case.Z`."""
    expected, noise = expected_values(model, case, kernel)
    try:
        predicted = model.predict(case.asked)
    except ValueError as error:
        if case.estimator == "SVDD" and "does not hold k(z, z)" in str(error):
            return
        if "X" in str(error) and not np.isfinite(expected.astype(np.float64)).all():
            return
        raise
    if not np.isfinite(expected).all():
        return  # kernel values overflow for these rows, which predict has not refused
    if case.estimator in CLASSIFIERS:
        _check_classes(model, case, predicted, expected, noise)
        actual = _decision(model, case)
    elif case.estimator in DETECTORS:
        actual = model.decision_function(case.asked)[:, np.newaxis]
        if not (predicted == np.where(actual[:, 0] >= 0.0, 1, -1)).all():
            raise Fault("predict does not follow decision_function")
    else:
        actual = predicted[:, np.newaxis]
    if actual is not None:
        _compare(actual, expected, noise)


def _compare(actual: NDArray[Any], expected: Long, noise: Long) -> None:
    error = np.abs(actual - expected)
    wrong = ~(error <= noise)
    if wrong.any():
        at = np.unravel_index(np.argmax(error * wrong), error.shape)
        raise Fault(
            f"{wrong.sum()} of {wrong.size} values are wrong: {actual[at]!r} should be "
            f"{expected[at]!r} within {noise[at]:.3g}"
        )


def expected_values(model: Any, case: Case, kernel: tuple[Long, Long]) -> tuple[Long, Long]:
    """Return the values of all machines from the attributes, and how exact f64 can be."""
    L, F = (part[:, model.support_] for part in kernel)
    rows, intercept = _rows(model, case), model.intercept_.astype(np.longdouble)
    factor = 2 if case.estimator == "SVDD" else 1
    with np.errstate(all="ignore"):
        values = factor * (L @ rows.T) + intercept
        roundings = (len(rows.T) + 16) * ROUNDING
        noise = factor * (F + roundings * np.abs(L)) @ np.abs(rows.T)
    noise = 2 * noise + 16 * ROUNDING * (np.abs(intercept) + np.abs(values))
    if case.estimator == "SVDD":
        diagonal, error = _diagonal(case, kernel)
        offset = np.longdouble(model.offset_[0])
        values = values - diagonal[:, np.newaxis] - offset
        noise = (
            noise + error[:, np.newaxis] + 16 * ROUNDING * (np.abs(diagonal).max() + abs(offset))
        )
    return values, noise + np.longdouble(1e-300)


def _diagonal(case: Case, kernel: tuple[Long, Long]) -> tuple[Long, Long]:
    if case.kernel_as == "precomputed":
        own = np.diagonal(case.X).astype(np.longdouble)
        width = np.full(len(case.Z), np.ptp(own))
        return np.full(len(case.Z), (own.max() + own.min()) / 2), width
    K, E = reference.values(case.kernel, case.Z, case.Z, sp.issparse(case.given))
    return np.diagonal(K), np.diagonal(E)


def _rows(model: Any, case: Case) -> Long:
    """Return the coefficients of all support vectors in each machine."""
    coefficients = dense(model.dual_coef_).astype(np.longdouble)
    if case.estimator not in CLASSIFIERS or len(model.classes_) == 2:
        return coefficients
    if case.parameters["multiclass"] == "ovr":
        return coefficients
    k = len(model.classes_)
    own = np.repeat(np.arange(k), model.n_support_)
    rows = []
    for i in range(k):
        for j in range(i + 1, k):
            row = np.where(own == i, coefficients[j - 1], 0) + np.where(
                own == j, coefficients[i], 0
            )
            rows.append(row)
    return np.array(rows)


def _decision(model: Any, case: Case) -> NDArray[Any] | None:
    """Return the values of the machines, None where `decision_function` has only votes."""
    values = model.decision_function(case.asked)
    if len(model.classes_) == 2:
        return values[:, np.newaxis]  # type: ignore[no-any-return]
    p = case.parameters
    raw = p["multiclass"] == "ovr" or p["decision_function_shape"] == "ovo"
    return values if raw else None


def _check_classes(
    model: Any, case: Case, predicted: NDArray[Any], values: Long, noise: Long
) -> None:
    """Check the classes of the rows whose values leave no doubt."""
    k = len(model.classes_)
    strategy = "two" if k == 2 else case.parameters["multiclass"]
    for label, value, error in zip(predicted, values, noise, strict=True):
        if strategy == "ovr":
            first, second = np.argsort(-value, kind="stable")[:2]
            if value[first] - value[second] <= error.max() * 2:
                continue
            winner = int(first)
        elif (np.abs(value) <= error).any():
            continue
        else:
            winner = _winner(strategy, value, k)
        if label != model.classes_[winner]:
            raise Fault(f"predicted {label!r}, but values {value} say {model.classes_[winner]!r}")


def _winner(strategy: str, value: Long, k: int) -> int:
    if strategy == "two":
        return int(value[0] > 0)
    pairs = {pair: v for pair, v in zip(_pairs(k), value, strict=True)}
    if strategy == "dag":
        first, last = 0, k - 1
        while first < last:
            if pairs[first, last] > 0:
                last -= 1
            else:
                first += 1
        return first
    votes = np.zeros(k)
    for (i, j), v in pairs.items():
        votes[i if v > 0 else j] += 1
    return int(votes.argmax())


def _pairs(k: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(k) for j in range(i + 1, k)]
