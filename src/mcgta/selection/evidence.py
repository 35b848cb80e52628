"""How good a labelling is without known labels, whichever algorithm made it, and which of several is best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mcgta.clustering.labels import number_by_first_member
from mcgta.observations.features import column_names
from mcgta.observations.observations import align_positions, check_columns, read_features, sort_observations
from mcgta.positions.reading import read_groups, read_positions
from mcgta.runtime.random import draw_seed
from mcgta.runtime.rules import INF, Rule, check_value
from mcgta.runtime.types import Array, Index, Labels
from mcgta.selection.choice import correlation_lengths
from mcgta.selection.noise import NOISE_AS_CLUSTER, NOISE_ASSIGNED, score_with_noise
from mcgta.selection.sampling import MAX_CHOSEN_ON_ALL_ROWS, MAX_SEARCHED_ROWS, sample_rows
from mcgta.selection.scoring.overdispersion import estimate_overdispersion
from mcgta.selection.scoring.scored_labelling import ScoredLabelling
from mcgta.selection.scoring.scoring_data import ScoringData
from mcgta.selection.search import RANDOM_JOIN_COUNT_RATIO, count_joins
from mcgta.settings import RULES

NOISE = {
    NOISE_AS_CLUSTER: (NOISE_AS_CLUSTER,),
    NOISE_ASSIGNED: (NOISE_ASSIGNED,),
    "best": (NOISE_AS_CLUSTER, NOISE_ASSIGNED),
}
"""Ways to score noise that are tried."""

ONE = "one cluster"
"""The name of the labelling that others are measured by."""

SCORED = 20_000
"""Observations of a sample."""

_NUMBERS = 1_500_000  # observations times features that are scored without sampling, for the sake of memory
_ROUGH = 1.2  # times overdispersion, from where on a larger one is advised
_OVERDISPERSION = Rule(real=(1, INF))


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence of a labelling, and what it is made of.

    ``log_evidence`` is ``marginal + (gain - jacobian) / overdispersion - code``, in nats. Only values of the same observations,
    the same positions and the same overdispersion can be compared.

    Attributes
    ----------
    log_evidence : at ``overdispersion``, in nats; more is better
    marginal : log marginal likelihood of the clusters' rows, counted 1 / overdispersion each, dependence taken out; in nats
    jacobian : of taking out dependence, sum of the log standard deviations of what is left; in nats
    gain : what tails explain beyond Gaussian ones; in nats
    code : what it takes to write the labels down; in nats
    overdispersion : how many observations count as one
    suggested_overdispersion : how many should, by what the model does not know of
    clusters : of the labelling, without noise
    noise_share : share of noise in the labelling
    noise : how it was scored: "class" as a cluster of its own, "assign" given to the clusters that it suits; "none" without
    small_clusters : clusters with too few observations to have a covariance, fewer than d + 2, which were scored as noise
    lengths : (d,) distance over which observations of a cluster depend on each other, by feature; 0 for a feature without
        dependence, NaN for one that is not used, because it is constant or a sum of multiples of others
    unit : of these lengths: "step", "s", "m", or "" for that of the positions
    degrees_of_freedom : degrees of freedom of the tails; infinitely many for Gaussian ones
    outlier_share : share of observations taken to be anywhere
    join_count_ratio : changes of label between neighbours, over what there would be were labels dealt out at random
    scored, count : how many observations the evidence is of, and how many there are
    """

    log_evidence: float
    marginal: float
    jacobian: float
    gain: float
    code: float
    overdispersion: float
    suggested_overdispersion: float
    clusters: int
    noise_share: float
    noise: str
    small_clusters: int
    lengths: Array
    unit: str
    degrees_of_freedom: float
    outlier_share: float
    join_count_ratio: float
    scored: int
    count: int

    def __str__(self) -> str:
        tails = "Gaussian"
        if np.isfinite(self.degrees_of_freedom):
            tails = f"Student's t with {self.degrees_of_freedom:g} degrees of freedom"
        elif self.outlier_share:
            tails = f"{self.outlier_share:.0%} outliers"
        unit = f" {self.unit}{'s' if self.unit == 'step' else ''}" if self.unit else ""
        said = [
            f"{_many(self.clusters)}: log evidence {self.log_evidence:.1f} nats at overdispersion {self.overdispersion:.3g}",
            f"  clusters   {self.marginal:+12.1f} nats",
            f"  whitening  {0.0 - self.jacobian / self.overdispersion:+12.1f}  lengths {_list(self.lengths)}{unit}",
            f"  tails      {self.gain / self.overdispersion:+12.1f}  {tails}",
            f"  labels     {0.0 - self.code:+12.1f}",
        ]
        if self.noise != "none":
            how = {NOISE_AS_CLUSTER: "a cluster of its own", NOISE_ASSIGNED: "given to the clusters that it suits"}[
                self.noise
            ]
            said.append(f"{self.noise_share:.1%} noise, scored as {how}")
        if self.small_clusters:
            said.append(f"{_many(self.small_clusters)} of fewer than d + 2 observations scored as noise")
        if self.clusters > 1 and self.join_count_ratio > RANDOM_JOIN_COUNT_RATIO:
            said.append("position does not help: neighbours agree in label no more than any two observations")
        if self.suggested_overdispersion > _ROUGH * self.overdispersion:
            said.append(
                f"{self.suggested_overdispersion:.1f} observations should count as one: the model does not know of all there is"
            )
        if self.scored < self.count:
            said.append(f"scored on a sample of {self.scored} of {self.count} observations")
        return "\n".join(said)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Labellings of the same observations, best first, and one cluster among them.

    Attributes
    ----------
    names : of the labellings
    evidences : Evidence of each, all at one overdispersion
    overdispersion : how many observations count as one
    """

    names: tuple[str, ...]
    evidences: tuple[Evidence, ...]
    overdispersion: float

    @property
    def best(self) -> str:
        """Name of the labelling with the most evidence."""
        return self.names[0]

    @property
    def nats(self) -> Array:
        """How much less log evidence each labelling has than the best."""
        values = np.array([item.log_evidence for item in self.evidences])
        return values[0] - values

    def __getitem__(self, name: str) -> Evidence:
        """Return the evidence of a labelling."""
        if name not in self.names:
            raise KeyError(f"{name!r} is not one of {', '.join(map(repr, self.names))}")
        return self.evidences[self.names.index(name)]

    def __str__(self) -> str:
        wide = max(len("labelling"), *map(len, self.names))
        said = [f"{'labelling':<{wide}}  clusters   noise  nats behind  log evidence"]
        said += [
            f"{name:<{wide}}  {each.clusters:8d}  {each.noise_share:6.1%}  {behind:11.1f}  {each.log_evidence:12.1f}"
            for name, each, behind in zip(self.names, self.evidences, self.nats, strict=True)
        ]
        first = self.evidences[0]
        sample = f", scored on a sample of {first.scored} of {first.count} observations"
        said.append(f"overdispersion {self.overdispersion:.3g}{sample if first.scored < first.count else ''}")
        return "\n".join(said)


def evidence(
    X: Any,
    labels: Any,
    *,
    positions: Any = None,
    groups: Any = None,
    metric: Any = "auto",
    noise: str = "best",
    overdispersion: float = 1.0,
    random_state: Any = 0,
) -> Evidence:
    """Score a labelling without known labels: what its clusters explain, less what it takes to write it down.

    Each cluster is a Gaussian, or has heavier tails, with unknown mean and covariance. Each feature may depend on its
    neighbours in position within a cluster. Labels are written down by where they change between neighbours in position, so
    labels that flicker are costly. Labellings by any algorithm with any number of clusters can be compared, but only for the
    same X, positions, groups and ``overdispersion``: values for other observations or at another ``overdispersion`` are on
    other scales. Neither the unit of a feature nor, where there are positions, the order of rows matters.

    Clusters of fewer than d + 2 observations have no covariance, and are scored as noise.

    Of more than 50,000 observations (fewer if there are more than 30 features) a sample is scored: pieces of series, spread
    evenly, or places at random.

    Parameters
    ----------
    X : array-like or frame (N, d)
        Features.
    labels : array-like (N,) of integers or text
        The cluster of each observation. The number -1 is noise.
    positions, groups, metric
        Where the observations are; as in :meth:`mcgta.MCGTA.fit` and :class:`mcgta.MCGTA`.
    noise : {"best", "class", "assign"}
        Score noise as a cluster of its own ("class"), give it to the clusters that it suits ("assign"), or whichever of these
        has more evidence.
    overdispersion : float >= 1
        How many observations count as one, because the model does not know of all there is; ``suggested_overdispersion`` of
        the result estimates it.
    random_state : int, RandomState, Generator or None
        Of the sample, and of the order in which places are predicted from each other.

    Returns
    -------
    Evidence

    See Also
    --------
    compare_labellings : ranks several labellings at the overdispersion that suits the best of them.

    Examples
    --------
    >>> from mcgta import evidence
    >>> from mcgta.datasets import make_series
    >>> data = make_series(600, n_clusters=3, segment_lengths=(10, 30), random_state=2)
    >>> evidence(data.X, data.labels).log_evidence > evidence(data.X, data.labels > 0).log_evidence
    True
    """
    check_value("noise", noise, Rule(words=tuple(NOISE)))
    check_value("overdispersion", overdispersion, _OVERDISPERSION)
    prepared = _prepare("evidence", X, positions, groups, metric, random_state)
    read = read_labelling(labels, prepared.order.size, "labels")
    return _evidence(prepared, read, _score(prepared, read, noise), float(overdispersion))


def compare_labellings(
    X: Any,
    labellings: Mapping[str, Any],
    *,
    positions: Any = None,
    groups: Any = None,
    metric: Any = "auto",
    noise: str = "best",
    overdispersion: float | str = "auto",
    random_state: Any = 0,
) -> Comparison:
    """Rank labellings of the same observations by their evidence; one cluster for all is always among them.

    Parameters
    ----------
    X, positions, groups, metric, noise, random_state
        As in :func:`evidence`.
    labellings : dict of a name and labels (N,) each
        Labels as in :func:`evidence`.
    overdispersion : "auto" or float >= 1
        How many observations count as one. "auto" finds the best labelling at overdispersion 1, takes the overdispersion that
        is advised for it, and ranks all at that. Set it to that of another comparison of the same observations to compare
        with that.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from mcgta import compare_labellings
    >>> from mcgta.datasets import make_series
    >>> data = make_series(600, n_clusters=3, segment_lengths=(10, 30), random_state=2)
    >>> by_means = KMeans(3, n_init=1, random_state=0).fit_predict(data.X)
    >>> compare_labellings(data.X, {"k-means": by_means, "truth": data.labels}).names
    ('truth', 'one cluster', 'k-means')
    """
    check_value("noise", noise, Rule(words=tuple(NOISE)))
    check_value("overdispersion", overdispersion, Rule(words=("auto",), real=(1, INF)))
    if not isinstance(labellings, Mapping) or not labellings:
        raise ValueError(
            f"labellings={labellings!r} is not allowed: it must be a dict of names and labels, with one at least"
        )
    if ONE in labellings:
        raise ValueError(f"labellings has the name {ONE!r}, which is that of the labelling all are compared with")
    prepared = _prepare("compare_labellings", X, positions, groups, metric, random_state)
    count = prepared.order.size
    read = {str(name): read_labelling(labels, count, f"labellings[{name!r}]") for name, labels in labellings.items()}
    read[ONE] = np.zeros(count, dtype=np.int64)
    scored = {name: _score(prepared, labels, noise) for name, labels in read.items()}
    if overdispersion == "auto":
        first = max((each for ways in scored.values() for each in ways.values()), key=ScoredLabelling.log_evidence)
        overdispersion = estimate_overdispersion(prepared.scoring_data, first)
    evidences = {name: _evidence(prepared, read[name], scored[name], float(overdispersion)) for name in read}
    names = sorted(evidences, key=lambda name: -evidences[name].log_evidence)
    return Comparison(tuple(names), tuple(evidences[name] for name in names), float(overdispersion))


def read_labelling(labels: Any, n_rows: int, name: str) -> Labels:
    """Read labels, any integers or text, one for each row; return clusters 0, 1, ... and -1 for noise."""
    codes, names = read_groups([None] if labels is None else labels, n_rows, name)
    if names.dtype.kind not in "biufU" or (names.dtype.kind == "f" and (names != np.round(names)).any()):
        raise ValueError(f"{name} holds {names[-1]!r}; labels must be integers or text")
    noise = names == -1 if names.dtype.kind in "if" else np.zeros(names.size, dtype=bool)
    return np.where(noise[codes], -1, codes)


class _Prepared(NamedTuple):
    """Observations whose labellings are to be scored.

    Attributes
    ----------
    scoring_data : those that are scored
    rows : which these are, in canonical order
    order : (N,) the user's row of each, in canonical order
    columns : number of features given
    """

    scoring_data: ScoringData
    rows: Index
    order: Index
    columns: int

    def part(self, labels: Labels) -> Labels:
        """Return the labels of those that are scored, given those (N,) of the user's rows."""
        # Numbered by their first rows, so that sums are the same to the last bit whatever the clusters are called.
        return number_by_first_member(labels[self.order][self.rows])


