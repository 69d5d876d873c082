"""Forks: a child can use the models of its parent, whatever other threads were doing."""

import sys

import pytest
from attack import run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no fork on this system")


def failed(name, *arguments, **options):
    return run("forks", name, *arguments, **options)


@pytest.mark.parametrize("n_rows", [1, 64, 100, 200, 400])
@pytest.mark.parametrize("n_jobs", [1, None])
def test_predict_in_a_child(n_jobs, n_rows):
    assert failed("predict_in_child", n_jobs, n_rows) == 0


def test_preloading():
    assert failed("preloaded", 3) == 0


def test_children_of_children():
    assert failed("generations", 2) == 0


def test_forks_during_fits_of_other_threads():
    assert failed("during_fits", 40, 4, seconds=300) == 0


def test_forks_during_the_first_calls_of_a_process():
    assert failed("first_calls", 40, seconds=300) == 0


def test_calls_import_nothing():
    # The lock of a module that is being imported is no lock of ours, and a fork leaves it locked.
    assert run("forks", "imported_by_first_calls") == []


def test_calls_make_nothing_under_a_lock():
    assert run("forks", "looked_up_by_first_calls") == []


def test_fork_inside_a_kernel():
    assert failed("inside_kernel") == 0


def test_joblib_with_forks():
    assert failed("joblib_multiprocessing") == 0
