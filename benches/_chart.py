"""Pictures of the benchmarks."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

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
MARKERS = {"mercer": "o", "scikit-learn": "s", "libsvm": "^", "sklearnex": "D"}


def dots(
    done: Sequence[Run], failures: Sequence[Failure], libraries: Sequence[str], file: Path
) -> None:
    """Draw seconds to fit and to predict, a line of dots for each case.

    A library that ran out of time has an empty dot at its limit in the left panel.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    # The time of a single row is of another order, and its fit is that of another case.
    seconds = {
        "fit": {(run.case, run.library): run.fit for run in done if not find(run.case).one_row},
        "predict": {
            (run.case, run.library): run.predict for run in done if not find(run.case).one_row
        },
    }
    late = {
        (one.case, one.library): one.limit
        for one in failures
        if one.limit is not None and not find(one.case).one_row
    }
    cases = list(dict.fromkeys(case for case, _ in [*seconds["fit"], *late]))
    # Mercer last, so that its dots are on top.
    shown = sorted(libraries, key=lambda library: library == "mercer")

    figure = Figure(figsize=(13.0, 1.6 + 0.3 * len(cases)), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, what in zip(panels, seconds, strict=True):
        for place, case in enumerate(cases):
            times = [time for (one, _), time in seconds[what].items() if one == case]
            if times:
                axes.plot([min(times), max(times)], [place, place], color="#bbbbbb", lw=1, zorder=1)
        for library in shown:
            values = [seconds[what].get((case, library), math.nan) for case in cases]
            style = {"ls": "", "ms": 8, "marker": MARKERS[library], "color": COLOURS[library]}
            axes.plot(values, range(len(cases)), **style)
            limits = [late.get((case, library), math.nan) for case in cases]
            if what == "fit":
                axes.plot(limits, range(len(cases)), mfc="none", **style)
        axes.set(xscale="log" if cases else "linear", xlabel="seconds")
        axes.set_title(f"Seconds to {what}", loc="left", fontweight="bold")
        axes.grid(axis="x", alpha=0.3)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(cases)), cases)
    panels[0].invert_yaxis()
    handles = [
        Line2D([], [], ls="", ms=8, marker=MARKERS[name], color=COLOURS[name], label=name)
        for name in reversed(shown)
    ]
    if late:
        handles.append(
            Line2D([], [], ls="", ms=8, marker="o", mfc="none", color="black", label="out of time")
        )
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
    figure.savefig(file, dpi=110)


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
