"""Choosing parameters by labels, scored on labels held out in blocks."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mcgta.estimator import MCGTA
from mcgta.observations.features import column_names
from mcgta.observations.missing import MissingValueWarning, complete_rows
from mcgta.observations.observations import align_positions, check_neighbors, read_features, sort_observations
from mcgta.positions.positions import Positions
from mcgta.positions.reading import read_positions
from mcgta.runtime.config import config_context, get_config
from mcgta.runtime.parallel import threads
from mcgta.runtime.progress import Progress
from mcgta.runtime.random import draw_seed
from mcgta.runtime.rules import INF, Rule, check_value, read_level
from mcgta.runtime.types import Array
from mcgta.runtime.warnings import warn
from mcgta.settings import RULES, Settings
from mcgta.validation.blocks import BlockSplit, Fold
from mcgta.validation.grid import MODELS, Grid, Levels, Values, check_grid, read_grids
from mcgta.validation.grid_fits import GridFits
from mcgta.validation.labels import AgreementScore, KnownLabels, read_labels
from mcgta.validation.model_archive import ModelArchive
from mcgta.validation.result import HeldOut, Tuning
from mcgta.validation.sampling import import_optuna, sample
from mcgta.validation.scores import Scores

SEARCHES = ("grid", "optuna")
TRIALS = 100
REMEMBERED = 6  # fits that a study may come back to
TABLED = 5000  # observations up to which a table of all pairs is kept from setting to setting


def tune(
    X: Any,
    y: Any,
    *,
    positions: Any = None,
    groups: Any = None,
    estimator: MCGTA | None = None,
    grid: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    folds: int | BlockSplit = 5,
    scoring: str | Callable[[Any, Any], float] = "ari",
    noise: str = "class",
    search: str = "grid",
    trials: int | None = None,
    archive: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    progress: Any = "auto",
) -> Tuning:
    """Choose parameters of :class:`mcgta.MCGTA` by known labels of some observations.

    All observations are clustered with every setting, without a look at the labels. In each fold the setting that agrees best
    with the labels outside the held-out blocks is chosen, and scored on the labels inside; the mean of that is what to expect
    on observations without labels. The setting for use is chosen by all known labels.

    Parameters
    ----------
    X, positions, groups : as in :meth:`mcgta.MCGTA.fit`
    y : (N,) labels: integers, text or booleans
        None, NaN and -1 are unknown.
    estimator : MCGTA or None
        Gives the parameters that are not tried. Its parameters stay as they are unless they are "auto" or in the grid.
    grid : dict of name -> values, list of such dicts, or None
        The values to try. Beside the estimator's own parameters there are ``margin_in_sills`` (margins in sills of the
        semivariogram), ``min_samples_in_neighbors`` (``min_samples`` in ``n_neighbors``) and ``eps_quantile`` (quantiles of
        the heights of ``single_linkage_tree_``). Of ``n_neighbors``, ``beta``, ``margin``, ``min_samples`` and ``eps``, those
        that neither grid nor estimator set are tried at default values, said in these terms.
    folds : int or BlockSplit, default=5
        Folds of four blocks each (of whole groups, where there are several), or how to split; see :class:`mcgta.BlockSplit`.
    scoring : {"ari", "ami", "nmi"} or function, default="ari"
        Adjusted Rand index, adjusted or normalised mutual information, or a function of labels and clusters; larger is better.
    noise : {"class", "singletons", "left out"}, default="class"
        How noise is scored: as one more class, each observation as a cluster of its own, or not at all, which favours
        settings that leave much out.
    search : {"grid", "optuna"}, default="grid"
        "grid" tries every setting. "optuna" (``pip install 'mcgta[tune]'``) lets Optuna's TPE propose them, in a study for each
        fold, which is told nothing of the labels held out in it, and one on all labels.
    trials : int or None
        Trials of each study, 100 by default; each tries all radii.
    archive : path of a folder or None
        Where local models are kept for later calls, which use them if data and parameters are the same.
    n_jobs : int or None
        Threads; None is as the estimator says.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the studies, and of the fits where no estimator is given.
    progress : "auto", bool or callable, default="auto"
        As in :class:`mcgta.MCGTA`.

    Returns
    -------
    Tuning

    Examples
    --------
    >>> from mcgta import tune
    >>> from mcgta.datasets import make_series
    >>> data = make_series(600, n_clusters=2, separation=1.5, segment_lengths=(20, 40), random_state=20)
    >>> found = tune(data.X, data.labels, grid={"n_neighbors": [20, 30], "beta": [0.0, 1.0], "margin": [0.0]}, folds=3)
    >>> found.score > 0.7
    True
    """
    score = AgreementScore(scoring, noise)
    kept_models = ModelArchive(archive)
    seed, trials = _check_search(search, trials, random_state)
    params = _start(estimator, n_jobs, seed, progress)
    settings = Settings(**params)
    features = read_features("MCGTA", X, missing=settings.missing, ensure_min_samples=2)
    labels = read_labels(y, features.shape[0])
    aligned = align_positions(X, positions, groups, metric=settings.metric)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingValueWarning)  # the fit with the best setting gives it
        given = complete_rows(features, column_names(X), aligned, groups, settings)
    features = given.X
    labels = labels.take(given.numbers)
    places = read_positions(given.positions, len(features), groups=given.groups, metric=settings.metric)
    grids = _read_grids(grid, estimator, params, features, places)
    splits = _split(folds, places, labels)
    # A grid is gone through from the outer levels to the inner ones.
    fits = GridFits(features, places, settings, kept_models, memory=1 if search == "grid" else REMEMBERED)
    scores = Scores(labels, splits, score)
    display = Progress(progress)
    with config_context(table_rows=max(TABLED, get_config().table_rows)), threads(settings.n_jobs):
        if search == "grid":
            _try_all(grids, fits, scores, display)
            chosen = [scores.best(k) for k in range(len(splits))]
        else:
            chosen = _try_proposed(grids, fits, scores, len(splits), trials, seed, display)
    best = scores.best(None)
    fitted = MCGTA(**{**params, **scores.settings[best]}).fit(X, positions=positions, groups=groups)
    return _report(scores, chosen, best, fitted, splits, labels, score)


def _check_search(search: Any, trials: Any, random_state: Any) -> tuple[int, int]:
    """Return seed and trials."""
    check_value("search", search, Rule(words=SEARCHES))
    check_value("trials", trials, Rule(integer=(1, INF), none=True))
    check_value("random_state", random_state, RULES["random_state"])
    if trials is not None and search == "grid":
        raise ValueError(f"trials={trials!r} has no effect with search='grid', which tries every setting")
    if search == "optuna":
        import_optuna()
    return draw_seed(random_state), TRIALS if trials is None else int(trials)


def _start(estimator: Any, n_jobs: Any, seed: int, progress: Any) -> Values:
    """Return the parameters that settings are put on top of."""
    if estimator is not None and not isinstance(estimator, MCGTA):
        raise ValueError(f"estimator={estimator!r} must be an MCGTA, or None")
    params = (MCGTA(random_state=seed) if estimator is None else estimator).get_params(deep=False)
    if params["refine"] == "all":
        raise ValueError(
            "estimator has refine='all', and refined labels do not depend on what is tuned; use 'none', 'noise' or 'auto'"
        )
    if params["n_clusters"] != "auto":
        raise ValueError(
            f"estimator has n_clusters={params['n_clusters']!r}, which tune does not heed; leave it at 'auto'"
        )
    if read_level(params["eps"]) is not None:
        raise ValueError(
            f"estimator has eps={params['eps']!r}, but every radius is read off one tree: eps must be a number, or 'auto'"
        )
    params["random_state"] = draw_seed(params["random_state"])  # one seed for all fits
    params["n_jobs"] = params["n_jobs"] if n_jobs is None else n_jobs
    Settings(**{**params, "progress": progress})  # which checks them
    params["progress"] = progress if isinstance(progress, (bool, str)) else False  # functions cannot be saved
    return params


def _read_grids(grid: Any, estimator: MCGTA | None, params: Values, features: Array, places: Positions) -> list[Grid]:
    """Read the grids, and refuse what some fit would refuse."""

    def count_neighbors(n_neighbors: Any) -> int:
        return sort_observations(features, places, n_neighbors=n_neighbors, lags=0, seed=0).n_neighbors

    grids = read_grids(grid, None if estimator is None else params, count_neighbors("auto"))
    for item in grids:
        check_grid(item, params)
        for models in item.level(MODELS):
            settings = Settings(**{**params, **models, "beta": 0.0, "margin": 0.0})
            width = features.shape[1] * (settings.n_lags + 1)
            n_neighbors = count_neighbors(models["n_neighbors"])
            check_neighbors(
                n_neighbors, width, settings.covariance_estimator, settings.prior, settings.dissimilarity_kind
            )
    return grids


def _split(folds: Any, places: Positions, labels: KnownLabels) -> list[Fold]:
    """Split into folds in which there is something to choose by and something to score on."""
    check_value("folds", folds, Rule(integer=(2, INF), kinds=(BlockSplit,)))
    split = folds if isinstance(folds, BlockSplit) else BlockSplit(folds)
    if labels.names.size < 2:
        raise ValueError(
            f"y must hold at least two different labels, got {labels.names.tolist()} and {np.sum(~labels.known)} unknown ones"
        )
    splits = split.split_positions(places)
    alone = []
    for k, (train, held) in enumerate(splits):
        if labels.classes_among(train) < 2:
            raise ValueError(
                f"y: outside the held-out blocks of fold {k} there is one label or none, so nothing to choose by; use fewer "
                "folds, or more blocks"
            )
        if labels.classes_among(held) == 0:
            raise ValueError(
                f"y: no label is known in the held-out blocks of fold {k}; use fewer folds, or more blocks"
            )
        if labels.classes_among(held) == 1:
            alone.append(k)
    if alone:
        warn(
            f"y: in the held-out blocks of {len(alone)} of {len(splits)} folds, such as fold {alone[0]}, all known labels are "
            "the same, so their scores say little; use fewer folds, or BlockSplit with more blocks",
        )
    return splits


def _try_all(grids: Sequence[Grid], fits: GridFits, scores: Scores, display: Progress) -> None:
    with display.stage("tuning", sum(map(len, grids))) as advance:
        for grid in grids:
            for levels in grid.steps():
                left = len(grid.radii(levels.density["clusterer"])[1])
                for setting, clusters in fits.labellings(grid, levels):
                    scores.add(setting, clusters)
                    advance(1)
                    left -= 1
                advance(left)  # radii that came out the same


def _try_proposed(
    grids: Sequence[Grid], fits: GridFits, scores: Scores, folds: int, trials: int, seed: int, display: Progress
) -> list[int]:
    """Run a study for each fold and one on all labels; return what is chosen in each fold, of what its own study has tried."""

    def evaluate(grid: Grid, levels: Levels) -> list[int]:
        return [scores.add(setting, clusters) for setting, clusters in fits.labellings(grid, levels)]

    chosen = []
    with display.stage("tuning", trials * (folds + 1)) as advance:
        for fold in (*range(folds), None):

            def value(number: int, fold: int | None = fold) -> float:
                return scores.chosen_by(number, fold)

            tried = sample(grids, evaluate, value, trials=trials, seed=seed, advance=advance)
            if fold is not None:
                chosen.append(scores.best(fold, tried))
    return chosen


def _report(
    scores: Scores,
    chosen: Sequence[int],
    best: int,
    fitted: MCGTA,
    splits: Sequence[Fold],
    labels: KnownLabels,
    score: AgreementScore,
) -> Tuning:
    folds = tuple(
        HeldOut(
            rows=held.size,
            labels=int(labels.known[held].sum()),
            classes=labels.classes_among(held),
            params=scores.settings[number],
            train_score=scores.rows[number].train[k],
            score=scores.rows[number].held_out[k],
        )
        for k, (number, (_, held)) in enumerate(zip(chosen, splits, strict=True))
    )
    held_out = [fold.score for fold in folds]
    settings = [
        {
            **setting,
            "clusters": row.clusters,
            "noise_share": row.noise_share,
            "score": row.whole,
            **{f"fold_{k}": value for k, value in enumerate(row.held_out)},
        }
        for setting, row in zip(scores.settings, scores.rows, strict=True)
    ]
    return Tuning(
        score=float(np.mean(held_out)),
        spread=float(np.std(held_out, ddof=1)),
        folds=folds,
        settings=settings,
        best_params=scores.settings[best],
        best_score=scores.rows[best].whole,
        best_estimator=fitted,
        labels=int(labels.known.sum()),
        classes=labels.names.size,
        unknown=int((~labels.known).sum()),
        scoring=score.name,
        noise=score.noise,
    )
