"""The private binding to the Rust core: unpack, release the GIL, call, repack.

Nothing here is public; the estimators are the interface.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

_Floats: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
_Indices: TypeAlias = NDArray[np.int32] | NDArray[np.int64]

__version__: str

@final
class Samples:
    """Rows copied once into the core's own memory, dense or CSR, float32 or float64."""

    @staticmethod
    def dense(x: _Floats) -> Samples: ...
    @staticmethod
    def csr(data: _Floats, indices: _Indices, indptr: _Indices, n_columns: int) -> Samples: ...
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
    def diagonal(self, samples: Samples) -> NDArray[np.float64]:
        """Compute k(x, x) of each row; not for precomputed and callable kernels."""

@final
class Report:
    """What the solver did on one binary problem."""

    @property
    def status(self) -> str:
        """One of 'converged', 'max_iterations', 'time_limit', 'diverged', 'interrupted'."""
    @property
    def iterations(self) -> int: ...
    @property
    def gap(self) -> float: ...
    @property
    def objective(self) -> float: ...
    @property
    def kernel_evaluations(self) -> int: ...
    @property
    def cache_hits(self) -> int: ...
    @property
    def cache_misses(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def phases(self) -> tuple[float, float, float, float]: ...

@final
class Fit:
    """A trained model in LIBSVM's layout: a classifier, or a single function.

    The support vectors of a classifier are sorted by class and, within a class, by row. Its machine
    (i, j) with i < j is positive for class i, whatever the number of classes. One-vs-rest has a row
    of coefficients and an intercept for each class, positive for it. A single function has one row
    of coefficients, one intercept and one number of support vectors.
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
        """The epochs of each machine: columns objective, margin, bias, gap; no rows for 'smo'."""
    @property
    def epsilon(self) -> float | None:
        """Half the width of the tube that `fit_nu_svr` found."""
    @property
    def squared_radius(self) -> float | None:
        """R^2 of `fit_svdd`, which may be negative with squared losses."""
    @property
    def squared_norm(self) -> float | None:
        """The squared norm of the centre of `fit_svdd`."""

# solver is 'smo' or 'adatron'; shrinking is of use to the first, eta to the second. max_iter counts
# pair steps or epochs of each machine, -1 for no limit; max_time is in seconds for the whole
# call. progress(machine, n_machines, iterations, gap, seconds) is called on this thread about ten
# times a second.

def fit_svc(
    samples: Samples,
    labels: NDArray[np.int64],
    cost: NDArray[np.float64],
    kernel: Kernel,
    *,
    squared: bool,
    intercept: str,
    multiclass: str,
    start: NDArray[np.float64] | None = None,
    solver: str,
    eta: float,
    tol: float,
    shrinking: bool,
    cache_bytes: int | None,
    max_iter: int,
    max_time: float | None,
    n_threads: int,
    progress: Callable[[int, int, int, float, float], None] | None = None,
) -> Fit:
    """Train on labels 0..k-1, where an error on row i costs cost[i].

    multiclass is 'ovo' (k(k-1)/2 machines) or, for k >= 3, 'ovr' (k machines). A cost may be
    infinite (a hard margin). intercept is 'free', 'none' or 'penalized'. With two classes, start
    may hold coefficients of the rows to begin with, within their bounds (positive for label 0).
    """

def fit_nu_svc(
    samples: Samples,
    labels: NDArray[np.int64],
    weight: NDArray[np.float64],
    kernel: Kernel,
    *,
    nu: float,
    multiclass: str,
    solver: str,
    eta: float,
    tol: float,
    shrinking: bool,
    cache_bytes: int | None,
    max_iter: int,
    max_time: float | None,
    n_threads: int,
    progress: Callable[[int, int, int, float, float], None] | None = None,
) -> Fit:
    """Train on labels 0..k-1, where nu bounds the weight of margin errors.

    multiclass is 'ovo' (k(k-1)/2 machines) or, for k >= 3, 'ovr' (k machines). Raise ValueError
    before the kernel is used if nu is infeasible for every machine.
    """

def fit_svr(
    samples: Samples,
    target: NDArray[np.float64],
    cost: NDArray[np.float64],
    kernel: Kernel,
    *,
    epsilon: float,
    squared: bool,
    intercept: str,
    solver: str,
    eta: float,
    tol: float,
    shrinking: bool,
    cache_bytes: int | None,
    max_iter: int,
    max_time: float | None,
    n_threads: int,
    progress: Callable[[int, int, int, float, float], None] | None = None,
) -> Fit:
    """Train a regression, where an error above epsilon on row i costs cost[i]."""

def fit_nu_svr(
    samples: Samples,
    target: NDArray[np.float64],
    cost: NDArray[np.float64],
    kernel: Kernel,
    *,
    nu: float,
    solver: str,
    eta: float,
    tol: float,
    shrinking: bool,
    cache_bytes: int | None,
    max_iter: int,
    max_time: float | None,
    n_threads: int,
    progress: Callable[[int, int, int, float, float], None] | None = None,
) -> Fit:
    """Train a regression that finds epsilon, where nu bounds the cost of errors."""

def fit_one_class(
    samples: Samples,
    weight: NDArray[np.float64],
    kernel: Kernel,
    *,
    nu: float,
    squared: bool,
    solver: str,
    eta: float,
    tol: float,
    shrinking: bool,
    cache_bytes: int | None,
    max_iter: int,
    max_time: float | None,
    n_threads: int,
    progress: Callable[[int, int, int, float, float], None] | None = None,
) -> Fit:
    """Separate the rows from the origin, where nu bounds the weight of outliers."""

def fit_svdd(
    samples: Samples,
    weight: NDArray[np.float64],
    kernel: Kernel,
    *,
    nu: float,
    squared: bool,
    solver: str,
    eta: float,
    tol: float,
    shrinking: bool,
    cache_bytes: int | None,
    max_iter: int,
    max_time: float | None,
    n_threads: int,
    progress: Callable[[int, int, int, float, float], None] | None = None,
) -> Fit:
    """Find the sphere around the rows; the intercept is minus the squared norm of its centre."""

@final
class Expansion:
    """Decision functions, in the layout of Fit: n_support of length 1 stands for a single one.

    support_vectors is None for kernels the core cannot evaluate (precomputed, callable). multiclass
    is 'ovo', 'ovr' or 'dag'; the layout of the last is that of the first.
    """

    def __new__(
        cls,
        kernel: Kernel,
        support_vectors: Samples | None,
        n_support: NDArray[np.int32],
        dual_coef: NDArray[np.float64],
        intercept: NDArray[np.float64],
        multiclass: str = "ovo",
    ) -> Expansion: ...
    def decision(self, samples: Samples, n_threads: int) -> NDArray[np.float64]:
        """Compute the values of all machines.

        The shape is (n, k(k-1)/2), for one-vs-rest (n, k), and (n, 1) for a single function.
        """
    def predict(self, samples: Samples, n_threads: int) -> NDArray[np.int64]:
        """Find the class of each row, as `winners` of `decision`, but sooner.

        For classifiers only.
        """
    def decision_from_kernel(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the decision values from those of the kernel, shape (n, n_SV)."""

def winners(decision: NDArray[np.float64], n_classes: int, multiclass: str) -> NDArray[np.int64]:
    """Find the class of each row from the values of all machines; ties go to the lowest class.

    'ovo': the class with most votes. 'ovr': the class of the largest value. 'dag': of the list of
    all classes the first and the last are compared, until one is left; the last is dropped if the
    value of the pair is above zero, else the first.
    """

def available_threads() -> int:
    """Count the threads to use: affinity, cgroup quota and RAYON_NUM_THREADS are respected."""
