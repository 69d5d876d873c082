"""Estimators of which only the score is wanted, and that is known.

A search with the default score needs no fitted machines: what they predict for held-out rows is
found on the way. So while scikit-learn's search runs, a `Waiting` stands in the place of the
estimator. Cloned for a fit whose score is known, it is a `Scored`, which has nothing to do; for any
other fit it is the estimator itself.
"""

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.metrics import r2_score

from mercer._data import take_rows
from mercer.model_selection._together import Entry, Split, Together
from mercer.svm._classifier import BaseClassifier

__all__ = ["Waiting", "may_wait"]


def may_wait(search: Any, params: dict[str, Any]) -> bool:
    """Tell whether a search wants nothing of its fits but the default score."""
    routed = get_config()["enable_metadata_routing"] or getattr(search, "_skl_callbacks", None)
    wanted = search.scoring is None and not search.return_train_score
    return wanted and not routed and "sample_weight" not in params


class Waiting:
    """Stands for an estimator whose fits are done together."""

    def __init__(self, estimator: Any, together: Together) -> None:
        self.estimator = estimator
        self._together = together
        self._scores: list[float | None] | None = None
        self._cloned = 0

    def know(self, y: Any, splits: list[Split]) -> None:
        """Take note of what was found, as soon as the fits are done."""
        tests = [take_rows(y, test) for _, test in splits]
        before = len(self._scores or ())
        known = self._together.planned[before:]
        scores = [None if entry is None else score_of(entry, tests) for entry in known]
        self._scores = [*(self._scores or ()), *scores]

    def __sklearn_clone__(self) -> Any:
        if self._scores is None:
            return self
        number = self._cloned
        self._cloned += 1
        score = self._scores[number] if number < len(self._scores) else None
        return clone(self.estimator) if score is None else Scored(self.estimator, score)

    def __sklearn_tags__(self) -> Any:
        return self.estimator.__sklearn_tags__()

    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Do nothing: it is cloned before it is fitted."""
        raise NotImplementedError

    def score(self, X: Any, y: Any = None) -> float:
        """Do nothing: it is cloned before it is asked."""
        raise NotImplementedError


class Scored:
    """An estimator whose score is known."""

    def __init__(self, estimator: Any, score: float) -> None:
        self._estimator = estimator
        self._score = score

    def __sklearn_tags__(self) -> Any:
        return self._estimator.__sklearn_tags__()

    def set_params(self, **params: Any) -> "Scored":
        """Return this very object: the score is that of these parameters."""
        return self

    def fit(self, X: Any, y: Any = None, **params: Any) -> "Scored":
        """Return this very object."""
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return the score."""
        return self._score


def score_of(entry: Entry, tests: list[Any]) -> float | None:
    """Return the default score on held-out rows; None if it is better asked from the machine."""
    predictions = entry.predictions() if entry.is_regular() else None
    if predictions is None:
        return None
    expected = np.asarray(tests[entry.split])
    if expected.ndim != 1 or len(expected) < 2:
        return None
    machine = entry.request.machine
    if isinstance(machine, BaseClassifier):
        return float(np.mean(machine.classes_[predictions] == expected))
    return float(r2_score(expected, predictions))
