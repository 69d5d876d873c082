"""Grid searches: Mercer's beside scikit-learn's over scikit-learn's machines.

    python benches/search.py [--rows 5000] [--alone] [SET ...]

Five costs from 0.1 to 1000, five widths, five folds; for abalone three widths of the tube as well.
Of ijcnn1 there are 20,000 rows, three costs, widths and folds; ``pipeline`` is svmguide1 with a
StandardScaler inside the search. Times are of the first ``fit`` with ``refit=False``; scikit-learn
has two processes, and so has scikit-learn-intelex where it is installed. With ``--alone`` only
Mercer is timed.
"""

import argparse
import time
import warnings
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV as TheirSearch
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import _data
import mercer
from mercer.model_selection import GridSearchCV

SETS = ("banana", "svmguide1", "cod_rna", "satellite", "usps", "abalone", "ijcnn1", "pipeline")
#: Rows of the set that is larger than the others.
LARGE = 20_000
COSTS = [0.1, 1.0, 10.0, 100.0, 1000.0]


def rows_of(name: str, n_rows: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return standardised rows and targets, in a random order."""
    name = "svmguide1" if name == "pipeline" else name
    n_rows = LARGE if name == "ijcnn1" else n_rows
    data = _data.load(name)
    X, y = data.X, data.y
    if name == "svmguide1":
        X, y = np.r_[X, data.X_test], np.r_[y, data.y_test]
    X = X.toarray() if sparse.issparse(X) else X
    order = np.random.RandomState(0).permutation(len(X))[:n_rows]
    return StandardScaler().fit_transform(X[order].astype(np.float64)), y[order]


def seconds_of(search: Any, X: NDArray[np.float64], y: NDArray[Any]) -> float:
    """Return how long a search takes."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, y)
    return time.perf_counter() - start


def posed(name: str, width: float) -> tuple[dict[str, list[float]], str, Any]:
    """Return the grid, the name of the machine and the folds."""
    grid = {"C": COSTS, "gamma": [width * 2.0**power for power in range(-2, 3)]}
    if name == "abalone":
        return {**grid, "epsilon": [0.05, 0.2, 0.8]}, "SVR", KFold(5)
    if name == "ijcnn1":
        few = {"C": COSTS[1:4], "gamma": [width * 2.0**power for power in range(3)]}
        return few, "SVC", StratifiedKFold(3)
    if name == "pipeline":
        grid = {f"svc__{key}": values for key, values in grid.items()}
    return grid, "SVC", StratifiedKFold(5)


def others() -> dict[str, Any]:
    """Return the modules whose machines scikit-learn's search is given."""
    modules = {"scikit-learn": svm}
    with suppress(ImportError):
        modules["scikit-learn-intelex"] = import_module("sklearnex.svm")
    return modules


def compare(name: str, n_rows: int, *, alone: bool) -> None:
    """Print a line for one set."""
    X, y = rows_of(name, n_rows)
    grid, machine, cv = posed(name, 1.0 / X.shape[1])
    options: dict[str, Any] = {"cv": cv, "refit": False}

    def estimator(module: Any) -> Any:
        single = getattr(module, machine)()
        return make_pipeline(StandardScaler(), single) if name == "pipeline" else single

    found = GridSearchCV(estimator(mercer), grid, **options)
    mine = seconds_of(found, X, y)
    line = f"{name:10} {len(X)} x {X.shape[1]}: Mercer {mine:.2f} s"
    for library, module in {} if alone else others().items():
        expected = TheirSearch(estimator(module), grid, n_jobs=2, **options)
        other = seconds_of(expected, X, y)
        scores = [search.cv_results_["mean_test_score"] for search in (found, expected)]
        apart = np.abs(scores[0] - scores[1]).max()
        line += f"; {library} {other:.1f} s, {other / mine:.1f} times"
        line += f", scores differ by at most {apart:.1g}"
    print(line, flush=True)


def main() -> None:
    """Compare on the sets named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET")
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--alone", action="store_true")
    options = parser.parse_args()
    for name in options.sets:
        compare(name, options.rows, alone=options.alone)


if __name__ == "__main__":
    main()
