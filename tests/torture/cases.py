"""Random fits: estimator, parameters, kernel, rows in every form they can be given in.

A case is drawn from its seed alone. About half of all cases are tame: sizes near 1. The others are
wild in some of their parts: C from 1e-10 to 1e15, gamma from 1e-12 to 1e12, features from 1e-12 to
1e12 or far from the origin, weights over twelve orders of magnitude.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from tests.torture import reference
from tests.torture.reference import Spec

CLASSIFIERS = ("SVC", "NuSVC")
REGRESSORS = ("SVR", "NuSVR")
DETECTORS = ("OneClassSVM", "SVDD")


@dataclass
class Case:
    """A fit to do. `X` and `Z` are what the estimator sees of `given` and `asked`."""

    estimator: str
    wild: frozenset[str]
    kernel: Spec
    kernel_as: str
    X: NDArray[Any]
    Z: NDArray[Any]
    given: Any = None
    asked: Any = None
    y: Any = None
    weight: Any = None
    parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        form = type(self.given).__name__
        return (
            f"{self.estimator}({parameters}) on {form} {self.X.dtype}{self.X.shape}, "
            f"kernel {self.kernel} as {self.kernel_as}, wild: {sorted(self.wild)}, "
            f"weights: {self.weight is not None}"
        )


class Draw:
    """A generator of random choices."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def one_of(self, *choices: Any, p: Sequence[float] | None = None) -> Any:
        return choices[self.rng.choice(len(choices), p=p)]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def power(self, low: float, high: float) -> float:
        """Return a number whose logarithm is uniform."""
        return float(10.0 ** self.rng.uniform(low, high))


def draw(seed: int) -> Case:
    """Return the case of a seed."""
    d = Draw(seed)
    parts = ("C", "gamma", "features", "offset", "weights", "targets")
    wild = frozenset() if d.chance(0.5) else frozenset(p for p in parts if d.chance(0.4))
    estimator = d.one_of(*CLASSIFIERS, *REGRESSORS, *DETECTORS, p=[0.3, 0.1, 0.25, 0.1, 0.15, 0.1])
    X = _rows(d, wild)
    kernel = _kernel(d, wild, depth=0)
    simple = kernel[0] not in ("sum", "product", "scaled")
    kernel_as = d.one_of("name", "object", "precomputed", "callable", p=[0.5, 0.2, 0.15, 0.15])
    if kernel_as == "name" and (not simple or (kernel[0] == "imq" and kernel[1] != 1.0)):
        kernel_as = "object"
    Z = np.concatenate([X[: d.rng.integers(1, 9)], X[d.rng.integers(len(X), size=5)] * 1.25])
    case = Case(estimator, wild, kernel, kernel_as, X, Z)
    if kernel_as == "precomputed":
        _precompute(d, case)
    else:
        case.X, case.given = _form(d, X)
        case.Z = Z.astype(case.X.dtype)
        case.asked = _same_kind(case.Z, case.given)
    case.weight = _weights(d, wild, len(X))
    case.y = _target(d, case)
    _parameters(d, case)
    return case


def _rows(d: Draw, wild: frozenset[str]) -> NDArray[np.float64]:
    n = int(d.one_of(d.rng.integers(2, 13), d.rng.integers(8, 60), d.rng.integers(60, 400),
                     p=[0.5, 0.48, 0.02]))  # fmt: skip
    columns = int(d.one_of(d.rng.integers(1, 5), d.rng.integers(1, 40), p=[0.8, 0.2]))
    columns = columns if n < 60 else min(columns, 5)
    X: NDArray[np.float64] = d.rng.normal(size=(n, columns))
    shape = d.one_of("plain", "grid", "repeated", "line", "gaps", p=[0.5, 0.15, 0.15, 0.1, 0.1])
    if shape == "grid":
        X = X.round()
    elif shape == "repeated":
        X = X[d.rng.integers(n, size=n)]
    elif shape == "line":
        X = X[:, :1] * d.rng.normal(size=columns)
    elif shape == "gaps":
        X[d.rng.random(X.shape) < 0.5] = 0.0
    if "features" in wild:
        mixed = d.chance(0.5)
        X *= 10.0 ** d.rng.uniform(-12, 12, size=columns if mixed else 1)
    if "offset" in wild:
        X += d.power(0, 7) * np.abs(X).max()
    return X


