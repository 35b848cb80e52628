"""
Landforms on both sides of a fault
==================================

A map of heights in Tennessee, 30 by 32 kilometres, around a fault. Which parts of the map are the same kind of land,
and where are the borders? Nothing is set: not the number of landforms, nor their size.

*Data*: ``jacksboro_fault_dem.npz`` in the matplotlib package, under the licence of matplotlib; heights on a grid of three
seconds of arc.
"""

# %%
# From heights to a table
# -----------------------
# The map is cut into squares of 10 by 10 heights. A square has three features: its mean height, its relief (the highest
# less the lowest), and its mean slope. Relief and slope are taken as logarithms, since their spread grows with them.
# Its position is longitude and latitude.

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import get_data_path
from matplotlib import pyplot as plt
from matplotlib.colors import LightSource, ListedColormap
from matplotlib.patches import Patch

from mcgta import MCGTA
from mcgta.drawing.palette import cluster_colors

SIDE = 10  # heights along a side of a square
METRES_PER_DEGREE = 111_200
terrain = np.load(Path(get_data_path()) / "sample_data" / "jacksboro_fault_dem.npz")
n_rows = terrain["elevation"].shape[0] // SIDE
n_columns = terrain["elevation"].shape[1] // SIDE
height = terrain["elevation"][: n_rows * SIDE, : n_columns * SIDE].astype(float)
north = terrain["ymax"] - terrain["dy"] * np.arange(len(height))
east = terrain["xmin"] + terrain["dx"] * np.arange(height.shape[1])

down = np.gradient(height, METRES_PER_DEGREE * terrain["dy"], axis=0)
across = np.gradient(
    height, METRES_PER_DEGREE * terrain["dx"] * np.cos(np.radians(north.mean())), axis=1
)
slope = np.degrees(np.arctan(np.hypot(down, across)))


def squares(grid: np.ndarray) -> np.ndarray:
    """Return the values of each square as a row."""
    return (
        grid.reshape(n_rows, SIDE, n_columns, SIDE)
        .transpose(0, 2, 1, 3)
        .reshape(n_rows * n_columns, -1)
    )


X = pd.DataFrame(
    {
        "height": squares(height).mean(axis=1),
        "log relief": np.log(np.ptp(squares(height), axis=1)),
        "log slope": np.log(squares(slope).mean(axis=1)),
    }
)
longitude, latitude = np.meshgrid(east, north)
positions = pd.DataFrame(
    {"longitude": squares(longitude).mean(axis=1), "latitude": squares(latitude).mean(axis=1)}
)
print(X.round(2).head(3))

# %%
# One line
# --------
# Columns named longitude and latitude are degrees, so distances are metres along the globe.

model = MCGTA().fit(X, positions=positions)
print(model.choice_)

# %%
# The map
# -------
# Three landforms: mountains, a plateau with less relief on both sides of them in the north, and a valley in the east. The
# border between mountains and the eastern plateau follows the fault, the straight line from the north-west to the middle. No
# feature says where it is.

extent = (east[0], east[-1], north[-1], north[0])
relief = LightSource(azdeg=315, altdeg=45).hillshade(height, vert_exag=0.05)
colours = cluster_colors(model.n_clusters_)
found = model.labels_.reshape(n_rows, n_columns)
figure, axes = plt.subplots(1, 2, figsize=(10, 5.2), layout="constrained")
for ax in axes:
    ax.imshow(relief, cmap="gray", extent=extent)
axes[0].set(ylabel="latitude", title="the land, lit from the north-west")
axes[1].imshow(
    found, cmap=ListedColormap(colours), extent=extent, alpha=0.6, interpolation="nearest"
)
axes[1].set_title("the landforms found")
stretch = 1 / np.cos(
    np.radians(north.mean())
)  # a degree of latitude is longer than one of longitude
for ax in axes:
    ax.set(aspect=stretch, xlabel="longitude", xticks=[-84.4, -84.3, -84.2, -84.1])
handles = [
    Patch(color=colour, label=f"cluster {cluster}") for cluster, colour in enumerate(colours)
]
axes[1].legend(handles=handles, loc="lower right")

# %%
# What sets them apart
# --------------------
# ``describe`` compares each cluster with the rest, and ``plot.profiles`` draws it.

from mcgta import plot

print(model.describe())
plot.profiles(model)

# %%
# Is it real?
# -----------
# Parts of the map are left out, and the rest is clustered again.

from mcgta import stability

again = stability(model)
print(again)

# %%
# The mountains come again. Plateau and valley are doubtful: they lie at the edge, so most of them is missing whenever that
# part is left out. Rely on the mountains. Where valley and plateau end, one map of 30 kilometres does not settle.

# %%
# How far it reaches
# ------------------
# How far is land related to the land around it? The range of the semivariogram says it in metres:

print(f"{model.semivariogram_.range_ / 1000:.1f} km")

# sphinx_gallery_start_ignore
assert model.n_clusters_ == 3
mountains = int(X.groupby(model.labels_)["log relief"].mean().argmax())
valley = int(X.groupby(model.labels_)["height"].mean().argmin())
plateau = 3 - mountains - valley
assert (found[-5:, :20] == mountains).mean() > 0.95, "mountains in the south-west"
assert (found[-15:, -10:] == valley).mean() > 0.95, "a valley in the south-east"
assert found[0, 0] == plateau, "the plateau on one side of the mountains"
assert found[0, -1] == plateau, "and on the other"
assert again.verdicts[plateau] == "doubtful"
assert again.verdicts[mountains] != "doubtful"
# sphinx_gallery_end_ignore
