"""Small data sets for examples and tests: two real ones, bundled, and the checkerboard."""

from importlib.resources import as_file, files
from typing import Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

__all__ = ["load_ionosphere", "load_sonar", "make_checkerboard"]

_Labelled: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64]]

_SONAR = """Sonar: mines and rocks.

208 sonar returns from a metal cylinder (M, 111) or a rock (R, 97), each as 60 numbers from 0 to 1:
the energy in a frequency band, over time. From the UCI repository by way of R's mlbench.

R. P. Gorman and T. J. Sejnowski, Analysis of hidden units in a layered network trained to classify
sonar targets, Neural Networks 1 (1988), 75-89.
"""

_IONOSPHERE = """Ionosphere: radar returns.

351 radar returns, good (225) if they show structure in the ionosphere and bad (126) if they pass
through it: 17 complex pulses as 34 numbers from -1 to 1. The first is 0 or 1, the second always 0.
From the UCI repository by way of R's mlbench.

V. G. Sigillito, S. P. Wing, L. V. Hutton and K. B. Baker, Classification of radar returns from the
ionosphere using neural networks, Johns Hopkins APL Technical Digest 10 (1989), 262-266.
"""


@overload
def load_sonar(*, return_X_y: Literal[False] = False) -> Bunch: ...
@overload
def load_sonar(*, return_X_y: Literal[True]) -> _Labelled: ...
@overload
def load_sonar(*, return_X_y: bool) -> Bunch | _Labelled: ...
def load_sonar(*, return_X_y: bool = False) -> Bunch | _Labelled:
    """Load the sonar data: 208 rows, 60 columns, 2 classes.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch or tuple
        ``data`` of shape (208, 60), ``target`` (0 for M, a metal cylinder; 1 for R, a rock),
        ``target_names``, ``feature_names`` and ``DESCR``; or the first two alone.

    Examples
    --------
    >>> from mercer.datasets import load_sonar
    >>> sonar = load_sonar()
    >>> sonar.data.shape
    (208, 60)
    >>> sonar.target_names.tolist()
    ['M', 'R']
    """
    return _load("sonar", _SONAR, return_X_y)


@overload
def load_ionosphere(*, return_X_y: Literal[False] = False) -> Bunch: ...
@overload
def load_ionosphere(*, return_X_y: Literal[True]) -> _Labelled: ...
@overload
def load_ionosphere(*, return_X_y: bool) -> Bunch | _Labelled: ...
def load_ionosphere(*, return_X_y: bool = False) -> Bunch | _Labelled:
    """Load the ionosphere data: 351 rows, 34 columns, 2 classes.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch or tuple
        ``data`` of shape (351, 34), ``target`` (0 for bad, 1 for good), ``target_names``,
        ``feature_names`` and ``DESCR``; or the first two alone.

    Examples
    --------
    >>> from mercer.datasets import load_ionosphere
    >>> X, y = load_ionosphere(return_X_y=True)
    >>> X.shape, int(y.sum())
    ((351, 34), 225)
    """
    return _load("ionosphere", _IONOSPHERE, return_X_y)


def make_checkerboard(
    n_samples: int = 2000,
    squares: int = 4,
    random_state: int | np.random.RandomState | None = None,
) -> _Labelled:
    """Draw points from a checkerboard: uniform on a square, adjacent fields of opposite class.

    With the defaults this is Example 1 of P. S. Sastry, "An introduction to support vector
    machines": 2000 points on [0, 4] x [0, 4], 16 fields. The classes touch, so no margin separates
    them and the boundary has to be found from the points nearest to it.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of points.
    squares : int, default=4
        Fields along each side; each has side 1.
    random_state : int, RandomState instance or None, default=None
        Seed or generator, for the same points every time.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points in [0, squares) x [0, squares).
    y : ndarray of shape (n_samples,)
        0 where the two field numbers of the point have an even sum, else 1.

    Examples
    --------
    >>> from mercer.datasets import make_checkerboard
    >>> X, y = make_checkerboard(4, random_state=0)
    >>> X.round(2)
    array([[2.2 , 2.86],
           [2.41, 2.18],
           [1.69, 2.58],
           [1.75, 3.57]])
    >>> y
    array([0, 0, 1, 0])
    """
    for name, value in (("n_samples", n_samples), ("squares", squares)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    X = check_random_state(random_state).uniform(0, squares, (n_samples, 2))
    return X, np.floor(X).astype(np.int64).sum(axis=1) % 2


def _load(name: str, description: str, return_X_y: bool) -> Bunch | _Labelled:
    resource = files("mercer").joinpath("data", f"{name}.npz")
    with as_file(resource) as path, np.load(path) as arrays:
        # Exact: the published decimals, stored as integers.
        data = arrays["values"] / 10.0 ** int(arrays["decimals"])
        target = arrays["target"].astype(np.int64)
        target_names = arrays["target_names"]
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        target_names=target_names,
        feature_names=[f"V{column}" for column in range(1, data.shape[1] + 1)],
        DESCR=description,
    )
