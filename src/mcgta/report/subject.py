"""The subject of a report: a fit, its description, and what several sections need of both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mcgta.description import Description, describe
from mcgta.description.moments import Moments
from mcgta.description.summary import distinguishing_features
from mcgta.description.verdict import noun
from mcgta.drawing.palette import NOISE_COLOR, cluster_color
from mcgta.fit import Fit
from mcgta.report.markup.html import DASH, Markup, element
from mcgta.runtime.cached import cached_property
from mcgta.runtime.types import Array, Index, Labels

MOST_CLUSTERS = 60
"""Clusters that get a card, the largest ones."""


@dataclass(frozen=True, eq=False)
class Subject:
    """What a report is about.

    Attributes
    ----------
    fit : whose report it is
    title : of the page
    name : of the file that it is written to, without its folder and suffix
    """

    fit: Fit
    title: str
    name: str

    @cached_property
    def description(self) -> Description:
        """What each cluster is."""
        return describe(self.fit)

    @cached_property
    def moments(self) -> Moments:
        """Means and scatter of the clusters, over the unsorted observations."""
        return Moments.of(self.fit.data.raw, self.unsorted_labels, self.n_clusters)

    @cached_property
    def features(self) -> list[int]:
        """Columns of features, the most distinguishing first."""
        return distinguishing_features(self.fit)

    @property
    def unsorted_labels(self) -> Labels:
        """(N,) clusters of the observations as they were given, those left out not counted."""
        return self.fit.labelling.labels[self.fit.data.back]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.description.feature_names

    @property
    def n_clusters(self) -> int:
        """K."""
        return self.fit.labelling.n_clusters

    @property
    def domain(self) -> str:
        """What positions are: "time", "space", "spacetime" or "other"."""
        return self.fit.data.positions.metric.domain

    @property
    def sizes(self) -> Index:
        """(K,) rows of each cluster."""
        labels = self.fit.labelling.labels
        return np.bincount(labels[labels >= 0], minlength=self.n_clusters)

    @cached_property
    def shown_clusters(self) -> list[int]:
        """Clusters that get a card, by their numbers: all, or the largest ones."""
        return np.sort(np.argsort(-self.sizes, kind="stable")[:MOST_CLUSTERS]).tolist()

    @cached_property
    def overall(self) -> tuple[Array, Array]:
        """(d,) mean and standard deviation of all observations, the latter 1 where a feature does not vary."""
        X = self.fit.data.raw
        spread = X.std(axis=0, ddof=1)
        return X.mean(axis=0), np.where(spread > 0, spread, 1.0)

    def clusters_are(self, count: int) -> str:
        """Return what clusters are called, as so many: states along time, regions in space."""
        return noun(self.domain, count)


def badge(cluster: int) -> Markup:
    """Return the number of a cluster on its colour; of noise a dash. The style of the page has a class for each colour."""
    return element("span", DASH if cluster < 0 else str(cluster), class_=f"badge {color_class(cluster)}")


def color_class(cluster: int) -> str:
    """Return the class of the style that has the colour of a cluster."""
    return "c-noise" if cluster < 0 else f"c{cluster}"


def color_rules(n_clusters: int) -> str:
    """Return the style of the colours of so many clusters: ground, text on it that can be read, and fill of pictures."""
    listed = [(f"c{k}", cluster_color(k)) for k in range(n_clusters)]
    return "\n".join(
        f".{name}{{background:{color};color:{ink_on(color)};fill:{color};stroke:{color}}}"
        for name, color in [("c-noise", NOISE_COLOR), *listed]
    )


def ink_on(color: str) -> str:
    """Return black or white, whichever has more contrast to a colour (WCAG 2.2, relative luminance)."""
    parts = np.array(list(bytes.fromhex(color[1:]))) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    return "#000" if (luminance + 0.05) ** 2 > 0.0525 else "#fff"
