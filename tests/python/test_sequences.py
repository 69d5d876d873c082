"""Kernels of sequences: against definitions, as kernels like others, and in estimators."""

import pickle
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from mercer import SVC, SVDD, SVR, model_selection
from mercer.kernels import RBF, Spectrum, Subsequence

WORDS = ["", "a", "banana", "bandana", "cabana", "ananas", "nab", "sabbath", "xyzzy", "abab" * 3]


def _weights(sequence, kernel):
    """Return the features of a sequence, by the definition."""
    weights = Counter()
    if isinstance(kernel, Spectrum):
        for start in range(len(sequence) - kernel.length + 1):
            weights[tuple(sequence[start : start + kernel.length])] += 1.0
    else:
        for places in combinations(range(len(sequence)), kernel.length):
            span = places[-1] - places[0] + 1
            weights[tuple(sequence[place] for place in places)] += kernel.decay**span
    return weights


def _naive(kernel, A, B):
    rows, columns = ([_weights(row, kernel) for row in X] for X in (A, B))
    return np.array([[sum(s[u] * t[u] for u in s) for t in columns] for s in rows])


KERNELS = [
    Spectrum(length=1),
    Spectrum(length=3),
    Subsequence(length=1, decay=0.5),
    Subsequence(length=2, decay=0.8),
    Subsequence(length=3, decay=1.0),
    Subsequence(length=4, decay=0.3),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_are_those_of_the_definition(kernel):
    expected = _naive(kernel, WORDS, WORDS)
    np.testing.assert_allclose(kernel(WORDS), expected, rtol=1e-13)
    np.testing.assert_allclose(kernel(WORDS, WORDS[2:7]), expected[:, 2:7], rtol=1e-13)
    own = np.sqrt(np.diagonal(expected))
    lengths = np.outer(own, own)
    cosines = np.divide(expected, lengths, out=np.zeros_like(expected), where=lengths > 0)
    normalized = kernel.normalized()(WORDS)
    np.testing.assert_allclose(normalized, cosines, rtol=1e-13)
    assert set(np.diagonal(normalized)) == {0.0, 1.0}
    np.testing.assert_array_equal(normalized, normalized.T)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_rows_may_be_strings_bytes_tokens_and_columns(kernel):
    expected = kernel(WORDS)
    tokens = [list(word) for word in WORDS]
    for rows in [
        [word.encode() for word in WORDS],
        np.array(WORDS),
        np.array(WORDS, dtype=object),
        np.array(WORDS, dtype=object)[:, None],
        pd.Series(WORDS, index=range(10, 20)),
        pd.DataFrame({"word": WORDS}),
        tuple(WORDS),
        tokens,
        [[ord(symbol) for symbol in word] for word in WORDS],
    ]:
        np.testing.assert_array_equal(kernel(rows), expected)
    # Symbols are the same in both sets, whatever order they are met in.
    np.testing.assert_allclose(kernel(tokens[::-1], tokens), expected[::-1], rtol=1e-13)


def test_all_characters_are_symbols():
    texts = ["größe 😀 \ud800", "größer 😀", "\U0010ffff" * 3]
    np.testing.assert_array_equal(
        Spectrum(length=2)(texts), _naive(Spectrum(length=2), texts, texts)
    )


def test_algebra():
    first, second = Spectrum(length=2), Subsequence(length=2, decay=0.5)
    a, b = first(WORDS), second(WORDS)
    np.testing.assert_allclose((first + 2.0 * second)(WORDS), a + 2.0 * b)
    np.testing.assert_allclose((first * second)(WORDS), a * b)
    kernel = (first.normalized() + 0.5 * second).normalized()
    assert eval(repr(kernel)) == kernel == pickle.loads(pickle.dumps(kernel))
    assert len({kernel, clone(kernel, safe=False)}) == 1
    assert set(np.diagonal(kernel(WORDS))) <= {0.0, 1.0}


@pytest.mark.parametrize(
    ("kernel", "rows", "error", "message"),
    [
        (Spectrum(), "banana", TypeError, "^A must be a list"),
        (Spectrum(), ["a", 1.0], TypeError, "^A must have rows that are .* in row 1"),
        (Spectrum(), ["a", b"a"], TypeError, "^A must have rows of one kind"),
        (Spectrum(), pd.Series(["a", None]), TypeError, "(None|nan) in row 1"),
    ],
)
def test_what_is_refused(kernel, rows, error, message):
    with pytest.raises(error, match=message):
        kernel(rows)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Spectrum(length=0), ValueError, "^length must be"),
        (lambda: Spectrum(length=1.5), TypeError, "^length must be"),
        (lambda: Subsequence(decay=0.0), ValueError, "^decay must be"),
        (lambda: Subsequence(decay=1.1), ValueError, "^decay must be"),
        (lambda: Spectrum() + RBF(), TypeError, "kernel of sequences and one of numbers"),
    ],
)
def test_what_is_refused_at_once(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_sets_of_different_kinds_are_refused():
    with pytest.raises(TypeError, match=r"^B must have rows of the kind that A has"):
        Spectrum()(["a"], [b"a"])


def _texts(n=60):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    texts = ["".join(rng.choice(list("abcd"), size=rng.integers(8, 30))) for _ in range(n)]
    return [text[:4] + "dcba" * label + text[4:] for text, label in zip(texts, y, strict=True)], y


@pytest.mark.parametrize("wrap", [list, np.array, pd.Series])
@pytest.mark.parametrize("kernel", [Spectrum(length=3), Subsequence(length=3, decay=0.4)])
def test_machines_are_those_of_the_precomputed_kernel(kernel, wrap):
    kernel = kernel.normalized()
    texts, y = _texts()
    train, test = wrap(texts[:40]), wrap(texts[40:])
    model = SVC(kernel=kernel, C=5.0, tol=1e-8).fit(train, y[:40])
    reference = SVC(kernel="precomputed", C=5.0, tol=1e-8).fit(kernel(texts[:40]), y[:40])
    expected = reference.decision_function(kernel(texts[40:], texts[:40]))
    np.testing.assert_allclose(model.decision_function(test), expected, atol=1e-6)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict(test), model.predict(test))
    assert list(model.support_vectors_) == [texts[row] for row in model.support_]


