"""C-support vector classification."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mercer import _core
from mercer._base import BaseKernelMachine
from mercer._data import MatrixLike, RowsLike, check_sample_weight, sparse_as_configured
from mercer._params import check_bool, check_choice, check_positive, naming
from mercer.kernels import Kernel, Linear

__all__ = ["SVC"]


class SVC(ClassifierMixin, BaseKernelMachine):
    """C-support vector classification, in place of scikit-learn's `SVC`.

    For every pair of classes the machine f(z) = sum_i beta_i k(x_i, z) + b is trained that
    maximises the margin between the two, where beta solves the quadratic programme ::

        minimise  1/2 beta' K beta - y' beta
        subject to  0 <= y_i beta_i <= C_i,  sum of beta = 0

    with y_i = +-1 and C_i = C * class weight * sample weight. Training uses all processors, can be
    interrupted, and stops when the optimality conditions hold to `tol`.

    Parameters
    ----------
    C : float, default=1.0
        How much training errors cost, positive and finite.
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
        Largest number of iterations of each machine, -1 for no limit.
    decision_function_shape : {'ovo', 'ovr'}, default='ovr'
        What `decision_function` returns for more than two classes: one value per class ('ovr') or
        the values of all machines ('ovo'). Training is one-vs-one in both cases.
    break_ties : bool, default=False
        Whether `predict` resolves ties between classes by their confidence, at the cost of
        computing 'ovr' values; otherwise the first of the tied classes is returned.
    random_state : int, RandomState instance or None, default=None
        Not used, since nothing is random: here because scikit-learn's `SVC` has it.
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
    coef_ : ndarray or sparse matrix of shape (n_classes * (n_classes - 1) / 2, n_features)
        The weights of the features; only for a linear kernel.
    dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_SV)
        The coefficients of the support vectors in the decision functions, in scikit-learn's
        layout; sparse if `X` was.
    fit_status_ : int
        0 if the solver converged, 1 if a limit ended the fit.
    intercept_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        The constants of the decision functions.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.
    n_iter_ : ndarray of shape (n_classes * (n_classes - 1) / 2,)
        Iterations of each machine.
    support_ : ndarray of shape (n_SV,)
        The rows that are support vectors, by class.
    support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
        These rows, in the precision of `X`. Empty for a precomputed kernel; for a callable, in the
        type of `X`.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    shape_fit_ : tuple of int
        The shape of `X`.
    report_ : Report
        What the solver did: `status`, `gap`, `objective`, `iterations`, `kernel_evaluations`,
        `cache_hits`, `cache_misses` and `seconds`, for the whole fit and, as a sequence, for each
        machine.

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

    classes_: NDArray[Any]
    dual_coef_: Any
    intercept_: NDArray[np.float64]
    n_support_: NDArray[np.int32]

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
        self.max_time = max_time
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive("C", self.C)
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        check_bool("break_ties", self.break_ties)
        if isinstance(self.class_weight, str):
            check_choice("class_weight", self.class_weight, ("balanced",))
        elif not isinstance(self.class_weight, dict | None):
            raise TypeError(
                f"class_weight must be None, 'balanced' or a dict, got {self.class_weight!r}"
            )

    def fit(self, X: RowsLike, y: Any, sample_weight: ArrayLike | None = None) -> "SVC":
        """Train on rows and their labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
                (n_samples, n_samples)
            The rows, or the kernel matrix if the kernel is 'precomputed', or any sequence that
            a callable kernel understands. float32 stays float32.
        y : array-like of shape (n_samples,)
            The labels, of any kind that can be sorted.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of `C` by row. A weight of two is worth the row twice; rows of zero or
            negative weight are left out.

        Returns
        -------
        SVC
            The fitted estimator.
        """
        self._check_parameters()
        X, y = self._check_training_data(X, y)
        with naming("y"):
            check_classification_targets(y)
            n_classes = len(np.unique(y))
        if n_classes < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {n_classes} class in y"
            )
        weight = check_sample_weight(sample_weight, len(y))
        keep = np.flatnonzero(weight > 0.0)
        weight = weight[keep]
        classes, labels = np.unique(y[keep], return_inverse=True)
        if len(classes) < 2:
            raise ValueError(_NO_ROWS if len(classes) == 0 else _ONE_CLASS)
        class_weight = self._weights_of(classes, labels, weight)
        with np.errstate(over="ignore"):
            cost = float(self.C) * class_weight[labels] * weight
        if not (np.isfinite(cost).all() and cost.min() > 0.0):
            raise ValueError(
                "C times class_weight times sample_weight must be positive and finite, got values "
                f"from {cost.min():g} to {cost.max():g}"
            )

        def solve(samples: _core.Samples, kernel: _core.Kernel, **options: Any) -> _core.SvcFit:
            return _core.fit_svc(samples, labels.astype(np.int64), cost, kernel, **options)

        fit = self._train(X, keep, weight, solve)
        self.classes_ = classes
        self.class_weight_ = class_weight
        self.n_support_ = fit.n_support
        sign = self._sign_of_the_core()
        dual_coef = sign * fit.dual_coef
        as_sparse = sp.issparse(X) and isinstance(self._fit_kernel, Kernel)
        self.dual_coef_ = sparse_as_configured(dual_coef) if as_sparse else dual_coef
        self.intercept_ = sign * fit.intercept
        iterations = [machine.iterations for machine in self.report_]
        self.n_iter_ = np.minimum(iterations, np.iinfo(np.int32).max).astype(np.int32)
        self._warn_if_stopped_early()
        return self

    def _weights_of(
        self, classes: NDArray[Any], labels: NDArray[np.intp], weight: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the factor of `C` for each class, from the labels 0, 1, ... of weighted rows."""
        factors: NDArray[np.float64]
        if self.class_weight == "balanced":
            factors = weight.sum() / (len(classes) * np.bincount(labels, weights=weight))
        else:
            with naming("class_weight"):
                factors = compute_class_weight(self.class_weight, classes=classes, y=classes)
        if not (np.isfinite(factors).all() and factors.min() > 0.0):
            raise ValueError(f"class_weight must be positive and finite, got {self.class_weight!r}")
        return factors

    def _sign_of_the_core(self) -> float:
        """Return -1.0 if attributes and core differ in sign.

        With two classes positive values stand for the second, as everywhere in scikit-learn; the
        core's machine (i, j) is always positive for the first.
        """
        return -1.0 if len(self.classes_) == 2 else 1.0

    def _machines(self) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        sign = self._sign_of_the_core()
        dual_coef = self.dual_coef_.toarray() if sp.issparse(self.dual_coef_) else self.dual_coef_
        return self.n_support_, sign * dual_coef, sign * self.intercept_

    def decision_function(self, X: RowsLike) -> NDArray[np.float64]:
        """Compute how clearly each row belongs to the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
                (n_samples, n_samples_fit)
            The rows, or their kernel values with all training rows if the kernel is
            'precomputed'.

        Returns
        -------
        ndarray
            For two classes of shape (n_samples,), positive for ``classes_[1]``. For more, of
            shape (n_samples, n_classes), votes and confidences of each class, if
            `decision_function_shape` is 'ovr'; of shape
            (n_samples, n_classes * (n_classes - 1) / 2), the values of the machines, if it is
            'ovo': (0, 1), (0, 2), ..., (1, 2), ..., positive for the first class of the pair.
        """
        check_is_fitted(self)
        n_classes = len(self.classes_)
        if n_classes == 2:
            return self._decide(X, lambda values: -values[:, 0])
        if self.decision_function_shape == "ovo":
            return self._decide(X, lambda values: values)
        return self._decide(X, lambda values: _one_vs_rest(values, n_classes))

    def predict(self, X: RowsLike) -> NDArray[Any]:
        """Find the class of each row, by the votes of the machines.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or \
                (n_samples, n_samples_fit)
            The rows, or their kernel values with all training rows if the kernel is
            'precomputed'.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.
        """
        check_is_fitted(self)
        n_classes = len(self.classes_)
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        if self.break_ties and n_classes > 2:
            winners = self._decide(X, lambda values: _one_vs_rest(values, n_classes).argmax(axis=1))
        else:
            winners = self._classify(X)
        labels: NDArray[Any] = self.classes_[winners]
        return labels

    @property
    def coef_(self) -> MatrixLike:
        """Weights of the features, for a linear kernel."""
        if not self.__sklearn_is_fitted__() or not isinstance(self._fit_kernel, Linear):
            raise AttributeError("coef_ is only available for a fitted model with a linear kernel")
        dual_coef = self.dual_coef_
        if len(self.classes_) > 2:
            _, dual_coef, _ = self._machines()
            dual_coef = _one_vs_one(dual_coef, self.n_support_)
        if sp.issparse(self.support_vectors_):
            coef = sparse_as_configured(sp.csr_array(dual_coef) @ self.support_vectors_)
            coef.data.flags.writeable = False
        else:
            coef = dual_coef @ self.support_vectors_
            coef.flags.writeable = False
        return coef


_NO_ROWS = "Invalid input - all samples have zero or negative weights. Check sample_weight."
_ONE_CLASS = (
    "Invalid input - all samples with positive weights belong to the same class. "
    "Check sample_weight."
)


def _one_vs_one(
    dual_coef: NDArray[np.float64], n_support: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the coefficients of machine (i, j) in a row of its own, shape (n_machines, n_SV).

    In `dual_coef`, the support vectors of class i have their coefficients of machine (i, j) in
    row j - 1 if j > i, and in row j if j < i.
    """
    n_classes = len(n_support)
    ends = np.cumsum(n_support)
    of_class = [slice(end - count, end) for end, count in zip(ends, n_support, strict=True)]
    pairs = [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]
    rows = np.zeros((len(pairs), dual_coef.shape[1]))
    for row, (i, j) in zip(rows, pairs, strict=True):
        row[of_class[i]] = dual_coef[j - 1, of_class[i]]
        row[of_class[j]] = dual_coef[i, of_class[j]]
    return rows


def _one_vs_rest(values: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Return votes plus confidences for each class from the values of all pairs.

    The sum s of the values for and against a class becomes s / (3 (|s| + 1)), which lies between
    -1/3 and 1/3 and so can only decide between classes with as many votes.
    """
    votes = np.zeros((len(values), n_classes))
    confidence = np.zeros((len(values), n_classes))
    pairs = ((i, j) for i in range(n_classes) for j in range(i + 1, n_classes))
    for value, (i, j) in zip(values.T, pairs, strict=True):
        confidence[:, i] += value
        confidence[:, j] -= value
        votes[:, i] += value >= 0.0
        votes[:, j] += value < 0.0
    return votes + confidence / (3.0 * (np.abs(confidence) + 1.0))