def _kernel(d: Draw, wild: frozenset[str], depth: int) -> Spec:
    share = 0.15 if depth < 2 else 0.0
    if d.chance(share):
        kind = d.one_of("sum", "product", "scaled")
        if kind == "scaled":
            factor = d.power(-12, 12) if "gamma" in wild else d.power(-2, 2)
            return kind, factor, _kernel(d, wild, depth + 1)
        return kind, _kernel(d, wild, depth + 1), _kernel(d, wild, depth + 1)
    gamma = d.power(-12, 12) if "gamma" in wild else d.power(-2, 1)
    coef0 = float(d.one_of(0.0, 1.0, d.rng.normal()))
    kind = d.one_of("linear", "rbf", "poly", "laplacian", "imq", "sigmoid",
                    p=[0.3, 0.35, 0.12, 0.1, 0.08, 0.05])  # fmt: skip
    if kind == "linear":
        return (kind,)
    if kind == "poly":
        return kind, gamma, coef0, int(d.one_of(0, 1, 2, 3, 7))
    if kind == "sigmoid":
        return kind, gamma, coef0
    return (kind, d.one_of(1.0, gamma)) if kind == "imq" else (kind, gamma)


def _precompute(d: Draw, case: Case) -> None:
    """Give kernel values in f64 in the place of rows; they are then exact."""
    dtype = np.float32 if d.chance(0.2) else np.float64
    with np.errstate(all="ignore"):
        K, _ = reference.values(case.kernel, case.X, case.X)
        L, _ = reference.values(case.kernel, case.Z, case.X)
        case.X, case.Z = ((K + K.T) / 2).astype(dtype), L.astype(dtype)
    case.given, case.asked = _in_memory(d, case.X), case.Z


def _form(d: Draw, X: NDArray[np.float64]) -> tuple[NDArray[Any], Any]:
    """Return the rows in a form that users have, and what the estimator is to see of them."""
    kind = d.one_of("dense", "other type", "sparse", "frame", p=[0.6, 0.1, 0.27, 0.03])
    if kind == "dense":
        X = X.astype(d.one_of(np.float64, np.float32, p=[0.7, 0.3]))
        if not np.isfinite(X).all():
            X = X.clip(-1e30, 1e30)
        return X, _in_memory(d, X)
    if kind == "other type":
        if np.abs(X).max() > 100.0:
            return X, X.astype(d.one_of(">f8", np.longdouble, object))
        whole = d.one_of(np.int8, np.int64, np.bool_, np.float16, np.uint8, list)
        if whole is list:
            return X, X.tolist()
        given = np.abs(X).astype(whole) if whole is np.uint8 else X.astype(whole)
        return given.astype(np.float64), given
    if kind == "frame":
        return X, pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    X = X.astype(d.one_of(np.float64, np.float32, p=[0.7, 0.3])).clip(-1e30, 1e30)
    return X, _sparse(d, X)


def _in_memory(d: Draw, X: NDArray[Any]) -> NDArray[Any]:
    """Return equal values in another order of memory, with strides, or not writable."""
    order = d.one_of("C", "F", "strides", "backwards", "read-only", "unaligned")
    if order == "F":
        return np.asfortranarray(X)
    if order == "strides":
        wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan, dtype=X.dtype)
        wide[::2, ::3] = X
        return wide[::2, ::3]
    if order == "backwards":
        return X[::-1, ::-1].copy()[::-1, ::-1]
    if order == "unaligned":
        raw = np.empty(X.nbytes + 1, np.uint8)
        moved: NDArray[Any] = np.ndarray(X.shape, X.dtype, raw.data, offset=1)
        moved[...] = X
        return moved
    X = X.copy()
    X.flags.writeable = order != "read-only"
    return X


def _sparse(d: Draw, X: NDArray[Any]) -> Any:
    """Return equal values as a sparse matrix or array of some format, canonical or not."""
    given = d.one_of(sp.csr_array, sp.csr_matrix)(X)
    if d.chance(0.3):
        return given.asformat(d.one_of("csc", "coo", "lil", "dok", "bsr"))
    if d.chance(0.3) and given.nnz:  # each value in two halves, in reverse order
        counts = np.diff(given.indptr)
        order = np.concatenate(
            [np.arange(end - 1, end - 1 - count, -1) for end, count in
             zip(given.indptr[1:], counts, strict=True)]
        )  # fmt: skip
        data = np.repeat(given.data[order] / 2, 2)
        given = type(given)((data, np.repeat(given.indices[order], 2), 2 * given.indptr), X.shape)
    if d.chance(0.3):
        dense = sp.coo_array(np.ones_like(X))
        given = type(given)((X.ravel(), (dense.row, dense.col)), X.shape)  # explicit zeros
    if d.chance(0.3):
        given.indices, given.indptr = given.indices.astype("i8"), given.indptr.astype("i8")
    return given


