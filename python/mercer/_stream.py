"""Where progress is written."""

import sys
from typing import TextIO

__all__ = ["Stream"]


class Stream:
    """Write text as long as that works: what fails costs the progress, never the work it tells of.

    Streams may be missing (``pythonw``), closed, without `isatty`, or fail (a full disk).

    Parameters
    ----------
    stream : text file, default=None
        Where to write; None is stderr.

    Examples
    --------
    >>> import sys
    >>> Stream(sys.stdout).write("text")
    text
    >>> import io
    >>> closed = io.StringIO()
    >>> closed.close()
    >>> Stream(closed).write("lost")
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        try:
            self.is_terminal = bool(self._stream.isatty())
        except Exception:
            self.is_terminal = False

    def write(self, text: str) -> None:
        """Write and flush; after a failure nothing is tried any more."""
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except Exception:
            self._stream = None
