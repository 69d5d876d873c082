"""LIBSVM's text models, both ways, against LIBSVM itself."""

import ctypes
from ctypes import c_double

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import mercer
from mercer import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import RBF, Laplacian

svm = pytest.importorskip("libsvm.svm", reason="needs the oracle: pip install libsvm-official")
svmutil = pytest.importorskip(
    "libsvm.svmutil", reason="needs the oracle: pip install libsvm-official"
)

rng = np.random.default_rng(3)
X = rng.normal(size=(60, 4)).round(2)
ASKED = rng.normal(size=(200, 4)).round(2)
NUMBERS = np.sin(X[:, 0])
#: In an order of appearance that is not theirs.
CLASSES = np.array([7, -2, 4, 0])[np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.7, 0.0, 0.7])]
TWO = np.where(X[:, 0] > 0.2 * X[:, 1], -3, 5)
KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 2, "gamma": 0.3, "coef0": 0.5},
    "rbf": {"kernel": "rbf", "gamma": 0.4},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.02, "coef0": 0.1},
    "precomputed": {"kernel": "precomputed"},
}
OPTIONS = {"linear": "-t 0", "poly": "-t 1 -d 2 -g 0.3 -r 0.5", "rbf": "-t 2 -g 0.4"}
OPTIONS |= {"sigmoid": "-t 3 -g 0.02 -r 0.1", "precomputed": "-t 4"}
MACHINES = {
    "c_svc": (SVC(C=3.0), CLASSES),
    "c_svc two": (SVC(), TWO),
    "nu_svc": (NuSVC(nu=0.1), CLASSES),
    "one_class": (OneClassSVM(nu=0.2), None),
    "epsilon_svr": (SVR(epsilon=0.05), NUMBERS),
    "nu_svr": (NuSVR(nu=0.4), NUMBERS),
}
TYPES = {"c_svc": 0, "nu_svc": 1, "one_class": 2, "epsilon_svr": 3, "nu_svr": 4}


def _gram(A):
    return RBF(gamma=0.4)(A, X)


def _nodes(A, kernel):
    """Return rows as LIBSVM takes them: those of a precomputed kernel begin with a number."""
    if kernel == "precomputed":
        rows = [{0: 0.0, **dict(enumerate(row, 1))} for row in _gram(A).tolist()]
    else:
        rows = A.tolist()
    return [svm.gen_svm_nodearray(row, isKernel=kernel == "precomputed")[0] for row in rows]


def _predicted(model, A, kernel, probability=False):
    """Return LIBSVM's labels, and its values or probabilities.

    Its own function for that reserves too little memory for a NuSVC.
    """
    classes = model.get_nr_class()
    classifies = model.get_svm_type() in (TYPES["c_svc"], TYPES["nu_svc"])
    count = classes * (classes - 1) // 2 if classifies else 1
    count = classes if probability else count
    ask = svm.libsvm.svm_predict_probability if probability else svm.libsvm.svm_predict_values
    labels, values = [], []
    for nodes in _nodes(A, kernel):
        buffer = (c_double * count)()
        labels.append(ask(model, nodes, buffer))
        values.append(list(buffer))
    return np.array(labels), np.array(values)