def _same_kind(Z: NDArray[Any], given: Any) -> Any:
    if sp.issparse(given):
        return sp.csr_array(Z)
    return pd.DataFrame(Z, columns=given.columns) if isinstance(given, pd.DataFrame) else Z


def _weights(d: Draw, wild: frozenset[str], n: int) -> Any:
    if d.chance(0.6):
        return None
    weight = d.rng.uniform(0.1, 3.0, size=n)
    if "weights" in wild:
        weight = 10.0 ** d.rng.uniform(-6, 6, size=n)
    if d.chance(0.3):
        weight[d.rng.random(n) < 0.3] = d.one_of(0.0, -1.0)
    return weight


def _target(d: Draw, case: Case) -> Any:
    n = len(case.X)
    if case.estimator in DETECTORS:
        return None
    if case.estimator in REGRESSORS:
        y = d.one_of(d.rng.normal(size=n), d.rng.integers(-3, 4, size=n), np.full(n, 2.5))
        return y * d.power(-9, 9) if "targets" in case.wild else y
    n_classes = int(d.one_of(2, 3, 5, p=[0.6, 0.3, 0.1]))
    labels = d.rng.integers(n_classes, size=n)
    if d.chance(0.3):
        labels = np.argsort(np.argsort(case.X[:, 0])) * n_classes // n
    labels[:2] = [0, 1]
    names = d.one_of(
        np.arange(5), np.array([-7, 3, 8, 9, 1000]), np.array(["b", "a", "d", "c", "e"]),
        np.array([2.0, -1.0, 0.0, 7.0, 5.0]), np.array(["x", "yy", "z", "", "w"], dtype=object),
    )  # fmt: skip
    return names[labels]


def _parameters(d: Draw, case: Case) -> None:
    p = case.parameters
    wild_c = "C" in case.wild
    p["tol"] = 1e-3 if d.chance(0.5) else d.power(-7, -1)
    p["max_time"] = d.power(-9, -3) if d.chance(0.03) else 0.05
    if d.chance(0.05):
        p["max_iter"] = int(d.rng.integers(0, 60))
    p["n_jobs"] = d.one_of(1, 2, None, p=[0.8, 0.1, 0.1])
    p["shrinking"] = d.chance(0.7)
    if d.chance(0.3):
        p["cache_size"] = d.power(-5, 1)
    if case.estimator in ("SVC", "SVR", "NuSVR"):
        p["C"] = d.power(-10, 15) if wild_c else d.power(-3, 3)
    if case.estimator == "SVC" and d.chance(0.05):
        p["C"] = np.inf
    if case.estimator in ("NuSVC", "NuSVR", *DETECTORS):
        p["nu"] = d.one_of(d.rng.uniform(0.01, 1.0), 1.0, 0.5, d.power(-6, 0)) * (
            0.3 if case.estimator == "NuSVC" else 1.0
        )
    if case.estimator == "SVR":
        sizes = (0.0, 0.1, d.power(-6, 2))
        p["epsilon"] = d.one_of(*sizes) * (float(np.std(case.y)) if d.chance(0.5) else 1.0)
    if case.estimator in ("SVC", "SVR"):
        p["fit_intercept"] = d.one_of(True, False, "penalized", p=[0.6, 0.2, 0.2])
    if case.estimator not in ("NuSVC", "NuSVR"):
        plain = "epsilon_insensitive" if case.estimator == "SVR" else "hinge"
        p["loss"] = d.one_of(plain, f"squared_{plain}", p=[0.7, 0.3])
        p["solver"] = d.one_of("smo", "adatron", p=[0.7, 0.3])
        p["eta"] = 1.0 if d.chance(0.7) else float(d.rng.uniform(0.05, 1.95))
    if case.estimator in CLASSIFIERS:
        p["multiclass"] = d.one_of("ovo", "ovr", "dag")
        p["decision_function_shape"] = d.one_of("ovr", "ovo")
        p["class_weight"] = d.one_of(None, "balanced", p=[0.8, 0.2])