def _score(prepared: _Prepared, labels: Labels, noise: str) -> dict[str, ScoredLabelling]:
    """Score a labelling (N,) of the user's rows, noise treated in each of the ways asked for."""
    return score_with_noise(prepared.scoring_data, prepared.part(labels), treatments=NOISE[noise])


def _evidence(
    prepared: _Prepared, labels: Labels, scored: dict[str, ScoredLabelling], overdispersion: float
) -> Evidence:
    """Return the evidence at this overdispersion, with noise treated in the way that has most."""
    scoring_data = prepared.scoring_data
    noise, best = max(scored.items(), key=lambda each: each[1].log_evidence(overdispersion))
    lengths = np.full(prepared.columns, np.nan)
    lengths[scoring_data.scale.columns] = correlation_lengths(scoring_data, best)
    part = prepared.part(labels)
    held = np.bincount(part[part >= 0], minlength=1)
    small = int(((held > 0) & (held < scoring_data.min_cluster_rows)).sum())
    share = float((labels < 0).mean())
    return Evidence(
        log_evidence=float(best.log_evidence(overdispersion)),
        marginal=float(best.marginal(overdispersion)[0]),
        jacobian=best.whitening_nats,
        gain=best.tail_nats,
        code=best.label_nats,
        overdispersion=overdispersion,
        suggested_overdispersion=estimate_overdispersion(scoring_data, best),
        clusters=int(np.unique(labels[labels >= 0]).size),
        noise_share=share,
        noise=noise if share or small else "none",
        small_clusters=small,
        lengths=lengths,
        unit=scoring_data.places.unit,
        degrees_of_freedom=best.tails.degrees_of_freedom,
        outlier_share=best.tails.outlier_share,
        join_count_ratio=count_joins(scoring_data, best).ratio,
        scored=len(scoring_data),
        count=labels.size,
    )


