"""Small fits beside scikit-learn's: four sets, four kernels, one-vs-one and one-vs-rest.

    python benches/small.py [--fits 100] [--jobs 1|all|both] [--only iris,callable]
                            [--json FILE]

Every cell is the mean over --fits fits, wall-clock and processor time (that of all threads), in
milliseconds. Fits of the two libraries take turns, ten at a time, so that whatever else the machine
does falls on both. Columns are standardised; the callable is a Gaussian kernel in numpy, and the
precomputed matrix has the same values. One-vs-rest is ``SVC(multiclass="ovr")`` beside
``OneVsRestClassifier(SVC())``. "x" is how many times as long scikit-learn took, marked with ! below
1; the exit status is 1 if there is such a cell.
"""

import argparse
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

# One thread for numpy, in the callable and elsewhere: what is compared is not BLAS. It reads this
# when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

FITS = 100
TURN = 10
SETS = ("iris", "wine", "breast_cancer", "digits")
KERNELS = ("linear", "rbf", "precomputed", "callable")
STRATEGIES = ("ovo", "ovr")

HEADER = (
    f"{'set':14} {'kernel':12} {'classes':7} {'n_jobs':>6}"
    f" {'wall ms':>9} {'sklearn':>9} {'x':>6}  {'cpu ms':>9} {'sklearn':>9} {'x':>6}"
)


@dataclass(frozen=True)
class Cell:
    """Mean milliseconds of one fit."""

    name: str
    kernel: str
    strategy: str
    n_jobs: int | None
    wall: float
    cpu: float
    peer_wall: float
    peer_cpu: float

    @property
    def ratios(self) -> tuple[float, float]:
        return self.peer_wall / self.wall, self.peer_cpu / self.cpu

    def __str__(self) -> str:
        wall, cpu = (f"{ratio:.2f}{'!' if ratio < 1.0 else ' '}" for ratio in self.ratios)
        return (
            f"{self.name:14} {self.kernel:12} {self.strategy:7} {self.n_jobs or 'all':>6}"
            f" {self.wall:9.3f} {self.peer_wall:9.3f} {wall:>6}"
            f"  {self.cpu:9.3f} {self.peer_cpu:9.3f} {cpu:>6}"
        )


def gaussian(A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
    """The kernel of the callable and of the precomputed matrix."""
    squares = np.square(A).sum(axis=1)[:, None] + np.square(B).sum(axis=1)
    distances = np.maximum(squares - 2.0 * A @ B.T, 0.0)
    values: NDArray[Any] = np.exp(distances / -A.shape[1])
    return values


def means(fits: Sequence[Callable[[], Any]], count: int) -> list[tuple[float, float]]:
    """Return the mean milliseconds of each: wall-clock, processor time."""
    totals = np.zeros((len(fits), 2))
    for fit in fits:
        fit()  # whatever happens only once
    for begun in range(0, count, TURN):
        turn = min(TURN, count - begun)
        for total, fit in zip(totals, fits, strict=True):
            wall, cpu = perf_counter(), process_time()
            for _ in range(turn):
                fit()
            total += perf_counter() - wall, process_time() - cpu
    return [(float(wall), float(cpu)) for wall, cpu in 1e3 * totals / count]


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    from sklearn import datasets, svm
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import StandardScaler

    import mercer

    for name in SETS:
        rows, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        rows = StandardScaler().fit_transform(rows)
        for kernel in KERNELS:
            X = gaussian(rows, rows) if kernel == "precomputed" else rows
            parameters: dict[str, Any] = {"kernel": gaussian if kernel == "callable" else kernel}
            for strategy in STRATEGIES:
                words = {name, kernel, strategy}
                if options.only and not words.intersection(options.only):
                    continue
                peer: Any = svm.SVC(**parameters)
                if strategy == "ovr":
                    peer = OneVsRestClassifier(peer)
                for n_jobs in options.jobs:
                    own = mercer.SVC(**parameters, n_jobs=n_jobs)
                    own.set_params(multiclass=strategy)
                    pair = [partial(model.fit, X, y) for model in (own, peer)]
                    times = means(pair, options.fits)
                    yield Cell(name, kernel, strategy, n_jobs, *times[0], *times[1])


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fits", type=int, default=FITS, help="mean of so many (%(default)s)")
    jobs = {"1": [1], "all": [None], "both": [1, None]}
    parser.add_argument("--jobs", choices=jobs, default="both", help="Mercer's n_jobs (both)")
    parser.add_argument("--only", type=str, default="", help="sets, kernels, strategies")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here")
    options = parser.parse_args(arguments)
    options.jobs = jobs[options.jobs]
    options.only = set(filter(None, options.only.split(",")))
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    print(HEADER)
    table = []
    for cell in cells(options):
        table.append(cell)
        print(cell, flush=True)
    slower = [cell for cell in table if min(cell.ratios) < 1.0]
    print(f"\n{len(slower)} of {len(table)} cells are slower than scikit-learn's")
    if options.json:
        options.json.write_text(json.dumps([asdict(cell) for cell in table], indent=1) + "\n")
    return 1 if slower else 0


if __name__ == "__main__":
    raise SystemExit(main())
