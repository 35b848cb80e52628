"""Settings proposed by Optuna instead of all of a grid.

Each trial proposes all but the radius, of which all values are read off one tree. Numbers of the loss and the density are
drawn between the least and the largest value of the grid, other parameters from its values; so local models are fitted once
for each of these.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

from mcgta.validation.grid import DENSITY, LEVELS, LOSS, Grid, Levels

Evaluate = Callable[[Grid, Levels], list[int]]


def import_optuna() -> Any:
    """Import Optuna, or say how to get it."""
    try:
        import optuna
    except ImportError as error:
        raise ImportError("search='optuna' needs Optuna: pip install 'mcgta[tune]'") from error
    return optuna


def sample(
    grids: Sequence[Grid],
    evaluate: Evaluate,
    value: Callable[[int], float],
    *,
    trials: int,
    seed: int,
    advance: Callable[[int], None],
) -> list[int]:
    """Return the numbers of the settings that one study has tried.

    Parameters
    ----------
    grids : where to look
    evaluate : tries the settings of every radius, and returns their numbers
    value : what a setting is chosen by; the larger the better
    trials, seed : of the study
    advance : told of each trial
    """
    optuna = import_optuna()
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    tried: dict[int, None] = {}
    try:
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        for _ in range(trials):
            trial = study.ask()
            evaluated = evaluate(*_propose(trial, grids))
            tried.update(dict.fromkeys(evaluated))
            study.tell(trial, max(map(value, evaluated)))
            advance(1)
    finally:
        optuna.logging.set_verbosity(verbosity)
    return list(tried)


def _propose(trial: Any, grids: Sequence[Grid]) -> tuple[Grid, Levels]:
    number = trial.suggest_categorical("grid", list(range(len(grids)))) if len(grids) > 1 else 0
    grid = grids[number]
    drawn = (
        {
            name: _draw(trial, f"{number}.{name}", grid.values[name], between=names in (LOSS, DENSITY))
            for name in names
            if name in grid.values
        }
        for names in LEVELS[:-1]
    )
    return grid, Levels._make(drawn)


def _draw(trial: Any, name: str, values: tuple[Any, ...], *, between: bool) -> Any:
    if len(values) == 1:
        return values[0]
    plain = all(isinstance(value, numbers.Real) and not isinstance(value, bool) for value in values)
    if between and plain and all(isinstance(value, numbers.Integral) for value in values):
        return trial.suggest_int(name, min(values), max(values))
    if between and plain:
        return trial.suggest_float(name, float(min(values)), float(max(values)))
    # By number, since Optuna takes only plain values.
    return values[trial.suggest_categorical(name, list(range(len(values))))]
