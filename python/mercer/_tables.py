"""Files of rows for the command line: LIBSVM's format (svmlight), and CSV.

A wrong line is named by its number. Files are written under another name first, so that nothing
half-written is left behind.
"""

import csv
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

Format: TypeAlias = Literal["svmlight", "csv"]


class FileError(Exception):
    """What is wrong with a file, for its reader."""


@dataclass(frozen=True)
class Table:
    """Rows and their targets; the names of the columns, if the file has them, the target's last."""

    X: Any
    y: NDArray[Any]
    names: tuple[str, ...] | None = None

    @property
    def n_features(self) -> int:
        """Return the number of columns without the target."""
        return int(self.X.shape[1])


def format_of(path: Path, given: str | None) -> Format:
    """Return the format that was asked for, else that of the file's name."""
    if given is not None:
        return "csv" if given == "csv" else "svmlight"
    return "csv" if path.suffix.lower() in (".csv", ".tsv") else "svmlight"


def read(path: Path, given: str | None = None, target: str | None = None, first: int = 1) -> Table:
    """Read a file; `first` is the smallest index of svmlight, 0 for precomputed kernels."""
    if format_of(path, given) == "csv":
        return _read_csv(path, target)
    if target is not None:
        raise FileError(f"{path}: --target names a column of CSV; svmlight has its target first")
    return _read_svmlight(path, first)


# --- svmlight


def _read_svmlight(path: Path, first: int) -> Table:
    try:
        X, y = load_svmlight_file(str(path), zero_based=first == 0)
    except (ValueError, OverflowError) as error:
        raise FileError(_wrong_line(path, first) or f"{path}: {error}") from error
    if not len(y):
        raise FileError(f"{path}: no rows")
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise FileError(_wrong_line(path, first) or f"{path}: not all numbers are finite")
    return Table(X, as_labels(y))


def as_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers as integers, which labels are."""
    whole = np.all(y == np.round(y)) and np.all(np.abs(y) < 2**53)
    return y.astype(np.int64) if whole else y


def _wrong_line(path: Path, first: int) -> str | None:
    """Find the first line that is not svmlight, and say why."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            text = line.split(b"#", 1)[0].decode("ascii", "replace")
            reason = _fault(text.split(), first)
            if reason:
                return f"{path}:{number}: {reason}"
    return None


def _fault(words: Sequence[str], first: int) -> str | None:
    """Say what is wrong with the words of a line."""
    if words and not _is_finite(words[0]):
        return f"the target must be a finite number, got {words[0]!r}"
    last = first - 1
    for word in words[1:]:
        index, colon, value = word.partition(":")
        if index == "qid":
            continue
        if not colon or not index.isdigit():
            return f"expected index:value, got {word!r}"
        if int(index) <= last:
            return f"indices must begin at {first} and ascend, got {index} after {last}"
        if not _is_finite(value):
            return f"the value of {index} must be a finite number, got {value!r}"
        last = int(index)
    return None


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


# --- CSV


def _read_csv(path: Path, target: str | None) -> Table:
    with path.open(newline="", encoding="utf-8-sig") as file:
        dialect = "excel-tab" if path.suffix.lower() == ".tsv" else "excel"
        reader = csv.reader(file, dialect)
        lines = [
            (reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)
        ]
    if not lines:
        raise FileError(f"{path}: no rows")
    names = None
    if not any(_is_finite(cell) for cell in lines[0][1]):
        names = tuple(cell.strip() for cell in lines.pop(0)[1])
    if not lines:
        raise FileError(f"{path}: no rows below the header")
    width = len(names) if names is not None else len(lines[0][1])
    place = _target_column(path, target, names, width)
    for number, cells in lines:
        if len(cells) != width:
            raise FileError(f"{path}:{number}: expected {width} columns, got {len(cells)}")
    X = np.array([_numbers(path, line, place, names) for line in lines], dtype=np.float64)
    y = _targets([cells[place].strip() for _, cells in lines])
    if names is not None:
        names = (*names[:place], *names[place + 1 :], names[place])
    return Table(X.reshape(len(lines), width - 1), y, names)


def _target_column(path: Path, target: str | None, names: Sequence[str] | None, width: int) -> int:
    """Return the place of the target: by name, by number from 1, else the last."""
    if target is None:
        return width - 1
    if names is not None and target in names:
        return names.index(target)
    if target.isdigit() and 1 <= int(target) <= width:
        return int(target) - 1
    known = ", ".join(names) if names is not None else f"1 to {width}"
    raise FileError(f"{path}: no column {target!r}; there are {known}")


def _numbers(
    path: Path, line: tuple[int, Sequence[str]], target: int, names: Sequence[str] | None
) -> list[float]:
    """Return a line's numbers without its target."""
    number, cells = line
    for column, cell in enumerate(cells):
        if column != target and not _is_finite(cell):
            name = repr(names[column]) if names is not None else column + 1
            raise FileError(f"{path}:{number}: column {name} must be a number, got {cell!r}")
    return [float(cell) for column, cell in enumerate(cells) if column != target]


def _targets(cells: list[str]) -> NDArray[Any]:
    """Return numbers if all targets are, else text."""
    if all(_is_finite(cell) for cell in cells):
        return as_labels(np.array([float(cell) for cell in cells]))
    return np.array(cells)


# --- Writing


def text_of(label: Any) -> str:
    """Return a target as text, numbers as short as they can be."""
    return f"{label:.17g}" if isinstance(label, (float, np.floating)) else str(label)


def svmlight_lines(table: Table) -> Iterator[str]:
    """Return the lines of an svmlight file; zeros are left out."""
    if table.y.dtype.kind not in "iuf":
        raise FileError(f"svmlight has numbers as targets, got {table.y[0]!r}: use CSV")
    rows = scipy.sparse.csr_matrix(table.X)
    for label, begin, end in zip(table.y, rows.indptr, rows.indptr[1:], strict=False):
        pairs = zip(rows.indices[begin:end], rows.data[begin:end], strict=True)
        yield " ".join([text_of(label), *(f"{i + 1}:{v:.9g}" for i, v in pairs if v)])


def csv_lines(table: Table) -> Iterator[str]:
    """Return the lines of a CSV file: a header, and the target in the last column."""
    names = table.names or (*(f"x{i + 1}" for i in range(table.n_features)), "target")
    yield ",".join(_quoted(name) for name in names)
    for begin in range(0, len(table.y), 1000):
        rows = table.X[begin : begin + 1000]
        dense = rows.toarray() if scipy.sparse.issparse(rows) else rows
        for label, row in zip(table.y[begin : begin + 1000], dense, strict=True):
            yield ",".join([*(f"{value:.17g}" for value in row), _quoted(text_of(label))])


def _quoted(text: str) -> str:
    special = any(character in text for character in ',"\n\r')
    return '"' + text.replace('"', '""') + '"' if special else text


def lines(table: Table, form: Format) -> Iterator[str]:
    """Return the lines of a file."""
    return csv_lines(table) if form == "csv" else svmlight_lines(table)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a name to write to, which becomes `path` if all goes well and is removed if not."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write(path: Path, text: Iterator[str]) -> None:
    """Write lines to a file, all of them or none."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in text)
