"""The gallery: every example has what its page promises, and the fastest ones run."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from mercer import SVC
from mercer.kernels import RBF

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(path for path in EXAMPLES.glob("*.py") if not path.stem.startswith("_"))
LARGEST = 210_000  # bytes of a picture, of at least 1400 pixels across


def run(name, tmp_path):
    """Run an example and return its lines; warnings are errors, as in the tests."""
    picture = tmp_path / f"{name}.png"
    command = [sys.executable, "-W", "error", EXAMPLES / f"{name}.py", picture]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == [picture.name]
    return done.stdout.splitlines()


def test_examples_are_found():
    assert {"checkerboard", "reject"} <= {path.stem for path in SCRIPTS}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_imports_and_says_what_it_is(script, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    spec = importlib.util.spec_from_file_location(f"example_{script.stem}", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert callable(module.main)
    text = " ".join(ast.get_docstring(ast.parse(script.read_text())).split())
    assert f"python examples/{script.stem}.py [{script.stem}.png]" in text


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_picture_is_there_and_on_the_page(script):
    page = (EXAMPLES / "README.md").read_text()
    assert f"]({script.name})" in page
    assert f"]({script.stem}.png)" in page
    picture = script.with_suffix(".png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < LARGEST
    assert int.from_bytes(picture[16:20], "big") >= 1400  # pixels across


def test_page_shows_nothing_else():
    page = (EXAMPLES / "README.md").read_text()
    shown = re.findall(r"\]\((\w+)\.png\)", page)
    assert sorted(shown) == [path.stem for path in SCRIPTS]


def test_nu_bounds_both_shares(tmp_path):
    rows = [line.split() for line in run("nu", tmp_path) if re.match(r"0\.\d", line)]
    assert len(rows) == 9
    for nu, errors, support, outside, tube_support, *_ in (map(float, row) for row in rows):
        assert errors <= nu <= support
        assert outside <= nu <= tube_support


@pytest.fixture(scope="module")
def parity(tmp_path_factory):
    return run("spirals_parity", tmp_path_factory.mktemp("parity"))


def test_margins_of_parity_are_the_theoretical_ones(parity):
    rows = [line.split() for line in parity if "-parity" in line]
    assert len(rows) == 4
    for _, _, error, size, support, margin, theory in rows:
        assert error == "0.0%"
        assert support == size
        assert float(margin) == pytest.approx(float(theory), abs=2e-6)


def test_parity_is_solved_in_one_epoch(parity):
    rows = [line.split() for line in parity if line.startswith("n = ")]
    assert [int(row[2]) for row in rows] == [3, 4, 5, 6]
    for _, _, _, published, ours, first, epochs in rows:
        assert ours == published == "0"
        assert 0 < float(first) < 1
        assert 1 < int(epochs) < 12


def test_checkerboard_is_learned_as_published(tmp_path):
    (row,) = (line for line in run("checkerboard", tmp_path) if line.startswith("C = 10,000"))
    learned, new, _ = re.findall(r"[\d.]+", row.removeprefix("C = 10,000, gamma = 1"))
    assert float(learned) >= 99.9
    assert float(new) == pytest.approx(99, abs=0.5)


def test_missing_data_ends_with_a_reason(tmp_path):
    command = [sys.executable, EXAMPLES / "pima.py"]
    folder = {**os.environ, "MERCER_DATA": str(tmp_path)}
    done = subprocess.run(command, env=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("set MERCER_DATA to the folder that has pima.npz")


@pytest.mark.parametrize("C", [np.inf, 1.0])
def test_the_printed_algorithm_ends_at_the_plane_of_the_core(C, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    from _gallery import kernel_adatron

    random = np.random.RandomState(0)
    X = random.normal(size=(2, 30, 2))
    y = np.sign(X[:, :, 0] * X[:, :, 1])
    K = np.array([RBF(sigma=0.5)(rows) for rows in X])
    last = next(islice(kernel_adatron(K, y, mu=5.0, C=C), 600, None))
    for rows, labels, values, beta, intercept in zip(
        X, y, K, last.coefficients, last.intercept, strict=True
    ):
        model = SVC(C=C, kernel=RBF(sigma=0.5), tol=1e-8).fit(rows, labels)
        expected = model.decision_function(rows)
        np.testing.assert_allclose(values @ beta + intercept, expected, atol=1e-5)
    if np.isinf(C):
        np.testing.assert_allclose(last.margin, 1.0, atol=1e-5)
