"""Components of data in feature space."""

from mercer.decomposition._kernel_pca import KernelPCA

__all__ = ["KernelPCA"]
