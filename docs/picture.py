"""The picture of the front page and of the README: python docs/picture.py docs/_static/mercer.png.

On the left what a machine has learned, drawn by `mercer.plots`; on the right the figures of
docs/measured.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent / "_ext"))

import measured

from mercer import SVC
from mercer.plots import decision_boundary


def spirals() -> tuple[np.ndarray, np.ndarray]:
    """Return the 194 points of the two spirals."""
    step = np.arange(97)
    angle, radius = step * np.pi / 16, 6.5 * (104 - step) / 104
    arm = np.column_stack([radius * np.sin(angle), radius * np.cos(angle)])
    return np.concatenate([arm, -arm]), np.repeat([0, 1], 97)


def main(file: str) -> None:
    """Draw both halves and save them with few colours."""
    figure = Figure(figsize=(9.6, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.35))
    X, y = spirals()
    decision_boundary(SVC(C=100, gamma=1.0).fit(X, y), X, y, ax=left)
    left.get_legend().remove()
    left.set(xticks=[], yticks=[], aspect="equal", title="two spirals, one support vector machine")

    figures = measured.comparison()
    cases = measured.FEW[::-1]
    libraries = figures.libraries
    for place, name in enumerate(libraries):
        seconds = [figures.seconds(case, name, measured.FIT) or np.nan for case in cases]
        at = np.arange(len(cases)) + (1.5 - place) * 0.2
        style = {"color": measured.COLOURS[name], "label": measured.NAMES[name]}
        right.barh(at, seconds, 0.2, **style)
        late = [y_at for y_at, case in zip(at, cases, strict=True) if (case, name) in figures.late]
        right.barh(late, [figures.limit] * len(late), 0.2, color=style["color"], hatch="////")
        for y_at in late:
            right.annotate(f"> {figures.limit:g} s", (figures.limit, y_at), va="center", fontsize=7)
    for y_at, case in enumerate(cases):
        ours = figures.seconds(case, "mercer", measured.FIT)
        label = f" {ours:.2f} s"
        right.annotate(label, (ours, y_at + 0.3), va="center", fontsize=7, color="#c8102e")
    right.set(xscale="log", title="seconds of the first fit (logarithmic), two cores")
    right.set_yticks(range(len(cases)), cases)
    right.tick_params(axis="y", length=0)
    right.spines[["top", "right", "left"]].set_visible(False)
    right.legend(fontsize=7, frameon=False, loc="upper right")
    figure.savefig(file, dpi=130)
    Image.open(file).convert("RGB").quantize(128).save(file, "PNG", optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
