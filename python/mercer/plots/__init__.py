"""Pictures of fitted machines. They need matplotlib: ``pip install mercer[demo]``."""

from mercer.plots._boundary import decision_boundary
from mercer.plots._convergence import convergence
from mercer.plots._novelty import novelty
from mercer.plots._reliability import reliability
from mercer.plots._search import search
from mercer.plots._tube import regression_tube

__all__ = [
    "convergence",
    "decision_boundary",
    "novelty",
    "regression_tube",
    "reliability",
    "search",
]
