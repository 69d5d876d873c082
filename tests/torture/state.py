"""Tampered models: attributes and pickled states that no fit has made.

An answer of a tampered model is right, or an error says what is wrong with it. Damage (NaN, other
shapes and types, impossible counts) may have no effect only where the answer does not depend on it:
then it is that of the sound model, bit by bit. Lawful changes, which give another sound model, have
their effect at once, whatever was predicted before. No answer is ever NaN.
"""

import copy
import pickle
import re
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from traceback import walk_tb
from typing import Any

import numpy as np
import scipy.sparse as sp
from tests.torture.harness import Fault, Piece, main
from tests.torture.machines import ESTIMATORS, problem, target

from mercer import SVC, NuSVC
from mercer.kernels import RBF, Linear

#: Where a value stands: its name, the value, and what puts another one there.
Leaf = tuple[str, Any, Callable[[Any], None]]


def kernel(A: Any, B: Any) -> Any:
    """Compute a kernel of the user, which pickles."""
    A, B = (X.toarray() if sp.issparse(X) else np.asarray(X) for X in (A, B))
    return (A @ B.T + 1.0) ** 2


@lru_cache
def _models() -> list[tuple[Any, Any]]:
    """Return fitted models of every kind, and rows to ask them about."""
    rng = np.random.default_rng(0)
    models = []
    for estimator in ESTIMATORS:
        for form in ("rbf", "linear", "sum", "sparse", "precomputed", "callable"):
            for multiclass in ("ovo", "ovr", "dag") if estimator in (SVC, NuSVC) else ("",):
                X, labels, numbers = problem(rng, 25, classes=2 if form == "rbf" else 3)
                rows, asked = X, X[:4] + 0.1
                given: Any = form
                if form == "sum":
                    given = RBF(gamma=0.5) + 0.1 * Linear()
                elif form == "callable":
                    given = kernel
                elif form == "sparse":
                    rows, asked, given = sp.csr_array(X.round()), sp.csr_array(asked.round()), "rbf"
                elif form == "precomputed":
                    rows, asked = RBF(gamma=0.5)(X), RBF(gamma=0.5)(asked, X)
                extra = {"multiclass": multiclass} if multiclass else {}
                nu = {"nu": 0.2} if "nu" in estimator().get_params() else {}
                model = estimator(kernel=given, n_jobs=1, **extra, **nu)
                models.append((model.fit(rows, target(model, labels, numbers)), asked))
    return models


def _leaves(name: str, value: Any, put: Callable[[Any], None]) -> Iterator[Leaf]:
    """Yield every value of a state that can be replaced, with the way to do it."""
    yield name, value, put
    if isinstance(value, dict):
        for key in value:
            yield from _leaves(str(key), value[key], partial(value.__setitem__, key))
    elif sp.issparse(value) or type(value).__module__.startswith("mercer."):
        keys = [*getattr(value, "__dict__", {}), *getattr(type(value), "__slots__", ())]
        for key in keys:
            if hasattr(value, key) and not (sp.issparse(value) and key.startswith("_")):
                put = partial(object.__setattr__, value, key)
                yield from _leaves(f"{name}.{key}", getattr(value, key), put)


def _damage(rng: np.random.Generator, name: str, value: Any) -> Any:
    """Return something in the place of a value that no fit would put there."""
    if isinstance(value, np.ndarray) and value.size:
        kinds = _shapes(value)
        if name != "classes_":  # labels may be of any type, and whole numbers any number
            kinds += _types(rng, value.copy())
        return kinds[rng.integers(len(kinds))]()
    anything: list[Any] = [None, -1, np.nan, np.inf, "nothing", [], b"", object(), ()]
    if not isinstance(value, float):  # else another parameter of the kernel
        anything += [10**9, 1e300]
    return anything[rng.integers(len(anything))]


