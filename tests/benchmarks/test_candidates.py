"""What the searches of a fit look at is recorded, with its evidence as the choice has it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from candidates import recorded
from mcgta import MCGTA
from mcgta.datasets import make_series
from mcgta.selection.families.family import Candidate
from problems.problem import problem_of
from runs import Extent, fit_and_score


def test_labellings_of_gaussian_clusters_are_seen_with_the_chosen_one_among_them():
    made = make_series(600, n_clusters=2, separation=1.5, segment_lengths=(20, 40), random_state=20)
    with recorded() as recording:
        model = MCGTA(progress=False).fit(made.X)
    seen = list(recording.seen())
    assert {each.family for each in seen} >= {"level"}
    assert {np.unique(each.labels).size for each in seen} >= {1, 2, 3}
    own = recording.gain(model.family_, model.fitted_.labelling.labels)
    assert own > 0
    assert own > recording.gain("level", np.zeros(600, dtype=np.int64))


def test_labellings_of_other_families_are_seen_too_and_valued_by_them():
    labels = np.repeat([0, 1], 300)
    other = SimpleNamespace(
        name="other",
        one_gain=0.0,
        candidates=(Candidate(labels, 3.0),),
        contenders=tuple,
        gain=lambda labels: 3.0,
        value=lambda candidate, level_gain: candidate.gain + 0.0 * level_gain,
        beside_level=lambda labels: 0.0,
    )
    with recorded() as recording:
        MCGTA(progress=False).fit(np.random.default_rng(0).normal(size=(600, 2)))
    recording.families = [other]
    assert [each.labels is labels for each in recording.seen() if each.family == "other"] == [True]
    assert recording.gain("other", labels) == 3.0
    assert recording.gain("level", labels) < 3.0


def test_the_best_of_all_labellings_is_found_by_the_truth():
    made = make_series(600, n_clusters=2, separation=1.5, segment_lengths=(20, 40), random_state=20)
    run = fit_and_score(problem_of(made), {}, Extent())
    assert run.best is not None
    assert run.best.ari >= run.ari - 1
    assert run.best.clusters == 2
    assert run.seen > 5


def test_nothing_is_recorded_after_the_block():
    with recorded() as recording:
        pass
    MCGTA(progress=False).fit(np.random.default_rng(0).normal(size=(200, 2)))
    assert list(recording.seen()) == []
