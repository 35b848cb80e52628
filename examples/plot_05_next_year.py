"""
Weather: three years, and the next
==================================

Four years of daily weather in Seattle. The first three are clustered; the days of the fourth are then placed into the
same states, as one does with readings that come in.

*Data*: ``seattle-weather`` in the vega-datasets package; observations of NOAA, public domain.
"""

# %%
# Three years
# -----------
# A pandas frame goes in as it is, and its dates are the positions. Features of a day are its highest temperature, how
# far that is from the lowest, and the wind.

import numpy as np
from matplotlib import pyplot as plt
from vega_datasets import local_data

from mcgta import MCGTA
from mcgta.drawing.palette import cluster_color

weather = local_data.seattle_weather().set_index("date")
weather["swing"] = weather["temp_max"] - weather["temp_min"]
days = weather[["temp_max", "swing", "wind"]]
past = days.loc[:"2014"]
future = days.loc["2015":]

model = MCGTA().fit(past)
print(model.choice_)
print(past.groupby(model.labels_).mean().round(1))

# %%
# Three states: a cool one with little between day and night, a mild one, and a warm one with less wind.
# No month was given, yet they are seasons. They follow each other in a circle, with few exceptions:

from mcgta import plot

plot.transitions(model)

# sphinx_gallery_thumbnail_number = 2

# %%
# The fourth year
# ---------------
# ``predict`` goes on from the last labels, and says how sure it is of each day.

states, probabilities = model.predict(future, return_probabilities=True)
print(
    f"{(probabilities > 0.9).mean():.0%} of the days of 2015 are placed with a probability above 90 %"
)

figure, ax = plt.subplots(figsize=(10, 3.4), layout="constrained")
every = np.r_[model.labels_, states]
ax.scatter(days.index, days["temp_max"], c=[cluster_color(state) for state in every], s=5)
ax.axvline(future.index[0], color="black", ls="--")
ax.set(
    ylabel="highest of the day [°C]", title="left of the line: fitted; right of it: predicted"
)

# %%
# Does it carry over?
# -------------------
# The share of days in the warm state, month by month. In 2015 it came earlier and stayed longer than in the three
# years before.

warm = int(past.groupby(model.labels_)["temp_max"].mean().argmax())
before = (past.assign(warm=model.labels_ == warm)).groupby(past.index.month)["warm"].mean()
after = (future.assign(warm=states == warm)).groupby(future.index.month)["warm"].mean()
for month in range(4, 12):
    print(f"month {month:2}: {before[month]:4.0%} in 2012 to 2014, {after[month]:4.0%} in 2015")

# %%
# Read with care
# --------------
# A year is a circle, and seasons come gradually. Three states are a short description of it, not three things that
# exist: where one ends and the next begins is a matter of weeks.

# sphinx_gallery_start_ignore
assert model.n_clusters_ == 3
assert past.groupby(model.labels_)["wind"].mean().argmin() == warm
assert (probabilities > 0.9).mean() > 0.8
assert after[5] > before[5] + 0.2, "earlier"
assert after[10] > before[10] + 0.3, "longer"
# sphinx_gallery_end_ignore
