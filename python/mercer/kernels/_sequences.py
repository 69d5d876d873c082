"""Kernels of sequences: strings, bytes, tokens."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer._params import check_integer, check_real
from mercer._suggest import suggesting
from mercer._threads import thread_count
from mercer.kernels._kernel import Kernel

__all__ = ["Spectrum", "Subsequence"]

#: More symbols than these are of no use, and take time.
_LONGEST = 1000


@dataclass(frozen=True, kw_only=True, repr=False)
class _OfSequences(Kernel):
    """A kernel of sequences."""

    @property
    def _of_sequences(self) -> bool:
        return True

    @abstractmethod
    def _sequence_kernel(self) -> _core.SequenceKernel:
        """Return the core's form of a kernel whose parameters are checked."""

    def _sequence_values(
        self, a: _core.Sequences, b: _core.Sequences | None
    ) -> NDArray[np.float64]:
        return self._sequence_kernel().matrix(a, b, thread_count(None))

    def _sequence_diagonal(self, a: _core.Sequences) -> NDArray[np.float64]:
        return self._sequence_kernel().diagonal(a, thread_count(None))

    def _build(self) -> _core.Kernel:
        raise TypeError(f"{self!r} is a kernel of sequences, and cannot be used for numbers")


def _length(length: int) -> int:
    return check_integer("length", length, f"an integer from 1 to {_LONGEST}", 1, _LONGEST)


@suggesting
@dataclass(frozen=True, kw_only=True, repr=False)
class Spectrum(_OfSequences):
    """The spectrum kernel: how many words of `length` symbols two sequences have in common.

    k(s, t) is the sum, over all words, of the number of times the word occurs in s, times that in
    t; words are contiguous. Rows are str, bytes, or sequences of any symbols such as tokens.
    ``Spectrum(length=4).normalized()`` does not depend on how long sequences are.

    Parameters
    ----------
    length : int, default=3
        Symbols of a word, at least 1.

    References
    ----------
    Leslie, Eskin, Noble: The spectrum kernel: a string kernel for SVM protein classification
    (2002).

    Examples
    --------
    >>> from mercer.kernels import Spectrum
    >>> Spectrum(length=2)(["abab", "ab"])
    array([[5., 2.],
           [2., 1.]])
    """

    length: int = 3

    def _checked(self) -> dict[str, Any]:
        return {"length": _length(self.length)}

    def _sequence_kernel(self) -> _core.SequenceKernel:
        return _core.SequenceKernel.spectrum(self.length)


@suggesting
@dataclass(frozen=True, kw_only=True, repr=False)
class Subsequence(_OfSequences):
    """The gap-weighted subsequence kernel: common subsequences, the less weighed the more gaps.

    k(s, t) is the sum, over all subsequences of `length` symbols, over their occurrences in s and
    in t, of decay^(span in s + span in t): a span counts the symbols from the first to the last,
    gaps included. Rows are str, bytes, or sequences of any symbols. It takes
    length * len(s) * len(t) steps. Longer sequences have larger values: see `normalized`.

    Parameters
    ----------
    length : int, default=3
        Symbols of a subsequence, at least 1.
    decay : float, default=0.5
        The weight of each symbol of a span, above 0 and at most 1.

    References
    ----------
    Lodhi, Saunders, Shawe-Taylor, Cristianini, Watkins: Text classification using string kernels
    (2002).

    Examples
    --------
    >>> from mercer.kernels import Subsequence
    >>> Subsequence(length=2, decay=0.5)(["cat"], ["car", "cart"])  # ca; ca, ct and at
    array([[0.0625   , 0.1015625]])
    """

    length: int = 3
    decay: float = 0.5

    def _checked(self) -> dict[str, Any]:
        allowed = "a number above 0 and at most 1"
        decay = check_real("decay", self.decay, allowed, lambda number: 0.0 < number <= 1.0)
        return {"length": _length(self.length), "decay": decay}

    def _sequence_kernel(self) -> _core.SequenceKernel:
        return _core.SequenceKernel.subsequence(self.length, self.decay)
