"""The progress that ``verbose=True`` shows on stderr."""

from typing import TextIO

from mercer._stream import Stream
from mercer.report import Report

__all__ = ["ProgressLine"]


class ProgressLine:
    """Show how far a fit is: one line rewritten on a terminal, a line a second elsewhere.

    An instance is the callback of the core, called about ten times a second.

    Parameters
    ----------
    title : str
        What is being fitted.
    stream : text file, default=None
        Where to write, stderr if None.
    """

    def __init__(self, title: str, stream: TextIO | None = None) -> None:
        self._title = title
        self._stream = Stream(stream)
        self._width = 0
        self._next_line_at = 1.0

    def __call__(
        self, machine: int, n_machines: int, iterations: int, gap: float, seconds: float
    ) -> None:
        """Show the state of the machine being trained."""
        if not self._stream.is_terminal:
            if seconds < self._next_line_at:
                return
            self._next_line_at = seconds + 1.0
        which = f"machine {machine + 1} of {n_machines}, " if n_machines > 1 else ""
        self._show(f"{which}{iterations} iterations, gap {gap:.3g}, {seconds:.1f} s")

    def finish(self, report: Report) -> None:
        """Show the outcome."""
        which = f"{len(report)} machines, " if len(report) > 1 else ""
        self._show(
            f"{report.status}: {which}{report.iterations} iterations, gap {report.gap:.3g}, "
            f"{report.seconds:.1f} s"
        )

    def close(self) -> None:
        """End the rewritten line of a terminal, if one was begun."""
        if self._stream.is_terminal and self._width > 0:
            self._stream.write("\n")
            self._width = 0

    def _show(self, text: str) -> None:
        line = f"[{self._title}] {text}"
        if self._stream.is_terminal:
            self._stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
        else:
            self._stream.write(line + "\n")
