"""Put the figures of docs/measured into the README: python docs/readme.py."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

import measured  # noqa: E402


def speed(figures: measured.Comparison) -> str:
    """Return the part of the README about speed."""
    fit, predict = (figures.mean_ratio(what) for what in (measured.FIT, "predict"))
    return (
        "Seconds of the first fit of a process / to predict, RBF kernel, tol 1e-3, on"
        f" {figures.machine}.\n"
        "The last column is how many times as long the fastest peer took; over all"
        f" {len(figures.cases)} data sets its geometric\n"
        f"means are {fit:.1f} and {predict:.1f}. {figures.provenance}\n\n"
        + measured.table(figures, measured.FEW)
    )


def filled(text: str) -> str:
    """Return the README with the figures as they are now."""
    before, rest = text.split("<!-- speed -->\n")
    _, after = rest.split("<!-- /speed -->")
    return f"{before}<!-- speed -->\n{speed(measured.comparison())}<!-- /speed -->{after}"


if __name__ == "__main__":
    readme = HERE.parent / "README.md"
    readme.write_text(filled(readme.read_text()))
