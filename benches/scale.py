"""How a fit on a cluster grows: rounds, bytes and time against rows and workers.

    python benches/scale.py [--sizes 10000,20000] [--workers 1,2] [--features 20] [--C 1]
                            [--flip 0.05] [--separation 1] [--local] [--json FILE]

The data are `make_classification`, in one partition per worker or two, of 25,000 rows at the least;
each number of workers is a LocalCluster of processes with one thread. --local fits `SVC` to the
same rows on as many threads. The last lines are the constants of the model of cost in
docs/scale.md, each measured alone: a kernel value of an examination (float64, one thread) and of a
solve, a byte between two processes, and a task.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification

from mercer import SVC, _core
from mercer.kernels import RBF

SIZES = (10_000, 20_000, 50_000)
LEAST_ROWS = 25_000


@dataclass(frozen=True)
class Run:
    """One fit."""

    n: int
    workers: int
    partitions: int
    seconds: float
    rounds: int
    bytes_sent: int
    support_vectors: int
    working_set: int
    gap: float
    local_seconds: float | None


def data(n: int, options: argparse.Namespace) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    X, y = make_classification(
        n,
        options.features,
        n_informative=options.features // 2,
        flip_y=options.flip,
        class_sep=options.separation,
        random_state=0,
    )
    return X, y


def fit(client: Any, n: int, workers: int, options: argparse.Namespace) -> Run:
    """Fit once; the rows are on the workers before the clock starts."""
    import dask.array as da
    from distributed import wait

    from mercer.dask import DaskSVC

    X, y = data(n, options)
    partitions = max(workers, -(-n // max(LEAST_ROWS, n // (2 * workers))))
    size = -(-n // partitions)
    rows, labels = (
        client.scatter([X[i : i + size] for i in range(0, n, size)]),
        client.scatter([y[i : i + size] for i in range(0, n, size)]),
    )
    shapes = [min(size, n - i) for i in range(0, n, size)]
    X_there = da.concatenate(
        [
            da.from_delayed(_future(r), (k, X.shape[1]), X.dtype)
            for r, k in zip(rows, shapes, strict=True)
        ]
    )
    y_there = da.concatenate(
        [da.from_delayed(_future(r), (k,), y.dtype) for r, k in zip(labels, shapes, strict=True)]
    )
    wait([*rows, *labels])
    start = perf_counter()
    model = DaskSVC(C=options.C).fit(X_there, y_there)
    seconds = perf_counter() - start
    local = None
    if options.local:
        start = perf_counter()
        SVC(C=options.C, n_jobs=workers).fit(X, y)
        local = perf_counter() - start
    report = model.report_
    return Run(
        n,
        workers,
        len(shapes),
        seconds,
        report.rounds,
        report.bytes_sent,
        len(model.support_),
        report.working_set,
        report.gap,
        local,
    )


def _future(future: Any) -> Any:
    from dask import delayed

    return delayed(future)


def constants(client: Any, features: int) -> dict[str, float]:
    """Measure what the model of cost is made of."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, features))
    kernel = RBF(gamma=1.0 / features)
    rows = _core.Samples.dense(X)
    vectors = _core.Samples.dense(X[:5000].copy())
    projection = _core.Projection(kernel._build(), vectors, np.ones((1, 5000)), np.zeros(1))
    start = perf_counter()
    projection.decision(rows, 1)
    examine = (perf_counter() - start) / (len(X) * 5000)
    labels = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=len(X)) > 0).astype(int)
    model = SVC(n_jobs=1).fit(X, labels)
    solve = float(model.report_.seconds) / model.report_.kernel_evaluations
    block = rng.normal(size=2**22)  # 32 MB
    first, second = list(client.scheduler_info()["workers"])[:1] * 2
    there = list(client.scheduler_info()["workers"])
    if len(there) > 1:
        second = there[1]
    future = client.scatter(block, workers=[first])
    start = perf_counter()
    client.submit(len, future, workers=[second], pure=False).result()
    byte = (perf_counter() - start) / block.nbytes
    start = perf_counter()
    client.gather(client.map(abs, range(500), pure=False))
    task = (perf_counter() - start) / 500
    return {
        "ns per kernel value, examination": 1e9 * examine,
        "ns per kernel value, solve": 1e9 * solve,
        "ns per byte sent": 1e9 * byte,
        "ms per task": 1e3 * task,
    }


def main() -> None:
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--flip", type=float, default=0.05)
    parser.add_argument("--separation", type=float, default=1.0)
    parser.add_argument("--local", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    runs: list[Run] = []
    found: dict[str, float] = {}
    print("n        workers  parts  seconds  local   rounds  MB sent  SVs      set      gap")
    for workers in map(int, options.workers.split(",")):
        with (
            LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            fit(client, 2000, workers, options)  # which loads everything
            for n in map(int, options.sizes.split(",")):
                run = fit(client, n, workers, options)
                runs.append(run)
                local = "-" if run.local_seconds is None else f"{run.local_seconds:.2f}"
                print(
                    f"{n:<8} {workers:<8} {run.partitions:<6} {run.seconds:<8.2f} {local:<7} "
                    f"{run.rounds:<7} {run.bytes_sent / 1e6:<8.1f} {run.support_vectors:<8} "
                    f"{run.working_set:<8} {run.gap:.2g}",
                    flush=True,
                )
            found = constants(client, options.features)
    for name, value in found.items():
        print(f"{value:8.3f} {name}")
    if options.json:
        options.json.write_text(
            json.dumps({"runs": [asdict(run) for run in runs], "constants": found}, indent=1)
        )


if __name__ == "__main__":
    main()
