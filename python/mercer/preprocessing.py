"""Virtual examples: what is known of images beforehand, told to a machine by more of them."""

from collections.abc import Iterator, Sequence
from math import cos, isqrt, radians, sin
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import affine_transform
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from mercer._data import RowsLike
from mercer._estimator import Estimator
from mercer._params import check_choice, check_integer, check_positive, check_real
from mercer.svm import SVC
from mercer.svm._available import available_if

__all__ = ["VirtualExamples"]

_Self = TypeVar("_Self", bound="VirtualExamples")
_Pair = tuple[float, float]


def _has_values(self: "VirtualExamples") -> None:
    if self.estimator is not None and not hasattr(self.estimator, "decision_function"):
        name = type(self.estimator).__name__
        raise AttributeError(f"decision_function is that of the estimator, and {name} has none")


class VirtualExamples(ClassifierMixin, MetaEstimatorMixin, Estimator):
    """A classifier of images that knows that a moved image is of the same class.

    A machine is trained, and its support vectors are multiplied: each is moved, zoomed and turned
    a little. Then the machine is trained again, on the support vectors and their virtual examples
    [1]_. Since all that a machine knows is in its support vectors, this does what multiplying all
    the data would do, with a fraction of the rows.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The machine to train, with `support_` after `fit`: `SVC`, `NuSVC`, or a pipeline that ends
        with one of them. None is a default `SVC`. It is cloned.
    shape : tuple of (height, width) or None, default=None
        The size of the images, which are the rows of X line by line. None is for square images;
        rows of a length that is no square are signals, images of height one.
    shifts : int or sequence of (down, right), default=1
        Where to move images: so many pixels up, down, left and right, four images; 0 for none. Or
        any moves, one image each.
    zooms : sequence of float, default=()
        Factors by which to magnify, one image each.
    rotations : sequence of float, default=()
        Degrees by which to turn, counter-clockwise where the first line is the top, one image each.
    rows : {'support', 'all'}, default='support'
        What to multiply: the support vectors, or all rows, which takes longer.

    Attributes
    ----------
    estimator_ : classifier
        The machine trained on virtual examples.
    first_ : classifier or None
        The machine trained on the rows as they are; None if all were multiplied.
    n_rows_ : int
        How many rows the machine was trained on in the end.
    classes_ : ndarray of shape (n_classes,)
        The labels.

    Notes
    -----
    Pixels that come in from outside are those of the nearest edge, and moves by a part of a pixel
    are linear interpolations. After moves of more than a few pixels or degrees, support vectors of
    the first machine may be the wrong rows to multiply; `rows='all'` does not depend on them.

    References
    ----------
    .. [1] B. Schölkopf, C. Burges, V. Vapnik, "Incorporating invariances in support vector learning
       machines", ICANN 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from mercer import SVC
    >>> from mercer.preprocessing import VirtualExamples
    >>> X, y = load_digits(return_X_y=True)
    >>> plain = SVC(C=10).fit(X[:300], y[:300])
    >>> model = VirtualExamples(SVC(C=10), rotations=[-10, 10]).fit(X[:300], y[:300])
    >>> model.score(X[300:], y[300:]) > plain.score(X[300:], y[300:])
    True
    >>> model.n_rows_ == 7 * len(plain.support_)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        shape: tuple[int, int] | None = None,
        shifts: int | Sequence[_Pair] = 1,
        zooms: Sequence[float] = (),
        rotations: Sequence[float] = (),
        rows: Literal["support", "all"] = "support",
    ) -> None:
        self.estimator = estimator
        self.shape = shape
        self.shifts = shifts
        self.zooms = zooms
        self.rotations = rotations
        self.rows = rows

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def fit(self: _Self, X: RowsLike, y: ArrayLike) -> _Self:
        """Train the machine, multiply its support vectors, and train it again.

        Parameters
        ----------
        X : array-like of shape (n_samples, height * width)
            The images.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        self : VirtualExamples
            The fitted classifier.
        """
        check_choice("rows", self.rows, ("support", "all"))
        machine = SVC() if self.estimator is None else self.estimator
        rows, labels = validate_data(self, X, y, dtype=(np.float64, np.float32))
        list(self._moves(rows.shape[1]))  # said before the machine has learnt for hours
        self.first_ = None
        if self.rows == "support":
            self.first_ = clone(machine).fit(rows, labels)
            support = _support_of(self.first_)
            rows, labels = rows[support], labels[support]
        rows, labels = self.multiply(rows, labels)
        self.estimator_ = clone(machine).fit(rows, labels)
        self.classes_ = self.estimator_.classes_
        self.n_rows_ = len(labels)
        return self

    def multiply(self, X: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the images with their virtual examples, and the labels of all.

        Parameters
        ----------
        X : array-like of shape (n_samples, height * width)
            The images.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        tuple of ndarray of shape (n_samples * (1 + n_moves), height * width), and labels
            The images as they are come first, then all images moved in one way, and so on.
        """
        images: NDArray[Any] = np.asarray(X)
        if images.ndim != 2:
            raise ValueError(f"X must have one image per row, got shape {images.shape}")
        if images.dtype != np.float32:
            images = images.astype(np.float64)
        labels = column_or_1d(y)
        if len(labels) != len(images):
            raise ValueError(
                f"y must have one label for each row of X, got {len(labels)} for {len(images)} rows"
            )
        moves = list(self._moves(images.shape[1]))
        stack = images.reshape(len(images), *self._size(images.shape[1]))
        moved = [_moved(stack, matrix, shift).reshape(images.shape) for matrix, shift in moves]
        return np.concatenate([images, *moved]), np.tile(labels, 1 + len(moved))

    def _size(self, n_pixels: int) -> tuple[int, int]:
        """Return height and width of an image."""
        if self.shape is None:
            side = isqrt(n_pixels)
            return (side, side) if side * side == n_pixels else (1, n_pixels)
        try:
            height, width = self.shape
        except (TypeError, ValueError):
            raise ValueError(f"shape must be (height, width), got {self.shape!r}") from None
        size = tuple(
            check_integer("shape", side, "a pair of positive integers", low=1)
            for side in (height, width)
        )
        if size[0] * size[1] != n_pixels:
            raise ValueError(
                f"shape must have as many pixels as X has columns, got {self.shape!r} for "
                f"{n_pixels} columns"
            )
        return size[0], size[1]

    def _moves(self, n_pixels: int) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Yield how to find where a pixel comes from: a matrix about the centre, and the shift."""
        one = np.eye(2)
        for shift in self._shifts(self._size(n_pixels)[0]):
            yield one, np.array(shift)
        for factor in _sequence("zooms", self.zooms):
            yield one / check_positive("zooms", factor, "positive finite numbers"), np.zeros(2)
        for angle in _sequence("rotations", self.rotations):
            turn = radians(check_real("rotations", angle, "finite numbers"))
            yield np.array([[cos(turn), sin(turn)], [-sin(turn), cos(turn)]]), np.zeros(2)

    def _shifts(self, height: int) -> list[_Pair]:
        """Return the moves (down, right) in pixels; there is no up or down in a signal."""
        if isinstance(self.shifts, Sequence | np.ndarray) and not isinstance(self.shifts, str):
            allowed = "an integer or pairs of finite numbers"
            pairs = []
            for pair in self.shifts:
                if np.shape(pair) != (2,):
                    raise ValueError(f"shifts must be {allowed}, got {self.shifts!r}")
                down, right = (check_real("shifts", value, allowed) for value in pair)
                pairs.append((down, right))
            return pairs
        allowed = "a non-negative integer or pairs of finite numbers"
        step = float(check_integer("shifts", self.shifts, allowed, low=0))
        if step == 0.0:
            return []
        across = [(0.0, -step), (0.0, step)]
        return across if height == 1 else [(-step, 0.0), (step, 0.0), *across]

    def predict(self, X: RowsLike) -> NDArray[Any]:
        """Find the class of each image.

        Parameters
        ----------
        X : array-like of shape (n_samples, height * width)
            The images.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.
        """
        check_is_fitted(self, "estimator_")
        rows = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        labels: NDArray[Any] = self.estimator_.predict(rows)
        return labels

    @available_if(_has_values)
    def decision_function(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute how clearly each image belongs to each class; see `SVC.decision_function`.

        Parameters
        ----------
        X : array-like of shape (n_samples, height * width)
            The images.

        Returns
        -------
        ndarray
            The values.
        """
        check_is_fitted(self, "estimator_")
        rows = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        values: NDArray[np.float64] = self.estimator_.decision_function(rows)
        return values


