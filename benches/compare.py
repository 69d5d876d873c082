"""Mercer beside scikit-learn, LIBSVM and scikit-learn-intelex: one table, one run, one command.

    python benches/compare.py [--quick] [--cases a,b] [--libraries a,b] [--repeat 3] [--cache MB]
                              [--timeout 3600] [--json FILE] [--chart FILE] [--markdown]
    python benches/compare.py --check [ROWS] [--cases a,b] [--cache MB] [--timeout S] [--json FILE]

Every (case, library) runs in a process of its own, all with the same data, parameters and
tolerance. Times are the best of --repeat, but "first s" is the first fit of the process, which also
pays for threads, memory and whatever else is made only once. No repeat begins once a library has
worked for a minute on a case, nor when it might not end within --timeout. What does is shown as
"> limit" and left out of the ratios. --quick takes a few cases twice, 20 seconds for each library,
three minutes in all.

Peers get a cache of 4000 MB, Mercer "auto". --cache changes scikit-learn and Mercer, the others
stay at 4000: with `--cache 200 --libraries scikit-learn,mercer` the two have equal memory, and x is
Mercer beside scikit-learn. LIBSVM's times leave out the conversion of the training data to its own
structures, which favours it. Memory is the peak of the whole process, data and imports included
(Linux only). "n" counts the rows trained on; "x" is how many times as long the fastest peer took,
marked with ! below 1.5. "evals" is the number of kernel values computed, divided by n times SV
(two classes). Where a case is called one-row, "predict s" is the mean time of a call with a single
row, and the fit is not compared again. "classes" is a number for a classifier (SVC), else the kind
of machine, on which two more columns depend:

    kind         score, on the test rows              same: share of test rows where ...
    SVC          accuracy                             the label is scikit-learn's
    SVR          R^2                                  the prediction is scikit-learn's, to within
                                                      0.01 standard deviations of y
    OneClassSVM  share of the class's own accepted    the label is scikit-learn's

At the end stands everything that is not as Mercer promises, or could not be compared: x of at least
1.5 in each row and 4 (fit) and 3 (predict) in the mean of all cases, scores within 0.2 points of
scikit-learn's, a gap of at most 1.1 tol, with unlimited cache at most 1.6 evals, with --cache a fit
at least as fast as scikit-learn's and a peak of at most scikit-learn's and the cache. --check
proves the solutions instead of timing them (see _check.py).
"""

import argparse
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import _check
import _data
from _cases import CASES, QUICK, Kind
from _libraries import LIBRARIES, TOLERANCE
from _runs import Failure, Job, Run, run_apart
from sweep import GAP_SLACK

# Seconds for a library on a case, and for everything with --quick.
TIMEOUT = 3600.0
QUICK_TIMEOUT = 20.0
REPEAT = 3
# The first fit of a process pays for its memory.
QUICK_REPEAT = 2
QUICK_TOTAL = 170.0
# Largest difference of two predictions that count as the same, in standard deviations of y.
SAME_PREDICTION = 1e-2

# What Mercer promises.
LEAST_RATIO = 1.5
LEAST_MEAN_FIT = 4.0
LEAST_MEAN_PREDICT = 3.0
MOST_EVALUATIONS = 1.6

# --- The table.

HEADER = (
    f"{'data':17} {'n':>6} {'d':>4} {'classes':>11}  {'library':14} {'SV':>6} {'score':>7}"
    f" {'same':>7} {'peak MB':>8} {'evals':>6} {'first s':>9} {'x':>6} {'fit s':>9} {'x':>6}"
    f" {'predict s':>10} {'x':>6}"
)


@dataclass(frozen=True)
class Row:
    """A run, its share of predictions like scikit-learn's, and its speed beside the best peer."""

    run: Run
    same: float | None = None
    first_ratio: float | None = None
    fit_ratio: float | None = None
    predict_ratio: float | None = None

    def __str__(self) -> str:
        run = self.run
        same = "-" if self.same is None else f"{self.same:.2%}"
        evaluations = "" if run.evaluations is None else f"{run.evaluations:.2f}"
        # The time of a single row is far below a millisecond.
        predict = f"{run.predict:10.{6 if CASES[run.case].one_row else 3}f}"
        return (
            f"{run.case:17} {run.n:6} {run.d:4} {run.machine:>11}  {run.library:14}"
            f" {run.support_vectors:6} {run.score:7.2%} {same:>7} {run.peak_mb:8.0f}"
            f" {evaluations:>6} {run.first_fit:9.3f} {marked(self.first_ratio):>6}"
            f" {run.fit:9.3f} {marked(self.fit_ratio):>6}"
            f" {predict} {marked(self.predict_ratio):>6}"
        )


def marked(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.1f}{'!' if ratio < LEAST_RATIO else ' '}"


