"""The same fit again: refitted without a change, cut at its radius, or out of a file."""

from __future__ import annotations

import numpy as np
import pytest

from mcgta import MCGTA, load
from mcgta.datasets import make_regions, make_series

pytestmark = pytest.mark.filterwarnings("ignore:semivariogram. no spherical model fits:UserWarning")

DATA = {
    "time": make_series(400, n_clusters=3, segment_lengths=(20, 40), random_state=2),
    "plane": make_regions(400, n_clusters=3, spacing=5.0, random_state=2),
}
ASKED = {
    "evidence": {},
    "all": {"refine": "all"},
    "number": {"n_clusters": 4},
    "none": {"refine": "none"},
    "noise": {"refine": "noise"},
    "number by the clusterer": {"n_clusters": 2, "refine": "none"},
    "radius": {"eps": 0.5, "n_neighbors": 20},
    "hdbscan": {"clusterer": "hdbscan", "refine": "none"},
}
BY_EVIDENCE = ("evidence", "all", "number")


@pytest.fixture(scope="module")
def fits():
    """A fit of each kind at each kind of place, made when first asked for."""
    made = {}

    def get(place, asked):
        if (place, asked) not in made:
            data = DATA[place]
            made[place, asked] = MCGTA(**ASKED[asked]).fit(data.X, positions=data.positions)
        return made[place, asked]

    return get


@pytest.mark.parametrize("place", DATA)
@pytest.mark.parametrize("asked", ASKED)
def test_a_refit_without_a_change_gives_the_same_labels_to_the_last(fits, place, asked):
    model = fits(place, asked)
    again = model.refit()
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.probabilities_, model.probabilities_)
    assert again.labels_source_ == model.labels_source_
    assert again.get_params() == model.get_params()


@pytest.mark.parametrize("asked", ["evidence", "none", "radius"])
def test_a_refit_with_the_values_it_has_is_no_change(fits, asked):
    model = fits("time", asked)
    again = model.refit(beta=model.beta_, refine=model.refine, n_jobs=2)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert (again.labels_source_, again.n_jobs) == (model.labels_source_, 2)


@pytest.mark.parametrize("place", DATA)
@pytest.mark.parametrize("asked", ASKED)
def test_where_labels_come_from_is_told(fits, place, asked):
    model = fits(place, asked)
    assert model.labels_source_ == ("evidence" if asked in BY_EVIDENCE else "clusterer")


@pytest.mark.parametrize("place", DATA)
@pytest.mark.parametrize("asked", ["evidence", "none", "radius", "number by the clusterer"])
def test_dbscan_at_the_radius_of_the_fit_gives_the_labels_of_the_clusterer(fits, place, asked):
    model = fits(place, asked)
    plain = model.refit(refine="none")
    assert plain.labels_source_ == "clusterer"
    np.testing.assert_array_equal(model.dbscan_clustering(model.eps_), plain.labels_)


@pytest.mark.parametrize("place", DATA)
def test_a_refit_comes_back_to_labels_by_evidence(fits, place):
    model = fits(place, "evidence")
    plain = model.refit(refine="none")
    refined = plain.refit(refine="all")
    assert (plain.labels_source_, refined.labels_source_) == ("clusterer", "evidence")
    np.testing.assert_array_equal(refined.labels_, model.labels_)


@pytest.mark.parametrize("change", [{"beta": 0.3}, {"margin": 0.2}, {"eps": 0.4}])
def test_a_change_of_the_loss_is_told_of_where_labels_were_chosen_by_evidence(fits, change):
    model = fits("time", "evidence")
    with pytest.warns(UserWarning, match=f"labels now come from the clusterer, .*: {next(iter(change))} changes"):
        again = model.refit(**change)
    assert again.labels_source_ == "clusterer"


@pytest.mark.parametrize("place", DATA)
def test_a_number_of_clusters_can_be_left_open_again(fits, place):
    again = fits(place, "number").refit(n_clusters="auto")
    assert again.labels_source_ == "evidence"
    np.testing.assert_array_equal(again.labels_, fits(place, "evidence").labels_)


