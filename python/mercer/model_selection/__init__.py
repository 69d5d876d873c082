"""Choosing the parameters of a machine."""

from mercer.model_selection._error_estimates import (
    ErrorEstimate,
    ErrorEstimates,
    error_estimates,
)
from mercer.model_selection._leave_one_out import LeaveOneOutResult, leave_one_out
from mercer.model_selection._search import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_validate,
)
from mercer.model_selection._sigma_path import SigmaPath, sigma_path

__all__ = [
    "ErrorEstimate",
    "ErrorEstimates",
    "GridSearchCV",
    "LeaveOneOutResult",
    "RandomizedSearchCV",
    "SigmaPath",
    "cross_val_predict",
    "cross_validate",
    "error_estimates",
    "leave_one_out",
    "sigma_path",
]
