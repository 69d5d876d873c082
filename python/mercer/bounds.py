"""Bounds of statistical learning theory on the error of a machine.

Every function is one theorem with its quantities as parameters; `of` fills them in for a fitted
machine. The bounds hold with confidence 1 - delta over the draw of the sample, whatever the
distribution. That is why they are loose: on most data they are above one and say nothing about the
error itself, but how they change with margin, radius and slack is what makes large margins good.
`mercer.model_selection.error_estimates` has figures that are near the error.

Logarithms are natural. n is the number of rows, `radius` that of a ball in feature space that holds
them, `margin` the distance 1 / |w| of the plane to the nearest rows on their right side.

References
----------
.. [1] C. Campbell, "An introduction to kernel methods", 2000, appendix 1.
.. [2] C. Campbell, N. Cristianini, "Simple learning algorithms for training support vector
   machines", 1998.
.. [3] P. S. Sastry, "An introduction to support vector machines", section 4.
.. [4] K.-R. Müller, "Introduction to kernel-based learning", slides.
"""

from dataclasses import dataclass
from math import e, floor, inf, log, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mercer._data import RowsLike
from mercer._params import (
    check_choice,
    check_integer,
    check_non_negative,
    check_positive,
    check_real,
)
from mercer.model_selection._machines import TrainedRows, machines_of
from mercer.svm import SVC

__all__ = [
    "Bounds",
    "margin",
    "of",
    "regression",
    "soft_margin",
    "soft_margin_l1",
    "support_vectors",
    "vc",
    "vc_dimension",
]


def _rows(n: Any) -> int:
    return check_integer("n", n, "a positive integer", low=1)


def _share(name: str, value: Any) -> float:
    allowed = "a number above 0 and below 1"
    return check_real(name, value, allowed, lambda share: 0.0 < share < 1.0)


def margin(
    n: int,
    radius: float,
    margin: float,
    *,
    delta: float = 0.05,
    form: Literal["chapter", "simple_algorithms"] = "chapter",
) -> float:
    """Bound the error of a plane that classifies all rows right, by its margin.

    The rows are drawn independently, from within a ball of this radius around the origin of the
    feature space. The two texts quote different versions, whose logarithms and constants differ:

    - 'chapter', theorem 1 of [1]_, holds if 64 R^2 / margin^2 < n ::

          2/n (64 R^2 / margin^2 log(e n margin / (8 R^2)) log(32 n / margin^2) + log(4 / delta))

    - 'simple_algorithms', the theorem of [2]_, for an intercept of at most R, with
      k = floor(577 R^2 / margin^2) ::

          1/n (k log(8 e n / k) log(32 n) + log(8 n / delta))

    Parameters
    ----------
    n : int
        The number of rows.
    radius : float
        The radius R of the ball, positive.
    margin : float
        The margin, positive.
    delta : float, default=0.05
        One minus the confidence.
    form : {'chapter', 'simple_algorithms'}, default='chapter'
        Which version.

    Returns
    -------
    float
        The bound, ``inf`` where the theorem says nothing: there are too few rows for the margin, or
        a logarithm would be negative.

    Examples
    --------
    >>> from mercer import bounds
    >>> round(bounds.margin(1_000_000, radius=1.0, margin=0.5), 2)
    0.12
    >>> bounds.margin(100, radius=1.0, margin=0.5)
    inf
    """
    n, delta = _rows(n), _share("delta", delta)
    radius, margin = check_positive("radius", radius), check_positive("margin", margin)
    check_choice("form", form, ("chapter", "simple_algorithms"))
    ratio = (radius / margin) ** 2
    if form == "chapter":
        inner, outer = e * n * margin / (8.0 * radius**2), 32.0 * n / margin**2
        if 64.0 * ratio >= n or inner < 1.0 or outer < 1.0:
            return inf
        return 2.0 / n * (64.0 * ratio * log(inner) * log(outer) + log(4.0 / delta))
    k = floor(577.0 * ratio)
    if k > 8.0 * e * n:
        return inf
    capacity = k * log(8.0 * e * n / k) * log(32.0 * n) if k else 0.0
    return (capacity + log(8.0 * n / delta)) / n


