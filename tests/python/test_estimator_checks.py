"""scikit-learn's own checks of an estimator, none of them expected to fail."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.utils.estimator_checks import parametrize_with_checks
from variants import SQUARED_TUBE

from mercer import SVC, SVDD, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from mercer.bayes import RVC, RVR, BayesPointClassifier
from mercer.cluster import KernelKMeans
from mercer.decomposition import KernelICA, KernelPCA
from mercer.discriminant_analysis import KernelFisherDiscriminant
from mercer.kernel_approximation import Nystroem, RandomFeatures
from mercer.kernels import RBF, Linear, MercerMap
from mercer.neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor
from mercer.preprocessing import VirtualExamples
from mercer.svm import Perceptron

BESIDE_SCIKIT_LEARN = [SVC, NuSVC, SVR, NuSVR, OneClassSVM]


#: Perceptrons do not end where classes overlap, which is told by a warning, here an error.
WITHOUT_END = "it does not end on rows that cannot be separated"
#: All machines count what they did together, under the first of them.
TOGETHER = "the machines of all classes have one count of iterations"
#: The weights of these are right to tol, as they are of the others only by chance.
TO_TOLERANCE = "a row twice and a weight of two agree to tol, not to 1e-7"
WEIGHTS = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    TO_TOLERANCE,
)
SPARSE = (
    "check_estimator_sparse_tag",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
)
ENDLESS = dict.fromkeys((*SPARSE, "check_fit_check_is_fitted", "check_n_features_in"), WITHOUT_END)
MORE_ENDLESS = dict.fromkeys(
    (
        "check_positive_only_tag_during_fit",
        "check_sample_weights_list",
        "check_supervised_y_2d",
        "check_non_transformer_estimators_n_iter",
        "check_fit_idempotent",
    ),
    WITHOUT_END,
)


def cannot_pass(estimator):
    """Return the checks that an estimator cannot pass, with the reasons."""
    if isinstance(estimator, Perceptron):
        return ENDLESS | (WEIGHTS if estimator.rule == "perceptron" else MORE_ENDLESS)
    if getattr(estimator, "multiclass", "") in ("weston_watkins", "crammer_singer"):
        return WEIGHTS | {"check_non_transformer_estimators_n_iter": TOGETHER}
    return WEIGHTS if getattr(estimator, "solver", "") == "npa" else {}


@parametrize_with_checks(
    [
        SVC(),
        SVC(kernel="linear", n_jobs=2),
        SVC(kernel="precomputed"),
        SVC(kernel=RBF(sigma=1.0) + 0.1 * Linear()),
        SVC(loss="squared_hinge"),
        SVC(fit_intercept=False),
        SVC(fit_intercept="penalized"),
        SVC(loss="squared_hinge", fit_intercept="penalized"),
        SVC(multiclass="ovr"),
        SVC(multiclass="dag"),
        SVC(multiclass="weston_watkins"),
        SVC(multiclass="crammer_singer", fit_intercept="penalized"),
        SVC(solver="npa", loss="squared_hinge"),
        Perceptron(kernel="rbf", fit_intercept="penalized"),
        Perceptron(rule="perceptron", kernel="rbf", gamma=5.0, fit_intercept="penalized"),
        SVC(solver="adatron"),
        SVC(solver="adatron", fit_intercept="penalized", eta=1.2),
        NuSVC(),
        NuSVC(nu=0.3),
        NuSVC(nu=0.3, kernel="linear", class_weight="balanced"),
        NuSVC(nu=0.3, kernel="precomputed"),
        NuSVC(multiclass="ovr", nu=0.2),
        NuSVC(multiclass="dag"),
        SVR(),
        SVR(kernel="linear"),
        SVR(kernel="precomputed"),
        SVR(loss=SQUARED_TUBE),
        SVR(fit_intercept=False),
        SVR(fit_intercept="penalized"),
        SVR(solver="adatron"),
        NuSVR(),
        NuSVR(kernel="linear"),
        OneClassSVM(),
        OneClassSVM(kernel=RBF(gamma=0.1) + 0.1 * Linear()),
        OneClassSVM(loss="squared_hinge", nu=0.1),
        OneClassSVM(solver="adatron"),
        MercerMap(),
        MercerMap(kernel="precomputed"),
        RVC(),
        RVR(),
        RVR(kernel="precomputed"),
        BayesPointClassifier(random_state=0),
        LinearSVC(),
        LinearSVC(loss="hinge"),
        LinearSVR(),
        LinearSVR(loss=SQUARED_TUBE, intercept_scaling=2.0),
        SVDD(),
        SVDD(solver="adatron"),
        SVDD(kernel="linear"),
        SVDD(loss="squared_hinge", nu=0.1),
        KernelPCA(),
        KernelPCA(n_components=2, kernel="rbf", gamma="scale", eigen_solver="arpack"),
        KernelFisherDiscriminant(),
        KernelFisherDiscriminant(reg=0.1),
        KernelFisherDiscriminant(n_landmarks=20),
        KernelNeighborsClassifier(2),
        KernelNeighborsClassifier(2, kernel="precomputed"),
        KernelNeighborsRegressor(2, weights="distance"),
        KernelICA(1, n_basis=5),
        Nystroem(n_components=10),
        RandomFeatures(n_components=10),
        KernelKMeans(n_clusters=2, n_init=50, random_state=0),
        VirtualExamples(),
    ],
    expected_failed_checks=cannot_pass,
)
def test_manners(estimator, check):
    check(estimator)


SOLVER = {"solver": "smo", "eta": 1.0}
OURS = {
    SVC: {
        "loss": "hinge",
        "fit_intercept": True,
        "multiclass": "ovo",
        "order": "alternating",
        "mu": None,
        "stop": "gap",
        **SOLVER,
    },
    NuSVC: {"multiclass": "ovo"},
    SVR: {
        "loss": "epsilon_insensitive",
        "fit_intercept": True,
        "delta": 1.0,
        "quantile": 0.5,
        **SOLVER,
    },
    NuSVR: {},
    OneClassSVM: {"loss": "hinge", **SOLVER},
}


@pytest.mark.parametrize("estimator", BESIDE_SCIKIT_LEARN)
def test_the_parameters_are_those_of_scikit_learn(estimator):
    theirs = getattr(svm, estimator.__name__)().get_params()
    if "probability" in theirs:  # 'deprecated' from scikit-learn 1.8 on
        theirs["probability"] = False
    theirs["cache_size"] = "auto"
    everywhere = {"max_time": None, "n_jobs": None, "warm_start": False, "callback": None}
    expected = {**theirs, **OURS[estimator], **everywhere}
    assert estimator().get_params() == expected


def test_the_sphere_has_the_parameters_of_the_hyperplane():
    assert SVDD().get_params() == OneClassSVM().get_params()


def _public(model):
    return {
        name
        for name in dir(model)
        if name.endswith("_") and not name.startswith("_") and name not in ("probA_", "probB_")
    }


def _kind(value):
    return type(value), getattr(value, "dtype", None), getattr(value, "shape", None)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("estimator", BESIDE_SCIKIT_LEARN)
def test_the_attributes_are_those_of_scikit_learn(estimator, kernel, container):
    X = container([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [0.1, 0.9], [0.9, 0.1], [2.1, 2.1]])
    y = [0, 1, 2, 0, 1, 2]
    options = {"kernel": kernel, "tol": 1e-8}
    theirs = getattr(svm, estimator.__name__)(**options).fit(X, y)
    ours = estimator(**options).fit(X, y)
    names = _public(theirs)
    assert ("coef_" in names) == hasattr(ours, "coef_") == (kernel == "linear")
    for name in names:
        assert _kind(getattr(ours, name)) == _kind(getattr(theirs, name)), name
    # Ours in addition.
    found = {
        SVC: {"margin_"},
        NuSVC: {"margin_", "nu_"},
        NuSVR: {"epsilon_"},
        OneClassSVM: {"margin_"},
    }.get(estimator, set())
    assert _public(ours) - names == {"report_", *found}


@pytest.mark.parametrize("estimator", [SVR, NuSVR, OneClassSVM, SVDD])
def test_predictions_have_the_types_of_scikit_learn(estimator):
    X = np.random.default_rng(0).normal(size=(30, 2))
    reference = svm.OneClassSVM if estimator is SVDD else getattr(svm, estimator.__name__)
    ours, theirs = estimator().fit(X, X[:, 0]), reference().fit(X, X[:, 0])
    for method in ("predict", "decision_function", "score_samples"):
        assert hasattr(ours, method) == hasattr(theirs, method)
        if hasattr(ours, method):
            assert _kind(getattr(ours, method)(X)) == _kind(getattr(theirs, method)(X))


def test_attributes_of_the_sphere():
    X = np.random.default_rng(0).normal(size=(30, 2))
    sphere, plane = SVDD(kernel="linear").fit(X), OneClassSVM(kernel="linear").fit(X + 3.0)
    assert _public(sphere) - _public(plane) == {"radius_"}
    assert type(sphere.radius_) is float
    for name in _public(plane) - {"dual_coef_", "margin_", "support_", "support_vectors_"}:
        assert _kind(getattr(sphere, name)) == _kind(getattr(plane, name)), name
