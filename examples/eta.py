"""Epochs against eta
==================

Epochs against the learning rate: the Kernel-Adatron is fastest near eta = 1.

Campbell and Cristianini, section 3, figures 1 and 2: epochs until the margin is 0.99, on mirror
symmetry (30 inputs, 200 strings, sigma = 7) and on sonar (sigma = 1). The curve is finite only for
eta between 0 and 2, and is lowest at 1 if most rows are support vectors, below 1 if few are. The
algorithm as printed takes the rows in the order of the data: on sonar it is fastest at 0.6, as
published; on mirror symmetry at 0.9 if sigma^2 is 7, while with sigma = 7 it does not end within
1200 epochs for most eta. Mercer's order is random, every second epoch back the same way: that takes
a third of the epochs on sonar, and then the minimum is at a little more than 1. The machines have
no intercept, and three sets of strings are averaged. Half a minute: python examples/eta.py
[eta.png]
"""

from math import inf, sqrt

import numpy as np
from _gallery import COLOURS, MARKERS, kernel_adatron, mirror_symmetry, picture, table

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


def printed(X: np.ndarray, y: np.ndarray, sigma: float) -> np.ndarray:
    """Return the same of the algorithm as printed, for all eta side by side."""
    K = np.broadcast_to(RBF(sigma=sigma)(X), (len(ETAS), len(X), len(X)))
    signs = np.broadcast_to(np.where(y == y[0], 1.0, -1.0), (len(ETAS), len(y)))
    first = np.zeros(len(ETAS))
    for t, epoch in enumerate(kernel_adatron(K, signs, eta=ETAS), start=1):
        first[(epoch.margin >= 0.99) & (first == 0)] = t
        if first.all():
            return first
    raise AssertionError("the algorithm has no end of its own")


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
    theirs = {
        name: np.mean([printed(*rows, sigma) for rows in sets], axis=0)
        for name, (sets, sigma, _) in list(cases.items())[1:]
    }
    few = np.isin(ETAS, [0.2, 0.5, 1.0, 1.5, 1.9])
    table(
        "Epochs until the margin is 0.99",
        ("data", "published best eta", "ours", *(f"at {eta}" for eta in ETAS[few])),
        [
            (f"{name}, {order}", cases[name][2], ETAS[curve.argmin()], *curve[few].astype(int))
            for order, found in (("as printed", theirs), ("Mercer's order", curves))
            for name, curve in found.items()
        ],
    )

    def draw(figure):
        left, right = figure.subplots(1, 2, sharey=True)
        for i, name in enumerate(cases):
            style = {"color": COLOURS[i], "marker": MARKERS[i], "label": name}
            if name in theirs:
                left.plot(ETAS, theirs[name], **style)
            right.plot(ETAS, curves[name], **style)
        for ax, order in ((left, "as printed"), (right, "in Mercer's order")):
            ax.axvline(1.0, color="black", ls=":", lw=1)
            ax.set(xlabel="learning rate eta", yscale="log", xlim=(0, 2))
            ax.set_title(f"The Kernel-Adatron {order}")
            ax.legend()
        left.set_ylabel("epochs until the margin is 0.99")

    picture(draw)


if __name__ == "__main__":
    main()
