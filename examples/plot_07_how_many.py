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
import pandas as pd
import statsmodels.api as sm
from matplotlib import pyplot as plt
from matplotlib.colors import ListedColormap

from mcgta import MCGTA, plot, stability
from mcgta.drawing.palette import cluster_colors

table = sm.datasets.macrodata.load_pandas().data
time = (table["year"] + (table["quarter"] - 1) / 4).to_numpy()[1:]
growth = 100 * np.diff(np.log(table["realgdp"]))
X = pd.DataFrame({"growth": growth, "inflation": table["infl"].to_numpy()[1:]})
model = MCGTA().fit(X, positions=time)
print(model.choice_)

# %%
# A lead of a few nats is little, and other numbers are within five nats of the best. So look at them.

# %%
# The other answers
# -----------------
# ``alternatives_`` has the best labelling of each number of clusters, with its evidence, and what distinguishes it in words.

for other in model.alternatives_[:5]:
    print(f"K = {other.n_clusters}, log evidence {other.log_evidence:.1f}; {other.difference}")

# %%
# ``plot.evidence`` draws them. Answers in the grey band are about as good as the best.

plot.evidence(model)

# sphinx_gallery_thumbnail_number = 2

# %%
# Here are three of them. Those with three and four clusters agree on the years from 1973 to 1983, the time of oil crises and
# high inflation: they set them apart, and find the same kind of time again from 2005 on. The one with two clusters does not.

figure, axes = plt.subplots(
    5, 1, figsize=(9, 6), sharex=True, height_ratios=(3, 3, 1, 1, 1), layout="constrained"
)
for ax, name in zip(axes, X, strict=False):
    ax.plot(time, X[name], lw=0.8, color="#444444")
    ax.set_ylabel(f"{name} [%]")
for ax, count in zip(axes[2:], (2, 3, 4), strict=True):
    labels = model.labels_for(count)
    colours = ListedColormap(cluster_colors(count))
    ax.imshow(
        labels[None], aspect="auto", cmap=colours, extent=(time[0], time[-1] + 0.25, 0, 1)
    )
    ax.set(yticks=[], ylabel=f"K = {count}")

# %%
# Would it come out again?
# ------------------------
# Parts of the data are left out, and the rest is clustered again. What dissolves is not to be relied on.

again = stability(model)
print(again)
plot.stability(again)

# %%
# What to report
# --------------
# That the years from 1973 to 1983 are unlike those before and after them, and that this is a hint: no cluster is stable.
# Finer cuts are a matter of taste. With 202 quarters more is not in the data.

# sphinx_gallery_start_ignore
assert model.n_clusters_ == 3
assert len(X) == 202
assert model.choice_.doubts
assert set(again.verdicts) == {"doubtful"}
crises = (time >= 1974) & (time < 1983)
for count in (3, 4):
    labels = model.labels_for(count)
    assert len({*labels[crises]}) == 1
    assert labels[crises][0] == labels[-1], "the same kind again at the end"
    assert labels[crises][0] not in labels[time < 1972]
assert len({*model.labels_for(2)[time < 1985]}) == 1, (
    "two clusters do not set these years apart"
)
# sphinx_gallery_end_ignore
