"""Fits, refits and predictions of many threads at once.

One estimator is fitted again and again, in turn on two problems, while other threads predict with
it: every answer is that of the one model or of the other, in full, and once `fit` has returned the
answers of the thread that called it are those of the new one. Beside that, threads train models of
their own, which come out as they do alone.
"""

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.torture.harness import Fault, Piece, main
from tests.torture.machines import ESTIMATORS, problem, some_parameters, target

from mercer import SVC, NuSVC

#: Fits of one case: those of the shared estimator, and those of the models beside it.
_REFITS, _OWN = 8, 2


@dataclass
class _Model:
    """A problem, and what the model of it says."""

    X: Any
    y: Any
    answers: dict[str, Any] = field(default_factory=dict)


def _methods(estimator: Any) -> list[str]:
    names = ("predict", "decision_function", "score_samples")
    return [name for name in names if hasattr(estimator, name)]


def _models(rng: np.random.Generator, make: Any, Z: NDArray[Any]) -> list[_Model]:
    """Return two problems of different labels, sizes and numbers of classes."""
    models = []
    classes = make().__class__ in (SVC, NuSVC)
    for shift in (0, 10):
        n_classes = int(rng.integers(2, 4))
        X, labels, numbers = problem(rng, int(rng.integers(30, 150)), Z.shape[1], n_classes)
        y = target(make(), labels + shift if classes else labels, numbers + shift)
        fitted = make().fit(X, y)
        answers = {name: getattr(fitted, name)(Z) for name in _methods(fitted)}
        models.append(_Model(X, y, answers))
    return models


def _is(answer: Any, expected: Any) -> bool:
    return answer.shape == expected.shape and np.array_equal(answer, expected)


class _Readers:
    """Threads that predict until told to stop, and what they found wrong."""

    def __init__(self, shared: Any, models: list[_Model], Z: Any, count: int) -> None:
        self.stop = threading.Event()
        self.wrong: list[str] = []
        self.answers = 0
        self._arguments = (shared, models, Z)
        self.threads = [threading.Thread(target=self._read, args=(i,)) for i in range(count)]

    def _read(self, number: int) -> None:
        shared, models, Z = self._arguments
        names = _methods(shared)
        while not self.stop.is_set() and not self.wrong:
            name = names[self.answers % len(names)]
            try:
                answer = getattr(shared, name)(Z)
            except Exception as error:
                self.wrong.append(f"{name} raised {error!r} during a refit")
                return
            if not any(_is(answer, model.answers[name]) for model in models):
                self.wrong.append(f"an answer of {name} is that of neither model")
            self.answers += 1


def _own(make: Any, model: _Model, Z: Any, wrong: list[str]) -> None:
    """Train models of this thread's own."""
    for _ in range(_OWN):
        fitted = make().fit(model.X, model.y)
        for name in _methods(fitted):
            if not _is(getattr(fitted, name)(Z), model.answers[name]):
                wrong.append(f"{name} of a model trained beside others differs")


def case(seed: int) -> str:
    """Refit one estimator while others predict with it."""
    rng = np.random.default_rng(seed)
    estimator = ESTIMATORS[rng.integers(len(ESTIMATORS))]
    parameters = some_parameters(rng, estimator)
    n_jobs = [1, 2][rng.integers(2)]

    def make() -> Any:
        return estimator(n_jobs=n_jobs, **parameters)

    Z = rng.normal(size=(int(rng.choice([1, 20, 100, 300])), 3))
    models = _models(rng, make, Z)
    shared = make().fit(models[0].X, models[0].y)
    readers = _Readers(shared, models, Z, count=2)
    own = [threading.Thread(target=_own, args=(make, m, Z, readers.wrong)) for m in models]
    for thread in readers.threads + own:
        thread.start()
    try:
        for turn in range(1, _REFITS + 1):
            model = models[turn % 2]
            shared.fit(model.X, model.y)
            for name in _methods(shared):
                if not _is(getattr(shared, name)(Z), model.answers[name]):
                    readers.wrong.append(f"{name} has the old model after fit has returned")
    finally:
        readers.stop.set()
        for thread in readers.threads + own:
            thread.join()
    if readers.wrong:
        raise Fault(f"{make()!r}: " + "; ".join(sorted(set(readers.wrong))))
    return f"cases with {_REFITS + 2 * _OWN} fits"


PIECE = Piece("threads", case, cases=420, seconds=300, timeout=60)
run = PIECE.run

if __name__ == "__main__":
    raise SystemExit(main(PIECE))
