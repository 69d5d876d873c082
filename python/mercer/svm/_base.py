"""What every kernel machine shares: parameters, kernels, rows, training, prediction in blocks."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp

# scikit-learn would import these in the first fit and the first score. If another thread forks at
# that moment, the child waits for ever for the lock of a module that nobody goes on importing.
import sklearn.metrics
import sklearn.preprocessing  # noqa: F401
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer import _core
from mercer._data import (
    LABEL_KINDS,
    MatrixLike,
    RowsLike,
    is_vector,
    joined,
    length,
    sparse_as_configured,
)
from mercer._params import (
    check_bool,
    check_choice,
    check_coef0,
    check_degree,
    check_gamma,
    check_integer,
    check_positive,
    check_real,
    naming,
)
from mercer._threads import thread_count
from mercer.kernels import Linear
from mercer.kernels._kernel import Kernel
from mercer.report import History, Progress, Report
from mercer.svm._callbacks import CallbackSupportMixin, Steps, with_callbacks
from mercer.svm._going import GoingOn
from mercer.svm._parameters import KernelParameters
from mercer.svm._private import PrivateNames
from mercer.svm._results import history_of, report_of
from mercer.svm._shared import FitLike, Request, desk
from mercer.svm._sources import KernelFunction, KernelSource, Prediction, Training, source_of
from mercer.svm._state import CoreForm, freeze, real_numbers, whole_numbers
from mercer.svm._types import Matrix, Multiclass
from mercer.svm._verbose import Shown, shown
from mercer.svm._watch import Watchers

if TYPE_CHECKING:
    from mercer.kernels import MercerCheck

__all__ = ["BaseKernelMachine", "Problem"]

_Self = TypeVar("_Self", bound="BaseKernelMachine")

#: The attributes of which the core's form of a model is made.
_MODEL = (
    "_fit_kernel",
    "_fit_multiclass",
    "classes_",
    "dual_coef_",
    "intercept_",
    "n_support_",
    "support_",
    "support_vectors_",
)

#: Support vectors on which a kernel is checked.
_SAMPLE = 300


@dataclass(frozen=True)
class Problem:
    """What the core is to train on some rows."""

    formulation: _core.Formulation
    #: Class numbers, values to learn, or None.
    target: NDArray[np.int64] | NDArray[np.float64] | None
    #: The weight of each row, or what an error on it costs.
    cost: NDArray[np.float64]
    #: Attributes that are known beforehand, to be set when training has succeeded.
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def over(self, keep: NDArray[np.intp], n_rows: int) -> "Problem":
        """Return the same over more rows, of which only the rows `keep` count."""
        cost = np.zeros(n_rows)
        cost[keep] = self.cost
        target: Any = None
        if self.target is not None:
            target = np.zeros((n_rows, *self.target.shape[1:]), dtype=self.target.dtype)
            target[keep] = self.target
        return replace(self, target=target, cost=cost)


class BaseKernelMachine(GoingOn, CallbackSupportMixin, PrivateNames, KernelParameters):
    """Base of the estimators, which declare parameters, pose the problem and name the results.

    A fitted state is one object, ``__dict__``. ``fit`` of a subclass calls `_refit`, which makes
    another one and puts it in place of the old in one step; `_snapshot` holds on to the present
    one. Threads that predict while another one fits get the old model or the new, never a mixture.
    """

    shrinking: Any
    tol: Any
    cache_size: Any
    verbose: Any
    max_iter: Any
    max_time: Any
    n_jobs: Any
    # Machines that only SMO can train have no such parameters.
    solver: Any = "smo"
    eta: Any = 1.0
    order: Any = "alternating"
    mu: Any = None
    stop: Any = "gap"

    support_: NDArray[np.int32]
    support_vectors_: Matrix
    n_support_: NDArray[np.int32]
    dual_coef_: Matrix
    intercept_: NDArray[np.float64]
    shape_fit_: tuple[int | None, ...]
    report_: Report
    fit_status_: int
    history_: History | list[History]

    # The kernel of the model, its parameters being numbers: later changes of the estimator's
    # parameters leave a fitted model as it is.
    _fit_kernel: Kernel | str | KernelFunction

    # How the values of its machines become a class. Machines that are no classifiers have a single
    # value.
    _fit_multiclass: Multiclass = "ovo"

    # The core's form of the model.
    _fit_form: CoreForm

    #: The training algorithms there are.
    _solvers: ClassVar[tuple[str, ...]] = ("smo", "interior", "adatron")

    #: Whether a fit may be one of many that share their work: it ends at the optimum.
    _is_optimal: ClassVar[bool] = True

    # The names of all that the last fit has set.
    _fit_names: tuple[str, ...] = ()

    # Parameters

    def _check_parameters(self) -> None:
        """Raise unless every parameter has a value that is allowed."""
        self._given_kernel()
        check_degree(self.degree)
        check_gamma(self.gamma)
        check_coef0(self.coef0)
        check_bool("shrinking", self.shrinking)
        check_choice("solver", self.solver, self._solvers)
        check_real("eta", self.eta, "a number above 0 and below 2", lambda _: True)
        check_choice("order", self.order, ("alternating", "cyclic", "random"))
        if self.mu is not None:
            check_positive("mu", self.mu, "None or a positive finite number")
        check_choice("stop", self.stop, ("gap", "margin"))
        check_positive("tol", self.tol)
        if not isinstance(self.verbose, bool | np.bool_):
            check_integer("verbose", self.verbose, "a bool or a non-negative integer", low=0)
        check_integer("max_iter", self.max_iter, "-1 (no limit) or a non-negative integer", low=-1)
        if self.max_time is not None:
            check_positive("max_time", self.max_time, "None or a positive finite number of seconds")
        check_bool("warm_start", self.warm_start)
        if self.callback is not None and not callable(self.callback):
            raise TypeError(
                f"callback must be None or a function of a Progress, got {self.callback!r}"
            )
        self._settings(None)  # the core knows which eta is allowed

    def _cache_bytes(self) -> int | None:
        """Return the budget of the kernel cache, None if the core is to choose it."""
        if isinstance(self.cache_size, str) and self.cache_size == "auto":
            return None
        allowed = "'auto' or a positive finite number of MB"
        if isinstance(self.cache_size, str):
            raise ValueError(f"cache_size must be {allowed}, got {self.cache_size!r}")
        megabytes = check_positive("cache_size", self.cache_size, allowed)
        return int(min(max(megabytes * 2**20, 1.0), 2.0**62))

    def _settings(self, progress: Callable[[_core.Progress], Any] | None) -> _core.Settings:
        """Return the parameters that say how to train."""
        return _core.Settings(
            solver=self.solver,
            eta=float(self.eta),
            tol=float(self.tol),
            shrinking=bool(self.shrinking),
            cache_bytes=self._cache_bytes(),
            max_iter=int(self.max_iter),
            max_time=None if self.max_time is None else float(self.max_time),
            n_threads=thread_count(self.n_jobs),
            progress=progress,
            order=self.order,
            mu=None if self.mu is None else float(self.mu),
            stop=self.stop,
        )

    # States

    def _refit(
        self: _Self, *data: Any, gone: NDArray[np.int64] | None = None, names: Any = None
    ) -> _Self:
        """Train on what ``fit`` was given, and take over the new state in one step.

        `data` are rows, targets and weights. The rows `gone`, which have no weight, are forgotten
        afterwards. `names` are those of the features of rows that were checked before.
        """
        fitted = self._refit_watched(data, gone, names)
        fitted._warn_unless_converged(data[0], stacklevel=4)
        return self

    @with_callbacks
    def _refit_watched(
        self: _Self, data: tuple[Any, ...], gone: NDArray[np.int64] | None, names: Any
    ) -> _Self:
        """Do so, with scikit-learn's callbacks told; return the machine with the new state."""
        if "_fit_form" in vars(self):
            self._fit_form.forget()  # which frees memory
        before = self._without_fit()
        other = self._with_state(dict(before))
        other._before = vars(self).get("_fit_kept")
        other._raised = None
        other._steps = Steps(self, data)
        other._fit(*data)
        if "_fit_kept" in vars(other):
            other._keep(data[1], data[2])
            if gone is not None:
                other._forget(gone)
        if names is not None:
            other.feature_names_in_ = names
        raised, steps, passing = other._raised, other._steps, ("_before", "_raised", "_steps")
        results = {
            name: value
            for name, value in vars(other).items()
            if name not in passing and (name not in before or value is not before[name])
        }
        names = (*results, "_fit_names")
        # Parameters may have been set meanwhile.
        self.__dict__ = {**self._without_fit(), **results, "_fit_names": names}
        if raised is not None:
            raise raised
        steps.end(results)
        return other

    def _fit(self, *data: Any) -> None:
        """Check what ``fit`` was given, train and set the attributes."""
        raise NotImplementedError

    def _without_fit(self) -> dict[str, Any]:
        """Return the present state without what the last fit has set."""
        state = vars(self)
        names = state.get("_fit_names", ())
        return {name: value for name, value in state.items() if name not in names}

    def _with_state(self: _Self, state: dict[str, Any]) -> _Self:
        """Return a machine of the same class with this very state."""
        other = object.__new__(type(self))
        other.__dict__ = state
        return other

    def _snapshot(self: _Self) -> _Self:
        """Return this machine as it is now: a fit that ends later does not change it."""
        snapshot = self._with_state(self.__dict__)
        check_is_fitted(snapshot)
        return snapshot

    def __sklearn_is_fitted__(self) -> bool:
        return "support_" in vars(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        # Neither pickles nor copies know that an array is read-only.
        for name in self._fit_names:
            freeze(vars(self).get(name))

    # Training

    def _check_rows(self, X: RowsLike) -> RowsLike:
        """Return rows to train on, and note the number of features."""
        return source_of(self._given_kernel()).check(self, X, reset=True)

    def _check_rows_and_target(
        self, X: RowsLike, y: ArrayLike | None, *, numeric: bool = False, several: bool = False
    ) -> tuple[RowsLike, NDArray[Any]]:
        """Return rows and targets that fit each other, and note the number of features.

        `several` allows a matrix of targets with a column for each.
        """
        target: NDArray[Any]
        if is_vector(y, "f" if numeric else LABEL_KINDS):
            target = y
        else:
            with naming("y"):
                # A single column is taken for a vector, with scikit-learn's warning.
                shape = getattr(y, "shape", None) or np.asarray(y).shape
                several = several and len(shape) == 2 and shape[1] > 1
                target = validate_data(self, y=y, y_numeric=numeric, multi_output=several)
        if numeric:
            with naming("y"):
                target = target.astype(np.float64, copy=False)
        X = self._check_rows(X)
        n_rows, n_targets = length(X), len(target)
        if n_rows != n_targets:
            raise ValueError(
                f"y must have one value for each row of X, got {n_targets} for {n_rows} rows"
            )
        return X, target

    def _train(
        self,
        X: RowsLike,
        keep: NDArray[np.intp],
        weight: NDArray[np.float64],
        problem: Problem,
        machines: int = 1,
    ) -> None:
        """Train machines on the rows `keep` of `X`, of these weights, and set the attributes."""
        kernel = self._given_kernel()
        rows = X if len(keep) == length(X) else source_of(kernel).rows(X, keep)
        if isinstance(kernel, Kernel):
            kernel = kernel._fitted_to(rows, weight)
        source = source_of(kernel)
        progress = shown(type(self).__name__, float(self.tol)) if self.verbose else None
        watchers = self._watchers(progress)
        start = perf_counter()
        try:
            settings = self._settings(Watchers(watchers) if watchers else None)
            shared = desk()
            given: Training | None = None
            fit: FitLike | None = None
            if shared is not None:
                fit = shared.serve(Request(self, rows, keep, kernel, problem, settings))
            if fit is None:
                past = None
                if self.warm_start:
                    # Rows go by the numbers that the user gives them.
                    n_rows = length(X) or 0
                    rows, problem, keep = X, problem.over(keep, n_rows), np.arange(n_rows)
                    past = self._past_for(rows, kernel)
                given = source.training(rows, settings, machines)
                fit = problem.formulation.fit(
                    given.kernel, given.samples, (problem.target, problem.cost), settings, past
                )
            self._note_end(fit, X, kernel)
            self.report_ = report_of(fit, given, perf_counter() - start)
            if progress is not None:
                progress.finish(self.report_)
        finally:
            if progress is not None:
                progress.close()
        shape = X.shape if hasattr(X, "shape") else (length(X),)
        self._take_over(fit, kernel, rows, keep, shape)
        self.__dict__.update(problem.attributes)

    def _take_over(
        self,
        fit: FitLike,
        kernel: Kernel | str | KernelFunction,
        rows: RowsLike,
        keep: NDArray[np.intp],
        shape: tuple[int | None, ...],
    ) -> None:
        """Set the attributes of what was found on `rows`, which are `keep` of all, of `shape`."""
        if not (np.isfinite(fit.dual_coef).all() and np.isfinite(fit.intercept).all()):
            raise ValueError(
                "The dual coefficients or intercepts are not finite. The values of X may be too "
                "large and need to be scaled."
            )
        self._fit_kernel = kernel
        self._fit_form = CoreForm()
        self.support_ = freeze(keep[fit.support].astype(np.int32))
        self.support_vectors_ = freeze(source_of(kernel).support_vectors(rows, fit.support))
        self.n_support_ = freeze(fit.n_support)
        self.intercept_ = freeze(fit.intercept)
        as_sparse = sp.issparse(rows) and isinstance(kernel, Kernel)
        dual_coef = sparse_as_configured(fit.dual_coef) if as_sparse else fit.dual_coef
        self.dual_coef_ = freeze(dual_coef)
        self.shape_fit_ = shape
        self.fit_status_ = int(self.report_.status not in ("converged", "settled"))
        if self.solver in ("adatron", "npa", "perceptron", "minover"):
            self.history_ = history_of(fit)
        self._set_results(fit)

    def _watchers(self, progress: Shown | None) -> list[Callable[[Progress], Any]]:
        """Return all that want to know how far a fit is."""
        steps: Steps | None = vars(self).get("_steps")
        told = (progress, self.callback, None if steps is None else steps.watcher)
        return [watcher for watcher in told if watcher is not None]

    def _set_results(self, fit: FitLike) -> None:
        """Set the attributes that not all machines have."""

    def _warn_unless_converged(self, X: RowsLike, stacklevel: int) -> None:
        """Warn whoever is so many calls up the stack if the solver did not converge on `X`."""
        status = self.report_.status
        if status in ("converged", "settled", "interrupted"):  # who stopped it knows of the last
            return
        if status in ("diverged", "precision"):
            message = self._limits_of_numbers(self._mercer_check(X))
        else:
            limit = "max_time" if status == "time_limit" else "max_iter"
            message = (
                f"Solver terminated early ({limit}={getattr(self, limit)}).  Consider "
                "pre-processing your data with StandardScaler or MinMaxScaler. "
                f"The gap reached is {self.report_.gap:.3g}, above tol={self.tol:g}: the model can "
                f"be used but is not optimal. Raise {limit} or tol to let the solver finish."
            )
        warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel)

    def _limits_of_numbers(self, found: "MercerCheck") -> str:
        """Return what to say of a fit that diverged, or that float64 is too coarse for."""
        kind = "is" if found.positive else "is not"
        verdict = (
            f"On a sample of the rows the kernel {kind} positive semi-definite: eigenvalues go "
            f"from {found.smallest:.3g} to {found.largest:.3g}."
        )
        if self.report_.status == "diverged":
            return (
                "Solver diverged: the coefficients grow without bound. Either the kernel is not "
                "positive semi-definite, or, with C=inf, it cannot separate the classes without "
                f"errors. {verdict} Use another kernel or a finite C. The model can be used but is "
                "not optimal."
            )
        advice = (
            "Consider pre-processing your data with StandardScaler or MinMaxScaler, a smaller C "
            "or a larger tol."
        )
        if not found.positive:
            advice = "Use a kernel that is positive semi-definite, a smaller C or a larger tol."
        return (
            f"Solver cannot reach tol={self.tol:g}: at this scale float64 is too coarse. The gap "
            f"is at most {self.report_.gap:.3g}. {verdict} {advice}"
        )

    def _mercer_check(self, X: RowsLike) -> "MercerCheck":
        """Check Mercer's condition on a few of the rows trained on, support vectors first."""
        from mercer.kernels import check  # which knows this module

        source = source_of(self._fit_kernel)
        X = source.check(self, X, reset=False)
        others = np.setdiff1d(np.arange(self.shape_fit_[0] or 0), self.support_)
        sample = np.concatenate([self.support_, others])[:_SAMPLE]
        return check(self._fit_kernel, source.rows(X, sample))

    # Prediction: only on snapshots

    def _decide(
        self, X: RowsLike, reduce: Callable[[NDArray[np.float64]], NDArray[Any]]
    ) -> NDArray[Any]:
        """Return `reduce` of the values of all machines, shape (n, n_machines), block by block."""
        source, prediction = self._prediction(X)
        return joined(reduce(values) for values in source.decision(prediction))

    def _prediction(self, X: RowsLike) -> tuple[KernelSource, Prediction]:
        """Return the source of kernel values, and what it predicts and with what."""
        source = source_of(self._fit_kernel)
        X = source.check(self, X, reset=False)
        return source, Prediction(
            X=X,
            expansion=self._expansion(),
            support=self.support_,
            support_vectors=self.support_vectors_,
            n_machines=len(self.intercept_),
            n_threads=thread_count(self.n_jobs),
        )

    def _expansion(self) -> _core.Expansion:
        """Return the core's form of the model, made anew if an attribute has been replaced."""
        parts = tuple(vars(self).get(name) for name in _MODEL)
        return self._fit_form.of(parts, self._make_expansion)

    def _make_expansion(self) -> _core.Expansion:
        """Make the core's form of the model; raise if the attributes do not fit together."""
        source = source_of(self._fit_kernel)
        support = whole_numbers("support_", self.support_)
        n_support, dual_coef, intercept = self._machines()
        if len(support) != n_support.sum():
            raise ValueError(
                f"support_ must have as many entries as n_support_ counts, {n_support.sum()}, got "
                f"{len(support)}"
            )
        kernel, vectors = source.expansion_parts(support, self.support_vectors_, self.shape_fit_)
        return _core.Expansion(
            kernel, vectors, n_support, dual_coef, intercept, self._fit_multiclass
        )

    def _machines(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return n_support, dual_coef and intercept as `_core.Expansion` takes them."""
        return (
            whole_numbers("n_support_", self.n_support_),
            real_numbers("dual_coef_", self.dual_coef_, 2),
            real_numbers("intercept_", self.intercept_, 1),
        )

    def _rows_of_coefficients(self) -> MatrixLike:
        """Return the coefficients of all support vectors in each machine, one row for each."""
        return self.dual_coef_

    @property
    def coef_(self) -> Matrix:
        """Weights of the features, for a linear kernel."""
        if not self.__sklearn_is_fitted__() or not isinstance(self._fit_kernel, Linear):
            raise AttributeError("coef_ is only available for a fitted model with a linear kernel")
        model = self._snapshot()
        coefficients, vectors = model._rows_of_coefficients(), model.support_vectors_
        if sp.issparse(vectors):
            return freeze(sparse_as_configured(sp.csr_array(coefficients) @ vectors))
        return freeze(coefficients @ vectors)
