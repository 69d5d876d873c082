"""Support vectors as prototypes
=============================

All that the machine needs, not all that its neighbours need.

P. S. Sastry, "An introduction to support vector machines", example 2, classifies fingerprints by
the nearest of a few stored ones: about 90 support vectors do as well as all 1500 rows, 100 random
rows do not. Its tables count all 2695 prints, the 1500 learned among them, so here too 1500 of 2695
rows are learned and all are counted; the right panel counts new rows only. Table 3 has a misprint:
745 right of the 735 prints of class R; 735 are taken here. Those prints are not among our sets, and
on these it is otherwise. To the machine its support vectors are enough: trained again on them
alone, it is the same. To a nearest neighbour they are worth less than all rows. They are worth more
than equally many random rows where most errors are counted on rows that are prototypes themselves
(digits, usps), no more on pendigits, and far less where classes overlap (satellite), since they are
the least typical rows of their class. Ten seconds: python examples/prototypes.py [prototypes.png]
"""

# sphinx_gallery_thumbnail_path = '../examples/prototypes.png'
from math import inf

import numpy as np
from _gallery import COLOURS, MARKERS, load, picture, table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from mercer import SVC

TOTALS = np.array([804, 735, 1023, 133])  # prints of the classes L, R, W and AT
#: Right of each class in tables 1 to 4; 735 for the 745 that are printed in table 3.
RIGHT = {
    "SVM": [801, 688, 998, 129],
    "nearest of all": [804, 735, 1009, 123],
    "of support vectors": [804, 735, 1011, 126],
    "of random rows": [732, 678, 892, 69],
}
LEARNED = 1500 / 2695
COLUMNS = ("SVM", "SVM again", *list(RIGHT)[1:])
CASES = {"digits": inf, "pendigits": inf, "usps": inf, "satellite": 10.0}


def scores(name: str, C: float) -> tuple[int, int, np.ndarray]:
    """Return the number of rows and of support vectors, and (all, new) accuracies per column."""
    arrays = load_digits(return_X_y=True) if name == "digits" else load(name)
    everything, labels = arrays[:2]  # of sets with a split of their own, the training rows
    X, Z, y, truth = train_test_split(
        everything, labels, train_size=LEARNED, random_state=0, stratify=labels
    )
    whole, expected = np.vstack([X, Z]), np.concatenate([y, truth])

    def right(model) -> tuple[float, float]:
        hits = model.predict(whole) == expected
        return hits.mean(), hits[len(X) :].mean()

    def nearest(rows: np.ndarray) -> tuple[float, float]:
        return right(KNeighborsClassifier(1).fit(X[rows], y[rows]))

    machine = SVC(C=C, gamma=1 / (X.shape[1] * X.var()))
    figures = [right(machine.fit(X, y))]
    support = machine.support_
    figures.append(right(machine.fit(X[support], y[support])))
    figures += [nearest(np.arange(len(X))), nearest(support)]
    draws = [
        np.random.RandomState(seed).choice(len(X), len(support), replace=False) for seed in range(3)
    ]
    figures.append(np.mean([nearest(rows) for rows in draws], axis=0))
    return len(X), len(support), np.array(figures)


def main() -> None:
    """Print and draw the accuracies."""
    results = {name: scores(name, C) for name, C in CASES.items()}
    published = {name: sum(counts) / TOTALS.sum() for name, counts in RIGHT.items()}
    for column, rows in enumerate(("all rows, those learned among them", "new rows only")):
        given = [published.get(name) if column == 0 else None for name in COLUMNS]
        fingerprints = ("" if value is None else f"{value:.1%}" for value in given)
        table(
            f"Right among {rows} (hard margins; satellite: C = 10)",
            ("data", "learned", "support vectors", *COLUMNS),
            [
                ("fingerprints, published", 1500, "about 90", *fingerprints),
                *(
                    (name, learned, support, *(f"{value:.1%}" for value in figures[:, column]))
                    for name, (learned, support, figures) in results.items()
                ),
            ],
        )

    def draw(figure):
        panels = figure.subplots(1, 2, sharey=True, sharex=True)
        names = ["fingerprints, published\n90 of 1500"]
        names += [f"{n}\n{support} of {rows}" for n, (rows, support, _) in results.items()]
        places = np.arange(len(names))
        for column, (ax, title) in enumerate(
            zip(panels, ("All rows, as published", "New rows only"), strict=True)
        ):
            for i, (name, theirs) in enumerate(published.items()):
                values = [
                    figures[COLUMNS.index(name), column] for _, _, figures in results.values()
                ]
                values = 100 - 100 * np.array([np.nan if column else theirs, *values])
                at = places + 0.12 * (i - 1.5)
                ax.plot(values, at, MARKERS[i], ms=8, color=COLOURS[i], label=name)
            ax.set(xlabel="wrong, %", title=title, xscale="log", xlim=(0.15, 40))
            ax.set_xticks(ticks := [0.2, 0.5, 1, 2, 5, 10, 20], [f"{tick:g}" for tick in ticks])
            ax.minorticks_off()
            ax.grid(axis="y", visible=False)
            for place in places[1:]:
                ax.axhline(place - 0.5, color="grey", lw=0.5)
        panels[0].set_yticks(places, names)
        panels[0].invert_yaxis()
        panels[1].text(
            0.02,
            0.0,
            "not published",
            va="center",
            color="grey",
            transform=panels[1].get_yaxis_transform(),
        )
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
        figure.suptitle("Classified by the machine, and by the nearest of some or all of its rows")

    picture(draw, (13.0, 5.5))


if __name__ == "__main__":
    main()
