"""Bayesian kernel machines: relevance vectors, and Bayes points."""

from mercer.bayes._point import BayesPointClassifier
from mercer.bayes._relevance import RVC, RVR

__all__ = ["RVC", "RVR", "BayesPointClassifier"]
