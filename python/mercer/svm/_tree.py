"""The strategies of classifiers of many classes: names, and trees that users give."""

from collections.abc import Iterator
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from mercer._params import check_choice

__all__ = ["JOINT", "PER_CLASS", "check_multiclass", "is_tree", "numbered"]

#: Those that train the machines of all classes as one.
JOINT = ("weston_watkins", "crammer_singer")

#: Those with a machine for each class, of which the largest value wins.
PER_CLASS = ("ovr", *JOINT)

_APART = ("ovo", "ovr", "dag")


def is_tree(multiclass: Any) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Return whether this is a nested list of classes."""
    return isinstance(multiclass, list | tuple)


def check_multiclass(multiclass: Any, *, joint: bool) -> None:
    """Raise unless this is a strategy; `joint` allows those of all classes as one."""
    if is_tree(multiclass):
        _check_fork(multiclass)
    elif isinstance(multiclass, str):
        check_choice("multiclass", multiclass, (*_APART, *JOINT) if joint else _APART)
    else:
        raise TypeError(
            f"multiclass must be a name or a nested list of classes, got {multiclass!r}"
        )


def _check_fork(fork: list[Any] | tuple[Any, ...]) -> None:
    if len(fork) < 2:
        raise ValueError(
            f"multiclass must be a tree whose forks have two branches or more, got {fork!r}"
        )
    for branch in filter(is_tree, fork):
        _check_fork(branch)


def _leaves(fork: list[Any] | tuple[Any, ...]) -> Iterator[Any]:
    for branch in fork:
        if is_tree(branch):
            yield from _leaves(branch)
        else:
            yield branch


def numbered(tree: list[Any] | tuple[Any, ...], classes: NDArray[Any]) -> list[Any]:
    """Return the tree with the numbers of its classes; raise unless each is there once."""
    numbers = {label: number for number, label in enumerate(classes.tolist())}
    leaves = [leaf.item() if isinstance(leaf, np.generic) else leaf for leaf in _leaves(tree)]
    if len(leaves) != len(numbers) or any(leaf not in numbers for leaf in leaves):
        raise ValueError(
            f"multiclass must be a tree with each class of y once, {classes.tolist()!r}, got the "
            f"classes {leaves!r}"
        )
    if len(set(leaves)) != len(leaves):
        raise ValueError(f"multiclass must be a tree with each class once, got {leaves!r}")
    number = iter([numbers[leaf] for leaf in leaves])

    def renamed(fork: list[Any] | tuple[Any, ...]) -> list[Any]:
        return [renamed(branch) if is_tree(branch) else next(number) for branch in fork]

    return renamed(tree)
