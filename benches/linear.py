"""LinearSVC and LinearSVR beside scikit-learn's, to the same objective.

Both are run with the loosest tol, a power of ten, at which the primal objective is within 1e-6 of
the optimum (relative); the optimum is that of a run with a far tighter tol. Times are those of the
first fit of a fresh process, the data being there already. ``--list`` names the cases.

    python benches/linear.py [--cases a9a,text] [--limit 120]
"""

import argparse
import importlib
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import _data

LIBRARIES = ("scikit-learn", "mercer")
TOLERANCES = tuple(10.0**-k for k in range(9))
#: How near the optimum is the same.
SAME = 1e-6
#: The tolerance of the run that gives the optimum.
REFERENCE = 1e-7


@dataclass(frozen=True)
class Case:
    """Rows, target and what is fitted to them."""

    load: Callable[[], tuple[Any, NDArray[Any]]]
    regression: bool
    loss: str
    C: float = 1.0


def _standardised(X: NDArray[Any]) -> NDArray[np.float64]:
    rows: NDArray[np.float64] = np.asarray(X, dtype=np.float64)
    rows = (rows - rows.mean(axis=0)) / np.maximum(rows.std(axis=0), 1e-12)
    return rows


def _a9a() -> tuple[Any, NDArray[Any]]:
    data = _data.load("a9a")
    return data.X, data.y


def _cod_rna() -> tuple[Any, NDArray[Any]]:
    data = _data.load("cod_rna")
    return _standardised(data.X), data.y


def _cal_housing() -> tuple[Any, NDArray[Any]]:
    data = _data.load("cal_housing")
    return _standardised(data.X), (data.y - data.y.mean()) / data.y.std()


def _mnist() -> tuple[Any, NDArray[Any]]:
    data = _data.load("mnist")
    return data.X / 255.0, data.y


def _tf_idf(X: sp.csr_matrix) -> sp.csr_matrix:
    """Logarithms of counts times those of rarity, rows of length 1."""
    n = X.shape[0]
    rarity = np.log((1 + n) / (1 + np.bincount(X.indices, minlength=X.shape[1]))) + 1.0
    X.data = (1.0 + np.log(X.data)) * rarity[X.indices]
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1))).ravel()
    rows = sp.csr_matrix(sp.diags(1.0 / lengths) @ X)
    rows.sort_indices()
    return rows


