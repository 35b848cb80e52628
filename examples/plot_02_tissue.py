"""
Glands in a stained tissue
==========================

A picture of colon tissue, stained so that one protein shows brown and cell nuclei blue. Which parts are glands,
which the tissue between them, and which are empty? The picture is cut into small squares. Features of a square are its
colours, its position is where it lies.

*Data*: ``skimage.data.immunohistochemistry``, in the scikit-image package; taken at the Center for Microscopy and
Molecular Imaging, Gosselies; no known copyright restrictions.
"""

# %%
# From a picture to a table
# -------------------------
# ``rgb2hed`` separates the two stains. Each square of 10 × 10 pixels gives four features: the mean of each stain, and how
# much it varies within the square, as a logarithm.

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import ListedColormap
from skimage.color import rgb2hed
from skimage.data import immunohistochemistry

from mcgta import MCGTA
from mcgta.drawing.palette import cluster_colors

PIXELS = 10
picture = immunohistochemistry()
n_squares = len(picture) // PIXELS
whole = n_squares * PIXELS
stains = rgb2hed(picture)[:whole, :whole, [0, 2]]
squares = stains.reshape(n_squares, PIXELS, n_squares, PIXELS, 2)
means = squares.mean(axis=(1, 3)).reshape(-1, 2)
deviations = squares.std(axis=(1, 3)).reshape(-1, 2)
X = np.column_stack([means, np.log(deviations + 1e-4)])
rows, columns = np.indices((n_squares, n_squares))
positions = PIXELS * np.column_stack([columns.ravel(), rows.ravel()]) + PIXELS / 2
print(X.shape)

# %%
# One line
# --------
# Nothing is set: not how many kinds there are, nor how large they should be.

model = MCGTA().fit(X, positions=positions)
print(model.choice_)

# %%
# The picture
# -----------
# Glands, the tissue between them, and a third kind that is nearly without stain: the inside of a gland at the left, and
# a hole in the tissue at the right.

figure, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
axes[0].imshow(picture)
colours = ListedColormap(cluster_colors(model.n_clusters_))
axes[1].imshow(model.labels_.reshape(n_squares, n_squares), cmap=colours)
for ax in axes:
    ax.set(xticks=[], yticks=[])

# %%
# What position adds
# ------------------
# A Gaussian mixture sees the same features, and no positions. It is given the number of kinds. Each of its kinds gets the
# number of the cluster that it shares most squares with, so that colours can be compared. Count how many pairs of squares
# side by side are of different kinds: few means compact regions.

from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix
from sklearn.mixture import GaussianMixture

kinds = GaussianMixture(model.n_clusters_, random_state=0, n_init=3).fit_predict(X)
number_of = linear_sum_assignment(contingency_matrix(kinds, model.labels_), maximize=True)[1]
mixture = number_of[kinds]


def borders(labels: np.ndarray) -> float:
    """Return the share of pairs of squares side by side whose labels differ."""
    grid = labels.reshape(n_squares, n_squares)
    return float((grid[:, 1:] != grid[:, :-1]).mean())


for name, labels in (("mixture", mixture), ("mcgta", model.labels_)):
    print(f"{name:8} {borders(labels):.1%} of neighbours differ")

figure, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
for ax, labels, title in zip(
    axes, (mixture, model.labels_), ("mixture of Gaussians", "mcgta"), strict=True
):
    ax.imshow(labels.reshape(n_squares, n_squares), cmap=colours)
    ax.set(xticks=[], yticks=[], title=title)

# %%
# Read with care
# --------------
# Squares have one label each, so borders are no finer than a square. The picture is one slide of one person:
# what was found describes this slide.

# sphinx_gallery_start_ignore
assert model.n_clusters_ == 3
brown = [means[model.labels_ == cluster, 1].mean() for cluster in range(3)]
blue = [means[model.labels_ == cluster, 0].mean() for cluster in range(3)]
empty = model.labels_[rows.ravel() > 40][0]  # the lower left corner
assert brown[empty] < max(brown)
assert blue[empty] == min(blue), "nearly without stain"
assert empty in model.labels_.reshape(n_squares, n_squares)[35:, 35:], "a hole at the right"
assert borders(model.labels_) < borders(mixture)
# sphinx_gallery_end_ignore
