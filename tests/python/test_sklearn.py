"""Mercer in the place of sklearn.svm: scikit-learn's own tests, and how names are replaced."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sklearn
import sklearn.svm
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer

HERE = Path(__file__).parent
ORIGINAL = sklearn.svm.SVC

#: The version that sklearn-allowlist.txt is written for: others have other tests.
LISTED = (1, 9)


@pytest.fixture(autouse=True)
def unpatched():
    yield
    mercer.unpatch_sklearn()


def test_the_tests_of_scikit_learn_pass(tmp_path):
    modules = ["sklearn.svm.tests.test_svm", "sklearn.svm.tests.test_sparse"]
    options = ["-p", "sklearn_tests", "-p", "no:cacheprovider", "-q", "--tb=short", "-W", "ignore"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--pyargs", *modules],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    assert passed > 200
    if tuple(map(int, sklearn.__version__.split(".")[:2])) == LISTED:
        assert "no such test" not in done.stdout


def test_names_are_replaced_and_put_back(capsys):
    mercer.patch_sklearn()
    assert capsys.readouterr().err.startswith("Mercer replaces SVC, SVR, LinearSVC")
    mercer.patch_sklearn(verbose=False)
    assert capsys.readouterr().err == ""
    from sklearn.svm import SVC, LinearSVR, OneClassSVM

    assert (SVC, LinearSVR, OneClassSVM) == (mercer.SVC, mercer.LinearSVR, mercer.OneClassSVM)
    mercer.unpatch_sklearn("SVC")
    assert sklearn.svm.SVC is ORIGINAL
    assert sklearn.svm.SVR is mercer.SVR
    mercer.unpatch_sklearn()
    assert sklearn.svm.SVR is not mercer.SVR


def test_some_names_are_replaced():
    mercer.patch_sklearn(["SVR", "NuSVR"], verbose=False)
    assert sklearn.svm.SVC is ORIGINAL
    assert sklearn.svm.NuSVR is mercer.NuSVR
    with pytest.raises(
        ValueError, match=r"^name must be None or some of SVC.*got 'LinearSvc'\. Did"
    ):
        mercer.patch_sklearn("LinearSvc")
    with pytest.raises(ValueError, match=r"got 'SVDD'"):
        mercer.unpatch_sklearn(["SVR", "SVDD"])


@pytest.mark.parametrize("name", sorted(set(sklearn.svm.__all__) & set(mercer.svm.__all__)))
def test_the_parameters_of_scikit_learns_machines_are_ours(name):
    X, y = load_iris(return_X_y=True)
    theirs = getattr(sklearn.svm, name)()
    ours = getattr(mercer, name)(**theirs.get_params())
    assert set(theirs.get_params()) <= set(clone(ours).get_params())
    assert ours.fit(X, y).n_features_in_ == 4
    kind = type(theirs)
    methods = {one for one in dir(kind) if one[0] != "_" and callable(getattr(kind, one))}
    assert {"fit", "predict", "get_params"} <= methods <= set(dir(type(ours)))


@pytest.mark.parametrize("machine", [mercer.SVC(), mercer.LinearSVC()])
def test_weights_are_routed_through_pipelines(machine):
    X, y = load_iris(return_X_y=True)
    weight = np.linspace(0.0, 2.0, len(y))
    alone = clone(machine).fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=True):
        machine = clone(machine).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, machine).fit(X, y, sample_weight=weight)
        values = routed[-1].decision_function(X)
    np.testing.assert_array_equal(values, alone.decision_function(X))