def _text(n: int = 11000, d: int = 60000, k: int = 20) -> tuple[Any, NDArray[Any]]:
    """Words by Zipf's law, an eighth of them from those that a class prefers."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    shares = 1.0 / np.arange(1, d + 1) ** 1.05
    steps = np.cumsum(shares / shares.sum())
    own = rng.integers(50, d, (k, 400))
    lengths = rng.lognormal(5.0, 0.7, n).astype(int) + 5
    rows = np.repeat(np.arange(n), lengths)
    words = np.minimum(np.searchsorted(steps, rng.random(len(rows))), d - 1)
    preferred = rng.random(len(rows)) < 0.12
    words[preferred] = own[y[rows[preferred]], rng.integers(0, 400, preferred.sum())]
    X = sp.csr_matrix((np.ones(len(rows)), (rows, words)), shape=(n, d))
    X.sum_duplicates()
    noise = rng.random(n) < 0.03
    y[noise] = rng.integers(0, k, noise.sum())
    return _tf_idf(X), y


def _text_of_two() -> tuple[Any, NDArray[Any]]:
    X, y = _text()
    return X, (y < 10).astype(int)


def _reuters() -> tuple[Any, NDArray[Any]]:
    """Forty texts: every one a hundred times, each time with a fifth of its words left out."""
    from sklearn.feature_extraction.text import CountVectorizer

    with np.load(_data.directory() / "kernlab_reuters_text.npz") as arrays:
        texts, y = arrays["text"], arrays["y"]
    counts = sp.csr_matrix(CountVectorizer(dtype=np.float64).fit_transform(texts))
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(sp.vstack([counts] * 100))
    X.data *= rng.random(len(X.data)) < 0.8
    X.eliminate_zeros()
    return _tf_idf(X), np.tile(y, 100)


SQUARED, TUBE = "squared_hinge", "epsilon_insensitive"
CASES = {
    "a9a": Case(_a9a, False, SQUARED),
    "a9a, hinge": Case(_a9a, False, "hinge"),
    "cod_rna": Case(_cod_rna, False, SQUARED),
    "cod_rna, hinge": Case(_cod_rna, False, "hinge"),
    "cal_housing": Case(_cal_housing, True, TUBE),
    "cal_housing, squared": Case(_cal_housing, True, f"squared_{TUBE}"),
    "mnist, ovr": Case(_mnist, False, SQUARED),
    "text, 20 classes": Case(_text, False, SQUARED),
    "text, 20 classes, hinge": Case(_text, False, "hinge"),
    "text, 2 classes": Case(_text_of_two, False, SQUARED),
    "text, 2 classes, hinge": Case(_text_of_two, False, "hinge"),
    "reuters": Case(_reuters, False, SQUARED),
}
#: The file that a case needs, if any.
FILES = {"a9a": "a9a", "cod_rna": "cod_rna", "cal_housing": "cal_housing", "mnist": "mnist"}
FILES |= {"reuters": "kernlab_reuters_text"}


def objective(case: Case, model: Any, X: Any, y: NDArray[Any]) -> float:
    """Return the primal objective, all machines together."""
    coef = np.atleast_2d(model.coef_)
    intercept = np.broadcast_to(np.ravel(model.intercept_), len(coef))
    values = X @ coef.T + intercept
    total = 0.0
    for k, (w, b) in enumerate(zip(coef, intercept, strict=True)):
        if case.regression:
            errors = np.abs(y - values[:, k])
        else:
            own = model.classes_[k if len(coef) > 1 else 1]
            errors = np.maximum(0.0, 1.0 - np.where(y == own, 1.0, -1.0) * values[:, k])
        charged = errors**2 if case.loss.startswith("squared") else errors
        total += 0.5 * (w @ w + b * b) + case.C * charged.sum()
    return float(total)


def fit_once(name: str, library: str, tol: float) -> None:
    """Fit, and print the seconds, the objective and the method: the work of a fresh process."""
    case = CASES[name]
    X, y = case.load()
    module = importlib.import_module("mercer" if library == "mercer" else "sklearn.svm")
    estimator = module.LinearSVR if case.regression else module.LinearSVC
    options: dict[str, Any] = {"loss": case.loss, "C": case.C, "tol": tol, "dual": "auto"}
    model = estimator(max_iter=1_000_000, random_state=0, **options)
    warnings.simplefilter("ignore")
    start = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - start
    method = model.report_.method if library == "mercer" else ""
    print(json.dumps([seconds, objective(case, model, X, y), method]))


def run(name: str, library: str, tol: float, limit: float) -> tuple[float, float, str] | None:
    """Return what a fresh process prints; None if it takes too long."""
    command = [sys.executable, __file__, "--one", name, library, repr(tol)]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    seconds, value, method = json.loads(done.stdout)
    return seconds, value, method


def compare(name: str, limit: float) -> str:
    """Return a row of the table."""
    reference = run(name, "mercer", REFERENCE, limit)
    if reference is None:
        return f"| {name} | - | no optimum within {limit:g} s | | |"
    cells, times = [], []
    for library in LIBRARIES:
        for tol in TOLERANCES:
            found = run(name, library, tol, limit)
            if found is None:
                cells.append(f"more than {limit:g} s")
                break
            if found[1] <= (1.0 + SAME) * reference[1]:
                cells.append(f"{found[0] * 1e3:.1f} ms (tol {tol:g})")
                times.append(found[0])
                break
        else:
            cells.append("not reached")
    ratio = f"{times[0] / times[1]:.1f}" if len(times) == 2 else "-"
    return f"| {name} | {reference[2]} | {cells[0]} | {cells[1]} | {ratio} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", default="", help="parts of names, by commas")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for one process")
    parser.add_argument("--list", action="store_true", help="name the cases and end")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        name, library, tol = arguments.one
        return fit_once(name, library, float(tol))
    wanted = [part.strip() for part in arguments.cases.split(",")]
    names = [name for name in CASES if any(part in name for part in wanted)]
    if arguments.list:
        return print(*names, sep="\n")
    print("| case | method | scikit-learn | mercer | times as fast |")
    print("|---|---|---|---|---|", flush=True)
    for name in names:
        file = FILES.get(name.split(",")[0])
        if file is None or _data.available(file):
            print(compare(name, arguments.limit), flush=True)
    return None


if __name__ == "__main__":
    main()
