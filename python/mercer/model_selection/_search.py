"""Grid and random search in which fits share their work."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn import model_selection as sklearn_selection
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv

from mercer._data import RowsLike
from mercer.model_selection._distributed import Workers
from mercer.model_selection._scored import Waiting, may_wait
from mercer.model_selection._together import Split, Together, all_of, machine_of
from mercer.svm._shared import open_desk

__all__ = ["GridSearchCV", "RandomizedSearchCV", "cross_val_predict", "cross_validate"]

_Self = TypeVar("_Self", bound="_SharedSearch")


class _Planned:
    """A splitter that has the fits on its splits done as soon as these are known."""

    def __init__(
        self, cv: Any, together: Together, estimator: Any, candidates: Any, arguments: Any
    ) -> None:
        self._cv = cv
        self._together = together
        self._estimator = estimator
        self._candidates = candidates
        self._arguments = arguments

    def split(self, X: RowsLike, y: Any = None, *args: Any, **kwargs: Any) -> Iterator[Split]:
        """Return the splits, with all fits on them done."""
        splits = all_of(self._cv.split(X, y, *args, **kwargs))
        data, waiting = (X, y, self._arguments), self._estimator
        estimator = waiting.estimator if isinstance(waiting, Waiting) else waiting
        trainer = self._together.trainer
        if trainer is None:
            self._together.plan(estimator, self._candidates, data, splits)
        else:
            trainer.train(self._together, estimator, self._candidates, data, splits)
        if isinstance(waiting, Waiting):
            waiting.know(y, splits)
        return iter(splits)

    def get_n_splits(self, *args: Any, **kwargs: Any) -> int:
        """Return the number of splits."""
        return int(self._cv.get_n_splits(*args, **kwargs))


@contextmanager
def _shared(together: Together) -> Iterator[None]:
    """Let the machines that are fitted here, one after another, find their results."""
    try:
        # Results are in this process. The core has used all processors.
        with open_desk(together), parallel_config(backend="sequential"):
            yield
    finally:
        together.close()


def _splitter(search: Any, evaluate_candidates: Any) -> Any:
    """Return the folds that scikit-learn has made: an attribute, in 1.6 a variable of `fit`.

    They are not made again, since `cv` may be an iterator, which is used up then.
    """
    if hasattr(search, "_checked_cv_orig"):
        return search._checked_cv_orig
    return inspect.getclosurevars(evaluate_candidates).nonlocals["cv_orig"]


class _SharedSearch:
    """What makes a search of scikit-learn share the work of its fits."""

    estimator: Any
    return_train_score: Any
    verbose: int
    n_jobs: int | None

    def fit(self: _Self, X: RowsLike, y: Any = None, **params: Any) -> _Self:
        """Run fit with all sets of parameters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,), default=None
            The targets, None for machines that need none.
        **params : dict
            What else goes to ``fit`` of the estimator, to the scorers and to the splitter, as in
            scikit-learn.

        Returns
        -------
        self : estimator
            The fitted search.
        """
        if machine_of(self.estimator) is None:
            return super().fit(X, y, **params)  # type: ignore[misc,no-any-return]
        together = Together(trains_too=bool(self.return_train_score), verbose=self.verbose > 0)
        together.trainer = Workers.chosen(self.n_jobs)
        # Found by `_run_search`, which scikit-learn calls from `fit`.
        self.__dict__["_together"] = together
        self.__dict__["_fit_arguments"] = params
        estimator = self.estimator
        try:
            if y is not None and may_wait(self, params):
                self.estimator = Waiting(estimator, together)
            return self._fit_together(together, X, y, params)
        finally:
            self.estimator = estimator
            del self.__dict__["_together"], self.__dict__["_fit_arguments"]

    def _fit_together(
        self: _Self, together: Together, X: RowsLike, y: Any, params: dict[str, Any]
    ) -> _Self:
        with _shared(together):
            return super().fit(X, y, **params)  # type: ignore[misc,no-any-return]

    def _run_search(self, evaluate_candidates: Any, *, callback_ctx: Any = None) -> None:
        # scikit-learn looks for the name of this argument, which it has from 1.9 on.
        kwargs = {} if callback_ctx is None else {"callback_ctx": callback_ctx}
        together = self.__dict__.get("_together")
        if together is None:
            super()._run_search(evaluate_candidates, **kwargs)  # type: ignore[misc]
            return
        routed = self._get_routed_params_for_fit(self.__dict__["_fit_arguments"])  # type: ignore[attr-defined]

        def evaluate(candidates: Any, cv: Any = None, **options: Any) -> Any:
            candidates = list(candidates)
            cv = cv or _splitter(self, evaluate_candidates)
            arguments = routed.estimator.fit
            planned = _Planned(cv, together, self.estimator, candidates, arguments)
            return evaluate_candidates(candidates, cv=planned, **options)

        super()._run_search(evaluate, **kwargs)  # type: ignore[misc]

    def _format_results(self, candidates: Any, n_splits: int, out: Any, more: Any = None) -> Any:
        together = self.__dict__.get("_together")
        if together is not None and len(together.seconds) == len(out):
            # What scikit-learn has timed is how long it took to find the result.
            out = [
                {**result, "fit_time": result["fit_time"] + seconds}
                for result, seconds in zip(out, together.seconds, strict=True)
            ]
        return super()._format_results(candidates, n_splits, out, more)  # type: ignore[misc]


class GridSearchCV(_SharedSearch, sklearn_selection.GridSearchCV):
    """Search over a grid of parameters, a replacement for scikit-learn's `GridSearchCV`.

    Parameters, attributes and results are those of `sklearn.model_selection.GridSearchCV`. Where
    the estimator is a machine of this package, or a `Pipeline` that ends in one, the fits share
    their work: kernel values serve every cost, fold and pair of classes, and each fit starts from
    the solution for the cost before. They are done at once, on all processors, whatever `n_jobs`
    of the search says; `n_jobs` and `cache_size` of the machine say how many and with how much
    memory. A machine whose kernel is precomputed or a callable, and any other estimator, is fitted
    as in scikit-learn. Where a backend is chosen by `joblib.parallel_config`, with a number of jobs
    or from another package, its workers do the fits: each takes all of a kernel, or of a kernel
    and a fold.

    `verbose` shows a bar as well: candidates done, the best mean score so far if it is the default
    score, and the time left.

    ``mean_fit_time`` is the time spent on a fit in the shared work, without that for kernel
    values.

    Parameters
    ----------
    estimator, param_grid, scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, \
            return_train_score
        As in scikit-learn.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import load_sonar
    >>> from mercer.model_selection import GridSearchCV
    >>> X, y = load_sonar(return_X_y=True)
    >>> search = GridSearchCV(SVC(), {"C": [1, 10, 100], "gamma": [0.1, 1.0]}, cv=3).fit(X, y)
    >>> sorted(search.best_params_), search.cv_results_["mean_test_score"].shape
    (['C', 'gamma'], (6,))
    """


class RandomizedSearchCV(_SharedSearch, sklearn_selection.RandomizedSearchCV):
    """Search over random parameters, a replacement for scikit-learn's `RandomizedSearchCV`.

    Parameters, attributes and results are those of `sklearn.model_selection.RandomizedSearchCV`;
    fits share their work as in `GridSearchCV`.

    Parameters
    ----------
    estimator, param_distributions, n_iter, scoring, n_jobs, refit, cv, verbose, pre_dispatch, \
            random_state, error_score, return_train_score
        As in scikit-learn.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from mercer import SVC
    >>> from mercer.datasets import load_sonar
    >>> from mercer.model_selection import RandomizedSearchCV
    >>> X, y = load_sonar(return_X_y=True)
    >>> choices = {"C": loguniform(0.1, 100), "gamma": [0.1, 1.0]}
    >>> search = RandomizedSearchCV(SVC(), choices, n_iter=4, cv=3, random_state=0).fit(X, y)
    >>> len(search.cv_results_["params"])
    4
    """


def cross_validate(
    estimator: Any, X: RowsLike, y: Any = None, *, cv: Any = None, **options: Any
) -> dict[str, Any]:
    """Fit and score on every split, as scikit-learn's `cross_validate`, with shared work.

    Parameters
    ----------
    estimator : estimator
        A machine of this package or a `Pipeline` that ends in one; others are fitted as in
        scikit-learn.
    X, y, cv, **options
        As in scikit-learn.

    Returns
    -------
    dict of str to ndarray
        As in scikit-learn.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import load_sonar
    >>> from mercer.model_selection import cross_validate
    >>> X, y = load_sonar(return_X_y=True)
    >>> cross_validate(SVC(C=10.0), X, y, cv=3)["test_score"].shape
    (3,)
    """
    function = sklearn_selection.cross_validate
    return _on_planned_splits(function, estimator, X, y, cv, options)  # type: ignore[no-any-return]


def cross_val_predict(
    estimator: Any, X: RowsLike, y: Any = None, *, cv: Any = None, **options: Any
) -> NDArray[Any]:
    """Predict every row from the others, as scikit-learn's `cross_val_predict`, with shared work.

    Parameters
    ----------
    estimator : estimator
        A machine of this package or a `Pipeline` that ends in one; others are fitted as in
        scikit-learn.
    X, y, cv, **options
        As in scikit-learn.

    Returns
    -------
    ndarray
        The predictions, row by row.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import load_sonar
    >>> from mercer.model_selection import cross_val_predict
    >>> X, y = load_sonar(return_X_y=True)
    >>> cross_val_predict(SVC(C=10.0), X, y, cv=3).shape
    (208,)
    """
    function = sklearn_selection.cross_val_predict
    predictions: NDArray[Any] = np.asarray(
        _on_planned_splits(function, estimator, X, y, cv, options)
    )
    return predictions


def _on_planned_splits(
    function: Any, estimator: Any, X: RowsLike, y: Any, cv: Any, options: dict[str, Any]
) -> Any:
    """Call a function of scikit-learn that fits an estimator on every split."""
    if machine_of(estimator) is None:
        return function(estimator, X, y, cv=cv, **options)
    together = Together(
        trains_too=bool(options.get("return_train_score")), verbose=options.get("verbose", 0) > 0
    )
    together.trainer = Workers.chosen(options.get("n_jobs"))
    splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    # With metadata routing the arguments are for splitters and scorers as well.
    arguments = options.get("params") or {}
    arguments = {name: value for name, value in arguments.items() if name != "groups"}
    planned = _Planned(splitter, together, estimator, [{}], arguments)
    with _shared(together):
        return function(estimator, X, y, cv=planned, **options)
