"""Describing a fit: what each cluster is, from its rows, their features and their positions."""

from __future__ import annotations

import numpy as np

from mcgta.description.contrasts import (
    contrast_correlations,
    contrast_features,
    rank_features,
    say_cluster,
    tells_spread,
)
from mcgta.description.description import ClusterDescription, Description, Motion, Places, Spells
from mcgta.description.moments import Moments
from mcgta.description.motion import describe_motion
from mcgta.description.patches import describe_places
from mcgta.description.spells import count_transitions, describe_spells, find_runs
from mcgta.fit import Fit
from mcgta.runtime.types import Array
from mcgta.runtime.wording import say_share
from mcgta.selection.choice import CLUSTERER
from mcgta.selection.families.family import FamilyModels
from mcgta.selection.families.registry import DYNAMICS

_TOLD_KINDS = 3  # of a region, in words
_COMMON_SHARE = 0.05


def describe(fit: Fit) -> Description:
    """Describe the clusters of a fit, in the units of the user's features and by the user's rows.

    Noise belongs to no cluster; the rest that a cluster is compared with are all other rows, noise among them. Rows that
    were left out because values are missing count as rows, and as noise, but are compared with nothing.
    """
    X = fit.data.raw
    labels = fit.labelling.labels[fit.data.back]
    n_rows = fit.n_rows
    n_clusters = fit.labelling.n_clusters
    names = feature_names(fit)
    positions = fit.data.positions
    moments = Moments.of(X, labels, n_clusters)
    spells: tuple[Spells | None, ...] = (None,) * n_clusters
    places: tuple[Places | None, ...] = (None,) * n_clusters
    transitions = None
    motions: tuple[Motion | None, ...] = (None,) * n_clusters
    if positions.is_chain:
        runs = find_runs(fit.labelling.labels, positions)
        spells = describe_spells(runs, n_clusters, positions)
        motions = describe_motion(X[fit.data.order], runs, n_clusters, positions)
        transitions = count_transitions(fit.labelling.labels, n_clusters, positions)
    elif n_clusters:
        places = describe_places(fit.labelling.labels, n_clusters, positions)
    rule = fit.labelling.rule
    shares = rule.kind_shares if isinstance(rule, FamilyModels) else None
    clusters = []
    for k in range(n_clusters):
        rest = moments.rest(k)
        size = int(moments.counts[k])
        contrasts = contrast_features(moments, k, rest, names)
        pairs = contrast_correlations(moments, k, rest, names)
        clusters.append(
            ClusterDescription(
                cluster=k,
                size=size,
                share=size / n_rows,
                words=say_family(fit.family, motions[k], None if shares is None else shares[k])
                + say_cluster(contrasts, pairs, rest, tell_spread=tells_spread(size, rest)),
                contrasts=contrasts,
                correlation_contrasts=pairs,
                spells=spells[k],
                places=places[k],
                partial_correlations=moments.partial_correlations(k),
                typical_rows=_user_rows(fit, moments.typical_rows(k, X)),
                mean=moments.means[k],
                deviation=moments.deviations(k),
                motion=motions[k],
                kind_shares=None if shares is None else shares[k],
            )
        )
    return Description(
        n_rows=n_rows,
        n_clusters=n_clusters,
        noise_share=float(np.mean(fit.labels < 0)),
        noise_reasons=noise_reasons(fit),
        feature_names=names,
        kind=positions.metric.domain,
        unit=positions.unit,
        clusters=tuple(clusters),
        transitions=transitions,
    )


def say_family(family: str, motion: Motion | None, shares: Array | None) -> str:
    """Say first what clusters were found to differ in, where that is not their level: how they move, or their kinds."""
    if family == DYNAMICS and motion is not None:
        return f"{motion}; "
    if shares is None:
        return ""
    common = [k for k in np.argsort(-shares, kind="stable")[:_TOLD_KINDS] if shares[k] >= _COMMON_SHARE]
    return ", ".join(f"{say_share(float(shares[k]))} of kind {k}" for k in common) + "; "


def distinguishing_features(fit: Fit) -> list[int]:
    """Return the columns of features, the one that distinguishes any cluster most from the rest first."""
    labels = fit.labelling.labels[fit.data.back]
    return rank_features(Moments.of(fit.data.raw, labels, fit.labelling.n_clusters))


def feature_names(fit: Fit) -> tuple[str, ...]:
    """Return the names of the features, or "feature 0" and so on where they have none."""
    if fit.names is not None:
        return tuple(map(str, fit.names))
    return tuple(f"feature {k}" for k in range(fit.data.raw.shape[1]))


def noise_reasons(fit: Fit) -> dict[str, int]:
    """Return how many rows are noise, by the reason in words."""
    failed = len(fit.failed)
    others = int(np.count_nonzero(fit.labelling.labels < 0)) - failed
    unlike = "no local model" if fit.models is not None else "cannot be compared"
    sparse = "too sparse" if fit.labelling.source == CLUSTERER else "in no cluster"
    if not fit.settings.clustering_algorithm.takes_options:
        sparse = "left out by the clusterer"
    counts = {unlike: failed, sparse: others, **({} if fit.missing is None else fit.missing.count_reasons())}
    return {reason: rows for reason, rows in counts.items() if rows}


def _user_rows(fit: Fit, rows: tuple[int, ...]) -> tuple[int, ...]:
    """Return the numbers by which the user knows some of the unsorted observations."""
    return rows if fit.data.rows is None else tuple(fit.data.rows[list(rows)].tolist())
