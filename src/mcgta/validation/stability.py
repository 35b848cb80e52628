"""How stable a labelling is: what becomes of clusters and observations where blocks of the observations are left out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from mcgta.estimator import MCGTA
from mcgta.fit import Fit
from mcgta.fitting import fit_observations
from mcgta.observations.missing import CompleteRows
from mcgta.runtime.archive import Archived
from mcgta.runtime.parallel import threads
from mcgta.runtime.progress import Progress
from mcgta.runtime.random import draw_seed
from mcgta.runtime.rules import INF, Rule, check_value
from mcgta.runtime.types import Array, Index, Labels, Mask
from mcgta.settings import RULES, Settings
from mcgta.validation.agreement import adjusted_rand, count_together
from mcgta.validation.blocks import cut_blocks

MOST = 50_000
"""Observations of a resample, at most."""

VERDICTS = {0.85: "stable", 0.75: "fairly stable", 0.5: "doubtful", 0.0: "dissolved"}
"""What a cluster is called whose Jaccard similarity is as much or more (Hennig 2007)."""

UNTESTED = "untested"
"""What a cluster is called that is found again, but lies in one block, and so is drawn as a whole or not at all."""

UNKNOWN = "not drawn"
"""What it is called where no resample has any of it."""

_NEIGHBORHOODS = 3  # that a block holds, or more
_BLOCKS = 20  # blocks, at most, of as many observations as are drawn from
_FEW = 6  # blocks, for which they may hold less than three neighbourhoods
_LEAST = 4
_SPREAD = 2.0  # blocks that a cluster must lie in for resamples to put it to a test
_TOLD = {
    "stable": ("is stable", "are stable", ""),
    "fairly stable": ("is fairly stable", "are fairly stable", ""),
    UNTESTED: (
        "is untested",
        "are untested",
        ": found again where drawn, but in little more than one block, which is drawn as a whole or not at all",
    ),
    "doubtful": ("is doubtful", "are doubtful", ": there is something, but its members are uncertain"),
    "dissolved": ("dissolves", "dissolve", ": not found again"),
}


@dataclass(frozen=True, eq=False)
class Stability(Archived):
    """What became of a labelling in resamples of its observations.

    The clusters of a fit are compared with those of each resample on the observations that were drawn for it. The Jaccard
    similarity of two clusters is the number of their common members over that of all members of either. By Hennig's (2007)
    rules of thumb a cluster is stable from 0.85; fairly stable from 0.75; doubtful below, since there is a pattern, but its
    members are uncertain, and below 0.6 it should not be trusted; and dissolved below 0.5. A cluster that lies in less
    than two blocks and would be stable is untested, since resamples have it with all its neighbourhoods or not at all.

    Attributes
    ----------
    clusters : (K,) for each cluster of the fit, the Jaccard similarity with the most similar cluster of a resample, the mean
        over resamples, each counting by the members drawn for it; NaN where there are none in any
    spread : (K,) number of blocks that each cluster lies in: 1 over the sum of the squared shares of its members in blocks
    observations : (N,) for each observation, the share of the resamples it was drawn for that put it into the cluster that
        matches its own; noise matches noise; NaN where it was not drawn
    agreement : (R,) adjusted Rand index of each resample with the fit; noise is a class of its own
    numbers : (R,) clusters that each resample has found
    drawn : (R,) observations of each resample
    blocks : blocks that the observations were cut into
    share : share of them that was to be drawn
    """

    clusters: Array
    spread: Array
    observations: Array
    agreement: Array
    numbers: Index
    drawn: Index
    blocks: int
    share: float

    def __post_init__(self) -> None:
        sizes = {self.agreement.shape, self.numbers.shape, self.drawn.shape}
        if len(sizes) > 1 or self.agreement.ndim != 1 or self.agreement.size == 0:
            raise ValueError(f"agreement, numbers and drawn must hold one number for each resample, got shapes {sizes}")
        if self.spread.shape != self.clusters.shape:
            raise ValueError(f"spread has shape {self.spread.shape}, expected that of clusters, {self.clusters.shape}")
        for name in ("clusters", "observations"):
            values = getattr(self, name)
            if values.ndim != 1 or np.any((values < 0) | (values > 1)):
                raise ValueError(f"{name} must be one axis of shares between 0 and 1, or NaN")

    @property
    def verdicts(self) -> tuple[str, ...]:
        """What to think of each cluster: "stable", "fairly stable", "untested", "doubtful", "dissolved" or "not drawn"."""
        return tuple(map(_judge, self.clusters, self.spread))

    def __str__(self) -> str:
        # With one cluster the ARI is about a handful of noise, if anything.
        said = [f"ARI {self.agreement.mean():.2f} on average"] if self.clusters.size > 1 else []
        verdicts = np.array(self.verdicts)
        for verdict in (*_TOLD, UNKNOWN):
            which = np.flatnonzero(verdicts == verdict)
            if which.size:
                said.append(_tell(which, self.clusters[which], verdict))
        if self.clusters.size == 0:
            said.append("the fit has no clusters")
        said.append(_count(self.numbers))
        changing = float(np.mean(self.observations < 0.5))
        if changing >= 0.01:
            said.append(f"{_percent(changing)} of the observations are mostly put elsewhere")
        return f"{self._tell_resamples()}: {'; '.join(said)}"

    def _tell_resamples(self) -> str:
        count = self.observations.size
        limit = f" (at most {MOST:,} are drawn)" if self.share * count > MOST else ""
        return f"{self.agreement.size} resamples of {_percent(self.drawn.mean() / count)} of the observations{limit}"


def stability(
    model: MCGTA,
    *,
    n_resamples: int = 20,
    share: float = 0.7,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: Any = "auto",
) -> Stability:
    """Tell how stable the clusters of a fit are where parts of its observations are left out.

    The observations are cut into blocks: stretches of time, compact pieces of space, or whole groups where these are small.
    Neighbours share most of their local models, so leaving out single rows would change next to nothing. Each resample is a
    share of the blocks, drawn without replacement, and clustered with the parameters that the fit was asked for: what was left
    to "auto" is searched for anew, so that the choice counts, too. Series are cut where a block is missing: what is left on
    either side is a series of its own, and no neighbourhood reaches over the gap. In space there is a hole.

    There are up to 20 blocks, of three neighbourhoods or more (of one or more, where there would be less than 6 blocks). A
    resample has at most 50,000 observations; of many more, blocks are smaller, and few of them are drawn at a time.

    Parameters
    ----------
    model : MCGTA
        After ``fit``. Its labels stay as they are.
    n_resamples : int, default=20
        How many times to draw, at least 2. Each takes about as long as the fit.
    share : float, default=0.7
        Share of the blocks to draw, above 0 and below 1. Numbers such as ``min_cluster_size`` stay as they are, and mean more
        the smaller a resample is.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the draws. The result depends neither on ``n_jobs`` nor on the order of the rows.
    n_jobs : int or None
        Threads of each fit; None is as the model says.
    progress : "auto", bool or callable, default="auto"
        As in :class:`mcgta.MCGTA`.

    Returns
    -------
    Stability
        Print it for a verdict in words.

    References
    ----------
    Hennig (2007), Cluster-wise assessment of cluster stability, Computational Statistics & Data Analysis 52, 258-271

    Examples
    --------
    >>> import numpy as np
    >>> from mcgta import MCGTA, stability
    >>> state = np.repeat([0, 1, 0, 1, 1, 0, 1, 0], 50)
    >>> X = np.random.default_rng(0).normal(size=(400, 2)) + 6 * state[:, None]
    >>> found = stability(MCGTA(n_neighbors=15, eps=0.6).fit(X), n_resamples=5)
    >>> found.verdicts
    ('stable', 'stable')
    """
    _check(model, n_resamples, share, random_state, n_jobs, progress)
    fit = model.fitted_
    places = fit.data.positions  # in canonical order, so that the order of the rows does not matter
    blocks = cut_blocks(places, _block_size(len(places), model.n_neighbors_, share))
    if blocks.max() + 1 < _LEAST:
        raise ValueError(
            f"model: {len(places)} observations with n_neighbors_={model.n_neighbors_} make {blocks.max() + 1} blocks, and "
            f"resamples need at least {_LEAST}; fit more observations at different positions, or with smaller n_neighbors"
        )
    asked = _settings(fit, n_jobs)
    draws = list(_draw(blocks, n_resamples, share, draw_seed(random_state)))
    labellings = []
    # The fit has said what there is to say of the observations.
    display = Progress(progress)
    with display.stage("resamples", n_resamples) as advance, threads(asked.n_jobs), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, rows in enumerate(draws):
            try:
                labellings.append(_cluster(fit, asked, rows))
            except ValueError as error:
                error.add_note(f"in resample {k} of {n_resamples}, which has {rows.size} of {len(places)} observations")
                raise
            advance(1)
    compared = _compare_all(fit.labelling.labels, blocks, draws, labellings, float(share))
    return replace(compared, observations=fit.to_user(compared.observations))


def _check(model: Any, n_resamples: Any, share: Any, random_state: Any, n_jobs: Any, progress: Any) -> None:
    if not isinstance(model, MCGTA):
        raise ValueError(f"model={model!r} must be an MCGTA that is fitted")
    check_is_fitted(model)
    check_value("n_resamples", n_resamples, Rule(integer=(2, INF)))
    check_value("share", share, Rule(real=(0, 1), above=True, below=True))
    check_value("random_state", random_state, RULES["random_state"])
    check_value("n_jobs", n_jobs, RULES["n_jobs"])
    if n_jobs == 0:
        raise ValueError("n_jobs=0 is not allowed: n_jobs must be a number of threads, -1 for all cores, or None")
    check_value("progress", progress, RULES["progress"])
    if model.fitted_.given_models:
        raise ValueError(
            "model was refitted with local_models, and there is no telling how those of a resample, whose neighbourhoods are "
            "others, are to be fitted; use one whose models are its own"
        )
    kind = model.fitted_.asked.dissimilarity_kind
    if kind.compares == "rows" and kind.table is None:
        raise ValueError(
            f"model has dissimilarity={kind.name!r}, which compares rows by their numbers, and those of a resample are others; "
            "use a table of all pairs, or a dissimilarity of models or features"
        )


def _block_size(count: int, n_neighbors: int, share: float) -> int:
    """Return the rows of a block: so many that it holds neighbourhoods, and that there are not too many blocks."""
    several = min(_NEIGHBORHOODS * n_neighbors, count // _FEW)
    return max(n_neighbors, several, int(min(count, MOST / share)) // _BLOCKS)


def _draw(blocks: Index, times: int, share: float, seed: int) -> Sequence[Index]:
    """Return the rows of each resample, ascending."""
    sizes = np.bincount(blocks)
    rng = np.random.default_rng(seed)
    wanted = min(max(1, round(share * sizes.size)), sizes.size - 1)
    draws = []
    for _ in range(times):
        drawn = rng.permutation(sizes.size)[:wanted]
        fits = max(1, int(np.searchsorted(np.cumsum(sizes[drawn]), MOST, side="right")))
        draws.append(np.flatnonzero(np.isin(blocks, drawn[:fits])))
    return draws


def _settings(fit: Fit, n_jobs: int | None) -> Settings:
    """Return the settings that the fit was asked for, with the metric of its positions."""
    return fit.asked.having(
        metric=fit.data.positions.metric,
        random_state=fit.data.seed,
        progress=False,
        n_jobs=fit.asked.n_jobs if n_jobs is None else n_jobs,
    )


def _cluster(fit: Fit, asked: Settings, rows: Index) -> Labels:
    """Cluster some rows in canonical order; return their labels."""
    places = fit.data.positions.take(rows)
    if places.is_chain:  # rows are in order of time, and a series is cut where some are missing
        series = np.cumsum(np.r_[False, (np.diff(rows) > 1) | (np.diff(places.groups) != 0)])
        places = replace(places, groups=series, group_names=np.arange(series[-1] + 1))
    if asked.n_neighbors != "auto" and np.bincount(places.groups).max() < int(asked.n_neighbors):
        return np.full(rows.size, -1)  # only groups that are too small for a model, and noise in every fit
    if not isinstance(asked.clusterer, str):
        asked = asked.having(clusterer=clone(asked.clusterer, safe=False))
    unsorted = fit.data.order[rows]
    if asked.dissimilarity_kind.table is not None:
        asked = asked.having(dissimilarity=asked.dissimilarity_kind.table[np.ix_(unsorted, unsorted)])
    return fit_observations(CompleteRows(fit.data.raw[unsorted], places, None), fit.names, asked).labels


def _compare_all(
    labels: Labels, blocks: Index, draws: Sequence[Index], others: Sequence[Labels], share: float
) -> Stability:
    """Compare the labels of the fit with those of all resamples; all is in canonical order."""
    size = int(labels.max(initial=-1)) + 1
    similar = np.zeros(size)
    members = np.zeros(size)
    same = np.zeros(labels.size)
    times = np.zeros(labels.size)
    for rows, other in zip(draws, others, strict=True):
        jaccard, kept = compare(labels[rows], other, size)
        held = np.bincount(labels[rows][labels[rows] >= 0], minlength=size)
        similar += held * jaccard
        members += held
        same[rows] += kept
        times[rows] += 1
    with np.errstate(invalid="ignore"):
        clusters = similar / members
        observations = same / times
    return Stability(
        np.minimum(clusters, 1.0),
        _spread(labels, blocks, size),
        observations,
        np.array(
            [adjusted_rand(count_together(labels[rows], other)) for rows, other in zip(draws, others, strict=True)]
        ),
        np.array([np.unique(other[other >= 0]).size for other in others], dtype=np.int64),
        np.array([rows.size for rows in draws], dtype=np.int64),
        int(blocks.max()) + 1,
        share,
    )


def _spread(labels: Labels, blocks: Index, size: int) -> Array:
    """(size,) the number of blocks that each cluster lies in; 1 over the sum of squared shares."""
    some = labels >= 0
    count = int(blocks.max()) + 1
    held = np.bincount(labels[some] * count + blocks[some], minlength=size * count).reshape(size, count)
    return held.sum(axis=1) ** 2 / np.maximum((held**2).sum(axis=1), 1)


def compare(labels: Labels, other: Labels, size: int) -> tuple[Array, Mask]:
    """Compare two labellings of M observations, -1 being noise.

    Returns (size,) the Jaccard similarity of each cluster of the first with the most similar one of the second, and (M,)
    whether each observation is in clusters that match: the matching is one to one, and has as many such observations as can be.
    Noise matches noise.
    """
    width = int(other.max(initial=-1)) + 1
    both = (labels >= 0) & (other >= 0)
    common = np.bincount(labels[both] * width + other[both], minlength=size * width).reshape(size, width)
    held = np.bincount(labels[labels >= 0], minlength=size)
    held_there = np.bincount(other[other >= 0], minlength=width)
    either = held[:, None] + held_there[None, :] - common
    jaccard = np.max(common / np.maximum(either, 1), axis=1, initial=0.0)
    match = np.full(size + 1, -2)  # without a match
    one, another = linear_sum_assignment(common, maximize=True)
    match[one] = another
    match[-1] = -1  # where noise looks
    return jaccard, match[labels] == other


def _judge(similarity: float, spread: float) -> str:
    verdict = next((verdict for least, verdict in VERDICTS.items() if similarity >= least), UNKNOWN)
    return UNTESTED if spread < _SPREAD and verdict in ("stable", "fairly stable") else verdict


def _tell(which: Index, similarity: Array, verdict: str) -> str:
    """Say what is to be thought of some clusters."""
    several = which.size > 1
    names = ("clusters " if several else "cluster ") + ", ".join(map(str, which))
    if verdict == UNKNOWN:
        return f"{names} {'were' if several else 'was'} never drawn"
    least = np.floor(100 * similarity.min()) / 100
    most = np.floor(100 * similarity.max()) / 100
    numbers = f"{least:.2f}" if least == most else f"{least:.2f} to {most:.2f}"
    one, many, meaning = _TOLD[verdict]
    return f"{names} {many if several else one} (Jaccard {numbers}){meaning}"


def _count(numbers: Index) -> str:
    """Say how many clusters were found."""
    least = int(numbers.min())
    most = int(numbers.max())
    if least == most:
        return f"always {least} cluster{'' if least == 1 else 's'}"
    values, times = np.unique(numbers, return_counts=True)
    return f"{least} to {most} clusters, mostly {values[times.argmax()]}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else f"{100 * share:.2g} %"
