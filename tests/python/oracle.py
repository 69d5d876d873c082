"""Plain float64 numpy: kernels, and the optimality conditions of a fitted classifier.

In signed coefficients the machine of classes i and j, positive for i, solves

    minimise  1/2 beta' K beta - y' beta   subject to  0 <= y beta <= cost,  sum of beta = 0,

and with the gradient g = K beta - y the gap is max(-g over those that may grow) - min(-g over those
that may shrink), at most 0 at the optimum.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


def kernel_matrix(name, A, B, gamma=1.0, coef0=0.0, degree=3):
    """All values of a kernel of scikit-learn's names, the slow and exact way."""
    A, B = (X.toarray() if sp.issparse(X) else np.asarray(X) for X in (A, B))
    A, B = A.astype(np.float64), B.astype(np.float64)
    if name == "linear":
        return A @ B.T
    if name == "poly":
        return (gamma * (A @ B.T) + coef0) ** degree
    if name == "sigmoid":
        return np.tanh(gamma * (A @ B.T) + coef0)
    values = np.empty((len(A), len(B)))
    for row, a in zip(values, A, strict=True):
        difference = a - B
        if name == "laplacian":
            row[:] = np.exp(-gamma * np.abs(difference).sum(axis=1))
        elif name == "rbf":
            row[:] = np.exp(-gamma * np.square(difference).sum(axis=1))
        else:
            assert name == "imq"
            row[:] = 1.0 / np.sqrt(np.square(difference).sum(axis=1) + 1.0)
    return values


def scale_gamma(X):
    """What gamma='scale' stands for."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    return 1.0 / (X.shape[1] * X.var())


@dataclass
class Machine:
    """The solution of one binary problem: rows of the training set, signs and coefficients."""

    rows: np.ndarray
    y: np.ndarray
    beta: np.ndarray
    bias: float

    def gradient(self, K):
        return K[np.ix_(self.rows, self.rows)] @ self.beta - self.y

    def objective(self, K):
        return 0.5 * (self.gradient(K) - self.y) @ self.beta

    def gap(self, K, cost):
        """The violation of the optimality conditions; `cost` is a number or one for each row."""
        cost = np.broadcast_to(cost, len(K))[self.rows]
        lower, upper = np.where(self.y > 0, 0.0, -cost), np.where(self.y > 0, cost, 0.0)
        assert (lower <= self.beta).all()
        assert (self.beta <= upper).all()
        descent = -self.gradient(K)
        return descent[self.beta < upper].max(initial=-np.inf) - descent[self.beta > lower].min(
            initial=np.inf
        )


def machines(model, y):
    """The machines of a fitted classifier, its own or scikit-learn's, in their usual order."""
    y = np.asarray(y)
    dual_coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    sign = -1.0 if len(model.classes_) == 2 else 1.0
    ends = np.cumsum(model.n_support_)
    starts = ends - model.n_support_
    found = []
    for i, first in enumerate(model.classes_):
        for j, second in list(enumerate(model.classes_))[i + 1 :]:
            full = np.zeros(len(y))
            mine, others = slice(starts[i], ends[i]), slice(starts[j], ends[j])
            full[model.support_[mine]] = sign * dual_coef[j - 1, mine]
            full[model.support_[others]] = sign * dual_coef[i, others]
            rows = np.flatnonzero((y == first) | (y == second))
            signs = np.where(y[rows] == first, 1.0, -1.0)
            bias = sign * model.intercept_[len(found)]
            found.append(Machine(rows, signs, full[rows], float(bias)))
    return found
