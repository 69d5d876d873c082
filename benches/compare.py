"""Mercer beside scikit-learn, LIBSVM and scikit-learn-intelex: one table, one run, one command.

    python benches/compare.py [--quick] [--cases a,b] [--libraries a,b] [--repeat 3] [--json FILE]

Every (case, library) runs in a process of its own, all with the same data, parameters and
tolerance. Times are the best of --repeat; no repeat begins once a library has worked for a minute
on a case. Peers get a cache of 4000 MB. LIBSVM's times leave out the conversion of the training
data to its own structures, which favours it. Memory is the peak of the whole process, data and
imports included (Linux only). "n" counts the rows trained on; "x" is how many times as long the
fastest peer took. "classes" is a number for a classifier (SVC), else the kind of machine, on which
two more columns depend:

    kind         score, on the test rows              same: share of test rows where ...
    SVC          accuracy                             the label is scikit-learn's
    SVR          R^2                                  the prediction is scikit-learn's, to within
                                                      0.01 standard deviations of y
    OneClassSVM  share of the class's own accepted    the label is scikit-learn's
"""

import argparse
import importlib.metadata
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import _data
from _data import Data

TOLERANCE = 1e-3
PEER_CACHE = 4000
SMALL_CACHE = 200
TEST_ROWS = 10_000
# Seconds of work on one case after which a library is not run again.
ENOUGH = 60.0
# Largest difference of two predictions that count as the same, in standard deviations of y.
SAME_PREDICTION = 1e-2

Kind = Literal["SVC", "SVR", "OneClassSVM"]


@dataclass(frozen=True)
class Case:
    """A data set, the kind of its RBF machine, and the parameters by scikit-learn's names."""

    load: Callable[[], Data]
    parameters: Mapping[str, float]
    kind: Kind = "SVC"
    file: str | None = None
    small_cache: bool = False

    @property
    def missing(self) -> bool:
        return self.file is not None and not _data.available(self.file)


def checkerboard() -> Data:
    from mercer.datasets import make_checkerboard

    random = np.random.RandomState(0)
    return Data(
        *make_checkerboard(random_state=random),
        *make_checkerboard(TEST_ROWS, random_state=random),
    )


def synthetic(n: int, d: int) -> Case:
    def load() -> Data:
        from sklearn.datasets import make_classification

        X, y = make_classification(
            n + TEST_ROWS,
            d,
            n_informative=d // 2,
            flip_y=0.05,
            class_sep=0.8,
            random_state=0,
        )
        return standardised(Data(X[:n], y[:n], X[n:], y[n:]))

    return Case(load, {"C": 1.0, "gamma": 1 / d}, small_cache=n == 20_000)


def real(
    name: str, prepare: Callable[[Data], Data], kind: Kind = "SVC", **parameters: float
) -> Case:
    return Case(lambda: prepare(_data.load(name)), parameters, kind, file=name)


def as_is(data: Data) -> Data:
    return data


def standardised(data: Data) -> Data:
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(data.X)
    return Data(scaler.transform(data.X), data.y, scaler.transform(data.X_test), data.y_test)


def first_80_percent(data: Data) -> Data:
    """Train on the first 16000 of 20000 rows, as usual with letter, scaled to -1..1."""
    X, y = np.concatenate([data.X, data.X_test]), np.concatenate([data.y, data.y_test])
    low, high = X.min(axis=0), X.max(axis=0)
    X, n = 2.0 * (X - low) / (high - low) - 1.0, len(X) * 4 // 5
    return Data(X[:n], y[:n], X[n:], y[n:])


def all_images(data: Data) -> Data:
    return Data(data.X / 255.0, data.y, data.X_test / 255.0, data.y_test)


def ten_thousand_images(data: Data) -> Data:
    return Data(data.X[:10_000] / 255.0, data.y[:10_000], data.X_test / 255.0, data.y_test)


def regression(data: Data) -> Data:
    """Set 30% aside for the test; standardise X and y by the rest."""
    from sklearn.model_selection import train_test_split

    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    mean, deviation = y.mean(), y.std()
    return standardised(Data(X, (y - mean) / deviation, X_test, (y_test - mean) / deviation))


def images_of_three(data: Data) -> Data:
    """Train on one digit alone; all test images, those of the digit with label 1, others -1."""
    own = data.X[data.y == 3] / 255.0
    return Data(own, np.ones(len(own)), data.X_test / 255.0, np.where(data.y_test == 3, 1.0, -1.0))


