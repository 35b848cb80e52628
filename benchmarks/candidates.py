"""All labellings that the searches of a fit look at, of every family, with their evidence on the scale of the choice.

A fit keeps the best labelling of each number of clusters in the family that it chooses. To tell a search that finds nothing
from a criterion that chooses wrongly takes all of them, so what passes between search and choice is recorded here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from mcgta.runtime.types import Index, Labels
from mcgta.selection import auto, search
from mcgta.selection.families import choosing
from mcgta.selection.families.choosing import LevelAnswer
from mcgta.selection.families.family import Candidate, FamilySearch
from mcgta.selection.families.registry import LEVEL
from mcgta.selection.scoring.scored_labelling import ScoredLabelling


class Seen(NamedTuple):
    """A labelling that a search has looked at: its family, and labels of some rows, both in canonical order."""

    family: str
    labels: Labels
    rows: Index


@dataclass
class Recording:
    """What the searches of a fit have looked at.

    Attributes
    ----------
    level : the answer of the search for Gaussian clusters; None where there was no search
    gaussians : its candidates
    families : what other families have found
    """

    level: LevelAnswer | None = None
    gaussians: list[ScoredLabelling] = field(default_factory=list)
    families: list[FamilySearch] = field(default_factory=list)

    def seen(self) -> Iterator[Seen]:
        """Yield every labelling; Gaussian clusters of very many observations are of the rows that the search has looked at."""
        if self.level is None:
            return
        for scored in self.gaussians:
            yield Seen(LEVEL, scored.labels, self.level.rows)
        every = np.arange(self.level.labels.size)
        for family in self.families:
            for candidate in (*family.candidates, *family.contenders()):
                yield Seen(family.name, candidate.labels, every)

    def gain(self, family: str, labels: Labels) -> float:
        """Return the nats over one cluster of a labelling (N,) as clusters of a family, as the choice compares families."""
        if self.level is None:
            return float("nan")
        if labels.max() == 0:
            return 0.0
        one_gain = max([0.0, *(each.one_gain for each in self.families)])
        as_gaussians = self.level.gain(labels) - one_gain
        for each in self.families:
            if each.name == family:
                return each.value(Candidate(labels, each.gain(labels)), as_gaussians)
        return as_gaussians + sum(each.beside_level(labels) for each in self.families)


@contextmanager
def recorded() -> Iterator[Recording]:
    """Record what the searches of a fit in the block look at."""
    recording = Recording()

    def keep_gaussians(result: Any, _: Any, candidates: search.Candidates, *__: Any) -> None:
        recording.gaussians = [*candidates.spatial, *candidates.mixed]

    def keep_families(result: Any, *_: Any) -> None:
        recording.families = list(result)

    def keep_level(result: Any, level: LevelAnswer, *_: Any) -> None:
        recording.level = level

    with (
        _heard(search, "choose_candidate", keep_gaussians),
        _heard(choosing, "search_families", keep_families),
        _heard(auto, "choose_family", keep_level),
    ):
        yield recording


def _heard(module: Any, name: str, keep: Callable[..., None]) -> Any:
    """Return a context in which a function of a module tells its result and arguments."""
    function = getattr(module, name)

    @wraps(function)
    def told(*arguments: Any, **options: Any) -> Any:
        result = function(*arguments, **options)
        keep(result, *arguments, *options.values())
        return result

    return patch.object(module, name, told)
