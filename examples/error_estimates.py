"""Error estimates
===============

What the training rows alone say of the error, against the width of the kernel.

Campbell, An introduction to kernel methods, section 2.6 and figure 7: after first overfitting, the
error on new rows passes through a minimum as sigma grows; estimates that need no other rows are to
find it. A hard margin on half of the rows of ionosphere and sonar, for which the data of the figure
are not published; errors are means over 10 random splits. The span rule follows the error on new
rows closely. The radius-margin estimate is far above it, but its minimum is at almost the same
width. Twenty seconds: python examples/error_estimates.py [error_estimates.png]
"""

# sphinx_gallery_thumbnail_path = '../examples/error_estimates.png'
import numpy as np
from _gallery import picture, table
from sklearn.model_selection import train_test_split

from mercer import SVC
from mercer.datasets import load_ionosphere, load_sonar
from mercer.kernels import RBF
from mercer.model_selection import error_estimates, leave_one_out

SETS = {
    "ionosphere": (load_ionosphere, np.geomspace(0.3, 8, 13)),
    "sonar": (load_sonar, np.geomspace(0.1, 2, 13)),
}
NAMES = {
    "new rows": "k-",
    "leave-one-out": "k:",
    "span_same_support": "C3o-",
    "span": "C1s-",
    "jaakkola_haussler": "C2^-",
    "support_vectors": "C4v-",
}
SEEDS = 10


def errors(X: np.ndarray, y: np.ndarray, sigma: float) -> dict[str, float]:
    """Return the error on new rows and what the training rows say of it, over random splits."""
    found: list[dict[str, float]] = []
    for seed in range(SEEDS):
        rows, others, labels, truth = train_test_split(X, y, train_size=0.5, random_state=seed)
        model = SVC(C=np.inf, kernel=RBF(sigma=sigma)).fit(rows, labels)
        estimates = {name: float(e) for name, e in error_estimates(model, rows, labels)}
        estimates["new rows"] = 1.0 - model.score(others, truth)
        estimates["leave-one-out"] = leave_one_out(model, rows, labels).error
        found.append(estimates)
    return {name: float(np.mean([e[name] for e in found])) for name in found[0]}


def main() -> None:
    """Print where each estimate is lowest, and draw them against the width."""
    curves = {}
    for name, (load, widths) in SETS.items():
        X, y = load(return_X_y=True)
        path = [errors(X, y, sigma) for sigma in widths]
        curves[name] = {key: np.array([e[key] for e in path]) for key in path[0]}
        truth = curves[name]["new rows"]
        table(
            f"{name}: hard margin, half of {len(y)} rows, {SEEDS} splits",
            ("chosen by", "sigma", "estimate", "error on new rows"),
            [
                (key, f"{widths[at]:.2f}", f"{curve[at]:.3f}", f"{truth[at]:.3f}")
                for key, curve in curves[name].items()
                for at in [curve.argmin()]
            ],
        )

    def draw(figure):
        for ax, (name, (_, widths)) in zip(figure.subplots(1, 2), SETS.items(), strict=True):
            for key, style in NAMES.items():
                ax.plot(widths, curves[name][key], style, label=key.replace("_", " "))
            radius = curves[name]["radius_margin"]
            shown = radius * curves[name]["new rows"].min() / radius.min()
            ax.plot(widths, shown, "C5--", label="radius margin, scaled to the lowest error")
            ax.set(xscale="log", xlabel="sigma", ylim=(0, 0.8), title=name)
            ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5) if widths[0] <= tick <= widths[-1]]
            ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.minorticks_off()
        figure.axes[0].set_ylabel("error, or estimate of it")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, ncols=4, loc="outside lower center")

    picture(draw, (13.0, 6.0))


if __name__ == "__main__":
    main()