def test_other_machines():
    texts, y = _texts()
    assert SVR(kernel=Spectrum().normalized(), C=10.0).fit(texts, y).score(texts, y) > 0.9
    inside = SVDD(kernel=Subsequence(length=2)).fit(texts).predict(texts)
    assert (inside == 1).mean() > 0.3
    empty = SVC(kernel=Spectrum(length=50)).fit(texts, y)  # a kernel that is 0
    assert np.isfinite(empty.decision_function(texts)).all()


@pytest.mark.parametrize("search", [GridSearchCV, model_selection.GridSearchCV])
def test_searches_reach_the_parameters(search):
    texts, y = _texts()
    machine = SVC(kernel=Spectrum(length=1).normalized(), C=10.0)
    found = search(machine, {"kernel__kernel__length": [1, 4], "C": [1.0, 10.0]}, cv=3)
    assert found.fit(texts, y).best_params_["kernel__kernel__length"] == 4
    assert found.best_score_ > 0.9


def test_promoters_and_texts(shared_data):
    # kernlab's sets: genes that are promoters, and news of two kinds.
    X, y = shared_data("promotergene")
    genes = ["".join("acgt"[k] for k in row) for row in X.reshape(-1, 4, 57).argmax(axis=1)]
    machine = SVC(kernel=Subsequence(length=3, decay=0.6).normalized(), C=10.0)
    assert cross_val_score(machine, genes, y, cv=5).mean() > 0.75
    texts, y = shared_data("kernlab_reuters_text")
    texts = [text[:300] for text in texts]
    machine = SVC(kernel=Spectrum(length=4).normalized(), C=10.0)
    assert cross_val_score(machine, texts, y, cv=5).mean() > 0.85
