"""A progress bar for the command line: a line of text on stderr, and nothing to install."""

import time
from types import TracebackType
from typing import TextIO

from mercer._stream import Stream

# Work that is over before this many seconds shows no bar at all.
_PATIENCE = 1.0
_WIDTH = 24


class Progress:
    """Show how much of some work is done, once it has taken longer than a second.

    On a terminal this is one bar, redrawn in place and wiped at the end; elsewhere (a pipe, a log
    file) it is one plain line for each step.

    Parameters
    ----------
    total : int
        Number of steps.
    stream : text file, default=None
        Where to write; None is stderr.
    patience : float, default=1.0
        Seconds before anything is shown.

    Examples
    --------
    >>> import sys
    >>> with Progress(2, stream=sys.stdout, patience=0.0) as progress:
    ...     progress.step("first half")
    ...     progress.step("second half")
    [1/2] first half
    [2/2] second half
    """

    def __init__(
        self, total: int, *, stream: TextIO | None = None, patience: float = _PATIENCE
    ) -> None:
        self.total = total
        self.done = 0
        self._stream = Stream(stream)
        self._visible_from = time.monotonic() + patience
        self._drawn = 0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.wipe()

    def step(self, message: str) -> None:
        """Count one step as done."""
        self.done += 1
        self._draw(message)

    def wipe(self) -> None:
        """Take the bar off the terminal, so that other text can be written."""
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._drawn = 0

    def _draw(self, message: str) -> None:
        if time.monotonic() < self._visible_from:
            return
        if not self._stream.is_terminal:
            self._stream.write(f"[{self.done}/{self.total}] {message}\n")
            return
        filled = _WIDTH * self.done // max(self.total, 1)
        line = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {self.done}/{self.total} {message}"
        line = line.ljust(self._drawn)
        self._stream.write("\r" + line)
        self._drawn = len(line)
