"""Data cleaning
=============

The rows with the largest coefficients are the suspects.

Guyon, Matic and Vapnik (1996), the reference [16] that Campbell's "An introduction to kernel
methods" names for data cleaning: rows that a machine finds hard have large coefficients, so a
person who looks at these first finds wrong labels soon. No figures are given there. Here one label
in twenty of 2000 images of digits is made wrong, a machine is trained one digit against the rest,
and rows are looked at in the order of their largest coefficient. Coefficients at C are equal, so
among these the decision value decides: the further on the wrong side, the sooner. The errors that
are found are mended, and the machine is trained again. Some seconds:
python examples/cleaning.py [cleaning.png]
"""

# sphinx_gallery_thumbnail_path = '../examples/cleaning.png'
import numpy as np
from _gallery import COLOURS, INK, load, picture, table

from mercer import SVC
from mercer.kernels import RBF

ROWS, WRONG = 2000, 100
STOPS = np.array([0, 25, 50, 100, 150, 200, 250, 300])
COST, KERNEL = 10.0, RBF(sigma=6.0)


def suspects(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the rows in the order in which to look at them."""
    coefficients, values = np.zeros((2, len(X)))
    for digit in range(10):
        model = SVC(C=COST, kernel=KERNEL).fit(X, labels == digit)
        own = np.zeros(len(X))
        own[model.support_] = np.abs(model.dual_coef_[0])
        side = np.where(labels == digit, 1, -1) * model.decision_function(X)
        larger = own > coefficients
        coefficients[larger] = own[larger]
        values = np.minimum(values, side)
    return np.lexsort((values, -np.round(coefficients, 6)))


def main() -> None:
    """Print and draw how soon the wrong labels are found, and what mending them brings."""
    X, y, Z, truth = load("usps")
    random = np.random.RandomState(0)
    chosen = random.choice(len(X), ROWS, replace=False)
    X, y = X[chosen], y[chosen]
    spoilt = random.choice(ROWS, WRONG, replace=False)
    labels = y.copy()
    labels[spoilt] = (y[spoilt] + random.randint(1, 10, WRONG)) % 10
    order = suspects(X, labels)
    found = np.cumsum(labels[order] != y[order])
    machine = SVC(C=COST, kernel=KERNEL, multiclass="ovr")
    errors = []
    for stop in STOPS:
        mended = labels.copy()
        mended[order[:stop]] = y[order[:stop]]
        errors.append(100 * (1 - machine.fit(X, mended).score(Z, truth)))
    clean = 100 * (1 - machine.fit(X, y).score(Z, truth))
    table(
        f"{WRONG} wrong labels among {ROWS} images",
        ("looked at", "found", "found at random", "error then, %"),
        [
            (stop, 0 if stop == 0 else found[stop - 1], round(WRONG * stop / ROWS), f"{error:.2f}")
            for stop, error in zip(STOPS, errors, strict=True)
        ],
    )
    print(f"\nWith all labels right the error is {clean:.2f}%.")

    def draw(figure):
        left, right = figure.subfigures(1, 2, width_ratios=(1.15, 1))
        upper, lower = left.subplots(2, 1, sharex=True)
        looked = np.arange(1, ROWS + 1)
        upper.plot(looked, found, label="largest coefficients first")
        upper.plot(looked, WRONG * looked / ROWS, ":", color=INK, label="at random")
        upper.set(ylabel="wrong labels found", xlim=(0, STOPS[-1]), ylim=(0, WRONG * 1.03))
        upper.set_title(f"{WRONG} wrong labels among {ROWS}")
        upper.legend(loc="center right")
        lower.plot(STOPS, errors, "s-", color=COLOURS[1], label="trained on mended labels")
        lower.axhline(clean, color=INK, ls=":", label="all labels right")
        lower.set(xlabel="images looked at", ylabel="error on test images, %", ylim=(5.5, 7))
        lower.legend(loc="upper right")
        axes = right.subplots(5, 8)
        right.suptitle("The first 40, with their labels; boxed if wrong")
        for ax, row in zip(axes.ravel(), order, strict=False):
            ax.imshow(-X[row].reshape(16, 16), cmap="gray")
            ax.set(xticks=[], yticks=[])
            ax.set_title(labels[row], fontsize=9, loc="center", pad=2)
            bad = labels[row] != y[row]
            for spine in ax.spines.values():
                spine.set(visible=bad, color=COLOURS[2], linewidth=2.5)

    picture(draw, (13.0, 6.2))


if __name__ == "__main__":
    main()
