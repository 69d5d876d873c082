"""The base of all estimators: what scikit-learn's does, with messages that say more."""

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, metadata
from types import FunctionType
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from mercer._suggest import did_you_mean, suggesting

__all__ = ["Estimator"]

_Self = TypeVar("_Self", bound="Estimator")


@lru_cache
def _documentation() -> str:
    """Return the address of the documentation that the installed package names, if any."""
    try:
        urls = metadata("mercer").get_all("Project-URL") or []
    except PackageNotFoundError:  # run from a folder
        return ""
    pairs = (url.partition(",") for url in urls)
    return next((url.strip() for label, _, url in pairs if label == "Documentation"), "")


class Estimator(BaseEstimator):
    """Base of the estimators."""

    #: The number of columns of X in the last fit.
    n_features_in_: int
    #: The names of the columns, where X has names that are strings.
    feature_names_in_: NDArray[np.object_]

    # The HTML representation links to the page of the class.
    _doc_link_module: ClassVar[str] = "mercer"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            suggesting(cls)
        # A call without y is told of SVC.fit, not of the base class that has the code.
        fit = getattr(cls, "fit", None)
        if isinstance(fit, FunctionType) and "fit" not in vars(cls):
            cls.fit = _named(fit, f"{cls.__qualname__}.fit")

    @property
    def _doc_link_template(self) -> str:
        return f"{_documentation().rstrip('/')}/{{estimator_module}}.{{estimator_name}}.html"

    def _get_doc_link(self) -> str:
        link: str = super()._get_doc_link() if _documentation() else ""
        return link

    def set_params(self: _Self, **params: Any) -> _Self:
        """Set parameters by name.

        Parameters
        ----------
        **params : dict
            Names, as `get_params` shows them, and values.

        Returns
        -------
        self : estimator
            This estimator.
        """
        names = self._get_param_names()
        unknown = [name for name in params if name.partition("__")[0] not in names]
        if unknown:
            raise ValueError(
                f"Invalid parameter {unknown[0]!r} for estimator {self}. Valid parameters are: "
                f"{names!r}{did_you_mean(unknown[0].partition('__')[0], names)}"
            )
        super().set_params(**params)
        return self


def _named(function: FunctionType, name: str) -> FunctionType:
    """Return the same function by another name."""
    code, closure = function.__code__, function.__closure__
    other = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    other.__dict__.update(vars(function))
    other.__kwdefaults__, other.__annotations__ = function.__kwdefaults__, function.__annotations__
    other.__doc__, other.__module__ = function.__doc__, function.__module__
    other.__qualname__ = name
    return other
