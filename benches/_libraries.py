"""The libraries that are compared: scikit-learn, LIBSVM, scikit-learn-intelex and Mercer."""

import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from _cases import Case, Kind
from _data import Data

TOLERANCE = 1e-3
PEER_CACHE = 4000


@dataclass(frozen=True)
class Machine:
    """What is timed, and what can be asked after a fit."""

    fit: Callable[[], None]
    predict: Callable[[Any], NDArray[Any]]
    support_vectors: Callable[[], int]
    # An estimator with scikit-learn's attributes, where there is one.
    estimator: Any = None


def _estimator(module: Any, case: Case, data: Data, cache: float | str) -> Machine:
    parameters = {**case.parameters, "kernel": case.kernel, "tol": TOLERANCE}
    model = getattr(module, case.kind)(**parameters, cache_size=cache)
    return Machine(
        fit=lambda: model.fit(data.X, data.y),
        predict=lambda X: model.predict(X),
        support_vectors=lambda: len(model.support_),
        estimator=model,
    )


def scikit_learn(case: Case, data: Data, cache: float | None) -> Machine:
    from sklearn import svm

    return _estimator(svm, case, data, PEER_CACHE if cache is None else cache)


def libsvm(case: Case, data: Data, cache: float | None) -> Machine:
    from libsvm import svmutil

    problem = svmutil.svm_problem(data.y, data.X)
    kind = {"SVC": 0, "OneClassSVM": 2, "SVR": 3}[case.kind]
    flags = {"C": "-c", "gamma": "-g", "epsilon": "-p", "nu": "-n"}
    parameters = " ".join(f"{flags[name]} {value}" for name, value in case.parameters.items())
    kernel = {"linear": 0, "rbf": 2}[case.kernel]
    options = f"-q -s {kind} -t {kernel} {parameters} -e {TOLERANCE} -m {PEER_CACHE}"
    models: list[Any] = []

    def fit() -> None:
        models[:] = [svmutil.svm_train(problem, options)]

    def predict(X: Any) -> NDArray[Any]:
        return np.asarray(svmutil.svm_predict([], X, models[0], "-q")[0])

    return Machine(fit, predict, support_vectors=lambda: int(models[0].get_nr_sv()))


def sklearnex(case: Case, data: Data, cache: float | None) -> Machine:
    from sklearnex import svm

    return _estimator(svm, case, data, PEER_CACHE)


def mercer(case: Case, data: Data, cache: float | None) -> Machine:
    import mercer

    return _estimator(mercer, case, data, "auto" if cache is None else cache)


@dataclass(frozen=True)
class Library:
    """A library, the package that installs it, and the kinds of machine that it lacks."""

    package: str
    prepare: Callable[[Case, Data, float | None], Machine]
    lacks: tuple[Kind, ...] = ()

    @property
    def version(self) -> str | None:
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None


# scikit-learn comes first: the others are compared with it.
LIBRARIES = {
    "scikit-learn": Library("scikit-learn", scikit_learn),
    "libsvm": Library("libsvm-official", libsvm),
    "sklearnex": Library("scikit-learn-intelex", sklearnex, lacks=("OneClassSVM",)),
    "mercer": Library("mercer", mercer),
}
