"""The width of a Gaussian kernel, chosen by an estimate of the error."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import pairwise_distances

from mercer._data import RowsLike
from mercer._params import check_bool, check_choice
from mercer.kernels import RBF
from mercer.model_selection._machines import dense
from mercer.svm._classifier import classes_of
from mercer.svm._svc import SVC
from mercer.svm._svdd import SVDD
from mercer.svm._types import Multiclass, Solver

__all__ = ["SigmaPath", "sigma_path"]

#: Widths tried unless others are given, and rows whose distances tell where they lie.
_WIDTHS, _ROWS = 10, 500


@dataclass(frozen=True)
class SigmaPath:
    """What `sigma_path` found for each width.

    Attributes
    ----------
    widths : ndarray of shape (n_widths,)
        The widths sigma, ascending.
    estimates : ndarray of shape (n_widths,)
        R^2 / (m margin^2) plus the mean loss of the rows, added up over all machines: an estimate
        of the error, up to a factor, and no more. NaN where the solver did not converge.
    margins : ndarray of shape (n_widths,) or (n_widths, n_machines)
        The margins 1 / |w|.
    epochs : ndarray of shape (n_widths,)
        Epochs of training; iterations, if the solver is not 'adatron'.
    n_support : ndarray of shape (n_widths,)
        Numbers of support vectors.
    kernel_evaluations : ndarray of shape (n_widths,)
        Kernel values computed for training, not counting those for the radius.
    errors : ndarray of shape (n_widths,) or None
        The errors on the rows held out; None if there were none.
    """

    widths: NDArray[np.float64]
    estimates: NDArray[np.float64]
    margins: NDArray[np.float64]
    epochs: NDArray[np.int64]
    n_support: NDArray[np.int64]
    kernel_evaluations: NDArray[np.int64]
    errors: NDArray[np.float64] | None = None

    @property
    def bounds(self) -> NDArray[np.float64]:
        """The same as `estimates`: they follow from a bound, but are none."""
        return self.estimates

    @property
    def best_width(self) -> float:
        """The width with the lowest error on rows held out, or else with the lowest estimate.

        Of several widths with the same error it is the one with the lowest estimate.
        """
        if np.isnan(self.estimates).all():
            raise ValueError("no width converged: raise max_iter, max_time or tol, or lower C")
        estimates = np.where(np.isnan(self.estimates), np.inf, self.estimates)
        if self.errors is None:
            return float(self.widths[estimates.argmin()])
        errors = np.where(np.isinf(estimates), np.inf, self.errors)
        return float(self.widths[np.lexsort((estimates, errors))[0]])


def sigma_path(
    X: RowsLike,
    y: Any,
    *,
    sigmas: ArrayLike | None = None,
    C: float = np.inf,
    loss: Literal["hinge", "squared_hinge"] = "hinge",
    fit_intercept: bool | Literal["penalized"] = True,
    eta: float = 1.0,
    tol: float = 1e-3,
    radius: Literal["unit", "svdd"] = "unit",
    restart: bool = False,
    max_iter: int = -1,
    max_time: float | None = None,
    cache_size: float | Literal["auto"] = "auto",
    n_jobs: int | None = None,
    solver: Solver = "adatron",
    multiclass: Multiclass = "ovo",
    validation: tuple[RowsLike, Any] | None = None,
) -> SigmaPath:
    """Train a classifier with a sequence of ever wider Gaussian kernels.

    The margin depends continuously on the width sigma of the kernel exp(-|x - z|^2 / (2 sigma^2)),
    so the coefficients for one width are almost right for the next, and the solver starts from
    them. Which width to choose is told by the error on rows held out, if there are any, or else by
    R^2 / (m margin^2), which is an estimate of the error. For a hard margin it follows from a
    bound; with a finite C the mean loss of the rows is added, without which ever wider kernels
    would seem ever better. See `error_estimates` for others.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        The labels.
    sigmas : array-like of shape (n_widths,), default=None
        The widths, trained in ascending order. None takes a geometric grid, from half the median
        distance to the nearest row, to the median distance between rows.
    C, loss, fit_intercept, eta, tol, max_iter, cache_size, n_jobs, solver, multiclass
        As for `SVC`, which trains every width; the default is a hard margin by the Kernel-Adatron.
    radius : {'unit', 'svdd'}, default='unit'
        R: 1, the distance of every row from the origin, or the radius of the smallest sphere
        around the rows.
    restart : bool, default=False
        Whether to start every width from zero, to see what is saved otherwise. With more than two
        classes every width does.
    max_time : float, default=None
        Seconds for each width, None for no limit.
    validation : tuple of rows and labels, default=None
        Rows held out, by whose error the width is chosen.

    Returns
    -------
    SigmaPath
        Estimates, margins, epochs and more for each width.

    Notes
    -----
    Starting from the last coefficients saves epochs if the widths are close together. If each width
    is twice the last it does not: the coefficients are then no better than zeros.

    C. Campbell and N. Cristianini, Simple learning algorithms for training support vector machines
    (1998).

    Examples
    --------
    >>> from mercer.datasets import load_sonar
    >>> from mercer.model_selection import sigma_path
    >>> X, y = load_sonar(return_X_y=True)
    >>> path = sigma_path(X, y)
    >>> round(path.best_width, 2), len(path.widths)
    (0.48, 10)
    >>> again = sigma_path(X, y, restart=True)
    >>> bool(path.epochs.sum() < again.epochs.sum())
    True
    >>> held_out = sigma_path(X[::2], y[::2], validation=(X[1::2], y[1::2]), solver="smo")
    >>> held_out.errors.shape
    (10,)
    """
    settings: dict[str, Any] = {
        "tol": tol,
        "max_iter": max_iter,
        "max_time": max_time,
        "cache_size": cache_size,
        "n_jobs": n_jobs,
    }
    check_choice("radius", radius, ("unit", "svdd"))
    check_bool("restart", restart)
    machine = SVC(C=C, loss=loss, fit_intercept=fit_intercept, solver=solver, eta=eta)
    machine.set_params(multiclass=multiclass, **settings)._check_parameters()
    X, y = machine._check_rows_and_target(X, y)
    labels = _number(machine, y)
    widths = _widths(X, len(labels), sigmas)
    table, errors = [], []
    start = None
    for width in widths:
        machine.set_params(kernel=RBF(sigma=float(width)))
        _train(machine, X, labels, start)
        machine._warn_unless_converged(X, stacklevel=3)
        squared_radius = 1.0
        if radius == "svdd":
            sphere = SVDD(kernel=machine.kernel, nu=1.0 / len(labels), **settings).fit(X)
            squared_radius = sphere.radius_**2
        table.append(_figures(machine, squared_radius, len(labels)))
        if validation is not None:
            errors.append(1.0 - machine.score(*validation))
        converged = machine.report_.status == "converged"
        goes_on = converged and not restart and len(machine.classes_) == 2
        start = _coefficients(machine, len(labels)) if goes_on else None
    columns: Any = [np.array(column) for column in zip(*table, strict=True)]
    if validation is not None:
        columns.append(np.array(errors))
    return SigmaPath(widths, *columns)


def _number(machine: SVC, y: NDArray[Any]) -> NDArray[np.int64]:
    """Return the numbers of classes, and let the machine know these."""
    machine.classes_ = classes_of(y)
    if len(machine.classes_) < 2:
        raise ValueError(f"y must have at least two classes, got {len(machine.classes_)}")
    machine._fit_multiclass = "ovo" if len(machine.classes_) == 2 else machine.multiclass
    machine.class_weight_ = np.ones(len(machine.classes_))
    return np.searchsorted(machine.classes_, y).astype(np.int64)


def _train(
    machine: SVC, X: RowsLike, labels: NDArray[np.int64], start: NDArray[np.float64] | None
) -> None:
    """Train a machine, from the given coefficients if there are any."""
    rows, ones = np.arange(len(labels)), np.ones(len(labels))
    problem = machine._pose(labels, ones, ones, machine._fit_multiclass, start)
    machine._train(X, rows, ones, problem, machines=len(machine.classes_) - 1)


def _coefficients(machine: SVC, n_rows: int) -> NDArray[np.float64]:
    """Return the coefficient of each row."""
    coefficients = np.zeros(n_rows)
    coefficients[machine.support_] = dense(machine.dual_coef_)[0]
    return coefficients


def _figures(
    machine: SVC, squared_radius: float, n_rows: int
) -> tuple[float, float | NDArray[np.float64], int, int, int]:
    """Return estimate, margin, epochs, support vectors and kernel evaluations."""
    report, estimate = machine.report_, 0.0
    for number, part in enumerate(report):
        squared_weights = part.squared_norm
        if machine.fit_intercept == "penalized":
            squared_weights += float(machine.intercept_[number]) ** 2
        # What the machine minimises is |w|^2 / 2 + C times the losses.
        losses = 0.0
        if np.isfinite(machine.C):
            losses = max(0.0, part.primal_objective - 0.5 * squared_weights) / float(machine.C)
        estimate += (squared_radius * part.squared_norm + losses) / n_rows
    if report.status != "converged":
        estimate = np.nan
    evaluations = report.kernel_evaluations
    return estimate, machine.margin_, report.iterations, len(machine.support_), evaluations


def _widths(X: Any, n_rows: int, sigmas: ArrayLike | None) -> NDArray[np.float64]:
    """Return the widths in ascending order."""
    if sigmas is not None:
        widths = np.sort(np.asarray(sigmas, dtype=np.float64).ravel())
        if not (len(widths) and np.isfinite(widths).all() and widths[0] > 0.0):
            raise ValueError(f"sigmas must be positive finite numbers, got {sigmas!r}")
        return widths
    distances = pairwise_distances(X[:: -(-n_rows // _ROWS)])
    # Neither the row itself nor copies of it.
    distances[distances == 0.0] = np.inf
    finite = distances[np.isfinite(distances)]
    if not len(finite):
        raise ValueError("sigmas must be given, got None for rows that are all the same")
    low, high = 0.5 * np.median(distances.min(axis=1)), np.median(finite)
    return np.geomspace(low, max(high, 2.0 * low), _WIDTHS)
