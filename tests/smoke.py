"""An installed wheel, tried alone: python tests/smoke.py. Needs nothing but what it depends on."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import sklearn
from sklearn.datasets import load_digits
from sklearn.svm import SVC as PeerSVC

import mercer
from mercer import SVC, SVR, OneClassSVM
from mercer.model_selection import GridSearchCV


def main() -> None:
    """Fit, search, predict and call the command."""
    X, y = load_digits(return_X_y=True)
    model = SVC(C=10, tol=1e-4).fit(X[:1000], y[:1000])
    peer = PeerSVC(C=10, tol=1e-4).fit(X[:1000], y[:1000])
    assert model.report_.status == "converged"
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-2)
    search = GridSearchCV(SVC(), {"C": [1, 10], "gamma": [1e-3, 1e-4]}, cv=3).fit(X[:300], y[:300])
    assert search.best_score_ > 0.9
    assert SVR().fit(X[:200], y[:200]).predict(X[:1]).shape == (1,)
    assert set(OneClassSVM(nu=0.1).fit_predict(X[:200])) == {-1, 1}
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows"
        rows.write_text("1 1:1 2:0.5\n-1 1:-1\n1 1:0.8\n-1 1:-0.7 2:0.1\n")
        command = [sys.executable, "-m", "mercer.cli", "info", str(rows)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.startswith("rows: 4\n"), said
    versions = f"numpy {np.__version__}, scikit-learn {sklearn.__version__}"
    print(f"mercer {mercer.__version__} works: Python {sys.version.split()[0]}, {versions}")


if __name__ == "__main__":
    main()
