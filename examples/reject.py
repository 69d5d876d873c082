"""Rejection
=========

Accuracy against the share of rows rejected: handwritten digits, one machine per class.

A row is rejected where no class has a decision value above a threshold. The higher the threshold,
the fewer rows are classified, and the fewer of these wrongly. Run it, or give the name of a picture
to draw: python examples/reject.py [reject.png]
"""

import numpy as np
from _gallery import picture, table
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
        axes = figure.subplots()
        for name, points in curves.items():
            _, rejected, accuracy = zip(*points, strict=True)
            axes.plot(
                np.multiply(rejected, 100), np.multiply(accuracy, 100), "o-", ms=3, label=name
            )
        axes.set(xlabel="rejected, %", ylabel="right among the others, %", title="Noisy digits")
        axes.grid(alpha=0.3)
        axes.legend()

    picture(draw)


if __name__ == "__main__":
    main()
