"""Memory that runs out: a right answer or MemoryError, and nothing lost."""

import sys

import numpy as np
import pytest
from attack import run

from mercer.kernels import RBF

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")

#: Megabytes to spare, from nothing to plenty; `make torture` takes smaller steps.
SPARE = [0, 0.5, 1, 2, 4, 8, 12, 16, 17, 19, 22, 28, 40, 64, 128, 400]


def check(name, *arguments, refused=True):
    """Make a call with each of these to spare: it succeeds with much and fails with nothing."""
    answers = [word for _, word in run("memory", name, SPARE, *arguments, seconds=300)]
    assert set(answers) <= {"right", "MemoryError"}, list(zip(SPARE, answers, strict=True))
    assert answers[-1] == "right"
    if refused:
        assert answers[0] == "MemoryError"


def test_a_matrix_that_no_machine_holds():
    with pytest.raises(MemoryError, match=r"the kernel matrix would take 320 GB"):
        RBF(gamma=1.0)(np.zeros((200_000, 1)))


@pytest.mark.parametrize(
    ("parameters", "n_rows"),
    [
        ({"C": 10.0}, 3000),
        ({"kernel": "linear"}, 3000),
        ({"C": 1e4, "gamma": 0.02}, 1500),
        ({"solver": "adatron"}, 1500),
    ],
)
def test_fit(parameters, n_rows):
    check("fit", parameters, n_rows)


def test_small_fit():
    check("fit", {}, 100, refused=False)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_fit_of_classes(multiclass):
    # So small that it runs on the thread that calls, with what the process has.
    check("fit_classes", multiclass, 1000, refused=False)


def test_fit_of_sparse_rows():
    check("fit_sparse", 1500)


@pytest.mark.parametrize("n_rows", [150, 1500])
def test_fit_with_a_callable(n_rows):
    check("fit_callable", n_rows, refused=False)


@pytest.mark.parametrize("name", ["SVR", "NuSVC", "OneClassSVM", "SVDD"])
def test_fit_of_other_machines(name):
    check("fit_others", name, 1500, refused=False)


@pytest.mark.parametrize("name", ["decision_function", "predict"])
@pytest.mark.parametrize("n_rows", [50, 30_000])
def test_predictions(name, n_rows):
    check(name, n_rows, refused=n_rows > 50)


def test_first_prediction():
    check("first_prediction")


@pytest.mark.parametrize("n_rows", [100, 2000])
def test_kernel_matrix(n_rows):
    check("kernel_matrix", n_rows, refused=n_rows > 100)


def test_a_system_without_threads():
    answer = run("memory", "no_more_threads", 2)
    assert answer.startswith("the system refused threads")
