"""The way of a solver to the solution."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from mercer.plots._style import (
    BLUE,
    GREY,
    INK,
    RED,
    TEXTS,
    colour,
    drawing,
    legend_below,
    machine_of,
    tint,
)
from mercer.svm._docs import documented

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["convergence"]

#: Machines whose curves have a place in the legend, and machines that have room for words.
_NAMED, _TOLD = 9, 8


@documented(TEXTS)
def convergence(model: Any, steps: Sequence[Any] | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw how far the machines of a model were from their optimum: the gap, and `tol`.

    The gap is the largest violation of the optimality conditions. With what a fit has told on its
    way (`steps`), or with the epochs of the solver 'adatron', it is a curve for each machine.
    Otherwise it is a point for each: what the fit has ended with, and after how many iterations.

    Parameters
    ----------
    model : fitted machine
        A machine of `mercer.svm`, or a pipeline that ends in one.
    steps : sequence, default=None
        What the fit has told on its way: objects with `machine`, `iteration` and `gap`.
    {ax}

    Returns
    -------
    {axes}

    Examples
    --------
    >>> from mercer import SVC
    >>> from mercer.datasets import load_sonar
    >>> from mercer.plots import convergence
    >>> X, y = load_sonar(return_X_y=True)
    >>> ax = convergence(SVC(C=10, solver="adatron").fit(X, y))
    >>> ax.get_xlabel(), ax.get_yscale()
    ('epoch', 'log')
    """
    check_is_fitted(model)
    machine = machine_of(model)
    if not hasattr(machine, "report_"):
        raise TypeError(f"model must be a machine of mercer.svm, got {machine!r}")
    ax = drawing(ax)
    curves = _curves(machine, steps)
    if curves:
        _draw_curves(ax, curves, "epoch" if steps is None else "iteration")
    else:
        _draw_ends(ax, machine)
    ax.axhline(
        machine.tol, color=INK, linewidth=1.0, linestyle="--", label=f"tol = {machine.tol:g}"
    )
    ax.set(yscale="log", ylabel="gap")
    ax.grid(color=tint(GREY, 0.3), linewidth=0.6)
    legend_below(ax)
    return ax


def _curves(
    machine: Any, steps: Sequence[Any] | None
) -> list[tuple[str, NDArray[Any], NDArray[np.float64]]]:
    """Return the name of each machine, its iterations and its gaps, none if they are not known."""
    if steps is not None:
        numbers = sorted({step.machine for step in steps})
        told = {number: [step for step in steps if step.machine == number] for number in numbers}
        tables = {
            number: np.array([(step.iteration, step.gap) for step in one if step.gap < np.inf])
            for number, one in told.items()
        }
        found = {number: table for number, table in tables.items() if len(table)}
        known = _names(machine, len(machine.report_))
        return [
            (known[number] if len(found) > 1 else "gap", table[:, 0], table[:, 1])
            for number, table in found.items()
        ]
    history = getattr(machine, "history_", None)
    if history is None:
        return []
    histories = history if isinstance(history, list) else [history]
    names = _names(machine, len(histories)) if len(histories) > 1 else ["gap"]
    return [
        (name, np.arange(1, len(one["gap"]) + 1), one["gap"])
        for name, one in zip(names, histories, strict=True)
    ]


def _draw_curves(
    ax: Axes, curves: list[tuple[str, NDArray[Any], NDArray[np.float64]]], unit: str
) -> None:
    for index, (name, iterations, gaps) in enumerate(curves):
        # What is zero or below has no logarithm: it is at the lower edge.
        positive = np.where(gaps > 0.0, gaps, np.nan)
        shown = name if index < _NAMED else None
        marker = "o" if len(gaps) < 2 else None
        ax.plot(
            iterations, positive, color=colour(index), linewidth=1.6, marker=marker, label=shown
        )
    ax.set(xlabel=unit)


def _draw_ends(ax: Axes, machine: Any) -> None:
    """Draw the gap of each machine, as a pin on the line of the tolerance."""
    reports = list(machine.report_)
    numbers = np.arange(len(reports))
    # An exact solution has no logarithm.
    gaps = np.fmax([report.gap for report in reports], np.finfo(np.float64).eps)
    done = np.array([report.status == "converged" for report in reports])
    for rows, shade, label in ((done, BLUE, "converged"), (~done, RED, "not converged")):
        if rows.any():
            count = f"{rows.sum()} machine{'' if rows.sum() == 1 else 's'} {label}"
            ax.vlines(numbers[rows], machine.tol, gaps[rows], color=tint(shade, 0.5), linewidth=2.0)
            ax.plot(numbers[rows], gaps[rows], "o", color=shade, markersize=7, label=count)
    names = _names(machine, len(reports))
    if len(reports) <= _TOLD:
        for number, report in enumerate(reports):
            ax.annotate(
                f"{report.iterations:,} iterations",
                (number, gaps[number]),
                (0, 8 if gaps[number] > machine.tol else -14),
                textcoords="offset points",
                ha="center",
                fontsize="small",
                color=INK,
            )
        ax.set_xticks(numbers, names)
    ax.set(xlabel="machine", xlim=(-0.6, len(reports) - 0.4))
    ax.margins(y=0.15)


def _names(machine: Any, count: int) -> list[str]:
    """Return what to call each machine: by the classes it tells apart, if it does."""
    classes = [str(label) for label in getattr(machine, "classes_", ())]
    pairs = [f"{a} or {b}" for a, b in combinations(classes, 2)]
    if len(pairs) == count and getattr(machine, "_fit_multiclass", "ovr") in ("ovo", "dag"):
        return pairs
    return classes if len(classes) == count else [str(number) for number in range(count)]
