"""The progress that ``verbose=True`` shows on stderr.

On a terminal, and in a notebook, this is a live bar: by `rich`, if that is installed, else one line
that is rewritten. Elsewhere (a pipe, a log file) it is a plain line every second of the whole fit.
"""

import math
from typing import Any, Protocol, TextIO

from mercer._stream import Stream
from mercer.report import Progress, Report
from mercer.svm._watch import Way

__all__ = ["ProgressLine", "RichBar", "Shown", "shown"]

_WIDTH = 24


class Shown(Protocol):
    """What shows how far a fit is."""

    def __call__(self, progress: Progress, /) -> None:
        """Show the state of the fit."""

    def finish(self, report: Report) -> None:
        """Show the outcome."""

    def close(self) -> None:
        """Leave the terminal as it was; may be called twice."""


def shown(title: str, tol: float) -> Shown:
    """Return what shows the progress of a fit where stderr is now."""
    return RichBar.possible(title, tol) or ProgressLine(title, tol)


def _state(progress: Progress, tol: float) -> str:
    """Return in words where a fit is."""
    several = progress.machines > 1
    which = f"{progress.done} of {progress.machines} machines done, " if several else ""
    gap = f"gap {progress.gap:.3g} on its way to {tol:.3g}, " if progress.gap < math.inf else ""
    return f"{which}{gap}{progress.iteration} iterations, {progress.seconds:.1f} s"


def _outcome(report: Report) -> str:
    """Return in words how a fit has ended."""
    which = f"{len(report)} machines, " if len(report) > 1 else ""
    return (
        f"{report.status}: {which}{report.iterations} iterations, gap {report.gap:.3g}, "
        f"{report.seconds:.1f} s"
    )


class ProgressLine:
    """Show how far a fit is: one line rewritten on a terminal, a line a second elsewhere.

    Parameters
    ----------
    title : str
        What is being fitted.
    tol : float
        The gap at which a machine is done.
    stream : text file, default=None
        Where to write, stderr if None.

    Examples
    --------
    >>> import sys
    >>> from mercer.report import Progress
    >>> line = ProgressLine("SVC", 1e-3, stream=sys.stdout)
    >>> line(Progress(1, 3, 1, 10, 0.5, -1.0, 4, 1.25))
    [SVC] 33%, 1 of 3 machines done, gap 0.5 on its way to 0.001, 10 iterations, 1.2 s
    """

    def __init__(self, title: str, tol: float, stream: TextIO | None = None) -> None:
        self._title = title
        self._tol = tol
        self._way = Way(tol)
        self._stream = Stream(stream)
        self._rewrites = self._stream.is_terminal or _in_notebook()
        self._width = 0
        self._next_line_at = 1.0

    def __call__(self, progress: Progress, /) -> None:
        """Show the state of the fit."""
        share = self._way.share(progress)
        bar = ""
        if self._rewrites:
            filled = int(_WIDTH * share)
            bar = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] "
        elif progress.seconds < self._next_line_at:
            return
        else:
            self._next_line_at = math.floor(progress.seconds) + 1.0
        self._show(f"{bar}{100.0 * share:.0f}%, {_state(progress, self._tol)}")

    def finish(self, report: Report) -> None:
        """Show the outcome."""
        self._show(_outcome(report))

    def close(self) -> None:
        """End the rewritten line of a terminal, if one was begun."""
        if self._rewrites and self._width > 0:
            self._stream.write("\n")
            self._width = 0

    def _show(self, text: str) -> None:
        line = f"[{self._title}] {text}"
        if self._rewrites:
            self._stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
        else:
            self._stream.write(line + "\n")


class RichBar:
    """Show how far a fit is as a live bar of `rich`.

    What fails costs the bar, never the fit.

    Parameters
    ----------
    title : str
        What is being fitted.
    tol : float
        The gap at which a machine is done.
    console : rich.console.Console
        Where to show it.
    """

    def __init__(self, title: str, tol: float, console: Any) -> None:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        self._title = title
        self._tol = tol
        self._way = Way(tol)
        # Without a thread of its own, which a fork would lose.
        self._bars: Any = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=_WIDTH),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[state]}"),
            console=console,
            auto_refresh=False,
            transient=True,
        )
        self._task: Any = None

    @staticmethod
    def possible(title: str, tol: float) -> "RichBar | None":
        """Return a bar where there is one to be shown: rich is there, and someone looks."""
        try:
            from rich.console import Console

            console = Console(stderr=True)
            looked_at = console.is_terminal and not console.is_dumb_terminal
            if console.is_jupyter:
                import ipywidgets  # noqa: F401  (rich cannot redraw without)
            elif not looked_at:
                return None
            return RichBar(title, tol, console)
        except Exception:
            return None

    def __call__(self, progress: Progress, /) -> None:
        """Show the state of the fit."""
        share, state = self._way.share(progress), _state(progress, self._tol)
        self._try(self._update, share, state)

    def finish(self, report: Report) -> None:
        """Show the outcome."""
        self.close()
        if self._bars is not None:
            self._try(self._bars.console.print, f"[{self._title}] {_outcome(report)}", markup=False)

    def close(self) -> None:
        """Take the bar off the terminal."""
        if self._task is not None and self._bars is not None:
            self._task = None
            self._try(self._bars.stop)

    def _update(self, share: float, state: str) -> None:
        if self._task is None:
            self._bars.start()
            self._task = self._bars.add_task(self._title, total=1.0, state=state)
        self._bars.update(self._task, completed=share, state=state, refresh=True)

    def _try(self, show: Any, *args: Any, **options: Any) -> None:
        if self._bars is None:
            return
        try:
            show(*args, **options)
        except Exception:
            self._bars = None


def _in_notebook() -> bool:
    """Tell whether output goes to the cell of a notebook, where a line can be rewritten."""
    try:
        shell: str = type(get_ipython()).__name__  # type: ignore[name-defined]  # IPython's own
    except NameError:
        return False
    return shell == "ZMQInteractiveShell"
