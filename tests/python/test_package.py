"""The package: what can be imported from where, and how long its parts may be."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mercer

PACKAGE = Path(mercer.__file__).parent


def _in_another_process(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


# Nothing but `import mercer` comes before each name: a fork for each costs less than a process.
_EACH_APART = """
import inspect, os, mercer
for name in mercer.__all__:
    if os.fork() == 0:
        print(name, inspect.ismodule(getattr(mercer, name)), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_everything_is_there_after_import_mercer():
    found = dict(line.split() for line in _in_another_process(_EACH_APART).splitlines())
    assert found.keys() == set(mercer.__all__)
    for name, is_module in found.items():
        function = name in ("load", "patch_sklearn", "save", "unpatch_sklearn")
        module = name.islower() and name != "__version__" and not function
        assert is_module == str(module), name


def test_machines_have_two_addresses():
    # The perceptrons are there for the papers' sake.
    for name in set(mercer.svm.__all__) - {"Perceptron"}:
        assert getattr(mercer, name) is getattr(mercer.svm, name)
    assert type(mercer.SVC().fit([[0.0], [1.0]], [0, 1]).report_) is mercer.report.Report


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'SVM'"):
        mercer.SVM  # noqa: B018


def test_import_takes_only_what_machines_need():
    code = "import sys, mercer; print(*sorted(sys.modules))"
    modules = _in_another_process(code).split()
    # What fit, predict and score need is there: see test_fork.py::test_calls_import_nothing.
    assert "sklearn.metrics" in modules
    for other in ("sklearn.pipeline", "sklearn.model_selection", "matplotlib", "mercer.plots"):
        assert other not in modules
    code = "import sys, mercer; mercer.plots; mercer.datasets; print(*sorted(sys.modules))"
    assert "matplotlib" not in _in_another_process(code).split()


# Sizes

LINES_OF_A_FILE, LINES_OF_A_FUNCTION, PARAMETERS = 600, 60, 6

#: It has the parameters of the machine it trains.
MIRRORS = {"sigma_path"}


def _body(function):
    """Lines of a function without its docstring."""
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        lines -= first.end_lineno - first.lineno + 1
    return lines


def _too_much(text):
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, functions):
            continue
        arguments = function.args
        names = [a.arg for a in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
        names = [name for name in names if name not in ("self", "cls")]
        # Constructors have scikit-learn's parameters, and commands their options.
        decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
        is_command = any(text.startswith("click.") for text in decorators)
        free = function.name == "__init__" or function.name in MIRRORS or is_command
        if _body(function) > LINES_OF_A_FUNCTION and function.name != "__init__":
            yield f"{function.name}: {_body(function)} lines"
        if len(names) > PARAMETERS and not free:
            yield f"{function.name}: {len(names)} parameters"


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.name)
def test_functions_and_files_are_short(path):
    text = path.read_text()
    assert len(text.splitlines()) <= LINES_OF_A_FILE
    assert list(_too_much(text)) == []


def test_long_functions_are_seen():
    long = "def f(a, b, c, d, e, f, g):\n" + "    pass\n" * 60
    assert list(_too_much(long)) == ["f: 61 lines", "f: 7 parameters"]
    documented = 'def f(self):\n    """' + "\n" * 70 + '    """\n    pass\n'
    assert list(_too_much(documented)) == []
