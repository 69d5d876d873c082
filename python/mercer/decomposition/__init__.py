"""Components in feature space."""

from mercer.decomposition._kernel_ica import KernelICA
from mercer.decomposition._kernel_pca import KernelPCA

__all__ = ["KernelICA", "KernelPCA"]
