"""Epoch by epoch
==============

The Kernel-Adatron at work: margin, error on new rows and intercept, epoch by epoch.

Campbell and Cristianini, figures 4 to 8: mirror symmetry (sigma = 5) and sonar (sigma = 1), a hard
margin with intercept, eta = 1 and mu = 5. The margin, half the distance of the classes in decision
values, grows to 1; the error falls long before that. On the published halves of sonar the printed
algorithm ends with the best error of the text, 7.7%; other figures are not printed. Mercer's own
Kernel-Adatron takes the rows in random order, begins with a mu of 0.1 and ends at the same plane
sooner. Some seconds:
python examples/epochs.py [epochs.png]
"""

from itertools import islice
from math import inf

import numpy as np
from _gallery import COLOURS, kernel_adatron, mirror_symmetry, picture, published_half, table

from mercer import SVC
from mercer.datasets import load_sonar
from mercer.kernels import RBF

EPOCHS = 300
MU = 5.0
FIGURES = ("margin", "intercept", "error")
SIGMAS = {"mirror symmetry": 5.0, "sonar": 1.0}


def data(name: str) -> tuple[np.ndarray, ...]:
    """Return X, y, X_test, y_test, of classes -1 and 1."""
    if name == "sonar":
        X, kind = load_sonar(return_X_y=True)
        y = np.where(kind == np.unique(kind)[1], 1, -1)
        half = published_half()
        if half is None:
            half = np.arange(len(X)) % 2 == 0
        return X[half], y[half], X[~half], y[~half]
    random = np.random.RandomState(0)
    X, y = mirror_symmetry(200, 30, random)
    Z, truth = mirror_symmetry(5000, 30, random)
    new = (Z @ X.T).max(axis=1) < X.shape[1]  # strings that were learned do not count
    return X, y, Z[new], truth[new]


def printed(name: str) -> dict[str, np.ndarray]:
    """Return margin, intercept and error of the printed algorithm after each epoch."""
    X, y, Z, truth = data(name)
    kernel = RBF(sigma=SIGMAS[name])
    new = kernel(Z, X)
    epochs = list(islice(kernel_adatron(kernel(X)[None], y[None], mu=MU), EPOCHS))
    return {
        "epoch": np.arange(1, EPOCHS + 1),
        "margin": np.array([epoch.margin[0] for epoch in epochs]),
        "intercept": np.array([epoch.intercept[0] for epoch in epochs]),
        "error": np.array(
            [
                np.mean(np.sign(new @ epoch.coefficients[0] + epoch.intercept[0]) != truth)
                for epoch in epochs
            ]
        ),
    }


def ours(name: str) -> tuple[dict[str, np.ndarray], float, int]:
    """Return the history of Mercer's Kernel-Adatron, its error at the end, and its epochs."""
    X, y, Z, truth = data(name)
    model = SVC(C=inf, kernel=RBF(sigma=SIGMAS[name]), solver="adatron", tol=1e-4).fit(X, y)
    shown = {key: np.asarray(model.history_[key])[:EPOCHS] for key in ("margin", "intercept")}
    return shown, 1 - model.score(Z, truth), len(model.history_["margin"])


def main() -> None:
    """Print some epochs, and draw all."""
    runs = {}
    for name, published in (("mirror symmetry", "not given"), ("sonar", "7.7%")):
        theirs, (mine, error, last) = runs[name] = printed(name), ours(name)
        rows = []
        for epoch in (1, 2, 5, 10, 20, 50, 100, EPOCHS):
            here = min(epoch, len(mine["margin"])) - 1
            figures = [theirs[key][epoch - 1] for key in FIGURES]
            figures += [mine[key][here] for key in ("margin", "intercept")]
            rows.append((epoch, *(f"{figure:.3f}" for figure in figures)))
        table(
            f"{name}, error at the end published: {published}",
            ("epoch", "printed: margin", *FIGURES[1:], "Mercer's: margin", "intercept"),
            rows,
        )
        print(f"Mercer's ends after {last} epochs, with an error of {error:.1%}.")

    def draw(figure):
        panels = figure.subplots(2, 3, sharex=True)
        for row, (name, (theirs, (mine, error, _))) in zip(panels, runs.items(), strict=True):
            for ax, key in zip(row, ("margin", "error", "intercept"), strict=True):
                values = (100 if key == "error" else 1) * theirs[key]
                ax.plot(theirs["epoch"], values, color=COLOURS[0], label="as printed, mu = 5")
                if key in mine:
                    epochs = np.arange(1, len(mine[key]) + 1)
                    ax.plot(epochs, mine[key], "--", color=COLOURS[1], label="Mercer's order")
                ax.set(xscale="log", xticks=[1, 10, 100], xticklabels=["1", "10", "100"])
                ax.set_title(f"{name[0].upper()}{name[1:]}: {key}{', %' * (key == 'error')}")
            row[0].axhline(1.0, color="black", ls=":", lw=1)
            row[0].set_ylim(-2, 1.3)
            row[1].axhline(100 * error, color=COLOURS[1], ls="--", label="Mercer's at the end")
            row[1].set_ylim(0, 45)
        panels[1, 1].axhline(7.7, color="black", ls=":", lw=2, label="published at the end")
        for ax in panels[1]:
            ax.set_xlabel("epoch")
        panels[0, 0].legend(loc="lower right")
        panels[1, 1].legend(loc="upper right")

    picture(draw, (13.0, 7.0))


if __name__ == "__main__":
    main()
