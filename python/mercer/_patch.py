"""Mercer's machines under scikit-learn's names."""

import sys
from collections.abc import Iterable
from functools import lru_cache

import mercer.svm
from mercer._suggest import did_you_mean

__all__ = ["patch_sklearn", "unpatch_sklearn"]


@lru_cache
def _originals() -> dict[str, type]:
    """Return the classes of `sklearn.svm` that can be replaced, as they were at the first call."""
    import sklearn.svm  # which nothing else here needs

    replaceable = [name for name in sklearn.svm.__all__ if name in mercer.svm.__all__]
    return {name: getattr(sklearn.svm, name) for name in replaceable}


def patch_sklearn(name: str | Iterable[str] | None = None, verbose: bool = True) -> None:
    """Let `sklearn.svm` have Mercer's machines.

    After ``mercer.patch_sklearn()`` an existing programme that says ``from sklearn.svm import SVC``
    has Mercer's. Call it first: what was imported before stays scikit-learn's. It may be called
    again, and `unpatch_sklearn` undoes it.

    Parameters
    ----------
    name : str or iterable of str, default=None
        The classes to replace, such as ``"SVC"``; None is for all: SVC, NuSVC, LinearSVC, SVR,
        NuSVR, LinearSVR and OneClassSVM.
    verbose : bool, default=True
        Whether to say so on stderr.

    Examples
    --------
    >>> import mercer
    >>> mercer.patch_sklearn(verbose=False)
    >>> from sklearn.svm import SVC
    >>> SVC is mercer.SVC
    True
    >>> mercer.unpatch_sklearn()
    """
    names = _checked(name)
    _put({one: getattr(mercer.svm, one) for one in names})
    if verbose:
        print(f"Mercer replaces {', '.join(names)} of sklearn.svm", file=sys.stderr)


def unpatch_sklearn(name: str | Iterable[str] | None = None) -> None:
    """Let `sklearn.svm` have its own machines again.

    Parameters
    ----------
    name : str or iterable of str, default=None
        The classes to put back; None is for all.

    Examples
    --------
    >>> import mercer
    >>> mercer.patch_sklearn(["SVC", "SVR"], verbose=False)
    >>> mercer.unpatch_sklearn("SVR")
    >>> import sklearn.svm
    >>> sklearn.svm.SVC is mercer.SVC, sklearn.svm.SVR is mercer.SVR
    (True, False)
    >>> mercer.unpatch_sklearn()
    """
    _put({one: _originals()[one] for one in _checked(name)})


def _put(classes: dict[str, type]) -> None:
    import sklearn.svm

    for name, kind in classes.items():
        setattr(sklearn.svm, name, kind)


def _checked(name: str | Iterable[str] | None) -> list[str]:
    """Return the names of the classes meant, else raise."""
    if name is None:
        return list(_originals())
    names = [name] if isinstance(name, str) else list(name)
    for one in names:
        if one not in _originals():
            raise ValueError(
                f"name must be None or some of {', '.join(_originals())}, got {one!r}"
                f"{did_you_mean(one, _originals())}"
            )
    return names
