"""Comparing the results of two searches."""

import numpy as np

#: A tolerance at which two solutions are one.
TIGHT = {"tol": 1e-5}


def assert_same_results(found, expected):
    """Compare all that does not depend on the clock."""
    assert found.best_params_ == expected.best_params_
    assert found.best_index_ == expected.best_index_
    assert sorted(found.cv_results_) == sorted(expected.cv_results_)
    for name, values in expected.cv_results_.items():
        if name.endswith("_time"):
            continue
        if "score" in name and not name.startswith("rank"):
            # Two solutions to within tol have scores that differ by as much; means differ less.
            atol = 1e-6 if name.startswith("mean_test") else TIGHT["tol"]
            np.testing.assert_allclose(found.cv_results_[name], values, atol=atol, rtol=0)
        elif not name.startswith("rank"):
            assert list(found.cv_results_[name]) == list(values)
