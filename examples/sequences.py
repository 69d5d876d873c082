"""Strings
=======

Kernels of sequences beside bags of words, on genes and on news.

Kernlab's two sets of sequences: 106 genes of 57 letters, half of them promoters, and 40 news
agency reports on takeovers and on crude oil. The bags are counts of words (of letters in the
genes), scaled by their rarity; the kernels take substrings (spectrum) and subsequences with gaps
(Lodhi and others, 2002), which need no words. Errors of three times tenfold cross-validation,
C = 10; the length is the best on the rows that are tested. The letters of a gene at their
positions are beside them: no kernel here knows positions. Half a minute:
python examples/sequences.py [sequences.png]
"""

# sphinx_gallery_thumbnail_path = '../examples/sequences.png'
from typing import Any

import numpy as np
from _gallery import load, picture, table
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

from mercer import SVC
from mercer.kernels import Linear, Spectrum, Subsequence

LENGTHS = range(1, 6)
DECAY = 0.4


def error(values: np.ndarray, y: np.ndarray) -> float:
    """Return the error of a machine on kernel values, by repeated cross-validation."""
    folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=3, random_state=0)
    machine = SVC(kernel="precomputed", C=10.0)
    return 1 - cross_val_score(machine, values, y, cv=folds).mean()


def compare(texts: list[str], y: np.ndarray, bag: TfidfVectorizer) -> dict[str, Any]:
    """Return the errors of the bag of words, and of both kernels at every length."""
    words = Linear().normalized()(bag.fit_transform(texts))
    return {
        "bag of words": error(words, y),
        "spectrum": [error(Spectrum(length=p).normalized()(texts), y) for p in LENGTHS],
        "subsequences": [
            error(Subsequence(length=p, decay=DECAY).normalized()(texts), y) for p in LENGTHS
        ],
    }


def main() -> None:
    """Print the errors, and draw them against the length of the substrings."""
    letters, promoter = load("promotergene", "sequence")
    one_hot, _ = load("promotergene")
    news, topic = load("kernlab_reuters_text", "text")
    genes = ["".join(row) for row in letters]
    found = {
        "promoter genes": compare(genes, promoter, TfidfVectorizer(analyzer="char")),
        "news": compare(list(news), topic, TfidfVectorizer()),
    }
    rows = [
        [name, of["bag of words"], min(of["spectrum"]), min(of["subsequences"])]
        for name, of in found.items()
    ]
    shown = [[row[0], *(f"{100 * value:.1f}" for value in row[1:])] for row in rows]
    table("Errors in per cent", ["data", "bag of words", "spectrum", "subsequences"], shown)
    positions = 100 * error(Linear()(one_hot), promoter)
    print(f"Genes letter by letter, each at its position: {positions:.1f}")

    def draw(figure):
        for axis, (name, of) in zip(figure.subplots(1, 2), found.items(), strict=True):
            axis.axhline(100 * of["bag of words"], color="black", ls="--", label="bag of words")
            for kind, style in (("spectrum", "o-"), ("subsequences", "s-")):
                axis.plot(LENGTHS, 100 * np.array(of[kind]), style, label=kind)
            axis.set(title=name.capitalize(), xlabel="length of the substrings", xticks=LENGTHS)
            axis.set(ylabel="error, %", ylim=(0, None))
            axis.legend()

    picture(draw, (13.0, 5.0))


if __name__ == "__main__":
    main()
