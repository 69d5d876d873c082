"""Where float64 is too coarse for `tol`: a status of its own, and a warning that says so."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import SVR


def test_float64_too_coarse_is_said():
    random = np.random.default_rng(0)
    X = random.normal(size=(8, 2)).astype(np.float32)
    model = SVR(kernel="linear", C=1e11, epsilon=0.0)
    with pytest.warns(ConvergenceWarning, match=r"float64 is too coarse. The gap is at most"):
        model.fit(X, random.normal(size=8))
    assert model.report_.status == "precision"
    assert model.report_.gap > model.tol
    assert model.fit_status_ == 1
    assert np.isfinite(model.predict(X)).all()
