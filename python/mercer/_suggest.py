"""What a user may have meant: names that are spelt otherwise here, or wrongly."""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar

__all__ = ["did_you_mean", "suggesting", "with_suggestions"]

_Class = TypeVar("_Class", bound=type)

#: How alike two words must be, from 0 to 1, for one to be taken for the other.
_ALIKE = 0.6

#: Parameters by the names they have in LIBSVM, e1071 and kernlab.
_PARAMETERS = {"cost": "C", "cache": "cache_size", "weights": "class_weight", "t": "kernel"}


def did_you_mean(
    given: object, names: Iterable[str], others: Mapping[str, str] | None = None
) -> str:
    """Return a question to end a message with, empty if no name is like that given.

    `others` has words that are used elsewhere, and what they are called here.
    """
    if not isinstance(given, str):
        return ""
    known = {name.lower(): f"{name!r}" for name in names}
    known |= {word: answer for word, answer in (others or {}).items() if word not in known}
    found = get_close_matches(given.lower(), known, n=1, cutoff=_ALIKE)
    return f". Did you mean {known[found[0]]}?" if found else ""


def with_suggestions(init: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that tells what an argument of an unknown name may have meant."""
    parameters = signature(init).parameters
    open_ended = any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values())
    names = [name for name in parameters if name != "self"]

    @wraps(init)
    def __init__(self: Any, *arguments: Any, **options: Any) -> None:
        try:
            init(self, *arguments, **options)
        except TypeError:
            unknown = [name for name in options if name not in names]
            if open_ended or not unknown:
                raise
            others = {word: repr(name) for word, name in _PARAMETERS.items() if name in names}
            raise TypeError(
                f"{type(self).__name__}() got an unexpected keyword argument {unknown[0]!r}"
                f"{did_you_mean(unknown[0], names, others)}"
            ) from None

    return __init__


def suggesting(kind: _Class) -> _Class:
    """Let a class tell what an argument of an unknown name may have meant."""
    kind.__init__ = with_suggestions(kind.__init__)  # type: ignore[misc]
    return kind