def _values(model, A):
    """Return the values of our machines with the signs of LIBSVM."""
    if not isinstance(model, SVC | NuSVC):
        said = model.decision_function(A) if isinstance(model, OneClassSVM) else model.predict(A)
        return said[:, np.newaxis]
    values = model._decide(A, lambda values: values)
    return -values if len(model.classes_) == 2 else values


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_libsvm_reads_what_we_write(machine, kernel, tmp_path):
    estimator, y = MACHINES[machine]
    rows, asked = (_gram(X), _gram(ASKED)) if kernel == "precomputed" else (X, ASKED)
    model = clone(estimator)
    model.set_params(**KERNELS[kernel]).fit(rows, y)
    path = str(tmp_path / "model.txt")
    mercer.io.to_libsvm(model, path)
    labels, values = _predicted(svmutil.svm_load_model(path), ASKED, kernel)
    np.testing.assert_allclose(values, _values(model, asked), rtol=1e-8, atol=1e-8)
    if machine in ("epsilon_svr", "nu_svr"):
        np.testing.assert_allclose(labels, model.predict(asked), rtol=1e-8, atol=1e-8)
    else:
        np.testing.assert_array_equal(labels, model.predict(asked))
    # And back: all that the file says is in the model, so that it is written again.
    same = mercer.io.from_libsvm(path, n_features=rows.shape[1])
    np.testing.assert_allclose(_values(same, asked), _values(model, asked), 1e-12, 1e-12)
    np.testing.assert_array_equal(same.dual_coef_, model.dual_coef_)
    again = tmp_path / "again.txt"
    mercer.io.to_libsvm(same, again)
    assert again.read_text() == (tmp_path / "model.txt").read_text()


