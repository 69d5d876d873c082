"""What the estimators on a cluster share: the client, partitions, lazy predictions."""

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ClassVar, TypeVar

import dask
import dask.array as da
import numpy as np
from distributed import Client, default_client
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mercer._data import RowsLike
from mercer._threads import thread_count
from mercer.dask._assembly import assemble, report_of
from mercer.dask._machines import Job, Machine
from mercer.dask._partitions import Described, Partitions, is_collection
from mercer.dask._rounds import Rounds
from mercer.kernels import MercerCheck, check

__all__ = ["Distributed", "Scored", "distributed"]

_Class = TypeVar("_Class", bound=type)

#: Support vectors on which a kernel is checked.
_SAMPLE = 300


def distributed(estimator: _Class) -> _Class:
    """Give a class the parameters of the local estimator, `client`, and lazy predictions."""
    local = estimator._local  # type: ignore[attr-defined]

    def __init__(self: Any, *, client: Client | None = None, **parameters: Any) -> None:
        local.__init__(self, **parameters)
        self.client = client

    signature = inspect.signature(local.__init__)
    client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
    parameters = [*signature.parameters.values(), client]
    __init__.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    estimator.__init__ = __init__  # type: ignore[misc]
    for name in ("predict", "decision_function", "score_samples", "reject"):
        if hasattr(local, name):
            setattr(estimator, name, _lazy(getattr(local, name)))
    return estimator


