"""Every machine in every variant, and what lets a test treat them all alike."""

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor

from mercer import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM

ESTIMATORS = [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD]

SQUARED_TUBE = "squared_epsilon_insensitive"

VARIANTS = {
    "SVC": SVC(),
    "SVC no intercept": SVC(fit_intercept=False),
    "SVC penalized": SVC(fit_intercept="penalized"),
    "SVC squared": SVC(loss="squared_hinge"),
    "SVC squared no intercept": SVC(loss="squared_hinge", fit_intercept=False),
    "SVC squared penalized": SVC(loss="squared_hinge", fit_intercept="penalized"),
    "SVC hard": SVC(C=np.inf),
    "SVC hard no intercept": SVC(C=np.inf, fit_intercept=False),
    "SVC hard penalized": SVC(C=np.inf, fit_intercept="penalized"),
    "SVC one-vs-rest": SVC(multiclass="ovr"),
    "NuSVC": NuSVC(nu=0.2),
    "NuSVC one-vs-rest": NuSVC(nu=0.2, multiclass="ovr"),
    "SVR": SVR(),
    "SVR no intercept": SVR(fit_intercept=False),
    "SVR penalized": SVR(fit_intercept="penalized"),
    "SVR squared": SVR(loss=SQUARED_TUBE),
    "SVR squared no intercept": SVR(loss=SQUARED_TUBE, fit_intercept=False),
    "SVR squared penalized": SVR(loss=SQUARED_TUBE, fit_intercept="penalized"),
    "NuSVR": NuSVR(),
    "OneClassSVM": OneClassSVM(nu=0.2),
    "OneClassSVM squared": OneClassSVM(nu=0.2, loss="squared_hinge"),
    "SVDD": SVDD(nu=0.2),
    "SVDD squared": SVDD(nu=0.2, loss="squared_hinge"),
}


def machine(name, **parameters):
    """A variant, not yet trained, with some parameters changed."""
    return clone(VARIANTS[name]).set_params(**parameters)


def target(model, labels, numbers):
    """What the machine learns: labels, numbers, or nothing at all."""
    if is_classifier(model):
        return labels
    return numbers if is_regressor(model) else None


def values(model, X):
    """What the machine says of the rows, as numbers."""
    return model.predict(X) if is_regressor(model) else model.decision_function(X)


def assert_same_values(first, second, X, Z=None, atol=1e-6):
    """Check that two models agree to `atol`, relative to the largest value where that is above 1.

    `Z` are the rows as the second knows them, if not the same.
    """
    expected = values(second, X if Z is None else Z)
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(values(first, X), expected, rtol=0.0, atol=atol * scale)
