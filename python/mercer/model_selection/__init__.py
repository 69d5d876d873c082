"""Choosing the parameters of a machine."""

from mercer.model_selection._sigma_path import SigmaPath, sigma_path

__all__ = ["SigmaPath", "sigma_path"]
