"""
When jobs were lost
===================

Jobs in five branches of the US economy, month by month from 2006 to 2015. When did the market for labour change its state? The
fit is told no date.

*Data*: ``us-employment`` in the vega-datasets package: Current Employment Statistics of the U.S. Bureau of Labor
Statistics, seasonally adjusted; a work of the US government, public domain.
"""

# %%
# From levels to changes
# ----------------------
# Levels drift, and a drift has no states. So features are changes from one month to the next, in per cent. The index of the
# frame, dates, is the position.

import pandas as pd
from matplotlib import pyplot as plt
from vega_datasets import local_data

from mcgta import MCGTA
from mcgta.drawing.palette import cluster_color

BRANCHES = [
    "construction",
    "manufacturing",
    "retail_trade",
    "leisure_and_hospitality",
    "professional_and_business_services",
]
jobs = local_data.us_employment().set_index("month")[BRANCHES]
jobs.index = pd.to_datetime(jobs.index)
changes = 100 * jobs.pct_change().dropna()
print(changes.head(3).T.round(2).to_string())

model = MCGTA().fit(changes)
print(model.choice_)

# %%
# The picture
# -----------
# ``plot`` draws the states along time, and below them the features that differ most.

model.plot()

# %%
# One spell sets itself apart:

usual = model.labels_[0]
spell = changes.index[model.labels_ != usual]
print(f"{spell[0]:%B %Y} to {spell[-1]:%B %Y}, {len(spell)} months")

# %%
# The National Bureau of Economic Research dates this recession from December 2007 to June 2009. Jobs began to go when it
# began, and went on for months after output had turned.

print(changes.groupby(model.labels_).mean().round(2).T)

figure, axes = plt.subplots(len(BRANCHES), 1, figsize=(9, 7), sharex=True, layout="constrained")
colours = [cluster_color(label) for label in model.labels_]
for ax, branch in zip(axes, BRANCHES, strict=True):
    ax.axhline(0, color="#999999", lw=0.6)
    ax.bar(changes.index, changes[branch], width=28, color=colours)
    ax.set_title(branch.replace("_", " "), fontsize=9, loc="left")
figure.supylabel("change [% a month]")

# %%
# Two states or three?
# --------------------
# The fit names a doubt: three clusters are about as good. What would the third be?

three = model.labels_for(3)
for cluster in range(3):
    months = changes.index[three == cluster]
    mean = changes[three == cluster].to_numpy().mean()
    print(
        f"cluster {cluster}: {months[0]:%Y-%m} to {months[-1]:%Y-%m}, mean change {mean:+.2f} % a month"
    )

# %%
# Then the calm before the recession and the calm after it differ, and the spell of losses stays as it was. This is what to
# report: the spell for sure, the rest perhaps.

# sphinx_gallery_start_ignore
assert model.n_clusters_ == 2
assert (changes[model.labels_ != usual].mean() < 0).all(), "jobs are lost in every branch"
assert any("3 clusters" in doubt for doubt in model.choice_.doubts)
assert f"{spell[0]:%Y-%m} {spell[-1]:%Y-%m} {len(spell)}" == "2008-01 2010-03 27"
assert set(three[model.labels_ != usual]) == {1}
# sphinx_gallery_end_ignore
