"""What sets a cluster apart: effect sizes of its features against the rest, and the words for them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mcgta.description.description import Contrast, CorrelationContrast
from mcgta.description.moments import Moments, Rest, correlations, deviations
from mcgta.runtime.types import Array
from mcgta.runtime.wording import say_number

LARGE_EFFECT = 0.8
MEDIUM_EFFECT = 0.4
"""Standard deviations by which a level counts as high or low, and as rather so; Cohen (1988) calls 0.8 large, 0.5 medium."""

LARGE_SPREAD_RATIO = 2.0
MEDIUM_SPREAD_RATIO = 1.5
"""Ratios of standard deviations, either way, from which on a feature counts as variable or steady, and as rather so."""

MIN_SPREAD_ROWS = 10
MIN_CORRELATION_ROWS = 20
"""Rows that a cluster and the rest must have before words are made of their spread, or of their correlations."""

MEDIUM_CORRELATION_SHIFT = 0.5
LARGE_CORRELATION_SHIFT = 1.0
"""Differences of Fisher's z of two correlations that are worth a word, and that are so beside differences in level."""

_MOST_NAMED = 3  # contrasts in a sentence, and pairs of features in a description
_MOST_CORRELATED = 0.9999


def contrast_features(moments: Moments, cluster: int, rest: Rest, names: Sequence[str]) -> tuple[Contrast, ...]:
    """Compare a cluster with the rest, feature by feature, the most distinguishing first; of equal ones the first column."""
    count = int(moments.counts[cluster])
    mean = moments.means[cluster]
    own = moments.deviations(cluster)
    effects = _effects(
        mean - rest.mean, np.diagonal(moments.scatters[cluster]), np.diagonal(rest.scatter), count + rest.count
    )
    ratios = _ratios(own, deviations(rest.scatter, rest.count))
    enough = tells_spread(count, rest)
    found = []
    for k, name in enumerate(names):
        values = (float(effects[k]), float(ratios[k]), float(mean[k]), float(rest.mean[k]), float(own[k]))
        found.append(Contrast(name, *values, words=_say_contrast(name, *values[:4], tell_spread=enough)))
    prominence = [_prominence(each, tell_spread=enough) for each in found]
    order = sorted(range(len(found)), key=lambda k: -prominence[k])
    return tuple(found[k] for k in order)


def rank_features(moments: Moments) -> list[int]:
    """Return the columns of features, the one that distinguishes any cluster most from the rest first."""
    d = moments.means.shape[1]
    most = np.zeros(d)
    for cluster in range(moments.n_clusters):
        rest = moments.rest(cluster)
        enough = tells_spread(int(moments.counts[cluster]), rest)
        for contrast in contrast_features(moments, cluster, rest, [str(k) for k in range(d)]):
            column = int(contrast.feature)
            most[column] = max(most[column], _prominence(contrast, tell_spread=enough))
    return np.argsort(-most, kind="stable").tolist()


def contrast_correlations(
    moments: Moments, cluster: int, rest: Rest, names: Sequence[str]
) -> tuple[CorrelationContrast, ...]:
    """Return the pairs of features whose correlation within a cluster differs most from that within the others."""
    if min(int(moments.counts[cluster]), rest.count) < MIN_CORRELATION_ROWS or len(names) < 2:
        return ()
    own = correlations(moments.scatters[cluster])
    other = correlations(rest.within)
    shift = np.abs(_fisher(own) - _fisher(other))
    i, j = np.triu_indices(len(names), 1)
    strongest = np.argsort(-shift[i, j], kind="stable")[:_MOST_NAMED]
    return tuple(
        CorrelationContrast(
            names[a],
            names[b],
            float(own[a, b]),
            float(other[a, b]),
            _say_correlation(names[a], names[b], own[a, b], other[a, b]),
        )
        for a, b in zip(i[strongest].tolist(), j[strongest].tolist(), strict=True)
        if shift[a, b] >= MEDIUM_CORRELATION_SHIFT
    )


def say_cluster(
    contrasts: Sequence[Contrast], pairs: Sequence[CorrelationContrast], rest: Rest, *, tell_spread: bool
) -> str:
    """Say in a sentence what sets a cluster apart."""
    if rest.count == 0:
        return "all rows, so that there is no rest to compare with"
    told = [each.words for each in contrasts if _stands_out(each, tell_spread=tell_spread)][:_MOST_NAMED]
    room = _MOST_NAMED - len(told)
    told += [
        pair.words
        for k, pair in enumerate(pairs)
        if k < room or (k == 0 and _correlation_shift(pair) >= LARGE_CORRELATION_SHIFT)
    ]
    if told:
        return "; ".join(told)
    return f"no feature stands out by itself; {contrasts[0].words}" if contrasts else ""


