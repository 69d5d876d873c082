"""Choosing the parameters of a machine."""

from mercer.model_selection._search import (
    GridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_validate,
)
from mercer.model_selection._sigma_path import SigmaPath, sigma_path

__all__ = [
    "GridSearchCV",
    "RandomizedSearchCV",
    "SigmaPath",
    "cross_val_predict",
    "cross_validate",
    "sigma_path",
]
