"""Memory: a fit on dense rows holds the caller's array and one packed form of it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROWS, COLUMNS, CACHE = 40_000, 256, 16

# In a process of its own: what the fit adds at its peak, in MB. A first small fit has loaded
# everything.
_GROWTH = f"""
import sys, warnings
import numpy as np
import mercer

def memory(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(name))

warnings.simplefilter("ignore")
name, options, labelled, dtype = eval(sys.argv[1])
machine = getattr(mercer, name)(max_iter=20, cache_size={CACHE}, n_jobs=1, **options)
rng = np.random.default_rng(0)
X = np.empty(({ROWS}, {COLUMNS}), dtype)
for rows in np.split(X, 40):
    rows[:] = rng.normal(size=rows.shape)
y = rng.integers(0, labelled, {ROWS}) if labelled else X[:, 0].copy()
machine.fit(X[:400], y[:400])
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # forgets the peak so far
before = memory("VmRSS")
machine.fit(X, y)
print(memory("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="asks Linux")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("name", "options", "labelled"),
    [
        ("SVC", {}, 2),
        ("SVC", {"kernel": "linear"}, 2),
        ("SVC", {}, 5),
        ("SVC", {"multiclass": "ovr"}, 5),
        ("SVR", {}, 0),
        ("OneClassSVM", {"nu": 0.01}, 0),
    ],
)
def test_dense_rows_are_held_once_and_packed_once(name, options, labelled, dtype):
    argument = repr((name, options, labelled, dtype))
    run = [sys.executable, "-c", _GROWTH, argument]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    packed = ROWS * COLUMNS * 4 / 2**20  # 39 MB in the precision of kernel rows
    # The rest are coefficients, gradients and what is packed of one block.
    assert float(done.stdout) < packed + CACHE + 24