def tells_spread(size: int, rest: Rest) -> bool:
    """Whether there are rows enough, in a cluster and in the rest, for words about their spread."""
    return min(size, rest.count) >= MIN_SPREAD_ROWS


def _effects(difference: Array, scatter: Array, rest_scatter: Array, count: int) -> Array:
    """Return Cohen's d: 0 where means agree, infinite where they differ and nothing varies, NaN for two rows."""
    if count < 3:
        return np.where(difference == 0, 0.0, np.nan)
    pooled = np.sqrt((scatter + rest_scatter) / (count - 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference == 0, 0.0, difference / pooled)


def _ratios(own: Array, rest: Array) -> Array:
    """Return ratios of standard deviations: 1 where neither varies."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((own == 0) & (rest == 0), 1.0, own / rest)


def _prominence(contrast: Contrast, *, tell_spread: bool) -> float:
    """Return how distinguishing a contrast is, in large effects; 0 where there is nothing to compare."""
    level = 0.0 if math.isnan(contrast.effect) else abs(contrast.effect) / LARGE_EFFECT
    ratio = contrast.spread_ratio
    if not tell_spread or math.isnan(ratio):
        return level
    logarithm = math.inf if ratio in (0.0, math.inf) else abs(math.log(ratio))
    return max(level, logarithm / math.log(LARGE_SPREAD_RATIO))


def _stands_out(contrast: Contrast, *, tell_spread: bool) -> bool:
    """Whether a contrast is worth a word."""
    ratio = contrast.spread_ratio
    apart = tell_spread and (ratio <= 1 / MEDIUM_SPREAD_RATIO or ratio >= MEDIUM_SPREAD_RATIO)
    return abs(contrast.effect) >= MEDIUM_EFFECT or apart


def _say_contrast(name: str, effect: float, ratio: float, mean: float, rest_mean: float, *, tell_spread: bool) -> str:
    """Say how a cluster differs in a feature: "high temp (+2.1 sd)", "steady vibration (0.4 x the spread of the rest)"."""
    if math.isnan(effect):
        return f"{name} {say_number(mean)}"
    if math.isinf(effect):
        level = "high" if effect > 0 else "low"
        return f"{level} {name} (always {say_number(mean)}, in the rest {say_number(rest_mean)})"
    adjectives = []
    figures = []
    if abs(effect) >= MEDIUM_EFFECT:
        rather = "" if abs(effect) >= LARGE_EFFECT else "rather "
        adjectives.append(rather + ("high" if effect > 0 else "low"))
        figures.append(f"{effect:+.1f} sd")
    steadier = ratio <= 1 / MEDIUM_SPREAD_RATIO
    if tell_spread and (steadier or ratio >= MEDIUM_SPREAD_RATIO):
        rather = "" if ratio <= 1 / LARGE_SPREAD_RATIO or ratio >= LARGE_SPREAD_RATIO else "rather "
        adjectives.append(rather + ("steady" if steadier else "variable"))
        figures.append(_say_ratio(ratio, mean, rest_mean))
    if adjectives:
        return f"{' and '.join(adjectives)} {name} ({', '.join(figures)})"
    return f"{name} much like the rest ({effect:+.1f} sd)"


def _say_ratio(ratio: float, mean: float, rest_mean: float) -> str:
    if ratio == 0:
        return f"always {say_number(mean)}"
    if math.isinf(ratio):
        return f"in the rest always {say_number(rest_mean)}"
    return f"{ratio:.2g} x the spread of the rest"


def _say_correlation(one: str, two: str, own: float, other: float) -> str:
    """Say how two features go together in a cluster."""
    figures = f"correlation {own:+.2f}, in the rest {other:+.2f}"
    if abs(own) < 0.3:
        return f"{one} and {two} little related ({figures})"
    return f"{one} and {two} moving {'together' if own > 0 else 'against each other'} ({figures})"


def _fisher(correlation: Array) -> Array:
    return np.arctanh(np.clip(correlation, -_MOST_CORRELATED, _MOST_CORRELATED))


def _correlation_shift(pair: CorrelationContrast) -> float:
    own, other = _fisher(np.array([pair.correlation, pair.rest_correlation]))
    return float(abs(own - other))
