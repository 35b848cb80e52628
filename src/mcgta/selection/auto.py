"""Settings that are left to the data: what is tried, and what is chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcgta.clustering.backend import Backend
from mcgta.clustering.labels import small_to_noise
from mcgta.clustering.linkage import ImpossibleCutError
from mcgta.observations import Observations
from mcgta.pipeline import Prepared, StageCache, choose_backend_for, cluster, open_search, prepare
from mcgta.runtime.progress import note, stage
from mcgta.runtime.types import Labels
from mcgta.runtime.warnings import warn
from mcgta.selection.choice import CLOSE_NATS, CLUSTERER, EVIDENCE, Choice, Contenders, make_choice
from mcgta.selection.noise import NOISE_AS_CLUSTER, NOISE_ASSIGNED, score_with_noise
from mcgta.selection.sampling import MAX_CHOSEN_ON_ALL_ROWS, MAX_SEARCHED_ROWS
from mcgta.selection.scoring import ScoredLabelling, score
from mcgta.selection.scoring_data import Scale, ScoringData
from mcgta.selection.search import SearchResult, search
from mcgta.settings import SEARCHED, Settings
from mcgta.stages.dissimilarity.registry import names_where

NEIGHBORS = (30, 20, 45)
"""Sizes of neighbourhoods to try."""

MANY_NEIGHBORS = (90, 180)
"""The same for more than ``MANY_ROWS`` observations, up to one in ``ROWS_A_NEIGHBOR``."""

MIN_SAMPLES = (1.0, 0.5, 1.5)
"""Observations that make a row core, in neighbourhoods."""

MARGINS = (0.0, 0.25)
"""Margins to try, in sills of the semivariogram."""

MANY_ROWS = 3000
"""Observations beyond which one setting is tried, or, where labels have to be the clusterer's, several n."""

ROWS_A_NEIGHBOR = 50
MAX_CLUSTERS_TRIED = 40
SMALLEST_SHARE = 500
"""A cluster with less than one in as many observations is noise, for the evidence."""

MIN_SAMPLES_TRIED = 2
"""The least number of observations that make a row core in a trial."""

RELATIVE = {"margin_in_sills": "margin", "min_samples_in_neighbors": "min_samples"}
"""Settings that are tried relative to what the stages before have found."""

PROMISING = 0.5
"""Share of what refined labels explain, from where on other settings of the clusterer are tried, too."""


@dataclass(frozen=True, eq=False)
class Selection:
    """What was chosen for observations.

    Attributes
    ----------
    settings : with values for what was left open
    choice : what was chosen, and why
    labels : (N,) those of the search, in canonical order, whether they are taken or not
    overlap : neighbours by which these were found where regions overlap; 0 where they do not
    best : the labelling of the search, scored
    others : the best labelling of each number of clusters that was looked at, fewest first; one cluster and ``best`` are among
        them
    """

    settings: Settings
    choice: Choice
    labels: Labels
    overlap: int
    best: ScoredLabelling
    others: tuple[ScoredLabelling, ...]


@dataclass(frozen=True, eq=False)
class Trial:
    """A labelling of the clusterer, scored, and the settings that give it."""

    scored: ScoredLabelling
    log_evidence: float
    settings: dict[str, Any]


def asks_for_search(settings: Settings) -> bool:
    """Whether the settings leave anything to search for.

    A radius has a meaning for one loss only, so setting it leaves nothing open.
    """
    if settings.refine == "all" or (settings.n_clusters != "auto" and not settings.wants_clusterer):
        return True
    return (
        settings.clustering_algorithm.takes_options
        and settings.is_auto("eps")
        and settings.dissimilarity_kind.chance_known
        and settings.prior is None
        and settings.penalty != "no_hinge"
    )


def is_searchable(settings: Settings, data: Observations) -> bool:
    """Whether there is anything to search for, and by: features that vary, and a labelling that can be scored.

    The clusterer's labels are not scored beyond ``MAX_CHOSEN_ON_ALL_ROWS`` observations, where the search looks at a sample.
    """
    too_many = settings.wants_clusterer and len(data.positions) > MAX_CHOSEN_ON_ALL_ROWS
    return asks_for_search(settings) and not too_many and Scale.of(data.X).columns.size > 0


def tell_unsearched(settings: Settings, data: Observations) -> None:
    """Say why nothing is searched for, where the data are the reason."""
    if Scale.of(data.X).columns.size == 0:
        _warn_of_offsets(data)
        if settings.n_clusters not in ("auto", 1) and not settings.wants_clusterer:
            raise ValueError(
                f"n_clusters={settings.n_clusters} is not possible: no feature varies, so there is nothing to part by"
            )
    elif asks_for_search(settings):
        note(
            f"nothing is searched for: with refine={settings.refine!r} labels have to be the clusterer's, which are not scored "
            f"beyond {MAX_CHOSEN_ON_ALL_ROWS:,} observations"
        )


