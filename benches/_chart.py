"""Pictures of the benchmarks."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from _cases import find
from _runs import Failure, Run

# Mercer in the strongest colour; all four differ in lightness too.
COLOURS = {
    "mercer": "#b2182b",
    "scikit-learn": "#f4a143",
    "libsvm": "#4393c3",
    "sklearnex": "#2d3b66",
}
HATCH = "///"
GROUP = 0.8  # share of the distance between two cases that their bars fill


def bars(
    done: Sequence[Run], failures: Sequence[Failure], libraries: Sequence[str], file: Path
) -> None:
    """Draw seconds to fit and to predict, a group for each case.

    A library that ran out of time has a hatched bar as high as its limit in the upper panel.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    predictions = {(run.case, run.library): run.predict for run in done}
    # The fit of a one-row case is that of another case: no bar.
    fits = {(run.case, run.library): run.fit for run in done if not find(run.case).one_row}
    late = {
        (one.case, one.library): one.limit
        for one in failures
        if one.limit is not None and not find(one.case).one_row
    }
    cases = list(dict.fromkeys(case for case, _ in [*predictions, *late]))

    figure = Figure(figsize=(max(8.0, 1.5 + 0.8 * len(cases)), 8.0), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    # Mercer first, as in the README.
    shown = sorted(libraries, key=lambda library: library != "mercer")
    width = GROUP / len(shown)
    panels: tuple[tuple[Any, Mapping[tuple[str, str], float], dict[str, Any]], ...] = (
        (upper, fits, {}),
        (upper, late, {"alpha": 0.3, "hatch": HATCH}),
        (lower, predictions, {}),
    )
    for i, library in enumerate(shown):
        x = np.arange(len(cases)) + (i - (len(shown) - 1) / 2) * width
        for axes, seconds, style in panels:
            heights = [seconds.get((case, library), math.nan) for case in cases]
            axes.bar(x, heights, width, color=COLOURS[library], **style)
    for axes, what, drawn in ((upper, "fit", {**fits, **late}), (lower, "predict", predictions)):
        if drawn:  # nothing has no logarithm
            axes.set_yscale("log")
        axes.set(ylabel=f"seconds to {what}", xlim=(-0.6, len(cases) - 0.4))
        axes.grid(axis="y", alpha=0.3)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    lower.set_xticks(range(len(cases)), cases, rotation=40, ha="right")
    handles = [Patch(color=COLOURS[library], label=library) for library in shown]
    if late:
        handles.append(
            Patch(facecolor="white", edgecolor="black", label="out of time", hatch=HATCH)
        )
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    figure.savefig(file, dpi=120)


def growth(
    panels: Mapping[str, Mapping[str, Sequence[tuple[int, float]]]],
    exponents: Mapping[str, Mapping[str, float]],
    title: str,
    file: Path,
) -> None:
    """Draw a log-log panel of points (n, figure) for each key of `panels`, a line per library."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5 * len(panels), 4.8), layout="constrained")
    figure.suptitle(title)
    for axes, (label, lines) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
    ):
        for library, points in lines.items():
            n, values = np.transpose(points)
            exponent = exponents[label].get(library)
            power = "" if exponent is None else f"  $n^{{{exponent:.2f}}}$"
            axes.plot(n, values, "o-", color=COLOURS[library], label=library + power)
        axes.set(xscale="log", yscale="log", xlabel="rows trained on, n", ylabel=label)
        ticks = sorted({n for points in lines.values() for n, _ in points})
        axes.set_xticks(ticks, [f"{n:g}" for n in ticks])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(file, dpi=120)


def costs(
    panels: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]], limit: float, file: Path
) -> None:
    """Draw a log-log panel of points (C, seconds) for each key of `panels`, a line per library.

    A line ends where the next fit would not have ended within `limit` seconds.
    """
    from matplotlib.figure import Figure

    across = (len(panels) + 1) // 2
    figure = Figure(figsize=(4.0 * across, 7.5), layout="constrained")
    drawn = figure.subplots(2, across, squeeze=False, sharex=True, sharey=True).ravel()
    for axes, (label, lines) in zip(drawn, panels.items(), strict=False):
        for library, points in lines.items():
            axes.plot(*np.transpose(points), "o-", color=COLOURS[library], label=library)
        axes.axhline(limit, color="grey", linestyle=":")
        axes.set(xscale="log", yscale="log", title=label, xlabel="C")
        axes.set_ylabel("seconds to the end of the first fit")
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(file, dpi=120)
