"""Abnormal digits
===============

The test images of USPS that a one-class machine of their own digit rejects.

Campbell, "An introduction to kernel methods", section 2.4, on Schoelkopf et al.: a one-class
machine brings out abnormal digits of this set, and nu bounds the share of outliers from above and
that of support vectors from below. No other figure is given there. For each digit a machine learns
its training images with nu = 0.05; the sphere around them (SVDD) must agree with the plane
(OneClassSVM), since with this kernel both have one boundary. Five seconds:
python examples/novelty.py [novelty.png]
"""

# sphinx_gallery_thumbnail_path = '../examples/novelty.png'
import numpy as np
from _gallery import load, picture, table

from mercer import SVDD, OneClassSVM
from mercer.kernels import RBF

NU = 0.05
KERNEL = RBF(sigma=8.0)  # 2 sigma^2 is half the number of pixels


def main() -> None:
    """Print what the machines accept, and draw what they find most and least normal."""
    X, y, Z, truth = load("usps")
    rows, shown = [], []
    for digit in range(10):
        own, other = Z[truth == digit], Z[truth != digit]
        learned = X[y == digit]
        plane = OneClassSVM(nu=NU, kernel=KERNEL, tol=1e-5).fit(learned)
        sphere = SVDD(nu=NU, kernel=KERNEL, tol=1e-7).fit(learned)
        rows.append(
            (
                digit,
                f"{(plane.predict(learned) < 0).mean():.1%}",
                f"{len(plane.support_) / len(learned):.1%}",
                f"{(plane.predict(own) < 0).mean():.1%}",
                f"{(plane.predict(other) < 0).mean():.1%}",
                (plane.predict(Z) != sphere.predict(Z)).sum(),
            )
        )
        shown.append(own[np.argsort(plane.decision_function(own))[[-1, 0, 1, 2]]])
    table(
        f"One machine per digit, nu = {NU:.0%}; published: outliers <= nu <= support vectors",
        (
            "digit",
            "outliers",
            "support vectors",
            "new, rejected",
            "others, rejected",
            "SVDD differs",
        ),
        rows,
    )

    def draw(figure):
        axes = figure.subplots(4, 10)
        for column, images in zip(axes.T, shown, strict=True):
            for ax, image in zip(column, images, strict=True):
                ax.imshow(-image.reshape(16, 16), cmap="gray")
                ax.set(xticks=[], yticks=[])
        for ax, name in zip(
            axes[:, 0], ("most normal", "abnormal", "second", "third"), strict=True
        ):
            ax.set_ylabel(name)
        for digit, ax in enumerate(axes[0]):
            ax.set_title(digit)
        figure.suptitle("USPS test images as the one-class machines of their digits order them")

    picture(draw, (13.0, 5.8))


if __name__ == "__main__":
    main()
