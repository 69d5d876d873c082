"""Nu-support vector classification."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer._params import check_nu
from mercer.svm._base import Problem
from mercer.svm._classifier import BaseClassifier
from mercer.svm._docs import CLASSIFIER, documented
from mercer.svm._types import Callback, ClassWeight, Gamma, KernelLike, Multiclass, RandomState

__all__ = ["NuSVC"]


@documented(CLASSIFIER)
class NuSVC(BaseClassifier):
    """Nu-support vector classification, a replacement for scikit-learn's `NuSVC`.

    The classifier of `SVC` with the hinge loss, with `nu` in place of `C`: at most this share of
    the rows is on the wrong side of the margin, and at least this share are support vectors. For
    every pair of classes, or every class against the rest, beta solves the quadratic programme ::

        minimise  1/2 beta' K beta
        subject to  0 <= y_i beta_i <= w_i,  sum over each class = +-(nu / 2) * sum of w

    with y_i = +-1 and w_i = class weight * sample weight. Then beta and the intercept are divided
    by the margin, so that f = +-1 on it, as for `SVC`. The shares are shares of the weights. Class
    weights count, which scikit-learn ignores.

    There is no solution if nu is above 2 min(W+, W-) / (W+ + W-), where W+ and W- are the weights
    of the two sides. `fit` refuses such a nu before it computes a kernel value. If only some of the
    machines of more than two classes are concerned, or if only class weights are in the way, these
    machines have the largest nu that is feasible: see `nu_`.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of margin errors and lower bound on the share of support vectors,
        above 0 and at most 1.
    {kernel}
    {degree}
    {gamma}
    {coef0}
    {shrinking}
    {tol}
    {cache_size}
    {class_weight}
    {verbose}
    {max_iter}
    {decision_function_shape}
    {break_ties}
    {random_state}
    {probability}
    multiclass : {'ovo', 'ovr', 'dag'} or list, default='ovo'
        How more than two classes are trained and predicted: with a machine for every pair of
        classes ('ovo' by their votes, 'dag' by dropping the loser of the first and the last class
        that are left) or for every class against the rest ('ovr', by the largest value), or at
        the forks of a tree, given as a nested list of all classes. The notes of `SVC` have
        examples. Since the rest outweighs a class, 'ovr' needs a small `nu`: at most
        2 / n_classes if all classes have the same weight.
    {max_time}
    {n_jobs}
    {warm_start}
    {callback}

    Attributes
    ----------
    {classes_}
    {class_weight_}
    {coef_}
    {dual_coef_}
    {fit_status_}
    {intercept_}
    {margin_}
    {n_features_in_}
    {feature_names_in_}
    {n_iter_}
    nu_ : ndarray of shape (n_machines,)
        The nu of each machine: `nu`, or the largest that is feasible.
    {support_}
    {support_vectors_}
    {n_support_}
    {probA_}
    {probB_}
    {shape_fit_}
    {report_}

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NuSVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> y = np.array(["left", "left", "right", "right"])
    >>> model = NuSVC(kernel="linear", nu=0.25).fit(X, y)
    >>> model.predict([[-0.8, -1.0]])
    array(['left'], dtype='<U5')
    >>> model.coef_.round(3), model.support_
    (array([[0.5, 0.5]]), array([0, 2], dtype=int32))
    """

    nu_: NDArray[np.float64]

    _one_label = ", so the specified nu is infeasible"

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: KernelLike = "rbf",
        degree: int = 3,
        gamma: Gamma = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float | Literal["auto"] = "auto",
        class_weight: ClassWeight = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: Literal["ovo", "ovr"] = "ovr",
        break_ties: bool = False,
        random_state: RandomState = None,
        probability: bool = False,
        multiclass: Multiclass = "ovo",
        max_time: float | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        callback: Callback | None = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.probability = probability
        self.multiclass = multiclass
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.callback = callback

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_nu(self.nu)

    def _pose(
        self,
        labels: NDArray[np.int64],
        weight: NDArray[np.float64],
        row_weight: NDArray[np.float64],
        multiclass: Multiclass,
        start: NDArray[np.float64] | None = None,
    ) -> Problem:
        assert start is None
        shares = _core.feasible_nu(float(self.nu), labels, weight, row_weight, multiclass)
        formulation = _core.Formulation.nu_svc(nu=float(shares.max()), multiclass=multiclass)
        return Problem(formulation, labels, weight, {"nu_": shares})
