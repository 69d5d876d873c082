"""What an approximation costs in the objective of the machine."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from mercer._data import RowsLike, length, take_rows
from mercer._params import check_integer
from mercer.svm import SVC, LinearSVC
from mercer.svm._types import RandomState

__all__ = ["ObjectiveLost", "objective_lost"]


@dataclass(frozen=True)
class ObjectiveLost:
    """What a linear machine on approximate features lost against the exact kernel machine.

    Attributes
    ----------
    exact : float
        The primal objective of the exact machine, |w|^2 / 2 plus the losses: the least there is.
    approximate : float
        That of the linear machine on the features. Features of `Nystroem` span a part of the
        feature space, so it is no less than `exact`. Those of `RandomFeatures` belong to another
        kernel, and it may be less.
    relative : float
        (approximate - exact) / exact.
    disagreement : float
        The share of the other rows, not those of the sample, of which the two predict different
        classes; NaN if there are none.
    n_samples : int
        The rows of the sample that both were trained on.
    """

    exact: float
    approximate: float
    relative: float
    disagreement: float
    n_samples: int


def objective_lost(
    approximation: Any,
    machine: LinearSVC,
    X: RowsLike,
    y: ArrayLike,
    *,
    n_samples: int = 2000,
    random_state: RandomState = None,
) -> ObjectiveLost:
    """Compare a `LinearSVC` on approximate features with the exact machine, on a sample of rows.

    Both solve the same problem on the sample, one with the features, the other with the kernel:
    the same loss, cost and penalised intercept, a machine for every class against the rest.

    Parameters
    ----------
    approximation : Nystroem or RandomFeatures
        The features; a copy of it is fitted to the sample. A number of components below that of
        the sample is what makes it an approximation.
    machine : LinearSVC
        The linear machine, of which a copy is fitted; ``class_weight=None`` and
        ``intercept_scaling=1``.
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        The rows.
    y : array-like of shape (n_rows,)
        The labels.
    n_samples : int, default=2000
        Rows in the sample, drawn at random; all rows if there are no more. As many others tell the
        disagreement.
    random_state : int, RandomState instance or None, default=None
        Where random numbers come from.

    Returns
    -------
    ObjectiveLost
        The two objectives.

    Examples
    --------
    >>> from mercer import LinearSVC
    >>> from mercer.datasets import load_sonar
    >>> from mercer.kernel_approximation import Nystroem, objective_lost
    >>> X, y = load_sonar(return_X_y=True)
    >>> few = objective_lost(Nystroem(n_components=20, random_state=0), LinearSVC(), X, y)
    >>> many = objective_lost(Nystroem(n_components=100, random_state=0), LinearSVC(), X, y)
    >>> 0.0 < many.relative < few.relative
    True
    """
    if machine.class_weight is not None or float(machine.intercept_scaling) != 1.0:
        raise ValueError(
            "machine must have class_weight=None and intercept_scaling=1: there is no exact "
            f"machine to compare with, got {machine!r}"
        )
    count = check_integer("n_samples", n_samples, "a positive integer", 1)
    y = np.asarray(y)
    order = check_random_state(random_state).permutation(length(X) or 0)
    sample, others = order[:count], order[count : 2 * count]
    rows, labels = take_rows(X, sample), y[sample]
    features = clone(approximation).fit(rows)
    linear = clone(machine).fit(features.transform(rows), labels)
    exact = SVC(
        kernel=features._kernel_of_map(),
        C=machine.C,
        loss=machine.loss,
        tol=machine.tol,
        fit_intercept="penalized" if machine.fit_intercept else False,
        multiclass="ovr",
    ).fit(rows, labels)
    least, reached = exact.report_.primal_objective, linear.report_.primal_objective
    disagreement = np.nan
    if len(others):
        rest = take_rows(X, others)
        mapped = features.transform(rest)
        disagreement = float(np.mean(exact.predict(rest) != linear.predict(mapped)))
    relative = (reached - least) / least if least > 0.0 else np.nan
    return ObjectiveLost(least, reached, relative, disagreement, len(sample))