CASES: dict[str, Case] = {
    "checkerboard": Case(checkerboard, {"C": 5.0, "gamma": 2.0}),
    "synthetic-5k-20": synthetic(5_000, 20),
    "synthetic-20k-20": synthetic(20_000, 20),
    "synthetic-20k-100": synthetic(20_000, 100),
    "satellite": real("satellite", standardised, C=10.0, gamma=1 / 36),
    "usps": real("usps", as_is, C=10.0, gamma=1 / 128),
    "pendigits": real("pendigits", standardised, C=10.0, gamma=1 / 16),
    "letter": real("letter", first_80_percent, C=16.0, gamma=2.0),
    "shuttle": real("shuttle", standardised, C=10.0, gamma=1 / 9),
    "a9a": real("a9a", as_is, C=1.0, gamma=1 / 123),
    "ijcnn1": real("ijcnn1", as_is, C=10.0, gamma=1.0),
    "mnist-10k": real("mnist", ten_thousand_images, C=10.0, gamma=0.02),
    "mnist-60k": real("mnist", all_images, C=10.0, gamma=0.02),
    "abalone": real("abalone", regression, "SVR", C=10.0, gamma=1 / 8, epsilon=0.1),
    "cpusmall": real("cpusmall", regression, "SVR", C=10.0, gamma=1 / 12, epsilon=0.1),
    "cal_housing": real("cal_housing", regression, "SVR", C=10.0, gamma=1 / 8, epsilon=0.1),
    "mnist-digit-3": real("mnist", images_of_three, "OneClassSVM", nu=0.1, gamma=0.02),
}
QUICK = ("checkerboard", "synthetic-5k-20", "synthetic-20k-20", "satellite", "pendigits")

# --- The libraries. Each makes a pair of functions: fit() -> number of support vectors, and
# --- predict() -> labels or values. scikit-learn comes first: the others are compared with it.

Functions = tuple[Callable[[], int], Callable[[], NDArray[Any]]]


def _estimator(module: Any, case: Case, data: Data, cache: float | str) -> Functions:
    model = getattr(module, case.kind)(**case.parameters, tol=TOLERANCE, cache_size=cache)

    def fit() -> int:
        return len(model.fit(data.X, data.y).support_)

    return fit, lambda: model.predict(data.X_test)


def scikit_learn(case: Case, data: Data, cache: float | None) -> Functions:
    from sklearn import svm

    return _estimator(svm, case, data, PEER_CACHE)


def libsvm(case: Case, data: Data, cache: float | None) -> Functions:
    from libsvm import svmutil

    problem = svmutil.svm_problem(data.y, data.X)
    kind = {"SVC": 0, "OneClassSVM": 2, "SVR": 3}[case.kind]
    flags = {"C": "-c", "gamma": "-g", "epsilon": "-p", "nu": "-n"}
    parameters = " ".join(f"{flags[name]} {value}" for name, value in case.parameters.items())
    options = f"-q -s {kind} -t 2 {parameters} -e {TOLERANCE} -m {PEER_CACHE}"
    models: list[Any] = []

    def fit() -> int:
        models[:] = [svmutil.svm_train(problem, options)]
        return int(models[0].get_nr_sv())

    def predict() -> NDArray[Any]:
        return np.asarray(svmutil.svm_predict([], data.X_test, models[0], "-q")[0])

    return fit, predict


def sklearnex(case: Case, data: Data, cache: float | None) -> Functions:
    from sklearnex import svm

    return _estimator(svm, case, data, PEER_CACHE)


def mercer(case: Case, data: Data, cache: float | None) -> Functions:
    import mercer

    return _estimator(mercer, case, data, "auto" if cache is None else cache)


@dataclass(frozen=True)
class Library:
    """A library, the package that installs it, and the kinds of machine that it lacks."""

    package: str
    prepare: Callable[[Case, Data, float | None], Functions]
    lacks: tuple[Kind, ...] = ()

    @property
    def version(self) -> str | None:
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None


LIBRARIES = {
    "scikit-learn": Library("scikit-learn", scikit_learn),
    "libsvm": Library("libsvm-official", libsvm),
    "sklearnex": Library("scikit-learn-intelex", sklearnex, lacks=("OneClassSVM",)),
    "mercer": Library("mercer", mercer),
}

# --- One run, in a process of its own.


@dataclass(frozen=True)
class Run:
    """What one library did on one case."""

    case: str
    library: str
    n: int
    d: int
    kind: Kind
    classes: int | None
    support_vectors: int
    score: float
    peak_mb: float
    fit: float
    predict: float

    @property
    def machine(self) -> str:
        """The number of classes, or the kind of a machine that has none."""
        return self.kind if self.classes is None else str(self.classes)


