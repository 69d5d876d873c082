"""Two spirals and parity
======================

Two problems that are hard for a network and easy for a kernel: two spirals, and n-parity.

Campbell and Cristianini, section 4.1, name both without figures but one: the Kernel-Adatron solves
n-parity in one epoch for n = 3 to 6, then takes several more for the margin. So it does here, as
printed and without intercept. Of parity the hard margin is known exactly: by symmetry all 2^n
points are support vectors with the same coefficient, and with inputs +-1 the margin is
sqrt((1 - exp(-2 / sigma^2))^n / 2^n). The spirals are the usual 194 points, three turns each. Three
seconds: python examples/spirals_parity.py [spirals_parity.png]
"""

from itertools import islice, product
from math import exp, inf, sqrt

import numpy as np
from _gallery import COLOURS, MARKERS, kernel_adatron, picture, table

from mercer import SVC
from mercer.kernels import RBF
from mercer.plots import decision_boundary

SIZES = range(3, 7)
EPOCHS = 12
WIDTHS = np.array([0.5, 0.75, 1.0, 1.5, 2.0, 3.0])


def spirals(step: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points along two spirals; a step of 1 is the usual set."""
    turn = np.arange(0.0, 97.0, step)
    radius, angle = 6.5 * (104 - turn) / 104, turn * np.pi / 16
    arm = np.column_stack([radius * np.sin(angle), radius * np.cos(angle)])
    return np.vstack([arm, -arm]), np.repeat([1, -1], len(arm))


def parity(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all strings of n signs, and their products."""
    X = np.array(list(product([-1.0, 1.0], repeat=n)))
    return X, X.prod(axis=1).astype(int)


def margin(model: SVC) -> float:
    """Return 1 / |w| of a hard margin, from sum_i |beta_i| = |w|^2."""
    return 1 / sqrt(np.abs(model.dual_coef_).sum())


def adatron(X: np.ndarray, y: np.ndarray) -> tuple[int, np.ndarray]:
    """Return the errors after one epoch of the printed algorithm, and the margin of each epoch."""
    K = RBF(sigma=1.0)(X)
    epochs = list(islice(kernel_adatron(K[None], y[None]), EPOCHS))
    wrong = np.sign(K @ epochs[0].coefficients[0]) != y
    return int(wrong.sum()), np.array([epoch.margin[0] for epoch in epochs])


def summary(model: SVC, X: np.ndarray, y: np.ndarray) -> tuple[object, ...]:
    """Return what is published, the training error, the rows, the support vectors, the margin."""
    error = f"{1 - model.score(X, y):.1%}"
    return "solved", error, len(X), len(model.support_), f"{margin(model):.6f}"


def main() -> None:
    """Print errors and margins, and draw the spirals and the margins."""
    rows, epochs = [], []
    found, grown = {}, {}
    for n in SIZES:
        X, y = parity(n)
        for sigma in WIDTHS:
            model = SVC(C=inf, kernel=RBF(sigma=sigma), tol=1e-6).fit(X, y)
            found[n, sigma] = margin(model)
        model = SVC(C=inf, kernel=RBF(sigma=1.0), tol=1e-6).fit(X, y)
        rows.append((f"{n}-parity", *summary(model, X, y), f"{theory(n, 1.0):.6f}"))
        wrong, grown[n] = adatron(X, y)
        epochs.append((f"n = {n}", 0, wrong, f"{grown[n][0]:.2f}", (grown[n] < 0.999).sum() + 1))
    X, y = spirals(1.0)
    model = SVC(C=inf, kernel=RBF(sigma=1.0)).fit(X, y)
    between = 1 - model.score(*spirals(0.25))
    rows.append(("two spirals", *summary(model, X, y), "not known"))
    table(
        "Hard margins, sigma = 1",
        ("problem", "published", "ours: error", "rows", "support vectors", "margin", "in theory"),
        rows,
    )
    print(f"\nOf four times as many points along the spirals, {between:.1%} are wrong.")
    table(
        "Parity by the Kernel-Adatron as printed",
        ("strings", "errors after 1 epoch, published", "ours", "margin then", "epochs to 0.999"),
        epochs,
    )

    def draw(figure):
        left, middle, right = figure.subplots(1, 3, width_ratios=(1.35, 1, 1))
        decision_boundary(model, X, y, ax=left, resolution=200)
        left.set(xlabel="", ylabel="", xticks=[], yticks=[], aspect="equal")
        left.set_title(f"Two spirals: {len(model.support_)} of {len(X)} points support")
        left.get_legend().remove()
        fine = np.linspace(WIDTHS[0], WIDTHS[-1], 200)
        for n, colour, marker in zip(SIZES, COLOURS, MARKERS, strict=False):
            dots = [found[n, sigma] for sigma in WIDTHS]
            middle.plot(fine, [theory(n, sigma) for sigma in fine], lw=1, color=colour)
            middle.plot(WIDTHS, dots, marker, color=colour, label=f"n = {n}")
            line = np.arange(1, EPOCHS + 1), grown[n], f"{marker}-"
            right.plot(*line, color=colour, label=f"n = {n}")
        middle.set(xlabel="width sigma of the kernel", ylabel="margin 1 / |w|", yscale="log")
        middle.set_title("n-parity: dots ours, lines theory")
        right.axhline(1.0, color="black", ls=":", lw=1)
        right.set(xlabel="epoch", ylabel="margin in decision values", ylim=(0, 1.05))
        right.set(xticks=range(1, EPOCHS + 1), title="Kernel-Adatron: solved in epoch 1")
        middle.legend()
        right.legend(loc="lower right")

    picture(draw, (13.0, 5.0))


def theory(n: int, sigma: float) -> float:
    """Return the margin of n-parity."""
    return sqrt(((1 - exp(-2 / sigma**2)) / 2) ** n)


if __name__ == "__main__":
    main()