def select(settings: Settings, data: Observations, cache: StageCache) -> Selection:
    """Search for the best labelling; return it, the settings chosen, and why.

    Results of stages go to the cache, from where the fit takes them again.
    """
    wanted = None if settings.n_clusters == "auto" else int(settings.n_clusters)
    of_search = None if settings.wants_clusterer else wanted
    scoring_data, result = search(data.X, data.positions, seed=data.seed, n_clusters=of_search)
    correlations = result.best.correlations if scoring_data.from_sample else None
    one = score(scoring_data, np.zeros(len(scoring_data), dtype=np.int64), correlations=correlations)
    trial: Trial | None = None
    if settings.refine != "all" and of_search is None and len(data.positions) <= MAX_CHOSEN_ON_ALL_ROWS:
        trial = best_trial(settings, data, scoring_data, result, one, cache)
    source = CLUSTERER if settings.wants_clusterer else EVIDENCE
    if settings.refine == "auto" and trial is not None:
        # Where neither is clearly ahead, refined labels are better for giving every observation a cluster.
        refined = result.best.log_evidence(result.overdispersion) >= trial.log_evidence - CLOSE_NATS
        source = EVIDENCE if refined else CLUSTERER
    chosen = settings.having(**({"n_neighbors": data.n_neighbors} if trial is None else trial.settings)).plain()
    best = result.best
    best_by_n_clusters = {
        **{scored.n_clusters: scored for scored in result.others},
        one.n_clusters: one,
        best.n_clusters: best,
    }
    others = tuple(best_by_n_clusters[count] for count in sorted(best_by_n_clusters))
    contenders = Contenders(scoring_data, result, one, None if trial is None else trial.scored, others, source, wanted)
    choice = make_choice(contenders, {name: getattr(chosen, name) for name in SEARCHED})
    return Selection(chosen, choice, result.labels, result.overlap, best, others)


def best_trial(
    settings: Settings,
    data: Observations,
    scoring_data: ScoringData,
    result: SearchResult,
    one: ScoredLabelling,
    cache: StageCache,
) -> Trial:
    """Try settings of the clusterer, each at several radii, changing one at a time; return the trial with the most evidence.

    Where a number of clusters is asked for that none of them can have, the last one's error is raised.
    """
    open_values = _open_values(settings, data)
    first = {name: tried[0] for name, tried in open_values.items()}
    starts = [first, *({**first, name: value} for name, tried in open_values.items() for value in tried[1:])]
    best: Trial | None = None
    with stage("settings"):
        while best is None:
            current = starts.pop(0)
            try:
                best = _try(settings, data, current, scoring_data, result, cache)
            except ImpossibleCutError:
                if not starts:
                    raise
        least = one.log_evidence(result.overdispersion)
        gain = result.best.log_evidence(result.overdispersion) - least
        promising = settings.wants_clusterer or best.log_evidence - least > max(0.0, PROMISING * gain)
        if promising and len(data.positions) <= MANY_ROWS:
            varied = list(open_values)
        else:
            varied = ["n_neighbors"] if settings.wants_clusterer and "n_neighbors" in open_values else []
        for name in varied:
            for value in dict.fromkeys(open_values[name]):
                if value == current[name]:
                    continue
                try:
                    other = _try(settings, data, {**current, name: value}, scoring_data, result, cache)
                except ImpossibleCutError:
                    continue
                if other.log_evidence > best.log_evidence:
                    best = other
                    current = {**current, name: value}
    return best


def _open_values(settings: Settings, data: Observations) -> dict[str, tuple[Any, ...]]:
    """Return the values to try of each setting that is left open, the first one first."""
    count = len(data.positions)
    sizes = [n for n in NEIGHBORS if n <= 1.5 * data.n_neighbors]
    if count > MANY_ROWS:
        sizes = [n for n in MANY_NEIGHBORS if n <= count / ROWS_A_NEIGHBOR]
    values: dict[str, tuple[Any, ...]] = {
        "n_neighbors": (data.n_neighbors, *sizes),
        "dissimilarity": names_where(chance_known=True),
        "beta": (1.0, 0.0),
        "margin_in_sills": MARGINS,
        "min_samples_in_neighbors": MIN_SAMPLES,
        "min_cluster_size": (None,),  # several with HDBSCAN, which proposes them
    }
    return {name: tried for name, tried in values.items() if settings.is_auto(RELATIVE.get(name, name))}


