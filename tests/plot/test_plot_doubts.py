"""Evidence, membership and stability: how sure a labelling is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_hex

from builders.descriptions import labelled
from mcgta import plot
from mcgta.drawing.palette import cluster_color
from mcgta.plot.doubts import BAND_POINTS, band_lengths
from mcgta.validation.stability import Stability


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_the_line_of_evidence_is_how_far_each_number_is_behind(searched):
    axes = plot.evidence(searched)
    choice = searched.choice_
    line = axes.lines[0]
    assert line.get_xdata().tolist() == choice.cluster_counts.tolist()
    np.testing.assert_allclose(line.get_ydata(), choice.log_evidences.max() - choice.log_evidences)
    assert axes.yaxis_inverted()  # the best is at the top


def test_numbers_whose_evidence_is_not_finite_are_left_out(searched):
    evidences = searched.choice_.log_evidences.copy()
    evidences[-1] = -np.inf
    axes = plot.evidence(replace(searched.fitted_, choice=replace(searched.choice_, log_evidences=evidences)))
    assert axes.lines[0].get_xdata().tolist() == searched.choice_.cluster_counts[:-1].tolist()
    axes.figure.canvas.draw()


def test_the_number_that_was_taken_has_a_filled_mark(searched):
    axes = plot.evidence(searched)
    mark = axes.lines[1]
    assert mark.get_xdata().tolist() == [searched.n_clusters_]
    assert mark.get_markerfacecolor() != "none"
    assert f"taken: {searched.n_clusters_} clusters" in legend(axes)


def test_labels_of_the_clusterer_have_a_line_at_their_evidence(searched):
    choice = replace(searched.choice_, clusterer_log_evidence=searched.choice_.log_evidences.max() - 100)
    axes = plot.evidence(replace(searched.fitted_, choice=choice))
    assert axes.lines[2].get_ydata()[0] == pytest.approx(100)
    assert "labels of the clusterer" in legend(axes)
    without = replace(choice, clusterer_log_evidence=np.nan)
    assert len(plot.evidence(replace(searched.fitted_, choice=without)).lines) == 2


def test_labels_of_the_clusterer_that_were_taken_are_said_to_be(searched):
    level = searched.choice_.log_evidences.max() + 7
    choice = replace(searched.choice_, source="clusterer", log_evidence=level)
    axes = plot.evidence(replace(searched.fitted_, choice=choice))
    assert "taken: labels of the clusterer" in legend(axes)
    assert axes.lines[1].get_ydata()[0] == 0
    assert axes.lines[0].get_ydata().min() == pytest.approx(7)


def test_evidence_without_a_search_is_refused(plain):
    with pytest.raises(ValueError, match="this fit has made none; fit with eps='auto'"):
        plot.evidence(plain)


@pytest.mark.parametrize("n", [1, 2, BAND_POINTS, BAND_POINTS + 1, 100_000])
def test_the_lengths_of_a_band_are_sorted_strengths_and_not_many(n):
    strengths = np.random.default_rng(n).uniform(size=n)
    lengths = band_lengths(strengths)
    assert (np.diff(lengths) >= 0).all()
    assert (lengths[0], lengths[-1]) == (strengths.min(), strengths.max())
    assert lengths.size <= BAND_POINTS
    assert np.isin(lengths, strengths).all()


def test_bands_of_membership_hold_the_strengths_of_their_cluster(plain):
    axes = plot.membership(plain)
    assert len(axes.collections) == plain.n_clusters_
    for cluster, band in enumerate(axes.collections):
        own = plain.probabilities_[plain.labels_ == cluster]
        drawn = np.unique(band.get_paths()[0].vertices[:, 0].round(9))
        assert np.isin(own.round(9), drawn).all()
        assert to_hex(band.get_facecolor()[0]) == cluster_color(cluster)


def test_membership_says_which_share_of_rows_is_doubtful(plain):
    said = [text.get_text() for text in plot.membership(plain).texts]
    weak = [np.mean(plain.probabilities_[plain.labels_ == k] < 0.5) for k in range(plain.n_clusters_)]
    assert said == [f"{100 * share:.0f} % below ½" for share in weak]


def test_membership_says_what_a_strength_is(plain, searched):
    assert plot.membership(plain).get_xlabel() == "strength of membership, by density"
    assert plot.membership(searched).get_xlabel() == "probability of the own cluster"


def made_stability(clusters, spread):
    return Stability(
        clusters=np.array(clusters),
        spread=np.array(spread),
        observations=np.ones(10),
        agreement=np.array([0.5, 0.7]),
        numbers=np.array([2, 4]),
        drawn=np.array([7, 7]),
        blocks=10,
        share=0.7,
    )


def test_bars_of_stability_are_jaccard_similarities_with_verdicts():
    axes = plot.stability(made_stability([0.9, 0.55, 0.3], [5.0, 5.0, 5.0]))
    assert [bar.get_width() for bar in axes.patches] == [0.9, 0.55, 0.3]
    assert [to_hex(bar.get_facecolor()) for bar in axes.patches] == [cluster_color(k) for k in range(3)]
    assert [text.get_text() for text in axes.texts] == ["0.90  stable", "0.55  doubtful", "0.30  dissolved"]
    assert axes.get_title(loc="right") == "2 resamples, 2 to 4 clusters, ARI 0.60 on average"


def test_a_cluster_that_was_never_drawn_has_no_number():
    axes = plot.stability(made_stability([0.9, np.nan], [5.0, 5.0]))
    assert axes.texts[1].get_text() == "not drawn"
    assert axes.patches[1].get_width() == 0


def test_stability_of_many_clusters_shows_the_first_ones():
    axes = plot.stability(made_stability([0.9] * 45, [5.0] * 45))
    assert len(axes.patches) == 40
    assert axes.get_title(loc="right").replace("\n", " ").startswith("the first 40 of 45 clusters; 2 resamples")


def test_stability_takes_a_result_and_not_a_model(plain):
    with pytest.raises(ValueError, match=r"got MCGTA; pass mcgta.stability\(model\)"):
        plot.stability(plain)
    with pytest.raises(ValueError, match="the fit that was resampled has none"):
        plot.stability(made_stability([], []))


def test_membership_of_many_clusters_shows_the_largest():
    labels = np.r_[np.repeat(np.arange(50), 2), np.full(20, 49)]
    fit = labelled(np.zeros((120, 1)), labels)
    fit.derived.__dict__["strengths"] = np.linspace(0, 1, 120)
    axes = plot.membership(fit)
    assert len(axes.collections) == 40
    assert axes.get_yticklabels()[-1].get_text() == "49"
    assert axes.get_title(loc="right") == "the 40 largest of 50 clusters"