def numbered(data: Data) -> Data:
    """Put numbers in the place of class labels: LIBSVM takes no others."""
    from sklearn.preprocessing import LabelEncoder

    encoder = LabelEncoder().fit(data.y)
    y, y_test = (encoder.transform(part).astype(np.float64) for part in (data.y, data.y_test))
    return Data(data.X, y, data.X_test, y_test)


def score(kind: Kind, y: Any, predicted: NDArray[Any]) -> float:
    if kind == "SVR":
        return float(1.0 - np.mean((y - predicted) ** 2) / np.var(y))
    if kind == "OneClassSVM":
        return float(np.mean(predicted[y == 1] == 1))
    return float(np.mean(predicted == y))


def work(case_name: str, library: str, repeat: int, cache: float | None, output: Path) -> Run:
    case = CASES[case_name]
    data = case.load()
    if case.kind == "SVC":
        data = numbered(data)
    fit, predict = LIBRARIES[library].prepare(case, data, cache)

    fit_seconds: list[float] = []
    predict_seconds: list[float] = []
    while len(fit_seconds) < repeat and sum(fit_seconds) + sum(predict_seconds) < ENOUGH:
        start = time.perf_counter()
        support_vectors = fit()
        fitted = time.perf_counter()
        predicted = predict()
        fit_seconds.append(fitted - start)
        predict_seconds.append(time.perf_counter() - fitted)
    np.save(output, predicted)
    return Run(
        case=case_name,
        library=library,
        n=data.X.shape[0],
        d=data.X.shape[1],
        kind=case.kind,
        classes=len(np.unique(data.y)) if case.kind == "SVC" else None,
        support_vectors=support_vectors,
        score=score(case.kind, data.y_test, predicted),
        peak_mb=_peak_megabytes(),
        fit=min(fit_seconds),
        predict=min(predict_seconds),
    )


def _peak_megabytes() -> float:
    # Not getrusage: its figure starts from the parent's.
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return math.nan
    peaks = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(peaks[0]) / 1024 if peaks else math.nan


def run_apart(
    case: str, library: str, repeat: int, cache: float | None, output: Path, timeout: float
) -> Run | str:
    """Run `work` in a new process; a string is the reason why it failed."""
    job = json.dumps([case, library, repeat, cache, str(output)])
    threads = str(len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count())
    environment = {"OMP_NUM_THREADS": threads, **os.environ}
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--worker", job],
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"took longer than {timeout:g} s"
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    return Run(**json.loads(done.stdout.splitlines()[-1]))


# --- The table.

HEADER = (
    f"{'data':17} {'n':>6} {'d':>4} {'classes':>11}  {'library':14} {'SV':>6} {'score':>7}"
    f" {'same':>7} {'peak MB':>8} {'fit s':>9} {'x':>5} {'predict s':>10} {'x':>5}"
)


@dataclass(frozen=True)
class Row:
    """A run, its share of predictions like scikit-learn's, and its speed beside the best peer."""

    run: Run
    same: float | None
    fit_ratio: float | None = None
    predict_ratio: float | None = None

    def __str__(self) -> str:
        run = self.run
        same = "-" if self.same is None else f"{self.same:.2%}"
        ratios = ["" if r is None else f"{r:.1f}" for r in (self.fit_ratio, self.predict_ratio)]
        return (
            f"{run.case:17} {run.n:6} {run.d:4} {run.machine:>11}  {run.library:14}"
            f" {run.support_vectors:6} {run.score:7.2%} {same:>7} {run.peak_mb:8.0f}"
            f" {run.fit:9.3f} {ratios[0]:>5} {run.predict:10.3f} {ratios[1]:>5}"
        )


def agreement(kind: Kind, reference: NDArray[Any], predicted: NDArray[Any]) -> float:
    if kind == "SVR":
        # y is standardised.
        return float(np.mean(np.abs(predicted - reference) <= SAME_PREDICTION))
    return float(np.mean(predicted == reference))


def geometric_mean(values: Iterable[float | None]) -> float:
    logarithms = [math.log(value) for value in values if value is not None]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan


