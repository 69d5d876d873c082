r"""
Tutorial: from the margin to novelty
====================================

Kernel machines in one hour, with pictures that the library draws. You need to know what a vector
and a dot product are. Every line of code on this page runs, and the page is a notebook too: the
link is at its end.
"""

# %%
# A line between two classes
# --------------------------
#
# Here are two groups of points. Many lines separate them. Which one is best for points that we have
# not seen yet?

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs, make_circles

from mercer import SVC, SVDD, SVR, OneClassSVM
from mercer.plots import decision_boundary

X, y = make_blobs(60, centers=[[-1.5, -1], [1.5, 1]], cluster_std=0.6, random_state=3)

fig, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for ax in axes:
    ax.scatter(*X.T, c=y, cmap="coolwarm", s=18)
    ax.set(xlim=(-3.3, 3.3), ylim=(-3, 3), aspect="equal")
line = np.array([-3.3, 3.3])
for slope, height in ((-0.4, 0.1), (-1.2, 0.5), (-3.5, -0.6)):
    axes[0].plot(line, slope * line + height, "0.5", lw=1)
axes[0].set_title("all of these separate the classes")
decision_boundary(SVC(kernel="linear", C=np.inf).fit(X, y), X, y, ax=axes[1])
axes[1].get_legend().remove()
axes[1].set_title("the widest street between them")
plt.show()

# %%
# The answer of the support vector machine is the line with the largest *margin*: the one that is
# as far as possible from the nearest point of either class. On the right you see it: the street
# between the dashed lines is as wide as it can be, and the ringed points at its kerb, the *support
# vectors*, hold it in place. All other points could move, or go, without moving the line.
#
# Write the line as :math:`f(x) = w \cdot x + b = 0`, with :math:`f = +1` and :math:`f = -1` at the
# two kerbs. Then the street is :math:`2 / |w|` wide, and the widest street solves
#
# .. math::
#
#    \min_{w, b} \tfrac12 |w|^2 \quad \text{subject to} \quad y_i (w \cdot x_i + b) \ge 1 .
#
# ``C=np.inf`` in the code above asks for exactly this, the *hard margin*.

# %%
# When classes overlap: the cost C
# --------------------------------
#
# Real classes overlap, and then no line separates them. So let points stand in the street, or on
# the wrong side, and charge for it: a point pays :math:`C` times the distance by which it misses
# its kerb.
#
# .. math::
#
#    \min_{w, b} \tfrac12 |w|^2 + C \sum_i \max(0, 1 - y_i f(x_i))
#
# A small :math:`C` makes errors cheap and the street wide; a large one gives a narrow street that
# tries to get every point right.

X, y = make_blobs(120, centers=[[-1, -0.7], [1, 0.7]], cluster_std=0.9, random_state=0)

fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
for ax, C in zip(axes, (0.01, 1, 100), strict=True):
    model = SVC(kernel="linear", C=C).fit(X, y)
    decision_boundary(model, X, y, ax=ax)
    ax.get_legend().remove()
    ax.set_title(f"C = {C}: {len(model.support_)} support vectors")
plt.show()

# %%
# The dual: only dot products matter
# ----------------------------------
#
# The same problem can be stated from the other side. Give every point a coefficient
# :math:`\beta_i`, positive for one class and negative for the other. The best
# :math:`w` is always a weighted sum of points, :math:`w = \sum_i \beta_i x_i`, and the coefficients
# solve
#
# .. math::
#
#    \min_\beta \tfrac12 \sum_{ij} \beta_i \beta_j \, x_i \cdot x_j - \sum_i y_i \beta_i
#    \quad \text{subject to} \quad 0 \le y_i \beta_i \le C, \quad \sum_i \beta_i = 0 .
#
# Points outside the street have :math:`\beta_i = 0`; points in it have :math:`|\beta_i| = C`; those
# at the kerb are in between. The two problems have the same optimum, so the difference of their
# values tells how far from the optimum a solution is. Mercer reports it for every fit:

model = SVC(kernel="linear", C=1, tol=1e-6).fit(X, y)
w = model.dual_coef_[0] @ model.support_vectors_
print("w from the coefficients", w.round(4), "and as the model has it", model.coef_[0].round(4))
print("sum of the coefficients", abs(round(model.dual_coef_.sum(), 12)))
print(model.report_.status, "with a duality gap of", f"{model.report_.duality_gap:.1e}")

# %%
# Kernels: lines in a larger space
# --------------------------------
#
# In the dual, points occur only in dot products :math:`x_i \cdot x_j`. Replace these by a function
# :math:`k(x_i, x_j)` that is a dot product in some other space, and the same programme finds a line
# *there*: seen from here, a curve. Mercer's theorem, after which this library is named, says which
# functions will do: those whose matrices :math:`K_{ij} = k(x_i, x_j)` have no negative eigenvalue.
#
# .. math::
#
#    f(z) = \sum_i \beta_i \, k(x_i, z) + b
#
# A disc in a ring cannot be separated by a line, but a polynomial of degree two does it easily, and
# so does the Gaussian kernel :math:`k(x, z) = \exp(-\gamma |x - z|^2)`.

X, y = make_circles(160, factor=0.4, noise=0.12, random_state=0)

fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
for ax, kernel in zip(axes, ("linear", "poly", "rbf"), strict=True):
    model = SVC(kernel=kernel, degree=2, C=1).fit(X, y)
    decision_boundary(model, X, y, ax=ax)
    ax.get_legend().remove()
    ax.set(title=f"{kernel}: {model.score(X, y):.0%} right", aspect="equal")