@dataclass
class Table:
    """All that was run, and all that could not be."""

    rows: list[Row] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        print(row, flush=True)

    def fail(self, failure: Failure) -> None:
        self.failures.append(failure)
        print(f"{failure.case:41}  {failure.library:14} {failure.reason}", flush=True)

    def of(self, library: str) -> dict[str, Row]:
        """Return the rows of a library by case."""
        return {row.run.case: row for row in self.rows if row.run.library == library}

    def means(self) -> dict[str, float | None]:
        ours = self.of("mercer").values()
        return {
            "first": geometric_mean(row.first_ratio for row in ours),
            "fit": geometric_mean(row.fit_ratio for row in ours),
            "predict": geometric_mean(row.predict_ratio for row in ours),
        }


def geometric_mean(values: Iterable[float | None]) -> float | None:
    logarithms = [math.log(value) for value in values if value is not None]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None


def agreement(kind: Kind, reference: NDArray[Any], predicted: NDArray[Any]) -> float:
    if kind == "SVR":
        # y is standardised.
        return float(np.mean(np.abs(predicted - reference) <= SAME_PREDICTION))
    return float(np.mean(predicted == reference))


def beside(row: Row, peers: Sequence[Run]) -> Row:
    """Add the ratios to a row of Mercer's."""
    if not peers:
        return row
    run, one_row = row.run, CASES[row.run.case].one_row
    return replace(
        row,
        first_ratio=None if one_row else min(peer.first_fit for peer in peers) / run.first_fit,
        fit_ratio=None if one_row else min(peer.fit for peer in peers) / run.fit,
        predict_ratio=min(peer.predict for peer in peers) / run.predict,
    )


def compare(
    name: str, libraries: Sequence[str], options: argparse.Namespace, end: float, table: Table
) -> None:
    """Run one case with every library; no run goes on after `end`."""
    case = CASES[name]
    peers: list[Run] = []
    with tempfile.TemporaryDirectory() as folder:
        reference = Path(folder) / "scikit-learn.npz"
        for library in libraries:
            if case.kind in LIBRARIES[library].lacks:
                table.fail(Failure(name, library, f"has no {case.kind} of its own"))
                continue
            limit = min(options.timeout, end - time.monotonic())
            if limit <= 0:
                table.fail(Failure(name, library, "not run: no time is left"))
                continue
            output = Path(folder) / f"{library}.npz"
            job = Job(name, library, options.repeat, limit, options.cache, str(output))
            run = run_apart(job)
            if isinstance(run, Failure):
                table.fail(run)
                continue
            same = None
            if reference.exists():
                with np.load(reference) as theirs, np.load(output) as ours:
                    same = agreement(case.kind, theirs["predicted"], ours["predicted"])
            row = Row(run, same)
            if library == "mercer":
                row = beside(row, peers)
            else:
                peers.append(run)
            table.add(row)


def shortfalls(table: Table, cache: float | None) -> Iterator[str]:
    """Name everything that is not as promised, and what could not be compared."""
    for failure in table.failures:
        if failure.library == "mercer":
            yield f"{failure.case}: mercer {failure.reason}"
    peer = table.of("scikit-learn")
    for case, row in table.of("mercer").items():
        run = row.run
        for what, ratio in (("fit", row.fit_ratio), ("predict", row.predict_ratio)):
            if ratio is not None and ratio < LEAST_RATIO:
                yield f"{case}: {what} {ratio:.2f} times as fast as the best peer"
        if run.gap is not None and not run.gap <= GAP_SLACK * TOLERANCE:
            yield f"{case}: gap {run.gap:.2e}, status {run.status}"
        if cache is None and run.evaluations is not None and run.evaluations > MOST_EVALUATIONS:
            yield f"{case}: {run.evaluations:.2f} kernel evaluations per row and support vector"
        if row.predict_ratio is None:
            yield f"{case}: no peer's time to compare with"
        if case not in peer:
            yield f"{case}: no score of scikit-learn's to compare with"
            continue
        theirs = peer[case].run
        if abs(run.score - theirs.score) > _check.SCORE_DIFFERENCE:
            yield f"{case}: score {run.score:.2%}, scikit-learn's {theirs.score:.2%}"
        if cache is not None and run.fit > theirs.fit:
            yield f"{case}: fit {run.fit:.3f} s, scikit-learn's {theirs.fit:.3f} s"
        if cache is not None and run.peak_mb > theirs.peak_mb + cache:
            yield f"{case}: peak {run.peak_mb:.0f} MB, scikit-learn's {theirs.peak_mb:.0f} MB"
    if len(table.of("mercer")) < len(CASES):
        return  # the means are promised for all cases together
    means = table.means()
    for what, least in (("fit", LEAST_MEAN_FIT), ("predict", LEAST_MEAN_PREDICT)):
        mean = means[what]
        if mean is not None and mean < least:
            yield f"geometric mean of {what} {mean:.2f}, below {least:g}"


# --- Other forms of it.