def soft_margin(
    n: int,
    radius: float,
    margin: float,
    slack: ArrayLike,
    *,
    delta: float = 0.05,
    constant: float = 1.0,
) -> float:
    """Bound the error of a plane with errors, by its margin and the squares of its slack.

    Theorem 3 of [1]_, the one for the squared hinge loss; rows need not be separable ::

        c/n ((R^2 + |slack|_2^2) / margin^2 log(n)^2 + log(1 / delta))

    Parameters
    ----------
    n : int
        The number of rows, drawn independently from within a ball around the origin.
    radius : float
        The radius R of the ball, positive.
    margin : float
        The margin of a plane with a unit normal, positive.
    slack : array-like of shape (n_slack,)
        By how much rows miss the margin, in units of distance: max(0, margin - y f(x) / norm of w).
        Rows that do not miss it may be left out.
    delta : float, default=0.05
        One minus the confidence.
    constant : float, default=1.0
        The constant c. The theorem says that there is one, not which, so only ratios of these
        bounds mean anything.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> from mercer import bounds
    >>> few = bounds.soft_margin(1000, radius=1.0, margin=0.2, slack=[0.1, 0.3])
    >>> many = bounds.soft_margin(1000, radius=1.0, margin=0.2, slack=[0.5] * 10)
    >>> few < many
    True
    """
    radius, margin = check_positive("radius", radius), check_positive("margin", margin)
    capacity = (radius**2 + float(np.sum(_checked(slack) ** 2))) / margin**2
    return _grown(n, capacity, delta, constant)


def soft_margin_l1(
    n: int,
    radius: float,
    margin: float,
    slack: ArrayLike,
    *,
    delta: float = 0.05,
    constant: float = 1.0,
) -> float:
    """Bound the error of a plane with errors, by its margin and the sum of its slack.

    Theorem 2 of [1]_, the one for the hinge loss; rows need not be separable ::

        c/n ((R^2 + |slack|_1^2 log(1 / margin)) / margin^2 log(n)^2 + log(1 / delta))

    Parameters
    ----------
    n, radius, margin, slack, delta, constant
        As of `soft_margin`. The margin has to be below 1: scale the rows.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> from mercer import bounds
    >>> few = bounds.soft_margin_l1(1000, radius=1.0, margin=0.2, slack=[0.1, 0.3])
    >>> many = bounds.soft_margin_l1(1000, radius=1.0, margin=0.2, slack=[0.5] * 10)
    >>> few < many
    True
    """
    allowed = "a number above 0 and below 1"
    margin = check_real("margin", margin, allowed, lambda width: 0.0 < width < 1.0)
    radius = check_positive("radius", radius)
    errors = float(np.sum(_checked(slack))) ** 2 * log(1.0 / margin)
    return _grown(n, (radius**2 + errors) / margin**2, delta, constant)


def regression(
    n: int,
    length: float,
    slack: ArrayLike,
    gamma: float,
    *,
    delta: float = 0.05,
    constant: float = 1.0,
) -> float:
    """Bound the probability that a regression is off by more than theta.

    Theorem 4 of [1]_, for gamma <= theta ::

        c/n ((|w|^2 R^2 + |slack|_2^2) / gamma^2 log(n)^2 + log(1 / delta))

    Parameters
    ----------
    n : int
        The number of rows, drawn independently from within a ball of radius R around the origin.
    length : float
        The norm of w times R, not negative.
    slack : array-like of shape (n_slack,)
        By how much rows are outside the tube: ``max(0, |y - f(x)| - (theta - gamma))``.
    gamma : float
        How much wider theta is than the tube, positive and at most theta.
    delta : float, default=0.05
        One minus the confidence.
    constant : float, default=1.0
        The constant c, of which the theorem says only that there is one.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> from mercer import bounds
    >>> round(bounds.regression(10_000, length=2.0, slack=[], gamma=1.0), 3)
    0.034
    """
    length, gamma = check_non_negative("length", length), check_positive("gamma", gamma)
    capacity = (length**2 + float(np.sum(_checked(slack) ** 2))) / gamma**2
    return _grown(n, capacity, delta, constant)


def _grown(n: int, capacity: float, delta: float, constant: float) -> float:
    """Return the bound of a capacity whose constant is not known."""
    n, delta = _rows(n), _share("delta", delta)
    logs = capacity * log(n) ** 2 + log(1.0 / delta)
    return check_positive("constant", constant) / n * logs


