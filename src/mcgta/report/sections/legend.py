"""The legend: colour, number and share of each cluster, a switch, and "only this"; noise with its reasons."""

from __future__ import annotations

from mcgta.report.markup.html import Markup, element, join
from mcgta.report.subject import Subject, badge
from mcgta.runtime.wording import say_share

MOST_STICKY = 12
"""Clusters up to which the legend stays in view while the page scrolls."""


def write_legend(subject: Subject, numbers: int) -> Markup:
    """Return the legend; ``numbers`` are those of all labellings that the page can show, some without rows at first."""
    description = subject.description
    shares = [each.share for each in description.clusters]
    shares += [0.0] * (numbers - len(shares))
    items = [_item(k, share, "") for k, share in enumerate(shares)]
    if description.noise_share or not shares:
        reasons = ", ".join(f"{reason}: {rows:,} rows" for reason, rows in description.noise_reasons.items())
        items.append(_item(-1, description.noise_share, f" noise ({reasons})" if reasons else " noise"))
    sticky = " sticky" if len(items) <= MOST_STICKY else ""
    return element(
        "section",
        element("h2", "Legend", id="legend", class_="unseen"),
        element("ul", *items, class_="legend"),
        element(
            "div",
            element("button", "Show all", type="button", id="show-all"),
            element("span", "All are shown.", id="selection", role="status"),
            class_="live row",
            hidden=True,
        ),
        element("p", "", id="labelling-note", class_="note", hidden=True, role="status"),
        class_=f"legend-box{sticky}",
        aria_labelledby="legend",
    )


def _item(cluster: int, share: float, words: str) -> Markup:
    """Return the entry of a cluster; clusters without rows are hidden until a labelling has them."""
    called = "noise" if cluster < 0 else f"cluster {cluster}"
    switch = element(
        "input",
        type="checkbox",
        checked=True,
        class_="live switch",
        hidden=True,
        data_switch=cluster,
        aria_label=f"show {called}",
    )
    only = element(
        "button", "only", type="button", class_="live only", hidden=True, data_only=cluster, aria_label=f"only {called}"
    )
    said = element("span", say_share(share), class_="share", data_share=cluster)
    label = element("label", switch, badge(cluster), " ", said, words or None)
    return element("li", join([label, only]), hidden=cluster >= 0 and share == 0.0, data_item=cluster)
