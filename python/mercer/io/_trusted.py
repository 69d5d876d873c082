"""The types that skops meets in our models."""

from mercer import kernels
from mercer.io._file import saved_estimators
from mercer.kernels._kernel import Kernel
from mercer.report import MachineReport, Report
from mercer.svm._state import CoreForm

__all__ = ["trusted_types"]


def trusted_types() -> list[str]:
    """List the types of Mercer's that skops asks about when it loads a model.

    None of them runs code of the file: they are the estimators, the kernels, and plain records. A
    model that was trained on sparse rows has ``scipy.sparse._csr.csr_matrix`` beside them. Of
    ``report_.seconds`` skops keeps the total alone.

    Returns
    -------
    list of str
        The names, for ``skops.io.load(file, trusted=mercer.io.trusted_types())``.

    Examples
    --------
    >>> from mercer import io
    >>> "mercer.svm._svc.SVC" in io.trusted_types()
    True
    """
    found: list[type] = [*saved_estimators(), MachineReport, Report, CoreForm]
    for name in kernels.__all__:
        kind = getattr(kernels, name)
        if isinstance(kind, type) and issubclass(kind, Kernel):
            found.append(kind)
    return sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in found)