def _tied(model, A):
    """Tell in which rows several classes have the most votes."""
    if not isinstance(model, SVC | NuSVC) or len(model.classes_) == 2:
        return np.zeros(len(A), dtype=bool)
    votes = np.sort(np.rint(model.decision_function(A)), axis=1)
    return votes[:, -1] == votes[:, -2]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_we_read_what_libsvm_writes(machine, kernel, tmp_path):
    estimator, y = MACHINES[machine]
    options = f"-s {TYPES[machine.split()[0]]} {OPTIONS[kernel]} -q"
    options += f" -c 2 -n {getattr(estimator, 'nu', 0.2)} -p 0.05"
    y = np.ones(len(X)) if y is None else y
    rows = X.tolist()
    if kernel == "precomputed":
        gram = enumerate(_gram(X).tolist(), 1)
        rows = [{0: number, **dict(enumerate(row, 1))} for number, row in gram]
    theirs = svmutil.svm_train(y.tolist(), rows, options)
    path = str(tmp_path / "model.txt")
    svmutil.svm_save_model(path, theirs)
    # What they write of support vectors is rounded: what they say is said of what they read again.
    labels, values = _predicted(svmutil.svm_load_model(path), ASKED, kernel)
    precomputed = kernel == "precomputed"
    model = mercer.io.from_libsvm(path, n_features=len(X) if precomputed else 4)
    assert type(model) is type(estimator)
    asked = _gram(ASKED) if precomputed else ASKED
    if machine in ("epsilon_svr", "nu_svr"):
        np.testing.assert_allclose(model.predict(asked), labels, rtol=1e-8, atol=1e-8)
    else:
        # Where votes are equal, theirs is the class that came first in training, ours the lowest.
        clear = ~_tied(model, asked)
        assert clear.mean() > 0.9
        np.testing.assert_array_equal(model.predict(asked)[clear], labels[clear])
    # Their classes are in the order in which they came, ours sorted.
    found = np.sort(np.abs(_values(model, asked)), axis=1)
    np.testing.assert_allclose(found, np.sort(np.abs(values), axis=1), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("y", [TWO, CLASSES], ids=["two", "many"])
def test_probabilities(y, tmp_path):
    model = SVC(probability=True, C=2.0).fit(X, y)
    path = str(tmp_path / "model.txt")
    mercer.io.to_libsvm(model, path)
    _, theirs = _predicted(svmutil.svm_load_model(path), ASKED, "rbf", True)
    ours = model.predict_proba(ASKED)
    # Ours are moved where they would contradict the class that is predicted.
    agree = model.classes_[theirs.argmax(axis=1)] == model.predict(ASKED)
    assert agree.mean() > 0.8
    np.testing.assert_allclose(ours[agree], theirs[agree], atol=2e-7)
    same = mercer.io.from_libsvm(path, n_features=4)
    np.testing.assert_allclose(same.predict_proba(ASKED), ours, atol=1e-12)
    # Coupling depends a little on the order of the classes, which is that of training.
    order = np.argsort(y, kind="stable")
    ctypes.CDLL(None).srand(1)  # its folds are those of C's random numbers
    theirs_alone = svmutil.svm_train(y[order].tolist(), X[order].tolist(), "-b 1 -q")
    svmutil.svm_save_model(path, theirs_alone)
    labels, p = _predicted(svmutil.svm_load_model(path), ASKED, "rbf", True)
    model = mercer.io.from_libsvm(path, n_features=4)
    agree = model.predict(ASKED) == labels
    assert agree.mean() > 0.8
    np.testing.assert_allclose(model.predict_proba(ASKED)[agree], p[agree], atol=2e-7)


def test_sparse_machines(tmp_path):
    rows = sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))
    model = SVC(gamma=0.3).fit(rows, CLASSES)
    mercer.io.to_libsvm(model, tmp_path / "model")
    same = mercer.io.from_libsvm(tmp_path / "model", n_features=4, sparse=True)
    np.testing.assert_allclose(same.decision_function(rows), model.decision_function(rows), 1e-12)
    mercer.save(same, tmp_path / "file")
    loaded = mercer.load(tmp_path / "file")
    np.testing.assert_array_equal(loaded.decision_function(rows), same.decision_function(rows))


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (SVC().fit(X, CLASSES.astype(str)), ValueError, "labels but whole numbers"),
        (SVC().fit(X, CLASSES * 2**33), ValueError, "32 bits"),
        (SVC(multiclass="ovr").fit(X, CLASSES), ValueError, "multiclass must be 'ovo'"),
        (SVC(kernel=Laplacian(gamma=1.0)).fit(X, CLASSES), ValueError, "which LIBSVM knows"),
        (SVR().fit(X, X[:, :2]), ValueError, "one output"),
        (SVDD().fit(X), TypeError, "got SVDD"),
    ],
)
def test_what_libsvm_does_not_know(model, error, message, tmp_path):
    with pytest.raises(error, match=message):
        mercer.io.to_libsvm(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.25
label 1 -1
nr_sv 1 1
SV
1 1:0.5 2:1
-1 2:-1
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("c_svc", "d_svc", "svm_type must be one of"),
        ("rbf", "laplacian", "kernel_type must be"),
        ("gamma 0.5", "gamma nan", "gamma must be 1 finite"),
        ("gamma 0.5", "gamma -1", "gamma"),
        ("gamma 0.5\n", "", "gamma"),
        ("gamma 0.5", "secret 1", "line 3"),
        ("total_sv 2", "total_sv 3", "there are 2"),
        ("total_sv 2", "total_sv many", "many"),
        ("nr_class 2", "nr_class 900000000", "nr_class"),
        ("rho 0.25", "rho 0.25 1", "rho must be 1"),
        ("label 1 -1", "label 1 1", "label must be different"),
        ("nr_sv 1 1", "nr_sv 1 2", "nr_sv must add up"),
        ("nr_sv 1 1", "nr_sv 3 -1", "nr_sv must be"),
        ("1 1:0.5 2:1", "1 0:0.5 2:1", "numbered from 1"),
        ("1 1:0.5 2:1", "1 1:inf 2:1", "finite"),
        ("1 1:0.5 2:1", "1 1:0.5 99999999999:1", "numbered"),
        ("1 1:0.5 2:1", "1 1:0.5:2", "unpack"),
        ("1 1:0.5 2:1", "x 1:0.5", "x"),
        ("SV\n", "", "line 9"),
        (GOOD, "", "no support vectors"),
    ],
)
def test_damaged_files(old, new, message, tmp_path):
    path = tmp_path / "model"
    path.write_text(GOOD)
    np.testing.assert_array_equal(mercer.io.from_libsvm(path).classes_, [-1, 1])
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ValueError, match=f"is no model of LIBSVM: .*{message}"):
        mercer.io.from_libsvm(path)
