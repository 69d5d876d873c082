"""Every promise of docs/promises.md names tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "promises.md"
HEADINGS = ["Determinism", "Tolerances", "Threads", "Forks", "Memory", "Formats", "Versions"]


def _promises():
    """The rows of the tables: the promise, and what is said to keep it."""
    rows = [
        line.strip("|").split("|") for line in PAGE.read_text().splitlines() if line[:2] == "| "
    ]
    return [tuple(cell.strip() for cell in row) for row in rows if row[0].strip() != "promise"]


def _exists(name):
    """Whether a name like tests/python/test_svc.py::test_gamma[rbf] is that of a test or target."""
    path, _, test = name.partition("::")
    test, _, parameter = test.partition("[")
    text = (ROOT / path).read_text() if (ROOT / path).is_file() else ""
    keyword = {".py": rf"^ *def {test}\(", ".rs": rf"^ *fn {test}\(", ".toml": rf"^\[{test}\]"}
    pattern = keyword.get(Path(path).suffix, rf"^{test}:")
    found = re.search(pattern, text, re.MULTILINE)
    is_test = not found or Path(path).suffix != ".rs" or "#[test]" in text[: found.start()][-300:]
    # The parameters of a test are the keys of a dict in the same file.
    return bool(found) and is_test and (not parameter or f'"{parameter[:-1]}":' in text)


@pytest.mark.parametrize(("promise", "keepers"), _promises())
def test_promise(promise, keepers):
    names = re.findall(r"`([^`]+)`", keepers)
    assert names, f"nothing keeps: {promise}"
    missing = [name for name in names if not _exists(name)]
    assert not missing, f"{promise}: no such test: {missing}"


def test_the_page_has_every_part():
    found = re.findall(r"^## (.*)$", PAGE.read_text(), re.MULTILINE)
    assert found == HEADINGS
    assert len(_promises()) >= 25


@pytest.mark.parametrize(
    "name",
    [
        "tests/python/test_promises.py::test_nothing_of_this_name",
        "tests/python/nowhere.py::test_promise",
        "tests/python/test_torture.py::test_piece[spoons]",
        "tests/data.rs::no_such_function",
        "tests/common/mod.rs::random",
        "Makefile::no-such-target",
    ],
)
def test_names_of_no_test_are_noticed(name):
    assert not _exists(name)
