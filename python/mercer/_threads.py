"""How many threads a fit or a prediction may use."""

import os
from typing import Any

from joblib.parallel import get_active_backend

from mercer import _core
from mercer._params import check_integer

__all__ = ["thread_count"]


def thread_count(n_jobs: Any) -> int:
    """Turn `n_jobs` into a number of threads.

    Parameters
    ----------
    n_jobs : int or None
        None is every processor this process may use, but only one inside a joblib worker, where
        the others are busy. -1 is every processor, -2 all but one.

    Returns
    -------
    int
        At least 1, and never more than the machine has processors.
    """
    available = _core.available_threads()
    if n_jobs is None:
        return 1 if _inside_joblib_worker() else available
    allowed = "None, a positive number of threads or a negative number (-1: all, -2: all but one)"
    count = check_integer("n_jobs", n_jobs, allowed, low=-(2**63))
    if count == 0:
        raise ValueError(f"n_jobs must be {allowed}, got 0")
    if count < 0:
        return max(1, available + 1 + count)
    # What a system has at the most takes it some time to tell.
    return count if count <= available else min(count, max(available, os.cpu_count() or 1))


def _inside_joblib_worker() -> bool:
    """Whether joblib runs this code as one of several tasks, in a thread or in a process."""
    backend, _ = get_active_backend()
    return (backend.nesting_level or 0) > 0
