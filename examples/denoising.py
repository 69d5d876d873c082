"""Denoising
=========

Denoising digits: pre-images of kernel PCA beside linear PCA.

K.-R. Müller, "Introduction to kernel-based learning", after S. Mika and others, "Kernel PCA and
de-noising in feature spaces", 1999: components of 300 images of each digit of USPS, without noise;
ten other images of each digit with Gaussian noise (a deviation of 0.5) or speckle (40% of the
pixels become black or white); projections on n components, and the images nearest to these. For
kernel PCA these are fixed points. The width, ``k(x, y) = exp(-|x - y|^2 / 256)``, is the best of
four powers of two for training images that were left out. No figures are published, only pictures:
here the mean squared error says that kernel PCA is better than linear PCA at the number of
components that is best for it on these very images. A minute: python examples/denoising.py
[denoising.png]
"""

# sphinx_gallery_thumbnail_path = '../examples/denoising.png'
import numpy as np
from _gallery import load, picture, table
from sklearn.decomposition import PCA

from mercer.decomposition import KernelPCA
from mercer.kernels import RBF

COUNTS = 1, 4, 16, 64, 256
KERNEL = RBF(gamma=1 / 256)


def first_of_each(y: np.ndarray, count: int) -> np.ndarray:
    """Return the numbers of the first images of each digit, digit after digit."""
    return np.concatenate([np.flatnonzero(y == digit)[:count] for digit in range(10)])


def speckled(images: np.ndarray, share: float, random_state: np.random.RandomState) -> np.ndarray:
    """Return images of which a share of the pixels is black or white."""
    drawn = random_state.choice([-1.0, 1.0], size=images.shape)
    return np.where(random_state.uniform(size=images.shape) < share, drawn, images)


def linear(X: np.ndarray, noisy: np.ndarray) -> np.ndarray:
    """Return what linear PCA makes of images, with 1, 2, ... components."""
    pca = PCA().fit(X)
    steps = ((noisy - pca.mean_) @ pca.components_.T)[:, :, None] * pca.components_
    return pca.mean_ + np.cumsum(steps, axis=1).swapaxes(0, 1)


def kernel(X: np.ndarray, noisy: np.ndarray) -> dict[int, np.ndarray]:
    """Return the pre-images of projections on the leading components."""
    cleaned = {}
    for count in COUNTS:
        pca = KernelPCA(count, kernel=KERNEL, pre_image="fixed_point", random_state=0).fit(X)
        cleaned[count] = pca.inverse_transform(pca.transform(noisy), start=noisy)
    return cleaned


def main() -> None:
    """Print the errors, and draw a digit of each kind."""
    X, y, Z, truth = load("usps")
    X, clean = (
        np.asarray(rows[first_of_each(labels, count)], dtype=float)
        for rows, labels, count in ((X, y, 300), (Z, truth, 10))
    )
    random_state = np.random.RandomState(0)
    noises = {
        "Gaussian noise": clean + random_state.normal(scale=0.5, size=clean.shape),
        "speckle noise": speckled(clean, 0.4, random_state),
    }
    rows, shown = [], {}
    for name, noisy in noises.items():
        flat, curved = linear(X, noisy), kernel(X, noisy)
        errors = np.square(flat - clean).mean(axis=(1, 2))
        best = errors.argmin()
        rows += [
            (f"{name}, linear", *(f"{errors[n - 1]:.4f}" for n in COUNTS), "", ""),
            (f"{name}, kernel", *(f"{np.square(curved[n] - clean).mean():.4f}" for n in COUNTS)),
        ]
        least = min(np.square(images - clean).mean() for images in curved.values())
        rows[-2] = (*rows[-2][:-2], f"{errors[best]:.4f} at {best + 1}")
        rows[-1] = (*rows[-1], f"{least:.4f}")
        some = np.arange(0, 100, 10)
        shown[name] = [clean[some], noisy[some]]
        shown[name] += [flat[n - 1][some] for n in COUNTS] + [curved[n][some] for n in COUNTS]
    table(
        "Mean squared error of 100 images of USPS, pixels from -1 to 1",
        ("", *(f"n = {n}" for n in COUNTS), "best"),
        rows,
    )

    def draw(figure):
        labels = ["original", "noisy", *(f"linear, n = {n}" for n in COUNTS)]
        labels += [f"kernel, n = {n}" for n in COUNTS]
        for ax, (name, images) in zip(figure.subplots(1, 2), shown.items(), strict=True):
            lines = [np.hstack(list(line.reshape(10, 16, 16))) for line in images]
            # Few shades keep the file small.
            wall = np.round(3.5 * np.clip(np.vstack(lines), -1, 1)) / 3.5
            ax.imshow(wall, cmap="gray_r", vmin=-1, vmax=1, interpolation="nearest")
            ax.set_xticks([])
            ax.set_yticks(
                16 * np.arange(len(labels)) + 8,
                labels if ax.get_subplotspec().is_first_col() else [],
            )
            ax.tick_params(length=0)
            ax.grid(visible=False)
            for line in (2, 7):
                ax.axhline(16 * line - 0.5, color="#b2182b", lw=1)
            ax.set_title(name.capitalize())
        figure.suptitle("USPS digits, denoised by linear and by kernel PCA")

    picture(draw, (13.0, 7.9))


if __name__ == "__main__":
    main()
