"""A user's mistakes, each of which mypy and pyright must find.

A comment that tells them to ignore an error is an error itself where there is none to ignore.
"""

from mercer import SVC, SVDD, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM, patch_sklearn
from mercer.datasets import load_sonar
from mercer.kernels import RBF, Linear

X, y = load_sonar(return_X_y=True)

# Options that do not exist.
SVC(loss="hing")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
SVR(loss="hinge")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
LinearSVC(loss="squared")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
OneClassSVM(loss="huber")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
SVC(kernel="gaussian")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
SVC(gamma="wide")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
SVC(multiclass="ovrest")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
SVC(solver="sgd")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
SVC(decision_function_shape="dag")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
SVC(fit_intercept="penalised")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
SVC(class_weight="equal")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
SVC(cache_size="all")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

# A class of kernels where an object is wanted.
SVC(kernel=RBF)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
NuSVC(kernel=Linear)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

# Parameters that do not exist, of other machines, or of the wrong type.
SVC(gama=1.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
SVC(10.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
NuSVR(epsilon=0.1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
SVDD(C=1.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
SVC(C="10")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
RBF(gama=1.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
RBF(sigma="1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

# Methods and attributes.
SVC().fit(X)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
name: str = SVC().fit(X, y).n_features_in_  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
SVC(kernel="linear").fit(X, y).coef_.shap  # type: ignore[union-attr]  # pyright: ignore[reportAttributeAccessIssue]
SVC().fit(X, y).dual_coef_.value  # type: ignore[union-attr]  # pyright: ignore[reportAttributeAccessIssue]
SVC().fit(X, y).report_.gaps  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
data = load_sonar(return_X_y=True).data  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
patch_sklearn(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
