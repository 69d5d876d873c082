"""The width of a Gaussian kernel, chosen by an estimate of the error."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import pairwise_distances
from sklearn.utils.multiclass import check_classification_targets

from mercer._data import RowsLike
from mercer._params import check_bool, check_choice, naming
from mercer.kernels import RBF
from mercer.svm._svc import SVC
from mercer.svm._svdd import SVDD

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
    bounds : ndarray of shape (n_widths,)
        R^2 / (m margin^2) plus the mean loss of the rows: an estimate of the error, up to a factor,
        and no more. NaN where the solver did not converge.
    margins : ndarray of shape (n_widths,)
        The margins 1 / |w|.
    epochs : ndarray of shape (n_widths,)
        Epochs of training.
    n_support : ndarray of shape (n_widths,)
        Numbers of support vectors.
    kernel_evaluations : ndarray of shape (n_widths,)
        Kernel values computed for training, not counting those for the radius.
    """

    widths: NDArray[np.float64]
    bounds: NDArray[np.float64]
    margins: NDArray[np.float64]
    epochs: NDArray[np.int64]
    n_support: NDArray[np.int64]
    kernel_evaluations: NDArray[np.int64]

    @property
    def best_width(self) -> float:
        """The width with the lowest estimate."""
        if np.isnan(self.bounds).all():
            raise ValueError("no width converged: raise max_iter, max_time or tol, or lower C")
        return float(self.widths[np.nanargmin(self.bounds)])


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
) -> SigmaPath:
    """Train a classifier of two classes with a sequence of ever wider Gaussian kernels.

    The margin depends continuously on the width sigma of the kernel exp(-|x - z|^2 / (2 sigma^2)),
    so the coefficients for one width are almost right for the next, and the Kernel-Adatron starts
    from them. The estimate R^2 / (m margin^2) of the error tells which width to choose, without
    held-out data. For a hard margin it follows from a bound; with a finite C the mean loss of the
    rows is added, without which ever wider kernels would seem ever better.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        The labels, of two classes.
    sigmas : array-like of shape (n_widths,), default=None
        The widths, trained in ascending order. None takes a geometric grid, from half the median
        distance to the nearest row, to the median distance between rows.
    C, loss, fit_intercept, eta, tol, max_iter, cache_size, n_jobs
        As for `SVC`, which trains every width; the default is a hard margin.
    radius : {'unit', 'svdd'}, default='unit'
        R: 1, the distance of every row from the origin, or the radius of the smallest sphere
        around the rows.
    restart : bool, default=False
        Whether to start every width from zero, to see what is saved otherwise.
    max_time : float, default=None
        Seconds for each width, None for no limit.

    Returns
    -------
    SigmaPath
        Bounds, margins, epochs and more for each width.

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
    machine = SVC(C=C, loss=loss, fit_intercept=fit_intercept, solver="adatron", eta=eta)
    machine.set_params(**settings)._check_parameters()
    X, y = machine._check_rows_and_target(X, y)
    labels = _labels(y)
    widths = _widths(X, len(labels), sigmas)
    table = []
    start = None
    for width in widths:
        machine.set_params(kernel=RBF(sigma=float(width)))
        _train(machine, X, labels, start)
        machine._warn_unless_converged(stacklevel=3)
        squared_radius = 1.0
        if radius == "svdd":
            sphere = SVDD(kernel=machine.kernel, nu=1.0 / len(labels), **settings).fit(X)
            squared_radius = sphere.radius_**2
        table.append(_figures(machine, squared_radius, len(labels)))
        converged = machine.report_.status == "converged"
        start = _coefficients(machine, len(labels)) if converged and not restart else None
    return SigmaPath(widths, *(np.array(column) for column in zip(*table, strict=True)))


def _labels(y: NDArray[Any]) -> NDArray[np.int64]:
    """Return the numbers of two classes."""
    with naming("y"):
        check_classification_targets(y)
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"y must have two classes, got {len(classes)}")
    return labels.astype(np.int64)


def _train(
    machine: SVC, X: RowsLike, labels: NDArray[np.int64], start: NDArray[np.float64] | None
) -> None:
    """Train a machine, from the given coefficients if there are any."""
    rows, ones = np.arange(len(labels)), np.ones(len(labels))
    machine._train(X, rows, ones, machine._pose(labels, ones, ones, "ovo", start))


def _coefficients(machine: SVC, n_rows: int) -> NDArray[np.float64]:
    """Return the coefficient of each row."""
    coefficients = np.zeros(n_rows)
    coefficients[machine.support_] = _dense(machine.dual_coef_)[0]
    return coefficients


def _figures(
    machine: SVC, squared_radius: float, n_rows: int
) -> tuple[float, float, int, int, int]:
    """Return bound, margin, epochs, support vectors and kernel evaluations."""
    coefficients, report = _dense(machine.dual_coef_), machine.report_
    ridge = 0.5 / float(machine.C) if machine.loss == "squared_hinge" else 0.0
    # The dual objective is |w|^2 / 2 + ridge |beta|^2 / 2 - sum |beta|.
    squared_norm = 2.0 * (report.objective + np.abs(coefficients).sum())
    squared_norm -= ridge * (coefficients**2).sum()
    # At the optimum minus the dual objective is |w|^2 / 2 + C times the losses.
    losses = max(0.0, -report.objective - 0.5 * squared_norm) / float(machine.C)
    bound = (squared_radius * squared_norm + losses) / n_rows
    if report.status != "converged":
        bound = np.nan
    margin = 1.0 / np.sqrt(squared_norm) if squared_norm > 0.0 else np.inf
    n_support = len(machine.support_)
    return bound, margin, report.iterations, n_support, report.kernel_evaluations


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


def _dense(matrix: Any) -> NDArray[np.float64]:
    dense: NDArray[np.float64] = matrix.toarray() if sp.issparse(matrix) else matrix
    return dense