def _shapes(value: Any) -> list[Callable[[], Any]]:
    return [
        lambda: value[:-1], lambda: value[..., :-1], lambda: np.concatenate([value, value]),
        lambda: value.T[..., np.newaxis], lambda: value.ravel()[: value.size // 2],
        lambda: value[:0], lambda: value[np.newaxis], lambda: value.reshape(-1)[::-1][:-1],
        lambda: None,
    ]  # fmt: skip


def _types(rng: np.random.Generator, value: Any) -> list[Callable[[], Any]]:
    at = tuple(rng.integers(size) for size in value.shape)
    special = {"f": (np.nan, np.inf, -np.inf), "i": (-1, 2**31 - 1, -(2**31))}
    return [
        lambda: value.astype(str),
        lambda: value.astype(complex) * 1j if value.dtype.kind in "fiu" else 1j,
        *(lambda number=n: _with(value, at, number) for n in special.get(value.dtype.kind, ())),
    ]


def _with(array: Any, at: Any, number: Any) -> Any:
    array[at] = number
    return array


def _lawful(rng: np.random.Generator, model: Any) -> Callable[[Any], None]:
    """Return a change that makes another sound model."""
    name = str(rng.choice(["intercept_", "dual_coef_"]))
    factor = float(rng.uniform(0.5, 2.0))
    in_place = bool(rng.integers(2))

    def change(model: Any) -> None:
        value = getattr(model, name)
        if in_place:
            array = value.data if sp.issparse(value) else value
            array *= factor
        else:
            setattr(model, name, value * factor)

    return change


def _answers(model: Any, asked: Any) -> list[Any]:
    names = ("predict", "decision_function", "score_samples")
    return [getattr(model, name)(asked) for name in names if hasattr(model, name)]


def _same(first: list[Any], second: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def _check_finite(answers: list[Any]) -> None:
    for answer in answers:
        if answer.dtype.kind == "f" and not np.isfinite(answer).all():
            raise Fault(f"an answer is not finite: {answer}")


def _check_clear(error: Exception, model: Any, name: str) -> str:
    """Check that an error is of a kind that users expect; it names public attributes."""
    if not isinstance(error, ValueError | TypeError | AttributeError):
        raise Fault(f"a confusing error: {error!r}") from error
    if any(frame.f_code is kernel.__code__ for frame, _ in walk_tb(error.__traceback__)):
        return "raised by the callable"  # which alone knows what a row of its model is
    if name.startswith("_") or "." in name:
        return "refused"
    names = [*model.get_params(deep=False), *(key.rstrip("_") for key in vars(model)), "X"]
    if not any(re.search(rf"\b{known}_?\b", str(error)) for known in names):
        raise Fault(f"an error that names nothing: {error!r}") from error
    return "refused"


def _damaged(rng: np.random.Generator, number: int) -> str:
    sound, asked = _models()[number]
    state = copy.deepcopy(sound.__getstate__())
    leaves = list(_leaves("", state, lambda new: None))[1:]
    name, value, put = leaves[rng.integers(len(leaves))]
    new = _damage(rng, name, value)
    put(new)
    try:
        model = sound.__new__(type(sound))
        model.__setstate__(state)
        if rng.integers(2):
            model = pickle.loads(pickle.dumps(model))
        answers = _answers(model, asked)
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        if "pickle" in str(error):
            return "refused"
        return _refused(error, sound, name, value, new)
    except Exception as error:
        return _refused(error, sound, name, value, new)
    try:
        _check_finite(answers)
        if not _same(answers, _answers(sound, asked)):
            raise Fault(f"other answers than those of the sound model: {answers}")
    except Fault as fault:
        raise Fault(f"{type(sound).__name__} with {name} = {_short(new)}\n{fault}") from fault
    return "no effect"


def _refused(error: Exception, sound: Any, name: str, value: Any, new: Any) -> str:
    try:
        return _check_clear(error, sound, name)
    except Fault as fault:
        where = f"{type(sound).__name__} with {name} = {_short(new)} instead of {_short(value)}"
        raise Fault(f"{where}\n{fault}") from fault


def _short(value: Any) -> str:
    text = re.sub(r"\s+", " ", repr(value))
    shape = f" of shape {value.shape}" if isinstance(value, np.ndarray) else ""
    return (text if len(text) < 120 else text[:120] + "...") + shape


def _changed(rng: np.random.Generator, number: int) -> str:
    """Change a model lawfully after it has predicted."""
    sound, asked = _models()[number]
    model = copy.deepcopy(sound)
    before = _answers(model, asked)
    change = _lawful(rng, model)
    try:
        change(model)
    except ValueError as error:
        if "read-only" in str(error):  # numpy says so, and the model is as it was
            return "read-only"
        raise
    after = _answers(model, asked)
    fresh = pickle.loads(pickle.dumps(model))
    _check_finite(after)
    if not _same(after, _answers(fresh, asked)):
        stale = "the old ones" if _same(after, before) else "neither old nor new"
        raise Fault(f"{sound!r}: after a change of an attribute the answers are {stale}")
    return "followed"


def case(seed: int) -> str:
    """Tamper with one model."""
    rng = np.random.default_rng(seed)
    number = int(rng.integers(len(_models())))
    return _changed(rng, number) if rng.random() < 0.1 else _damaged(rng, number)


PIECE = Piece("state", case, cases=10_000, seconds=240, timeout=30)
run = PIECE.run

if __name__ == "__main__":
    raise SystemExit(main(PIECE))