def markdown(table: Table, libraries: Sequence[str]) -> str:
    """Return the README's table: seconds of the first fit of a process / to predict, and ratios."""
    shown = sorted(libraries, key=lambda library: library != "mercer")
    head = ["data", "n x d", "classes", *shown, "first fit / predict", "best fit"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for case in dict.fromkeys(row.run.case for row in table.rows):
        rows = {row.run.library: row for row in table.rows if row.run.case == case}
        first = next(iter(rows.values())).run
        digits = 6 if CASES[case].one_row else 3
        cells = [case, f"{first.n} x {first.d}", first.machine]
        for library in shown:
            run = rows[library].run if library in rows else None
            times = f"{run.first_fit:.3f} / {run.predict:.{digits}f}" if run else "-"
            cells.append(times)
        ours = rows.get("mercer")
        ratios = (ours.first_ratio, ours.predict_ratio, ours.fit_ratio) if ours else (None,) * 3
        cold, predict, best = ("-" if ratio is None else f"{ratio:.1f}" for ratio in ratios)
        lines.append("| " + " | ".join([*cells, f"{cold} / {predict}", best]) + " |")
    return "\n".join(lines)


def as_json(table: Table, libraries: Sequence[str], options: argparse.Namespace) -> str:
    rows = [
        {
            **asdict(row.run),
            "same": row.same,
            "evaluations": row.run.evaluations,
            "first_ratio": row.first_ratio,
            "fit_ratio": row.fit_ratio,
            "predict_ratio": row.predict_ratio,
        }
        for row in table.rows
    ]
    everything = {
        "versions": {name: LIBRARIES[name].version for name in libraries},
        "tol": TOLERANCE,
        "repeat": options.repeat,
        "cache": options.cache,
        "timeout": options.timeout,
        "rows": rows,
        "failures": [asdict(failure) for failure in table.failures],
        "geometric_means": table.means(),
        "shortfalls": list(shortfalls(table, options.cache)),
    }
    return json.dumps(everything, indent=1) + "\n"


# --- The command.


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
    parser.add_argument(
        "--repeat", type=int, help=f"best of so many runs ({REPEAT}; --quick: {QUICK_REPEAT})"
    )
    parser.add_argument(
        "--cache", type=float, metavar="MB", help="scikit-learn's (4000) and Mercer's ('auto')"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="S",
        help=f"seconds for a library on a case ({TIMEOUT:g}; --quick: {QUICK_TIMEOUT:g})",
    )
    parser.add_argument("--quick", action="store_true", help="a few cases")
    parser.add_argument(
        "--check",
        type=int,
        nargs="?",
        const=_check.MAX_ROWS,
        metavar="ROWS",
        help="prove solutions, time nothing; cases of at most so many rows (%(const)s)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="draw the times into this PNG")
    parser.add_argument("--markdown", action="store_true", help="print the README's table too")
    parser.add_argument("--list", action="store_true", help="name the cases and stop")
    options = parser.parse_args(arguments)
    if options.check and (options.chart or options.markdown):
        parser.error("--check times nothing: it has no --chart and no --markdown")
    options.repeat = options.repeat or (QUICK_REPEAT if options.quick else REPEAT)
    options.timeout = options.timeout or (QUICK_TIMEOUT if options.quick else TIMEOUT)
    options.cases = options.cases or list(QUICK if options.quick else CASES)
    return options


def list_cases() -> None:
    for name, case in CASES.items():
        note = f"   (missing: {case.file}.npz in MERCER_DATA)" if case.missing else ""
        parameters = ", ".join(f"{key} = {value:.4g}" for key, value in case.parameters.items())
        print(f"{name:17} {case.kind:11} {parameters}{note}")


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    if options.list:
        list_cases()
        return 0
    # In the order of LIBRARIES: scikit-learn before those compared with it.
    chosen = [name for name in LIBRARIES if name in options.libraries]
    installed = [name for name in chosen if LIBRARIES[name].version]
    for name in chosen:
        version = LIBRARIES[name].version
        print(f"{name:13} {version or 'not installed: pip install ' + LIBRARIES[name].package}")
    cases = [name for name in options.cases if not CASES[name].missing]
    for name in options.cases:
        if name not in cases:
            print(f"{name:17} skipped: no {CASES[name].file}.npz in {_data.directory()}")
    if options.check:
        return _check.run(cases, options)

    print(f"\nRBF kernel, tol = {TOLERANCE:g}, best of {options.repeat}\n\n{HEADER}")
    end = time.monotonic() + (QUICK_TOTAL if options.quick else math.inf)
    table = Table()
    for name in cases:
        compare(name, installed, options, end, table)
    means = table.means()
    first, fit, predict = ("-" if mean is None else f"{mean:.1f} " for mean in means.values())
    print(f"{'geometric mean of x':106} {first:>6} {'':9} {fit:>6} {'':10} {predict:>6}")
    found = list(shortfalls(table, options.cache))
    if not table.of("mercer"):
        found.append("no case was run with mercer")
    print("\nnot as promised, or not known:" if found else "\nall as promised")
    for line in found:
        print(f"  {line}")
    if options.markdown:
        print("\n" + markdown(table, installed))
    if options.json:
        options.json.write_text(as_json(table, installed, options))
    if options.chart:
        import _chart

        _chart.dots([row.run for row in table.rows], table.failures, installed, options.chart)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
