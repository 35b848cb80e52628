"""Peers are run on what they can take, are told K or not, and are stopped in time."""

from __future__ import annotations

import time

import numpy as np
import pytest

from measuring.timebox import OutOfTime, at_most
from peers import clap_server
from peers.clap import ClapProcess
from peers.diffusion import diffusion_mixture
from peers.registry import PEERS, Labelled, Peer, hidden_markov_by_criterion
from problems.problem import Problem
from runs import Extent, Run, measure

SERVER = """#!/bin/sh
while read file seconds; do echo '{"labels": [0, 0, 1], "seconds": 1.5}'; done
"""


def series(count=300):
    """Two states that come twice each."""
    truth = np.repeat([0, 1, 0, 1], count // 4)
    X = np.random.default_rng(0).normal(size=(truth.size, 2)) + 6.0 * truth[:, None]
    return Problem(X, None, truth)


def test_a_hidden_markov_model_finds_the_number_of_states_by_its_criterion():
    problem = series()
    labels = hidden_markov_by_criterion(problem)
    np.testing.assert_array_equal(labels, problem.truth)


def test_diffusion_finds_regions_whose_observations_overlap():
    rng = np.random.default_rng(0)
    places = rng.uniform(size=(600, 2))
    truth = (places[:, 0] > 0.5).astype(np.int64)
    X = rng.normal(size=(600, 2)) + truth[:, None]
    labels = diffusion_mixture(Problem(X, places, truth), 2)
    assert max(np.mean(labels == truth), np.mean(labels != truth)) > 0.9


def test_diffusion_keeps_groups_apart():
    truth = np.repeat([0, 1], 40)
    problem = Problem(truth[:, None] + 0.0, np.tile(np.arange(40.0), 2), truth, groups=truth)
    np.testing.assert_array_equal(np.unique(diffusion_mixture(problem, 2)[truth == 0]).size, 1)


def test_peers_that_are_told_k_have_no_part_in_data_of_one_cluster(monkeypatch):
    told = []

    def label(problem, seconds):
        told.append(seconds)
        return Labelled(np.zeros(len(problem.X), dtype=np.int64), 0.5)

    peers = (Peer("free", ("time",), False, label), Peer("told", ("time",), True, label))
    monkeypatch.setattr("runs.PEERS", peers)
    monkeypatch.setattr("runs.fit_and_score", lambda problem, settings, extent: _nothing(problem))
    several = measure(series(), {}, Extent(peers=True, peer_seconds=7.0))
    one = measure(Problem(np.zeros((20, 1)), None, np.zeros(20, dtype=np.int64)), {}, Extent(peers=True))
    assert list(several.peers) == ["free", "told"]
    assert list(one.peers) == ["free"]
    assert told[0] == 7.0
    assert several.peers["free"].ari == 0.0


def _nothing(problem):
    return Run(len(problem.X), problem.clusters)


def test_a_peer_that_fails_or_takes_too_long_says_so():
    def fails(problem, seconds):
        raise ValueError("no\nmore")

    def endless(problem, seconds):
        with at_most(seconds):
            _work_for_ever()

    assert Peer("a", ("time",), False, fails).run(series(), 1.0).note == "ValueError: no"
    assert Peer("a", ("time",), False, endless).run(series(), 0.05).note == "cut at 0.05 s"


def _work_for_ever():
    while True:
        pass


def test_the_time_box_counts_the_processor_and_not_the_clock():
    with at_most(0.05):
        time.sleep(0.1)
    with pytest.raises(OutOfTime), at_most(0.05):
        _work_for_ever()


def test_clap_is_asked_of_the_environment_that_has_it(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib" / "python" / "site-packages" / "claspy").mkdir(parents=True)
    python = tmp_path / "bin" / "python"
    python.write_text(SERVER)
    python.chmod(0o755)
    monkeypatch.setenv("PEERS", str(tmp_path))
    process = ClapProcess()
    try:
        assert process.ask(series(), 5.0) == {"labels": [0, 0, 1], "seconds": 1.5}
        assert process.ask(series(), 5.0)["seconds"] == 1.5
    finally:
        process.stop()


def test_without_its_environment_clap_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PEERS", str(tmp_path))
    clap = next(peer for peer in PEERS if peer.name == "CLaP")
    assert clap.run(series(), 1.0).note == "claspy is not installed: make .venv-peers"


def test_the_server_answers_with_labels_or_says_why_not(tmp_path, monkeypatch):
    file = tmp_path / "series.npy"
    np.save(file, np.zeros((3, 1)))
    monkeypatch.setattr(clap_server, "detect_states", lambda X: np.arange(len(X)))
    assert clap_server.answer(f"{file} 5")["labels"] == [0, 1, 2]

    def refuse(X):
        raise ValueError("too short")

    monkeypatch.setattr(clap_server, "detect_states", refuse)
    assert clap_server.answer(f"{file} 5") == {"note": "ValueError: too short"}
