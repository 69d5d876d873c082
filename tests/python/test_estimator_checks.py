"""scikit-learn's own checks of an estimator, none of them expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC
from mercer.kernels import RBF, Linear


@parametrize_with_checks(
    [
        SVC(),
        SVC(kernel="linear", n_jobs=2),
        SVC(kernel="precomputed"),
        SVC(kernel=RBF(sigma=1.0) + 0.1 * Linear()),
    ]
)
def test_manners(estimator, check):
    check(estimator)


def test_the_parameters_are_those_of_scikit_learn():
    from sklearn.svm import SVC as Reference

    theirs, ours = Reference().get_params(), SVC().get_params()
    del theirs["probability"]
    theirs["cache_size"] = "auto"
    assert ours == {**theirs, "max_time": None, "n_jobs": None}


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_attributes_are_those_of_scikit_learn(kernel):
    from sklearn.svm import SVC as Reference

    X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [0, 1, 2]
    names = {
        name
        for name in dir(Reference(kernel=kernel).fit(X, y))
        if name.endswith("_") and not name.startswith("_") and name not in ("probA_", "probB_")
    }
    ours = SVC(kernel=kernel).fit(X, y)
    for name in names:
        theirs = getattr(Reference(kernel=kernel).fit(X, y), name)
        assert type(getattr(ours, name)) is type(theirs), name
        assert getattr(getattr(ours, name), "dtype", None) == getattr(theirs, "dtype", None), name
        assert _shape(getattr(ours, name)) == _shape(theirs), name
    assert "coef_" in names or not hasattr(ours, "coef_")


def _shape(value):
    return getattr(value, "shape", None)
