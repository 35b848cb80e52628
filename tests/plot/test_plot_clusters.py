"""Profiles, networks and transitions: what clusters are like, and which follows which."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex, to_rgb

from builders.descriptions import labelled
from mcgta import plot
from mcgta.description import describe
from mcgta.drawing.palette import cluster_color


def bars(axes):
    return next(each for each in axes.collections if isinstance(each, LineCollection))


def test_bars_of_profiles_reach_a_standard_deviation_about_the_mean(machine):
    axes = plot.profiles(machine, features=["rpm", "temp"])
    X = machine.data.raw
    labels = machine.labels
    segments = np.array(bars(axes).get_segments()).reshape(2, 3, 2, 2)
    for place, column in enumerate((2, 0)):
        for cluster in range(3):
            own = X[labels == cluster, column]
            ends = (own.mean() + own.std(ddof=1) * np.array([-1, 1]) - X[:, column].mean()) / X[:, column].std(ddof=1)
            assert segments[place, cluster, :, 0] == pytest.approx(ends)
    colors = [to_hex(color) for color in bars(axes).get_colors()]
    assert colors == [cluster_color(k) for k in range(3)] * 2


def test_profiles_begin_with_the_most_distinguishing_feature(machine):
    axes = plot.profiles(machine)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["temp", "rpm", "load"]
    assert (np.diff(axes.get_yticks()) < 0).all()


def test_profiles_say_when_features_are_left_out():
    rng = np.random.default_rng(0)
    axes = plot.profiles(labelled(rng.normal(size=(60, 20)), np.repeat([0, 1], 30)))
    assert axes.get_title(loc="right") == "8 of 20 features"


def test_profiles_of_many_clusters_have_fewer_features():
    rng = np.random.default_rng(0)
    axes = plot.profiles(labelled(rng.normal(size=(300, 20)), np.repeat(np.arange(30), 10)))
    assert len(axes.get_yticks()) == 4
    assert axes.get_title(loc="right") == "4 of 20 features, the 24 largest of 30 clusters"
    assert (
        len(plot.profiles(labelled(rng.normal(size=(300, 20)), np.repeat(np.arange(30), 10)), features=9).get_yticks())
        == 9
    )


def test_profiles_of_a_cluster_of_one_row_have_no_spread():
    axes = plot.profiles(labelled(np.arange(9.0)[:, None], np.r_[np.zeros(8, dtype=int), 1]))
    segments = np.array(bars(axes).get_segments())
    assert np.ptp(segments[1, :, 0]) == 0
    assert np.ptp(segments[0, :, 0]) > 0


def test_profiles_of_a_feature_that_does_not_vary_are_at_zero():
    axes = plot.profiles(labelled(np.ones((20, 1)), np.repeat([0, 1], 10)))
    assert np.array(bars(axes).get_segments())[..., 0] == pytest.approx(0)


@pytest.fixture(scope="module")
def linked():
    """Two clusters in which other pairs of four features go together, one of them with opposite signs."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 4))
    X[:100, 1] += 2 * X[:100, 0]
    X[100:, 3] -= 2 * X[100:, 2]
    return labelled(X, np.repeat([0, 1], 100))


def test_lines_of_networks_are_partial_correlations(linked):
    axes = plot.networks(linked, least=0.0)
    collections = [each for each in axes.collections if isinstance(each, LineCollection)]
    for cluster in describe(linked).clusters:
        table = cluster.partial_correlations[np.triu_indices(4, 1)]
        assert np.abs(table).max() > 0.5
        solid, dashed = collections[2 * cluster.cluster : 2 * cluster.cluster + 2]
        assert len(solid.get_segments()) == np.count_nonzero(table > 0)
        assert len(dashed.get_segments()) == np.count_nonzero(table < 0)
        widths = np.r_[solid.get_linewidths(), dashed.get_linewidths()]
        assert np.sort(widths) == pytest.approx(np.sort(0.4 + 6 * np.abs(table)))


def test_a_network_without_a_line_says_so(machine, linked):
    assert [text.get_text() for text in plot.networks(linked).texts].count("none") == 0
    assert np.abs(describe(machine).clusters[0].partial_correlations - np.eye(3)).max() < 0.1
    assert [text.get_text() for text in plot.networks(machine).texts].count("none") == 3


def test_weak_correlations_have_no_lines(machine):
    axes = plot.networks(machine, least=1.0)
    assert not any(each.get_segments() for each in axes.collections if isinstance(each, LineCollection))
    with pytest.raises(ValueError, match="least=2"):
        plot.networks(machine, least=2)


def test_networks_name_clusters_and_features(machine):
    texts = [text.get_text() for text in plot.networks(machine).texts]
    assert texts.count("temp") == 3
    assert "0   38 %" in texts


def test_networks_of_many_features_have_a_key():
    rng = np.random.default_rng(1)
    names = np.array([f"a rather long name {k}" for k in range(15)])
    axes = plot.networks(labelled(rng.normal(size=(80, 15)), np.repeat([0, 1], 40), names=names))
    key = [text.get_text() for text in axes.get_legend().get_texts()]
    assert len(key) == 3 + 12
    assert key[3].startswith("a  a rather long name")
    assert axes.get_title(loc="left") == "12 of 15 features"


def test_one_feature_has_no_network():
    with pytest.raises(ValueError, match="networks shows pairs of features, and this fit has one feature"):
        plot.networks(labelled(np.zeros((10, 1)), np.zeros(10, dtype=int)))


def test_cells_of_transitions_hold_the_shares_of_changes():
    labels = np.repeat([0, 1, 0, 2, 0, 1], 10)
    axes = plot.transitions(labelled(np.zeros((60, 1)), labels))
    cells = {(round(text.get_position()[1]), round(text.get_position()[0])): text.get_text() for text in axes.texts}
    assert cells[0, 1] == "67 %"
    assert cells[0, 2] == "33 %"
    assert cells[1, 0] == "100 %"
    assert cells[1, 2] == ""
    assert cells[0, 0] == "3 spells,\nmedian\n10 steps"
    assert cells[2, 2] == "1 spell of\n10 steps"
    picture = np.asarray(axes.images[0].get_array())
    assert picture[1, 1] == pytest.approx(to_rgb(cluster_color(1)))
    assert picture[0, 1][0] < picture[2, 1][0] or picture[0, 1][2] < picture[2, 1][2]


def test_transitions_of_places_are_refused(europe):
    with pytest.raises(ValueError, match="transitions shows times, but the positions of this fit are places"):
        plot.transitions(europe)


@pytest.mark.parametrize("name", ["profiles", "networks", "transitions", "membership"])
def test_plots_of_clusters_say_when_there_are_none(name):
    fit = labelled(np.zeros((20, 2)), np.full(20, -1))
    with pytest.raises(ValueError, match=f"{name} shows clusters, and this fit has none: all rows are noise"):
        getattr(plot, name)(fit)
