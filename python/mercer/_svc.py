"""C-support vector classification."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer._classifier import BaseClassifier
from mercer._data import scaled
from mercer._params import check_choice, check_intercept, check_real

__all__ = ["SVC"]


class SVC(BaseClassifier):
    """C-support vector classification, in place of scikit-learn's `SVC`.

    For every pair of classes, or every class against the rest, the machine
    f(z) = w.phi(z) + b = sum_i beta_i k(x_i, z) + b is trained that solves ::

        minimise  1/2 |w|^2 + sum_i C_i loss(1 - y_i f(x_i))

    with y_i = +-1, C_i = C * class weight * sample weight, and loss(t) = max(0, t) ('hinge') or
    max(0, t)^2 ('squared_hinge'). Its coefficients solve the quadratic programme ::

        minimise  1/2 beta' K beta - y' beta + sum_i r_i beta_i^2 / 2
        subject to  0 <= y_i beta_i <= u_i,  sum of beta = 0

    with u_i = C_i and r_i = 0 for the hinge loss, no upper bound and r_i = 1 / (2 C_i) for its
    square. With C = inf, the hard margin, both are the same: no upper bound and r_i = 0. Without an
    intercept the sum is free; with a penalised one the sum is free, K becomes K + 1 and
    b = sum of beta. Training uses all processors, can be interrupted, and stops when the
    optimality conditions hold to `tol`.

    Parameters
    ----------
    C : float, default=1.0
        How much training errors cost, positive. ``inf`` allows none: the hard margin. A kernel that
        cannot separate the classes then ends in a ConvergenceWarning.
    kernel : str, object of `mercer.kernels` or callable, default='rbf'
        'linear', 'poly', 'rbf', 'sigmoid', 'laplacian', 'imq' (inverse multiquadric with c = 1) or
        'precomputed' (`X` is the kernel matrix); or an object such as
        ``RBF(sigma=1.5) + 0.1 * Linear()``, whose own parameters count instead of `degree`,
        `gamma` and `coef0`; or a callable ``k(A, B)`` that returns an array of shape
        (len(A), len(B)). A callable is given blocks of rows of `X`, whatever these are, during
        training, and the support vectors as `B` at prediction.
    degree : int, default=3
        Degree of 'poly', not negative.
    gamma : {'scale', 'auto'} or float, default='scale'
        Coefficient of 'rbf', 'poly', 'sigmoid' and 'laplacian', not negative. 'scale' is
        1 / (n_features * X.var()), where rows count by their sample weight; 'auto' is
        1 / n_features.
    coef0 : float, default=0.0
        Constant term of 'poly' and 'sigmoid'.
    shrinking : bool, default=True
        Whether to set aside, for a time, coefficients that seem to stay at their bounds.
    tol : float, default=1e-3
        Largest violation of the optimality conditions to accept.
    cache_size : 'auto' or float, default='auto'
        Memory for kernel values in MB; 'auto' takes what is needed up to a share of what is free.
    class_weight : dict or 'balanced', default=None
        Factors of `C` by class, 1 for classes not named. 'balanced' uses
        n_samples / (n_classes * count of the class), rows counting by their sample weight.
    verbose : bool, default=False
        Whether to show progress on stderr.
    max_iter : int, default=-1
        Largest number of iterations of each machine, which are epochs for 'adatron', -1 for no
        limit.
    decision_function_shape : {'ovo', 'ovr'}, default='ovr'
        What `decision_function` returns for more than two classes: one value per class ('ovr') or
        the values of all machines ('ovo'). It does not change training, and has no effect if
        `multiclass` is 'ovr'.
    break_ties : bool, default=False
        Whether `predict` resolves ties between classes by their confidence, at the cost of
        computing 'ovr' values; otherwise the first of the tied classes is returned. No effect
        unless `multiclass` is 'ovo'.
    random_state : int, RandomState instance or None, default=None
        Not used, since nothing is random: here because scikit-learn's `SVC` has it.
    loss : {'hinge', 'squared_hinge'}, default='hinge'
        How errors are counted: by how far they are on the wrong side of the margin, or by the
        square of that.
    fit_intercept : bool or 'penalized', default=True
        True for a constant b that costs nothing, False for b = 0, 'penalized' for a b that counts
        as one more weight: b^2 / 2 is added to the objective, which is to add 1 to the kernel.
    multiclass : {'ovo', 'ovr', 'dag'}, default='ovo'
        What to train and how to predict for more than two classes. 'ovo' trains a machine for
        every pair of classes, each of which votes for one. 'ovr' trains a machine for every class
        against the rest; the largest value wins. 'dag' trains as 'ovo' and compares the first and
        the last of the list of all classes, of which the loser is dropped, until one is left:
        n_classes - 1 comparisons. See the notes.
    solver : {'smo', 'adatron'}, default='smo'
        The training algorithm: sequential minimal optimisation, or the Kernel-Adatron, which goes
        through all coefficients one at a time, in an order drawn anew for every epoch (always the
        same for the same data). Both end at the same solution, with the same `tol`.
    eta : float, default=1.0
        Length of the steps of 'adatron' as a share of those that would be best alone: above 0 and
        below 2. Not used by 'smo'.
    max_time : float, default=None
        Seconds after which training stops, None for no limit.
    n_jobs : int, default=None
        Number of threads. None uses every available processor, but one inside a joblib worker; -1
        uses every processor and -2 all but one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted. A class of which all rows have weight zero is not among them.
    class_weight_ : ndarray of shape (n_classes,)
        The factor of `C` for each class.
    coef_ : ndarray or sparse matrix of shape (n_machines, n_features)
        The weights of the features; only for a linear kernel. The number of machines is
        n_classes (n_classes - 1) / 2 for 'ovo' and 'dag', n_classes for 'ovr', and 1 for two
        classes.
    dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_SV) or (n_classes, n_SV)
        The coefficients of the support vectors in the decision functions; sparse if `X` was. For
        'ovo' and 'dag' in scikit-learn's layout: a support vector of class i has its coefficient
        in the machine of classes i and j in row j if j < i, else in row j - 1. For 'ovr' row c is
        the machine of class c against the rest.
    fit_status_ : int
        0 if the solver converged, 1 if a limit ended the fit or it diverged.
    history_ : dict of ndarray
        Only with ``solver='adatron'``: "objective" (the dual objective, maximised, at the bias of
        the epoch), "margin" (1 when the closest rows of both classes are on the margin, rows at
        the bound `C` left out), "bias" and "gap" (largest violation of the optimality
        conditions), with an entry for each epoch. A list of such
        dicts, in the order of `report_`, if there are several machines.
    intercept_ : ndarray of shape (n_machines,)
        The constants of the decision functions, zeros without an intercept.
        Their order is (0, 1), (0, 2), ..., (1, 2), ... for 'ovo' and 'dag', positive for the first
        class of the pair; that of `classes_` for 'ovr', positive for the class. With two classes,
        positive stands for the second.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.
    n_iter_ : ndarray of shape (n_machines,)
        Iterations of each machine; epochs for 'adatron'.
    support_ : ndarray of shape (n_SV,)
        The rows that are support vectors of any machine, by class and then by number.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
        These rows, in the precision of `X`. Empty for a precomputed kernel; for a callable, in the
        type of `X`.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class, that is of rows that belong to it.
    shape_fit_ : tuple of int
        The shape of `X`.
    report_ : Report
        What the solver did: `status`, `gap`, `objective`, `iterations`, `kernel_evaluations`,
        `cache_hits`, `cache_misses` and `seconds`, for the whole fit and, as a sequence, for each
        machine, in the order of `intercept_`.

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
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float | str = "auto",
        class_weight: Any = None,
        verbose: bool | int = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        loss: str = "hinge",
        fit_intercept: bool | str = True,
        multiclass: str = "ovo",
        solver: str = "smo",
        eta: float = 1.0,
        max_time: float | None = None,
        n_jobs: int | None = None,
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
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.multiclass = multiclass
        self.solver = solver
        self.eta = eta
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("C", self.C, "a positive number, inf for a hard margin", lambda C: C > 0.0)
        check_choice("loss", self.loss, ("hinge", "squared_hinge"))
        check_intercept(self.fit_intercept)

    def _problem(
        self,
        labels: NDArray[np.int64],
        weight: NDArray[np.float64],
        row_weight: NDArray[np.float64],
        multiclass: str,
    ) -> Callable[..., _core.Fit]:
        return partial(
            _core.fit_svc,
            labels=labels,
            cost=scaled(weight, float(self.C), "C times class_weight times sample_weight"),
            squared=self.loss == "squared_hinge",
            intercept=check_intercept(self.fit_intercept),
            multiclass=multiclass,
        )
