"""The command `mercer`: as processes, and beside LIBSVM's own tools where they are installed."""

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file, load_iris

from mercer import SVC, cli, io
from mercer.datasets import load_sonar, make_checkerboard

libsvm = pytest.mark.skipif(shutil.which("svm-train") is None, reason="no libsvm-tools")


def mercer(*arguments, folder, status=0):
    """Run the command as a process and return what it printed."""
    command = [sys.executable, "-W", "error", "-m", "mercer.cli", *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def tool(*arguments, folder):
    """Run one of LIBSVM's."""
    done = subprocess.run(
        list(map(str, arguments)), cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture
def sonar(tmp_path):
    X, y = load_sonar(return_X_y=True)
    path = tmp_path / "sonar"
    dump_svmlight_file(X, np.where(y == y[0], 1, -1), str(path), zero_based=False)
    return path


def _figures(text):
    """The numbers that LIBSVM prints after training, without the iterations."""
    return {
        name: float(value)
        for name, value in re.findall(r"(nu|obj|rho|Total nSV) = (-?[\d.]+)", text)
    }


@libsvm
def test_models_labels_and_lines_are_those_of_libsvm(sonar):
    folder = sonar.parent
    options = ["-c", 10, "-g", 0.5, "-e", 1e-5, "-w1", 2]
    ours = _figures(mercer("train", *options, sonar, "ours.model", folder=folder))
    theirs = _figures(tool("svm-train", *options, sonar, "theirs.model", folder=folder))
    # LIBSVM's first class is that of the first row, ours the smaller one.
    theirs["rho"] *= -1
    assert ours == pytest.approx(theirs, abs=2e-3)
    outputs = []
    for model in ("ours.model", "theirs.model"):
        said = [
            mercer("predict", sonar, model, f"mercer-{model}", folder=folder),
            tool("svm-predict", sonar, model, f"libsvm-{model}", folder=folder),
        ]
        assert said[0] == said[1]
        outputs += [(folder / f"{name}-{model}").read_text() for name in ("mercer", "libsvm")]
    assert len(set(outputs)) == 1


@libsvm
def test_labels_of_a9a_are_those_of_libsvm(shared_data, tmp_path):
    X, y, Z, truth = shared_data("a9a")
    for name, rows, labels in (("train", X, y), ("test", Z, truth)):
        some = csr_matrix(rows[:2500].toarray())  # with small indices
        dump_svmlight_file(some, labels[:2500], str(tmp_path / name), zero_based=False)
    options = ["-c", 1, "-g", 0.05, "-q"]
    assert mercer("train", *options, "train", "ours", folder=tmp_path) == ""
    tool("svm-train", *options, "train", "theirs", folder=tmp_path)
    said = mercer("predict", "test", "ours", "ours.labels", folder=tmp_path)
    assert said == tool("svm-predict", "test", "theirs", "their.labels", folder=tmp_path)
    assert (tmp_path / "ours.labels").read_text() == (tmp_path / "their.labels").read_text()


@libsvm
def test_scaled_as_by_svm_scale(sonar):
    folder = sonar.parent
    theirs = tool("svm-scale", "-l", 0, "-s", "ranges", sonar, folder=folder)
    assert (
        cli.main(["scale", "-l", "0", "-s", str(folder / "own"), str(sonar), str(folder / "o")])
        == 0
    )
    assert cli.main(["scale", "-r", str(folder / "ranges"), str(sonar), str(folder / "r")]) == 0
    for text in ((folder / "o").read_text(), (folder / "r").read_text()):
        for ours, line in zip(text.splitlines(), theirs.splitlines(), strict=True):
            assert dict(_pairs(ours)) == pytest.approx(dict(_pairs(line)), abs=1e-5)
    assert (folder / "own").read_text().splitlines()[:2] == ["x", "0 1"]


def _pairs(line):
    return [(int(i), float(v)) for i, v in re.findall(r"(\d+):(\S+)", line) if abs(float(v)) > 1e-5]


def test_csv_by_the_name_of_its_target_and_own_files(tmp_path, capsys):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    lines = [f"{name},{','.join(map(str, row))}" for name, row in zip(names, X, strict=True)]
    (tmp_path / "iris.csv").write_text("kind,a,b,c,d\n" + "\n".join(lines) + "\n")
    rows, own = str(tmp_path / "iris.csv"), str(tmp_path / "iris.mercer")
    assert cli.main(["train", "--target", "kind", rows, own]) == 0
    assert capsys.readouterr().out.count("optimization finished") == 3
    model = io.load(tmp_path / "iris.mercer")
    expected = SVC(gamma=0.25).fit(X, names)
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
    assert cli.main(["predict", "--target", "kind", rows, own, str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert (tmp_path / "out").read_text().splitlines() == list(expected.predict(X))
    assert said.endswith(f"({np.sum(expected.predict(X) == names)}/150) (classification)\n")


def test_grid_trains_with_the_best(sonar, capsys):
    model = sonar.parent / "best.mercer"
    arguments = ["grid", "-log2c", "-1,3,2", "-log2g", "-3,1,2", "-v", "3", str(sonar), str(model)]
    assert cli.main(arguments) == 0
    *lines, last = (line.split() for line in capsys.readouterr().out.splitlines())
    assert len(lines) == 9
    best = max(lines, key=lambda line: float(line[2]))
    assert float(last[2]) == float(best[2])
    loaded = io.load(model)
    assert [loaded.C, loaded.gamma] == [float(last[0]), float(last[1])]


@pytest.mark.parametrize("kind", ["1", "2", "3", "4"])
def test_other_machines(sonar, kind, capsys):
    model, output = sonar.parent / "m", sonar.parent / "o"
    assert cli.main(["train", "-s", kind, "-n", "0.3", "-g", "1", str(sonar), str(model)]) == 0
    assert cli.main(["predict", str(sonar), str(model), str(output)]) == 0
    said = capsys.readouterr().out
    assert ("Mean squared error = " in said) == (kind in "34")
    assert len(output.read_text().splitlines()) == 208


def test_probabilities_and_cross_validation(sonar, capsys):
    model, output = sonar.parent / "m", sonar.parent / "o"
    assert cli.main(["train", "-b", "1", "-c", "10", "-g", "1", "-q", str(sonar), str(model)]) == 0
    assert cli.main(["predict", "-b", "1", "-q", str(sonar), str(model), str(output)]) == 0
    head, *rows = output.read_text().splitlines()
    assert head == "labels -1 1"
    for label, first, second in (map(float, row.split()) for row in rows):
        assert (label == 1) == (second > first)
        assert first + second == pytest.approx(1, abs=1e-5)
    assert cli.main(["train", "-v", "4", "-c", "10", "-g", "1", str(sonar)]) == 0
    (rate,) = re.findall(r"Cross Validation Accuracy = ([\d.]+)%", capsys.readouterr().out)
    assert float(rate) > 75


def test_convert_and_info(sonar, tmp_path, capsys):
    table, again = tmp_path / "sonar.csv", tmp_path / "again"
    assert cli.main(["convert", str(sonar), str(table)]) == 0
    assert cli.main(["convert", str(table), str(again)]) == 0
    assert cli.main(["info", str(again)]) == 0
    assert cli.main(["info", str(sonar)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[: len(said) // 2] == said[len(said) // 2 :]
    assert said[:2] == ["rows: 208", "features: 60"]
    text, own, back = tmp_path / "m.model", tmp_path / "m.mercer", tmp_path / "back.model"
    assert cli.main(["train", "-q", str(sonar), str(text)]) == 0
    assert cli.main(["convert", str(text), str(own)]) == 0
    assert cli.main(["convert", str(own), str(back)]) == 0
    assert back.read_text() == text.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:2\n-1 2:3 1:4\n", "rows:2: indices must begin at 1 and ascend, got 1 after 2"),
        ("1 1:2\n-1 1:x\n", "rows:2: the value of 1 must be a finite number, got 'x'"),
        ("1 1:2\n\n-1 1:nan\n", "rows:3: the value of 1 must be a finite number, got 'nan'"),
        ("1 0:2\n", "rows:1: indices must begin at 1 and ascend, got 0 after 0"),
        ("yes 1:2\n", "rows:1: the target must be a finite number, got 'yes'"),
        ("1 2\n", "rows:1: expected index:value, got '2'"),
        ("", "rows: no rows"),
    ],
)
def test_wrong_lines_are_named(tmp_path, monkeypatch, capsys, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").write_text(text)
    assert cli.main(["train", "rows", "model"]) == 1
    assert capsys.readouterr().err == f"mercer: {message}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("a,b,y\n1,2,0\n1,x,1\n", [], "t.csv:3: column 'b' must be a number, got 'x'"),
        ("1,2,0\n1,2\n", [], "t.csv:2: expected 3 columns, got 2"),
        ("a,y\n1,0\n", ["--target", "z"], "t.csv: no column 'z'; there are a, y"),
        ("a,y\n", [], "t.csv: no rows below the header"),
    ],
)
def test_wrong_tables_are_named(tmp_path, monkeypatch, capsys, text, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(text)
    assert cli.main(["train", *arguments, "t.csv", "model"]) == 1
    assert capsys.readouterr().err == f"mercer: {message}\n"


def test_nothing_half_written_is_left(sonar, capsys):
    # Text labels have no place in LIBSVM's file.
    (sonar.parent / "t.csv").write_text("a,y\n1,yes\n2,no\n3,yes\n")
    before = sorted(path.name for path in sonar.parent.iterdir())
    assert cli.main(["train", str(sonar.parent / "t.csv"), str(sonar.parent / "m.model")]) == 1
    assert sorted(path.name for path in sonar.parent.iterdir()) == before
    assert capsys.readouterr().err.startswith("mercer: ")


def test_exit_status_of_wrong_command_lines(tmp_path, capsys):
    for arguments in (["train"], ["train", "nowhere"], ["train", "-s", "7", "x"], ["fly"], []):
        assert cli.main(arguments) == 2
    assert cli.main(["--version"]) == 0
    assert "version" in capsys.readouterr().out


def test_time_limit_warns_and_leaves_a_model(tmp_path, capsys):
    X, y = make_checkerboard(2000, random_state=0)
    dump_svmlight_file(X, y, str(tmp_path / "board"), zero_based=False)
    command = ["train", "-c", "1e6", "-e", "1e-9", "--max-time", "0.01", "-q"]
    assert cli.main([*command, str(tmp_path / "board"), str(tmp_path / "m")]) == 0
    assert "WARNING" in capsys.readouterr().err
    assert (tmp_path / "m").is_file()
