"""Components
==========

Nonlinear components: what kernel PCA sees in three clusters, and linear PCA cannot.

K.-R. Müller, "Introduction to kernel-based learning", shows the eight leading components of three
clusters in the plane for ``k(x, y) = exp(-|x - y|^2 / 0.1)``, as maps of their values (B.
Schölkopf, A. Smola and K.-R. Müller, "Nonlinear component analysis as a kernel eigenvalue problem",
1998). The first two tell the clusters apart; the next three divide each cluster into halves, and
the others do so again, along other lines. The points are drawn here after the paper: thirty in each
cluster, with a deviation of 0.1. A second: python examples/components.py [components.png]
"""

import numpy as np
from _gallery import picture, table

from mercer.decomposition import KernelPCA
from mercer.kernels import RBF

CENTRES = np.array([[-0.5, -0.2], [0.0, 0.6], [0.5, 0.0]])
KERNEL = RBF(gamma=1 / 0.1)
PLANE = (-1.0, 1.0), (-0.6, 1.1)


def points(random_state: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Draw three clusters of thirty points."""
    cluster = np.repeat(np.arange(3), 30)
    return CENTRES[cluster] + random_state.normal(scale=0.1, size=(90, 2)), cluster


def between(values: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    """Return the share of the variance of components that is between the clusters."""
    means = np.array([values[cluster == k].mean(axis=0) for k in range(3)])
    return means.var(axis=0) / values.var(axis=0)


def main() -> None:
    """Print and draw the components."""
    X, cluster = points(np.random.RandomState(0))
    pca = KernelPCA(8, kernel=KERNEL).fit(X)
    shares = between(pca.transform(X), cluster)
    every = KernelPCA(kernel=KERNEL).fit(X).eigenvalues_
    table(
        "Three clusters, k(x, y) = exp(-|x - y|^2 / 0.1)",
        ("component", "eigenvalue", "of all variance", "between clusters"),
        [
            (number, f"{value:.3f}", f"{value / every.sum():.1%}", f"{share:.1%}")
            for number, (value, share) in enumerate(
                zip(pca.eigenvalues_, shares, strict=True), start=1
            )
        ],
    )

    def draw(figure):
        x, y = (np.linspace(*side, 140) for side in PLANE)
        grid = np.column_stack([side.ravel() for side in np.meshgrid(x, y)])
        maps = pca.transform(grid).T.reshape(8, len(y), len(x))
        axes = figure.subplots(2, 4, sharex=True, sharey=True)
        for number, (ax, values) in enumerate(zip(axes.flat, maps, strict=True)):
            most = abs(values).max()
            levels = np.linspace(-most, most, 17)
            ax.contourf(x, y, values, levels, cmap="RdBu_r")
            ax.contour(x, y, values, levels[1:-1:2], colors="k", linewidths=0.4, alpha=0.6)
            ax.plot(*X.T, "o", ms=2.5, mfc="white", mec="black", mew=0.5)
            ax.set_title(f"{number + 1}: eigenvalue {pca.eigenvalues_[number]:.2f}")
            ax.set(xticks=(-1, 0, 1), yticks=(0, 1), aspect="equal")
            ax.grid(visible=False)
        figure.suptitle("The eight leading kernel principal components of three clusters")

    picture(draw, (13.0, 6.4))


if __name__ == "__main__":
    main()
