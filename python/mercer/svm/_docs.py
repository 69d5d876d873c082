"""What several machines document alike, written once.

A docstring has a line ``{name}`` where the text of that name belongs, and `documented` puts it
there. tests/python/test_docs.py checks that every parameter and every attribute is documented.
"""

from collections.abc import Callable, Mapping
from re import MULTILINE, Match, sub
from textwrap import indent
from typing import Any, TypeVar

__all__ = ["CLASSIFIER", "FEATURE_SPACE", "LINEAR", "MACHINE", "documented"]

_Documented = TypeVar("_Documented", bound=Callable[..., Any])

_PARAMETERS = """
kernel : str, object of `mercer.kernels` or callable, default='rbf'
    The kernel function: 'linear', 'poly', 'rbf', 'sigmoid', 'laplacian', 'imq' (inverse
    multiquadric with c = 1), or 'precomputed' if `X` is the kernel matrix itself. An object such as
    ``RBF(sigma=1.5) + 0.1 * Linear()`` brings its own parameters: `degree`, `gamma` and `coef0` are
    not used. A callable ``k(A, B)`` returns an array of shape (len(A), len(B)). In training it is
    called with blocks of rows of `X`, whatever these are; in prediction, `B` are the rows that the
    model keeps. Arrays it is called with are read-only.
degree : int, default=3
    Degree of the 'poly' kernel, not negative.
gamma : {'scale', 'auto', 'median'} or float, default='scale'
    Coefficient of the 'rbf', 'poly', 'sigmoid' and 'laplacian' kernels, not negative. 'scale' is
    1 / (n_features * X.var()), with rows weighted by `sample_weight`; 'auto' is 1 / n_features;
    'median' is 1 over the median squared distance between rows, of up to 500 of them.
coef0 : float, default=0.0
    Constant term of the 'poly' and 'sigmoid' kernels.
shrinking : bool, default=True
    Whether to set aside, for a while, coefficients that seem to stay at a bound.
tol : float, default=1e-3
    The solver stops when no optimality condition is violated by more than this.
cache_size : 'auto' or float, default='auto'
    Memory for kernel values in MB. 'auto' takes what pays, up to a quarter of what is free.
verbose : bool, default=False
    Whether to show progress on stderr.
max_iter : int, default=-1
    Largest number of iterations of each machine, -1 for no limit.
max_time : float, default=None
    Seconds after which training stops, None for no limit.
n_jobs : int, default=None
    Number of threads. None uses every available processor, but only one inside a joblib worker; -1
    uses every processor, and -2 all but one.
warm_start : bool, default=False
    Whether the next ``fit`` goes on from this one, and `add` and `remove` are possible. The
    solution is that of a fit from nothing, to `tol`, after fewer iterations: parameters, targets
    and weights may change, rows may be added at the end, and the fit before may have been stopped,
    by a limit or by Ctrl-C, which leaves the model as far as it had come. With other rows, or other
    classes, a fit starts from nothing. Takes the memory of a copy of `X`. A kernel that is not
    positive semi-definite has many solutions, and another one may be found.
callback : callable, default=None
    Called about ten times a second with a `mercer.report.Progress`; True ends the fit, with a
    `report_.status` of 'interrupted'. What it raises passes through. Either way the model is
    usable, as far as it had come.
fit_intercept : bool or 'penalized', default=True
    True for a constant b that costs nothing, False for b = 0. 'penalized' treats b as one more
    weight: b^2 / 2 is added to the objective, which is the same as adding 1 to the kernel.
solver : {'smo', 'interior', 'adatron'}, default='smo'
    The training algorithm: sequential minimal optimisation, which for a linear kernel, a polynomial
    one of few features and low degree, and their sums and products hands over to an interior-point
    method where that is faster; that method at once ('interior', with other kernels the same as
    'smo'); or the Kernel-Adatron, which updates one coefficient after another,
    in an order drawn anew for every epoch (the same in every run). All reach the same solution, to
    the same `tol`; `report_` says which `method` did. The iterations of 'adatron' are epochs.
eta : float, default=1.0
    Length of the steps of 'adatron', where 1 is best for each coefficient alone: above 0 and below
    2. Not used by the others.
order : {'alternating', 'cyclic', 'random'}, default='alternating'
    The order in which 'adatron' takes the coefficients: a new one for every second epoch, the one
    between going back the same way; that of the rows, as published; or a new one for every epoch.
    Orders are drawn from a fixed seed, the same in every run. Not used by the others.
mu : float, default=None
    Makes 'adatron' search for the intercept as published: the first two epochs have the intercepts
    mu and -mu, every later one that of the secant through the last two. None for a search that
    guards the slope of the secant, and begins near the present intercept.
stop : {'gap', 'margin'}, default='gap'
    When 'adatron' stops: when the optimality conditions hold to `tol`, or, as published, when
    margin and intercept have settled to `tol`: two epochs have had a margin of 1, the same
    intercept, and coefficients that add up to zero if it is free. Some conditions may be violated
    by more: `report_.status` is then 'settled'.
class_weight : dict or 'balanced', default=None
    Weights of the classes, 1 for those not named. 'balanced' uses
    n_samples / (n_classes * count of the class), with rows counted by `sample_weight`.
decision_function_shape : {'ovo', 'ovr'}, default='ovr'
    What `decision_function` returns for more than two classes: one value per class ('ovr') or the
    values of all machines ('ovo'). It does not affect training, and has no effect if `multiclass`
    is 'ovr'.
break_ties : bool, default=False
    Whether `predict` breaks ties between classes by confidence, at the cost of computing 'ovr'
    values; otherwise it returns the first of the tied classes. No effect unless `multiclass` is
    'ovo'.
random_state : int, RandomState instance or None, default=None
    Not used, since nothing is random; here for compatibility with scikit-learn.
probability : bool, default=False
    Whether to offer `predict_proba`. The fit then trains on four fifths of the rows as well, five
    times, each from the solution for all and to fifty times `tol`, at most 0.05.
"""

