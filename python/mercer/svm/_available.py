"""Methods that are there only with some parameters."""

from collections.abc import Callable
from types import MethodType
from typing import Any, TypeVar, cast

__all__ = ["available_if"]

_Method = TypeVar("_Method", bound=Callable[..., Any])


class _Available:
    """A method whose lookup raises what `check` raises.

    scikit-learn's own makes the reason the cause of an error that does not tell it, and the last
    line is what users read.
    """

    def __init__(self, check: Callable[[Any], None], function: Callable[..., Any]) -> None:
        self._check, self._function = check, function
        self.__doc__, self.__name__ = function.__doc__, function.__name__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self._function
        self._check(instance)
        return MethodType(self._function, instance)


def available_if(check: Callable[[Any], None]) -> Callable[[_Method], _Method]:
    """Make a method missing where `check` raises an AttributeError, which says why."""

    def decorate(function: _Method) -> _Method:
        # To type checkers it is the method, which it is where it is there.
        return cast("_Method", _Available(check, function))

    return decorate
