"""What users are told of misspelt names, missing arguments and labels that are none."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import SVC, SVR, LinearSVC, LinearSVR, NuSVC, OneClassSVM, _estimator
from mercer.active import SelectiveSampler
from mercer.cluster import KernelKMeans
from mercer.decomposition import KernelPCA
from mercer.discriminant_analysis import KernelFisherDiscriminant
from mercer.kernels import RBF

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]])
Y = np.array([0, 1, 0, 1])


@pytest.mark.parametrize(
    ("kernel", "meant"),
    [
        ("gaussian", "'rbf'"),
        ("rbfdot", "'rbf'"),
        ("RBF", "'rbf'"),
        ("radial", "'rbf'"),
        ("polynomial", "'poly'"),
        ("polydot", "'poly'"),
        ("vanilladot", "'linear'"),
        ("liner", "'linear'"),
        ("tanh", "'sigmoid'"),
        ("laplacedot", "'laplacian'"),
        ("precomputd", "'precomputed'"),
        ("anovadot", r"mercer\.kernels\.ANOVA\(\)"),
    ],
)
def test_misspelt_kernels(kernel, meant):
    for machine in (SVC(kernel=kernel), KernelPCA(kernel=kernel)):
        with pytest.raises(ValueError, match=rf"got '{kernel}'\. Did you mean {meant}\?$"):
            machine.fit(X, Y)


def test_kernels_that_are_like_nothing():
    with pytest.raises(ValueError, match=r"or a callable, got 'quantum'$"):
        SVC(kernel="quantum").fit(X, Y)


@pytest.mark.parametrize(
    ("make", "meant"),
    [
        (lambda: SVC(gama=1.0), r"SVC\(\) .*'gama'\. Did you mean 'gamma'\?"),
        (lambda: SVC(cost=1.0), r"SVC\(\) .*'cost'\. Did you mean 'C'\?"),
        (lambda: SVR(c=1.0), r"SVR\(\) .*'c'\. Did you mean 'C'\?"),
        (lambda: OneClassSVM(Nu=0.1), r"OneClassSVM\(\) .*'Nu'\. Did you mean 'nu'\?"),
        (lambda: LinearSVC(class_weights=None), r"Did you mean 'class_weight'\?"),
        (lambda: KernelPCA(n_component=2), r"Did you mean 'n_components'\?"),
        (lambda: KernelKMeans(n_cluster=2), r"Did you mean 'n_clusters'\?"),
        (lambda: SelectiveSampler(SVC(), sto="band"), r"Did you mean 'stop'\?"),
        (lambda: SVC(quantum=1), r"SVC\(\) got an unexpected keyword argument 'quantum'"),
    ],
)
def test_misspelt_parameters(make, meant):
    with pytest.raises(TypeError, match=f"{meant}$"):
        make()


def test_misspelt_parameters_to_set():
    match = r"^Invalid parameter 'gama' for estimator SVC\(\)\. .*Did you mean 'gamma'\?$"
    with pytest.raises(ValueError, match=match):
        SVC().set_params(gama=1.0)
    with pytest.raises(ValueError, match=match):
        make_pipeline(StandardScaler(), SVC()).set_params(svc__gama=1.0)
    with pytest.raises(ValueError, match=match):
        GridSearchCV(SVC(), {"gama": [1.0]}, cv=2, error_score="raise").fit(X, Y)
    with pytest.raises(ValueError, match=r"Did you mean 'sigma'\?$"):
        SVC(kernel=RBF()).set_params(kernel__sigm=1.0)


def test_misspelt_options():
    with pytest.raises(ValueError, match=r"got 'hing'\. Did you mean 'hinge'\?$"):
        SVC(loss="hing").fit(X, Y)
    with pytest.raises(ValueError, match=r"got 'scaled'\. Did you mean 'scale'\?$"):
        SVC(gamma="scaled").fit(X, Y)


def test_other_errors_of_constructors_are_left_alone():
    with pytest.raises(TypeError, match="positional argument"):
        SVC(1.0)

    class Anything(SVC):
        def __init__(self, **options):
            super().__init__(**options)

    with pytest.raises(TypeError, match=r"^Anything\(\) .*'gama'\. Did you mean 'gamma'\?$"):
        Anything(gama=1.0)


@pytest.mark.parametrize(
    "machine", [SVC, NuSVC, SVR, LinearSVC, LinearSVR, KernelFisherDiscriminant]
)
def test_a_missing_y_is_told_of_the_method_that_was_called(machine):
    match = rf"^{machine.__name__}\.fit\(\) missing 1 required positional argument: 'y'$"
    with pytest.raises(TypeError, match=match):
        machine().fit(X)
    fit = inspect.signature(machine.fit)
    assert list(fit.parameters)[:3] == ["self", "X", "y"]
    assert "Train" in inspect.getdoc(machine.fit) or machine is KernelFisherDiscriminant


def test_subclasses_of_users_have_their_own_name():
    class Mine(SVC):
        pass

    with pytest.raises(TypeError, match=r"Mine\.fit\(\) missing"):
        Mine().fit(X)
    assert Mine().fit(X, Y).predict(X).shape == (4,)


@pytest.mark.parametrize("machine", [SVC, LinearSVC, KernelFisherDiscriminant])
@pytest.mark.parametrize("wrap", [lambda y: np.array(y, dtype=object), pd.Series])
def test_labels_of_several_types_get_a_sentence(machine, wrap):
    with pytest.raises(ValueError, match="y has labels of several types, int and str, which"):
        machine().fit(X, wrap([0, "a", 0, "a"]))


def test_one_label_says_why_nu_is_infeasible():
    with pytest.raises(ValueError, match="same class, so the specified nu is infeasible"):
        NuSVC().fit(X, Y, sample_weight=[1.0, 0.0, 1.0, 0.0])


def test_html_links_to_the_documentation(monkeypatch):
    _estimator._documentation.cache_clear()
    monkeypatch.setattr(_estimator, "metadata", lambda name: _Metadata([]))
    assert SVC()._get_doc_link() == ""
    assert "href" not in SVC()._repr_html_inner()
    _estimator._documentation.cache_clear()
    urls = ["Source, https://example.org/code", "Documentation, https://example.org/docs/"]
    monkeypatch.setattr(_estimator, "metadata", lambda name: _Metadata(urls))
    link = "https://example.org/docs/mercer.svm.SVC.html"
    assert SVC()._get_doc_link() == link
    assert f'href="{link}"' in SVC()._repr_html_inner()
    _estimator._documentation.cache_clear()


class _Metadata:
    def __init__(self, urls):
        self.urls = urls

    def get_all(self, name):
        return self.urls if name == "Project-URL" else None


def test_every_estimator_has_the_same_base():
    modules = [mercer.svm, mercer.bayes, mercer.cluster, mercer.decomposition, mercer.neighbors]
    modules += [mercer.discriminant_analysis, mercer.active, mercer.preprocessing]
    for module in modules:
        for name in module.__all__:
            kind = getattr(module, name)
            if hasattr(kind, "get_params"):
                assert issubclass(kind, _estimator.Estimator)
