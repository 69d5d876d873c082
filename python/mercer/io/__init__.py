"""Models as files.

`save` and `load` are for every estimator of the package; `mercer.save` and `mercer.load` are the same.
"""

from mercer.io._file import load, save

__all__ = ["load", "save"]