def _checked(slack: ArrayLike) -> NDArray[np.float64]:
    """Return a slack vector."""
    values = np.asarray(slack, dtype=np.float64)
    if values.ndim != 1 or not (np.isfinite(values).all() and (values >= 0.0).all()):
        raise ValueError(f"slack must be a vector of finite numbers from 0 on, got {slack!r}")
    return values


def vc_dimension(
    radius: float,
    margin: float,
    n_features: float = inf,
    *,
    form: Literal["slides", "tutorial"] = "slides",
) -> float:
    """Bound the VC dimension of planes with a margin.

    - 'slides', [4]_: ``min(floor(R^2 |w|^2), n_features) + 1``, of canonical planes with
      ``|w| = 1 / margin``.
    - 'tutorial', theorem 4.2 of [3]_: min(k, n_features) + 1 with k the smallest integer greater
      than R^2 / margin^2.

    Parameters
    ----------
    radius : float
        The radius R of the smallest sphere around the rows, positive.
    margin : float
        The margin, positive.
    n_features : float, default=inf
        The dimension of the feature space.
    form : {'slides', 'tutorial'}, default='slides'
        Which version.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> from mercer import bounds
    >>> bounds.vc_dimension(radius=1.0, margin=0.4), bounds.vc_dimension(1.0, 0.4, n_features=2)
    (7.0, 3.0)
    >>> bounds.vc_dimension(radius=1.0, margin=0.4, form="tutorial")
    8.0
    """
    radius, margin = check_positive("radius", radius), check_positive("margin", margin)
    n_features = check_real("n_features", n_features, "positive", lambda number: number > 0.0)
    check_choice("form", form, ("slides", "tutorial"))
    ratio = (radius / margin) ** 2
    whole = floor(ratio) if form == "slides" else floor(ratio) + 1
    return float(min(whole, n_features) + 1)


def vc(
    error: float,
    n: int,
    dimension: float,
    *,
    eta: float = 0.05,
    form: Literal["slides", "tutorial"] = "slides",
) -> float:
    """Bound the error of a machine by its training error and its VC dimension.

    With h the VC dimension, and confidence 1 - eta:

    - 'slides', [4]_ ::

          error + sqrt((h (log(2 n / h) + 1) - log(eta / 4)) / n)

    - 'tutorial', theorem 4.1 of [3]_, whose logarithm lacks the 4 ::

          error + E/2 (1 + sqrt(1 + 4 error / E)),  E = 4/n (h (log(2 n / h) + 1) - log(eta))

    Parameters
    ----------
    error : float
        The share of training rows that are classified wrong.
    n : int
        The number of rows.
    dimension : float
        The VC dimension, at least 1.
    eta : float, default=0.05
        One minus the confidence.
    form : {'slides', 'tutorial'}, default='slides'
        Which version.

    Returns
    -------
    float
        The bound, ``inf`` for a dimension above 2 n, which the theorems are not about.

    Examples
    --------
    >>> from mercer import bounds
    >>> round(bounds.vc(0.0, 10_000, 10), 2), round(bounds.vc(0.0, 10_000, 10, form="tutorial"), 2)
    (0.1, 0.04)
    """
    n, eta = _rows(n), _share("eta", eta)
    error = check_real("error", error, "from 0 to 1", lambda share: 0.0 <= share <= 1.0)
    allowed = "a number from 1 on"
    dimension = check_real("dimension", dimension, allowed, lambda number: number >= 1.0)
    check_choice("form", form, ("slides", "tutorial"))
    if dimension > 2.0 * n:
        return inf
    capacity = dimension * (log(2.0 * n / dimension) + 1.0)
    if form == "slides":
        return error + sqrt((capacity - log(eta / 4.0)) / n)
    spread = 4.0 / n * (capacity - log(eta))
    return error + spread / 2.0 * (1.0 + sqrt(1.0 + 4.0 * error / spread))


def support_vectors(n_support: int, n: int) -> float:
    """Bound the leave-one-out error by the count of support vectors.

    A row that is no support vector can be left out without any change, so the share of errors is at
    most that of support vectors. Its mean over samples of n rows bounds the mean error of machines
    trained on n - 1.

    Parameters
    ----------
    n_support : int
        The number of support vectors.
    n : int
        The number of rows.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> from mercer import bounds
    >>> bounds.support_vectors(12, 400)
    0.03
    """
    n = _rows(n)
    return check_integer("n_support", n_support, "an integer from 0 to n", low=0, high=n) / n


