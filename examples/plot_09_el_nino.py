"""
El Niño: when there are no clusters
===================================

The temperature of the sea off Peru, month by month from 1950 to 2010. Every few years it is warm for a while: El Niño.
One speaks of warm, cold and neutral *states*. Does the series have states?

*Data*: ``elnino`` in the statsmodels package: NOAA, ERSST v3b, region Niño 1+2; public domain.
"""

# %%
# What is found
# -------------
# The season is taken out first: each month is compared with the mean of that month over all years.

import numpy as np
import statsmodels.api as sm
from matplotlib import pyplot as plt

from mcgta import MCGTA

table = sm.datasets.elnino.load_pandas().data
by_month = table.drop(columns="YEAR")
anomaly = (by_month - by_month.mean()).to_numpy().ravel()
time = 1950 + np.arange(anomaly.size) / 12
model = MCGTA().fit(anomaly[:, None], positions=time)
print(model.choice_)

# %%
# No cluster structure does not mean that nothing is there. Months have a lot to do with each other:

reach = model.semivariogram_.range_
print(f"months up to {reach:.1f} years apart are related")

figure, ax = plt.subplots(figsize=(9, 3.2), layout="constrained")
ax.fill_between(time, anomaly, 0, where=anomaly > 0, color="#ee6677", lw=0)
ax.fill_between(time, anomaly, 0, where=anomaly <= 0, color="#0072b2", lw=0)
ax.set(xlim=(1950, 2011), ylabel="warmer or colder\nthan usual [°C]")

# %%
# Temperature swings up and down gradually. The events of 1982 and 1997 are the ends of a continuum, and between warm and
# neutral there is no gap. Meteorologists know that: they call it El Niño when a mean passes a threshold, a convention.

# %%
# What others would say
# ---------------------
# K-means returns as many clusters as it is asked for, whatever is there. Evidence says what they are worth: less than
# one cluster.

from sklearn.cluster import KMeans

from mcgta import compare_labellings

labellings = {}
for k in (2, 3, 5):
    labellings[f"k-means, {k}"] = KMeans(k, n_init=10, random_state=0).fit_predict(
        anomaly[:, None]
    )
compared = compare_labellings(anomaly[:, None], labellings, positions=time)
print(compared)

# %%
# A threshold may be of use all the same. But then it is a definition, and no finding.

# sphinx_gallery_start_ignore
assert model.n_clusters_ == 1
assert model.choice_.doubts
assert str(compared).splitlines()[1].startswith("one cluster"), "one cluster is best"
# sphinx_gallery_end_ignore
