"""Rows in files and batches: memory maps, Arrow and Parquet, iterators of matrices."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mercer import SVC, SVDD, SVR, OneClassSVM

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet")
dataset = pytest.importorskip("pyarrow.dataset")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
NAMES = list("abcd")


def _table(X=X):
    return pa.table({name: X[:, number] for number, name in enumerate(NAMES)})


def _reader():
    return pa.RecordBatchReader.from_batches(_table().schema, _table().to_batches(max_chunksize=70))


@pytest.fixture
def in_file(tmp_path):
    path = tmp_path / "rows.parquet"
    parquet.write_table(_table(), path, row_group_size=90)
    return path


@pytest.fixture
def sources(in_file):
    return {
        "table": _table,
        "batch": lambda: _table().combine_chunks().to_batches()[0],
        "reader": _reader,
        "data set": lambda: dataset.dataset(in_file),
        "parquet": lambda: parquet.ParquetFile(in_file),
    }


KINDS = ["table", "batch", "reader", "data set", "parquet"]


@pytest.mark.parametrize("kind", KINDS)
def test_arrow_is_the_matrix_it_holds(sources, kind):
    expected = SVC().fit(X, Y)
    model = SVC().fit(sources[kind](), Y)
    assert model.support_vectors_.dtype == np.float32
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(model.feature_names_in_, NAMES)
    assert model.n_features_in_ == 4
    assert model.shape_fit_ == X.shape
    for name in ("predict", "decision_function", "reject"):
        found = getattr(model, name)(sources[kind]())
        np.testing.assert_array_equal(found, getattr(expected, name)(X), err_msg=name)


@pytest.mark.parametrize("machine", [SVR(), OneClassSVM(), SVDD(), SVC(probability=True)])
def test_an_iterator_of_batches_is_predicted_one_after_another(machine):
    machine.fit(X, Y)
    read = []

    def batches():
        for block in np.array_split(X, 4):
            read.append(len(read))
            yield block
        yield X[:0]

    name = "predict_proba" if isinstance(machine, SVC) else "predict"
    np.testing.assert_array_equal(getattr(machine, name)(batches()), getattr(machine, name)(X))
    assert read == [0, 1, 2, 3]


def test_columns_that_need_more_are_in_double_precision():
    table = _table(X.astype(np.float64))
    assert SVC().fit(table, Y).support_vectors_.dtype == np.float64
    whole = pa.table({"a": np.arange(4, dtype=np.int8), "b": np.ones(4, np.float16)})
    assert SVC().fit(whole, [0, 0, 1, 1]).support_vectors_.dtype == np.float32


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match="numbers, got 'b' of type string"):
        SVC().fit(pa.table({"a": [1.0, 2.0], "b": ["x", "y"]}), [0, 1])
    with pytest.raises(ValueError, match="no missing values, got some in column 'a'"):
        SVC().fit(pa.table({"a": [1.0, 2.0, None]}), [0, 1, 1])
    with pytest.raises(ValueError, match="NaN"):
        SVC().fit(pa.table({"a": [1.0, 2.0, np.nan]}), [0, 1, 1])
    with pytest.raises(ValueError, match="0 sample"):
        SVC().fit(pa.table({"a": pa.array([], pa.float32())}), [])
    with pytest.raises(TypeError, match="X must be a table"):
        SVC().fit(pa.array([1.0]), [0])
    model = SVC().fit(_table(), Y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(_table().rename_columns(list("abdc")))


# What a fit on rows in a file adds to the memory of the process, in MB.
_GROWTH = """
import sys
import numpy as np
import mercer

def memory(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(name))

X = np.memmap(sys.argv[1], dtype=np.float32, mode="r", shape=(40_000, 256))
y = np.random.default_rng(0).integers(0, 2, len(X))
machine = mercer.SVC(max_iter=20, cache_size=16, n_jobs=1)
import warnings
warnings.simplefilter("ignore")
machine.fit(X[:400], y[:400])
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = memory("RssAnon")
machine.fit(X, y)
print(memory("VmHWM") - before - memory("RssFile"))
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="asks Linux")
def test_a_memory_map_is_read_where_it_is(tmp_path):
    path = tmp_path / "rows.f32"
    rows = np.memmap(path, dtype=np.float32, mode="w+", shape=(40_000, 256))
    for block in np.split(rows, 20):
        block[:] = RNG.normal(size=256)
    rows.flush()
    run = [sys.executable, "-c", _GROWTH, str(path)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    packed = 39.0  # one packed form of the rows; a copy would be as much again
    assert float(done.stdout) < packed + 16.0 + 20.0