def to_parameters(values: Mapping[str, Any], *, n_neighbors: int, sill: float, least: int) -> dict[str, Any]:
    """Return values in which the margin is no longer told in sills, nor ``min_samples``, at least ``least``, in neighbours."""
    plain = dict(values)
    if "margin_in_sills" in plain:
        plain["margin"] = float(plain.pop("margin_in_sills") * sill)
    if "min_samples_in_neighbors" in plain:
        plain["min_samples"] = max(least, round(plain.pop("min_samples_in_neighbors") * n_neighbors))
    return plain


def _try(
    settings: Settings,
    data: Observations,
    relative: dict[str, Any],
    scoring_data: ScoringData,
    result: SearchResult,
    cache: StageCache,
) -> Trial:
    """Cluster with one setting at several radii; return the best labelling, noise treated as it will be."""
    size = int(relative.get("n_neighbors", data.n_neighbors))
    values = {**relative, "n_neighbors": size}
    sill = 0.0
    if relative.get("margin_in_sills"):
        plain = to_parameters({**values, "margin_in_sills": 0.0}, n_neighbors=size, sill=0.0, least=MIN_SAMPLES_TRIED)
        sill = float(_prepare(settings, data, plain, cache)[0].loss.semivariogram.sill_)
    values = to_parameters(values, n_neighbors=size, sill=sill, least=MIN_SAMPLES_TRIED)
    treatment = NOISE_ASSIGNED if settings.refine == "noise" else NOISE_AS_CLUSTER
    known = result.best
    best: Trial | None = None
    none_yet = False  # whether the best so far has no cluster at all, to which any other is preferred
    for more, labels in _labellings(settings, data, values, cache):
        count = int(labels.max()) + 1
        if best is not None and not 0 < count <= MAX_CLUSTERS_TRIED:
            continue
        # Fragments are scored as noise, though the fit keeps them. Correlations and tails are those that suit the labelling
        # of the search, which favours that a little: to find them for each trial would take too long (decision 38).
        large = small_to_noise(labels, max(scoring_data.d + 2, len(scoring_data) // SMALLEST_SHARE))
        (scored,) = score_with_noise(
            scoring_data, large, treatments=(treatment,), correlations=known.correlations, tails=known.tails
        ).values()
        trial = Trial(scored, scored.log_evidence(result.overdispersion), {**values, **more})
        if best is None or none_yet or trial.log_evidence > best.log_evidence:
            best = trial
            none_yet = count == 0
    assert best is not None
    return best


def _prepare(
    settings: Settings, data: Observations, values: dict[str, Any], cache: StageCache
) -> tuple[Prepared, Backend]:
    """Run Algorithm 1 up to the clustering; return how neighbours are to be searched for, too."""
    settings = settings.having(**values)
    data = data.with_neighbors(int(settings.n_neighbors))
    backend = choose_backend_for(data.raw.shape, settings)
    return prepare(data, settings, cache, backend=backend, quiet=True), backend


def _labellings(
    settings: Settings, data: Observations, values: dict[str, Any], cache: StageCache
) -> Iterator[tuple[dict[str, Any], Labels]]:
    """Yield what else has to be set, and the labels of all observations, noise -1."""
    prepared, backend = _prepare(settings, data, values, cache)
    neighbors = open_search(prepared, backend, cache)
    if settings.n_clusters != "auto":  # the clusterer is cut there, so no radius is left to choose
        yield {}, prepared.spread_out(cluster(prepared, neighbors).labels)
    elif prepared.options.min_samples > len(neighbors) or len(neighbors) > MAX_SEARCHED_ROWS:
        clustering = cluster(prepared, neighbors)
        eps = "auto" if np.isnan(clustering.eps) else clustering.eps
        yield {"eps": eps}, prepared.spread_out(clustering.labels)
    else:
        for more, labels in prepared.settings.clustering_algorithm.proposals(neighbors, prepared.options):
            yield more, prepared.spread_out(labels)


def _warn_of_offsets(data: Observations) -> None:
    """Warn where features vary, but by so little against their size that there is nothing to search by."""
    spread = np.ptp(data.X, axis=0)
    column = int(np.argmax(spread))
    if spread[column] > 0:
        warn(
            f"X: column {column} varies by {spread[column]:.3g} around {np.abs(data.X[:, column]).max():.3g}, which leaves too "
            "few digits to compare labellings by, and so do the others; subtract the offset of each feature before fitting"
        )