def _prepare(reader: str, X: Any, positions: Any, groups: Any, metric: Any, random_state: Any) -> _Prepared:
    """Check observations and bring them into canonical order; keep a sample of very many."""
    given = {"metric": metric, "random_state": random_state}
    for name, value in given.items():
        check_value(name, value, RULES[name])
    features = read_features(reader, X, ensure_min_samples=2)
    if (np.ptp(features, axis=0) == 0).all():
        raise ValueError("X: all features are constant, so there is nothing that clusters could explain")
    check_columns(features, column_names(X), "wasserstein2")
    positions = align_positions(X, positions, groups, metric=metric)
    places = read_positions(positions, len(features), groups=groups, metric=metric)
    data = sort_observations(features, places, n_neighbors="auto", lags=0, seed=draw_seed(random_state))
    most = max(MAX_SEARCHED_ROWS, min(MAX_CHOSEN_ON_ALL_ROWS, _NUMBERS // features.shape[1]))
    rows, part = sample_rows(data.positions, data.seed, most=most, size=min(SCORED, most))
    scoring_data = ScoringData.of(data.X[rows], part, seed=data.seed)
    if scoring_data.d == 0:
        raise ValueError(f"X: all features are constant, or nearly so, in the {rows.size} observations that are scored")
    return _Prepared(scoring_data, rows, data.order, features.shape[1])


def _many(clusters: int) -> str:
    return f"{clusters} cluster{'' if clusters == 1 else 's'}"


def _list(numbers: Array) -> str:
    return ", ".join("-" if np.isnan(number) else f"{number:.3g}" for number in numbers)
