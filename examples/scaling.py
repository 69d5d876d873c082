"""Learning time
=============

How learning time grows: epochs times m^2 against the number m of rows, as a power of m.

Campbell and Cristianini, section 4.4: an epoch of the Kernel-Adatron takes m^2 operations, and the
epochs until the margin is 0.999 and the intercept moves by less than 1e-5 become more or fewer with
m, so that the time goes as m to the exponents of their table. They averaged over 200 random sets
for every m; here it is 20 sets at six sizes up to 200, with the algorithm as printed. Widths and mu
are not given for this table: ours are those that the paper names elsewhere, and diabetes, which no
such kernel separates, has C = 1.02. The ten digits are averaged as published, each against the
rest. Growth that is less than quadratic is not reproduced on any set: digits and cancer are
quadratic, since their epochs hardly depend on m, and those of sonar and mirror symmetry grow with
m, not fall. Narrower kernels, sigma^2 = 5 for mirror symmetry and sigma = 0.3 for sonar, have
exponents of 2.2, not below 2 either. A minute: python examples/scaling.py [scaling.png]
"""

# sphinx_gallery_thumbnail_path = '../examples/scaling.png'
from math import inf
from typing import NamedTuple

import numpy as np
from _gallery import COLOURS, MARKERS, kernel_adatron, load, mirror_symmetry, picture, table
from sklearn.preprocessing import StandardScaler

from mercer.datasets import load_ionosphere, load_sonar
from mercer.kernels import RBF

SETS, SIZES, MOST = 20, 6, 6000
PUBLISHED = {
    "mirror symmetry": 1.7,
    "sonar": 1.8,
    "cancer": 2.0,
    "diabetes": 2.1,
    "ionosphere": 3.0,
    "digits (average)": 1.8,
}


class Problem(NamedTuple):
    """Rows, signs, the width of the kernel, the first intercept, the cost."""

    X: np.ndarray
    y: np.ndarray
    sigma: float
    mu: float
    C: float = inf


def problems(name: str) -> list[Problem]:
    """Return what goes by a name of the table: ten problems for the digits, else one."""
    if name == "mirror symmetry":
        return [Problem(*mirror_symmetry(2000, 30, np.random.RandomState(0)), 5.0, 5.0)]
    if name == "sonar":
        X, kind = load_sonar(return_X_y=True)
        return [Problem(X, signs(kind), 1.0, 5.0)]
    if name == "cancer":
        X, kind = load("breast_cancer_wisconsin_original")
        complete = ~np.isnan(X).any(axis=1)
        return [Problem(X[complete], signs(kind[complete]), 3.0, 50.0)]
    if name == "diabetes":
        X, kind = load("pima")
        return [Problem(StandardScaler().fit_transform(X), signs(kind), 11.0, 0.1, C=1.02)]
    if name == "ionosphere":
        X, kind = load_ionosphere(return_X_y=True)
        return [Problem(X, signs(kind), 1.5, 0.2)]
    X, digits, _, _ = load("usps")
    widths = [1.8, 1.6, 2.4, 2.0, 4.0, 1.8, 2.4, 2.8, 3.2, 1.6]  # the published ones
    return [Problem(X, signs(digits == d), width, 0.1) for d, width in enumerate(widths)]


def signs(kind: np.ndarray) -> np.ndarray:
    """Return 1 for the last of two classes and -1 for the other."""
    return np.where(kind == np.unique(kind)[-1], 1.0, -1.0)


def epochs(problem: Problem, m: int, random: np.random.RandomState) -> float:
    """Return the mean number of epochs for random sets of m rows, of both classes."""
    X, y, sigma, mu, C = problem
    chosen = []
    while len(chosen) < SETS:
        rows = random.choice(len(X), m, replace=False)
        if len(np.unique(y[rows])) == 2:
            chosen.append(rows)
    K = np.array([RBF(sigma=sigma)(X[rows]) for rows in chosen])
    ended = np.full(SETS, MOST)
    last = np.full(SETS, inf)
    for t, epoch in enumerate(kernel_adatron(K, y[chosen], mu=mu, C=C), start=1):
        settled = (epoch.margin >= 0.999) & (np.abs(epoch.intercept - last) < 1e-5)
        ended = np.where(settled, np.minimum(ended, t), ended)
        last = epoch.intercept
        if t == MOST or (ended < MOST).all():
            return float(ended.mean())
    raise AssertionError("the algorithm has no end of its own")


def curve(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return sizes m, and the mean number of epochs for each."""
    sizes = np.geomspace(40, 200, SIZES).astype(int)
    random = np.random.RandomState(0)
    return sizes, np.array([epochs(problem, m, random) for m in sizes])


def main() -> None:
    """Print the exponents, and draw the operations with the fitted powers."""
    curves, exponents = {}, {}
    for name in PUBLISHED:
        found = [curve(problem) for problem in problems(name)]
        slopes = [np.polyfit(np.log(m), np.log(t * m**2), 1)[0] for m, t in found]
        exponents[name] = np.mean(slopes)
        curves[name] = found[0][0], np.mean([t for _, t in found], axis=0)
    table(
        "Operations (epochs * m^2) as a power of the number of rows m",
        ("data", "published", "ours", "epochs at the smallest m", "at the largest"),
        [
            (name, PUBLISHED[name], f"{exponents[name]:.1f}", f"{t[0]:.0f}", f"{t[-1]:.0f}")
            for name, (_, t) in curves.items()
        ],
    )

    def draw(figure):
        left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
        for (name, (m, t)), colour, marker in zip(curves.items(), COLOURS, MARKERS, strict=True):
            left.plot(m, t * m**2, marker, color=colour, label=name)
            line = np.polyfit(np.log(m), np.log(t * m**2), 1)
            left.plot(m, np.exp(np.polyval(line, np.log(m))), lw=1, color=colour)
            right.plot(PUBLISHED[name], exponents[name], marker, ms=10, color=colour)
        left.set(xscale="log", yscale="log", xlabel="rows m", ylabel="epochs times m²")
        left.set_xticks(ticks := [40, 60, 100, 150, 200], ticks)
        left.minorticks_off()
        left.set_title("Operations of the Kernel-Adatron as printed")
        left.legend(loc="upper left")
        right.plot([1.5, 4.1], [1.5, 4.1], ":", color="black", lw=1)
        right.axhline(2.0, color="grey", lw=0.8)
        right.text(3.2, 2.04, "quadratic", color="grey")
        right.set(xlabel="published exponent", ylabel="ours", xlim=(1.5, 3.5), ylim=(1.5, 4.1))
        right.set_title("As a power of m; dotted: as published")

    picture(draw)


if __name__ == "__main__":
    main()
