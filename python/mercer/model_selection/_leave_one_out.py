"""Leaving one row out: exact, from the solution for all rows."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer import _core
from mercer._data import RowsLike, length
from mercer.svm._base import BaseKernelMachine
from mercer.svm._classifier import BaseClassifier
from mercer.svm._probability import asked_for
from mercer.svm._regressor import BaseRegressor
from mercer.svm._shared import Collected, FitLike, Request, open_desk
from mercer.svm._sources import source_of

__all__ = ["LeaveOneOutResult", "leave_one_out"]


@dataclass(frozen=True)
class LeaveOneOutResult:
    """What `leave_one_out` found.

    Attributes
    ----------
    decision_values : ndarray of shape (n_samples,) or (n_samples, n_values)
        What ``decision_function`` of a classifier or detector, and ``predict`` of a regression,
        returns for each row if it was trained on all others.
    predictions : ndarray of shape (n_samples,)
        What ``predict`` returns for each row.
    error : float
        Of a classifier the share of rows of which the class is wrong; of a regression the mean
        squared error; of a detector the share of rows that are outside. Rows count by
        `sample_weight` if it was given.
    n_solved : int
        How many problems were solved anew, for all machines of a classifier together.
    """

    decision_values: NDArray[np.float64]
    predictions: NDArray[Any]
    error: float
    n_solved: int


def leave_one_out(
    estimator: Any, X: RowsLike, y: Any = None, *, sample_weight: ArrayLike | None = None
) -> LeaveOneOutResult:
    """Predict every row by the machine that is trained on all others.

    The result is that of as many fits as there are rows, to the tolerance `tol`. With a cost C only
    support vectors need a new solution, and each is found from that for all rows: its free
    coefficients are solved for once, and a row that is left out changes that by little. Where `nu`
    stands for a share of all rows, every row needs a new solution.

    What the estimator chooses by looking at the rows (``gamma='scale'`` and the like,
    ``class_weight='balanced'``) is chosen once, for all rows: the machines without a row have the
    kernel of the full one, which is what they share. To choose anew without every row, use
    `cross_val_predict` with scikit-learn's ``LeaveOneOut()``.

    Parameters
    ----------
    estimator : kernel machine
        An SVC, NuSVC, SVR, NuSVR, OneClassSVM or SVDD, with any kernel; it is not changed.
    X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
        The rows, or the kernel matrix if the kernel is 'precomputed'.
    y : array-like of shape (n_samples,), default=None
        The labels or values; None for a detector.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows. Those of weight zero are not trained on.

    Returns
    -------
    LeaveOneOutResult
        Decision values, predictions and the error.

    Notes
    -----
    The leave-one-out error is an almost unbiased estimate of the error on new data (Luntz and
    Brailovsky, 1969): its mean is that of machines trained on one row less. Its variance can be
    large, and the smallest of many is too small.

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import load_ionosphere
    >>> from mercer.model_selection import leave_one_out
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> result = leave_one_out(SVC(C=10.0, gamma=0.1), X, y)
    >>> round(result.error, 3), result.n_solved
    (0.054, 82)
    """
    if not isinstance(estimator, BaseKernelMachine):
        raise TypeError(
            "estimator must be a kernel machine of mercer.svm, such as SVC or SVR, got "
            f"{estimator!r}: for others, use cross_val_predict with LeaveOneOut()"
        )
    machine = clone(estimator)
    if asked_for(machine):
        machine.set_params(probability=False)
    request = _request(machine, X, y, sample_weight)
    found = _leave_out(request)
    unconverged = found.unconverged
    if unconverged:
        warnings.warn(
            f"{unconverged} of the problems were not solved to tol={machine.tol:g}: raise "
            "max_iter, max_time or tol, or scale X",
            ConvergenceWarning,
            stacklevel=2,
        )
    n_rows = length(X) or 0
    decision, predictions = _predictions(request.machine, found.values)
    if len(request.keep) < n_rows:
        decision, predictions = _with_others(
            machine.fit(X, y, sample_weight), X, request.keep, decision, predictions
        )
    error = _error(machine, predictions, y, sample_weight)
    return LeaveOneOutResult(decision, predictions, error, found.solved)


class _Collecting:
    """The desk that ends a fit when it is about to train."""

    def serve(self, request: Request) -> FitLike | None:
        raise Collected(request)


def _request(machine: Any, X: RowsLike, y: Any, sample_weight: Any) -> Request:
    """Return what a machine would train, all checks being made."""
    try:
        with open_desk(_Collecting()):
            machine.fit(X, y, sample_weight)
    except Collected as collected:
        target = collected.request.problem.target
        if target is not None and target.ndim > 1:
            raise ValueError(
                f"y must have one value for each row of X, got shape {target.shape}"
            ) from None
        request = collected.request
        shares = request.problem.formulation.shares and machine._is_optimal
        if isinstance(machine, BaseClassifier) and not shares:
            raise ValueError(
                "estimator must be at the optimum of its own problem for each machine, multiclass "
                f"'ovo', 'ovr' or 'dag', got {machine!r}: for others, use cross_val_predict with "
                "LeaveOneOut()"
            ) from None
        return request
    raise AssertionError("a fit asks at the desk before it trains")


def _leave_out(request: Request) -> _core.LeftOut:
    problem, settings = request.problem, request.settings
    given = source_of(request.kernel).training(request.rows, settings, 2)
    rows = (problem.target, problem.cost)
    return _core.leave_one_out(problem.formulation, given.kernel, given.samples, rows, settings)


def _predictions(
    machine: Any, values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return decision values and predictions as the machine makes them of values."""
    if isinstance(machine, BaseRegressor):
        return values[:, 0], values[:, 0].copy()
    if not isinstance(machine, BaseClassifier):
        decision = values[:, 0]
        return decision, np.where(decision >= 0.0, 1, -1).astype(np.intp)
    n_classes, multiclass = len(machine.classes_), machine._fit_multiclass
    if n_classes == 2:
        decision = values[:, 0]
    elif multiclass == "ovr" or machine.decision_function_shape == "ovo":
        decision = values
    else:
        decision = _core.confidences(values, n_classes, multiclass)
    if machine._breaks_ties():
        winners: NDArray[Any] = _core.confidences(values, n_classes, multiclass).argmax(axis=1)
    else:
        winners = _core.winners(values, n_classes, multiclass)
    return decision, np.asarray(machine.classes_)[winners]


def _with_others(
    model: Any,
    X: RowsLike,
    keep: NDArray[np.intp],
    decision: NDArray[np.float64],
    predictions: NDArray[Any],
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return decision values and predictions of all rows: those without a weight by the model."""
    all_predictions = model.predict(X)
    values = (
        model.decision_function(X)
        if hasattr(model, "decision_function")
        else all_predictions.copy()
    )
    values[keep], all_predictions[keep] = decision, predictions
    return values, all_predictions


def _error(machine: Any, predictions: NDArray[Any], y: Any, sample_weight: Any) -> float:
    if isinstance(machine, BaseRegressor):
        errors = (predictions - np.asarray(y, dtype=np.float64).ravel()) ** 2
    elif isinstance(machine, BaseClassifier):
        errors = (predictions != np.asarray(y).ravel()).astype(np.float64)
    else:
        errors = (predictions < 0).astype(np.float64)
    return float(np.average(errors, weights=sample_weight))
