"""A plugin of pytest: scikit-learn's own tests, with Mercer's machines in `sklearn.svm`.

    pytest -p sklearn_tests --pyargs sklearn.svm.tests.test_svm sklearn.svm.tests.test_sparse

Machines are replaced before the tests are imported. Those of sklearn-allowlist.txt are left out, or
must fail.
"""

import re
from pathlib import Path

import pytest

import mercer

ALLOWLIST = Path(__file__).with_name("sklearn-allowlist.txt")


def pytest_configure(config):
    # Not on import: whoever looks for doctests imports this file as well.
    mercer.patch_sklearn(verbose=False)


def read_allowlist(text):
    """Return pairs of a verdict, 'omit' or 'fail', and of the tests it is for, with the reason."""
    entries, reason = {}, ""
    for line in text.splitlines():
        if line.startswith("#"):
            reason = line.lstrip("# ")
        elif line.strip():
            verdict, test = line.split(maxsplit=1)
            entries[test] = verdict, reason
    return entries


def without_seed(name):
    """Return the name of a test without the random seed that scikit-learn chooses."""
    return re.sub(r"\[42\]$", "", name.replace("[42-", "["))


def pytest_collection_modifyitems(config, items):
    entries = read_allowlist(ALLOWLIST.read_text())
    kept, omitted, found = [], [], set()
    for item in items:
        test = f"{item.module.__name__.rpartition('.')[2]}::{without_seed(item.name)}"
        # An entry without parameters is for all of them.
        for name in (test, test.partition("[")[0]):
            if name in entries:
                found.add(name)
                verdict, reason = entries[name]
                break
        else:
            verdict, reason = "pass", ""
        if verdict == "fail":
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
        (omitted if verdict == "omit" else kept).append(item)
    config.hook.pytest_deselected(items=omitted)
    items[:] = kept
    config.unknown_entries = sorted(set(entries) - found)


def pytest_terminal_summary(terminalreporter, config):
    for entry in config.unknown_entries:
        terminalreporter.write_line(f"no such test: {entry}")
