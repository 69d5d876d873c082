"""Grid searches: Mercer's beside scikit-learn's over scikit-learn's machines.

    python benches/search.py [--rows 5000] [SET ...]

Five costs from 0.1 to 1000, five widths, five folds; for abalone three widths of the tube as well.
Times are of the first ``fit`` with ``refit=False``; scikit-learn has two processes.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV as TheirSearch
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

import _data
import mercer
from mercer.model_selection import GridSearchCV

SETS = ("banana", "svmguide1", "cod_rna", "satellite", "usps", "abalone")
COSTS = [0.1, 1.0, 10.0, 100.0, 1000.0]


def rows_of(name: str, n_rows: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return standardised rows and targets, in a random order."""
    data = _data.load(name)
    X, y = data.X, data.y
    if name == "svmguide1":
        X, y = np.r_[X, data.X_test], np.r_[y, data.y_test]
    order = np.random.RandomState(0).permutation(len(X))[:n_rows]
    return StandardScaler().fit_transform(X[order].astype(np.float64)), y[order]


def seconds_of(search: Any, X: NDArray[np.float64], y: NDArray[Any]) -> float:
    """Return how long a search takes."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, y)
    return time.perf_counter() - start


def compare(name: str, n_rows: int) -> None:
    """Print a line for one set."""
    X, y = rows_of(name, n_rows)
    width = 1.0 / X.shape[1]
    grid = {"C": COSTS, "gamma": [width * 2.0**power for power in range(-2, 3)]}
    if name == "abalone":
        grid["epsilon"] = [0.05, 0.2, 0.8]
        ours, theirs, cv = mercer.SVR(), svm.SVR(), KFold(5)
    else:
        ours, theirs, cv = mercer.SVC(), svm.SVC(), StratifiedKFold(5)
    options: dict[str, Any] = {"cv": cv, "refit": False}
    found = GridSearchCV(ours, grid, **options)
    mine = seconds_of(found, X, y)
    expected = TheirSearch(theirs, grid, n_jobs=2, **options)
    other = seconds_of(expected, X, y)
    scores = [search.cv_results_["mean_test_score"] for search in (found, expected)]
    apart = np.abs(scores[0] - scores[1]).max()
    print(
        f"{name:10} {len(X)} x {X.shape[1]}: Mercer {mine:.2f} s, scikit-learn {other:.1f} s, "
        f"{other / mine:.0f} times; scores differ by at most {apart:.1g}",
        flush=True,
    )


def main() -> None:
    """Compare on the sets named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET")
    parser.add_argument("--rows", type=int, default=5000)
    options = parser.parse_args()
    for name in options.sets:
        compare(name, options.rows)


if __name__ == "__main__":
    main()