_DATA = """
X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
    The rows; or the kernel matrix, if the kernel is 'precomputed'; or any sequence that a callable
    kernel understands. float32 stays float32. A C-contiguous array, memory-mapped or not, is not
    copied: no other thread may change it until `fit` returns. Tables, readers, data sets and
    Parquet files of Arrow are written into one matrix, in float32 if no column needs more.
X_new : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples_fit)
    The rows; or their kernel values with all training rows, if the kernel is 'precomputed'.
sample_weight : array-like of shape (n_samples,), default=None
    Weights of the rows. A row of weight 2 counts like two rows; rows of zero or negative weight are
    left out.
"""

_ATTRIBUTES = """
fit_status_ : int
    0 if the solver converged, else 1: a limit ended the fit, it diverged, or float64 was too
    coarse.
n_features_in_ : int
    Number of features seen by `fit`.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, if `X` has names that are all strings.
shape_fit_ : tuple of int
    The shape of `X`.
support_vectors_ : ndarray or sparse matrix of shape (n_SV, n_features)
    The support vectors, in the precision of `X`. Empty for a precomputed kernel; in the type of `X`
    for a callable.
"""

_OF_A_MACHINE = """
coef_ : ndarray or sparse matrix of shape (1, n_features)
    Weights of the features; only for a linear kernel.
dual_coef_ : ndarray or sparse matrix of shape (1, n_SV)
    Coefficients of the support vectors; sparse if `X` was.
history_ : dict of ndarray
    Only with ``solver='adatron'``: arrays with one entry per epoch. "objective" is the dual
    objective (maximised) at the intercept of the epoch, "margin" is NaN here, "intercept" the
    intercept, and "gap" the largest violation of the optimality conditions.
n_iter_ : int
    Number of iterations.
n_support_ : ndarray of shape (1,)
    Number of support vectors.
report_ : Report
    What the solver did: `status`, `gap`, `objective`, `iterations`, `kernel_evaluations`,
    `cache_hits`, `cache_misses`, `cache_bypasses` and `seconds`; see `mercer.report`.
support_ : ndarray of shape (n_SV,)
    The rows that are support vectors.
"""

_OF_A_CLASSIFIER = """
classes_ : ndarray of shape (n_classes,)
    The labels, sorted. A class whose rows all have weight zero is not among them.
class_weight_ : ndarray of shape (n_classes,)
    The weight of each class.
coef_ : ndarray or sparse matrix of shape (n_machines, n_features)
    Weights of the features; only for a linear kernel. The number of machines is
    n_classes (n_classes - 1) / 2 for 'ovo' and 'dag', n_classes for 'ovr', and 1 for two classes.
dual_coef_ : ndarray or sparse matrix of shape (n_classes - 1, n_SV) or (n_classes, n_SV)
    Coefficients of the support vectors; sparse if `X` was. 'ovo' and 'dag' have scikit-learn's
    layout: for a support vector of class i, the machine of classes i and j has its coefficient in
    row j if j < i, else in row j - 1. For 'ovr', row c is the machine of class c against the rest.
margin_ : float or ndarray of shape (n_machines,)
    1 / |w|: the distance in feature space from the boundary at which the value is 1 or -1. A number
    if there is one machine, else one for each.
intercept_ : ndarray of shape (n_machines,)
    Intercepts of the machines. For 'ovo' and 'dag', the machines (0, 1), (0, 2), ..., (1, 2), ...
    are positive for the first class of the pair; for 'ovr' each machine is positive for its own
    class. With two classes, the only machine is positive for the second.
history_ : dict of ndarray
    Only with ``solver='adatron'`` and 'npa': arrays with one entry per epoch, which for 'npa' is as
    many steps as there are rows. "objective" is the dual
    objective (maximised) at the intercept of the epoch; "margin" is 1 when the closest rows of both
    classes are on the margin, rows at the bound `C` left out; "intercept" is the intercept; "gap"
    is the largest violation of the optimality conditions. A list of such dicts, in the order of
    `report_`, if there are several machines.
n_iter_ : ndarray of shape (n_machines,)
    Number of iterations of each machine.
n_support_ : ndarray of shape (n_classes,)
    Number of support vectors of each class: of rows that belong to it.
report_ : Report
    What the solver did: `status`, `gap`, `objective`, `iterations`, `kernel_evaluations`,
    `cache_hits`, `cache_misses`, `cache_bypasses` and `seconds`, for the whole fit and, as a
    sequence, for each machine, in the order of `intercept_`; see `mercer.report`.
support_ : ndarray of shape (n_SV,)
    The rows that are support vectors of any machine, by class and then by number.
probA_ : ndarray of shape (n_machines,)
    Slopes. The probability of the class for which a machine with the value f is positive is
    1 / (1 + exp(probA_ f + probB_)), before those of several machines are coupled. Only with
    `probability`.
probB_ : ndarray of shape (n_machines,)
    Constants: see `probA_`.
"""


