"""Small models of every kind that files can hold, and the files of them in tests/fixtures/models.

Files of every format stay there and must load for ever. Written by ::

    python tests/python/saved_models.py

which leaves those that exist as they are.
"""

import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import mercer
from mercer import SVC, SVDD, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, kernels
from mercer.active import SelectiveSampler
from mercer.bayes import RVC, RVR, BayesPointClassifier
from mercer.cluster import KernelKMeans
from mercer.decomposition import KernelICA, KernelPCA
from mercer.discriminant_analysis import KernelFisherDiscriminant
from mercer.kernels import RBF, Linear, MercerMap, Polynomial, Spectrum
from mercer.neighbors import KernelNeighborsClassifier, KernelNeighborsRegressor
from mercer.svm import Perceptron

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "models"

rng = np.random.default_rng(18)
X = rng.normal(size=(30, 3)).round(3)
NUMBERS = np.sin(X[:, 0]).round(3)
CLASSES = np.clip(np.rint(X[:, 0] + X[:, 1]), -1, 1).astype(int) + 1
TEXTS = np.array(["blue", "green", "größe"])[CLASSES]
TWO = X[:, 0] > 0.0
ASKED = rng.normal(size=(7, 3)).round(3)
POSITIVE, POSITIVE_ASKED = np.abs(X), np.abs(ASKED)
SEQUENCES = ["abab", "bb", "aaa", "ab", "bbb"]

#: Kernels of the algebra, every one.
ALGEBRA = (
    (0.5 * RBF(gamma=0.3) + Linear()) * Polynomial(degree=2, gamma=0.2, coef0=1.0)
    + kernels.Laplacian(gamma=0.1)
    + kernels.Sigmoid(gamma=0.01, coef0=0.0).normalized() * kernels.ChiSquared(gamma=0.1)
    + kernels.Matern(nu=2.5) * kernels.Periodic(period=3.0)
    + kernels.HistogramIntersection()
    + kernels.InverseMultiquadric(c=2.0)
    + kernels.ANOVA(gamma=0.2, degree=2)
)


def _gram(A, B=X):
    return RBF(gamma=0.5)(A, B)


def _tree(labels):
    """Return a tree of labels: the first against the rest."""
    first, *rest = np.unique(labels).tolist()
    return [first, rest]


def machines():
    """Return machines that Rust can load, by name, with rows to ask them about."""
    single, sparse = X.astype(np.float32), sp.csr_array(X.round())
    return {
        "svc": (SVC(C=10.0).fit(X, TEXTS), ASKED),
        "svc_ovr": (SVC(multiclass="ovr").fit(X, CLASSES), ASKED),
        "svc_dag": (SVC(multiclass="dag", kernel="poly", coef0=1.0).fit(X, CLASSES), ASKED),
        "svc_joint": (SVC(multiclass="crammer_singer").fit(X, CLASSES), ASKED),
        "svc_tree": (SVC(multiclass=_tree(CLASSES)).fit(X, CLASSES), ASKED),
        "svc_two": (SVC(kernel="linear", class_weight={True: 2.0}).fit(X, TWO), ASKED),
        "svc_float": (SVC().fit(single, CLASSES.astype(float)), ASKED.astype(np.float32)),
        "svc_object": (SVC().fit(X, TEXTS.astype(object)), ASKED),
        "svc_sparse": (SVC(gamma=0.4).fit(sparse, CLASSES), sp.csr_array(ASKED.round())),
        "svc_algebra": (SVC(kernel=ALGEBRA).fit(POSITIVE, CLASSES), POSITIVE_ASKED),
        "svc_probability": (SVC(probability=True).fit(X, CLASSES), ASKED),
        "svc_adatron": (SVC(solver="adatron").fit(X, TWO), ASKED),
        "svc_precomputed": (SVC(kernel="precomputed").fit(_gram(X), CLASSES), _gram(ASKED)),
        "nu_svc": (NuSVC(nu=0.2).fit(X, CLASSES), ASKED),
        "svr": (SVR(epsilon=0.05).fit(X, NUMBERS), ASKED),
        "svr_columns": (SVR().fit(X, np.column_stack([NUMBERS, X[:, 1]])), ASKED),
        "nu_svr": (NuSVR(nu=0.3).fit(X, NUMBERS), ASKED),
        "one_class": (OneClassSVM(nu=0.2).fit(X), ASKED),
        "svdd": (SVDD(nu=0.2, kernel=RBF(gamma=0.4) + 0.1 * Linear()).fit(X), ASKED),
        "svdd_precomputed": (SVDD(kernel="precomputed").fit(_gram(X)), _gram(ASKED)),
        "linear_svc": (LinearSVC().fit(X, CLASSES), ASKED),
        "linear_svr": (LinearSVR().fit(X, NUMBERS), ASKED),
    }


def others():
    """Return models that only Python can load, by name, with rows to ask them about."""
    sampler = SelectiveSampler(SVC(C=3.0), validation=(ASKED, TWO[:7])).teach(X, TWO)
    sampler.query(ASKED, 2)
    prototypes = KernelNeighborsClassifier(3, prototypes=SVC()).fit(X, CLASSES)
    return {
        "svc_sequences": (SVC(kernel=Spectrum(length=2)).fit(SEQUENCES, [0, 1, 0, 1, 1]), ["abb"]),
        "kernel_pca": (KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(X), ASKED),
        "kernel_ica": (KernelICA(2).fit(X), ASKED),
        "fisher": (KernelFisherDiscriminant().fit(X, TEXTS), ASKED),
        "k_means": (KernelKMeans(2, random_state=0).fit(X), ASKED),
        "neighbors": (KernelNeighborsClassifier(3).fit(X, TEXTS), ASKED),
        "neighbors_prototypes": (prototypes, ASKED),
        "neighbors_regressor": (KernelNeighborsRegressor(3).fit(X, NUMBERS), ASKED),
        "perceptron": (Perceptron(kernel=RBF(gamma=5.0)).fit(X, TWO), ASKED),
        "rvc": (RVC().fit(X, CLASSES), ASKED),
        "rvr": (RVR().fit(X, NUMBERS), ASKED),
        "bayes_point": (BayesPointClassifier(random_state=0).fit(X, TWO), ASKED),
        "mercer_map": (MercerMap(RBF(), n_components=5).fit(X), ASKED),
        "sampler": (sampler, ASKED),
    }


def values(model, asked):
    """Return what a model says of rows, as numbers: the values of its machines if it has some."""
    if isinstance(model, SVC | NuSVC):
        return model._decide(asked, lambda values: values)
    for name in ("decision_function", "transform", "predict_proba", "predict"):
        if hasattr(model, name):
            said = np.asarray(getattr(model, name)(asked), dtype=np.float64)
            return said if said.ndim == 2 else said[:, np.newaxis]
    raise TypeError(f"{model!r} says nothing")


def _expected(model, asked):
    rows = asked.toarray() if sp.issparse(asked) else asked
    entry = {"X": np.asarray(rows).tolist(), "values": values(model, asked).tolist()}
    if hasattr(model, "classes_"):
        entry["labels"] = np.asarray(model.predict(asked)).tolist()
    return entry


def main():
    """Write the files that are missing."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / "expected.json"
    expected = json.loads(path.read_text()) if path.exists() else {}
    for name, (model, asked) in {**machines(), **others()}.items():
        if name not in expected:
            mercer.save(model, FOLDER / f"{name}.safetensors")
            expected[name] = _expected(model, asked)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(expected[name])}" for name in expected)
    path.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main()
