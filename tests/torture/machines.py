"""Small fits of every kind that the pieces share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM

ESTIMATORS: tuple[Any, ...] = (SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD)


def problem(
    rng: np.random.Generator, n: int, columns: int = 3, classes: int = 2
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Return rows, labels that overlap and numbers to learn."""
    X = rng.normal(size=(n, columns))
    labels = np.clip(np.rint(X[:, 0] + rng.normal(scale=0.7, size=n)), 0, classes - 1).astype(int)
    labels[:classes] = np.arange(classes)
    return X, labels, np.sin(X[:, 0]) + rng.normal(scale=0.1, size=n)


def target(estimator: Any, labels: Any, numbers: Any) -> Any:
    """Return what an estimator, or one of its class, learns from."""
    kind = estimator if isinstance(estimator, type) else type(estimator)
    if kind in (SVC, NuSVC):
        return labels
    return numbers if kind in (SVR, NuSVR) else None


def some_parameters(rng: np.random.Generator, estimator: Any) -> dict[str, Any]:
    """Return parameters of a fit that is neither hard nor always the same."""
    parameters: dict[str, Any] = {"gamma": float(rng.uniform(0.1, 1.0))}
    if estimator in (SVC, SVR, NuSVR):
        parameters["C"] = float(10.0 ** rng.uniform(-1, 1.5))
    if estimator in (NuSVC, NuSVR, OneClassSVM, SVDD):
        parameters["nu"] = float(rng.uniform(0.05, 0.3))
    if estimator in (SVC, NuSVC):
        parameters["multiclass"] = str(rng.choice(["ovo", "ovr", "dag"]))
    if estimator not in (NuSVC, NuSVR):
        parameters["solver"] = str(rng.choice(["smo", "smo", "adatron"]))
    return parameters


def values(model: Any, X: Any) -> NDArray[np.float64]:
    """Return what a model says of rows, as numbers."""
    kind = type(model)
    said = model.predict(X) if kind in (SVR, NuSVR) else model.decision_function(X)
    return np.asarray(said, dtype=np.float64)
