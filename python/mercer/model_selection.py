"""Choosing the width of a Gaussian kernel by a bound on the error, while training."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import pairwise_distances
from sklearn.utils.multiclass import check_classification_targets

from mercer._data import RowsLike
from mercer._params import check_bool, check_choice, naming
from mercer._svc import SVC
from mercer._svdd import SVDD
from mercer.kernels import RBF

__all__ = ["SigmaPath", "sigma_path"]

#: Widths tried unless others are given, and rows whose distances tell where they lie.
_WIDTHS, _ROWS = 10, 500


@dataclass(frozen=True)
class SigmaPath:
    """What `sigma_path` found for each width, in the order in which they were trained.

    Attributes
    ----------
    widths : ndarray of shape (n_widths,)
        The widths sigma, ascending.
    bounds : ndarray of shape (n_widths,)
        R^2 / (m margin^2), a bound on the error; NaN where the solver did not converge.
    margins : ndarray of shape (n_widths,)
        The margins 1 / |w|.
    epochs : ndarray of shape (n_widths,)
        Epochs of training.
    n_support : ndarray of shape (n_widths,)
        Numbers of support vectors.
    kernel_evaluations : ndarray of shape (n_widths,)
        Kernel values computed for training, without those for the radius.
    """

    widths: NDArray[np.float64]
    bounds: NDArray[np.float64]
    margins: NDArray[np.float64]
    epochs: NDArray[np.int64]
    n_support: NDArray[np.int64]
    kernel_evaluations: NDArray[np.int64]

    @property
    def best_width(self) -> float:
        """The width with the lowest bound."""
        if np.isnan(self.bounds).all():
            raise ValueError("no width converged: raise max_iter, max_time or tol, or lower C")
        return float(self.widths[np.nanargmin(self.bounds)])


def sigma_path(
    X: RowsLike,
    y: Any,
    *,
    sigmas: ArrayLike | None = None,
    C: float = np.inf,
    loss: str = "hinge",
    fit_intercept: bool | str = True,
    eta: float = 1.0,
    tol: float = 1e-3,
    radius: str = "unit",
    restart: bool = False,
    max_iter: int = -1,
    max_time: float | None = None,
    cache_size: float | str = "auto",
    n_jobs: int | None = None,
) -> SigmaPath:
    """Train a classifier of two classes with one Gaussian kernel after another, ever wider.

    The margin depends continuously on the width sigma of the kernel exp(-|x - z|^2 / (2 sigma^2)),
    so the coefficients for one width are almost right for the next: the Kernel-Adatron goes on
    from them. The bound R^2 / (m margin^2) on the error tells which width to choose, without data
    set aside.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.
    y : array-like of shape (n_samples,)
        The labels, of two classes.
    sigmas : array-like of shape (n_widths,), default=None
        The widths, trained in ascending order. None takes a geometric grid from half the median
        distance to the nearest row to the median distance of all rows.
    C, loss, fit_intercept, eta, tol, max_iter, cache_size, n_jobs
        As those of `SVC`, with which every width is trained; the margin is hard by default.
    radius : {'unit', 'svdd'}, default='unit'
        R: 1, which is the distance of every row from the origin, or the radius of the smallest
        sphere around the rows.
    restart : bool, default=False
        Whether to begin with zero coefficients for every width, to see what going on saves.
    max_time : float, default=None
        Seconds for each width, None for no limit.

    Returns
    -------
    SigmaPath
        Bounds, margins, epochs and more for each width.

    Notes
    -----
    Going on saves epochs if the widths are close to each other. From one width to twice as much it
    does not: the coefficients are then as far from right as zeros.

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
    with naming("y"):
        check_classification_targets(y)
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"y must have two classes, got {len(classes)}")
    widths = _widths(X, len(labels), sigmas)
    rows, ones = np.arange(len(labels)), np.ones(len(labels))
    ridge = 0.5 / float(C) if loss == "squared_hinge" else 0.0
    table = []
    start = None
    for width in widths:
        machine.set_params(kernel=RBF(sigma=float(width)))
        problem = machine._problem(labels.astype(np.int64), ones, ones, "ovo")
        machine._train(X, rows, ones, partial(problem, start=start))
        machine._warn_unless_converged()
        coefficients = _dense(machine.dual_coef_)
        report = machine.report_
        # The dual objective is |w|^2 / 2 + ridge |beta|^2 / 2 - sum |beta|.
        squared_norm = 2.0 * (report.objective + np.abs(coefficients).sum())
        squared_norm -= ridge * (coefficients**2).sum()
        converged = report.status == "converged"
        squared_radius = 1.0
        if radius == "svdd":
            sphere = SVDD(kernel=machine.kernel, nu=1.0 / len(rows), **settings).fit(X)
            squared_radius = sphere.radius_**2
        bound = squared_radius * squared_norm / len(rows) if converged else np.nan
        margin = 1.0 / np.sqrt(squared_norm) if squared_norm > 0.0 else np.inf
        counts = (report.iterations, len(machine.support_), report.kernel_evaluations)
        table.append((bound, margin, *counts))
        start = None
        if converged and not restart:
            start = np.zeros(len(rows))
            start[machine.support_] = coefficients[0]
    bounds, margins, epochs, n_support, evaluations = zip(*table, strict=True)
    return SigmaPath(
        widths,
        np.array(bounds),
        np.array(margins),
        np.array(epochs, dtype=np.int64),
        np.array(n_support, dtype=np.int64),
        np.array(evaluations, dtype=np.int64),
    )


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
