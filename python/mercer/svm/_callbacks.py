"""scikit-learn's callbacks, from its version 1.9 on: a fit is a task of a hundred steps.

A step is a hundredth of the way from the first gap to `tol`, over all machines. So what counts
steps, as scikit-learn's `ProgressBar` does, shows how far a fit is.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from mercer.report import Progress
from mercer.svm._watch import Way

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for that of scikit-learn, and does nothing."""

    def _with_callbacks(method: Any) -> Any:
        return method


__all__ = ["CallbackSupportMixin", "Steps", "with_callbacks"]

_Method = TypeVar("_Method", bound=Callable[..., Any])


def with_callbacks(method: _Method) -> _Method:
    """Return a method after which scikit-learn's callbacks are taken down, however it ends."""
    return cast(_Method, _with_callbacks(method))


#: Steps of a fit.
_STEPS = 100


class Steps:
    """The steps of a fit, as scikit-learn's callbacks are told of them.

    Any of them may end the fit. Without callbacks nothing is told.
    """

    def __init__(self, estimator: Any, data: tuple[Any, ...]) -> None:
        self._estimator = estimator
        X, y, sample_weight = data[:3]
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._data = {"X": X, "y": y, "metadata": metadata}
        self._way: Way | None = None
        self._told = 0
        self._context: Any = None
        if hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx"):
            self._context = estimator._init_callback_context(max_subtasks=_STEPS)
            self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    @property
    def watcher(self) -> Callable[[Progress], bool] | None:
        """What the core is to tell how far it is, None if nobody listens."""
        listens = self._context is not None and hasattr(self._estimator, "_skl_callbacks")
        return self if listens else None

    def __call__(self, progress: Progress) -> bool:
        """Tell of the steps done since the last call; return whether to stop."""
        if self._way is None:
            self._way = Way(float(self._estimator.tol))
        done = int(_STEPS * self._way.share(progress))
        stop = False
        while self._told < min(done, _STEPS - 1):
            self._told += 1
            stop |= self._step()
        return stop

    def _step(self) -> bool:
        step = self._context.subcontext(task_name="step")
        step.call_on_fit_task_begin(estimator=self._estimator, **self._data)
        return bool(step.call_on_fit_task_end(estimator=self._estimator, **self._data))

    def end(self, fitted: dict[str, Any]) -> None:
        """Tell that the fit has ended, with these attributes."""
        if self._context is not None:
            self._context.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes=fitted, **self._data
            )
