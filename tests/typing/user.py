"""A user's script, as type checkers see it: everything here is right.

Run by mypy --strict and pyright, never by Python: see `make test`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mercer
from mercer import SVC, SVR, LinearSVC, NuSVC, OneClassSVM
from mercer.datasets import load_ionosphere, load_sonar, make_checkerboard
from mercer.decomposition import KernelPCA
from mercer.kernels import RBF, Linear, Polynomial
from mercer.model_selection import GridSearchCV
from mercer.plots import convergence, decision_boundary, regression_tube

X, y = load_sonar(return_X_y=True)
rows: NDArray[np.float64] = X
labels: NDArray[np.int64] = y
names = load_ionosphere().feature_names
board, fields = make_checkerboard(100, random_state=0)

model = SVC(C=10.0, kernel="rbf", gamma="scale", loss="squared_hinge", multiclass="ovr").fit(X, y)
classes: NDArray[Any] = model.predict(X)
values: NDArray[np.float64] = model.decision_function(X)
support: NDArray[np.int32] = model.support_
vectors: NDArray[np.float64] = model.support_vectors_
coefficients: NDArray[np.float64] = model.dual_coef_
size: int = model.n_features_in_
status: str = model.report_.status
gap: float = model.report_.gap
first: float = model.report_[0].objective
rejected: NDArray[np.bool_] = model.reject(X, threshold=0.5)

weights: NDArray[np.float64] = SVC(kernel="linear").fit(X, y).coef_
norms: NDArray[np.float64] = np.linalg.norm(weights, axis=1)
columns: int = LinearSVC().fit(X, y).coef_.shape[1]
kernel = RBF(sigma=1.5) + 0.1 * Linear() * Polynomial(degree=2)
matrix: NDArray[np.float64] = kernel(X, X[:10])
combined: SVC = SVC(kernel=kernel.normalized()).set_params(C=2.0)


def own(A: NDArray[np.float64], B: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of a kernel of one's own."""
    return A @ B.T


SVC(kernel=own).fit(X, y)
SVR(kernel="precomputed", epsilon=0.2).fit(X @ X.T, y, sample_weight=np.ones(len(y)))
numbers: NDArray[np.float64] = SVR(loss="pinball", quantile=0.9).fit(X, y).predict(X)
probabilities: NDArray[np.float64] = NuSVC(nu=0.1, probability=True).fit(X, y).predict_proba(X)
inside: NDArray[np.intp] = OneClassSVM(nu=0.1).fit(X).predict(X)
components: NDArray[np.float64] = KernelPCA(n_components=2, kernel="rbf").fit(X).transform(X)
SVC(class_weight={0: 2.0, 1: 1.0}).fit([[0.0], [1.0]], ["no", "yes"])
search = GridSearchCV(SVC(), {"C": [1.0, 10.0]}, cv=3).fit(X, y)
decision_boundary(SVC().fit(board, fields), board, fields)
regression_tube(SVR().fit(board, fields), board, fields)
convergence(model).set_title("the gap")
mercer.patch_sklearn(["SVC", "SVR"], verbose=False)
