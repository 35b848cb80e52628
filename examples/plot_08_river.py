"""
One change in a river
=====================

The flow of the Nile at Aswan, year by year from 1871 to 1970: a hundred numbers, and a textbook case of a change.
How much can be said with so little?

*Data*: ``nile`` in the statsmodels package; first analysed by Cobb (1978, *Biometrika* 65); public domain.
"""

# %%
# What is found
# -------------

import statsmodels.api as sm
from matplotlib import pyplot as plt

from mcgta import MCGTA
from mcgta.drawing.palette import cluster_color

river = sm.datasets.nile.load_pandas().data
model = MCGTA().fit(river[["volume"]], positions=river["year"])
print(model.choice_)

# %%
# Two states, and a doubt: one state for all years is about as good. The second state begins a year after the change that the
# literature has near 1898, when the first dam at Aswan was begun.

first = model.labels_[0]
change = int(river["year"][model.labels_ != first].min())
print(f"the first year of the second state is {change}")
print(river.groupby(model.labels_)["volume"].agg(["size", "mean", "std"]).round(0))

# %%
# The picture
# -----------

figure, ax = plt.subplots(figsize=(9, 3.4), layout="constrained")
ax.plot(river["year"], river["volume"], color="#bbbbbb", lw=0.8)
ax.scatter(
    river["year"], river["volume"], c=[cluster_color(label) for label in model.labels_], s=18
)
ax.set(ylabel="flow [10⁸ m³ a year]")

# %%
# Why so doubtful?
# ----------------
# The flow falls by about a quarter, and looks like a step. But a river also has wet and dry decades. The fit lets years depend
# on those before, so one state with slow ups and downs explains the flow nearly as well. A hundred years do not settle it, and
# the two values below are within five nats.

for other in model.alternatives_:
    print(f"K = {other.n_clusters}: log evidence {other.log_evidence:.1f}")
print(f"dependence within a state reaches {model.choice_.correlation_length:.1f} years")

# sphinx_gallery_start_ignore
assert change == 1899
assert model.n_clusters_ == 2
assert model.choice_.doubts == ("other answers are about as good: 1 cluster instead of 2",)
assert abs(model.alternatives_[0].log_evidence - model.alternatives_[1].log_evidence) < 5
means = river.groupby(model.labels_)["volume"].mean()
assert 0.2 < 1 - means.min() / means.max() < 0.3, "the flow falls by about a quarter"
# sphinx_gallery_end_ignore