def compare(name: str, libraries: Sequence[str], options: argparse.Namespace) -> list[Row]:
    """Run one case with every library and print a line for each."""
    case = CASES[name]
    rows: list[Row] = []
    jobs: list[tuple[str, str, float | None]]
    jobs = [(library, library, None) for library in libraries if library != "mercer"]
    if "mercer" in libraries:
        jobs.append(("mercer", "mercer", options.cache))
        if case.small_cache:
            jobs.append(("mercer", f"mercer {SMALL_CACHE} MB", SMALL_CACHE))
    with tempfile.TemporaryDirectory() as folder:
        reference = Path(folder) / "scikit-learn.npy"
        for library, shown, cache in jobs:
            if case.kind in LIBRARIES[library].lacks:
                print(f"{name:41}  {shown:14} has no {case.kind} of its own", flush=True)
                continue
            output = Path(folder) / f"{shown}.npy"
            run = run_apart(name, library, options.repeat, cache, output, options.timeout)
            if isinstance(run, str):
                print(f"{name:41}  {shown:14} failed: {run}", flush=True)
                continue
            run = Run(**{**asdict(run), "library": shown})
            same = None
            if reference.exists():
                same = agreement(case.kind, np.load(reference), np.load(output))
            peers = [row.run for row in rows if not row.run.library.startswith("mercer")]
            ratios: dict[str, float] = {}
            if library == "mercer" and peers:
                ratios["fit_ratio"] = min(peer.fit for peer in peers) / run.fit
                ratios["predict_ratio"] = min(peer.predict for peer in peers) / run.predict
            rows.append(Row(run, same, **ratios))
            print(rows[-1], flush=True)
    return rows


def markdown(rows: Sequence[Row], libraries: Sequence[str]) -> str:
    """One line for each case, for the README: seconds to fit / seconds to predict."""
    shown = sorted(libraries, key=lambda library: library != "mercer")
    lines = ["| " + " | ".join(["data", "n x d", "classes", *shown]) + " |"]
    lines.append("|---" * (3 + len(shown)) + "|")
    for case in dict.fromkeys(row.run.case for row in rows):
        runs = {row.run.library: row.run for row in rows if row.run.case == case}
        first = next(iter(runs.values()))
        cells = [case, f"{first.n} x {first.d}", first.machine]
        cells += [f"{runs[x].fit:.3f} / {runs[x].predict:.3f}" if x in runs else "-" for x in shown]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def names(known: Iterable[str]) -> Callable[[str], list[str]]:
    """A parser of comma-separated names out of those known."""
    allowed = list(known)

    def parse(text: str) -> list[str]:
        chosen = text.split(",")
        for name in chosen:
            if name not in allowed:
                raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(allowed)}")
        return chosen

    return parse


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=names(CASES), help="names with commas between (all)")
    parser.add_argument(
        "--libraries", type=names(LIBRARIES), default=list(LIBRARIES), help="likewise (all)"
    )
    parser.add_argument("--repeat", type=int, help="best of so many runs (3)")
    parser.add_argument("--cache", type=float, metavar="MB", help="Mercer's cache ('auto')")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds (%(default)g)")
    parser.add_argument("--quick", action="store_true", help="the smaller cases, once")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here")
    parser.add_argument("--markdown", action="store_true", help="print the README's table too")
    parser.add_argument("--list", action="store_true", help="name the cases and stop")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.repeat = options.repeat or (1 if options.quick else 3)
    options.cases = options.cases or list(QUICK if options.quick else CASES)
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    if options.worker:
        case, library, repeat, cache, output = json.loads(options.worker)
        print(json.dumps(asdict(work(case, library, repeat, cache, Path(output)))))
        return 0
    if options.list:
        for name, case in CASES.items():
            note = f"   (missing: {case.file}.npz in MERCER_DATA)" if case.missing else ""
            parameters = ", ".join(f"{key} = {value:.4g}" for key, value in case.parameters.items())
            print(f"{name:17} {case.kind:11} {parameters}{note}")
        return 0

    # In the order of LIBRARIES: scikit-learn before those compared with it.
    chosen = [name for name in LIBRARIES if name in options.libraries]
    installed = [name for name in chosen if LIBRARIES[name].version]
    for name in chosen:
        version = LIBRARIES[name].version
        print(f"{name:13} {version or 'not installed: pip install ' + LIBRARIES[name].package}")
    print(f"\nRBF kernel, tol = {TOLERANCE:g}, best of {options.repeat}\n\n{HEADER}")
    rows: list[Row] = []
    for name in options.cases:
        if CASES[name].missing:
            print(f"{name:41}  skipped: no {CASES[name].file}.npz in {_data.directory()}")
        else:
            rows += compare(name, installed, options)
    ours = [row for row in rows if row.run.library == "mercer"]
    print(
        f"{'geometric mean of x':89}{geometric_mean(row.fit_ratio for row in ours):16.1f}"
        f"{geometric_mean(row.predict_ratio for row in ours):17.1f}"
    )
    if options.markdown:
        print("\n" + markdown(rows, installed))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
