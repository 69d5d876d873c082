"""Checks of the values users give: errors name the parameter, what is allowed and what came."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf, isfinite, nan
from numbers import Integral, Real
from re import search
from typing import Any, Literal

import numpy as np

from mercer._suggest import did_you_mean

__all__ = [
    "check_bool",
    "check_choice",
    "check_coef0",
    "check_degree",
    "check_gamma",
    "check_integer",
    "check_intercept",
    "check_non_negative",
    "check_nu",
    "check_positive",
    "check_real",
    "naming",
]


def _complaint(name: str, value: object, allowed: str) -> str:
    shown = value.item() if isinstance(value, np.generic) else value
    return f"{name} must be {allowed}, got {shown!r}"


def check_real(
    name: str, value: Any, allowed: str, accept: Callable[[float], bool] = isfinite
) -> float:
    """Return `value` as a float if it is a real number that `accept` takes, else raise."""
    # Asking an abstract class takes ten times as long as everything else here.
    plain = type(value) is float or type(value) is int
    if not plain and (isinstance(value, bool | np.bool_) or not isinstance(value, Real)):
        raise TypeError(_complaint(name, value, allowed))
    try:
        number = float(value)
    except OverflowError:  # an integer or fraction beyond the largest double
        number = nan
    if not accept(number):
        raise ValueError(_complaint(name, value, allowed))
    return number


def check_positive(name: str, value: Any, allowed: str = "a positive finite number") -> float:
    """Return `value` as a float if it is a positive finite number, else raise."""
    return check_real(name, value, allowed, lambda number: 0.0 < number < inf)


def check_non_negative(
    name: str, value: Any, allowed: str = "a non-negative finite number"
) -> float:
    """Return `value` as a float if it is a non-negative finite number, else raise."""
    return check_real(name, value, allowed, lambda number: 0.0 <= number < inf)


def check_integer(name: str, value: Any, allowed: str, low: int, high: int = 2**63 - 1) -> int:
    """Return `value` as an int if it is an integer from `low` to `high`, else raise."""
    plain = type(value) is int
    if not plain and (isinstance(value, bool | np.bool_) or not isinstance(value, Integral)):
        raise TypeError(_complaint(name, value, allowed))
    number = int(value)
    if not low <= number <= high:
        raise ValueError(_complaint(name, value, allowed))
    return number


def check_bool(name: str, value: Any) -> bool:
    """Return `value` as a bool if it is one, else raise."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(_complaint(name, value, "True or False"))
    return bool(value)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of the strings in `choices`, else raise."""
    *others, last = (repr(choice) for choice in choices)
    allowed = f"{', '.join(others)} or {last}"
    if not isinstance(value, str):
        raise TypeError(_complaint(name, value, allowed))
    if value not in choices:
        raise ValueError(_complaint(name, value, allowed) + did_you_mean(value, choices))
    return value


def check_intercept(fit_intercept: Any) -> Literal["free", "none", "penalized"]:
    """Return the core's word for True, False or 'penalized', else raise."""
    allowed = "True, False or 'penalized'"
    if isinstance(fit_intercept, str):
        if fit_intercept != "penalized":
            raise ValueError(_complaint("fit_intercept", fit_intercept, allowed))
        return "penalized"
    if not isinstance(fit_intercept, bool | np.bool_):
        raise TypeError(_complaint("fit_intercept", fit_intercept, allowed))
    return "free" if fit_intercept else "none"


def check_nu(nu: Any) -> float:
    """Return `nu` as a float if it is above 0 and at most 1, else raise."""
    allowed = "a number above 0 and at most 1"
    return check_real("nu", nu, allowed, lambda number: 0.0 < number <= 1.0)


def check_gamma(gamma: Any) -> float | str:
    """Return `gamma` if it is a rule or a non-negative finite number, else raise."""
    allowed = "'scale', 'auto', 'median' or a non-negative finite number"
    if isinstance(gamma, str):
        rules = ("scale", "auto", "median")
        if gamma not in rules:
            raise ValueError(_complaint("gamma", gamma, allowed) + did_you_mean(gamma, rules))
        return gamma
    return check_non_negative("gamma", gamma, allowed)


def check_degree(degree: Any) -> int:
    """Return `degree` as an int if it is a non-negative integer, else raise."""
    return check_integer("degree", degree, "a non-negative integer", low=0, high=2**31 - 1)


def check_coef0(coef0: Any) -> float:
    """Return `coef0` as a float if it is a finite number, else raise."""
    return check_real("coef0", coef0, "a finite number")


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Put `name` in front of errors from elsewhere that do not say which argument is wrong."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError) or search(rf"\b{name}\b", str(error)):
            raise
        raise type(error)(f"{name}: {error}") from error
