"""Perceptrons, linear and in feature space."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer._params import check_choice
from mercer.svm._base import Problem
from mercer.svm._classifier import BaseClassifier
from mercer.svm._docs import CLASSIFIER, documented
from mercer.svm._results import margins_of
from mercer.svm._state import freeze
from mercer.svm._types import Gamma, KernelLike, Multiclass

__all__ = ["Perceptron"]


@documented(CLASSIFIER)
class Perceptron(BaseClassifier):
    """The perceptron, MinOver, and the AdaTron of optimal stability, with any kernel.

    f(z) = w.phi(z) with w = sum_i theta_i y_i phi(x_i) and embedding strengths theta >= 0. With
    E_i = y_i f(x_i), the stability is kappa = min_i E_i / |w|: the distance of the nearest row from
    the boundary. The rules are

    - 'perceptron' (Rosenblatt): every row in turn, theta_i grows by a unit if E_i <= 0, until there
      is none. Any boundary that separates will do.
    - 'minover' (Krauth, Mezard): theta_i of the row with the smallest E_i grows by a unit. kappa
      goes to its maximum like one over the number of steps.
    - 'adatron' (Anlauf, Biehl): theta_i <- max(0, theta_i + eta (1 - E_i) / K_ii). kappa goes to
      its maximum exponentially: the Kernel-Adatron, which is `SVC` with ``solver='adatron'`` and
      ``C=inf``.

    Whatever the rule, w is scaled at the end so that the smallest E_i is 1, and kappa = 1 / |w|.
    Classes that no boundary separates make the fit end at `max_iter`, with a warning.

    Parameters
    ----------
    rule : {'perceptron', 'minover', 'adatron'}, default='adatron'
        How coefficients are changed.
    kernel : str, object of `mercer.kernels` or callable, default='linear'
        The kernel function: see `SVC`.
    {degree}
    {gamma}
    {coef0}
    fit_intercept : False or 'penalized', default=False
        'penalized' adds 1 to the kernel, a constant input whose weight is the intercept.
    multiclass : {'ovo', 'ovr', 'dag'} or list, default='ovo'
        How more than two classes are trained and predicted: see `SVC`.
    eta : float, default=1.0
        Length of the steps of 'adatron', above 0 and below 2.
    {order}
    tol : float, default=1e-3
        Of 'minover', how far the stability may be below its maximum, as a share of that; of
        'adatron', how far optimality conditions may be violated. Not used by 'perceptron'.
    max_iter : int, default=1000
        Largest number of epochs of each machine, -1 for no limit. An epoch of 'minover' has as many
        steps as there are rows.
    {max_time}
    {cache_size}
    {verbose}
    {n_jobs}

    Attributes
    ----------
    {classes_}
    {class_weight_}
    {coef_}
    {dual_coef_}
    {fit_status_}
    history_ : dict of ndarray
        Arrays with one entry per epoch: "objective", "margin", "intercept" and "gap". "margin" is
        the stability at its end, but with 'adatron' that of `SVC`. A list of such dicts if there
        are several machines.
    {intercept_}
    margin_ : float or ndarray of shape (n_machines,)
        The stability kappa, negative if rows are on the wrong side; one for each machine if there
        are several. An intercept counts as one of the weights w.
    {n_features_in_}
    {feature_names_in_}
    {n_iter_}
    {support_}
    {support_vectors_}
    {n_support_}
    {shape_fit_}
    {report_}

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.svm import Perceptron
    >>> X = np.array([[0.0, 2.0], [1.0, 4.0], [3.0, 1.0], [4.0, 1.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> rules = "perceptron", "minover", "adatron"
    >>> models = [Perceptron(rule=rule).fit(X, y) for rule in rules]
    >>> [round(model.margin_, 2) for model in models]
    [0.83, 1.41, 1.41]
    >>> models[0].report_.status, models[0].n_iter_
    ('settled', array([1], dtype=int32))
    """

    # What others have as parameters.
    shrinking = True
    class_weight = None
    decision_function_shape = "ovr"
    break_ties = False
    random_state = None
    probability = False

    _solvers = ("perceptron", "minover", "adatron")
    _is_optimal = False

    def __init__(
        self,
        *,
        rule: Literal["perceptron", "minover", "adatron"] = "adatron",
        kernel: KernelLike = "linear",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        fit_intercept: Literal[False, "penalized"] = False,
        multiclass: Multiclass = "ovo",
        eta: float = 1.0,
        order: Literal["alternating", "cyclic", "random"] = "alternating",
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_time: float | None = None,
        cache_size: float | Literal["auto"] = "auto",
        verbose: bool | int = False,
        n_jobs: int | None = None,
    ) -> None:
        self.rule = rule
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.multiclass = multiclass
        self.eta = eta
        self.order = order
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size
        self.verbose = verbose
        self.n_jobs = n_jobs

    @property
    def solver(self) -> str:
        """The rule, as the solver of the others is called."""
        return self.rule

    def _check_parameters(self) -> None:
        check_choice("rule", self.rule, self._solvers)
        super()._check_parameters()
        if not (self.fit_intercept is False or self.fit_intercept == "penalized"):
            raise ValueError(
                f"fit_intercept must be False or 'penalized', got {self.fit_intercept!r}"
            )

    def _pose(
        self,
        labels: NDArray[np.int64],
        weight: NDArray[np.float64],
        row_weight: NDArray[np.float64],
        multiclass: Multiclass,
        start: NDArray[np.float64] | None = None,
    ) -> Problem:
        formulation = _core.Formulation.svc(
            loss="hinge",
            intercept="penalized" if self.fit_intercept else "none",
            multiclass=multiclass,
            start=start,
        )
        return Problem(formulation, labels, np.full(len(labels), np.inf))

    @property
    def margin_(self) -> float | NDArray[np.float64]:
        """The stability, or those of all machines."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("margin_ is only available for a fitted model")
        lengths = 1.0 / np.atleast_1d(margins_of(self.report_))
        # A penalised intercept is one more weight.
        margins = 1.0 / np.hypot(lengths, self.intercept_)
        histories = self.history_ if isinstance(self.history_, list) else [self.history_]
        for number, (machine, history) in enumerate(zip(self.report_, histories, strict=True)):
            # One that ended early was not scaled, and rows may be on the wrong side.
            if machine.method != "adatron" and machine.status not in ("converged", "settled"):
                margins[number] = history["margin"][-1] if len(history["margin"]) else 0.0
        return float(margins[0]) if len(margins) == 1 else freeze(margins)
