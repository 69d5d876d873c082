"""Selective sampling
==================

Labels asked for where the plane is, against labels of random rows.

Campbell, "An introduction to kernel methods", section 2.7: the majority rule on random bit strings,
100 samplings of 200 rows to learn from and 200 to test on. A string is of class 1 if more than half
of its bits are set. The machine begins with one row of each class. Then it asks for the label of
the row nearest to its plane, or is given that of a random row. The paper shows two curves without
figures: the error falls faster, and the dual objective settles when all support vectors are known.
The length of its strings is not printed; ours have 20 bits, and strings with just ten are left out.
Half a minute: python examples/selective_sampling.py [selective_sampling.png]
"""

# sphinx_gallery_thumbnail_path = '../examples/selective_sampling.png'
import numpy as np
from _gallery import picture, table

from mercer import SVC
from mercer.active import SelectiveSampler

BITS, ROWS, DRAWS = 20, 200, 100
LABELS = np.arange(2, ROWS + 1)


def strings(random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Draw strings of -1 and 1 and whether most of their bits are set."""
    X = random.choice([-1.0, 1.0], size=(4 * ROWS, BITS))
    X = X[X.sum(axis=1) != 0.0][: 2 * ROWS]
    return X, (X.sum(axis=1) > 0.0).astype(int)


def learn(seed: int, selective: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Return error and dual objective for each number of labels, and where the sampler stops."""
    random = np.random.RandomState(seed)
    X, y = strings(random)
    pool, truth, new, expected = X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:]
    first = [int(np.flatnonzero(truth == label)[0]) for label in (0, 1)]
    order = random.permutation(np.setdiff1d(np.arange(ROWS), first))
    sampler = SelectiveSampler(SVC(kernel="linear", C=1e4), validation=(new, expected))
    sampler.teach(pool[first], truth[first])
    stopped = 0
    for row in order:
        wanted = sampler.query(pool, 1) if selective else np.array([row])
        if len(wanted) == 0:  # the others are copies of rows that were taught
            wanted = np.array([row])
        sampler.teach(pool[wanted], truth[wanted])
        if sampler.stop_ and not stopped:
            stopped = sampler.n_labels_
    history = sampler.history_
    return np.array(history["error"]), np.array(history["objective"]), stopped or ROWS


def main() -> None:
    """Print how many labels each way needs, and draw errors and objectives."""
    runs = {
        name: [learn(seed, name == "selective") for seed in range(DRAWS)]
        for name in ("random", "selective")
    }
    errors = {
        name: 100.0 * np.mean([run[0] for run in all_], axis=0) for name, all_ in runs.items()
    }
    objectives = {
        name: np.mean([run[1] / run[1][-1] for run in all_], axis=0) for name, all_ in runs.items()
    }
    final = errors["random"][-1]
    stopped = [run[2] for run in runs["selective"]]
    table(
        f"Majority of {BITS} bits, error % over {DRAWS} draws",
        ("labels", "random", "selective"),
        [
            (labels, *(f"{errors[name][labels - 2]:.2f}" for name in ("random", "selective")))
            for labels in (5, 10, 20, 40, 60, 80, 100, 150, 200)
        ],
    )
    reached = LABELS[np.argmax(errors["selective"] <= final)]
    print(f"\nThe final error of random rows, {final:.2f}%, is reached with {reached} labels.")
    print(f"The objective settles after {np.median(stopped):.0f} labels (median).")

    def draw(figure):
        left, right = figure.subplots(1, 2)
        for name, style in (("random", "--"), ("selective", "-")):
            left.plot(LABELS, errors[name], style, label=name)
            right.plot(LABELS, objectives[name], style, label=name)
        left.axhline(final, color="k", lw=0.8, ls=":")
        left.set(xlabel="labels", ylabel="error on new strings, %", ylim=(0, None))
        right.axvline(np.median(stopped), color="k", lw=0.8, ls=":", label="sampler stops")
        right.set(xlabel="labels", ylabel="dual objective, share of the last", ylim=(0, 1.05))
        left.set_title("Error")
        right.set_title("Dual objective")
        for ax in (left, right):
            ax.set_xlim(0, ROWS)
            ax.legend()

    picture(draw, (13.0, 5.0))


if __name__ == "__main__":
    main()
