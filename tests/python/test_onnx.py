"""ONNX graphs against the machines they were made of, in onnxruntime."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from saved_models import ALGEBRA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVDD, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM, io, kernels
from mercer.kernels import RBF, Linear, Spectrum

needs = "needs the extra: pip install mercer[onnx] onnxruntime"
pytest.importorskip("onnx", reason=needs)
ort = pytest.importorskip("onnxruntime", reason=needs)

rng = np.random.default_rng(5)
X = rng.normal(size=(60, 4))
ASKED = rng.normal(size=(300, 4))
NUMBERS = np.sin(X[:, 0])
CLASSES = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.7, 0.0, 0.7])
TWO = X[:, 0] > 0.3 * X[:, 1]
KERNELS = {
    "linear": Linear(),
    "scaled": 0.3 * (0.7 * Linear()),
    "poly": kernels.Polynomial(degree=3, gamma=0.3, coef0=0.5),
    "rbf": RBF(gamma=0.4),
    "sigmoid": kernels.Sigmoid(gamma=0.05, coef0=0.1),
    "laplacian": kernels.Laplacian(gamma=0.3),
    "imq": kernels.InverseMultiquadric(c=2.0),
    "matern": kernels.Matern(nu=1.5, length_scale=2.0),
    "matern52": kernels.Matern(nu=2.5, length_scale=2.0),
    "periodic": kernels.Periodic(period=5.0, length_scale=2.0),
    "chi2": kernels.ChiSquared(gamma=0.2),
    "intersection": kernels.HistogramIntersection(),
    "anova": kernels.ANOVA(gamma=0.2, degree=3),
    "anova4": kernels.ANOVA(gamma=0.2, degree=5),
    "normalized": kernels.Polynomial(degree=2, gamma=0.3, coef0=0.5).normalized(),
    "algebra": ALGEBRA,
}
MACHINES = {
    "ovo": (SVC(C=3.0), CLASSES),
    "ovo values": (SVC(decision_function_shape="ovo"), CLASSES),
    "ovo ties": (SVC(break_ties=True), CLASSES),
    "ovr": (SVC(multiclass="ovr"), CLASSES),
    "dag": (SVC(multiclass="dag"), CLASSES),
    "dag values": (SVC(multiclass="dag", decision_function_shape="ovo"), CLASSES),
    "two": (SVC(), TWO),
    "text": (SVC(), np.array(["no", "yes"])[TWO.astype(int)]),
    "floats": (SVC(), CLASSES.astype(float)),
    "nu_svc": (NuSVC(nu=0.1), CLASSES),
    "nu_svc ovr": (NuSVC(nu=0.1, multiclass="ovr"), CLASSES),
    "svr": (SVR(epsilon=0.05), NUMBERS),
    "svr columns": (SVR(), np.column_stack([NUMBERS, X[:, 1]])),
    "nu_svr": (NuSVR(nu=0.4), NUMBERS),
    "one_class": (OneClassSVM(nu=0.2), None),
    "svdd": (SVDD(nu=0.2), None),
    "linear_svc": (LinearSVC(), CLASSES),
    "linear_svc two": (LinearSVC(), TWO),
    "linear_svr": (LinearSVR(), NUMBERS),
}


def _run(model, asked):
    """Return the outputs of a graph by name."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    given = {session.get_inputs()[0].name: asked}
    return dict(zip(names, session.run(None, given), strict=True))


def _check(model, asked, outputs):
    if "variable" in outputs:
        expected = model.predict(asked)
        np.testing.assert_allclose(outputs["variable"], expected, rtol=1e-9, atol=1e-9)
        return
    np.testing.assert_array_equal(outputs["label"], model.predict(asked))
    expected = model.decision_function(asked)
    np.testing.assert_allclose(outputs["decision_function"], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_machine_and_strategy(machine):
    estimator, y = MACHINES[machine]
    model = estimator.fit(X, y)
    _check(model, ASKED, _run(io.to_onnx(model), ASKED))


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel(kernel):
    rows, asked = np.abs(X), np.abs(ASKED)
    rows[0], asked[0] = 0.0, 0.0
    for estimator in (SVC(kernel=KERNELS[kernel]), SVDD(kernel=KERNELS[kernel], nu=0.3)):
        model = estimator.fit(rows, CLASSES)
        _check(model, asked, _run(io.to_onnx(model), asked))


@pytest.mark.parametrize("estimator", [SVC(), OneClassSVM(), SVDD(), SVR()])
def test_precomputed_kernels(estimator):
    model = estimator.set_params(kernel="precomputed").fit(RBF(gamma=0.4)(X), NUMBERS > 0.0)
    asked = RBF(gamma=0.4)(ASKED, X)
    _check(model, asked, _run(io.to_onnx(model), asked))


def test_many_classes_far_away_in_single_precision_and_sparse():
    y = np.arange(60) % 12
    for multiclass in ("ovo", "dag"):
        model = SVC(multiclass=multiclass, C=100.0).fit(X + 1000.0, y)
        _check(model, ASKED + 1000.0, _run(io.to_onnx(model), ASKED + 1000.0))
    model = SVC().fit(X.astype(np.float32), CLASSES)
    asked = ASKED.astype(np.float32)
    _check(model, asked, _run(io.to_onnx(model), asked.astype(np.float64)))
    model = SVC(gamma=0.3).fit(sp.csr_array(X.round()), CLASSES)
    _check(model, ASKED.round(), _run(io.to_onnx(model), ASKED.round()))


@pytest.mark.parametrize("name", ["ovo", "dag", "two", "text", "svr", "one_class", "linear_svc"])
def test_pipelines(name):
    skl2onnx = pytest.importorskip("skl2onnx", reason=needs)
    from skl2onnx.common.data_types import DoubleTensorType

    import mercer.io.onnx  # noqa: F401, which makes the machines known

    estimator, y = MACHINES[name]
    model = make_pipeline(StandardScaler(), estimator).fit(X, y)
    graph = skl2onnx.to_onnx(model, initial_types=[("X", DoubleTensorType([None, 4]))])
    outputs = _run(graph, ASKED)
    label = next(iter(outputs.values()))
    if name == "svr":
        np.testing.assert_allclose(label[:, 0], model.predict(ASKED), rtol=1e-9, atol=1e-9)
        return
    np.testing.assert_array_equal(np.ravel(label), model.predict(ASKED))
    values = list(outputs.values())[1]
    expected = model.decision_function(ASKED)
    np.testing.assert_allclose(values.reshape(expected.shape), expected, rtol=1e-9, atol=1e-9)


def test_what_has_no_graph():
    with pytest.raises(ValueError, match="kernel must be one of rows of numbers"):
        io.to_onnx(SVC(kernel=lambda A, B: A @ B.T).fit(X, CLASSES))
    with pytest.raises(ValueError, match="kernel must be one of rows of numbers"):
        io.to_onnx(SVC(kernel=Spectrum(length=1)).fit(["a", "b"], [0, 1]))
    with pytest.raises(TypeError, match="model must be one of SVC"):
        io.to_onnx(StandardScaler().fit(X))
    matrix = kernels.Linear()(X)
    with pytest.raises(ValueError, match="constant diagonal"):
        io.to_onnx(SVDD(kernel="precomputed").fit(matrix))


def test_import_takes_onnx_only_when_it_is_needed():
    code = "import sys, mercer; mercer.io; print('onnx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
