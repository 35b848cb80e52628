"""What is chosen for parameters left open, and what is said about it."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import mcgta.selection.auto
import mcgta.selection.sampling
import mcgta.selection.search as searching
from mcgta import MCGTA, ChoiceWarning, evidence
from mcgta.selection.sampling import sample_rows
from mcgta.selection.scoring.scored_labelling import score
from mcgta.selection.search import search

pytestmark = pytest.mark.filterwarnings("ignore:semivariogram. no spherical model fits:UserWarning")

RNG = np.random.default_rng(1)
TRUTH = np.arange(240) // 40 % 2
X = RNG.normal(size=(240, 2)) + 4.0 * TRUTH[:, None]
ONE = RNG.normal(size=(240, 2))
MIXED = RNG.integers(0, 3, 240)
MIXTURE = RNG.normal(size=(240, 3)) + 8 * np.eye(3)[MIXED]
SET = [
    {"n_neighbors": 12},
    {"dissimilarity": "calibrated"},
    {"beta": 0.3},
    {"margin": 0.2},
    {"min_samples": 7},
    {"min_cluster_size": 9},
]


def fit(features, positions=None, **params):
    """A fit, and the doubts that it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MCGTA(**params).fit(features, positions=positions)
    return model, [str(warned.message) for warned in caught if warned.category is ChoiceWarning]


def find(monkeypatch, labels=None, **changes):
    """Make the search find these labels, and say this of them."""

    def instead(features, places, **options):
        scoring_data, found = search(features, places, **options)
        if labels is not None:
            best = score(scoring_data, labels)
            found = replace(found, labels=best.labels, best=best, others=(best,))
        return scoring_data, replace(found, **changes)

    monkeypatch.setattr(mcgta.selection.auto, "search", instead)


# ------------------------------------------------------------------------------------------------------------ parameters


@pytest.mark.parametrize("refine", ["all", "none", "auto"])
@pytest.mark.parametrize("params", SET, ids=str)
def test_what_the_user_sets_is_kept(params, refine):
    model = fit(X, **params, refine=refine)[0]
    ((name, value),) = params.items()
    assert model.choice_.settings[name] == value
    assert model.get_params()[name] == value
    assert getattr(model, f"{name}_", value) == value
    assert all(model.get_params()[other] == "auto" for other in model.choice_.settings if other != name)


def test_refined_labels_are_given_where_they_are_asked_for():
    model = fit(X, refine="all")[0]
    assert model.labels_source_ == model.choice_.source == "evidence"
    assert np.isnan(model.choice_.clusterer_log_evidence)
    assert adjusted_rand_score(TRUTH, model.labels_) == 1.0
    plain = fit(X, refine="none")[0]
    assert plain.labels_source_ == plain.choice_.source == "clusterer"
    assert plain.choice_.log_evidence == plain.choice_.clusterer_log_evidence


def test_evidence_decides_for_refined_labels_where_they_are_better():
    model = fit(X)[0]
    assert model.labels_source_ == "evidence"
    assert model.choice_.log_evidence > model.choice_.clusterer_log_evidence
    assert "refined labels have more evidence than those of the clusterer" in model.choice_.notes
    assert model.choice_.log_evidence == pytest.approx(
        evidence(X, model.labels_, overdispersion=model.choice_.overdispersion).log_evidence
    )


def test_evidence_decides_for_the_clusterers_labels_where_they_are_better(monkeypatch):
    find(monkeypatch, np.random.default_rng(0).integers(0, 2, 240))
    model = fit(X)[0]
    assert model.labels_source_ == "clusterer"
    assert model.choice_.log_evidence == model.choice_.clusterer_log_evidence
    assert "the clusterer's labels have more evidence than refined ones" in model.choice_.notes
    again = MCGTA(**model.choice_.settings, refine="none").fit(X)
    np.testing.assert_array_equal(again.labels_, model.labels_)


def test_what_is_said_of_the_clusterers_labels_is_true_though_others_were_not_asked_for():
    model = fit(X, refine="none")[0]
    assert model.choice_.clusterer_log_evidence < fit(X, refine="all")[0].choice_.log_evidence
    assert "refined labels have more evidence than those of the clusterer" in model.choice_.notes


