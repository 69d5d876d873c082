"""Kernels in 80-bit numbers, with bounds on what their evaluation in f64 may get wrong.

A kernel is a tuple: ('rbf', gamma), ('poly', gamma, coef0, degree), ('sum', first, second), ...
`values` returns the matrix K and a matrix E: an evaluation in f64 by any sensible order of
operations is within E of K. Where that is so, gradients and decision values are known to
E |beta| and a few roundings, and nothing is asked of the library that f64 cannot give.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mercer import kernels

Spec: TypeAlias = tuple[Any, ...]
Long: TypeAlias = NDArray[np.longdouble]

#: Half the distance from 1 to the next double.
ROUNDING = np.longdouble(2.0) ** -53

#: Distances may be had from norms and products as long as kernel values stay this exact, as a
#: share of k(x, x); where they would not, differences have to be taken. Twice that of the library:
#: rows to predict are further out than those by which it decides.
EXPONENT_ERROR = np.longdouble(2e-10)

#: Kernels of differences: the rows of a kernel made of them alone may be centred.
_OF_DIFFERENCES = ("rbf", "imq", "laplacian")


#: The smallest normal double.
_SMALLEST = np.longdouble(np.finfo(np.float64).tiny)


def values(spec: Spec, A: NDArray[Any], B: NDArray[Any], sparse: bool = False) -> tuple[Long, Long]:
    """Return k(a, b) for all rows of A and B, and how far from it f64 may be."""
    A, B = A.astype(np.longdouble), B.astype(np.longdouble)
    with np.errstate(all="ignore"):
        K, E = _values(spec, A, B, _norms(spec, A, B, sparse))
        return K, np.where(np.isnan(E), np.longdouble(np.inf), E)


def _norms(spec: Spec, A: Long, B: Long, sparse: bool) -> Long:
    """Return the sums of squared norms that distances come from.

    Dense rows are centred at a mean of some rows of B where the whole kernel is one of differences.
    A mean is among the rows it is of, so no row is further from it than from the furthest of them;
    it is rounded itself.
    """
    plain = (A**2).sum(axis=1)[:, np.newaxis] + (B**2).sum(axis=1)
    if not _is_of_differences(spec):
        return plain  # type: ignore[no-any-return]
    rounding = (len(B) * ROUNDING) ** 2 * (B**2).sum(axis=1).max()
    from_a, from_b = (
        ((rows[:, np.newaxis, :] - B) ** 2).sum(axis=2).max(axis=1) for rows in (A, B)
    )
    centred: Long = from_a[:, np.newaxis] + from_b + 4 * rounding
    return np.maximum(plain, centred) if sparse else centred


def _is_of_differences(spec: Spec) -> bool:
    kind, *rest = spec
    if kind in ("sum", "product", "scaled"):
        return all(_is_of_differences(part) for part in rest if isinstance(part, tuple))
    return kind in _OF_DIFFERENCES


def _values(spec: Spec, A: Long, B: Long, norms: Long) -> tuple[Long, Long]:
    kind, *rest = spec
    if kind in ("sum", "product"):
        (K, E), (L, F) = _values(rest[0], A, B, norms), _values(rest[1], A, B, norms)
        if kind == "sum":
            return K + L, E + F + ROUNDING * np.abs(K + L)
        return K * L, np.abs(K) * F + E * np.abs(L) + E * F + 2 * ROUNDING * np.abs(K * L)
    if kind == "scaled":
        K, E = _values(rest[1], A, B, norms)
        return rest[0] * K, rest[0] * E + 2 * ROUNDING * np.abs(rest[0] * K)
    if kind in _OF_DIFFERENCES:
        return _of_distances(kind, np.longdouble(rest[0]), A, B, norms)
    return _of_products(kind, rest, A, B)


def _of_products(kind: str, rest: list[Any], A: Long, B: Long) -> tuple[Long, Long]:
    K = A @ B.T
    # Sums over the rows of B may be taken first: the weight vectors of a linear kernel.
    E = 2 * (A.shape[1] + len(B) + 4) * ROUNDING * (np.abs(A) @ np.abs(B).T)
    if kind == "linear":
        return K, E
    gamma, coef0 = np.longdouble(rest[0]), np.longdouble(rest[1])
    t = gamma * K + coef0
    E = gamma * E + 4 * ROUNDING * (np.abs(gamma * K) + abs(coef0))
    if kind == "sigmoid":
        # The slope is at most that at the nearer end of the interval.
        slope = 1 - np.tanh(np.maximum(np.abs(t) - E, 0)) ** 2
        return np.tanh(t), np.minimum(E * slope, 2) + 4 * ROUNDING
    assert kind == "poly"
    degree = rest[2]
    K, size = t**degree, np.abs(t)
    return K, (size + E) ** degree - size**degree + (2 * degree + 4) * ROUNDING * np.abs(K)


def _of_distances(
    kind: str, parameter: np.longdouble, A: Long, B: Long, norms: Long
) -> tuple[Long, Long]:
    n_roundings = 4 * (A.shape[1] + 4) * ROUNDING
    differences = A[:, np.newaxis, :] - B[np.newaxis, :, :]
    if kind == "laplacian":
        t = parameter * np.abs(differences).sum(axis=2)
        return _exponential(t, n_roundings * t)
    square = (differences**2).sum(axis=2)
    if kind == "rbf":
        t = parameter * square
        E = n_roundings * t + np.minimum(n_roundings * parameter * norms, EXPONENT_ERROR)
        return _exponential(t, E)
    assert kind == "imq"
    t = square + parameter**2
    E = n_roundings * t + np.minimum(n_roundings * norms, EXPONENT_ERROR * t)
    return 1 / np.sqrt(t), E / t / np.sqrt(t) + 4 * ROUNDING / np.sqrt(t)


def _exponential(t: Long, error: Long) -> tuple[Long, Long]:
    """Return exp(-t) for exponents with an error; values below the smallest double may be zero."""
    K = np.exp(-t)
    return K, np.exp(-np.maximum(t - error, 0)) - K + 4 * ROUNDING * K + _SMALLEST


def kernel_object(spec: Spec) -> Any:
    """Return the kernel as an object of `mercer.kernels`."""
    kind, *rest = spec
    match kind:
        case "sum":
            return kernel_object(rest[0]) + kernel_object(rest[1])
        case "product":
            return kernel_object(rest[0]) * kernel_object(rest[1])
        case "scaled":
            return kernels.Scaled(rest[0], kernel_object(rest[1]))
        case "linear":
            return kernels.Linear()
        case "rbf":
            return kernels.RBF(gamma=rest[0])
        case "laplacian":
            return kernels.Laplacian(gamma=rest[0])
        case "imq":
            return kernels.InverseMultiquadric(c=rest[0])
        case "sigmoid":
            return kernels.Sigmoid(gamma=rest[0], coef0=rest[1])
        case _:
            return kernels.Polynomial(gamma=rest[0], coef0=rest[1], degree=rest[2])


def kernel_parameters(spec: Spec) -> dict[str, Any]:
    """Return the parameters of an estimator that name a kernel which is not composed."""
    kind, *rest = spec
    names = ("gamma", "coef0", "degree") if kind != "imq" else ()
    return {"kernel": kind, **dict(zip(names, rest, strict=False))}
