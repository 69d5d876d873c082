"""The bar of a search: candidates done, the best so far, the time left."""

import math
import sys
from typing import TextIO

from mercer import _core

__all__ = ["SearchBar"]

_WIDTH = 24


class SearchBar:
    """Show how far a search is: one bar rewritten on a terminal, a line a second elsewhere.

    Its method `told` is the callback of the core, called about ten times a second.

    Parameters
    ----------
    n_candidates : int
        The sets of parameters that are tried.
    stream : text file, default=None
        Where to write, stderr if None.

    Examples
    --------
    >>> import sys
    >>> bar = SearchBar(4, stream=sys.stdout)
    >>> bar(20, 40, 1, 0.875, 3.0)
    [############............] 20 of 40 fits, 1 of 4 candidates, best 0.8750, 3 s left
    """

    def __init__(self, n_candidates: int, stream: TextIO | None = None) -> None:
        self._n_candidates = n_candidates
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream.isatty()
        self._width = 0
        self._next_line_at = 1.0

    def told(self, progress: _core.Progress) -> None:
        """Show what the core tells of a search: candidates for iterations, the best for the gap."""
        if progress.machines == 0:  # none is done yet
            return
        self(
            progress.machine,
            progress.machines,
            progress.iteration,
            progress.gap,
            progress.seconds,
        )

    def __call__(self, done: int, fits: int, candidates: int, best: float, seconds: float) -> None:
        """Show how many fits and candidates are done, and the best mean score of these."""
        if not self._is_terminal:
            if seconds < self._next_line_at:
                return
            self._next_line_at = seconds + 1.0
        filled = _WIDTH * done // max(fits, 1)
        bar = "#" * filled + "." * (_WIDTH - filled)
        text = f"[{bar}] {done} of {fits} fits, {candidates} of {self._n_candidates} candidates"
        if math.isfinite(best):
            text += f", best {best:.4f}"
        if done:
            text += f", {seconds * (fits - done) / done:.0f} s left"
        if self._is_terminal:
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def close(self) -> None:
        """End the rewritten line of a terminal, if one was begun."""
        if self._width:
            self._stream.write("\n")
            self._stream.flush()
            self._width = 0
