"""Kernels of users that are right, wrong or odd, each in its own way."""

import gc
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from tests.torture.machines import problem

from mercer import SVR
from mercer.kernels import RBF

Kernel = Callable[[Any, Any], Any]


class Oops(Exception):
    """What a kernel of the user raises."""


def plain(A: Any, B: Any, gamma: float = 0.5) -> NDArray[np.float64]:
    """Compute the Gaussian kernel the honest way."""
    A, B = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    square = ((A[:, np.newaxis, :] - B[np.newaxis, :, :]) ** 2).sum(axis=2)
    values: NDArray[np.float64] = np.exp(-gamma * square)
    return values


# Kernels that are right, but come in an unusual form or do something else too.


def _strided(A: Any, B: Any) -> Any:
    wide = np.full((2 * len(A), 3 * len(B)), np.nan)
    wide[::2, ::3] = plain(A, B)
    return wide[::2, ::3]


def _same_buffer() -> Kernel:
    buffer = np.empty((4000, 4000))

    def kernel(A: Any, B: Any) -> Any:
        buffer[...] = np.nan
        out = buffer[: len(A), : len(B)]
        out[...] = plain(A, B)
        return out

    return kernel


def _in_threads(A: Any, B: Any) -> Any:
    out = np.empty((len(A), len(B)))

    def part(rows: slice) -> None:
        out[rows] = RBF(gamma=0.5)(A[rows], B)

    halves = [slice(0, len(A) // 2), slice(len(A) // 2, len(A))]
    threads = [threading.Thread(target=part, args=(h,)) for h in halves if h.stop > h.start]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return out


def _nested_fit(A: Any, B: Any) -> Any:
    X, _, numbers = problem(np.random.default_rng(0), 12)
    SVR(kernel=lambda A, B: RBF(gamma=0.3)(A, B)).fit(X, numbers).predict(X[:3])
    return plain(A, B)


def _sleeping(seconds: float) -> Kernel:
    def kernel(A: Any, B: Any) -> Any:
        time.sleep(seconds)
        return plain(A, B)

    return kernel


def _kept(A: Any, B: Any) -> Any:
    KEPT.append((A, B))
    return plain(A, B)


KEPT: list[Any] = []

RIGHT: dict[str, Callable[[], Kernel]] = {
    "list": lambda: lambda A, B: plain(A, B).tolist(),
    "sparse": lambda: lambda A, B: sp.csr_matrix(plain(A, B)),
    "fortran": lambda: lambda A, B: np.asfortranarray(plain(A, B)),
    "strided": lambda: _strided,
    "longdouble": lambda: lambda A, B: plain(A, B).astype(np.longdouble),
    "big-endian": lambda: lambda A, B: plain(A, B).astype(">f8"),
    "objects": lambda: lambda A, B: plain(A, B).astype(object),
    "matrix": lambda: lambda A, B: np.ma.masked_array(plain(A, B)),
    "read-only": lambda: lambda A, B: np.broadcast_to(plain(A, B), (len(A), len(B))),
    "same buffer": _same_buffer,
    "nested kernel": lambda: lambda A, B: RBF(gamma=0.5)(A, B),
    "nested fit": lambda: _nested_fit,
    "threads": lambda: _in_threads,
    "garbage": lambda: lambda A, B: (gc.collect(0), plain(A, B))[1],
    "kept": lambda: _kept,
    "slow": lambda: _sleeping(0.001),
}

# Kernels that are wrong, which has to be said.

REFUSED: dict[str, Kernel] = {
    "transposed": lambda A, B: plain(B, A)[:, : len(A) + 1][:, :-1] if len(A) == len(B) else 0.0,
    "scalar": lambda A, B: 1.0,
    "flat": lambda A, B: plain(A, B).ravel(),
    "cube": lambda A, B: plain(A, B)[:, :, np.newaxis],
    "too wide": lambda A, B: np.ones((len(A), len(B) + 1)),
    "too short": lambda A, B: np.ones((len(A) - 1, len(B))),
    "empty": lambda A, B: np.empty((0, 0)),
    "nan": lambda A, B: plain(A, B) * np.nan,
    "infinite": lambda A, B: plain(A, B) / 0.0,
    "complex": lambda A, B: plain(A, B) + 1j,
    "texts": lambda A, B: np.full((len(A), len(B)), "a"),
    "texts as objects": lambda A, B: np.full((len(A), len(B)), "a", dtype=object),
    "None": lambda A, B: None,
    "generator": lambda A, B: (row for row in plain(A, B)),
    "ragged": lambda A, B: [[1.0] * (i + 1) for i in range(len(A) + 1)],
    "dates": lambda A, B: np.full((len(A), len(B)), np.datetime64("2020-01-01")),
    "itself": lambda A, B: REFUSED["itself"],
}

RAISED = (Oops, KeyError, MemoryError, KeyboardInterrupt, SystemExit, RecursionError, StopIteration)


# Kernels of which nothing can be expected but an end, and numbers that are finite.


def _noise() -> Kernel:
    rng = np.random.default_rng(0)
    return lambda A, B: plain(A, B) + rng.normal(scale=0.3, size=(len(A), len(B)))


def _changing(factor: Callable[[int], float]) -> Kernel:
    """Return a kernel that is another one at each call."""
    calls = [0]

    def kernel(A: Any, B: Any) -> Any:
        calls[0] += 1
        return plain(A, B) * factor(calls[0])

    return kernel


ODD: dict[str, Callable[[], Kernel]] = {
    "huge": lambda: lambda A, B: plain(A, B) * 1e300,
    "largest": lambda: lambda A, B: np.full((len(A), len(B)), np.finfo(float).max),
    "tiny": lambda: lambda A, B: plain(A, B) * 5e-324,
    "zero": lambda: lambda A, B: np.zeros((len(A), len(B))),
    "negative": lambda: lambda A, B: -plain(A, B),
    "asymmetric": lambda: lambda A, B: plain(A, B) * (1.0 + np.tanh(np.sum(A, axis=1)))[:, None],
    "skew": lambda: lambda A, B: np.sum(A, axis=1)[:, None] - np.sum(B, axis=1)[None, :],
    "noise": _noise,
    "growing": lambda: _changing(lambda call: 2.0 ** min(call, 1000)),
    "late nan": lambda: _changing(lambda call: np.nan if call == 3 else 1.0),
    "very slow": lambda: _sleeping(0.2),
    "booleans": lambda: lambda A, B: plain(A, B) > 0.5,
}
