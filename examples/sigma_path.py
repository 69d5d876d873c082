"""The width on the way
====================

The width of the kernel, chosen on the way: margins and estimates while sigma grows.

Campbell and Cristianini, section 3.4: train with a very narrow kernel, widen it a little, go on
from the last coefficients, and keep the width with the lowest bound of the error (or the lowest
error on rows held out). They name no figures. Here `sigma_path` does so on the published halves of
sonar, or else on every other row, and on ionosphere's first 200 rows. What it saves is counted in
epochs of the Kernel-Adatron beside those of starts from zero. What the estimate R^2 / (m margin^2)
chooses, with R the radius of the smallest sphere, is judged on the other rows: on both sets it is
too narrow a kernel, so rows held out are the better judge. Ten seconds:
python examples/sigma_path.py [sigma_path.png]
"""

# sphinx_gallery_thumbnail_path = '../examples/sigma_path.png'
import numpy as np
from _gallery import COLOURS, picture, published_half, table

from mercer.datasets import load_ionosphere, load_sonar
from mercer.model_selection import sigma_path

SETS = {
    "sonar": (load_sonar, np.geomspace(0.2, 1.5, 30)),
    "ionosphere": (load_ionosphere, np.geomspace(0.4, 2.5, 30)),
}


def halves(name: str) -> tuple[np.ndarray, ...]:
    """Return X, y, X_test, y_test."""
    X, y = SETS[name][0](return_X_y=True)
    learned = np.arange(len(X)) < 200
    if name == "sonar":
        half = published_half()
        learned = np.arange(len(X)) % 2 == 0 if half is None else half
    return X[learned], y[learned], X[~learned], y[~learned]


def main() -> None:
    """Print what the path chooses and saves, and draw it."""
    paths, zeros, rows = {}, {}, []
    for name, (_, widths) in SETS.items():
        X, y, Z, truth = halves(name)
        paths[name] = path = sigma_path(X, y, sigmas=widths, radius="svdd", validation=(Z, truth))
        zeros[name] = sigma_path(X, y, sigmas=widths, restart=True).epochs
        chosen, best = path.estimates.argmin(), path.errors.argmin()
        rows.append(
            (
                name,
                f"{widths[chosen]:.2f}",
                f"{path.errors[chosen]:.1%}",
                f"{widths[best]:.2f}",
                f"{path.errors[best]:.1%}",
                path.epochs.sum(),
                zeros[name].sum(),
            )
        )
    table(
        "Chosen by the estimate, and by the rows held out; epochs of the whole path",
        ("data", "sigma", "error", "held out: sigma", "error", "epochs", "from zero"),
        rows,
    )

    def draw(figure):
        panels = figure.subplots(2, 3)
        for row, (name, path) in zip(panels, paths.items(), strict=True):
            chosen = path.estimates.argmin()
            for ax, values, title in (
                (row[0], 100 * path.errors, "error on other rows, %"),
                (row[1], path.estimates, "estimate R² |w|² / m"),
                (row[2], path.epochs, "epochs for each width"),
            ):
                ax.plot(path.widths, values, "o-", ms=4, color=COLOURS[0], label="going on")
                ax.axvline(path.widths[chosen], color="black", ls=":", lw=1.5, label="chosen")
                ax.set(xscale="log")
                ax.set_title(f"{name[0].upper()}{name[1:]}: {title}")
                ticks = [t for t in (0.2, 0.5, 1, 2, 4) if path.widths[0] <= t <= path.widths[-1]]
                ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
                ax.minorticks_off()
            row[0].set_ylim(0, None)
            row[1].set_yscale("log")
            row[1].yaxis.set_major_formatter("{x:g}")
            row[1].yaxis.set_minor_formatter("{x:g}")
            row[2].set_yscale("log")
            row[2].plot(path.widths, zeros[name], "s--", ms=4, color=COLOURS[1], label="from zero")
            row[2].legend()
        for ax in panels[1]:
            ax.set_xlabel("width sigma of the kernel")

    picture(draw, (13.0, 7.0))


if __name__ == "__main__":
    main()
