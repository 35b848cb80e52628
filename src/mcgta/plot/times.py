"""The timeline: which cluster when, and the features that distinguish clusters most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mcgta.description.summary import feature_names
from mcgta.drawing.palette import NOISE_COLOR, cluster_color, cluster_colors
from mcgta.drawing.series import MOST_GROUPS, Series, list_series
from mcgta.drawing.time_shares import course, envelope, shares_of_time, stack_shares, wide_stretches
from mcgta.fit import Fit
from mcgta.plot.canvas import (
    SMALL_TEXT,
    add_cluster_legend,
    faint,
    ink,
    name_length,
    new_axes,
    remark,
    settle_layout,
    shorten,
    size_in_inches,
    size_in_pixels,
    text_on,
)
from mcgta.plot.reading import cluster_shares, fit_of, read_features, refuse_kind
from mcgta.runtime.types import Array
from mcgta.runtime.wording import readable_time_unit, say_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURE_INCHES = (9.0, 3.6)
DEFAULT_FEATURES = 3
MOST_COLUMNS = 4000
STRIP_PIXELS = 48
MOST_NUMBERS = 60
"""Stretches of strips that have the number of their cluster written in them."""

_NUMBER_INCHES = (0.12, 0.08)  # width of a stretch with a number, and more for each of its digits
_STRIP_HEIGHT = 0.8
_BAND_GAP = 0.25
_TWO_LINES_INCHES = 0.36  # height of a band that has room for two lines of text beside it
_TICK_INCHES = 0.95
_SECONDS_PER_DAY = 86_400.0
_NANOSECONDS_PER_DAY = 1e9 * _SECONDS_PER_DAY
_SHOWN_QUANTILES = (0.001, 0.999)
"""Values of a feature beyond these quantiles are cut off, so that single outliers do not flatten the rest."""


def timeline(model: Any, *, features: int | Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw which cluster holds when, groups one below another.

    Each pixel column of a strip is divided by the shares of time that clusters hold in it, so that a million rows show no
    less than a thousand do; wide stretches have the number of their cluster. Time without rows, from 20 typical steps on,
    stays blank.

    Features stand below the strip of a group: as lines, or where pixels have many rows as the mean, a band with the middle 80 %
    of values, and one with all. Below the name of a feature are the values at the lower and the upper end of its band; the
    outermost 0.1 % of values at either side are drawn there.

    Parameters
    ----------
    model : fitted MCGTA along time, or in space and time
    features : names of features to draw, or how many of the most distinguishing; None is 3 for one group and none for more
    ax : axes to draw on; None is a new figure

    Returns
    -------
    the axes
    """
    fit = fit_of(model)
    refuse_kind(fit, "timeline", ("time", "spacetime"), "mcgta.plot.map or model.plot()")
    alone = np.unique(fit.data.positions.groups).size == 1
    columns = read_features(fit, features, DEFAULT_FEATURES if alone else 0)
    series, step, left_out = list_series(fit)
    axes = new_axes(ax, _figure_inches(len(series), len(columns)))
    scale = _TimeScale.of(fit)
    limits = _limits(series, step)
    edges = np.linspace(*limits, min(int(size_in_pixels(axes)[0]), MOST_COLUMNS) + 1)
    ticks: list[tuple[float, str]] = []
    top = 0.0
    names = feature_names(fit)
    bands = len(series) * (_STRIP_HEIGHT + _BAND_GAP + len(columns) * (1.0 + _BAND_GAP))
    roomy = size_in_inches(axes)[1] / bands > _TWO_LINES_INCHES
    for each in series:
        shares = shares_of_time(each.times, fit.labelling.labels[each.rows], fit.labelling.n_clusters, edges, step)
        extent = (*scale.place(np.array(limits)).tolist(), top - _STRIP_HEIGHT, top)
        _draw_strip(axes, shares, extent, fit.labelling.n_clusters)
        _number_strip(axes, shares, extent, max(MOST_NUMBERS // len(series), 1))
        ticks.append((top - _STRIP_HEIGHT / 2, shorten(each.name or "cluster", name_length(axes))))
        top -= _STRIP_HEIGHT + _BAND_GAP
        for column in columns:
            values = fit.data.raw[fit.data.order[each.rows], column]
            low, high = np.quantile(values, _SHOWN_QUANTILES).tolist()
            _draw_feature(axes, each, values, _Band(edges, step, scale, top - 1.0, (low, high)))
            reach = f"\n{say_number(low)} to {say_number(high)}" if roomy else ""
            ticks.append((top - 0.5, f"{shorten(names[column], name_length(axes))}{reach}"))
            top -= 1.0 + _BAND_GAP
    axes.set_ylim(top + _BAND_GAP - 0.05, 0.05)
    axes.set_yticks([height for height, _ in ticks], [text for _, text in ticks])
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlim(*scale.place(np.array(limits)))
    scale.label(axes)
    add_cluster_legend(axes, *cluster_shares(fit))
    if left_out:
        remark(axes, f"the first {MOST_GROUPS} of {MOST_GROUPS + left_out} groups")
    settle_layout(axes)
    return axes


class _TimeScale(NamedTuple):
    """How times of a fit stand on the axis: as dates, or divided by a unit."""

    origin: int | None
    size: float
    name: str

    @classmethod
    def of(cls, fit: Fit) -> _TimeScale:
        positions = fit.data.positions
        times = positions.coordinates[:, -1]
        if positions.origin is not None:
            return cls(positions.origin, 1.0, "")
        if positions.dated:
            unit, size = readable_time_unit(float(np.ptp(times)) / 3)
            return cls(None, size, f"time [{unit}]")
        return cls(None, 1.0, "step" if positions.unit == "step" else "time")

    def place(self, times: Array) -> Array:
        """Return where times stand: in matplotlib's days, or in the unit."""
        if self.origin is None:
            return times / self.size
        from matplotlib import dates

        kit: Any = dates  # whose functions are not annotated
        since = self.origin / _NANOSECONDS_PER_DAY + kit.date2num(np.datetime64(0, "ns"))
        return np.asarray(since + times / _SECONDS_PER_DAY)

    def label(self, axes: Axes) -> None:
        """Label the axis of time."""
        room = size_in_inches(axes)[0] / _TICK_INCHES
        if self.origin is None:
            axes.set_xlabel(self.name)
            axes.locator_params(axis="x", nbins=int(np.clip(room, 1, 9)))
            axes.xaxis.set_major_formatter(lambda time, _: f"{time:,.10g}")
            return
        from matplotlib import dates

        kit: Any = dates  # whose classes are not annotated
        locator = kit.AutoDateLocator(minticks=2, maxticks=int(np.clip(room, 3, 9)))
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(kit.ConciseDateFormatter(locator))


class _Band(NamedTuple):
    """Where a feature is drawn: columns of time, typical step, scale, the lower end of the band, and the values at its ends."""

    edges: Array
    step: float
    scale: _TimeScale
    bottom: float
    limits: tuple[float, float]


def _limits(series: Sequence[Series], step: float) -> tuple[float, float]:
    """Return the first and the last time to draw, never equal."""
    first = min(float(each.times[0]) for each in series)
    last = max(float(each.times[-1]) for each in series) + step
    return (first, last) if last > first else (first - 0.5, first + 0.5)


def _figure_inches(groups: int, features: int) -> tuple[float, float]:
    """Return the size of a new figure, higher for more bands."""
    return FIGURE_INCHES[0], float(np.clip(1.1 + groups * (0.55 + 0.75 * features), 2.0, 14.0))


def _draw_feature(axes: Axes, series: Series, values: Array, band: _Band) -> None:
    """Draw the course of a feature in a band of height one."""
    low, high = band.limits
    span = high - low if high > low else 1.0
    heights = band.bottom + np.clip((values - low) / span, -0.05, 1.05) * 0.95 + 0.025
    if values.size <= 2 * band.edges.size:
        times, line = course(series.times, heights, band.step)
        axes.plot(band.scale.place(times), line, color=ink(), lw=0.7)
        return
    seen = envelope(series.times, heights, band.edges, band.step)
    times = band.scale.place(seen.times)
    axes.fill_between(times, seen.least, seen.largest, color=faint(), lw=0, alpha=0.25)
    axes.fill_between(times, seen.low, seen.high, color=faint(), lw=0, alpha=0.6)
    axes.plot(times, seen.mean, color=ink(), lw=0.6)


def _number_strip(axes: Axes, shares: Array, extent: tuple[float, float, float, float], most: int) -> None:
    """Write the numbers of clusters into the widest stretches that they have for themselves."""
    left, right, bottom, top = extent
    columns = len(shares)
    column_inches = size_in_inches(axes)[0] / columns
    digit = _NUMBER_INCHES[1] / column_inches
    for stretch in wide_stretches(shares, int(np.ceil(_NUMBER_INCHES[0] / column_inches + digit)))[:most]:
        text = str(stretch.cluster)
        if stretch.end - stretch.begin < _NUMBER_INCHES[0] / column_inches + digit * len(text):
            continue
        x = left + (right - left) * 0.5 * (stretch.begin + stretch.end) / columns
        color = text_on(cluster_color(stretch.cluster))
        axes.text(x, 0.5 * (bottom + top), text, ha="center", va="center", fontsize=SMALL_TEXT, color=color)


def _draw_strip(axes: Axes, shares: Array, extent: tuple[float, float, float, float], n_clusters: int) -> None:
    """Draw a strip of shares of time as one picture."""
    from matplotlib.colors import to_rgba_array

    colors = np.concatenate([to_rgba_array([*cluster_colors(n_clusters), NOISE_COLOR]), [[0, 0, 0, 0]]])
    picture = colors[stack_shares(shares, max(STRIP_PIXELS, 4 * (n_clusters + 1)))]
    axes.imshow(picture, extent=extent, aspect="auto", interpolation="nearest", origin="upper")
    axes.tick_params(axis="y", labelsize=SMALL_TEXT)
