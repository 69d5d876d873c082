"""The private binding to the Rust core: unpack, release the GIL, call, repack.

Nothing here is public; the estimators are the interface.
"""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

_Floats: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
_Indices: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
_Intercept: TypeAlias = Literal["free", "none", "penalized"]
_Multiclass: TypeAlias = (
    Literal["ovo", "ovr", "dag", "weston_watkins", "crammer_singer"] | list[Any] | tuple[Any, ...]
)

__version__: str

@final
class Samples:
    """Rows, dense or CSR, float32 or float64.

    A C-contiguous array stays where it is and is kept alive; it must not be changed while the core
    uses it. Everything else is copied.
    """

    @staticmethod
    def dense(x: _Floats, *, finite: bool = False) -> Samples:
        """Make rows of an array; `finite` says that its values are known to be."""
    @staticmethod
    def csr(data: _Floats, indices: _Indices, indptr: _Indices, n_columns: int) -> Samples: ...
    @staticmethod
    def numbered(n_rows: int) -> Samples:
        """Make rows without numbers, for a callable that knows them by their position."""
    @property
    def shape(self) -> tuple[int, int]: ...

@final
class Kernel:
    """A kernel function with all its parameters resolved to numbers."""

    @staticmethod
    def linear() -> Kernel: ...
    @staticmethod
    def polynomial(gamma: float, coef0: float, degree: int) -> Kernel: ...
    @staticmethod
    def rbf(gamma: float) -> Kernel: ...
    @staticmethod
    def sigmoid(gamma: float, coef0: float) -> Kernel: ...
    @staticmethod
    def laplacian(gamma: float) -> Kernel: ...
    @staticmethod
    def inverse_multiquadric(c: float) -> Kernel: ...
    @staticmethod
    def matern(nu: float, length_scale: float) -> Kernel: ...
    @staticmethod
    def periodic(period: float, length_scale: float) -> Kernel: ...
    @staticmethod
    def chi_squared(gamma: float) -> Kernel: ...
    @staticmethod
    def histogram_intersection() -> Kernel: ...
    @staticmethod
    def anova(gamma: float, degree: int) -> Kernel: ...
    @staticmethod
    def normalized(kernel: Kernel) -> Kernel: ...
    @staticmethod
    def precomputed() -> Kernel:
        """Take the samples as the kernel matrix itself."""
    @staticmethod
    def callable(
        function: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]],
    ) -> Kernel:
        """Take a function of row numbers; ``function(rows, columns)`` is a block of the matrix."""
    @staticmethod
    def sum(terms: Sequence[Kernel]) -> Kernel: ...
    @staticmethod
    def product(factors: Sequence[Kernel]) -> Kernel: ...
    @staticmethod
    def scaled(factor: float, kernel: Kernel) -> Kernel: ...
    def matrix(self, a: Samples, b: Samples, n_threads: int) -> NDArray[np.float64]:
        """Compute all values k(a_i, b_j) in float64, shape (len(a), len(b))."""
    def distance(self, a: Samples, b: Samples, n_threads: int) -> NDArray[np.float64]:
        """Compute all distances in feature space, shape (len(a), len(b)); zero for equal rows."""
    def diagonal(self, samples: Samples) -> NDArray[np.float64]:
        """Compute k(x, x) of each row; not for precomputed and callable kernels."""

@final
class Sequences:
    """Sequences of symbols; sequence i begins at ``starts[i]``."""

    def __new__(cls, symbols: NDArray[np.uint32], starts: NDArray[np.int64]) -> Sequences: ...
    def __len__(self) -> int: ...

@final
class SequenceKernel:
    """A kernel of two sequences."""

    @staticmethod
    def spectrum(length: int) -> SequenceKernel: ...
    @staticmethod
    def subsequence(length: int, decay: float) -> SequenceKernel: ...
    def matrix(self, a: Sequences, b: Sequences | None, n_threads: int) -> NDArray[np.float64]:
        """Compute all values, those of `a` with itself where `b` is None."""
    def diagonal(self, a: Sequences, n_threads: int) -> NDArray[np.float64]: ...

