"""Epochs against eta
==================

Epochs against the learning rate: the Kernel-Adatron is fastest near eta = 1.

Campbell and Cristianini, section 3, figures 1 and 2: epochs until the margin is 0.99, on mirror
symmetry (30 inputs, 200 strings, sigma = 7) and on sonar (sigma = 1). The curve is finite only for
eta between 0 and 2, and is lowest at 1 if most rows are support vectors. Here epochs go through the
rows in random order, every second one back the same way; the minimum is then near 1, at a little
more where rows are much alike, as with sigma = 7, and at 0.9 for a narrower kernel, sigma^2 = 7.
The machines have no intercept, and three sets are averaged. Seconds: python examples/eta.py
[eta.png]
"""

from math import inf, sqrt

import numpy as np
from _gallery import MARKERS, mirror_symmetry, picture, table

from mercer import SVC
from mercer.datasets import load_sonar
from mercer.kernels import RBF

ETAS = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 1.7, 1.9])


def epochs(eta: float, X: np.ndarray, y: np.ndarray, sigma: float) -> int:
    """Return the first epoch with a margin of 0.99, which a gap of 0.01 implies."""
    machine = SVC(
        C=inf, kernel=RBF(sigma=sigma), fit_intercept=False, solver="adatron", eta=eta, tol=1e-2
    )
    reached = machine.fit(X, y).history_["margin"] >= 0.99
    return int(reached.argmax()) + 1


def main() -> None:
    """Print and draw the epochs."""
    random = np.random.RandomState(0)
    mirrors = [mirror_symmetry(200, 30, random) for _ in range(3)]
    sonar = [load_sonar(return_X_y=True)]
    cases = {
        "mirror symmetry, sigma = 7": (mirrors, 7.0, "1"),
        "mirror symmetry, sigma^2 = 7": (mirrors, sqrt(7.0), "1"),
        "sonar, sigma = 1": (sonar, 1.0, "below 1"),
    }
    curves = {
        name: np.array([np.mean([epochs(eta, *rows, sigma) for rows in sets]) for eta in ETAS])
        for name, (sets, sigma, _) in cases.items()
    }
    few = np.isin(ETAS, [0.2, 0.5, 1.0, 1.5, 1.9])
    table(
        "Epochs until the margin is 0.99",
        ("data", "published best eta", "ours", *(f"at {eta}" for eta in ETAS[few])),
        [
            (name, published, ETAS[curves[name].argmin()], *curves[name][few].round().astype(int))
            for name, (_, _, published) in cases.items()
        ],
    )

    def draw(figure):
        ax = figure.subplots()
        for (name, curve), marker in zip(curves.items(), MARKERS, strict=False):
            ax.plot(ETAS, curve, f"{marker}-", label=name)
        ax.axvline(1.0, color="black", ls=":", label="published minimum, mirror symmetry")
        ax.set(xlabel="learning rate eta", ylabel="epochs until the margin is 0.99", yscale="log")
        ax.set(xlim=(0, 2), title="The Kernel-Adatron: epochs against eta")
        ax.legend()

    picture(draw)


if __name__ == "__main__":
    main()