@dataclass(frozen=True)
class Bounds:
    """What the theorems say about a fitted classifier of two classes.

    Attributes
    ----------
    n : int
        The number of rows.
    training_error : float
        The share of rows that it classifies wrong.
    margin : float
        The margin, one over the norm of w.
    radius : float
        The radius of the ball around the origin that holds all rows: the largest sqrt(k(x, x)).
    sphere : float
        The radius of the smallest sphere around the rows, wherever its centre.
    support_vectors : float
        The bound `support_vectors`, on the leave-one-out error.
    hard_margin : float
        The bound `margin`, ``inf`` if rows miss the margin.
    soft_margin : float
        The bound `soft_margin`, or `soft_margin_l1` of the hinge loss, with the constant 1; ``nan``
        where the latter asks for a margin below 1.
    vc_dimension : float
        The bound `vc_dimension`, of the smallest sphere.
    vc : float
        The bound `vc` with it. Strictly, the dimension has to be chosen before the data are seen.

    Examples
    --------
    >>> from mercer import SVC, bounds
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> found = bounds.of(SVC(kernel="linear", C=100.0).fit(X, y), X, y)
    >>> round(found.margin, 3), round(found.radius, 3), found.support_vectors
    (1.0, 2.0, 0.5)
    """

    n: int
    training_error: float
    margin: float
    radius: float
    sphere: float
    support_vectors: float
    hard_margin: float
    soft_margin: float
    vc_dimension: float
    vc: float


def of(model: SVC, X: RowsLike, y: ArrayLike, *, delta: float = 0.05) -> Bounds:
    """Compute the bounds for a fitted classifier of two classes.

    Radius, margin and slack are those of its kernel's feature space. The theorems are about planes
    fixed by nothing but the sample: parameters that were chosen by looking at the same rows void
    their confidence.

    Parameters
    ----------
    model : SVC
        The fitted classifier.
    X : array-like or sparse matrix
        The rows that it was fitted to.
    y : array-like of shape (n_samples,)
        Their labels.
    delta : float, default=0.05
        One minus the confidence of each bound.

    Returns
    -------
    Bounds
        The bounds, and the quantities that they are made of.

    Examples
    --------
    >>> from mercer import SVC, bounds
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> found = bounds.of(SVC(kernel="linear", C=100.0).fit(X, y), X, y)
    >>> found.vc_dimension
    5.0
    """
    if not isinstance(model, SVC):
        raise TypeError(f"model must be an SVC, got {type(model).__name__}")
    model = model._snapshot()
    if len(model.classes_) != 2:
        raise ValueError(f"model must have 2 classes, got {len(model.classes_)}")
    trained = TrainedRows.of(model, X, y, None)
    machine = next(iter(machines_of(trained)))
    n = len(machine.signs)
    values = machine.signs * machine.values
    norm = sqrt(max(0.0, float(machine.beta @ (machine.values - model.intercept_[0]))))
    if norm == 0.0:
        raise ValueError("model must have a margin, got one with w = 0")
    geometry = trained.geometry
    radius, sphere = sqrt(float(geometry.diagonal.max())), sqrt(geometry.squared_radius)
    wide = 1.0 / norm
    # A row on the margin misses it by no more than the tolerance.
    short = np.maximum(0.0, 1.0 - values)
    separable = bool((short <= float(model.tol)).all())
    soft = np.nan
    if model.loss != "hinge":
        soft = soft_margin(n, radius, wide, short * wide, delta=delta)
    elif wide < 1.0:
        soft = soft_margin_l1(n, radius, wide, short * wide, delta=delta)
    dimension = vc_dimension(max(sphere, np.finfo(float).tiny), wide)
    error = float((values < 0.0).mean())
    return Bounds(
        n=n,
        training_error=error,
        margin=wide,
        radius=radius,
        sphere=sphere,
        support_vectors=support_vectors(len(model.support_), n),
        hard_margin=margin(n, radius, wide, delta=delta) if separable else inf,
        soft_margin=soft,
        vc_dimension=dimension,
        vc=vc(error, n, dimension, eta=delta),
    )
