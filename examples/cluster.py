"""A cluster
=========

A machine and a search on a Dask cluster: the same optimum and the same results as at home.

`DaskSVC` trains on rows that are divided among two processes. After each round every process
examines all its rows in float64: the picture shows how the gap of the whole problem closes. The
search sends one task for each gamma and fold. Another cluster is another address of the Client.
Needs dask and distributed. Some seconds: python examples/cluster.py [cluster.png]
"""

# sphinx_gallery_thumbnail_path = '../examples/cluster.png'
import joblib
import numpy as np
from _gallery import MARKERS, picture, table
from sklearn.datasets import make_classification, make_moons

from mercer import SVC
from mercer.model_selection import GridSearchCV

ROWS = 4000
GRID = {"gamma": [0.01, 0.1, 1.0], "C": [1.0, 10.0]}


def data() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return rows and classes by name."""
    mixed = make_classification(ROWS, 20, n_informative=10, flip_y=0.05, random_state=0)
    return {"mixture": mixed, "moons": make_moons(ROWS, noise=0.3, random_state=0)}


def main() -> None:
    """Print what was found on the cluster and at home, and draw the gaps."""
    import dask.array as da
    from distributed import Client, LocalCluster

    from mercer.dask import DaskSVC

    gaps, lines = {}, []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        for name, (X, y) in data().items():
            rows = da.from_array(X, chunks=(ROWS // 4, X.shape[1]))
            model = DaskSVC(C=10.0, tol=1e-4).fit(rows, da.from_array(y, chunks=ROWS // 4))
            local = SVC(C=10.0, tol=1e-4).fit(X, y)
            values = model.decision_function(rows).compute()
            difference = np.abs(values - local.decision_function(X)).max()
            report = model.report_
            gaps[name] = report.gaps
            sent = f"{report.bytes_sent / 2**20:.2f} MB"
            lines.append((name, report.rounds, sent, f"{report.gap:.1e}", f"{difference:.1e}"))
        X, y = data()["moons"]
        with joblib.parallel_backend("dask"):
            search = GridSearchCV(SVC(), GRID, cv=3).fit(X[:1000], y[:1000])
    header = ("rows", "rounds", "sent", "gap of all rows", "difference of values")
    table("DaskSVC, C = 10, tol = 1e-4", header, lines)
    home = GridSearchCV(SVC(), GRID, cv=3).fit(X[:1000], y[:1000])
    scores = "mean_test_score"
    same = np.array_equal(search.cv_results_[scores], home.cv_results_[scores])
    found = [(str(search.best_params_), f"{search.best_score_:.3f}", "yes" if same else "no")]
    table("GridSearchCV", ("best parameters", "score", "same scores as at home"), found)

    def draw(figure):
        axes = figure.subplots()
        for (name, of_rounds), marker in zip(gaps.items(), MARKERS, strict=False):
            axes.semilogy(np.arange(1, len(of_rounds) + 1), of_rounds, marker=marker, label=name)
        axes.axhline(1e-4, color="black", ls=":", label="tol")
        axes.set(xlabel="round", ylabel="gap over all rows")
        axes.set_title("DaskSVC on two processes: the gap of the whole problem closes")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend()

    picture(draw)


if __name__ == "__main__":
    main()