@pytest.mark.parametrize("refine", ["noise", "all"])
def test_noise_that_is_to_be_assigned_is_only_where_there_is_no_model(refine):
    features, groups = np.vstack([X, ONE[:3]]), np.r_[np.zeros(240, dtype=int), np.ones(3, dtype=int)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MCGTA(refine=refine).fit(features, groups=groups)
    assert (model.labels_[:240] >= 0).all()
    assert set(np.flatnonzero(model.labels_ < 0)) <= set(model.failed_)
    assert sorted(model.failed_) == [240, 241, 242]


# ----------------------------------------------------------------------------------------------------- notes and doubts


def test_clear_clusters_leave_no_doubts():
    model, warned = fit(X)
    assert (model.choice_.doubts, warned) == ((), [])
    assert model.choice_.notes[0].startswith("2 clusters, ")
    assert str(model.choice_) == "\n".join(model.choice_.notes)


def test_no_structure_is_a_doubt():
    model, warned = fit(ONE)
    assert model.n_clusters_ == 1
    assert model.choice_.doubts[0].startswith("no cluster structure")
    assert warned == [f"{'; '.join(model.choice_.doubts)} (see choice_)"]
    assert "refined labels and those of the clusterer have the same evidence" in model.choice_.notes


def test_doubts_are_warned_of_by_refit_and_append_too():
    model = fit(ONE[:200], refine="all")[0]
    with pytest.warns(ChoiceWarning, match="these 3 clusters explain the observations no better than one cluster does"):
        model.refit(n_clusters=3)
    with pytest.warns(ChoiceWarning, match="no cluster structure"):
        model.append(ONE[200:])


def test_labels_for_a_number_are_no_choice_to_warn_of():
    model = fit(ONE[:200], refine="all")[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ChoiceWarning)
        assert model.labels_for(17).max() == 16


def test_a_rough_model_is_a_doubt(monkeypatch):
    find(monkeypatch, TRUTH, overdispersion=2.5)
    model, warned = fit(X, refine="all")
    assert any("2.5 observations count as one" in doubt for doubt in model.choice_.doubts)
    assert len(warned) == 1
    assert model.choice_.log_evidence == pytest.approx(evidence(X, model.labels_, overdispersion=2.5).log_evidence)


def test_other_answers_are_a_doubt(monkeypatch):
    def instead(features, places, **options):
        scoring_data, found = search(features, places, **options)
        near = replace(score(scoring_data, np.arange(240) // 80), label_nats=0.0)
        level = found.best.log_evidence(found.overdispersion) - 4.0
        near = replace(near, label_nats=near.log_evidence(found.overdispersion) - level)
        return scoring_data, replace(found, others=(found.best, near))

    monkeypatch.setattr(mcgta.selection.auto, "search", instead)
    model, warned = fit(X, refine="all")
    assert model.choice_.doubts == ("other answers are about as good: 3 clusters instead of 2",)
    assert len(warned) == 1
    np.testing.assert_allclose(model.choice_.log_evidences[1:] - model.choice_.log_evidence, [0, -4], atol=1e-6)
    assert model.choice_.log_evidences[0] == model.choice_.one_cluster_log_evidence
    assert model.choice_.cluster_counts.tolist() == [1, 2, 3]


@pytest.mark.parametrize(("ratio", "said"), [(0.97, "position does not help"), (0.6, "position helps little")])
def test_that_position_does_not_help_is_told_but_no_doubt(monkeypatch, ratio, said):
    find(monkeypatch, join_count_ratio=ratio, ignores_position=ratio > 0.9)
    model, warned = fit(MIXTURE, refine="all")
    assert adjusted_rand_score(MIXED, model.labels_) == 1.0
    assert any(note.startswith(said) for note in model.choice_.notes)
    assert warned == []


@pytest.mark.parametrize("place", ["time", "plane"])
def test_a_choice_made_on_a_sample_says_so(monkeypatch, place):
    monkeypatch.setattr(mcgta.selection.sampling, "PIECE_ROWS", 30)
    monkeypatch.setattr(
        mcgta.selection.sampling, "sample_rows", lambda places, seed, **_: sample_rows(places, seed, most=100, size=125)
    )
    monkeypatch.setattr(searching, "MAX_CHOSEN_ON_ALL_ROWS", 200)
    monkeypatch.setattr(mcgta.selection.sampling, "MAX_CHOSEN_ON_ALL_ROWS", 200)
    monkeypatch.setattr(mcgta.selection.auto, "MAX_CHOSEN_ON_ALL_ROWS", 200)
    where = None if place == "time" else np.column_stack([np.arange(240.0), RNG.uniform(size=240)])
    model = fit(X, where, refine="all")[0]
    how = "whole pieces of series" if place == "time" else "places at random"
    assert 100 < model.choice_.scored < 150
    assert f"chosen on a sample of {model.choice_.scored} of 240 observations, {how}" in model.choice_.notes
    assert model.labels_.size == 240


@pytest.mark.parametrize(
    "params", [{"refine": "none"}, {"refine": "noise"}, {"refine": "none", "n_clusters": 2}], ids=str
)
def test_where_only_a_sample_could_be_scored_nothing_is_searched_for_the_clusterer(monkeypatch, capsys, params):
    monkeypatch.setattr(mcgta.selection.auto, "MAX_CHOSEN_ON_ALL_ROWS", 200)
    monkeypatch.setattr(mcgta.selection.auto, "search", lambda *_, **__: pytest.fail("something is searched for"))
    model = fit(X, **params, progress=True)[0]
    assert model.choice_ is None
    assert model.alternatives_ == ()
    assert model.labels_source_ == "clusterer"
    assert "nothing is searched for" in capsys.readouterr().err


@pytest.mark.parametrize("X", [np.full((60, 2), 3.0), 5.0 + 1e-13 * np.random.default_rng(0).normal(size=(60, 2))])
def test_features_that_do_not_vary_but_for_rounding_are_not_searched(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MCGTA(n_neighbors=10, progress=False).fit(X)
    assert model.choice_ is None
    assert model.labels_.shape == (60,)