def test_a_refit_to_auto_chooses_by_evidence_as_a_fit_does(fits):
    again = fits("time", "all").refit(refine="auto")
    assert again.labels_source_ == "evidence"
    assert again.choice_.clusterer_log_evidence < again.choice_.log_evidence
    np.testing.assert_array_equal(again.labels_, fits("time", "evidence").labels_)


def test_an_equal_number_of_another_type_is_no_change(fits):
    model = fits("time", "evidence")
    for change in (
        {"beta": int(model.beta_) if model.beta_ == int(model.beta_) else model.beta_},
        {"eps": np.float64(model.eps_)},
        {"min_samples": np.int64(model.min_samples_)},
        {"margin": np.float32(model.margin_) if model.margin_ == 0 else model.margin_},
    ):
        again = model.refit(**change)
        assert again.labels_source_ == "evidence", change
        np.testing.assert_array_equal(again.labels_, model.labels_)


def test_refits_after_one_another_come_back_to_evidence(fits):
    model = fits("time", "evidence")
    for first, second in (({"refine": "none"}, {"refine": "auto"}), ({"n_clusters": 2}, {"n_clusters": "auto"})):
        again = model.refit(**first).refit(**second)
        assert again.labels_source_ == "evidence"
        np.testing.assert_array_equal(again.labels_, model.labels_)


@pytest.mark.parametrize("asked", ["evidence", "none"])
def test_a_radius_that_was_searched_for_gives_way_to_a_number_of_clusters(fits, asked):
    assert fits("time", asked).refit(n_clusters=2, refine="none").n_clusters_ == 2


def test_a_radius_that_was_searched_for_is_not_passed_on_to_another_clusterer(fits):
    assert np.isnan(fits("time", "none").refit(clusterer="hdbscan").eps_)


@pytest.mark.parametrize("place", DATA)
@pytest.mark.parametrize("asked", ASKED)
def test_a_file_keeps_labels_rule_alternatives_and_choice(fits, tmp_path, place, asked):
    model = fits(place, asked)
    model.save(tmp_path / "fit")
    again = load(tmp_path / "fit")
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.labels_source_ == model.labels_source_
    assert type(again.fitted_.labelling.rule) is type(model.fitted_.labelling.rule)
    for name, value in vars(model.fitted_.labelling.rule).items():
        if isinstance(value, np.ndarray | float | int):
            np.testing.assert_array_equal(vars(again.fitted_.labelling.rule)[name], value, err_msg=name)
    assert len(again.alternatives_) == len(model.alternatives_)
    for one, two in zip(again.alternatives_, model.alternatives_, strict=True):
        assert (one.n_clusters, one.log_evidence, one.difference) == (two.n_clusters, two.log_evidence, two.difference)
        np.testing.assert_array_equal(one.labels, two.labels)
    assert str(again.choice_) == str(model.choice_)
    np.testing.assert_array_equal(again.refit().labels_, model.labels_)


@pytest.mark.filterwarnings("ignore:.*new observations are:UserWarning")
@pytest.mark.parametrize("place", DATA)
@pytest.mark.parametrize("asked", ASKED)
def test_predictions_after_a_file_are_those_before(fits, tmp_path, place, asked):
    model = fits(place, asked)
    model.save(tmp_path / "fit")
    again = load(tmp_path / "fit")
    rng = np.random.default_rng(0)
    X = DATA[place].X[::3] + rng.normal(0, 0.1, DATA[place].X[::3].shape)
    positions = DATA[place].positions[::3] + 0.3
    labels, strengths = model.predict(X, positions=positions, return_probabilities=True)
    labels_again, strengths_again = again.predict(X, positions=positions, return_probabilities=True)
    np.testing.assert_array_equal(labels_again, labels)
    np.testing.assert_array_equal(strengths_again, strengths)
    np.testing.assert_array_equal(
        again.predict_proba(X, positions=positions), model.predict_proba(X, positions=positions)
    )
