"""
Counties: a cluster that dissolves
==================================

The 159 counties of Georgia in 1990: how many people have a degree, how many are poor, how many are black. The fit finds
a small cluster, and doubts it. Is it real?

*Data*: ``georgia`` in the libpysal package, from the US census of 1990, a work of the US government; put together by
Fotheringham, Brunsdon and Charlton (2002, *Geographically Weighted Regression*).
"""

# %%
# What is found
# -------------
# Positions are degrees, so distances are metres along the globe.

import numpy as np
import pandas as pd
from libpysal.examples import get_path

from mcgta import MCGTA, stability

FEATURES = ["PctBach", "PctPov", "PctBlack"]
counties = pd.read_csv(get_path("GData_utm.csv"))
X = counties[FEATURES]
positions = counties[["Longitud", "Latitude"]].set_axis(["longitude", "latitude"], axis=1)
model = MCGTA().fit(X, positions=positions)
print(model.choice_)

# %%
# Seven counties have many graduates and few poor. Four nats is a draw, and the fit says more: neighbours agree no more than
# any two counties, so these are not regions.

print(X.groupby(model.labels_).mean().round(1))

model.plot()

# %%
# Is it found again?
# ------------------
# Leave out a fifth of the map, cluster the rest, and compare. Twenty times.

again = stability(model)
print(again)

# %%
# It is not. Most resamples find one cluster only, and the small one dissolves.

# %%
# Does it hang on a choice of ours?
# ---------------------------------
# Shares of people cannot be negative, and a few are large. On a logarithmic scale these are nothing special:

logs = MCGTA().fit(np.log(X[["PctBach", "PctPov"]]), positions=positions)
print(logs.choice_)

# %%
# It does. So the honest answer is one cluster. Counties differ, and they do so gradually. The range says up to which distance
# they are related:

print(f"{logs.semivariogram_.range_ / 1000:.0f} km")

# %%
# With a hundred or two hundred rows ask :func:`mcgta.stability`, and try the transformation that you would also defend.

# sphinx_gallery_start_ignore
assert model.n_clusters_ == 2
assert model.choice_.doubts
assert (model.labels_ == 1).sum() == 7
assert again.verdicts[1] == "dissolved"
assert logs.n_clusters_ == 1
# sphinx_gallery_end_ignore
