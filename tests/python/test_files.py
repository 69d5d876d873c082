"""Model files: what is saved comes back, in Rust too, for ever; the rest is refused clearly."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import saved_models
import scipy.sparse as sp
from saved_models import ASKED, CLASSES, FOLDER, TWO, X
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import SVC, SVR, LinearSVC
from mercer.cluster import KernelKMeans
from mercer.kernels import RBF
from mercer.kernels._kernel import Kernel
from mercer.model_selection import GridSearchCV

ROOT = Path(__file__).resolve().parents[2]
MODELS = {**saved_models.machines(), **saved_models.others()}
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
#: Made anew when a model is loaded.
CACHES = ("_fit_form", "_fit_names")


def _same(a, b):
    """Tell whether two values are alike to the last bit, whatever they are made of."""
    if sp.issparse(a):
        parts = ("data", "indices", "indptr")
        return type(a) is type(b) and all(_same(getattr(a, p), getattr(b, p)) for p in parts)
    if isinstance(a, np.ndarray):
        alike = isinstance(b, np.ndarray) and (a.dtype, a.shape) == (b.dtype, b.shape)
        return alike and (a.tolist() == b.tolist() or a.tobytes() == b.tobytes())
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if hasattr(a, "get_params") and not isinstance(a, Kernel):
        return type(a) is type(b) and _same(_state(a), _state(b))
    return type(a) is type(b) and (a == b or repr(a) == repr(b))


def _state(model):
    return {name: value for name, value in vars(model).items() if name not in CACHES}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_as_it_was(name, tmp_path):
    model, asked = MODELS[name]
    path = tmp_path / "model.safetensors"
    mercer.save(model, path)
    loaded = mercer.load(str(path))
    assert _state(model).keys() == _state(loaded).keys()
    for attribute, value in _state(model).items():
        assert _same(value, getattr(loaded, attribute)), attribute
    values = saved_models.values(loaded, asked)
    np.testing.assert_array_equal(values, saved_models.values(model, asked))
    if hasattr(model, "classes_"):
        np.testing.assert_array_equal(loaded.predict(asked), model.predict(asked))
    first = path.read_bytes()
    mercer.save(loaded, path)
    assert path.read_bytes() == first
    assert os.listdir(tmp_path) == [path.name]


def test_probabilities_come_back(tmp_path):
    model, asked = MODELS["svc_probability"]
    mercer.save(model, tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(asked), model.predict_proba(asked))


@pytest.mark.parametrize("name", EXPECTED)
def test_files_of_every_version_load(name):
    entry = EXPECTED[name]
    model = mercer.load(FOLDER / f"{name}.safetensors")
    asked = entry["X"] if name == "svc_sequences" else np.array(entry["X"])
    asked = sp.csr_array(asked) if name == "svc_sparse" else asked
    # They were written on another machine, maybe with other instructions.
    np.testing.assert_allclose(saved_models.values(model, asked), entry["values"], 1e-12, 1e-12)
    if "labels" in entry:
        assert model.predict(asked).tolist() == entry["labels"]


def test_every_estimator_has_a_file():
    saved = {type(model).__name__ for model, _ in MODELS.values()}
    from mercer import active, bayes, cluster, decomposition, discriminant_analysis, neighbors, svm

    modules = (active, bayes, cluster, decomposition, discriminant_analysis, neighbors, svm)
    assert saved == {name for module in modules for name in module.__all__} | {"MercerMap"}
    assert set(EXPECTED) >= set(MODELS)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 70000]),
        np.array([3, 7], dtype=np.int8),
        np.array([3, 2**40], dtype=np.uint64),
        np.array([1.0, 2.0], dtype=np.float32),
        np.array([False, True]),
        np.array(["", "ß" * 40]),
        np.array(["a", "b"], dtype=object),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_of_any_kind(labels, tmp_path):
    y = labels[TWO.astype(int)]
    model = SVC().fit(X, y)
    mercer.save(model, tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    assert loaded.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_names_of_features_come_back(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "größe"])
    model = LinearSVC().fit(frame, CLASSES)
    mercer.save(model, tmp_path / "model")
    loaded = mercer.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert loaded.feature_names_in_.tolist() == ["a", "b", "größe"]


def test_parameters_of_any_kind(tmp_path):
    weights = {False: 1, True: np.float32(0.5)}
    model = SVC(C=np.inf, cache_size=np.float64(20), class_weight=weights, kernel=RBF(sigma=2.0))
    model.fit(X, TWO)
    mercer.save(model, tmp_path / "model")
    assert mercer.load(tmp_path / "model").get_params() == model.get_params()
    init = KernelKMeans(2, init=np.array([0, 5])).fit(X)
    mercer.save(init, tmp_path / "model")
    assert mercer.load(tmp_path / "model").init.tolist() == [0, 5]


# What is refused


def _kernel(A, B):
    return A @ B.T


class _Mine(SVC):
    pass


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (SVC(), ValueError, "must be fitted"),
        (SVC(kernel=_kernel).fit(X, CLASSES), TypeError, "kernel cannot be saved: files hold no"),
        (SVC(random_state=np.random.RandomState(0)).fit(X, TWO), TypeError, "random_state cannot"),
        (_Mine().fit(X, TWO), TypeError, "_Mine: a subclass"),
        (GridSearchCV(SVC(), {"C": [1.0]}, cv=2).fit(X, TWO), TypeError, "its best_estimator_"),
        (make_pipeline(StandardScaler(), SVC()).fit(X, TWO), TypeError, "save its last step"),
        (StandardScaler().fit(X), TypeError, "must be an estimator of Mercer, got StandardScaler"),
        (SVC().fit(X, TWO).set_params(C=-1.0), ValueError, "C must be a positive number"),
        ("model", TypeError, "got str"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else None,
)
def test_what_cannot_be_saved(model, error, message, tmp_path):
    with pytest.raises(error, match=message):
        mercer.save(model, tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path):
    path = tmp_path / "model"
    mercer.save(SVC().fit(X, TWO), path)
    before = path.read_bytes()
    model = SVC().fit(X, CLASSES)
    model.dual_coef_ = np.full_like(model.dual_coef_, np.nan)
    with pytest.raises(ValueError, match="dual_coef_ must be finite"):
        mercer.save(model, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]
    with pytest.raises(OSError, match=r"(?i)is a directory|exists|denied"):
        mercer.save(SVR().fit(X, X[:, 0]), tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        mercer.save(SVR().fit(X, X[:, 0]), tmp_path / "nowhere" / "model")
    assert os.listdir(tmp_path) == ["model"]


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "model"
    with pytest.raises(FileNotFoundError, match="model"):
        mercer.load(path)
    with pytest.raises(OSError, match="directory"):
        mercer.load(tmp_path)
    for data in (b"", b"nonsense", b"\x00" * 100, b"\xff" * 100):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="no model file"):
            mercer.load(path)
    header = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    with pytest.raises(ValueError, match="not one of a Mercer model"):
        mercer.load(path)


def test_a_later_format_is_refused_with_advice(tmp_path):
    data = (FOLDER / "svr.safetensors").read_bytes()
    old = b'\\"format_version\\":1'
    assert data.count(old) == 1
    (tmp_path / "model").write_bytes(data.replace(old, b'\\"format_version\\":2'))
    with pytest.raises(ValueError, match=r"format version 2, .* install Mercer .* or later"):
        mercer.load(tmp_path / "model")


# Rust


def _serve(*arguments, rows):
    """Run the example that serves models from Rust."""
    binary = ROOT / "target" / "debug" / "examples" / "serve"
    if not binary.exists():
        pytest.skip("the example is not built: cargo build --features persist --example serve")
    text = "".join(",".join(map(str, row)) + "\n" for row in rows)
    done = subprocess.run(
        [binary, *map(str, arguments)], input=text, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", ["svc", "svc_ovr", "svc_dag", "svc_two", "svc_algebra", "nu_svc"])
def test_rust_serves_what_python_trained_bit_by_bit(name, tmp_path):
    model, asked = MODELS[name]
    mercer.save(model, tmp_path / "model")
    lines = _serve("predict", tmp_path / "model", rows=asked.tolist())
    values = [[float(word) for word in line.split(",")[:-1]] for line in lines]
    np.testing.assert_array_equal(values, model._decide(asked, lambda values: values))
    labels = [line.rsplit(",", 1)[1] for line in lines]
    expected = model.predict(asked).tolist()
    assert labels == [label if isinstance(label, str) else json.dumps(label) for label in expected]


def test_python_loads_what_rust_trained_bit_by_bit(tmp_path):
    names = np.array(["a", "b", "c"])[CLASSES]
    rows = [[*row, name] for row, name in zip(X.tolist(), names, strict=True)]
    _serve("train", tmp_path / "model", rows=rows)
    model = mercer.load(tmp_path / "model")
    lines = _serve("predict", tmp_path / "model", rows=ASKED.tolist())
    values = [[float(word) for word in line.split(",")[:-1]] for line in lines]
    np.testing.assert_array_equal(values, model._decide(ASKED, lambda values: values))
    same = SVC(kernel=RBF(gamma=0.5), C=10.0).fit(X, names)
    np.testing.assert_allclose(model.dual_coef_, same.dual_coef_, atol=1e-9)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.report_.status == "converged"


# skops


@pytest.mark.parametrize("name", MODELS)
def test_skops_needs_no_trust_but_that_of_the_list(name):
    skops = pytest.importorskip("skops.io", reason="needs the package: pip install skops")
    model, asked = MODELS[name]
    data = skops.dumps(model)
    trusted = [*mercer.io.trusted_types(), "scipy.sparse._csr.csr_matrix"]
    assert set(skops.get_untrusted_types(data=data)) <= set(trusted)
    loaded = skops.loads(data, trusted=trusted)
    values = saved_models.values(loaded, asked)
    np.testing.assert_array_equal(values, saved_models.values(model, asked))
