"""A fit on a file, with the settings of a command line."""

from __future__ import annotations

import argparse
import shlex
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcgta.cli.failures import unusable, usage_error
from mcgta.cli.parameters import say_params
from mcgta.cli.reading import (
    Input,
    make_provenance,
    named_features,
    role_arguments,
    settle_missing,
    settled_missing,
)
from mcgta.cli.screen import Screen

if TYPE_CHECKING:
    from mcgta.estimator import MCGTA
    from mcgta.stages.semivariogram.curve import Semivariogram

_SPACE_TIME = "spacetime"


@contextmanager
def computing(options: argparse.Namespace) -> Iterator[None]:
    """Set how much memory may be used, and let nothing be said of kernels that are compiled where that is not wanted."""
    from mcgta.kernels.simd.compiled import compile_quietly
    from mcgta.runtime.config import RULES, config_context
    from mcgta.runtime.rules import check_value

    if options.quiet:
        compile_quietly()
    if options.max_memory is None:
        yield
        return
    try:
        check_value("max_memory", options.max_memory, RULES["max_memory"])
    except ValueError as error:
        raise usage_error(f"--max-memory {options.max_memory}: {error}") from error
    with config_context(max_memory=options.max_memory):
        yield


def with_metric(params: dict[str, Any], data: Input, options: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters with the metric that the positions ask for."""
    from mcgta.positions.metrics import SpaceTime

    both = data.observations.metric == _SPACE_TIME
    if options.time_scale is not None:
        if not both:
            raise usage_error(f"--time-scale {options.time_scale:g} has no effect without both a time and a place")
        if params.get("metric", _SPACE_TIME) != _SPACE_TIME:
            raise usage_error(f"--time-scale and --set metric={params['metric']}: use one of them")
        return {**params, "metric": SpaceTime(time_scale=options.time_scale)}
    if both and params.get("metric", _SPACE_TIME) == _SPACE_TIME:
        raise usage_error(
            "positions in space and time need --time-scale: the units of distance that one unit of time is worth",
            "such as --time-scale 1.5: a second is as far as 1.5 m; or leave out the time, or the place",
        )
    return params


def repeating_command(
    options: argparse.Namespace, data: Input, params: Sequence[tuple[str, str]], ignored: Sequence[str] = ()
) -> str:
    """Return the command that repeats a fit, as typed in a shell: nothing in it is left to a guess.

    ``params`` are those given by ``--set``, ``ignored`` columns that are left out beside those of ``--ignore``.
    """
    arguments = ["mcgta", "cluster", data.path, *role_arguments(data.roles)]
    for text in (*(options.ignore or ()), *ignored):
        arguments += ["--ignore", text]
    for flag in ("clusters", "standardize", "missing"):
        if getattr(options, flag, None) is not None:
            arguments += [f"--{flag}", str(getattr(options, flag))]
    if options.time_scale is not None:
        arguments += ["--time-scale", repr(options.time_scale)]
    return shlex.join([*arguments, *say_params(params)])


def fit_input(options: argparse.Namespace, params: dict[str, Any], data: Input, screen: Screen) -> MCGTA:
    """Cluster the rows of a file; the fit knows where they came from."""
    from mcgta.estimator import MCGTA
    from mcgta.selection.choice import ChoiceWarning

    rule = params.get("missing", "error")
    settle_missing(data, rule, screen)
    observations = data.observations
    model = MCGTA(**with_metric(params, data, options))
    if data.table.n_rows < 2:
        raise unusable(f"{data.table.name} has {data.table.n_rows} rows, and clusters need at least two")
    with settled_missing():
        warnings.simplefilter("ignore", ChoiceWarning)  # its words are those of choice_.doubts
        model.fit(named_features(data), positions=observations.positions, groups=observations.groups)
    model = model.refit(n_jobs=None, progress="auto")  # what changes no result is not kept in files
    command = repeating_command(options, data, options.set)
    return model.with_provenance(make_provenance(data, rule, command))


def fit_semivariogram_of(
    options: argparse.Namespace, params: dict[str, Any], data: Input, screen: Screen
) -> Semivariogram:
    """Estimate the semivariogram of the rows of a file, with plain values for what is left open; nothing is clustered."""
    from mcgta.clustering.backend import Backend
    from mcgta.observations.missing import complete_rows
    from mcgta.observations.observations import read_features
    from mcgta.pipeline import StageCache, choose_backend_for, prepare, read
    from mcgta.runtime.parallel import threads
    from mcgta.runtime.progress import reporting
    from mcgta.settings import Settings

    settle_missing(data, params.get("missing", "error"), screen)
    settings = Settings(**with_metric(params, data, options)).plain()
    observations = data.observations
    features = read_features("mcgta", observations.X, missing=settings.missing, ensure_min_samples=2)
    names = list(observations.feature_names)
    choose_backend_for(features.shape, settings)  # refuses what does not fit into memory
    with threads(settings.n_jobs), reporting(settings.progress), settled_missing():
        given = complete_rows(features, names, observations.positions, observations.groups, settings)
        rows = read(given.X, names, given.positions, given.groups, settings, given.rows)
        prepared = prepare(rows, settings, StageCache(), backend=Backend("tiled", "nothing is clustered"))
    return prepared.loss.semivariogram
