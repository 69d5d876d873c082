"""Hard problems: the time of a fit against C, RBF and linear kernels, beside the peers.

    python benches/hard.py [--costs 1,10,100] [--sets a,b] [--kernels rbf,linear] [--libraries a,b]
                           [--timeout 300] [--json FILE] [--chart FILE]

Four sets of about 20000 standardised rows, C from 0.1 to 100000, tol 1e-3, peers with a cache of
4000 MB. Every figure is the first fit of a process of its own, without imports and loading. The
process, which loads the data and predicts too, has --timeout seconds (300 by default); a library
that needs more at one C is not run at larger ones, which are harder. With every library that takes
hours. `x` is how many times as long the fastest peer took; without a peer that ended it is a lower
bound, from the time limit. Mercer's status is told where it is not 'converged'.
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import _chart
from _cases import HARD
from _libraries import LIBRARIES
from _runs import Failure, Job, Run, run_apart

COSTS = (0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)
KERNELS = ("rbf", "linear")
PEERS = tuple(name for name in LIBRARIES if name != "mercer")

Outcome = Run | Failure


def label(cost: float) -> str:
    return f"{cost:g}"


def measure(
    panel: str, costs: Sequence[float], libraries: Iterable[str], limit: float
) -> dict[tuple[float, str], Outcome]:
    """Run every library for every cost, in ascending order; one that fails is not run again."""
    found: dict[tuple[float, str], Outcome] = {}
    for library in libraries:
        for cost in sorted(costs):
            outcome = run_apart(Job(f"{panel}/{cost:g}", library, 1, limit))
            found[cost, library] = outcome
            if isinstance(outcome, Failure):
                print(f"{panel} C={cost:g} {library}: {outcome.reason}", flush=True)
                break
            note = "" if outcome.status in (None, "converged") else f" ({outcome.status})"
            seconds = outcome.first_fit
            print(f"{panel} C={cost:g} {library}: {seconds:.3f} s{note}", flush=True)
    return found


def times(found: dict[tuple[float, str], Outcome], cost: float, limit: float) -> str:
    """Return how many times as long as Mercer the fastest peer took, as text."""
    own = found.get((cost, "mercer"))
    if not isinstance(own, Run):
        return "-"
    tried = {library for _, library in found if library != "mercer"}
    ended = [found.get((cost, library)) for library in tried]
    seconds = [run.first_fit for run in ended if isinstance(run, Run)]
    if seconds:
        return f"{min(seconds) / own.first_fit:.1f}"
    return f"> {limit / own.first_fit:.0f}" if tried else "-"


def table(
    panel: str, found: dict[tuple[float, str], Outcome], libraries: Sequence[str], limit: float
) -> list[str]:
    """Return the lines of a table in Markdown."""
    lines = [f"| {panel}, C | {' | '.join(libraries)} | x |", "|---" * (len(libraries) + 2) + "|"]
    for cost in sorted({cost for cost, _ in found}):
        cells: list[str] = []
        for library in libraries:
            outcome = found.get((cost, library))
            cells.append(f"{outcome.first_fit:.3f}" if isinstance(outcome, Run) else "-")
        lines.append(f"| {cost:g} | {' | '.join(cells)} | {times(found, cost, limit)} |")
    return lines


def listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--costs", default=",".join(map(label, COSTS)))
    parser.add_argument("--sets", type=listed, default=list(HARD))
    parser.add_argument("--kernels", type=listed, default=list(KERNELS))
    parser.add_argument("--libraries", type=listed, default=["mercer", *PEERS])
    parser.add_argument("--timeout", type=float, default=300.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--chart", type=Path)
    chosen = parser.parse_args()
    chosen.costs = [float(cost) for cost in listed(chosen.costs)]
    for names, known in ((chosen.sets, HARD), (chosen.kernels, KERNELS)):
        if unknown := set(names) - set(known):
            parser.error(f"{', '.join(unknown)}: must be of {', '.join(known)}")
    if unknown := set(chosen.libraries) - set(LIBRARIES):
        parser.error(f"{', '.join(unknown)}: must be of {', '.join(LIBRARIES)}")
    return chosen


def main() -> int:
    chosen = options()
    there = {name: LIBRARIES[name].version is not None for name in chosen.libraries}
    libraries = [name for name in chosen.libraries if there[name]]
    outcomes: list[Outcome] = []
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    lines: list[str] = []
    for kernel in chosen.kernels:
        for data in chosen.sets:
            if HARD[data].missing:
                print(f"{data}: the data are missing")
                continue
            panel = f"{data}/{kernel}"
            found = measure(panel, chosen.costs, libraries, chosen.timeout)
            outcomes.extend(found.values())
            lines += [*table(panel, found, libraries, chosen.timeout), ""]
            drawn = panels.setdefault(panel, {})
            for (cost, library), outcome in found.items():
                if isinstance(outcome, Run):
                    drawn.setdefault(library, []).append((cost, outcome.first_fit))
    missing = [name for name in chosen.libraries if not there[name]]
    print("\n".join(["", *lines, *(f"{name} is not installed" for name in missing)]))
    if chosen.chart:
        _chart.costs(panels, chosen.timeout, chosen.chart)
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
