"""Damaged model files: a clear error, or a sound model.

Bytes are changed, cut and repeated; headers and descriptions are parsed, changed somewhere and put
together again, so that the damage gets past the container; arrays get NaN, other shapes, types and
numbers out of range. Whatever loads answers with finite numbers, or says what is wrong.
"""

import json
import os
import struct
import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from tests.torture.harness import Fault, Piece, main

import mercer

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "models"

_ANYTHING: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2**31, 2**63, 10**30, 0.5, -1e308, "", "nothing", "inf", [], {}, [[]]),
    *({"array": "dual_coef_"}, {"array": "nothing"}, {"float": "nan"}, {"float": "inf"}),
    *({"labels": [1, 2], "dtype": "O"}, {"tuple": [-1]}, {"csr": "support_vectors_"}),
    {"estimator": "SVC", "parameters": {}, "attributes": {}},
)


@lru_cache
def _files() -> list[tuple[str, bytes, Any]]:
    """Return names, bytes, and rows to ask about."""
    expected = json.loads((FOLDER / "expected.json").read_text())
    files = []
    for name, entry in expected.items():
        rows = entry["X"] if isinstance(entry["X"][0], str) else np.array(entry["X"])
        rows = sp.csr_array(rows) if name == "svc_sparse" else rows
        files.append((name, (FOLDER / f"{name}.safetensors").read_bytes(), rows))
    return files


def _parts(data: bytes) -> tuple[dict[str, Any], dict[str, Any], bytearray]:
    """Return the header, the description in it, and the arrays."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["mercer"]), bytearray(data[8 + length :])


def _joined(header: dict[str, Any], description: Any, arrays: bytearray) -> bytes:
    header["__metadata__"]["mercer"] = json.dumps(description)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(arrays)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in nested dicts and lists: the container and the key."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _bytes(rng: np.random.Generator, data: bytes) -> bytes:
    """Damage bytes wherever they are."""
    damaged = bytearray(data)
    where = int(rng.integers(len(damaged)))
    kind = rng.integers(5)
    if kind == 0:
        return bytes(damaged[:where])
    if kind == 1:
        return bytes(damaged[:where]) + rng.bytes(int(rng.integers(1, 40))) + bytes(damaged[where:])
    if kind == 2:
        end = min(len(damaged), where + int(rng.integers(1, 64)))
        return bytes(damaged[:where] + damaged[end:])
    for _ in range(int(rng.integers(1, 9))):
        at = int(rng.integers(8 if kind == 3 else len(damaged)))
        damaged[at] = int(rng.integers(256))
    return bytes(damaged)


def _leaf(rng: np.random.Generator, value: Any) -> None:
    """Change, remove or repeat something in nested dicts and lists."""
    places = list(_places(value))
    holder, key = places[rng.integers(len(places))]
    kind = rng.integers(4)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[f"{key}_"] = holder.pop(key)
    elif kind == 1:
        holder.append(holder[key])
    elif kind == 2 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
        holder[key] = [-holder[key], holder[key] + 1, holder[key] * 1e10][rng.integers(3)]
    else:
        holder[key] = _ANYTHING[rng.integers(len(_ANYTHING))]


def _description(rng: np.random.Generator, data: bytes) -> bytes:
    header, description, arrays = _parts(data)
    for _ in range(int(rng.integers(1, 3))):
        _leaf(rng, description)
    return _joined(header, description, arrays)


def _header(rng: np.random.Generator, data: bytes) -> bytes:
    header, description, arrays = _parts(data)
    entries = {name: value for name, value in header.items() if name != "__metadata__"}
    _leaf(rng, entries)
    return _joined({**entries, "__metadata__": {}}, description, arrays)


def _array(rng: np.random.Generator, data: bytes) -> bytes:
    """Change numbers of an array, its type or its shape."""
    header, description, arrays = _parts(data)
    names = [name for name in header if name != "__metadata__"]
    entry = header[names[rng.integers(len(names))]]
    begin, end = entry["data_offsets"]
    size = 8 if entry["dtype"].endswith("64") else 4
    kind = rng.integers(4)
    if kind == 0:
        entry["shape"] = [[], entry["shape"][::-1], [*entry["shape"], 1], [end - begin]][
            rng.integers(4)
        ]
    elif kind == 1:
        entry["dtype"] = ["F64", "F32", "I64", "I32", "U8", "BF16"][rng.integers(6)]
    elif end > begin:
        at = begin + size * int(rng.integers((end - begin) // size))
        special: dict[str, list[float]] = {
            "F": [np.nan, np.inf, -np.inf, 1e30],
            "I": [-1, 2**31 - 1, -(2**31), 10**6],
        }
        number = special[entry["dtype"][0]][rng.integers(4)]
        dtype = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4"}[entry["dtype"]]
        arrays[at : at + size] = np.array(number).astype(dtype).tobytes()
    return _joined(header, description, arrays)


_DAMAGES: tuple[Callable[[np.random.Generator, bytes], bytes], ...] = (
    _bytes,
    _description,
    _description,
    _header,
    _array,
)


def _answers(model: Any, asked: Any) -> list[Any]:
    names = ("predict", "decision_function", "transform", "score_samples")
    return [getattr(model, name)(asked) for name in names if hasattr(model, name)]


def _loaded(path: str, asked: Any) -> str:
    try:
        model = mercer.load(path)
    except ValueError as error:
        if path not in str(error):
            raise Fault(f"an error that does not name the file: {error!r}") from error
        return "refused"
    try:
        with np.errstate(all="ignore"):
            answers = _answers(model, asked)
    except (ValueError, TypeError) as error:
        # A sound model of something else: of other features, for instance.
        return f"{type(error).__name__} of a prediction"
    for answer in answers:
        if answer.dtype.kind == "f" and np.isnan(answer).any():
            raise Fault(f"an answer is NaN: {answer}")
    return "sound"


def case(seed: int) -> str:
    """Damage one file, and load it."""
    rng = np.random.default_rng(seed)
    files = _files()
    name, data, asked = files[rng.integers(len(files))]
    damage = _DAMAGES[rng.integers(len(_DAMAGES))]
    damaged = damage(rng, data)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        Path(path).write_bytes(damaged)
        try:
            return _loaded(path, asked)
        except Fault as fault:
            raise Fault(f"{name}, {damage.__name__}: {fault}") from fault


PIECE = Piece("files", case, cases=10_000, seconds=240, timeout=30)
run = PIECE.run

if __name__ == "__main__":
    raise SystemExit(main(PIECE))
