"""Sources
=======

Blind source separation: sources that were mixed nonlinearly.

S. Harmeling, A. Ziehe, M. Kawanabe and K.-R. Müller, "Kernel-based nonlinear blind source
separation", 2003, which K.-R. Müller's "Introduction to kernel-based learning" refers to as kernel
ICA. Two random signals, a slow and a fast one, are the angle and, in part, the radius of a spiral:
(s2 + 3 s1 + 6) times the cosine and the sine of 1.5 pi s1. Nothing is known but the spiral. Linear
ICA can only turn and stretch it; kTDSEP finds the sources. Likeness is the correlation with the
true source, signs aside. Five seconds: python examples/sources.py [sources.png]
"""

import numpy as np
from _gallery import picture, table
from scipy.signal import lfilter
from sklearn.decomposition import FastICA

from mercer.decomposition import KernelICA

SEEDS = range(5)
COLOURS = "#2166ac", "#b2182b"


def signals(random_state: np.random.RandomState) -> np.ndarray:
    """Draw two autoregressive signals, a slow and a fast one, between -1 and 1."""
    noise = random_state.normal(size=(2, 2000))
    slow = lfilter([1.0], [1.0, -1.9, 0.95], noise[0])
    fast = lfilter([1.0], [1.0, -1.2, 0.9], noise[1])
    return np.column_stack([slow / abs(slow).max(), fast / abs(fast).max()])


def mixed(sources: np.ndarray) -> np.ndarray:
    """Return points of a spiral."""
    angle = 1.5 * np.pi * sources[:, 0]
    radius = sources[:, 1] + 3.0 * sources[:, 0] + 6.0
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def matched(found: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Return what was found for each source, with its sign and variance."""
    likeness = np.corrcoef(found.T, sources.T)[: found.shape[1], found.shape[1] :]
    straight = abs(np.diagonal(likeness)).sum() >= abs(np.diagonal(likeness[::-1])).sum()
    order = np.arange(2) if straight else np.arange(2)[::-1]
    signs = np.sign(likeness[order, np.arange(2)])
    ordered = found[:, order] * signs
    return ordered / ordered.std(axis=0) * sources.std(axis=0) + sources.mean(axis=0)


def likeness(found: np.ndarray, sources: np.ndarray) -> list[float]:
    """Return the correlation of each source with what was found for it."""
    return [np.corrcoef(pair)[0, 1] for pair in zip(found.T, sources.T, strict=True)]


def main() -> None:
    """Print the correlations, and draw the signals."""
    rows, shown = [], {}
    for seed in SEEDS:
        sources = signals(np.random.RandomState(seed))
        X = mixed(sources)
        found = {
            "linear ICA": matched(FastICA(2, random_state=0).fit_transform(X), sources),
            "kernel ICA": matched(KernelICA(2, n_basis=40).fit_transform(X), sources),
        }
        values = [value for signal in found.values() for value in likeness(signal, sources)]
        rows.append((f"signals {seed + 1}", *(f"{value:.3f}" for value in values)))
        shown = shown or {"sources": sources, "mixtures": X, **found}
    table(
        "Correlation with the true sources",
        ("", "linear ICA, slow", "fast", "kernel ICA, slow", "fast"),
        rows,
    )

    def draw(figure):
        axes = figure.subplots(4, 2, sharex=True)
        for line, (name, values) in zip(axes, shown.items(), strict=True):
            for column, ax in enumerate(line):
                ax.plot(values[:140, column], color=COLOURS[column], lw=1.2)
                title = name if name in ("sources", "mixtures") else ""
                if not title:
                    value = likeness(values, shown["sources"])[column]
                    title = f"{name}: correlation {value:.3f}"
                    ax.plot(shown["sources"][:140, column], color="gray", lw=0.8, ls="--")
                ax.set_title(title[0].upper() + title[1:])
        for ax in axes[-1]:
            ax.set_xlabel("time; dashed: the source")
        figure.suptitle("Two sources, mixed along a spiral, and what ICA finds")

    picture(draw, (13.0, 6.8))


if __name__ == "__main__":
    main()
