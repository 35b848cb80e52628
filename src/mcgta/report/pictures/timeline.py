"""The timeline of a report: strips of clusters and courses of features, packed for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcgta.drawing.series import Series, list_series
from mcgta.report.pictures.alternatives import Shown, count_numbers
from mcgta.report.pictures.courses import MOST_FEATURES, pack_courses
from mcgta.report.pictures.packing import Pack
from mcgta.report.pictures.strips import STRIP_COLUMNS, pack_strips
from mcgta.report.pictures.time_axis import TimeAxis, time_axis
from mcgta.report.subject import Subject
from mcgta.runtime.wording import say_share

SHOWN_FEATURES = 3
"""Features that are drawn at first."""


@dataclass(frozen=True, eq=False)
class Timeline:
    """What a timeline shows.

    Attributes
    ----------
    series : the groups that are drawn
    axis : of time
    features : columns of the features whose course is there, the most distinguishing first
    values : for the page
    remarks : what has been thinned, left out or cut off
    """

    series: list[Series]
    axis: TimeAxis
    features: list[int]
    values: dict[str, Any]
    remarks: list[str]


def make_timeline(subject: Subject, shown: list[Shown], pack: Pack) -> Timeline:
    """Pack what the timeline of a subject needs."""
    fit = subject.fit
    drawn = list_series(fit)
    series = drawn.series
    axis = time_axis(fit, drawn)
    features = subject.features[:MOST_FEATURES]
    numbers = count_numbers(shown)
    packed = [pack_strips(pack, series, each.labels, numbers, axis) for each in shown]
    courses = pack_courses(pack, series, fit.data.raw[:, features], fit.data.order, axis)
    values = {
        "axis": axis.values(),
        "groups": [each.name for each in series],
        "strips": [strips for strips, _ in packed],
        "features": [subject.names[k] for k in features],
        "shown": min(SHOWN_FEATURES, len(features)),
        **courses.values,
    }
    remarks = []
    n_rows = sum(each.times.size for each in series)
    if not all(full for _, full in packed):
        remarks.append(f"Strips show shares of time in at most {STRIP_COLUMNS:,} columns, since states change often.")
    if courses.full:
        remarks.append(f"All {n_rows:,} rows are in the page.")
    elif courses.columns == 0:
        remarks.append("Features are drawn by the mean of each moment, and a bar from its least to its largest value.")
    else:
        remarks.append(
            f"Thinned: of {n_rows:,} rows, the page holds the least, largest and mean value of each feature in "
            f"{courses.columns:,} columns of time{' of each group' if len(series) > 1 else ''}. Figures are of every row."
        )
    if drawn.left_out:
        remarks.append(f"Only the first {len(series)} of {len(series) + drawn.left_out} groups are drawn.")
    if len(features) < len(subject.features):
        remarks.append(f"{len(features)} of {len(subject.features)} features, the most distinguishing ones.")
    if courses.cut_share > 0:
        remarks.append(f"{say_share(courses.cut_share)} of the values lie beyond the edges of their bands.")
    if fit.missing is not None and fit.missing.rows.size:
        remarks.append(f"{fit.missing.rows.size:,} rows with missing values are not drawn.")
    return Timeline(series, axis, features, values, remarks)
