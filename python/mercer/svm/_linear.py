"""What the linear machines share: parameters, rows, training, values by one matrix product."""

import warnings
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer import _core
from mercer._data import (
    LABEL_KINDS,
    MatrixLike,
    RowsLike,
    canonical,
    checked,
    is_vector,
    length,
    make_samples,
)
from mercer._estimator import Estimator
from mercer._params import check_bool, check_integer, check_positive, naming
from mercer._threads import thread_count
from mercer.report import Report
from mercer.svm._results import report_of
from mercer.svm._types import Matrix
from mercer.svm._verbose import shown
from mercer.svm._watch import Watchers

__all__ = ["BaseLinearMachine"]


class BaseLinearMachine(Estimator):
    """Base of the linear estimators, which declare parameters and name the results."""

    C: Any
    loss: Any
    dual: Any
    tol: Any
    fit_intercept: Any
    intercept_scaling: Any
    verbose: Any
    random_state: Any
    max_iter: Any

    coef_: Matrix
    intercept_: NDArray[np.float64]
    n_iter_: int
    report_: Report

    def _check_parameters(self) -> None:
        """Raise unless every parameter has a value that is allowed."""
        check_positive("C", self.C)
        check_positive("tol", self.tol)
        check_bool("fit_intercept", self.fit_intercept)
        check_positive("intercept_scaling", self.intercept_scaling)
        check_integer("max_iter", self.max_iter, "a non-negative integer", low=0)
        if not isinstance(self.verbose, bool | np.bool_):
            check_integer("verbose", self.verbose, "a bool or a non-negative integer", low=0)
        with naming("random_state"):
            check_random_state(self.random_state)
        automatic = isinstance(self.dual, str) and self.dual == "auto"
        if not (automatic or isinstance(self.dual, bool | np.bool_)):
            raise ValueError(f"dual must be a bool or 'auto', got {self.dual!r}")

    def _check_dual(self, only_dual: tuple[str, ...], penalty: str = "l2") -> None:
        """Raise where scikit-learn has no solver of this problem, dual or primal."""
        sparse, not_smooth = penalty == "l1", self.loss in only_dual
        automatic = isinstance(self.dual, str)
        if sparse and not_smooth:
            advice = "use another loss"
        elif automatic or not (self.dual if sparse else not_smooth and not self.dual):
            return
        else:
            advice = f"use dual={not self.dual} or dual='auto'"
        raise ValueError(
            "Unsupported set of arguments: there is no solver for the combination of "
            f"penalty={penalty!r}, loss={self.loss!r}, dual={self.dual!r}: {advice}"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_rows(self, X: RowsLike, *, reset: bool) -> MatrixLike:
        return canonical(checked(self, X, accept_sparse="csr", reset=reset))

    def _check_data(
        self, X: RowsLike, y: Any, *, numeric: bool = False
    ) -> tuple[MatrixLike, NDArray[Any]]:
        """Return rows to train on and a label or value for each."""
        target: NDArray[Any] = y
        if not is_vector(y, "f" if numeric else LABEL_KINDS):
            with naming("y"):
                # Before the rows: it forgets the names of features.
                target = validate_data(self, y=y, y_numeric=numeric)
        rows = self._check_rows(X, reset=True)
        if length(rows) != len(target):
            raise ValueError(
                f"y must have one value for each row of X, got {len(target)} for "
                f"{length(rows)} rows"
            )
        return rows, target.astype(np.float64, copy=False) if numeric else target

    def _train(
        self,
        X: MatrixLike,
        target: NDArray[Any],
        cost: NDArray[np.float64],
        *,
        squared: bool,
        class_weight: NDArray[np.float64] | None = None,
        epsilon: float | None = None,
    ) -> None:
        """Train on rows, all of which count, and set the attributes."""
        progress = shown(type(self).__name__, float(self.tol)) if self.verbose else None
        settings = _core.Settings(
            solver="smo",
            eta=1.0,
            tol=float(self.tol),
            shrinking=True,
            cache_bytes=None,
            max_iter=int(self.max_iter),
            max_time=None,
            n_threads=thread_count(None),
            progress=Watchers([progress]) if progress is not None else None,
        )
        start = perf_counter()
        try:
            formulation = _core.LinearFormulation(
                squared=squared,
                constant=float(self.intercept_scaling) if self.fit_intercept else 0.0,
                class_weight=class_weight,
                epsilon=epsilon,
            )
            fit = formulation.fit(make_samples(X), target, cost, settings)
            report = report_of(fit, None, perf_counter() - start)
            if progress is not None:
                progress.finish(report)
        finally:
            if progress is not None:
                progress.close()
        if not (np.isfinite(fit.coef).all() and np.isfinite(fit.intercept).all()):
            raise ValueError(
                "The weights or intercepts are not finite. The values of X may be too large and "
                "need to be scaled."
            )
        self.coef_, self.intercept_, self.report_ = fit.coef, fit.intercept, report
        self.n_iter_ = max(machine.iterations for machine in report)

    def _warn_unless_converged(self) -> None:
        """Warn whoever has called ``fit`` if the solver did not converge."""
        if self.report_.status != "converged":
            warnings.warn(
                f"Solver failed to converge ({self.report_.status}): the gap reached is "
                f"{self.report_.gap:.3g}, above tol={self.tol:g}. Increase max_iter or tol, or "
                "scale the data.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _values(self, X: RowsLike) -> NDArray[Any]:
        """Return the values of all machines, shape (n, n_machines)."""
        check_is_fitted(self)
        X = self._check_rows(X, reset=False)
        # In the precision of X, which is thus not copied.
        coef = self.coef_ if sp.issparse(self.coef_) else np.atleast_2d(self.coef_)
        coef = coef.astype(X.dtype, copy=False)
        intercept = self.intercept_.astype(X.dtype, copy=False)
        values: NDArray[Any] = safe_sparse_dot(X, coef.T, dense_output=True) + intercept
        return values
