"""Ionosphere
==========

Soft margins of both kinds against the hard one.

The data has some noise, so that a margin which allows errors does better: with a box of side C (the
hinge loss) or with lambda = 1 / (2 C) added to the diagonal of the kernel matrix (its square).
Campbell, "An introduction to kernel methods", figure 4, and Campbell and Cristianini, section 4.3:
200 rows to learn from, sigma = 1.5, 92.0% right with a hard margin and 96.0% with a soft one. Their
split and scaling are not known; here the columns are as they are and 20 random splits are averaged.
The best C and
lambda are chosen on the rows they are tested on, which flatters them. Ten seconds: python
examples/ionosphere.py [ionosphere.png]
"""

from math import inf

import numpy as np
from _gallery import mean_errors, picture, table

from mercer import SVC
from mercer.datasets import load_ionosphere
from mercer.kernels import RBF

KERNEL = RBF(sigma=1.5)
COSTS = np.geomspace(0.3, 100, 20)
LAMBDAS = np.geomspace(0.003, 3, 20)


def main() -> None:
    """Print the best soft margins beside the hard one, and draw the errors."""
    X, y = load_ionosphere(return_X_y=True)
    box = [SVC(C=C, kernel=KERNEL) for C in COSTS]
    diagonal = [SVC(C=1 / (2 * a), loss="squared_hinge", kernel=KERNEL) for a in LAMBDAS]
    errors = mean_errors([SVC(C=inf, kernel=KERNEL), *box, *diagonal], X, y, train_size=200)
    hard, by_cost, by_lambda = np.split(errors, [1, 1 + len(COSTS)])
    cost, lam = by_cost[:, 0].argmin(), by_lambda[:, 0].argmin()
    table(
        f"Ionosphere, 200 rows to learn from and {len(y) - 200} new ones, 20 splits",
        ("margin", "published", "ours", "training error"),
        [
            row("hard", "92.0%", hard[0]),
            row(f"soft, C = {COSTS[cost]:.1f}", "96.0%", by_cost[cost]),
            row(f"soft, lambda = {LAMBDAS[lam]:.2f}", "96.0%", by_lambda[lam]),
            ("multi-layered network", "96.0%", "", ""),
            ("C4.5", "94.1%", "", ""),
            ("k nearest neighbours", "92.1%", "", ""),
        ],
    )

    def draw(figure):
        left, right = figure.subplots(1, 2, sharey=True)
        for ax, x, soft, name in (
            (left, COSTS, by_cost, "C"),
            (right, LAMBDAS, by_lambda, "lambda"),
        ):
            ax.plot(x, 100 * soft[:, 0], "o-", ms=3, label="new rows, soft margin")
            ax.plot(x, 100 * soft[:, 1], "s:", ms=3, label="training rows, soft margin")
            ax.axhline(100 * hard[0, 0], color="black", ls="--", label="new rows, hard margin")
            ax.set(xscale="log", xlabel=name, ylim=(0, None))
            ax.grid(alpha=0.3)
        left.set(ylabel="error, %", title="a box of side C")
        right.set(title="lambda on the diagonal")
        right.legend(fontsize=8, loc="center left")
        figure.suptitle("Ionosphere: a margin that allows errors makes fewer")

    picture(draw, (7.5, 4.0))


def row(name: str, published: str, errors: np.ndarray) -> tuple[str, ...]:
    """Return a row of the table, of the accuracy on new rows and the error on training rows."""
    return name, published, f"{1 - errors[0]:.1%}", f"{errors[1]:.1%}"


if __name__ == "__main__":
    main()