def _support_of(machine: Any) -> NDArray[np.intp]:
    """Return the support vectors of a machine, or of the machine at the end of a pipeline."""
    last = machine[-1] if isinstance(machine, Pipeline) else machine
    support: NDArray[np.intp] | None = getattr(last, "support_", None)
    if support is None:
        raise TypeError(
            f"estimator must have support vectors, got {type(last).__name__}: take SVC or NuSVC, "
            "or rows='all'"
        )
    return support


def _sequence(name: str, values: Any) -> Sequence[Any]:
    """Return the values of a parameter that has several."""
    if np.ndim(values) != 1:
        raise ValueError(f"{name} must be a sequence of numbers, got {values!r}")
    return list(values)


def _moved(
    stack: NDArray[Any], matrix: NDArray[np.float64], shift: NDArray[np.float64]
) -> NDArray[Any]:
    """Return the images turned and magnified about their centres, then moved by (down, right)."""
    centre = (np.array(stack.shape[1:]) - 1) / 2
    offset = centre - matrix @ (centre + shift)
    whole, whole_offset = np.eye(3), np.zeros(3)  # the first axis counts images
    whole[1:, 1:], whole_offset[1:] = matrix, offset
    moved: NDArray[Any] = affine_transform(
        stack, whole, whole_offset, output=stack.dtype, order=1, mode="nearest"
    )
    return moved
