"""The comparison of two labellings: bars are clusters, ribbons the rows that two clusters have in common."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from sklearn.metrics import adjusted_rand_score

from mcgta import plot
from mcgta.drawing.palette import NOISE_COLOR, cluster_color
from mcgta.plot.agreement import MOST_FLOWS, count_flows
from mcgta.plot.reading import MOST_LABELS
from naive import plots as naive

ONE = np.repeat([0, 0, 1, 2, -1], 20)
TWO = np.repeat([1, 1, 0, 0, 0], 20)


def texts(axes):
    return [text.get_text() for text in axes.texts]


def parts(axes):
    """Return the collections of ribbons, of the bars at the left and of those at the right."""
    return [each for each in axes.collections if isinstance(each, PolyCollection)]


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 2)), min_size=1, max_size=50))
@settings(max_examples=40, deadline=None)
def test_flows_are_those_of_the_slow_twin(rows):
    one = np.array([left for left, _ in rows])
    two = np.array([right for _, right in rows])
    assert count_flows(one, two, (4, 3)).tolist() == naive.count_flows(one.tolist(), two.tolist(), (4, 3))


def test_bars_are_as_high_as_the_shares_of_clusters():
    _, left, right = parts(plot.compare(ONE, TWO))
    heights = np.array([np.ptp(path.vertices[:, 1]) for path in left.get_paths()])
    np.testing.assert_allclose(heights / heights.sum(), [0.4, 0.2, 0.2, 0.2])
    assert [to_hex(color) for color in left.get_facecolors()] == [*map(cluster_color, range(3)), NOISE_COLOR]
    assert [to_hex(color) for color in right.get_facecolors()] == [cluster_color(1), cluster_color(0)]


def test_ribbons_fill_the_bars_that_they_join():
    ribbons, left, right = parts(plot.compare(ONE, TWO))
    assert len(ribbons.get_paths()) == 4
    for bars, x in ((left, 0.0), (right, 1.0)):
        ends = [path.vertices[path.vertices[:, 0] == x, 1] for path in ribbons.get_paths()]
        assert sum(np.ptp(end) for end in ends) == pytest.approx(
            sum(np.ptp(path.vertices[:, 1]) for path in bars.get_paths())
        )


def test_the_adjusted_rand_index_is_written_with_noise_as_a_class():
    score = adjusted_rand_score(ONE, TWO)
    assert f"adjusted Rand index {score:.2f}" in texts(plot.compare(ONE, TWO))


def test_bars_have_names_and_shares_and_labellings_have_titles():
    axes = plot.compare(ONE, np.where(TWO == 0, "idle", "busy"), names=("found", "log book"))
    assert {"0   40 %", "noise   20 %", "idle   60 %", "busy   40 %", "found", "log book"} <= set(texts(axes))


def test_fitted_models_are_compared_by_their_labels(plain):
    axes = plot.compare(plain, plain.labels_)
    assert "adjusted Rand index 1.00" in texts(axes)


def test_of_very_many_ribbons_the_widest_are_drawn():
    rng = np.random.default_rng(0)
    axes = plot.compare(rng.integers(0, 60, 20_000), rng.integers(0, 60, 20_000))
    assert len(parts(axes)[0].get_paths()) == MOST_FLOWS
    assert any(f"the {MOST_FLOWS} widest" in text.replace("\n", " ") for text in texts(axes))


def test_large_numbers_are_names_of_classes():
    codes = np.where(TWO == 0, 48_201, 1_000_003)
    codes[:5] = -1
    said = texts(plot.compare(ONE, codes))
    assert {"48201   60 %", "1000003   35 %", "noise   5 %"} <= set(said)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (TWO[:-1], "other has 99 rows and model has 100"),
        (TWO - 2, "other holds -2; clusters are numbered from 0, and -1 is noise"),
        (TWO[:, None], r"one label for each row, got shape \(100, 1\)"),
        (np.array([], dtype=int), r"one label for each row, got shape \(0,\)"),
        (np.where(TWO == 0, np.nan, 1.0), "other has no label in row 40; give one to each row, -1 for noise"),
        (np.array([*["a"] * 99, None], dtype=object), "other has no label in row 99"),
        (np.ma.masked_equal(TWO, 1), "other has no label in row 0"),
    ],
)
def test_labels_that_cannot_be_compared_are_refused(other, message):
    with pytest.raises(ValueError, match=message):
        plot.compare(ONE, other)


def test_too_many_classes_are_refused():
    names = np.array([f"row {k}" for k in range(MOST_LABELS + 1)])
    with pytest.raises(ValueError, match="other holds 2,001 different labels; at most 2,000 can be compared"):
        plot.compare(np.zeros(names.size, dtype=int), names)


def test_two_names_are_needed():
    with pytest.raises(ValueError, match="must be two names"):
        plot.compare(ONE, TWO, names=("one",))
