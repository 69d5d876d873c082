"""One semantics: small data sets with the numbers that Rust and Python both give.

Those of Rust are checked by tests/semantics.rs.
"""

import re
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import SVC, SVDD, NuSVC, OneClassSVM

FIXTURE = Path(__file__).parents[1] / "fixtures" / "semantics.txt"

#: How closely numbers agree.
CLOSE = {"rtol": 1e-8, "atol": 1e-8}


class Case:
    """What is known of a case."""

    def __init__(self):
        self.words = {}

    def __contains__(self, key):
        return key in self.words

    def word(self, key, default=None):
        return self.words[key][0] if key in self else default

    def numbers(self, key):
        return np.array([float(word) for word in self.words[key]])

    def number(self, key, default=None):
        return float(self.word(key, default))

    def counts(self, key):
        return self.numbers(key).astype(int)

    def flags(self, key):
        return self.numbers(key) == 1.0

    def rows(self, key):
        dtype = np.float32 if self.word("precision") == "single" else np.float64
        return self.numbers(key).reshape(-1, int(self.number("columns"))).astype(dtype)

    def table(self, key, shape):
        return self.numbers(key).reshape(shape)

    def fit(self, estimator, *target):
        estimator.set_params(kernel=self.word("kernel"), tol=self.number("tol", 1e-10))
        estimator.set_params(max_iter=int(self.number("max_iter", -1)))
        with warnings.catch_warnings():
            if "max_iter" in self:
                warnings.simplefilter("ignore", ConvergenceWarning)
            return estimator.fit(self.rows("x"), *target)


def _read():
    cases = defaultdict(Case)
    for line in FIXTURE.read_text().splitlines():
        if line and not line.startswith("#"):
            name, key, *values = line.split(" ")
            assert key not in cases[name], line
            cases[name].words[key] = values
    return cases


CASES = _read()


def _cases(*machines):
    chosen = [name for name, case in CASES.items() if case.word("machine") in machines]
    assert chosen
    return pytest.mark.parametrize("case", [CASES[name] for name in chosen], ids=chosen)


@_cases("svc", "nu_svc")
def test_classifiers(case):
    if case.word("machine") == "svc":
        model = SVC(C=case.number("C"))
    else:
        model = NuSVC(nu=case.number("nu"))
    model.set_params(multiclass=case.word("multiclass", "ovo"), decision_function_shape="ovo")
    labels = case.counts("labels")
    model = case.fit(model, labels)
    new = case.rows("new")
    decision = model.decision_function(new)
    np.testing.assert_allclose(decision, case.table("decision", decision.shape), **CLOSE)
    np.testing.assert_allclose(model.intercept_, case.numbers("intercept"), **CLOSE)
    np.testing.assert_array_equal(model.predict(new), case.counts("classes"))
    rejected = model.reject(new, case.number("threshold"))
    np.testing.assert_array_equal(rejected, case.flags("rejected"))
    if "dual_coef" in case:
        expected = case.table("dual_coef", model.dual_coef_.shape)
        np.testing.assert_allclose(model.dual_coef_, expected, **CLOSE)
    if "by_machine" in case:
        expected = case.table("by_machine", (len(model.intercept_), -1))
        np.testing.assert_allclose(model.coef_, expected @ model.support_vectors_, **CLOSE)
    if "confidences" in case:
        model.set_params(decision_function_shape="ovr")
        expected = case.table("confidences", (len(new), len(model.classes_)))
        np.testing.assert_allclose(model.decision_function(new), expected, **CLOSE)
    if "shares" in case:
        np.testing.assert_allclose(model.nu_, case.numbers("shares"), **CLOSE)


@_cases("one_class", "svdd")
def test_detectors(case):
    make = OneClassSVM if case.word("machine") == "one_class" else SVDD
    model = case.fit(make(nu=case.number("nu")))
    new = case.rows("new")
    if case.word("diagonal") == "none":
        with pytest.raises(ValueError, match="not constant"):
            model.score_samples(new)
        return
    scores = model.score_samples(new)
    if "diagonal" in case:
        # 2 sum_i beta_i k(x_i, z) - |a|^2 - k(z, z), of which the last is not in the rows.
        values = 2.0 * new[:, model.support_] @ model.dual_coef_[0] + model.intercept_
        np.testing.assert_allclose(values - scores, case.number("diagonal"), rtol=0.0, atol=1e-12)
        return
    np.testing.assert_allclose(model.dual_coef_, [case.numbers("dual_coef")], **CLOSE)
    np.testing.assert_allclose(model.offset_, case.numbers("offset"), **CLOSE)
    np.testing.assert_allclose(scores, case.numbers("scores"), **CLOSE)
    np.testing.assert_array_equal(model.decision_function(new), scores - model.offset_)
    np.testing.assert_array_equal(model.predict(new) == 1, case.flags("inside"))


@_cases("nu")
def test_feasible_nu(case):
    labels = case.counts("labels")
    X = np.arange(len(labels), dtype=np.float64)[:, np.newaxis]
    weight = case.numbers("weights") if "weights" in case else None
    class_weight = None
    if "class_weight" in case:
        class_weight = dict(enumerate(case.numbers("class_weight")))
    model = NuSVC(nu=case.number("nu"), multiclass=case.word("multiclass"))
    model.set_params(class_weight=class_weight)
    if "allowed" in case:
        message = re.escape(f"nu must be at most {case.word('allowed')} ")
        with pytest.raises(ValueError, match=f"^{message}"):
            model.fit(X, labels, sample_weight=weight)
        return
    model.fit(X, labels, sample_weight=weight)
    np.testing.assert_allclose(model.nu_, case.numbers("shares"), **CLOSE)
