"""
How many? Fifty years of an economy
===================================

Growth and inflation of the USA, quarter by quarter from 1959 to 2009. The number of clusters is a choice here, and the fit says
so. This page shows how to look at the other answers.

*Data*: ``macrodata`` in the statsmodels package: Federal Reserve Bank of St. Louis, Bureau of Labor Statistics; public domain.
"""

# %%
# What is found
# -------------

import numpy as np
import statsmodels.api as sm
from matplotlib import pyplot as plt
from matplotlib.colors import ListedColormap

from mcgta import MCGTA, stability
from mcgta.palette import cluster_colors

table = sm.datasets.macrodata.load_pandas().data
time = (table["year"] + (table["quarter"] - 1) / 4).to_numpy()[1:]
growth = 100 * np.diff(np.log(table["realgdp"]))
X = np.column_stack([growth, table["infl"][1:]])
model = MCGTA().fit(X, positions=time)
print(model.choice_)

# %%
# A lead of a few nats is little, and other numbers are within five nats of the best. So look at them.

# %%
# The other answers
# -----------------
# ``alternatives_`` has the best labelling of each number of clusters, with its evidence, and what distinguishes it in words.

for other in model.alternatives_[:5]:
    print(other.n_clusters, f"clusters, log evidence {other.log_evidence:.1f};", other.difference)

# %%
# Each has a picture. Two answers agree on the years from 1973 to 1983, the time of oil crises and high inflation.

figure, axes = plt.subplots(5, 1, figsize=(9, 6), sharex=True, height_ratios=(3, 3, 1, 1, 1), layout="constrained")
for ax, values, name in zip(axes, X.T, ("growth [%]", "inflation [%]"), strict=False):
    ax.plot(time, values, lw=0.8, color="#444444")
    ax.set_ylabel(name)
for ax, count in zip(axes[2:], (2, 3, 4), strict=True):
    labels = model.labels_for(count)
    colours = ListedColormap(cluster_colors(count))
    ax.imshow(labels[None], aspect="auto", cmap=colours, extent=(time[0], time[-1] + 0.25, 0, 1))
    ax.set(yticks=[], ylabel=f"K = {count}")

# %%
# Would it come out again?
# ------------------------
# Parts of the data are left out, and the rest is clustered again. What dissolves is not to be relied on.

print(stability(model))

# %%
# What to report
# --------------
# That the years from 1973 to 1983 differ from the rest, and that finer cuts are a matter of taste. With 202 quarters
# more is not in the data.

# sphinx_gallery_start_ignore
assert model.n_clusters_ == 3
assert len(X) == 202
assert model.choice_.doubts
# sphinx_gallery_end_ignore