plt.show()

# %%
# The Gaussian kernel has a width, by way of :math:`\gamma`. Too wide a kernel sees only the coarse
# shape, too narrow a one learns every point by heart. :math:`C` and :math:`\gamma` are chosen
# together, by cross-validation. Mercer's search shares the kernel between all costs and folds, so
# that it takes little longer than a few fits.

from mercer.datasets import make_checkerboard
from mercer.model_selection import GridSearchCV
from mercer.plots import search as draw_search

X, y = make_checkerboard(600, random_state=0)
grid = {"C": np.logspace(-1, 4, 6), "gamma": np.logspace(-2, 2, 5)}
search = GridSearchCV(SVC(), grid, cv=5).fit(X, y)

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
draw_search(search, ax=left)
decision_boundary(search.best_estimator_, X, y, ax=right)
right.get_legend().remove()
right.set(title=f"{search.best_score_:.1%} right on rows held out", aspect="equal")
plt.show()

# %%
# Kernels can be added, multiplied and scaled, since sums and products of kernels are kernels:
# ``RBF(sigma=1.5) + 0.1 * Linear()`` is one. They need not be of numbers either. This one counts
# the substrings that two words share:

from mercer.kernels import Spectrum

words = ["banana", "bandana", "cabana", "mississippi", "missouri", "minneapolis"]
fruit = SVC(kernel=Spectrum(length=3).normalized()).fit(words, ["b", "b", "b", "m", "m", "m"])
print(fruit.predict(["havana", "mission"]))

# %%
# Regression: a tube instead of a street
# --------------------------------------
#
# For regression turn the picture round. The function should have as many points as possible
# *inside* a tube of half-width :math:`\varepsilon`, and be as flat as possible; a point outside
# pays for its distance from the tube.
#
# .. math::
#
#    \min_{w, b} \tfrac12 |w|^2 + C \sum_i \max(0, |y_i - f(x_i)| - \varepsilon)
#
# Points inside the tube are no support vectors. With the pinball loss instead, the function is a
# *quantile*: so many percent of the points are below it.

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 150))
t = np.sin(x) + rng.normal(scale=0.1 + 0.05 * x)
rows, grid = x[:, np.newaxis], np.linspace(0, 10, 300)[:, np.newaxis]

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
tube = SVR(C=10, epsilon=0.3, gamma=0.5).fit(rows, t)
middle = tube.predict(grid)
left.plot(x, t, ".", color="0.6")
left.plot(x[tube.support_], t[tube.support_], ".", color="tab:red", label="support vectors")
left.plot(grid, middle, "k")
left.fill_between(grid[:, 0], middle - 0.3, middle + 0.3, color="tab:blue", alpha=0.2)
left.set_title("the tube")
left.legend()
right.plot(x, t, ".", color="0.6")
for quantile, style in ((0.1, "C0--"), (0.5, "k-"), (0.9, "C0--")):
    line = SVR(loss="pinball", quantile=quantile, C=3, gamma=0.1).fit(rows, t)
    right.plot(grid, line.predict(grid), style, label=f"{quantile:.0%}")
    print(f"below the line of {quantile:.0%}: {np.mean(t <= line.predict(rows)):.0%} of the points")
right.set_title("quantiles by the pinball loss")
right.legend()
plt.show()

# %%
# Novelty: one class only
# -----------------------
#
# Sometimes only normal examples are known, and the task is to notice what is not normal.
# :class:`~mercer.svm.OneClassSVM` finds the plane in feature space that has most of the rows on its
# far side; :class:`~mercer.svm.SVDD` finds the smallest sphere around them. For both, ``nu`` bounds
# the share of training rows that end outside. With a Gaussian kernel the two boundaries are the
# same, as the picture shows.

X = np.concatenate(
    [
        make_blobs(120, centers=[[-1.5, 0]], cluster_std=0.5, random_state=0)[0],
        make_blobs(120, centers=[[1.2, 0.6]], cluster_std=0.6, random_state=1)[0],
    ]
)
across, up = np.meshgrid(np.linspace(-4, 4, 200), np.linspace(-3, 3, 150))
mesh = np.column_stack([across.ravel(), up.ravel()])

fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
for ax, machine in zip(
    axes, (OneClassSVM(nu=0.1, gamma=0.5), SVDD(nu=0.1, gamma=0.5)), strict=True
):
    machine.fit(X)
    values = machine.decision_function(mesh).reshape(across.shape)
    ax.contourf(across, up, values, levels=20, cmap="RdBu", alpha=0.6)
    ax.contour(across, up, values, levels=[0], colors="k")
    outside = machine.predict(X) < 0
    ax.plot(*X[~outside].T, ".", color="0.2", ms=4)
    ax.plot(*X[outside].T, "x", color="k", ms=6)
    ax.set(title=f"{type(machine).__name__}: {outside.mean():.1%} outside", aspect="equal")
plt.show()

# %%
# Where to go from here
# ---------------------
#
# - The :doc:`user guide </guide/index>` answers one question on each page: how to choose a kernel
#   and C, what to do about unequal classes, how to get probabilities, what to do with large data.
# - The :doc:`gallery </gallery/index>` repeats experiments of the literature.
# - The :doc:`reference </reference/index>` has every name.
