"""How cost grows: time and memory of a fit against the number of rows, beside the peers.

    python benches/scaling.py [--sizes 1000,2000] [--libraries a,b] [--repeat 3] [--timeout 600]
                              [--json FILE] [--chart FILE]

The data are `make_classification` with 30 features, the parameters those of compare.py, and every
fit runs in a process of its own. A library that takes longer than --timeout at one size is not run
at larger ones. Memory is what the fit adds to the process at its peak, without data and imports
(Linux only). The exponents are those of the power law through the points with n of at least 5000
(least squares of the logarithms): below, what does not grow with n still counts.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

import _chart
from _libraries import LIBRARIES
from _runs import Failure, Job, Run, run_apart

FEATURES = 30
SIZES = (1000, 2000, 5000, 10_000, 20_000, 40_000)
# Rows from which on the exponent is fitted.
LARGE = 5000

Points = list[tuple[int, float]]
FIGURES: dict[str, Callable[[Run], float]] = {
    "seconds to fit": lambda run: run.fit,
    "MB a fit adds": lambda run: run.fit_mb,
}


def points(runs: Sequence[Run], figure: Callable[[Run], float]) -> dict[str, Points]:
    """Return (n, figure) by library; what is not a positive number has no logarithm."""
    found: dict[str, Points] = {}
    for run in runs:
        if figure(run) > 0.0:
            found.setdefault(run.library, []).append((run.n, figure(run)))
    return found


def exponent(line: Points) -> float | None:
    """Fit the power of n; None for fewer than two sizes."""
    large = [(n, value) for n, value in line if n >= LARGE]
    if len({n for n, _ in large}) < 2:
        return None
    n, values = np.log(np.transpose(large))
    return float(np.polyfit(n, values, 1)[0])


def measure(
    libraries: Sequence[str], options: argparse.Namespace
) -> tuple[list[Run], dict[str, Failure]]:
    """Run every size with every library; a library that fails is not run again."""
    runs: list[Run] = []
    failures: dict[str, Failure] = {}
    for n in options.sizes:
        for library in libraries:
            if library in failures:
                continue
            job = Job(f"synthetic-{n}-{FEATURES}", library, options.repeat, options.timeout)
            run = run_apart(job)
            if isinstance(run, Failure):
                print(f"{n:7}  {library:14} {run.reason}", flush=True)
                failures[library] = run
                continue
            runs.append(run)
            print(
                f"{n:7}  {library:14} {run.support_vectors:6} {run.fit:9.3f} {run.fit_mb:8.0f}"
                f" {run.peak_mb:8.0f}",
                flush=True,
            )
    return runs, failures


def fitted(panels: Mapping[str, Mapping[str, Points]]) -> dict[str, dict[str, float]]:
    """Return the exponents, by figure and library."""
    found: dict[str, dict[str, float]] = {}
    for label, lines in panels.items():
        powers = {library: exponent(line) for library, line in lines.items()}
        found[label] = {library: power for library, power in powers.items() if power is not None}
    return found


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sizes",
        type=lambda text: sorted(int(n) for n in text.split(",")),
        default=list(SIZES),
        help=f"rows, with commas between ({','.join(map(str, SIZES))})",
    )
    parser.add_argument("--libraries", default=",".join(LIBRARIES), help="%(default)s")
    parser.add_argument("--repeat", type=int, default=3, help="best of so many (%(default)s)")
    parser.add_argument(
        "--timeout", type=float, default=600, metavar="S", help="seconds for one size (%(default)g)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure here")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="draw both plots into this PNG")
    options = parser.parse_args(arguments)
    options.libraries = options.libraries.split(",")
    for name in options.libraries:
        if name not in LIBRARIES:
            parser.error(f"{name!r} is not one of {', '.join(LIBRARIES)}")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    libraries = [name for name in options.libraries if LIBRARIES[name].version]
    print(f"{'n':>7}  {'library':14} {'SV':>6} {'fit s':>9} {'fit MB':>8} {'peak MB':>8}")
    runs, failures = measure(libraries, options)
    panels = {label: points(runs, figure) for label, figure in FIGURES.items()}
    exponents = fitted(panels)
    for label, powers in exponents.items():
        for library, power in powers.items():
            print(f"{label:15} {library:14} n^{power:.2f}")
    if options.json:
        everything = {
            "runs": [asdict(run) for run in runs],
            "failures": [asdict(failure) for failure in failures.values()],
            "exponents": exponents,
        }
        options.json.write_text(json.dumps(everything, indent=1) + "\n")
    if options.chart:
        title = f"make_classification, d = {FEATURES}, RBF kernel"
        _chart.growth(panels, exponents, title, options.chart)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
