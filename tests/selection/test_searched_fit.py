"""A fit that searches for its parameters is a fit like any other: files, appending, refits, rows, threads, odd data."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import mcgta.fitting
from mcgta import MCGTA, ArchiveError, config_context, load
from mcgta.datasets import make_regions, make_series

pytestmark = pytest.mark.filterwarnings("ignore:semivariogram. no spherical model fits:UserWarning")

ASKED = [
    {},
    {"refine": "none"},
    {"refine": "all"},
    {"clusterer": "hdbscan"},
    {"clusterer": "optics", "refine": "none"},
]


@pytest.fixture(scope="module")
def two_states():
    return make_series(300, n_clusters=2, separation=1.5, segment_lengths=(20, 40), random_state=20)


def refit_loss(model):
    """A refit with another weight of the penalty, which is told of where evidence has decided for refined labels."""
    if model.labels_source_ == "clusterer" or model.refine == "all":
        return model.refit(beta=0.5)
    with pytest.warns(UserWarning, match="labels now come from the clusterer, not from evidence as before: beta"):
        return model.refit(beta=0.5)


@pytest.mark.parametrize("params", ASKED, ids=str)
def test_it_comes_back_from_a_file_with_its_choice(two_states, tmp_path, params):
    times = np.arange(300.0)
    model = MCGTA(**params).fit(two_states.X, positions=times)
    model.save(tmp_path / "fit")
    again = load(tmp_path / "fit")
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.get_params() == model.get_params()
    assert (str(again.choice_), again.choice_.settings) == (str(model.choice_), model.choice_.settings)
    np.testing.assert_array_equal(again.predict(two_states.X, positions=times), model.labels_)
    strengths = again.predict(two_states.X, positions=times, return_probabilities=True)[1]
    np.testing.assert_array_equal(strengths, model.probabilities_)
    np.testing.assert_array_equal(refit_loss(again).labels_, refit_loss(model).labels_)


def test_a_file_whose_choice_names_what_is_no_parameter_is_refused(two_states, tmp_path):
    model = MCGTA(refine="none").fit(two_states.X)
    model.choice_.settings["radius"] = 1.0
    model.save(tmp_path / "fit")
    with pytest.raises(ArchiveError, match=r"choice has settings \[.*'radius'\]"):
        load(tmp_path / "fit")


@pytest.mark.parametrize("params", ASKED[:3], ids=str)
def test_what_was_chosen_stays_chosen_when_observations_are_added(two_states, params):
    model = MCGTA(**params).fit(two_states.X[:250])
    chosen, source = model.choice_.settings, model.labels_source_
    numbers = model.n_neighbors_, model.min_samples_, model.eps_, model.beta_, model.dissimilarity_
    model.append(two_states.X[250:])
    assert model.labels_.size == 300
    assert model.labels_source_ == source
    if source == "evidence":  # else nothing was searched for, and there is no choice to tell of
        assert model.choice_.settings == chosen
    assert (model.n_neighbors_, model.min_samples_, model.eps_, model.beta_, model.dissimilarity_) == numbers
    assert model.eps == "auto"


def test_without_refined_labels_it_is_the_fit_with_the_numbers_chosen(two_states):
    model = MCGTA(refine="none").fit(two_states.X)
    plain = MCGTA(**model.choice_.settings, refine="none").fit(two_states.X)
    assert plain.choice_ is None
    np.testing.assert_array_equal(plain.labels_, model.labels_)
    np.testing.assert_array_equal(plain.probabilities_, model.probabilities_)
    np.testing.assert_array_equal(model.refit().labels_, model.labels_)


@pytest.mark.parametrize("refine", ["all", "none"])
@pytest.mark.parametrize("place", ["series", "plane"])
def test_neither_the_order_of_rows_nor_threads_matter(request, place, refine):
    X, positions, _ = request.getfixturevalue(place)
    order = np.random.default_rng(3).permutation(len(X))
    one = MCGTA(refine=refine, n_jobs=1).fit(X, positions=positions)
    two = MCGTA(refine=refine, n_jobs=2).fit(X[order], positions=positions[order])
    np.testing.assert_array_equal(two.labels_, one.labels_[order])
    assert two.choice_.settings == one.choice_.settings
    assert two.choice_.log_evidence == pytest.approx(one.choice_.log_evidence)


@pytest.mark.parametrize("refine", ["auto", "all", "none"])
@pytest.mark.parametrize("count", [2, 3, 4, 7, 12])
def test_few_observations_are_enough(count, refine):
    X = np.random.default_rng(count).normal(size=(count, 2))
    model = MCGTA(refine=refine).fit(X)
    assert model.labels_.shape == (count,)
    assert np.isfinite(model.objective_.total)
    assert np.isfinite(model.choice_.log_evidence)


def test_values_that_occur_again_and_again_give_no_warning():
    X = np.random.default_rng(0).integers(0, 2, (200, 2)).astype(float)
    assert MCGTA(semivariogram="empirical").fit(X).n_clusters_ >= 1


@pytest.mark.parametrize("metric", ["precomputed", lambda a, b: float(np.abs(a - b).sum())], ids=["table", "function"])
def test_distances_of_any_kind_are_searched_with(plane, metric):
    places = plane.positions
    if metric == "precomputed":
        places = np.abs(places[:, None] - places[None]).sum(axis=2)
    model = MCGTA(metric=metric, semivariogram="empirical").fit(plane.X, positions=places)
    assert model.n_clusters_ == 2
    np.testing.assert_array_equal(model.predict(plane.X, positions=places), model.labels_)


def test_features_that_do_not_vary_leave_nothing_to_search_for():
    with pytest.warns(UserWarning, match="is constant"):
        model = MCGTA(semivariogram="empirical").fit(np.ones((50, 2)))
    assert (model.choice_, model.labels_source_ == "evidence", model.n_clusters_) == (None, False, 1)


@pytest.mark.parametrize(
    ("params", "X", "where", "said"),
    [
        ({}, np.full((50, 2), np.nan), {}, "NaN"),
        ({}, np.eye(50), {"positions": np.zeros(49)}, "positions has 49 rows but X has 50"),
        ({"n_neighbors": 60}, np.eye(50), {}, "n_neighbors=60"),
        ({"beta": -1.0}, np.eye(50), {}, "beta=-1.0 is not allowed"),
        ({"refine": "yes"}, np.eye(50), {}, "refine='yes' is not allowed"),
    ],
)
def test_bad_input_is_refused_before_the_search(monkeypatch, params, X, where, said):
    monkeypatch.setattr(mcgta.fitting, "select_where_open", lambda *_, **__: pytest.fail("a search has begun"))
    with pytest.raises(ValueError, match=said):
        MCGTA(**params).fit(X, **where)


def test_what_does_not_fit_into_memory_is_refused_before_the_search(monkeypatch):
    monkeypatch.setattr(mcgta.fitting, "select_where_open", lambda *_, **__: pytest.fail("a search has begun"))
    with config_context(max_memory="1kB"), pytest.raises(MemoryError, match="max_memory"):
        MCGTA().fit(np.eye(50))


def test_an_interrupt_in_the_search_leaves_the_fit_before_it(two_states):
    model = MCGTA(eps=0.5).fit(two_states.X)
    before = dict(vars(model))
    begun = []

    def interrupt(stage, share):
        begun.append(stage)
        raise KeyboardInterrupt

    model.set_params(eps="auto", progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(two_states.X)
    assert len(begun) == 1
    changed = ("eps", "progress")
    assert all(vars(model)[name] is value for name, value in before.items() if name not in changed)


@pytest.mark.slow
def test_without_the_second_stage_larger_neighbourhoods_are_tried_where_there_are_many_observations():
    data = make_regions(4600, n_clusters=3, n_features=3, random_state=2)
    fixed = {"dissimilarity": "wasserstein2", "beta": 1.0, "margin": 0.0, "refine": "none"}
    model = MCGTA(**fixed).fit(data.X, positions=data.positions)
    assert model.n_neighbors_ == 90
    assert adjusted_rand_score(data.labels, model.labels_) > 0.9
