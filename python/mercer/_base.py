"""What every kernel machine shares: parameters, kernels, rows, reports, prediction in blocks."""

import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer import _core
from mercer._data import MatrixLike, RowsLike, joined, length, sparse_as_configured
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
from mercer._report import History, Report, history_of
from mercer._sources import KernelFunction, KernelSource, source_of
from mercer._threads import thread_count
from mercer._verbose import ProgressLine
from mercer.kernels import (
    RBF,
    InverseMultiquadric,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
)

__all__ = ["BaseKernelMachine"]

_KERNEL_NAMES = ("linear", "poly", "rbf", "sigmoid", "laplacian", "imq", "precomputed")


class _ExpansionSlot:
    """A place outside ``__dict__`` for the core's form of a fitted model, made when first needed.

    It is no part of an estimator's state: predicting does not change the state, and pickles and
    copies do not carry it.
    """

    __slots__ = ("_expansion",)

    _expansion: _core.Expansion | None


class BaseKernelMachine(_ExpansionSlot, BaseEstimator):
    """Base of the estimators, which declare parameters, pose the problem and name the results.

    ``fit`` of a subclass calls `_check_parameters`, `_check_rows` or `_check_rows_and_target`, and
    `_train`; it sets its own attributes and last calls `_warn_unless_converged`.
    """

    kernel: Any
    degree: Any
    gamma: Any
    coef0: Any
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

    support_: NDArray[np.int32]
    support_vectors_: Any
    n_support_: NDArray[np.int32]
    dual_coef_: Any
    intercept_: NDArray[np.float64]
    shape_fit_: tuple[int | None, ...]
    report_: Report
    fit_status_: int
    history_: History | list[History]

    # The kernel of the model, its parameters being numbers: later changes of the estimator's
    # parameters leave a fitted model as it is.
    _fit_kernel: Kernel | str | KernelFunction

    # How the values of its machines become a class: 'ovo', 'ovr' or 'dag'. Machines that are no
    # classifiers have a single value.
    _fit_multiclass: str = "ovo"

    # Parameters

    def _check_parameters(self) -> None:
        """Raise unless every parameter has a value that is allowed."""
        self._given_kernel()
        check_degree(self.degree)
        check_gamma(self.gamma)
        check_coef0(self.coef0)
        check_bool("shrinking", self.shrinking)
        check_choice("solver", self.solver, ("smo", "adatron"))
        check_real(
            "eta",
            self.eta,
            "above 0 and below 2 (outside, steps overshoot and the objective need not rise)",
            lambda eta: 0.0 < eta < 2.0,
        )
        check_positive("tol", self.tol)
        self._cache_bytes()
        if not isinstance(self.verbose, bool | np.bool_):
            check_integer("verbose", self.verbose, "a bool or a non-negative integer", low=0)
        check_integer("max_iter", self.max_iter, "-1 (no limit) or a non-negative integer", low=-1)
        if self.max_time is not None:
            check_positive("max_time", self.max_time, "None or a positive finite number of seconds")
        thread_count(self.n_jobs)

    def _cache_bytes(self) -> int | None:
        """Return the budget of the kernel cache, None if the core is to choose it."""
        if isinstance(self.cache_size, str) and self.cache_size == "auto":
            return None
        allowed = "'auto' or a positive finite number of MB"
        if isinstance(self.cache_size, str):
            raise ValueError(f"cache_size must be {allowed}, got {self.cache_size!r}")
        megabytes = check_positive("cache_size", self.cache_size, allowed)
        return int(min(max(megabytes * 2**20, 1.0), 2.0**62))

    def _given_kernel(self) -> Kernel | str | KernelFunction:
        """Return the kernel asked for: an object, 'precomputed' or a callable."""
        if isinstance(self.kernel, str) and self.kernel in _KERNEL_NAMES:
            return self._named_kernel(self.kernel)
        if isinstance(self.kernel, type) and issubclass(self.kernel, Kernel):
            raise TypeError(
                f"kernel must be an object, not a class: write {self.kernel.__name__}(), "
                f"not {self.kernel.__name__}"
            )
        if isinstance(self.kernel, Kernel) or callable(self.kernel):
            return self.kernel  # type: ignore[no-any-return]
        names = ", ".join(repr(name) for name in _KERNEL_NAMES)
        raise (ValueError if isinstance(self.kernel, str) else TypeError)(
            f"kernel must be one of {names}, an object of mercer.kernels or a callable, "
            f"got {self.kernel!r}"
        )

    def _named_kernel(self, name: str) -> Kernel | str:
        match name:
            case "linear":
                return Linear()
            case "poly":
                return Polynomial(degree=self.degree, gamma=self.gamma, coef0=self.coef0)
            case "rbf":
                return RBF(gamma=self.gamma)
            case "sigmoid":
                return Sigmoid(gamma=self.gamma, coef0=self.coef0)
            case "laplacian":
                return Laplacian(gamma=self.gamma)
            case "imq":
                return InverseMultiquadric()
            case _:
                return name

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        precomputed = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.sparse = not precomputed
        return tags

    # Training

    def _check_rows(self, X: RowsLike) -> RowsLike:
        """Return rows to train on, and note the number of features."""
        return source_of(self._given_kernel()).check(self, X, reset=True)

    def _check_rows_and_target(
        self, X: RowsLike, y: ArrayLike | None, *, numeric: bool = False
    ) -> tuple[RowsLike, NDArray[Any]]:
        """Return rows and targets that fit each other, and note the number of features."""
        with naming("y"):
            target: NDArray[Any] = validate_data(self, y=y, y_numeric=numeric)
            if numeric:
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
        solve: Callable[..., _core.Fit],
        sign: float = 1.0,
    ) -> None:
        """Train on the rows `keep` of `X`, of these weights, and set the attributes.

        ``solve(samples=..., kernel=..., **options)`` calls the core. Nothing is set unless it
        returns. `sign` is -1.0 where the attributes have another sign than the core.
        """
        kernel = self._given_kernel()
        rows = X if len(keep) == length(X) else source_of(kernel).rows(X, keep)
        if isinstance(kernel, Kernel):
            kernel = kernel._fitted_to(rows, weight)
        source = source_of(kernel)
        progress = ProgressLine(type(self).__name__) if self.verbose else None
        start = perf_counter()
        try:
            samples, function = source.training(rows)
            fit = solve(
                samples=samples,
                kernel=function,
                solver=str(self.solver),
                eta=float(self.eta),
                tol=float(self.tol),
                shrinking=bool(self.shrinking),
                cache_bytes=self._cache_bytes(),
                max_iter=int(self.max_iter),
                max_time=None if self.max_time is None else float(self.max_time),
                n_threads=thread_count(self.n_jobs),
                progress=progress,
            )
            report = Report.from_core(fit.reports, perf_counter() - start)
            if progress is not None:
                progress.finish(report)
        finally:
            if progress is not None:
                progress.close()
        if not (np.isfinite(fit.dual_coef).all() and np.isfinite(fit.intercept).all()):
            raise ValueError(
                "The dual coefficients or intercepts are not finite. The values of X may be too "
                "large and need to be scaled."
            )
        self._expansion = None
        self._fit_kernel = kernel
        self.support_ = keep[fit.support].astype(np.int32)
        self.support_vectors_ = source.support_vectors(rows, fit.support)
        self.n_support_ = fit.n_support
        # Adding zero turns -0.0 into 0.0.
        dual_coef, self.intercept_ = sign * fit.dual_coef + 0.0, sign * fit.intercept + 0.0
        as_sparse = sp.issparse(X) and isinstance(kernel, Kernel)
        self.dual_coef_ = sparse_as_configured(dual_coef) if as_sparse else dual_coef
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (length(X),)
        self.report_ = report
        self.__dict__.pop("history_", None)
        if self.solver == "adatron":
            histories = [history_of(table, sign) for table in fit.histories]
            self.history_ = histories[0] if len(histories) == 1 else histories
        self.fit_status_ = int(report.status != "converged")
        self._set_results(fit, rows)

    def _set_results(self, fit: _core.Fit, rows: RowsLike) -> None:
        """Set the attributes that not all machines have; `rows` are those trained on."""

    def _warn_unless_converged(self) -> None:
        """Warn if the fit did not converge; to be called by ``fit`` when the model is complete."""
        status = self.report_.status
        if status == "converged":
            return
        if status == "diverged":
            message = (
                "Solver diverged: the coefficients grow without bound. With C=inf this means that "
                "this kernel cannot separate the classes without errors, otherwise that the "
                "kernel is not positive definite. Use a finite C or another kernel. The model can "
                "be used but is not optimal."
            )
        else:
            limit = "max_time" if status == "time_limit" else "max_iter"
            message = (
                f"Solver terminated early ({limit}={getattr(self, limit)}).  Consider "
                "pre-processing your data with StandardScaler or MinMaxScaler. "
                f"The gap reached is {self.report_.gap:.3g}, above tol={self.tol:g}: the model can "
                f"be used but is not optimal. Raise {limit} or tol to let the solver finish."
            )
        warnings.warn(message, ConvergenceWarning, stacklevel=3)

    # Prediction

    def __sklearn_is_fitted__(self) -> bool:
        return "support_" in self.__dict__

    def _decide(
        self, X: RowsLike, reduce: Callable[[NDArray[np.float64]], NDArray[Any]]
    ) -> NDArray[Any]:
        """Return `reduce` of the values of all machines, shape (n, n_machines), block by block."""
        source, *arguments = self._prediction(X)
        return joined(reduce(values) for values in source.decision(*arguments))

    def _prediction(
        self, X: RowsLike
    ) -> tuple[KernelSource, _core.Expansion, RowsLike, "BaseKernelMachine", int]:
        """Return the source of kernel values and what its methods for prediction take."""
        check_is_fitted(self)
        source = source_of(self._fit_kernel)
        X = source.check(self, X, reset=False)
        expansion = getattr(self, "_expansion", None)
        if expansion is None:
            kernel, support_vectors = source.expansion_parts(self.support_vectors_)
            expansion = _core.Expansion(
                kernel, support_vectors, *self._machines(), self._fit_multiclass
            )
            self._expansion = expansion
        return source, expansion, X, self, thread_count(self.n_jobs)

    def _machines(self) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """Return n_support, dual_coef and intercept as `_core.Expansion` takes them."""
        dual_coef = self.dual_coef_.toarray() if sp.issparse(self.dual_coef_) else self.dual_coef_
        return self.n_support_, dual_coef, self.intercept_

    def _rows_of_coefficients(self) -> MatrixLike:
        """Return the coefficients of all support vectors in each machine, one row for each."""
        return self.dual_coef_

    @property
    def coef_(self) -> MatrixLike:
        """Weights of the features, for a linear kernel."""
        if not self.__sklearn_is_fitted__() or not isinstance(self._fit_kernel, Linear):
            raise AttributeError("coef_ is only available for a fitted model with a linear kernel")
        coefficients = self._rows_of_coefficients()
        if sp.issparse(self.support_vectors_):
            coef = sparse_as_configured(sp.csr_array(coefficients) @ self.support_vectors_)
            coef.data.flags.writeable = False
        else:
            coef = coefficients @ self.support_vectors_
            coef.flags.writeable = False
        return coef

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()
