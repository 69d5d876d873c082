"""Real data: true gaps, scikit-learn's objective or better, scikit-learn's labels."""

import numpy as np
import pytest
from oracle import kernel_matrix, machines, scale_gamma
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as Reference

from mercer import SVC

SMALL = ["sonar", "ionosphere", "heart_scale", "glass", "promotergene"]
KERNELS = ["linear", "poly", "rbf", "sigmoid"]


@pytest.fixture(scope="module")
def small(shared_data):
    def load(name):
        X, y = shared_data(name)
        spread = X.std(axis=0) > 0.0
        return StandardScaler().fit_transform(X[:, spread].astype(np.float64)), y

    return load


@pytest.mark.parametrize("tol", [1e-3, 1e-5])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", SMALL)
def test_gaps_are_true(small, name, kernel, tol):
    X, y = small(name)
    K = kernel_matrix(kernel, X, X, gamma=scale_gamma(X))
    for C in (0.1, 10.0, 1000.0):
        model = SVC(kernel=kernel, C=C, tol=tol).fit(X, y)
        for machine in machines(model, y):
            assert machine.gap(K, C) <= 1.1 * tol
            assert abs(machine.beta.sum()) <= 1e-9 * np.abs(machine.beta).sum()


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("kernel", ["poly", "rbf"])
@pytest.mark.parametrize("name", SMALL)
def test_objective_is_as_good(small, name, kernel, C):
    X, y = small(name)
    K = kernel_matrix(kernel, X, X, gamma=scale_gamma(X))
    ours = machines(SVC(kernel=kernel, C=C, tol=1e-5).fit(X, y), y)
    theirs = machines(Reference(kernel=kernel, C=C, tol=1e-7).fit(X, y), y)
    for mine, other in zip(ours, theirs, strict=True):
        best = other.objective(K)
        assert mine.objective(K) <= best + 1e-6 * abs(best)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("name", ["pima", "vehicle"])
def test_raw_and_scaled_features(shared_data, name, scaled):
    X, y = shared_data(name)
    X = StandardScaler().fit_transform(X) if scaled else X.astype(np.float64)
    K = kernel_matrix("rbf", X, X, gamma=scale_gamma(X))
    for C in (1.0, 1e4):
        for machine in machines(SVC(C=C).fit(X, y), y):
            assert machine.gap(K, C) <= 1.1e-3


@pytest.mark.parametrize(("dtype", "n_rows"), [(np.float32, 3000), (np.float64, None)])
@pytest.mark.parametrize("name", ["usps", "letter", "satellite", "pendigits"])
def test_same_labels_as_scikit_learn(shared_data, name, dtype, n_rows):
    data = shared_data(name)
    if len(data) == 4:
        X, y, Z, _ = data
    else:
        X, Z, y, _ = train_test_split(*data, random_state=0, train_size=0.7)
    X, y = X[:n_rows], y[:n_rows]
    scaler = StandardScaler().fit(X)
    X, Z = (scaler.transform(rows).astype(dtype) for rows in (X, Z))
    ours = SVC(C=10.0).fit(X, y).predict(Z)
    theirs = Reference(C=10.0).fit(X, y).predict(Z)
    assert (ours == theirs).mean() >= 0.999


@pytest.mark.parametrize("name", ["a9a", "ijcnn1"])
def test_large_sparse_sets(shared_data, name):
    X, y, Z, _ = shared_data(name)
    X, y, Z = X[:4000], y[:4000], Z[:4000]
    sparse = SVC(C=10.0, gamma=0.05, tol=1e-5).fit(X, y)
    dense = SVC(C=10.0, gamma=0.05, tol=1e-5).fit(X.toarray(), y)
    K = kernel_matrix("rbf", X, X, gamma=0.05)
    for model in (sparse, dense):
        (machine,) = machines(model, y)
        assert machine.gap(K, 10.0) <= 1.1e-5
    np.testing.assert_allclose(
        sparse.decision_function(Z), dense.decision_function(Z.toarray()), atol=1e-3
    )
    theirs = Reference(C=10.0, gamma=0.05, tol=1e-5).fit(X.toarray(), y)
    assert (sparse.predict(Z) == theirs.predict(Z.toarray())).mean() >= 0.999


def test_texts_with_a_kernel_of_their_own(shared_data):
    # The words two articles share: rows are texts, and no feature vector is ever made.
    texts, y = shared_data("kernlab_reuters_text")
    words = {text: frozenset(text.lower().split()) for text in texts}

    def kernel(A, B):
        return [
            [len(words[a] & words[b]) / np.sqrt(len(words[a]) * len(words[b])) for b in B]
            for a in A
        ]

    model = SVC(kernel=kernel, C=10.0, tol=1e-6).fit(list(texts), y)
    K = np.array(kernel(texts, texts))
    (machine,) = machines(model, y)
    assert machine.gap(K, 10.0) <= 1.1e-6
    np.testing.assert_array_equal(model.predict(list(texts)), y)
