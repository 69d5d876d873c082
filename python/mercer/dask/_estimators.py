"""The estimators of `mercer.svm` on a Dask cluster."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import SVC, SVDD, SVR, NuSVC, OneClassSVM, _core
from mercer._data import RowsLike, scaled
from mercer._params import check_choice, check_intercept
from mercer.dask._base import Distributed, Scored, distributed
from mercer.dask._machines import Machine
from mercer.dask._partitions import Described
from mercer.svm._classifier import weights_of
from mercer.svm._probability import asked_for

__all__ = ["DaskNuSVC", "DaskOneClassSVM", "DaskSVC", "DaskSVDD", "DaskSVR"]


class _Classifier(Scored):
    """What the classifiers share."""

    _learns = "classes"

    def _check_partition(self, X: RowsLike, y: Any) -> tuple[RowsLike, NDArray[Any] | None]:
        local: Any = self
        checked: tuple[RowsLike, NDArray[Any]] = local._check_rows_and_target(X, y)
        return checked

    def _check_parameters(self) -> None:
        local: Any = self
        super()._check_parameters()  # type: ignore[misc]
        check_choice("multiclass", local.multiclass, ("ovo", "ovr", "dag"))
        if asked_for(local):
            raise ValueError("probability must be False on a cluster, got True")

    def _fit(self, X: Any, y: Any, sample_weight: Any, start: Any = None) -> None:
        local: Any = self
        self._fit_partitions(X, y, sample_weight)
        iterations = [machine.iterations for machine in local.report_]
        local.n_iter_ = np.minimum(iterations, np.iinfo(np.int32).max).astype(np.int32)

    def _classes_of(self, whole: Described) -> tuple[tuple[Machine, ...], dict[str, Any]]:
        """Return machines without a formulation, and the attributes of classes."""
        local: Any = self
        classes = whole.classes
        assert classes is not None
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class in y"
            )
        numbers = np.arange(len(classes))
        class_weight = weights_of(local.class_weight, classes, numbers, whole.class_weights)
        multiclass = "ovo" if len(classes) == 2 else local.multiclass
        pairs: list[tuple[int, int]]
        if multiclass == "ovr":
            pairs = [(-1, number) for number in range(len(classes))]
        elif len(classes) == 2:
            pairs = [(0, 1)]
        else:
            pairs = [(last, first) for first, last in combinations(range(len(classes)), 2)]
        factors = scaled(class_weight, self._cost(), "C times class_weight")
        machines = tuple(_sides(pair, whole, factors, float(local.tol)) for pair in pairs)
        attributes = {
            "classes_": classes,
            "class_weight_": class_weight,
            "_fit_multiclass": multiclass,
        }
        return machines, attributes

    def _cost(self) -> float:
        return 1.0


def _sides(
    pair: tuple[int, int], whole: Described, factors: NDArray[np.float64], tol: float
) -> Machine:
    """Return the machine of two sides: a class or the rest, and a class."""
    negative, positive = pair
    is_side = [np.arange(len(factors)) == side for side in pair]
    if negative < 0:
        is_side[0] = ~is_side[1]
    counts = tuple(int(whole.class_counts[side].sum()) for side in is_side)
    return Machine(
        "svc",
        {},
        factors,
        classes=(negative, positive),
        weight=float(sum(whole.class_weights[side].sum() for side in is_side)),
        totals=tuple(float((whole.class_weights * factors)[side].sum()) for side in is_side),
        counts=(counts[0], counts[1]),
        tol=tol,
        asked_tol=tol,
    )


@distributed
class DaskSVC(_Classifier, SVC):
    """`mercer.SVC` whose rows are on a Dask cluster: the same optimum, certified over all rows.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster; None is the default client.
    **parameters
        Those of `SVC`, with the same defaults. `kernel` is not 'precomputed', `probability` not
        True, `multiclass` one of 'ovo', 'ovr' and 'dag', `solver` 'smo' or 'interior'. `n_jobs` are
        threads of a task: None divides those of the workers among partitions, and gives the solver
        of a working set those of its host.

    Attributes
    ----------
    client_ : distributed.Client
        The client in use.
    report_ : DistributedReport
        What the solver did: as that of `SVC`, with `rounds` and `bytes_sent`; `gap`, `duality_gap`
        and `primal_objective` are of all rows.
    **attributes
        Those of `SVC`.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from mercer.dask import DaskSVC
    >>> client = Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0")
    >>> X = da.from_array([[-1.0, -1.0], [1.0, 1.0], [-2.0, -1.0], [2.0, 1.0]], chunks=(2, 2))
    >>> y = da.from_array([0, 1, 0, 1], chunks=2)
    >>> model = DaskSVC(kernel="linear").fit(X, y)
    >>> model.predict(X).compute()
    array([0, 1, 0, 1])
    >>> model.coef_.round(3), model.report_.status
    (array([[0.5, 0.5]]), 'converged')
    >>> model.to_local()
    SVC(kernel='linear')
    >>> client.close()
    """

    _local = SVC

    def _cost(self) -> float:
        return float(self.C)

    def _problems(self, whole: Described) -> tuple[tuple[Machine, ...], dict[str, Any]]:
        machines, attributes = self._classes_of(whole)
        parameters = {
            "loss": self.loss,
            "intercept": check_intercept(self.fit_intercept),
            "multiclass": "ovo",
        }
        return tuple(replace(machine, parameters=parameters, totals=()) for machine in machines), (
            attributes
        )


@distributed
class DaskNuSVC(_Classifier, NuSVC):
    """`mercer.NuSVC` whose rows are on a Dask cluster: the same optimum, certified over all rows.

    Shares of rows are shares of all rows: workers know the weights of the classes everywhere.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster; None is the default client.
    **parameters
        Those of `NuSVC`: see `DaskSVC`.

    Attributes
    ----------
    client_ : distributed.Client
        The client in use.
    report_ : DistributedReport
        What the solver did: see `DaskSVC`.
    **attributes
        Those of `NuSVC`.

    Examples
    --------
    >>> from mercer.dask import DaskNuSVC
    >>> DaskNuSVC(nu=0.1).to_local()
    NuSVC(nu=0.1)
    """

    _local = NuSVC
    _needs_diagonal = True

    def _problems(self, whole: Described) -> tuple[tuple[Machine, ...], dict[str, Any]]:
        machines, attributes = self._classes_of(whole)
        assert whole.classes is not None
        shares = _core.feasible_nu(
            float(self.nu),
            np.arange(len(whole.classes)),
            whole.class_weights * machines[0].factors,
            whole.class_weights,
            attributes["_fit_multiclass"],
        )
        posed = tuple(
            replace(machine, kind="nu_svc", parameters={"nu": float(nu), "multiclass": "ovo"})
            for machine, nu in zip(machines, shares, strict=True)
        )
        return posed, {**attributes, "nu_": shares}


@distributed
class DaskSVR(Scored, SVR):
    """`mercer.SVR` whose rows are on a Dask cluster: the same optimum, certified over all rows.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster; None is the default client.
    **parameters
        Those of `SVR`: see `DaskSVC`.

    Attributes
    ----------
    client_ : distributed.Client
        The client in use.
    report_ : DistributedReport
        What the solver did: see `DaskSVC`.
    **attributes
        Those of `SVR`.

    Examples
    --------
    >>> from mercer.dask import DaskSVR
    >>> DaskSVR(C=10.0).to_local()
    SVR(C=10.0)
    """

    _local = SVR
    _learns = "values"

    def _check_partition(self, X: RowsLike, y: Any) -> tuple[RowsLike, NDArray[Any] | None]:
        return self._check_rows_and_target(X, y, numeric=True, several=True)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._fit_partitions(X, y, sample_weight)
        self.n_iter_ = self.report_.iterations

    def _problems(self, whole: Described) -> tuple[tuple[Machine, ...], dict[str, Any]]:
        parameters = {
            "loss": self.loss,
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "quantile": float(self.quantile),
            "intercept": check_intercept(self.fit_intercept),
        }
        tol = float(self.tol)
        machines = tuple(
            Machine(
                "svr",
                parameters,
                np.array([float(self.C)]),
                column=column,
                weight=whole.weight,
                tol=tol,
                asked_tol=tol,
            )
            for column in range(whole.n_targets)
        )
        return machines, {}


class _Detector(Distributed):
    """What the machines without labels share."""

    _kind: str

    def _check_partition(self, X: RowsLike, y: Any) -> tuple[RowsLike, NDArray[Any] | None]:
        local: Any = self
        return local._check_rows(X), None

    def _fit(self, X: Any, y: None, sample_weight: Any) -> None:
        local: Any = self
        self._fit_partitions(X, None, sample_weight)
        local.n_iter_ = local.report_.iterations

    def _problems(self, whole: Described) -> tuple[tuple[Machine, ...], dict[str, Any]]:
        local: Any = self
        machine = Machine(
            self._kind,
            {"nu": float(local.nu), "squared": local.loss == "squared_hinge"},
            np.ones(1),
            weight=whole.weight,
            totals=(whole.weight,),
            asked_tol=float(local.tol),
        )
        tol = machine.formulation.tolerance(machine.asked_tol, whole.weight)
        return (replace(machine, tol=tol),), {}


@distributed
class DaskOneClassSVM(_Detector, OneClassSVM):
    """`mercer.OneClassSVM` whose rows are on a Dask cluster: the same optimum, certified.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster; None is the default client.
    **parameters
        Those of `OneClassSVM`: see `DaskSVC`.

    Attributes
    ----------
    client_ : distributed.Client
        The client in use.
    report_ : DistributedReport
        What the solver did: see `DaskSVC`.
    **attributes
        Those of `OneClassSVM`.

    Examples
    --------
    >>> from mercer.dask import DaskOneClassSVM
    >>> DaskOneClassSVM(nu=0.1).to_local()
    OneClassSVM(nu=0.1)
    """

    _local = OneClassSVM
    _kind = "one_class"


@distributed
class DaskSVDD(_Detector, SVDD):
    """`mercer.SVDD` whose rows are on a Dask cluster: the same optimum, certified over all rows.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster; None is the default client.
    **parameters
        Those of `SVDD`: see `DaskSVC`.

    Attributes
    ----------
    client_ : distributed.Client
        The client in use.
    report_ : DistributedReport
        What the solver did: see `DaskSVC`.
    **attributes
        Those of `SVDD`.

    Examples
    --------
    >>> from mercer.dask import DaskSVDD
    >>> DaskSVDD(nu=0.1).to_local()
    SVDD(nu=0.1)
    """

    _local = SVDD
    _kind = "svdd"
    _needs_diagonal = True
