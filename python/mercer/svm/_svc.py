"""C-support vector classification."""

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer._data import scaled
from mercer._params import check_choice, check_intercept, check_real
from mercer.svm._base import Problem
from mercer.svm._classifier import BaseClassifier
from mercer.svm._docs import CLASSIFIER, documented
from mercer.svm._tree import JOINT
from mercer.svm._types import (
    Callback,
    ClassifierSolver,
    ClassWeight,
    Gamma,
    KernelLike,
    Multiclass,
    RandomState,
)

__all__ = ["SVC"]


@documented(CLASSIFIER)
class SVC(BaseClassifier):
    """C-support vector classification, a replacement for scikit-learn's `SVC`.

    For every pair of classes, or every class against the rest, it trains the machine
    f(z) = w.phi(z) + b = sum_i beta_i k(x_i, z) + b that solves ::

        minimise  1/2 |w|^2 + sum_i C_i loss(1 - y_i f(x_i))

    with y_i = +-1, C_i = C * class weight * sample weight, and loss(t) = max(0, t) ('hinge'),
    max(0, t)^2 ('squared_hinge') or t^2 ('squared_error'). The coefficients solve the quadratic
    programme ::

        minimise  1/2 beta' K beta - y' beta + sum_i r_i beta_i^2 / 2
        subject to  0 <= y_i beta_i <= u_i,  sum of beta = 0

    with u_i = C_i and r_i = 0 for the hinge loss, and no upper bound and r_i = 1 / (2 C_i) for its
    square. For C = inf, the hard margin, the two are the same: no upper bound and r_i = 0. Least
    squares have r_i = 1 / (2 C_i) and no bound on either side. Texts that charge C / 2 times a
    square mean half our C: their C = 2 is our C = 1. Without
    an intercept the sum is free; with a penalised one the sum is free, K becomes K + 1 and
    b = sum of beta. Training uses all processors, can be interrupted, and stops when the
    optimality conditions hold to `tol`.

    Parameters
    ----------
    C : float, default=1.0
        The cost of training errors, positive. ``inf`` allows none: the hard margin. If the kernel
        cannot separate the classes, the fit then ends with a ConvergenceWarning.
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
    loss : {'hinge', 'squared_hinge', 'squared_error'}, default='hinge'
        How errors are charged: by how far a row is on the wrong side of the margin, by the square
        of that, or by the square of the distance on either side. The last is least squares: the
        LS-SVM, and for ``C=inf`` the Adaline in feature space, f(x_i) = y_i with the least norm.
        All rows are then support vectors.
    {fit_intercept}
    multiclass : {'ovo', 'ovr', 'dag', 'weston_watkins', 'crammer_singer'} or list, default='ovo'
        How more than two classes are trained and predicted. 'ovo' trains a machine for every pair
        of classes, each of which votes for one. 'ovr' trains a machine for every class against the
        rest; the largest value wins. 'dag' trains like 'ovo', then compares the first and the last
        class of the list of all classes and drops the loser, until one is left: n_classes - 1
        comparisons. 'weston_watkins' and 'crammer_singer' train a machine for every class, all in
        one problem; the largest value wins. A nested list of all classes is a tree: a list of two
        is a machine that tells its two branches apart, a list of more has a machine for each branch
        against the others, trained on the rows of its own classes. ``["AT", ["L", "R", "W"]]``
        tells AT from the rest first, and then each of L, R and W from the other two. The notes have
        examples.
    solver : {'smo', 'interior', 'adatron', 'npa'}, default='smo'
        The training algorithm: sequential minimal optimisation, which for a linear kernel, a
        polynomial one of few features and low degree, and their sums and products hands over to an
        interior-point method where that is faster; that method at once ('interior', with other
        kernels the same as 'smo'); the Kernel-Adatron, which updates one coefficient after another;
        or the nearest points of the hulls of the two classes ('npa'), for ``C=inf`` or
        ``loss='squared_hinge'``. All reach the same solution, to the same `tol`; `report_` says
        which `method` did. The iterations of 'adatron' are epochs. 'smo' is the fastest: on five
        sets of 200 to 800 rows 'npa' took 1 to 10 times as long, 'adatron' 1 to 26 times, and as
        published, with `order` and `mu`, 5 to 700 times.
    {eta}
    {order}
    {mu}
    {stop}
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
    {history_}
    {intercept_}
    {margin_}
    {n_features_in_}
    {feature_names_in_}
    {n_iter_}
    {support_}
    {support_vectors_}
    {n_support_}
    {probA_}
    {probB_}
    {shape_fit_}
    {report_}

    Notes
    -----
    A worked example of the strategies: three classes, one point each, and a linear kernel.

    >>> import numpy as np
    >>> from mercer import SVC
    >>> X, y = [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]], ["a", "b", "c"]
    >>> options = {"kernel": "linear", "C": 10.0, "tol": 1e-8}

    One-vs-one trains three machines: (a, b) is f(x) = 1 - x_0, (a, c) is 1 - x_1, and (b, c) is
    (x_0 - x_1) / 2. There are two rows of coefficients, since each support vector takes part in
    two machines: a in (a, b), then (a, c); b in (a, b), then (b, c); c in (a, c), then (b, c).

    >>> ovo = SVC(multiclass="ovo", **options).fit(X, y)
    >>> ovo.support_, ovo.n_support_, len(ovo.n_iter_), len(ovo.report_)
    (array([0, 1, 2], dtype=int32), array([1, 1, 1], dtype=int32), 3, 3)
    >>> ovo.dual_coef_.round(3)
    array([[ 0.5 , -0.5 , -0.5 ],
           [ 0.5 ,  0.25, -0.25]])
    >>> ovo.intercept_.round(3) + 0.0
    array([1., 1., 0.])

    The point (1.5, 0.2) has the values -0.5, 0.8 and 0.65: one vote for a, two for b.

    >>> ovo.set_params(decision_function_shape="ovo").decision_function([[1.5, 0.2]]).round(3)
    array([[-0.5 ,  0.8 ,  0.65]])
    >>> ovo.predict([[1.5, 0.2]]), ovo.reject([[1.5, 0.2]], threshold=0.6)
    (array(['b'], dtype='<U1'), array([False]))

    The directed acyclic graph has the same machines and attributes. It compares a with c, drops c,
    compares a with b, drops a, and never asks the machine (b, c).

    >>> dag = SVC(multiclass="dag", **options).fit(X, y)
    >>> np.array_equal(dag.dual_coef_, ovo.dual_coef_)
    True
    >>> dag.decision_function([[1.5, 0.2]]).round(3)  # 1 - 1/9, 2 + 1/9, 0 - 4/27
    array([[ 0.889,  2.111, -0.148]])
    >>> dag.predict([[1.5, 0.2]]), dag.reject([[1.5, 0.2]], threshold=0.6)
    (array(['b'], dtype='<U1'), array([ True]))

    One-vs-rest trains three machines with a row of coefficients each: a is 1 - x_0 - x_1, b is
    x_0 - 1, and c is x_1 - 1. The machine of b has no use for the point of c.

    >>> ovr = SVC(multiclass="ovr", **options).fit(X, y)
    >>> ovr.support_, ovr.n_support_, len(ovr.n_iter_), len(ovr.report_)
    (array([0, 1, 2], dtype=int32), array([1, 1, 1], dtype=int32), 3, 3)
    >>> ovr.dual_coef_.round(3) + 0.0
    array([[ 1. , -0.5, -0.5],
           [-0.5,  0.5,  0. ],
           [-0.5,  0. ,  0.5]])
    >>> ovr.intercept_.round(3)
    array([ 1., -1., -1.])
    >>> ovr.decision_function([[1.5, 0.2]]).round(3)
    array([[-0.7,  0.5, -0.8]])
    >>> ovr.predict([[1.5, 0.2]]), ovr.reject([[1.5, 0.2]]), ovr.reject([[0.9, 0.2]])
    (array(['b'], dtype='<U1'), array([False]), array([ True]))

    Weston and Watkins minimise
    1/2 sum_m |w_m|^2 + sum_i C_i sum over m != y_i of max(0, 2 - (f_y(x_i) - f_m(x_i))), Crammer
    and Singer 1/2 sum_m |w_m|^2 + sum_i C_i max over m != y_i of max(0, 1 - (f_y(x_i) - f_m(x_i))).
    Both take the hinge loss and the solver 'smo', and have one problem for all classes, whose
    report is told of the first machine. With two classes they are the machine of the same C, and of
    2 C. Here each class is 1 above the others at its point, and by twice that with the wider
    margin:

    >>> joint = SVC(multiclass="crammer_singer", **options).fit(X, y)
    >>> joint.decision_function(X).round(3) + 0.0
    array([[ 0.667, -0.333, -0.333],
           [-0.333,  0.667, -0.333],
           [-0.333, -0.333,  0.667]])
    >>> joint.set_params(multiclass="weston_watkins").fit(X, y).intercept_.round(3)
    array([ 1.333, -0.667, -0.667])

    A tree, first b against the others, then a against c:

    >>> tree = SVC(multiclass=["b", ["a", "c"]], **options).fit(X, y)
    >>> tree.coef_.round(3) + 0.0
    array([[-1.,  0.],
           [ 0.,  1.]])
    >>> tree.decision_function([[1.5, 0.2]]).round(3), tree.predict([[1.5, 0.2]])
    (array([[-0.5,  0.5, -0.8]]), array(['b'], dtype='<U1'))

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> y = np.array(["left", "left", "right", "right"])
    >>> model = SVC(kernel="linear").fit(X, y)
    >>> model.predict([[-0.8, -1.0]])
    array(['left'], dtype='<U5')
    >>> model.coef_.round(3), model.support_
    (array([[0.5, 0.5]]), array([0, 2], dtype=int32))
    >>> model.report_.status
    'converged'
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
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
        loss: Literal["hinge", "squared_hinge", "squared_error"] = "hinge",
        fit_intercept: bool | Literal["penalized"] = True,
        multiclass: Multiclass = "ovo",
        solver: ClassifierSolver = "smo",
        eta: float = 1.0,
        order: Literal["alternating", "cyclic", "random"] = "alternating",
        mu: float | None = None,
        stop: Literal["gap", "margin"] = "gap",
        max_time: float | None = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        callback: Callback | None = None,
    ) -> None:
        self.C = C
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
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.multiclass = multiclass
        self.solver = solver
        self.eta = eta
        self.order = order
        self.mu = mu
        self.stop = stop
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.callback = callback

    _knows_joint = True
    _solvers: ClassVar[tuple[str, ...]] = ("smo", "interior", "adatron", "npa")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("C", self.C, "a positive number, inf for a hard margin", lambda C: C > 0.0)
        check_choice("loss", self.loss, ("hinge", "squared_hinge", "squared_error"))
        check_intercept(self.fit_intercept)
        if isinstance(self.multiclass, str) and self.multiclass in JOINT:
            where = f"with multiclass={self.multiclass!r}"
            if self.loss != "hinge":
                raise ValueError(f"loss must be 'hinge' {where}, got {self.loss!r}")
            if self.solver != "smo":
                raise ValueError(f"solver must be 'smo' {where}, got {self.solver!r}")
        if self.solver == "npa" and self.loss != "squared_hinge" and not np.isinf(self.C):
            raise ValueError(
                "solver must be another one than 'npa' unless C=inf or loss='squared_hinge': the "
                "nearest points of two hulls are those of a margin without bounds"
            )
        if self.solver == "npa" and self.loss == "squared_error":
            raise ValueError("loss must be 'hinge' or 'squared_hinge' with solver='npa'")

    def _pose(
        self,
        labels: NDArray[np.int64],
        weight: NDArray[np.float64],
        row_weight: NDArray[np.float64],
        multiclass: Multiclass,
        start: NDArray[np.float64] | None = None,
    ) -> Problem:
        formulation = _core.Formulation.svc(
            loss=self.loss,
            intercept=check_intercept(self.fit_intercept),
            multiclass=multiclass,
            start=start,
        )
        cost = scaled(weight, float(self.C), "C times class_weight times sample_weight")
        return Problem(formulation, labels, cost)
