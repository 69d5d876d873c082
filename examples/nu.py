"""The meaning of nu
=================

What nu means: a share of errors below it, a share of support vectors above it, and a tube.

Campbell, "An introduction to kernel methods", sections 2.3 and 2.5: nu is an upper bound on the
share of errors (rows on the wrong side of the margin; in regression, rows outside the tube) and a
lower bound on the share of support vectors. Both bounds are theorems, and hold. NuSVR finds the
width of its tube: with Gaussian noise of deviation s a share nu of the rows is outside if the
half-width is s * z(1 - nu/2), z being the quantile of the normal distribution. What is found is a
little less, since the function also bends towards the noise. Three seconds: python examples/nu.py
[nu.png]
"""

import numpy as np
from _gallery import picture, table
from scipy.stats import norm

from mercer import NuSVC, NuSVR
from mercer.datasets import load_ionosphere

NUS = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
NOISE = 0.2


def classify(nu: float) -> tuple[float, float]:
    """Return the shares of rows inside the margin, and of support vectors."""
    X, y = load_ionosphere(return_X_y=True)
    model = NuSVC(nu=nu, tol=1e-5).fit(X, y)
    values = np.where(y == 1, 1, -1) * model.decision_function(X)
    return (values < 1 - 1e-3).mean(), len(model.support_) / len(X)


def regress(nu: float) -> tuple[float, float, float]:
    """Return the shares of rows outside the tube and of support vectors, and the half-width."""
    random = np.random.RandomState(0)
    X = random.uniform(-3, 3, (1000, 1))
    y = np.sinc(X[:, 0]) + NOISE * random.normal(size=len(X))
    model = NuSVR(nu=nu, C=10.0, gamma=1.0, tol=1e-5).fit(X, y)
    outside = np.abs(y - model.predict(X)) > model.epsilon_ + 1e-3
    return outside.mean(), len(model.support_) / len(X), model.epsilon_


def main() -> None:
    """Print the shares and the widths, and draw them."""
    classes = np.array([classify(nu) for nu in NUS])
    tubes = np.array([regress(nu) for nu in NUS])
    theory = NOISE * norm.isf(NUS / 2)
    table(
        "NuSVC on ionosphere, NuSVR on 1000 noisy points; published: errors <= nu <= SVs",
        ("nu", "errors", "SVs", "outside tube", "SVs", "half-width", "s * z(1 - nu/2)"),
        [
            (nu, f"{a:.3f}", f"{b:.3f}", f"{c:.3f}", f"{d:.3f}", f"{width:.3f}", f"{ideal:.3f}")
            for nu, (a, b), (c, d, width), ideal in zip(NUS, classes, tubes, theory, strict=True)
        ],
    )

    def draw(figure):
        left, middle, right = figure.subplots(1, 3)
        for ax, shares, name in (
            (left, classes, "inside the margin"),
            (middle, tubes, "outside the tube"),
        ):
            ax.plot(NUS, shares[:, 1], "o-", label="support vectors")
            ax.plot(NUS, NUS, "k:", label="nu")
            ax.plot(NUS, shares[:, 0], "s-", label=name)
            ax.set(xlabel="nu", ylabel="share of rows", ylim=(0, 1))
            ax.legend(loc="upper left")
        right.plot(NUS, tubes[:, 2], "o-", label="found by NuSVR")
        right.plot(NUS, theory, "k:", label="s * z(1 - nu/2)")
        right.set(xlabel="nu", ylabel="half-width of the tube", ylim=(0, None))
        right.legend()
        left.set_title("NuSVC, ionosphere")
        middle.set_title("NuSVR, noisy sinc")
        right.set_title("Its tube")

    picture(draw, (13.0, 4.8))


if __name__ == "__main__":
    main()