def _entries(*texts: str) -> dict[str, str]:
    """Return the entries of numpydoc sections by name."""
    entries: dict[str, list[str]] = {}
    for line in "".join(texts).strip().splitlines():
        if not line.startswith(" "):
            name = line.partition(" : ")[0]
            entries[name] = []
        entries[name].append(line)
    return {name: "\n".join(lines) for name, lines in entries.items() if name}


_COMMON = _entries(_PARAMETERS, _DATA, _ATTRIBUTES)
# What stands for X in a prediction goes by that name.
_COMMON["X_new"] = _COMMON["X_new"].replace("X_new", "X", 1)

_OF_A_LINEAR_MACHINE = """
C : float, default=1.0
    The cost of errors, positive and finite.
tol : float, default=0.0001
    The solver stops when no optimality condition of the dual problem is violated by more than this.
verbose : bool or int, default=0
    Whether to show progress on stderr.
dual : bool or 'auto', default='auto'
    Accepted for scikit-learn's sake: the solution is the same. False is refused where scikit-learn
    refuses it.
fit_intercept : bool, default=True
    Whether there is an intercept.
intercept_scaling : float, default=1.0
    The constant feature whose weight, which is penalised, makes the intercept. The larger it is,
    the less that penalty matters.
random_state : int, RandomState instance or None, default=None
    Accepted for scikit-learn's sake: nothing is random.
max_iter : int, default=1000
    Largest number of Newton steps, or of passes over the rows, of each machine.
n_iter_ : int
    Number of iterations of the machine that took the most.
report_ : Report
    What the solver did: `status`, `gap`, `objective` and so on, for the whole fit and, as a
    sequence, for each machine; see `mercer.report`.
"""

_OF_FEATURE_SPACE = """
classes_ : ndarray of shape (n_classes,)
    The labels, sorted.
random_state : int, RandomState instance or None, default=None
    Where random numbers come from.
y : None, default=None
    Not used.
X_fit_ : ndarray or sparse matrix of shape (n_samples, n_features)
    The rows the model keeps, in their own type if the kernel is a callable; those of the kernel
    matrix if it is 'precomputed'.
"""

# Machines predict one batch after another.
_STREAMED = {
    "X_new": f"""{_COMMON["X_new"]}
    A table, reader, data set or Parquet file of Arrow is predicted batch by batch, and so is an
    iterator of matrices: no more than a batch is in memory."""
}

#: The texts of machines without classes, of classifiers, of linear machines, and of what else lives
#: in feature space.
MACHINE = {**_COMMON, **_STREAMED, **_entries(_OF_A_MACHINE)}
CLASSIFIER = {**_COMMON, **_STREAMED, **_entries(_OF_A_CLASSIFIER)}
LINEAR = {**_COMMON, **_entries(_OF_A_LINEAR_MACHINE)}
FEATURE_SPACE = {**_COMMON, **_entries(_OF_FEATURE_SPACE)}


def documented(texts: Mapping[str, str]) -> Callable[[_Documented], _Documented]:
    """Return a decorator that fills the lines ``{name}`` of a docstring with these texts."""

    def fill(line: Match[str]) -> str:
        return indent(texts[line["name"]], line["space"])

    def decorate(documented: _Documented) -> _Documented:
        if documented.__doc__ is not None:  # without python -OO
            filled = sub(
                r"^(?P<space> *)\{(?P<name>\w+)\}$", fill, documented.__doc__, flags=MULTILINE
            )
            documented.__doc__ = filled
        return documented

    return decorate
