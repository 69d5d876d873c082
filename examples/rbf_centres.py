"""Centres of an RBF network
=========================

Where the bells stand: centres from k-means, and the support vectors of a machine.

Campbell, "An introduction to kernel methods", figure 2, a drawing without figures: a classical RBF
network puts its bells where the rows are, an SVM where the classes meet. Two clouds of 100 points
each overlap a little. Both have as many bells of the same width; the weights of the network are by
least squares. Two seconds: python examples/rbf_centres.py [rbf_centres.png]
"""

import numpy as np
from _gallery import COLOURS, INK, picture, table
from sklearn.cluster import KMeans
from sklearn.linear_model import Ridge

from mercer import SVC
from mercer.kernels import RBF

KERNEL = RBF(sigma=3.0)


def clouds(n: int, random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Draw n points of each class, to the left and to the right of x1 = 0."""
    X = random.normal(size=(2 * n, 2)) * [0.75, 1.1]
    y = np.repeat([-1, 1], n)
    return X + np.outer(y, [1.7, 0.0]), y


def main() -> None:
    """Print errors and distances from the boundary, and draw the centres."""
    random = np.random.RandomState(0)
    X, y = clouds(100, random)
    Z, truth = clouds(20_000, random)
    machine = SVC(C=10.0, kernel=KERNEL).fit(X, y)
    support = machine.support_
    centres = np.vstack(
        [
            KMeans(int(count), n_init=5, random_state=0).fit(X[y == label]).cluster_centers_
            for label, count in zip((-1, 1), machine.n_support_, strict=True)
        ]
    )
    weights = Ridge(1e-3).fit(KERNEL(X, centres), y)

    def network(rows: np.ndarray) -> np.ndarray:
        return weights.predict(KERNEL(rows, centres))

    cases = {
        "RBF network, k-means": (centres, network),
        "SVM, support vectors": (X[support], machine.decision_function),
    }
    table(
        f"{len(centres)} bells each; the best boundary is x1 = 0",
        ("machine", "mean distance of a bell from x1 = 0", "error on new points"),
        [
            (name, f"{np.abs(at[:, 0]).mean():.2f}", f"{(np.sign(f(Z)) != truth).mean():.2%}")
            for name, (at, f) in cases.items()
        ],
    )

    def draw(figure):
        across, up = np.meshgrid(np.linspace(-4, 4, 161), np.linspace(-3.2, 3.2, 129))
        grid = np.column_stack([across.ravel(), up.ravel()])
        panels = figure.subplots(1, 2, sharex=True, sharey=True)
        for ax, (name, (at, f)) in zip(panels, cases.items(), strict=True):
            values = f(grid).reshape(across.shape)
            ax.contour(across, up, values, [0.0], colors=INK, linewidths=2)
            for label, colour, marker in ((-1, COLOURS[0], "o"), (1, COLOURS[1], "s")):
                points = X[y == label]
                ax.plot(*points.T, marker, ms=4, color=colour, label=f"class {label}")
            if "means" in name:
                ax.plot(*at.T, "x", ms=10, mew=2.2, color="black", label=f"{len(at)} centres")
            else:
                ring = {"mfc": "none", "mec": "black", "mew": 1.5}
                ax.plot(*at.T, "o", ms=11, **ring, label=f"{len(at)} support vectors")
            ax.set(title=name, xlabel="x1", xlim=(-4, 4), ylim=(-3.2, 3.2), aspect="equal")
            ax.legend(loc="upper center", ncols=3, bbox_to_anchor=(0.5, -0.1))
        panels[0].set_ylabel("x2")

    picture(draw, (13.0, 5.8))


if __name__ == "__main__":
    main()
