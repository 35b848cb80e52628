"""
Three textures, and the truth
=============================

A picture is put together from three photographs: bricks, grass and gravel. So it is known what a clustering should find,
and one can count. The photographs are made equally bright and equally rich in contrast, so that grey alone tells nothing.

*Data*: ``brick``, ``grass`` and ``gravel`` in the scikit-image package; from CC0Textures, Creative Commons CC0.
"""

# %%
# A picture with known parts
# --------------------------

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import ListedColormap
from skimage import data
from skimage.filters import gaussian, sobel_h, sobel_v
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from mcgta import MCGTA
from mcgta.drawing.palette import cluster_colors

SIDE = 16  # pixels along a side of a square
photographs = np.stack([data.brick(), data.grass(), data.gravel()]).astype(float)
photographs -= photographs.mean(axis=(1, 2), keepdims=True)
photographs /= photographs.std(axis=(1, 2), keepdims=True)
size = photographs.shape[1]
down, across = np.indices((size, size))
parts = np.where(across > down + 50, 1, 0)
parts[(down - 350) ** 2 + (across - 215) ** 2 < 140**2] = 2
picture = np.choose(parts, photographs)

# %%
# From a picture to a table
# -------------------------
# A square of 16 × 16 pixels has three features: how strong its fine grain is, how strong its coarser grain is, and whether
# edges run across rather than down. All three are logarithms of mean squares.


def strength(values: np.ndarray) -> np.ndarray:
    """Return the logarithm of the mean square of each square of the picture."""
    n_squares = size // SIDE
    return np.log(
        (values**2).reshape(n_squares, SIDE, n_squares, SIDE).mean(axis=(1, 3)).ravel() + 1e-5
    )


fine = strength(picture - gaussian(picture, 1))
coarse = strength(gaussian(picture, 1) - gaussian(picture, 3))
across_over_down = strength(sobel_h(picture)) - strength(sobel_v(picture))
X = np.column_stack([fine, coarse, across_over_down])
positions = np.column_stack([across[::SIDE, ::SIDE].ravel(), down[::SIDE, ::SIDE].ravel()])
truth = parts[SIDE // 2 :: SIDE, SIDE // 2 :: SIDE].ravel()

model = MCGTA(family="level").fit(X, positions=positions)
print(model.choice_)

# %%
# Against the truth
# -----------------
# The adjusted Rand index is 1 for the truth and 0 for chance. Two methods that know nothing of position are told that there are
# three textures; mcgta is not.

scaled = X / X.std(axis=0)
labellings = {
    "k-means": KMeans(3, n_init=10, random_state=0).fit_predict(scaled),
    "mixture of Gaussians": GaussianMixture(3, n_init=5, random_state=0).fit_predict(scaled),
    "mcgta": model.labels_,
}
for name, labels in labellings.items():
    print(f"{name:20} ARI {adjusted_rand_score(truth, labels):.2f}")

figure, axes = plt.subplots(1, 4, figsize=(11, 3.2), layout="constrained")
axes[0].imshow(picture, cmap="gray")
axes[0].set_title("picture")
colours = ListedColormap(cluster_colors(3))
for ax, (name, labels) in zip(axes[1:], labellings.items(), strict=True):
    ax.imshow(labels.reshape(size // SIDE, -1), cmap=colours)
    ax.set_title(name)
for ax in axes:
    ax.set(xticks=[], yticks=[])

# %%
# Bricks are the reason. A square may be all brick, all mortar, or both, so a single square says little. The *local model*
# of a square is fitted to the squares around it, and these always have both.

# %%
# Where it ends
# -------------
# Smaller squares hold less of each texture, and features then overlap. With 8 pixels, grass and gravel go together:

SIDE = 8
X = np.column_stack(
    [
        strength(picture - gaussian(picture, 1)),
        strength(gaussian(picture, 1) - gaussian(picture, 3)),
        strength(sobel_h(picture)) - strength(sobel_v(picture)),
    ]
)
positions = np.column_stack([across[::SIDE, ::SIDE].ravel(), down[::SIDE, ::SIDE].ravel()])
smaller = MCGTA(family="level").fit(X, positions=positions)
print(smaller.n_clusters_, "clusters with squares of 8 pixels")

# sphinx_gallery_start_ignore
scores = {name: adjusted_rand_score(truth, labels) for name, labels in labellings.items()}
assert model.n_clusters_ == 3
assert scores["mcgta"] > 0.8
assert max(scores["k-means"], scores["mixture of Gaussians"]) < 0.4
assert smaller.n_clusters_ == 2
finer = parts[SIDE // 2 :: SIDE, SIDE // 2 :: SIDE].ravel()
brick = np.bincount(smaller.labels_[finer == 0]).argmax()
assert (smaller.labels_[finer != 0] != brick).mean() > 0.8, "grass and gravel go together"
# sphinx_gallery_end_ignore
