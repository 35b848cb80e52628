"""The values to try of each parameter, level by level: what is costly to compute is on the outer levels.

Models, then semivariogram, then loss, then density, then radius: an outer level is computed once for all that is within it, as
in the hierarchical grid search of the paper's appendix.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mcgta.clustering.registry import CLUSTERERS, get_clusterer
from mcgta.runtime.rules import INF, Rule, suggest
from mcgta.selection import trial_values
from mcgta.settings import RULES, Settings, hashable, names_of
from mcgta.stages.covariance import get_covariance

Values = dict[str, Any]

MODELS = tuple(name for name in names_of("models", "dissimilarity") if name != "random_state")
CURVE = names_of("semivariogram")
LOSS = ("beta", "margin", "margin_in_sills", "penalty")
DENSITY = ("clusterer", "min_samples", "min_samples_in_neighbors", "min_cluster_size")
RADIUS = ("eps", "eps_quantile")
LEVELS = (MODELS, CURVE, LOSS, DENSITY, RADIUS)


class Levels(NamedTuple):
    """A value for each parameter of the levels of a grid, but for the radius."""

    models: Values
    curve: Values
    loss: Values
    density: Values


RELATIVE = {**trial_values.RELATIVE, "eps_quantile": "eps"}
"""Ways to say a parameter relative to what a fit has found, and which parameter that is."""

RELATIVE_RULES = {
    "margin_in_sills": Rule(real=(-INF, INF)),
    "min_samples_in_neighbors": Rule(real=(0, INF), above=True),
    "eps_quantile": Rule(real=(0, 1)),
}
"""What each of these may be."""

NEIGHBORS = (2 / 3, 1, 3 / 2)
DEFAULTS: dict[str, tuple[Any, ...]] = {
    "dissimilarity": (Settings().plain().dissimilarity,),
    "beta": (0.0, 0.5, 1.0, 2.0),
    "margin_in_sills": (0.0, 0.1, 0.25),
    "clusterer": (Settings.clusterer,),
    "min_samples_in_neighbors": (0.5, 1.0, 1.5),
}
"""What is tried of parameters that neither the grid nor the estimator sets; ``n_neighbors`` by ``NEIGHBORS``."""

QUANTILES = tuple(np.linspace(0.2, 0.95, 31).round(3).tolist())
"""The same for the radius, but for clusterers that need none."""


@dataclass(frozen=True)
class Grid:
    """The values to try; the first name of a level changes slowest.

    Attributes
    ----------
    values : name -> values, in the order of the levels
    """

    values: dict[str, tuple[Any, ...]]

    def level(self, names: Iterable[str]) -> list[Values]:
        """Return every combination of the values of a level, but for those that differ only in what has no effect."""
        inside = [name for name in names if name in self.values]
        seen = set()
        out = []
        for choice in itertools.product(*(range(len(self.values[name])) for name in inside)):
            combination = {name: self.values[name][k] for name, k in zip(inside, choice, strict=True)}
            key = tuple(k if has_effect(name, combination) else -1 for name, k in zip(inside, choice, strict=True))
            if key not in seen:
                seen.add(key)
                out.append(combination)
        return out

    def steps(self) -> Iterator[Levels]:
        """Yield the combinations of all levels but the radius, the outer levels changing slowest."""
        return map(Levels._make, itertools.product(*(self.level(names) for names in LEVELS[:-1])))

    def radii(self, clusterer: str) -> tuple[str, tuple[Any, ...]]:
        """Return the name and the values of the radius."""
        for name in RADIUS:
            if name in self.values:
                return name, self.values[name]
        return ("eps_quantile", QUANTILES) if get_clusterer(clusterer).tunes_eps else ("eps", (0.0,))

    def __len__(self) -> int:
        return sum(len(self.radii(levels.density["clusterer"])[1]) for levels in self.steps())


def has_effect(name: str, values: Values) -> bool:
    """Whether a parameter has an effect beside the other values of its level."""
    if name in ("margin", "margin_in_sills"):
        return values.get("beta") != 0
    if name == "alpha":
        return get_covariance(values.get("covariance", Settings.covariance)).uses_alpha
    return True


def read_grids(grid: Any, params: Mapping[str, Any] | None, n_neighbors: int) -> list[Grid]:
    """Check the user's grid, or list of grids, and complete it.

    Parameters
    ----------
    grid : mapping of names to values, list of such mappings, or None
    params : the estimator's parameters, which stay as they are unless they are "auto"; None where there is no estimator
    n_neighbors : around which sizes of the neighbourhood are tried
    """
    given = [{}] if grid is None else [grid] if isinstance(grid, Mapping) else grid
    if not isinstance(given, (list, tuple)) or not given or not all(isinstance(item, Mapping) for item in given):
        raise ValueError(
            f"grid={grid!r} must be a dict of parameters and the values to try of each, or a list of such dicts"
        )
    return [_complete({name: _read_values(name, item[name]) for name in item}, params, n_neighbors) for item in given]


def _complete(values: dict[str, tuple[Any, ...]], params: Mapping[str, Any] | None, n_neighbors: int) -> Grid:
    for relative, name in RELATIVE.items():
        if relative in values and name in values:
            raise ValueError(f"grid has both {name} and {relative}, which says {name} in another way; use one of them")
    sizes = sorted({max(2, round(share * n_neighbors)) for share in NEIGHBORS})
    for name, default in {"n_neighbors": tuple(sizes), **DEFAULTS, "eps": None}.items():
        plain = RELATIVE.get(name, name)
        if name in values or plain in values or (name == "eps" and "eps_quantile" in values):
            continue
        if params is not None and not _is_auto(params[plain]):
            values[plain] = (params[plain],)
        elif default is not None:
            values[name] = default
    for clusterer in values["clusterer"]:
        if clusterer not in CLUSTERERS:
            raise ValueError(
                f"clusterer={clusterer!r} is not allowed: tune takes {', '.join(map(repr, CLUSTERERS))}, not objects"
            )
    order = [name for level in LEVELS for name in level]
    return Grid({name: values[name] for name in order if name in values})


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _read_values(name: Any, values: Any) -> tuple[Any, ...]:
    allowed = [item for level in LEVELS for item in level]
    if name not in allowed:
        raise ValueError(
            f"grid has {name!r}, which is not a parameter to try: it must be one of {', '.join(allowed)}"
            f"{suggest(name, allowed)}"
        )
    if isinstance(values, (str, bytes, Mapping)) or not np.iterable(values):
        raise ValueError(f"grid[{name!r}]={values!r} must be a list of the values to try, such as [{values!r}]")
    rule = RELATIVE_RULES[name] if name in RELATIVE_RULES else RULES[name]
    # Radii are read off one tree, so they are numbers.
    rule = replace(rule, words=tuple(word for word in rule.words if word != "auto"), level=rule.level and name != "eps")
    plain = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
    if not plain:
        raise ValueError(f"grid[{name!r}] is empty; it must list at least one value to try")
    for value in plain:
        if not rule.accepts(value):
            raise ValueError(f"grid[{name!r}] has {value!r}, which is not allowed: {name} must be {rule.describe()}")
    if len(set(map(hashable, plain))) < len(plain):
        raise ValueError(f"grid[{name!r}]={list(plain)!r} names a value twice")
    return plain


def check_grid(grid: Grid, params: Mapping[str, Any]) -> None:
    """Refuse combinations that the estimator would refuse, before anything is fitted."""
    plain = {name: values[0] for name, values in grid.values.items() if name not in RELATIVE}
    for names in (MODELS, CURVE, DENSITY):
        for values in grid.level(names):
            stated = {name: value for name, value in {**plain, **values}.items() if name not in RELATIVE}
            Settings(**{**params, **stated, "beta": 0.0, "margin": 0.0})  # which checks them
