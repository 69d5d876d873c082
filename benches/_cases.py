"""The cases of the benchmarks: data sets, their preparation and the parameters of their machines.

Every kernel is RBF (that of half of the hard cases is linear), with gamma = 1 / d where the columns
are standardised and else a value at which the machine predicts well. a9a-hard is the exception:
C = 100 and gamma = 0.5 overfit, so that more than half of the rows are support vectors and the fit
is long. cod_rna is trained on all its rows.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import sparse

import _data
from _data import Data

TEST_ROWS = 10_000
# The 271617 test rows of cod_rna would only make every peer take minutes.
CODING_TEST_ROWS = 50_000
# Calls whose mean is the time of one row.
SINGLE_CALLS = 200

Kind = Literal["SVC", "SVR", "OneClassSVM"]
KernelName = Literal["rbf", "linear"]


@dataclass(frozen=True)
class Case:
    """A data set, the kind of its machine, and the parameters by scikit-learn's names.

    Where `one_row` is true, rows are predicted one in a call and the fit is not compared: another
    case has it.
    """

    load: Callable[[], Data]
    parameters: Mapping[str, float]
    kind: Kind = "SVC"
    file: str | None = None
    one_row: bool = False
    kernel: KernelName = "rbf"

    @property
    def missing(self) -> bool:
        return self.file is not None and not _data.available(self.file)


def checkerboard() -> Data:
    from mercer.datasets import make_checkerboard

    random = np.random.RandomState(0)
    return Data(
        *make_checkerboard(random_state=random),
        *make_checkerboard(TEST_ROWS, random_state=random),
    )


def synthetic(n: int, d: int) -> Case:
    def load() -> Data:
        from sklearn.datasets import make_classification

        X, y = make_classification(
            n + TEST_ROWS,
            d,
            n_informative=d // 2,
            flip_y=0.05,
            class_sep=0.8,
            random_state=0,
        )
        return standardised(Data(X[:n], y[:n], X[n:], y[n:]))

    return Case(load, {"C": 1.0, "gamma": 1 / d})


def real(
    name: str,
    prepare: Callable[[Data], Data],
    kind: Kind = "SVC",
    one_row: bool = False,
    **parameters: float,
) -> Case:
    return Case(lambda: prepare(_data.load(name)), parameters, kind, name, one_row)


def as_is(data: Data) -> Data:
    return data


def standardised(data: Data) -> Data:
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(data.X)
    return Data(scaler.transform(data.X), data.y, scaler.transform(data.X_test), data.y_test)


def first_80_percent(data: Data) -> Data:
    """Train on the first 16000 of 20000 rows, as usual with letter, scaled to -1..1."""
    X, y = np.concatenate([data.X, data.X_test]), np.concatenate([data.y, data.y_test])
    low, high = X.min(axis=0), X.max(axis=0)
    X, n = 2.0 * (X - low) / (high - low) - 1.0, len(X) * 4 // 5
    return Data(X[:n], y[:n], X[n:], y[n:])


def all_images(data: Data) -> Data:
    return Data(data.X / 255.0, data.y, data.X_test / 255.0, data.y_test)


def ten_thousand_images(data: Data) -> Data:
    return Data(data.X[:10_000] / 255.0, data.y[:10_000], data.X_test / 255.0, data.y_test)


def regression(data: Data) -> Data:
    """Set 30% aside for the test; standardise X and y by the rest."""
    from sklearn.model_selection import train_test_split

    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    mean, deviation = y.mean(), y.std()
    return standardised(Data(X, (y - mean) / deviation, X_test, (y_test - mean) / deviation))


def images_of_three(data: Data) -> Data:
    """Train on one digit alone; all test images, those of the digit with label 1, others -1."""
    own = data.X[data.y == 3] / 255.0
    return Data(own, np.ones(len(own)), data.X_test / 255.0, np.where(data.y_test == 3, 1.0, -1.0))


def one_letter_at_a_time(data: Data) -> Data:
    data = first_80_percent(data)
    assert data.y_test is not None
    return Data(data.X, data.y, data.X_test[:SINGLE_CALLS], data.y_test[:SINGLE_CALLS])


def coding_rna(data: Data) -> Data:
    data = standardised(data)
    assert data.y_test is not None
    return Data(data.X, data.y, data.X_test[:CODING_TEST_ROWS], data.y_test[:CODING_TEST_ROWS])


def first_20_thousand(data: Data) -> Data:
    """Train on the first rows; the rest of a set would only make every peer take hours."""
    assert data.y_test is not None
    rows = slice(20_000)
    X, X_test = data.X[rows], data.X_test[rows]
    if sparse.issparse(X):
        X, X_test = X.toarray(), X_test.toarray()
    return standardised(Data(X, data.y[rows], X_test, data.y_test[rows]))


def whole_regression(data: Data) -> Data:
    """Train on all rows, standardised as is y."""
    y = (data.y - data.y.mean()) / data.y.std()
    return standardised(Data(data.X, y, data.X, y))


# Sets on which hard.py raises C.
HARD: dict[str, Case] = {
    "synthetic-20k-20": synthetic(20_000, 20),
    "cod_rna-20k": real("cod_rna", first_20_thousand, gamma=1 / 8),
    "ijcnn1-20k": real("ijcnn1", first_20_thousand, gamma=1 / 22),
    "cal_housing-all": real("cal_housing", whole_regression, "SVR", gamma=1 / 8, epsilon=0.1),
}

CASES: dict[str, Case] = {
    "checkerboard": Case(checkerboard, {"C": 5.0, "gamma": 2.0}),
    "synthetic-5k-20": synthetic(5_000, 20),
    "synthetic-20k-20": synthetic(20_000, 20),
    "synthetic-20k-100": synthetic(20_000, 100),
    "synthetic-40k-30": synthetic(40_000, 30),
    "satellite": real("satellite", standardised, C=10.0, gamma=1 / 36),
    "usps": real("usps", as_is, C=10.0, gamma=1 / 128),
    "pendigits": real("pendigits", standardised, C=10.0, gamma=1 / 16),
    "letter": real("letter", first_80_percent, C=16.0, gamma=2.0),
    "letter-one-row": real("letter", one_letter_at_a_time, one_row=True, C=16.0, gamma=2.0),
    "shuttle": real("shuttle", standardised, C=10.0, gamma=1 / 9),
    "a9a": real("a9a", as_is, C=1.0, gamma=1 / 123),
    "a9a-hard": real("a9a", as_is, C=100.0, gamma=0.5),
    "ijcnn1": real("ijcnn1", as_is, C=10.0, gamma=1.0),
    "cod_rna": real("cod_rna", coding_rna, C=10.0, gamma=1 / 8),
    "mnist-10k": real("mnist", ten_thousand_images, C=10.0, gamma=0.02),
    "mnist-60k": real("mnist", all_images, C=10.0, gamma=0.02),
    "abalone": real("abalone", regression, "SVR", C=10.0, gamma=1 / 8, epsilon=0.1),
    "cpusmall": real("cpusmall", regression, "SVR", C=10.0, gamma=1 / 12, epsilon=0.1),
    "cal_housing": real("cal_housing", regression, "SVR", C=10.0, gamma=1 / 8, epsilon=0.1),
    "mnist-digit-3": real("mnist", images_of_three, "OneClassSVM", nu=0.1, gamma=0.02),
}
# A sample of every kind of machine, in an order that leaves the longest to the end.
QUICK = (
    "checkerboard",
    "synthetic-5k-20",
    "satellite",
    "pendigits",
    "abalone",
    "usps",
    "synthetic-20k-20",
    "letter-one-row",
)


def find(name: str) -> Case:
    """Return a case by name.

    It is one of CASES, "synthetic-N-D" of any size, or SET/KERNEL/C of one of HARD.
    """
    if name in CASES:
        return CASES[name]
    if name.count("/") == 2:
        return hard(name)
    size = re.fullmatch(r"synthetic-(\d+)-(\d+)", name)
    if size is None:
        raise ValueError(f"case must be one of {', '.join(CASES)} or synthetic-N-D, got {name!r}")
    return synthetic(int(size[1]), int(size[2]))


def hard(name: str) -> Case:
    """Return a case of hard.py, "cod_rna-20k/rbf/100" say."""
    data, kernel, cost = name.split("/")
    if data not in HARD or kernel not in ("rbf", "linear"):
        raise ValueError(f"case must be SET/rbf/C or SET/linear/C, SET of {', '.join(HARD)}")
    case = HARD[data]
    parameters = {**case.parameters, "C": float(cost)}
    if kernel == "linear":
        parameters.pop("gamma")
    return replace(case, parameters=parameters, kernel="rbf" if kernel == "rbf" else "linear")
