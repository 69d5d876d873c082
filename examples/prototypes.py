"""Support vectors as prototypes
=============================

All that the machine needs, not all that its neighbours need.

P. S. Sastry, "An introduction to support vector machines", example 2, classifies fingerprints by
the nearest of a few stored ones: about 90 support vectors do as well as all 1500 rows, 100 random
rows do not. Those prints are not among our sets, and on these it is otherwise. To the machine its
support vectors are enough: trained again on them alone, it is the same. To a nearest neighbour they
are worth as much as equally many random rows or less, above all where classes overlap, since they
are the least typical rows of their class. Five seconds: python examples/prototypes.py
[prototypes.png]
"""

# sphinx_gallery_thumbnail_path = '../examples/prototypes.png'
from math import inf

import numpy as np
from _gallery import load, picture, table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from mercer import SVC

# Right among the 2695 prints of tables 1 to 4, all classes together.
PUBLISHED = ("fingerprints, published", 1500, 90, "97.1%", "", "99.1%", "99.3%", "88.0%")
COLUMNS = ("SVM", "SVM again", "nearest of all", "of support vectors", "of random rows")


def data(name: str) -> tuple[np.ndarray, ...]:
    """Return X, y, X_test, y_test: as published, or two random halves."""
    arrays = load_digits(return_X_y=True) if name == "digits" else load(name)
    if len(arrays) == 4:
        return arrays
    X, Z, y, truth = train_test_split(*arrays, train_size=0.5, random_state=0)
    return X, y, Z, truth


def scores(name: str, C: float) -> tuple[int, int, np.ndarray]:
    """Return the number of rows and of support vectors, and the accuracies of the columns."""
    X, y, Z, truth = data(name)

    def nearest(rows: np.ndarray) -> float:
        return KNeighborsClassifier(1).fit(X[rows], y[rows]).score(Z, truth)

    machine = SVC(C=C, gamma=1 / (X.shape[1] * X.var()))
    model = machine.fit(X, y)
    right, support = model.score(Z, truth), model.support_
    again = machine.fit(X[support], y[support]).score(Z, truth)
    draws = [
        np.random.RandomState(seed).choice(len(X), len(support), replace=False) for seed in range(5)
    ]
    random = np.mean([nearest(rows) for rows in draws])
    values = right, again, nearest(np.arange(len(X))), nearest(support), random
    return len(X), len(support), np.array(values)


def main() -> None:
    """Print and draw the accuracies."""
    cases = {"digits": inf, "pendigits": inf, "usps": inf, "satellite": 10.0}
    results = {name: scores(name, C) for name, C in cases.items()}
    table(
        "Right among new rows (hard margins; satellite: C = 10)",
        ("data", "rows", "support vectors", *COLUMNS),
        [
            PUBLISHED,
            *(
                (name, rows, support, *(f"{value:.1%}" for value in values))
                for name, (rows, support, values) in results.items()
            ),
        ],
    )

    def draw(figure):
        ax = figure.subplots()
        for column in (0, 2, 3, 4):
            values = [100 * results[name][2][column] for name in cases]
            place = np.arange(len(cases)) + 0.2 * (max(column, 1) - 2.5)
            ax.bar(place, values, 0.19, label=COLUMNS[column])
        ax.set(ylim=(70, 108), yticks=range(70, 101, 5), ylabel="right, %")
        ax.set_xticks(
            range(len(cases)),
            [f"{name}\n{support} of {rows}" for name, (rows, support, _) in results.items()],
        )
        ax.set_title("Support vectors and as many random rows as prototypes")
        ax.set_xlabel("data; support vectors of all rows")
        ax.grid(axis="y", alpha=0.3)
        ax.legend(ncols=4, fontsize=8, loc="upper center")

    picture(draw, (7.0, 4.2))


if __name__ == "__main__":
    main()
