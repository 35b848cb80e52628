"""What the searches of a fit look at is recorded, with its evidence as the choice has it."""

from __future__ import annotations

import numpy as np

from candidates import recorded
from mcgta import MCGTA
from mcgta.datasets import make_series
from mcgta.datasets.dynamics import make_dynamics
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


def test_labellings_of_other_families_are_seen_too():
    made = make_dynamics(1500, n_clusters=2, kind="periods", random_state=1)
    run = fit_and_score(problem_of(made), {}, Extent())
    assert run.best is not None
    assert run.best.ari >= run.ari - 5
    assert run.best.family == "dynamics"
    assert run.seen > 5


def test_nothing_is_recorded_after_the_block():
    with recorded() as recording:
        pass
    MCGTA(progress=False).fit(np.random.default_rng(0).normal(size=(200, 2)))
    assert list(recording.seen()) == []
