"""Nu-support vector classification."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _core
from mercer._classifier import BaseClassifier
from mercer._params import check_nu

__all__ = ["NuSVC"]


class NuSVC(BaseClassifier):
    """Nu-support vector classification, in place of scikit-learn's `NuSVC`.

    The classifier of `SVC` with the hinge loss, but `nu` takes the place of `C`: at most this
    share of the rows lies on the wrong side of the margin, and at least this share become support
    vectors. For every pair of classes, or every class against the rest, beta solves the quadratic
    programme ::

        minimise  1/2 beta' K beta
        subject to  0 <= y_i beta_i <= w_i,  sum over each class = +-(nu / 2) * sum of w

    with y_i = +-1 and w_i = class weight * sample weight; then beta and the intercept are divided
    by the margin, so that f = +-1 on it, as it is for `SVC`. The shares are shares of the weights,
    and class weights count, which scikit-learn ignores. No feasible point exists if nu is above
    2 min(W+, W-) / (W+ + W-), where W+ and W- are the weights of the two classes: `fit` refuses it,
    before a kernel value is computed. Only where some machines of more than two classes, or class
    weights, stand in the way, the machines concerned have the largest nu that is feasible: `nu_`
    tells.

    Parameters
    ----------
    nu : float, default=0.5
        Upper bound on the share of margin errors and lower bound on the share of support vectors,
        above 0 and at most 1.
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
        Weights of the rows by class, 1 for classes not named. 'balanced' uses
        n_samples / (n_classes * count of the class), rows counting by their sample weight.
    verbose : bool, default=False
        Whether to show progress on stderr.
    max_iter : int, default=-1
        Largest number of iterations of each machine, -1 for no limit.
    decision_function_shape : {'ovo', 'ovr'}, default='ovr'
        What `decision_function` returns for more than two classes: one value per class ('ovr') or
        the values of all machines ('ovo'). It does not change training, and has no effect if
        `multiclass` is 'ovr'.
    break_ties : bool, default=False
        Whether `predict` resolves ties between classes by their confidence, at the cost of
        computing 'ovr' values; otherwise the first of the tied classes is returned. No effect
        unless `multiclass` is 'ovo'.
    random_state : int, RandomState instance or None, default=None
        Not used, since nothing is random: here because scikit-learn's `NuSVC` has it.
    multiclass : {'ovo', 'ovr', 'dag'}, default='ovo'
        What to train and how to predict for more than two classes: a machine for every pair of
        classes ('ovo' by their votes, 'dag' by dropping the loser of the first and the last of the
        classes that are left), or for every class against the rest ('ovr', by the largest value).
        The notes of `SVC` have an example. Since the rest outweighs a class, 'ovr' needs a small
        `nu`: with classes of equal weight, at most 2 / n_classes.
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
        The weight of the rows of each class.
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
        0 if the solver converged, 1 if a limit ended the fit.
    intercept_ : ndarray of shape (n_machines,)
        The constants of the decision functions.
        Their order is (0, 1), (0, 2), ..., (1, 2), ... for 'ovo' and 'dag', positive for the first
        class of the pair; that of `classes_` for 'ovr', positive for the class. With two classes,
        positive stands for the second.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.
    n_iter_ : ndarray of shape (n_machines,)
        Iterations of each machine.
    nu_ : ndarray of shape (n_machines,)
        The share of margin errors of each machine: `nu`, or the largest that is feasible.
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

    def __init__(
        self,
        *,
        nu: float = 0.5,
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
        multiclass: str = "ovo",
        max_time: float | None = None,
        n_jobs: int | None = None,
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
        self.multiclass = multiclass
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_nu(self.nu)

    def _problem(
        self,
        labels: NDArray[np.int64],
        weight: NDArray[np.float64],
        row_weight: NDArray[np.float64],
        multiclass: str,
    ) -> Callable[..., _core.Fit]:
        nu = float(self.nu)
        feasible = _largest_nu(labels, weight, multiclass)
        used = np.minimum(nu, feasible)
        if nu <= _largest_nu(labels, row_weight, multiclass).max():
            nu = min(nu, feasible.max())  # only class weights can be in the way

        def solve(**arguments: Any) -> _core.Fit:
            fit = _core.fit_nu_svc(
                labels=labels, weight=weight, nu=nu, multiclass=multiclass, **arguments
            )
            self.nu_ = used
            return fit

        return solve


def _largest_nu(
    labels: NDArray[np.int64], weight: NDArray[np.float64], multiclass: str
) -> NDArray[np.float64]:
    """Return the largest feasible nu of each machine."""
    of_class = np.bincount(labels, weights=weight).astype(np.float64)
    if multiclass == "ovr":
        first, second = of_class, _sums_of_the_others(of_class)
    else:
        first, second = of_class[np.array(np.triu_indices(len(of_class), k=1))]
    largest: NDArray[np.float64] = 2.0 * np.minimum(first, second) / (first + second)
    return largest


def _sums_of_the_others(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each number the sum of all others, which no difference makes inexact."""
    before, after = np.zeros_like(numbers), np.zeros_like(numbers)
    before[1:] = np.cumsum(numbers[:-1])
    after[:-1] = np.cumsum(numbers[:0:-1])[::-1]
    return before + after
