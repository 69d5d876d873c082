"""Rejection
=========

Accuracy against the share of rows rejected: handwritten digits, one machine per class.

A row is rejected where no class has a decision value above a threshold. The higher the threshold,
the fewer rows are classified, and the fewer of these wrongly. Run it, or give the name of a picture
to draw: python examples/reject.py [reject.png]
"""

import numpy as np
from _gallery import MARKERS, picture, table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from mercer import SVC

THRESHOLDS = np.linspace(-0.8, 0.8, 17)
STRATEGIES = {"ovr": "one-vs-rest", "ovo": "one-vs-one", "dag": "DAG"}


def curve(multiclass: str) -> list[tuple[float, float, float]]:
    """Return (threshold, share rejected, accuracy on the rest) of a classifier of noisy digits."""
    X, y = load_digits(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=4.0, size=X.shape)  # else there is no error
    X, Z, y, truth = train_test_split(X, y, test_size=0.5, random_state=0)
    model = SVC(C=10.0, multiclass=multiclass).fit(X, y)
    right = model.predict(Z) == truth
    points = []
    for threshold in THRESHOLDS if multiclass == "ovr" else THRESHOLDS + 0.8:
        rejected = model.reject(Z, threshold=threshold)
        if not rejected.all():
            points.append((threshold, rejected.mean(), right[~rejected].mean()))
    return points


def main() -> None:
    """Print the curves, and draw them if a file is named."""
    curves = {name: curve(multiclass) for multiclass, name in STRATEGIES.items()}
    for name, points in curves.items():
        table(
            name,
            ("threshold", "rejected", "accuracy"),
            [(f"{t:.1f}", f"{rejected:.1%}", f"{right:.2%}") for t, rejected, right in points],
        )

    def draw(figure):
        left, right = figure.subplots(1, 2)
        for (name, points), marker in zip(curves.items(), MARKERS, strict=False):
            thresholds, rejected, accuracy = 100 * np.transpose(points)
            left.plot(rejected, accuracy, f"{marker}-", label=name)
            right.plot(thresholds / 100, rejected, f"{marker}-", label=name)
        left.set(xlabel="rejected, %", ylabel="right among the others, %")
        left.set_title("The more rows are rejected, the fewer are wrong")
        right.set(xlabel="threshold", ylabel="rejected, %", ylim=(0, 100))
        right.set_title("What a threshold rejects")
        left.legend(loc="lower right")
        right.legend(loc="upper left")
        figure.suptitle("Noisy digits, half learned and half tested")

    picture(draw)


if __name__ == "__main__":
    main()
