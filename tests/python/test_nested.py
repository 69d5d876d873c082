"""Calls inside calls, calls beside calls, and Ctrl-C in all of them."""

import sys

import pytest
from attack import run

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.mark.parametrize(("n_jobs", "n_rows"), [(1, 100), (1, 400), (2, 400), (2, 1500)])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_callable_that_uses_a_kernel(n_jobs, n_rows, threads):
    assert run("nested", "kernel_object", n_jobs, n_rows, threads=threads)


@pytest.mark.parametrize(("n_jobs", "n_rows"), [(1, 100), (1, 400), (2, 1000)])
def test_fits_inside_the_kernels_of_fits(n_jobs, n_rows):
    assert run("nested", "recursion", n_jobs, 3, n_rows, threads=1) == 3


@pytest.mark.parametrize(("n_jobs", "threads"), [(1, 1), (2, 2)])
def test_such_kernels_in_four_threads(n_jobs, threads):
    assert run("nested", "threads", 4, n_jobs, 600, threads=threads) == 4


@pytest.mark.parametrize(("n_jobs", "n_rows"), [(1, 100), (1, 1500), (2, 1500)])
def test_a_callable_is_called_where_fit_was_called(n_jobs, n_rows):
    assert run("nested", "kernel_on_calling_thread", n_jobs, n_rows)


@linux_only
def test_no_threads_but_those_of_leased_pools():
    names = run("nested", "names_of_threads", threads=2)
    assert names
    # Arrow, which pandas imports, has an allocator with a thread of its own.
    others = [name for name in names if name != "jemalloc_bg_thd"]
    assert all(name.startswith("mercer-") for name in others), names


def latency(name, *arguments):
    """Return the shortest of three latencies: other work on the machine prolongs them."""
    answers = [run("nested", name, *arguments) for _ in range(3)]
    assert [status for _, status in answers] == ["converged"] * 3
    return min(seconds for seconds, _ in answers)


@pytest.mark.parametrize(("n_jobs", "n_rows"), [(1, 100), (1, 1500), (2, 1500)])
def test_interrupt_inside_a_callable(n_jobs, n_rows):
    assert latency("interrupt_inside_kernel", n_jobs, n_rows) < 0.2


@pytest.mark.parametrize(
    ("n_jobs", "n_rows", "parameters"),
    [
        (1, 3000, {"kernel": "rbf", "C": 1e6, "tol": 1e-9}),
        (2, 3000, {"kernel": "rbf", "C": 1e6, "tol": 1e-9}),
        (2, 3000, {"C": 1e6, "tol": 1e-9}),
    ],
)
def test_interrupt_a_fit(n_jobs, n_rows, parameters):
    assert latency("interrupt_fit", n_jobs, n_rows, 0.5, parameters) < 0.2


def test_interrupt_a_kernel_matrix():
    assert latency("interrupt_kernel_matrix", 8000, 0.3) < 0.2
