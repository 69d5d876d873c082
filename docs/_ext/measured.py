"""Tables and charts of the benchmarks, from the figures in docs/measured.

`benches/compare.py --json docs/measured/compare.json` writes them, about.json says on which machine
and of which code; docs/readme.py and docs/picture.py put them into the README.
Charts are drawn twice, for light and for dark pages.
"""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "docs" / "measured"
NAMES = {
    "mercer": "Mercer",
    "scikit-learn": "scikit-learn",
    "libsvm": "LIBSVM",
    "sklearnex": "scikit-learn-intelex",
}
COLOURS = {
    "mercer": "#c8102e",
    "scikit-learn": "#f4a143",
    "libsvm": "#4393c3",
    "sklearnex": "#7d8cc4",
}
# Text and lines on light and on dark pages; the background is the page's own.
INK = {"light": "#24292f", "dark": "#ced6dd"}


# What users see: the first fit of a process, which also pays for threads and memory.
FIT = "first_fit"
LABELS = {FIT: "seconds of the first fit", "predict": "seconds to predict"}


class Comparison:
    """Seconds by case and library."""

    def __init__(self, everything: dict[str, Any], about: dict[str, str]) -> None:
        self.machine = about["machine"]
        self.provenance = about["provenance"]
        self.versions: dict[str, str] = everything["versions"]
        self.rows = {(row["case"], row["library"]): row for row in everything["rows"]}
        # Cases of one row at a time have no fit of their own.
        cases = (case for case, _ in self.rows if not case.endswith("-one-row"))
        self.cases = list(dict.fromkeys(cases))
        self.libraries = [name for name in NAMES if name in self.versions]
        self.limit = float(everything["timeout"])
        late = (failed for failed in everything["failures"] if failed["limit"] is not None)
        self.late = {(failed["case"], failed["library"]) for failed in late}

    def seconds(self, case: str, library: str, what: str) -> float | None:
        """Return a time, None where the library does not have the machine or takes too long."""
        row = self.rows.get((case, library))
        return None if row is None else float(row[what])

    def ratio(self, case: str, what: str) -> float:
        """Return how many times as long the fastest peer took."""
        times = [self.seconds(case, name, what) for name in self.libraries if name != "mercer"]
        ours = self.seconds(case, "mercer", what)
        assert ours is not None
        return min(time for time in times if time is not None) / ours

    def mean_ratio(self, what: str) -> float:
        """Return the geometric mean of the ratios."""
        ratios = [math.log(self.ratio(case, what)) for case in self.cases]
        return math.exp(sum(ratios) / len(ratios))


def comparison() -> Comparison:
    """Read the figures."""
    everything, about = (
        json.loads((FIGURES / name).read_text()) for name in ("compare.json", "about.json")
    )
    return Comparison(everything, about)


def table(figures: Comparison, cases: Sequence[str] | None = None) -> str:
    """Return Markdown: seconds of the first fit of a process / to predict."""
    heads = [f"{NAMES[name]} {figures.versions[name]}" for name in figures.libraries]
    lines = ["| data | n x d | classes | " + " | ".join(heads) + " | fit / predict |"]
    lines.append("|---" * (len(heads) + 4) + "|")
    for case in cases or figures.cases:
        row = figures.rows[case, "mercer"]
        cells = [case, f"{row['n']} x {row['d']}", str(row["classes"] or row["kind"])]
        for name in figures.libraries:
            fit, predict = (figures.seconds(case, name, what) for what in (FIT, "predict"))
            without = f"> {figures.limit:g}" if (case, name) in figures.late else "-"
            cells.append(without if fit is None else f"{fit:.3f} / {predict:.3f}")
        cells.append(f"{figures.ratio(case, FIT):.1f} / {figures.ratio(case, 'predict'):.1f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def chart(figures: Comparison, cases: Iterable[str], ink: str, file: Path) -> None:
    """Draw the seconds of every library, a line of dots for each case and panel."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    cases = list(cases)[::-1]
    colours = {"text.color": ink, "axes.edgecolor": ink, "axes.labelcolor": ink}
    with rc_context({**colours, "xtick.color": ink, "ytick.color": ink, "svg.fonttype": "path"}):
        figure = Figure(figsize=(9.0, 1.3 + 0.27 * len(cases)), layout="constrained")
        panels = figure.subplots(1, 2, sharey=True)
        for axes, what in zip(panels, (FIT, "predict"), strict=True):
            for y, case in enumerate(cases):
                times = [figures.seconds(case, name, what) for name in figures.libraries]
                known = [time for time in times if time is not None]
                axes.plot([min(known), max(known)], [y, y], color=ink, alpha=0.25, zorder=1)
            for name in figures.libraries[::-1]:
                points = [(figures.seconds(case, name, what), y) for y, case in enumerate(cases)]
                shown = [(x, y) for x, y in points if x is not None]
                size = 62 if name == "mercer" else 34
                axes.scatter(
                    *zip(*shown, strict=True),
                    s=size,
                    color=COLOURS[name],
                    label=NAMES[name],
                    zorder=2,
                )
            axes.set(xscale="log", xlabel=LABELS[what])
            axes.grid(axis="x", alpha=0.2, color=ink)
            axes.spines[["top", "right", "left"]].set_visible(False)
            axes.tick_params(length=0)
        panels[0].set_yticks(range(len(cases)), cases)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(
            handles[::-1], labels[::-1], loc="outside upper center", ncols=4, frameon=False
        )
        figure.savefig(file, transparent=True, metadata={"Date": None})


# What the front page and the README show: one of each size and kind.
FEW = ("satellite", "letter", "a9a", "ijcnn1", "cod_rna", "mnist-60k", "cal_housing")


def write(app: Any) -> None:
    """Write what the pages include."""
    figures = comparison()
    made = Path(app.srcdir) / "measured" / "made"
    made.mkdir(exist_ok=True)
    (made / "compare.md").write_text(table(figures))
    means = (figures.mean_ratio(FIT), figures.mean_ratio("predict"))
    app.config.myst_substitutions |= {
        "machine": figures.machine,
        "provenance": figures.provenance,
        "mean_fit": f"{means[0]:.1f}",
        "mean_predict": f"{means[1]:.1f}",
    }
    for theme, ink in INK.items():
        chart(figures, figures.cases, ink, made / f"compare-{theme}.svg")
        chart(figures, FEW, ink, made / f"few-{theme}.svg")


def setup(app: Any) -> dict[str, bool]:
    """Register."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
