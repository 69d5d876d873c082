"""The Kernel-Adatron as it is printed, written out so that its epochs can be counted.

Campbell and Cristianini, section 3.1. In each epoch every row i in turn, in the order of the data:

    z_i     = sum_j alpha_j y_j K_ij
    alpha_i = min(C, max(0, alpha_i + eta (1 - y_i z_i - lambda y_i)))

and between epochs the secant rule moves the intercept lambda towards omega = sum_i alpha_i y_i = 0,
beginning with mu and -mu. Mercer's own `solver="adatron"` takes the same steps in another order and
finds the intercept by other means; both end at the same plane.
"""

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

import numpy as np

#: The least change of omega that the secant rule divides by, the error trap of step 3.
TRAP = 1e-6


class Epoch(NamedTuple):
    """What is known after an epoch, of each of the sets that are learned side by side."""

    coefficients: np.ndarray  # alpha times y, (sets, rows)
    intercept: np.ndarray  # (sets,)
    margin: np.ndarray  # (sets,)


def kernel_adatron(
    K: np.ndarray, y: np.ndarray, *, mu: float | None = None, C: float = inf, eta: float = 1.0
) -> Iterator[Epoch]:
    """Learn several sets of as many rows at once, epoch by epoch, without end.

    K has the kernel matrices, (sets, rows, rows), and y the signs of the rows, (sets, rows). There
    is no intercept without mu.
    """
    sets, rows = y.shape
    signed = np.zeros((sets, rows))  # alpha times y
    intercept = np.full(sets, 0.0 if mu is None else mu)
    previous, omega_before = intercept, np.zeros(sets)
    columns = np.ascontiguousarray(K.transpose(1, 0, 2))  # the rows of all sets, one after another
    t = 0
    while True:
        for i, row in enumerate(columns):
            sign = y[:, i]
            step = eta * (sign - np.einsum("sj,sj->s", row, signed) - intercept)
            alpha = np.minimum(np.maximum(sign * (signed[:, i] + step), 0.0), C)
            signed[:, i] = sign * alpha
        z = np.einsum("isj,sj->si", columns, signed)
        yield Epoch(signed.copy(), intercept, margin(z, y, np.abs(signed) < C))
        if mu is None:
            continue
        omega = signed.sum(axis=1)
        if t == 0:
            following = np.full(sets, -mu)
        else:
            change = omega - omega_before
            change = np.where(np.abs(change) < TRAP, np.copysign(TRAP, change), change)
            following = intercept - omega * (intercept - previous) / change
        previous, intercept, omega_before = intercept, following, omega
        t += 1


def margin(z: np.ndarray, y: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Return half the distance of the classes in values z, of the rows that count."""
    positive = np.where((y > 0) & counted, z, inf).min(axis=1)
    negative = np.where((y < 0) & counted, z, -inf).max(axis=1)
    return (positive - negative) / 2