def _lazy(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of the local estimator take dask collections, and answer with one."""

    @wraps(method)
    def of_collection(self: Any, X: Any, *arguments: Any, **named: Any) -> Any:
        if is_collection(X):
            return self._lazily(X, partial(_call, method.__name__, arguments, named))
        return method(self, X, *arguments, **named)

    return of_collection


def _call(method: str, arguments: tuple[Any, ...], named: Any, model: Any, X: Any) -> Any:
    return getattr(model, method)(X, *arguments, **named)


class Distributed:
    """An estimator whose rows are on a cluster; it derives from the local one too.

    Subclasses name the local class, and say which machines there are.
    """

    client: Any
    # A DistributedReport; the other base has a Report.
    report_: Any
    _local: type[Any]
    #: The training algorithms that can go on from the solutions of parts.
    _solvers: ClassVar[Any] = ("smo", "interior")
    #: What is learnt: "classes", "values" or "nothing".
    _learns = "nothing"
    #: Whether rows have to be asked for k(x, x).
    _needs_diagonal = False

    @property
    def client_(self) -> Client:
        """The client in use: that given, or the default one."""
        check_is_fitted(self)
        return self._client()

    def _client(self) -> Client:
        if self.client is not None and not isinstance(self.client, Client):
            raise TypeError(f"client must be None or a distributed.Client, got {self.client!r}")
        try:
            return default_client(self.client)
        except ValueError as error:
            raise ValueError(
                "client must be given, or a distributed.Client be made before: there is none"
            ) from error

    def to_local(self) -> Any:
        """Return the local estimator: the same parameters and the same model, without a cluster.

        Returns
        -------
        estimator
            An object of the class this one derives from, fitted if this one is.
        """
        state = {name: value for name, value in vars(self).items() if name != "client"}
        local = object.__new__(self._local)
        local.__dict__ = state
        return local

    def __sklearn_clone__(self) -> Any:
        # The client is a connection, of which there is no copy.
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        client = parameters.pop("client")
        copies = {name: clone(value, safe=False) for name, value in parameters.items()}
        make: Any = type(self)
        return make(client=client, **copies)

    def __getstate__(self) -> Any:
        # Nor can it be sent or stored.
        state: Any = super().__getstate__()
        return {**state, "client": None}

    # Training

    def _problems(self, whole: Described) -> tuple[tuple[Machine, ...], dict[str, Any]]:
        """Return the machines to train on all rows, and attributes that are known beforehand."""
        raise NotImplementedError

    def _check_partition(self, X: RowsLike, y: Any) -> tuple[RowsLike, NDArray[Any] | None]:
        """Return rows and targets of a partition, checked as the local estimator does."""
        raise NotImplementedError

    def _fit_partitions(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Train on dask collections and set the attributes."""
        local: Any = self
        local._check_parameters()
        if isinstance(local.kernel, str) and local.kernel == "precomputed":
            raise ValueError("kernel must not be 'precomputed' on a cluster: give a function")
        for name, without in (("warm_start", False), ("callback", None)):
            if getattr(self, name) is not without:
                raise ValueError(
                    f"{name} must be {without} on a cluster, got {getattr(self, name)!r}"
                )
        client = self._client()
        unfitted = clone(self.to_local())
        checker = object.__new__(type(self))
        checker.__dict__ = {**vars(unfitted), "client": None}
        partitions = Partitions(client, (X, y, sample_weight), checker, self._learns)
        whole = partitions.whole
        machines, attributes = self._problems(whole)
        kernel = partitions.kernel()
        parts = partitions.parts(kernel, self._needs_diagonal)
        job = self._job(client, machines, kernel, len(parts))
        title = type(self).__name__ if local.verbose else None
        outcome = Rounds(client, job, parts, local.max_time, title).run()
        n_classes = 1 if whole.classes is None else len(whole.classes)
        fit = assemble(outcome, job, n_classes)
        vars(self).update(whole.noted)
        vars(self).update(attributes)
        local.report_ = report_of(outcome, fit.factors)
        shape = (whole.n_rows, *[whole.noted[n] for n in ("n_features_in_",) if n in whole.noted])
        local._take_over(fit, kernel, fit.rows, fit.numbers, shape)

    def _job(self, client: Client, machines: tuple[Machine, ...], kernel: Any, n_parts: int) -> Job:
        """Return what all tasks are told: how the work is divided among workers and threads."""
        local: Any = self
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        if not workers:
            client.wait_for_workers(1)
            workers = client.scheduler_info(n_workers=-1)["workers"].values()
        hosts: dict[str, int] = {}
        for worker in workers:
            hosts[worker["host"]] = hosts.get(worker["host"], 0) + worker["nthreads"]
        n_groups = min(len(machines), len(workers))
        groups = tuple(tuple(range(first, len(machines), n_groups)) for first in range(n_groups))
        if local.n_jobs is None:
            of_part = max(1, sum(hosts.values()) // n_parts)
            # Everyone waits for the working sets, so these may have all that the host gives.
            of_set = max(1, min(hosts.values()) * len(hosts) // n_groups)
            threads = min(of_part, min(hosts.values())), min(of_set, min(hosts.values()))
        else:
            threads = (thread_count(local.n_jobs),) * 2
        settings = {
            "solver": local.solver,
            "eta": float(local.eta),
            "shrinking": bool(local.shrinking),
            "cache_bytes": local._cache_bytes(),
            "max_iter": int(local.max_iter),
        }
        return Job(machines, kernel, settings, threads, groups)

    def _mercer_check(self, X: Any) -> MercerCheck:
        # Rows are elsewhere; the support vectors are here.
        local: Any = self
        return check(local._fit_kernel, local.support_vectors_[:_SAMPLE])

    # Prediction

    def _lazily(self, X: Any, method: Callable[[Any, Any], NDArray[Any]]) -> Any:
        """Call a function of the local estimator and rows on each partition, when asked for it."""
        check_is_fitted(self)
        model = self.to_local()
        if model.n_jobs is None:
            # Dask predicts as many partitions side by side as a worker has threads.
            model.n_jobs = 1
        shared = dask.delayed(model, pure=True)
        call = _Call(method, as_frame=not isinstance(X, da.Array))
        if not isinstance(X, da.Array):
            return X.map_partitions(call, shared, meta=call(X._meta_nonempty, model).iloc[:0])
        if len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        one = call.values(np.zeros((1, model.n_features_in_)), model)
        form: dict[str, Any] = {"drop_axis": 1}
        if one.ndim > 1:
            form = {"chunks": (X.chunks[0], (one.shape[1],))}
        return X.map_blocks(call, shared, dtype=one.dtype, meta=one[:0], **form)


class Scored(Distributed):
    """An estimator whose predictions have a score."""

    def score(self, X: RowsLike, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of classes, or R^2 of values.

        Parameters
        ----------
        X : dask array or data frame, or what the local estimator takes
            The rows.
        y : dask collection or array-like
            The labels or values.
        sample_weight : dask collection or array-like, default=None
            Weights of the rows.

        Returns
        -------
        float
            The score.
        """
        from sklearn.metrics import accuracy_score, r2_score

        local: Any = self
        score = accuracy_score if self._learns == "classes" else r2_score
        found, y, weight = dask.compute(local.predict(X), y, sample_weight)
        return float(score(y, found, sample_weight=weight))


class _Call:
    """A function of a model and rows, for blocks of rows."""

    def __init__(self, method: Callable[[Any, Any], NDArray[Any]], *, as_frame: bool) -> None:
        self._method, self._as_frame = method, as_frame

    def values(self, X: Any, model: Any) -> NDArray[Any]:
        """Return what the method does; of no rows, nothing of the right form."""
        if not X.shape[0]:
            return self.values(np.zeros((1, model.n_features_in_)), model)[:0]
        return self._method(model, X)

    def __call__(self, X: Any, model: Any) -> Any:
        """Return the values of a block: of a frame as a series, or a frame if there are several."""
        values = self.values(X, model)
        if not self._as_frame:
            return values
        import pandas as pd

        if values.ndim == 1:
            return pd.Series(values, index=X.index)
        return pd.DataFrame(values, index=X.index)
