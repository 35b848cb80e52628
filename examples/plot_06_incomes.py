"""
Incomes of 48 states: many series at once
=========================================

Income per person in 48 states of the USA, from 1929 to 2009. Each state is a series of its own, and all are clustered together:
a state of the economy is the same thing wherever it occurs.

*Data*: ``us_income`` in the libpysal package; U.S. Bureau of Economic Analysis, a work of the US government.
"""

# %%
# A long table
# ------------
# One row for each state and year. ``groups`` names the state of each row: neighbours in time are looked for within it.

import csv

import libpysal
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import ListedColormap

from mcgta import MCGTA
from mcgta.drawing.palette import cluster_colors

with open(libpysal.examples.get_path("usjoin.csv"), newline="") as file:
    table = list(csv.reader(file))
years = np.array([int(year) for year in table[0][2:]])
names = np.array([row[0] for row in table[1:]])
incomes = np.array([row[2:] for row in table[1:]], dtype=float)
growth = 100 * np.diff(np.log(incomes), axis=1)
print(growth.shape, "states and years")

X = growth.reshape(-1, 1)
positions = np.tile(years[1:], len(names))
groups = np.repeat(names, len(years) - 1)
model = MCGTA(2, family="level").fit(X, positions=positions, groups=groups)
print(model.choice_)

# %%
# Two kinds of time
# -----------------
# Left to itself, the search takes a spread that comes and goes for volatility, and finds one cluster. Here two are asked for.
#
# One kind has steady growth, the other has growth that jumps up and down. The two hardly differ in their mean. They differ in
# their spread, which is why local *models* are compared and not single numbers.

for cluster in range(model.n_clusters_):
    members = X[model.labels_ == cluster]
    print(
        f"cluster {cluster}: {members.size:4} years, growth {members.mean():.1f} ± {members.std():.1f} % a year"
    )

# %%
# The picture
# -----------
# A row is a state, sorted by the years that it spends in the first cluster. Nearly all leave the jumpy times around
# 1950, farming states last.

states = model.labels_.reshape(len(names), -1)
order = np.argsort((states == 0).sum(axis=1), kind="stable")
figure, ax = plt.subplots(figsize=(9, 8), layout="constrained")
colours = ListedColormap(cluster_colors(model.n_clusters_))
ax.imshow(
    states[order], aspect="auto", cmap=colours, extent=(years[1], years[-1] + 1, len(names), 0)
)
ax.set(yticks=np.arange(len(names)) + 0.5, yticklabels=names[order])
ax.tick_params(axis="y", labelsize=7)

# %%
# Last to leave, and when:

for row in order[-4:]:
    last = years[1:][states[row] == 0][-1]
    print(f"{names[row]:14} {(states[row] == 0).sum()} years in cluster 0, the last in {last}")

# sphinx_gallery_start_ignore
assert model.n_clusters_ == 2
assert X[model.labels_ == 0].std() > 3 * X[model.labels_ == 1].std()
assert abs(X[model.labels_ == 0].mean() - X[model.labels_ == 1].mean()) < 2
left = np.array(
    [years[1:][row == 0][-1] for row in states]
)  # the last year of each state in jumpy times
assert np.median(left) in range(1945, 1958)
assert {*names[order[-4:]]} == {"Iowa", "Nebraska", "South Dakota", "North Dakota"}
# sphinx_gallery_end_ignore