@final
class Report:
    """What the solver did on one binary problem."""

    @property
    def status(
        self,
    ) -> Literal[
        "converged",
        "settled",
        "precision",
        "max_iterations",
        "time_limit",
        "diverged",
        "interrupted",
    ]:
        """How the solver ended."""
    @property
    def method(
        self,
    ) -> Literal[
        "smo", "adatron", "interior", "newton", "descent", "npa", "perceptron", "minover"
    ]: ...
    @property
    def iterations(self) -> int: ...
    @property
    def gap(self) -> float: ...
    @property
    def objective(self) -> float: ...
    @property
    def primal_objective(self) -> float: ...
    @property
    def duality_gap(self) -> float: ...
    @property
    def squared_norm(self) -> float: ...
    @property
    def kernel_evaluations(self) -> int: ...
    @property
    def cache_hits(self) -> int: ...
    @property
    def cache_misses(self) -> int: ...
    @property
    def cache_bypasses(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def phases(self) -> tuple[float, float, float, float]: ...

@final
class Fit:
    """A trained model in LIBSVM's layout: a classifier, or a single function.

    Its arrays are handed over, not copied: asked twice, they are the same objects.

    The support vectors of a classifier are sorted by class and, within a class, by row. The machine
    of two classes is positive for the second. Of more classes, machine (i, j) with i < j is
    positive for class i; one-vs-rest has a row of coefficients and an intercept for each class,
    positive for it. A single function has one row of coefficients, one intercept and one number of
    support vectors.
    """

    @property
    def support(self) -> NDArray[np.int32]: ...
    @property
    def n_support(self) -> NDArray[np.int32]: ...
    @property
    def dual_coef(self) -> NDArray[np.float64]: ...
    @property
    def intercept(self) -> NDArray[np.float64]: ...
    @property
    def reports(self) -> list[Report]: ...
    @property
    def histories(self) -> list[NDArray[np.float64]]:
        """The epochs of each machine: objective, margin, intercept, gap; no rows for 'smo'."""
    @property
    def epsilon(self) -> float | None:
        """Half the width of the tube that `nu_svr` found."""
    @property
    def squared_radius(self) -> float | None:
        """R^2 of `svdd`, which may be negative with squared losses."""
    @property
    def diagonal(self) -> float | None:
        """k(x, x) of a precomputed kernel of `svdd`, if it is the same for all rows."""
    @property
    def past(self) -> Past | None:
        """What the next fit may start from, if this one was told where to."""
    @property
    def raised(self) -> BaseException | None:
        """What a signal handler or the progress function has raised, which ended the fit here."""

@final
class Past:
    """Where the machines of a fit stood at its end; of no machine, unless told otherwise."""

    def __new__(cls, machines: list[Any] = ...) -> Past: ...
    def doubted(self) -> Past:
        """Return the same for another kernel, or rows of other values."""
    def renumbered(self, numbers: NDArray[np.int64]) -> Past:
        """Return the same with other numbers for the rows, -1 for rows that are gone."""

@final
class Progress:
    """How far a call is. Of a search, machines are fits and iterations are candidates."""

    @property
    def machine(self) -> int: ...
    @property
    def machines(self) -> int: ...
    @property
    def done(self) -> int: ...
    @property
    def iteration(self) -> int: ...
    @property
    def gap(self) -> float: ...
    @property
    def objective(self) -> float: ...
    @property
    def support_vectors(self) -> int: ...
    @property
    def seconds(self) -> float: ...

@final
class LinearFit:
    """Trained linear machines: weights of shape (n_machines, n_features) and intercepts."""

    @property
    def coef(self) -> NDArray[np.float64]: ...
    @property
    def intercept(self) -> NDArray[np.float64]: ...
    @property
    def reports(self) -> list[Report]: ...

@final
class LinearFormulation:
    """What to train: linear machines with a penalised intercept, that of a constant; 0 for none.

    Without epsilon the targets are class numbers, and there is a machine for two classes or for
    each of more against the rest, in which class_weight counts for its own rows only.
    """

    def __new__(
        cls,
        *,
        squared: bool,
        constant: float,
        class_weight: NDArray[np.float64] | None = None,
        epsilon: float | None = None,
    ) -> LinearFormulation: ...
    def fit(
        self,
        samples: Samples,
        target: NDArray[np.int64] | NDArray[np.float64],
        cost: NDArray[np.float64],
        settings: Settings,
    ) -> LinearFit:
        """Train on rows with class numbers or values, and with their costs.

        Of the settings, those that say when to stop count; max_iter are passes over the rows.
        """

@final
class Settings:
    """How to train.

    shrinking is of use to 'smo', eta, order, mu and stop to 'adatron'. max_iter counts pair steps
    or epochs of each machine, -1 for no limit; max_time is in seconds for the whole call. progress
    is called on the thread that waits, about ten times a second; what it raises, or True, ends the
    call.
    """

    def __new__(
        cls,
        *,
        solver: Literal["smo", "interior", "adatron", "npa", "perceptron", "minover"],
        eta: float,
        tol: float,
        shrinking: bool,
        cache_bytes: int | None,
        max_iter: int,
        max_time: float | None,
        n_threads: int,
        progress: Callable[[Progress], object] | None = None,
        order: Literal["alternating", "cyclic", "random"] = "alternating",
        mu: float | None = None,
        stop: Literal["gap", "margin"] = "gap",
    ) -> Settings: ...
    def holds_matrix(self, rows: int, machines: int) -> bool:
        """Tell whether the kernel matrix of so many rows is to be computed beforehand."""

@final
class DualProblem:
    """A quadratic programme, or the part of one that some variables are.

    The rows of terms are linear, absolute, lower, upper, ridge and start; second tells which
    variables are in the second group of 'two_sums'. Thresholds are m and M of both groups, infinite
    where a group has no variables.
    """

    def __new__(
        cls,
        terms: NDArray[np.float64],
        constraint: str,
        second: NDArray[np.bool_] | None = None,
    ) -> DualProblem: ...
    @property
    def terms(self) -> NDArray[np.float64]: ...
    @property
    def constraint(self) -> str: ...
    @property
    def second(self) -> NDArray[np.bool_] | None: ...
    def examine(
        self,
        beta: NDArray[np.float64],
        gradient: NDArray[np.float64],
        intercepts: Sequence[float],
    ) -> tuple[list[list[float]], NDArray[np.float64], float]:
        """Find thresholds, the violation of each variable at these intercepts, duality gap."""
    @staticmethod
    def gap(groups: Sequence[Sequence[float]]) -> float:
        """Return the gap of thresholds, those of all variables."""
    def settled(
        self,
        beta: NDArray[np.float64],
        intercepts: Sequence[float],
        groups: Sequence[Sequence[float]],
    ) -> list[float]:
        """Return the intercepts: as given where a variable is free, else the middle of thresholds.

        These are all variables that are not zero; the thresholds are of all variables.
        """
    def solve(
        self,
        kernel: Kernel,
        samples: Samples,
        settings: Settings,
        image: NDArray[np.float64] | None = None,
    ) -> tuple[NDArray[np.float64], list[float], Report]:
        """Find beta and the intercepts of the groups; image is K times the start, if known."""

@final
class Formulation:
    """What to train: a machine with the parameters that only it has."""

    @property
    def shares(self) -> bool:
        """Whether `search` knows this machine."""
    @staticmethod
    def svc(
        *,
        loss: str,
        intercept: _Intercept,
        multiclass: _Multiclass,
        start: NDArray[np.float64] | None = None,
    ) -> Formulation:
        """Classify rows of class numbers, of which cost tells what an error on each costs.

        A cost may be infinite (a hard margin). With two classes, start may hold coefficients of the
        rows to begin with, within their bounds (positive for class 1).
        """
    @staticmethod
    def nu_svc(*, nu: float, multiclass: _Multiclass) -> Formulation:
        """Classify rows of class numbers and weights; nu bounds the weight of margin errors."""
    @staticmethod
    def svr(
        *, loss: str, epsilon: float, delta: float, quantile: float, intercept: _Intercept
    ) -> Formulation:
        """Learn values, or several for each row; cost tells what an error on each row costs.

        Each of epsilon, delta and quantile matters to some losses only.
        """
    @staticmethod
    def nu_svr(*, nu: float) -> Formulation:
        """Learn values and epsilon; nu bounds the cost of errors."""
    @staticmethod
    def one_class(*, nu: float, squared: bool) -> Formulation:
        """Separate weighted rows from the origin; nu bounds the weight of outliers."""
    @staticmethod
    def svdd(*, nu: float, squared: bool) -> Formulation:
        """Find the sphere around weighted rows; nu bounds the weight of outliers.

        The intercept is minus the squared norm of its centre.
        """
    def tolerance(self, tol: float, total: float) -> float:
        """Return the tolerance of the dual problem, of so many rows by weight."""
    def pose(
        self,
        target: NDArray[np.int64] | NDArray[np.float64] | None,
        weight: NDArray[np.float64],
        rest: Sequence[float],
        diagonal: NDArray[np.float64],
    ) -> tuple[DualProblem, list[float]]:
        """Return the problem of some rows of one machine, and the sums of the whole by group.

        Class numbers are 0 and 1, the positive one. rest is the weight of all rows elsewhere: of
        each class, of all, or nothing where it does not matter. diagonal is k(x, x), of a sphere.
        """
    def finish(
        self,
        problem: DualProblem,
        beta: NDArray[np.float64],
        intercepts: Sequence[float],
        known: dict[str, object],
    ) -> tuple[NDArray[np.float64], float, float | None]:
        """Make a machine of a solution: its coefficients, its intercept, R^2 of a sphere.

        known are squared_norm, gap, tol, the largest k(x, x), and open: whether each group has
        variables elsewhere, which are zero.
        """
    def fit(
        self,
        kernel: Kernel,
        samples: Samples,
        wanted: tuple[NDArray[np.int64] | NDArray[np.float64] | None, NDArray[np.float64]],
        settings: Settings,
        past: Past | None = None,
    ) -> Fit:
        """Train on rows with class numbers, values or neither, and with their costs or weights.

        Starts from the past of a fit whose rows had the same numbers, and keeps what the next one
        may start from; None starts from nothing and keeps nothing.
        """

@final
class Expansion:
    """Decision functions, in the layout of Fit: n_support of length 1 stands for a single one.

    support_vectors is None if the kernel values against them are given to decision_from_kernel. In
    every method, values are those of all machines, a column for each.
    """

    def __new__(
        cls,
        kernel: Kernel,
        support_vectors: Samples | None,
        n_support: _Indices,
        dual_coef: NDArray[np.float64],
        intercept: NDArray[np.float64],
        multiclass: _Multiclass | None = None,
    ) -> Expansion: ...
    def decision(self, samples: Samples, n_threads: int) -> NDArray[np.float64]:
        """Compute the values of all machines.

        The shape is (n, k(k-1)/2), for one-vs-rest (n, k), and (n, 1) for a single function.
        """
    def decision_from_kernel(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the values of all machines from those of the kernel, shape (n, n_SV)."""
    def predict(self, samples: Samples, n_threads: int) -> NDArray[np.int64]:
        """Find the class of each row, as `winners` of `decision`, but sooner."""
    def winners(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Find the class of each row; ties of votes go to the lowest class."""
    def confidences(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute a value for each class, shape (n, k), of which the winner has the largest.

        Other than `winners` they break ties of votes.
        """
    def rejects(
        self,
        values: NDArray[np.float64],
        threshold: float,
        winners: _Indices | None = None,
    ) -> NDArray[np.bool_]:
        """Tell for each row whether no class is clear to the threshold.

        winners are the classes of the rows if they are not those of `winners`.
        """

def feasible_nu(
    nu: float,
    labels: _Indices,
    cost: NDArray[np.float64],
    weight: NDArray[np.float64],
    multiclass: _Multiclass,
) -> NDArray[np.float64]:
    """Find the nu of each machine: nu, or the largest that is feasible.

    cost is weight times the weights of classes, for which nu may be lowered but not refused. Raise
    ValueError if no machine can have nu.
    """

def coefficients_by_machine(
    dual_coef: NDArray[np.float64], n_support: _Indices, multiclass: _Multiclass
) -> NDArray[np.float64]:
    """Give the coefficients of each machine a row of their own, shape (n_machines, n_SV)."""

def is_finite(x: _Floats) -> bool:
    """Tell whether a matrix has neither NaN nor infinities."""

@final
class SearchFit:
    """What one of many fits gives back."""

    @property
    def fit(self) -> Fit: ...
    @property
    def values(self) -> NDArray[np.float64]:
        """The values of all machines for the rows asked for, shape (n, n_machines)."""
    @property
    def seconds(self) -> float: ...

def search(
    samples: Samples,
    fits: Sequence[
        tuple[
            Formulation,
            Kernel,
            _Indices | NDArray[np.float64] | None,
            NDArray[np.float64],
            _Indices,
            Settings,
        ]
    ],
    settings: Settings,
    *,
    expected: tuple[NDArray[np.float64], Sequence[int]] | None = None,
) -> list[SearchFit | None]:
    """Do many fits on the same samples, which share their work; None for one that is not possible.

    Each has a formulation, a kernel, targets, costs (zero for rows that are left out), the rows
    whose values are asked for, and settings of its own. Those for all say how many threads there
    are, how much memory, and who is told how many fits are done.
    """

def held_out(
    samples: Samples,
    fit: tuple[Formulation, Kernel, _Indices, NDArray[np.float64], _Indices, Settings],
    parts: Sequence[_Indices],
    settings: Settings,
) -> tuple[SearchFit, NDArray[np.float64] | None]:
    """Train a classifier, and with each part of its rows held out.

    Return the values of rows by machines that were trained without them, shape (n, n_machines), NaN
    for rows never held out and machines of other classes; None if a part cannot be done without.
    """

@final
class LeftOut:
    """What leaving rows out gives back."""

    @property
    def values(self) -> NDArray[np.float64]:
        """The values of all machines for all rows, shape (n, n_machines)."""
    @property
    def reports(self) -> list[Report]:
        """What the solver did for each machine trained on all rows."""
    @property
    def solved(self) -> int:
        """How many problems were solved anew."""
    @property
    def from_solver(self) -> int:
        """How many of these the solver had to be asked for."""
    @property
    def unconverged(self) -> int:
        """How many problems have a gap above the tolerance."""

def leave_one_out(
    formulation: Formulation,
    kernel: Kernel,
    samples: Samples,
    rows: tuple[_Indices | NDArray[np.float64] | None, NDArray[np.float64]],
    settings: Settings,
) -> LeftOut:
    """Find the value of every row by machines that are trained on all others.

    rows are the targets and the weights or costs.
    """

def spans(
    kernel: Kernel,
    samples: Samples,
    vectors: list[NDArray[np.float64]],
    intercept: _Intercept,
    settings: Settings,
) -> NDArray[np.float64]:
    """Find the square of the span of each row of samples, infinity where there is none.

    vectors are the coefficients, their lower and upper bounds, and what is added to the diagonal.
    """

def confidences(
    values: NDArray[np.float64], n_classes: int, multiclass: _Multiclass
) -> NDArray[np.float64]:
    """Make one value for each class, shape (n, k), of the values of all machines."""

def winners(
    values: NDArray[np.float64], n_classes: int, multiclass: _Multiclass
) -> NDArray[np.int64]:
    """Find the class of each row from the values of all machines."""

def calibrate(
    values: NDArray[np.float64],
    labels: _Indices,
    n_classes: int,
    multiclass: _Multiclass,
    n_threads: int,
) -> list[NDArray[np.float64]]:
    """Fit 1 / (1 + exp(a f + b)) to the values f of each machine; return all a and all b."""

def probabilities(
    values: NDArray[np.float64],
    winners: _Indices,
    sigmoids: tuple[NDArray[np.float64], NDArray[np.float64]],
    n_classes: int,
    multiclass: _Multiclass,
) -> NDArray[np.float64]:
    """Make probabilities of classes, shape (n, k), of the values of all machines.

    winners are the classes that are predicted, which become the most probable.
    """

def read_model(path: str | PathLike[str]) -> tuple[str, dict[str, NDArray[Any]]]: ...
def write_model(path: str | PathLike[str], text: str, arrays: dict[str, NDArray[Any]]) -> None: ...
def saved_attributes(estimator: str) -> list[str] | None: ...
def available_threads() -> int:
    """Count the threads to use: affinity, cgroup quota and RAYON_NUM_THREADS are respected."""

def mercer_condition(
    matrix: NDArray[np.float64],
) -> tuple[tuple[bool, bool, float, float, float], NDArray[np.float64]]:
    """Return symmetric, positive, asymmetry, smallest and largest eigenvalue; and the witness."""

def mercer_features(
    matrix: NDArray[np.float64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return eigenvalues, and the matrix that makes features of kernel values."""

@final
class Relevance:
    """A sparse Bayesian model."""

    @staticmethod
    def fit(
        phi: NDArray[np.float64],
        targets: NDArray[np.float64],
        classes: bool,
        tol: float,
        max_iter: int,
    ) -> Relevance:
        """Find the model for a design and targets, 0 or 1 where it is one of classes."""
    @property
    def columns(self) -> NDArray[np.int32]: ...
    @property
    def alpha(self) -> NDArray[np.float64]: ...
    @property
    def mean(self) -> NDArray[np.float64]: ...
    @property
    def covariance(self) -> NDArray[np.float64]: ...
    @property
    def beta(self) -> float: ...
    @property
    def evidence(self) -> float: ...
    @property
    def iterations(self) -> int: ...
    @property
    def converged(self) -> bool: ...

def bayes_point(
    kernel: NDArray[np.float64],
    signs: NDArray[np.float64],
    settings: tuple[int, float, int, int],
) -> tuple[NDArray[np.float64], int, int]:
    """Average perceptrons; `settings` are their number, ridge, most passes, seed."""

@final
class ComponentSettings:
    """How kernel PCA finds components."""

    def __new__(
        cls,
        *,
        n_components: int | None,
        eigen_solver: str,
        tol: float,
        max_iter: int | None,
        iterated_power: int | None,
        seed: int,
        cache_bytes: int | None,
        n_threads: int,
    ) -> ComponentSettings: ...
    def fit(self, kernel: Kernel, samples: Samples, weight: NDArray[np.float64]) -> Components:
        """Find the components of rows with positive weights."""

@final
class Components:
    """Components in feature space; coefficients have one row for each."""

    @property
    def eigenvalues(self) -> NDArray[np.float64]: ...
    @property
    def eigenvectors(self) -> NDArray[np.float64]: ...
    @property
    def coefficients(self) -> NDArray[np.float64]: ...
    @property
    def intercept(self) -> NDArray[np.float64]: ...
    @property
    def converged(self) -> bool: ...

@final
class Projection:
    """Linear functions in feature space."""

    def __new__(
        cls,
        kernel: Kernel,
        rows: Samples | None,
        coefficients: NDArray[np.float64],
        intercept: NDArray[np.float64],
    ) -> Projection: ...
    def decision(self, samples: Samples, n_threads: int) -> NDArray[np.float64]:
        """Compute the values of all functions, shape (len(samples), functions)."""
    def decision_from_kernel(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the same from kernel values with all rows."""

@final
class PreImages:
    """Points whose images are near to points of feature space."""

    def __new__(
        cls,
        kernel: Kernel,
        rows: Samples,
        coefficients: NDArray[np.float64],
        shares: NDArray[np.float64],
        *,
        max_iter: int,
        tol: float,
        n_threads: int,
    ) -> PreImages: ...
    def find(
        self, coordinates: NDArray[np.float64], starts: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Find the points, beginning at the best of `starts`, as many for each point."""

@final
class Discriminants:
    """Fisher's discriminants; coefficients have one row for each."""

    @property
    def coefficients(self) -> NDArray[np.float64]: ...
    @property
    def intercept(self) -> NDArray[np.float64]: ...
    @property
    def means(self) -> NDArray[np.float64]: ...
    @property
    def eigenvalues(self) -> NDArray[np.float64]: ...
    @property
    def reg(self) -> float: ...
    @property
    def tried(self) -> list[tuple[float, float]]: ...
    @property
    def landmarks(self) -> NDArray[np.int32] | None: ...

@final
class DiscriminantSettings:
    """How discriminants are found; `reg` None is chosen by leaving rows out."""

    def __new__(
        cls,
        *,
        reg: float | None,
        priors: NDArray[np.float64] | None,
        n_landmarks: int | None,
        n_threads: int,
    ) -> DiscriminantSettings: ...
    def fit(
        self,
        kernel: Kernel,
        samples: Samples,
        labels: NDArray[np.int64],
        weight: NDArray[np.float64],
    ) -> Discriminants:
        """Find the discriminants of numbered classes."""

@final
class Clusters:
    """Clusters in feature space; coefficients have one row for each centre."""

    @property
    def labels(self) -> NDArray[np.int32]: ...
    @property
    def coefficients(self) -> NDArray[np.float64]: ...
    @property
    def norms(self) -> NDArray[np.float64]: ...
    @property
    def inertia(self) -> float: ...
    @property
    def iterations(self) -> int: ...
    @property
    def converged(self) -> bool: ...

@final
class ClusterSettings:
    """How clusters are found; `seeds` are rows to begin with, None to draw them."""

    def __new__(
        cls,
        *,
        n_clusters: int,
        seeds: NDArray[np.int64] | None,
        n_init: int,
        max_iter: int,
        seed: int,
        n_threads: int,
    ) -> ClusterSettings: ...
    def fit(self, kernel: Kernel, samples: Samples, weight: NDArray[np.float64]) -> Clusters:
        """Find the clusters of rows with positive weights."""

def nearest(
    kernel: Kernel, known: Samples, samples: Samples, count: int, n_threads: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the nearest known rows of each row: row numbers and distances, one row after another."""

def nearest_from_kernel(
    values: NDArray[np.float64],
    known: NDArray[np.float64],
    own: NDArray[np.float64],
    count: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the same from kernel values, k(x, x) of the known rows and k(z, z) of the rows."""

def joint_diagonalizer(matrices: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Find the rotation R that makes R' A R as diagonal as can be, for all matrices A."""

def sources(
    signals: NDArray[np.float64], n_components: int, n_lags: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Find independent sources among columns of variance one: their weights, autocorrelations."""
