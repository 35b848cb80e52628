"""New observations go where the table of their losses with every anchor sends them, to the last bit."""

import warnings
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.work import on_threads
from mcgta import MCGTA, GaussianMixturePrior, config_context, load
from mcgta.clustering.membership import Membership
from mcgta.clustering.tree_anchors import TreeAnchors
from mcgta.clustering.tree_search import TreeSearch
from mcgta.observations.observations import sort_observations
from mcgta.positions.metrics import SpaceTime
from mcgta.positions.reading import read_positions
from mcgta.positions.surroundings import Surroundings
from mcgta.stages import (
    compare_models,
    empirical_semivariogram,
    find_neighborhoods,
    fit_local_models,
    fit_semivariogram,
)
from mcgta.stages.lags import stack_lags
from mcgta.stages.loss import Loss
from mcgta.updating.by_density import find_neighborhoods_of_new
from mcgta.updating.joining import join_new, read_new

PLACES = ("steps", "irregular", "plane", "sphere", "spacetime", "globe and time")


def read_places(rng, kind, count, groups):
    """Positions of any kind."""
    flat, sphere = rng.uniform(0, 10, (count, 2)), rng.uniform([-180, -85], [180, 85], (count, 2))
    when = np.cumsum(rng.exponential(size=count))
    options = {
        "steps": (None, "auto", None),
        "irregular": (when, "time", None),
        "plane": (flat, "euclidean", None),
        "sphere": (sphere, "haversine", None),
        "spacetime": (np.column_stack([flat, when]), "spacetime", {"time_scale": 0.1}),
        "globe and time": (
            np.column_stack([sphere, when]),
            "spacetime",
            {"time_scale": 1e5, "space": "haversine"},
        ),
    }
    positions, metric, params = options[kind]
    return read_positions(positions, count, groups=groups, metric=SpaceTime(**params) if params else metric)


def draw(seed, count, d, place, repeats, kind="wasserstein2"):
    """Models and places of observations in groups, and a semivariogram of them."""
    rng = np.random.default_rng(seed)
    states = np.repeat(rng.integers(0, 3, count // 10 + 1), 10)[:count, None]
    X = rng.normal(size=(count, d)) * (1 + states) + rng.choice([0, 1, 3]) * states
    if repeats == "rounded":
        X = np.round(X)
    elif repeats == "clumps":
        X[count // 2 :] = X[count // 2]
    groups = np.sort(rng.integers(0, 3, count)) if seed % 2 else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = sort_observations(X, read_places(rng, place, count, groups), n_neighbors=5, lags=0, seed=0)
        models = fit_local_models(data.X, find_neighborhoods(data.positions, 5))
        kept = np.flatnonzero(models.fitted)
        models, places = models.take(kept), data.positions.take(kept)
        curve = fit_semivariogram(empirical_semivariogram(compare_models(models, kind), places), "spherical")
    return rng, models, places, curve


def naive_place(models, places, curve, options, fitted, new, membership, kind="wasserstein2"):
    """The table of all new observations with all anchors."""
    both = np.r_[fitted[membership.anchors], new]
    loss = Loss(compare_models(models.take(both), kind), places.take(both), curve, **options)
    size = membership.anchors.size
    return membership.assign(loss.between(size + np.arange(new.size), np.arange(size)))


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(40, 260),
    d=st.integers(1, 6),
    place=st.sampled_from(PLACES),
    repeats=st.sampled_from(["none", "none", "rounded", "clumps"]),
    beta=st.sampled_from([0.0, 0.5, 5.0]),
    margin=st.sampled_from([0.0, 1.0, -1.0]),
    penalty=st.sampled_from(["within_range", "unconditional"]),
    holds=st.sampled_from(["nothing", "ties", "noise", "zero", "open", "open"]),
    kind=st.sampled_from(["wasserstein2", "calibrated"]),
)
def test_labels_and_strengths_are_those_of_the_table(
    seed, count, d, place, repeats, beta, margin, penalty, holds, kind
):
    rng, models, places, curve = draw(seed, count, d, place, repeats, kind)
    options = {"beta": beta, "margin": margin, "penalty_kind": penalty}
    known = rng.random(len(models)) < 0.7
    fitted, new = np.flatnonzero(known), np.flatnonzero(~known)
    if repeats == "clumps":  # the very models and places of the fit, too
        new = np.r_[new, rng.choice(fitted, 5)]
    unseen = rng.random(len(places)) < (0.3 if seed % 3 else 0.0)
    unseen[fitted] = False
    loss = Loss(compare_models(models.take(fitted), kind), places.take(fitted), curve, **options)
    anchors = np.flatnonzero(rng.random(fitted.size) < rng.choice([0.1, 0.6, 1.0]))
    clusters = int(rng.integers(1, 5))
    values = np.quantile(loss.matrix(), rng.uniform(0, 0.5, clusters))
    radii = {"noise": 1e-3 * values, "zero": 0.0 * values}.get(holds, values)
    labels = rng.integers(0, clusters, anchors.size)
    own = rng.random(anchors.size) * radii[labels]
    if holds == "ties":
        own = np.round(2 * own / radii.max()) * radii.max() / 2 if radii.max() > 0 else own
    tree, samples = TreeSearch.of(loss), int(rng.integers(1, 12))
    if holds == "open" and anchors.size:  # as of DBSCAN, left to be found
        own = tree.core_distances(np.isin(np.arange(fitted.size), anchors), samples)[0][anchors]
        radii = np.full(clusters, own.max())
    membership = Membership(anchors, labels, own, radii)
    told = np.where(rng.random(own.size) < 0.8, np.nan, own) if holds == "open" else own

    names = np.arange(places.group_names.size + 1)
    codes = np.where(unseen, names[-1], places.groups)
    apart = replace(places, groups=codes, group_names=names)
    expected = naive_place(models, apart, curve, options, fitted, new, membership, kind)

    parts = compare_models(models.take(new), kind).parts
    ready = TreeAnchors.of(tree, anchors, told, largest_radius=float(radii.max()), min_samples=samples)
    groups = np.where(unseen[new], -1, places.groups[new])
    reach, rows = on_threads(1 + seed % 2, lambda: ready.place(parts, places.take(new), groups))
    found = membership.place(reach, np.searchsorted(anchors, rows)) if anchors.size else expected
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    assert (np.isinf(reach) == (rows < 0)).all()
    held = ready.core_distances
    known_now = held[np.isfinite(held) & np.isin(tree.models.rows, anchors)]
    assert np.isin(known_now, own).all()


@pytest.mark.parametrize("far", [0.0, 1e9])
def test_rounding_of_positions_counts_as_in_the_table(far):
    """A pair at the range counts as within it where positions, of the fit or new, are too large to tell."""
    _, models, places, curve = draw(2, 120, 2, "steps", "none")
    times = 3.0 * np.arange(120.0)
    times[119] += far
    places = replace(places, coordinates=times[places.coordinates[:, 0].astype(int), None], unit="")
    curve = replace(curve, range_=30 * (1 - 3e-8))
    fitted, new = np.arange(0, 119, 2), np.r_[np.arange(1, 119, 10), 119]
    loss = Loss(compare_models(models.take(fitted)), places.take(fitted), curve, beta=5.0)
    anchors = np.arange(0, fitted.size, 5)
    membership = Membership(anchors, np.zeros(anchors.size, np.int64), np.zeros(anchors.size), np.array([100.0]))
    expected = naive_place(models, places, curve, {"beta": 5.0}, fitted, new, membership)
    tree = TreeSearch.of(loss)
    parts = compare_models(models.take(new)).parts
    ready = TreeAnchors.of(tree, anchors, membership.core_distances, largest_radius=100.0)
    reach, rows = ready.place(parts, places.take(new), places.groups[new])
    np.testing.assert_array_equal(membership.place(reach, np.searchsorted(anchors, rows))[1], expected[1])


def gaps(rng, count):
    """Features with borders, noise and several clusters, and irregular times."""
    X = rng.normal(size=(count, 2)) + 2.5 * (np.cumsum(rng.random(count) < 0.06) % 3)[:, None]
    return X, np.cumsum(rng.exponential(1.0, count))


def reference_of(model):
    """What new observations are placed by, once some have been."""
    return vars(model.fitted_.derived).get("density_rule")


def strengths_of(model, X, **where):
    return model.predict(X, **where, return_probabilities=True)[1]


def predict_by_tree(model, X, **where):
    """Labels and strengths by the tree, however small the fit is."""
    with config_context(table_rows=0):
        return model.predict(X, **where, return_probabilities=True)


def agree(model, X, other=None, **where):
    """By the table and by the tree, of this or another fit, labels and strengths of new observations are the same."""
    other = deepcopy(model) if other is None else other
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels, strengths = model.predict(X, **where, return_probabilities=True)
        assert reference_of(model).tree is None
        found = predict_by_tree(other, X, **where)
        assert reference_of(other).tree is not None
    np.testing.assert_array_equal(found[0], labels)
    np.testing.assert_array_equal(found[1], strengths)
    return labels


OPTIONS = [
    {"eps": 0.46},
    {"clusterer": "hdbscan", "min_samples": 4, "eps": 0.0},
    {"clusterer": "optics", "eps": 0.46},
    {"beta": 0.0, "eps": 0.46},
    {"lags": 2, "eps": 1.85},
    {"weights": "gaussian", "covariance": "shrunk", "eps": 0.38},
    {"prior": GaussianMixturePrior(n_components=2)},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("grouped", [False, True])
def test_along_time_the_tree_places_as_the_table_does(options, grouped):
    rng = np.random.default_rng(8)
    X, times = gaps(rng, 420)
    seen = rng.random(420) < 0.7
    seen[380:] = False  # the series goes on
    groups = np.where(np.arange(420) < 200, "a", "b") if grouped else None
    model = MCGTA(n_neighbors=8, **options).fit(
        X[seen], positions=times[seen], groups=groups if groups is None else groups[seen]
    )
    labels = agree(model, X, positions=times, groups=groups)
    assert {-1, 0} <= set(labels.tolist())
    np.testing.assert_array_equal(labels[seen], model.labels_)


@pytest.mark.parametrize("kind", PLACES[2:])
def test_in_space_the_tree_places_as_the_table_does(kind):
    rng = np.random.default_rng(5)
    flat, when = rng.uniform(0, 10, (300, 2)), np.cumsum(rng.exponential(size=300))
    X = rng.normal(size=(300, 2)) + 3.0 * (flat[:, :1] > 5)
    globe = flat + np.array([175.0, 60.0])
    positions, options = {
        "plane": (flat, {}),
        "sphere": (globe, {"metric": "haversine"}),
        "spacetime": (np.column_stack([flat, when]), {"metric": SpaceTime(time_scale=0.02)}),
        "globe and time": (
            np.column_stack([globe, when]),
            {"metric": SpaceTime(time_scale=1e3, space="haversine")},
        ),
    }[kind]
    model = MCGTA(n_neighbors=8, eps=0.64, lags=1, semivariogram="empirical", **options).fit(
        X[:200], positions=positions[:200]
    )
    far = positions[200:] + np.eye(positions.shape[1])[0] * rng.choice([0, 0, 30], 100)[:, None]
    agree(model, X[200:], positions=far)


def test_new_series_and_groups_are_placed_as_by_the_table():
    rng = np.random.default_rng(2)
    X, times = gaps(rng, 300)
    plain = MCGTA(n_neighbors=8, eps=0.32).fit(X[:200])
    agree(plain, X[200:])  # without positions
    grouped = MCGTA(n_neighbors=8, eps=0.32).fit(X[:200], positions=times[:200], groups=np.arange(200) // 100)
    agree(grouped, X[150:], positions=times[150:], groups=np.arange(150) // 50 + 1.0)
    few = np.repeat([1, 7], [20, 3])
    with (
        pytest.warns(UserWarning, match="52% of 23 new observations are noise"),
        pytest.warns(UserWarning, match="3 of 23 new observations have no model"),
    ):
        predict_by_tree(deepcopy(grouped), X[:23], positions=times[:23] + 0.1, groups=few)


def test_a_fit_of_noise_places_everything_in_noise():
    X, times = gaps(np.random.default_rng(2), 200)
    model = MCGTA(n_neighbors=8, eps=1e-9).fit(X[:150], positions=times[:150])
    labels, strengths = predict_by_tree(model, X, positions=times)
    assert (reference_of(model).tree, reference_of(model).surroundings is None) == (None, False)
    assert (labels == -1).all()
    assert (strengths == 0).all()


def test_distances_without_penalty_go_by_the_tree_too():
    rng = np.random.default_rng(3)
    X, times = gaps(rng, 200)
    apart = np.abs(times[:, None] - times[None])
    model = MCGTA(n_neighbors=8, eps=0.42, beta=0.0, metric="precomputed").fit(X[:150], positions=apart[:150, :150])
    labels = agree(model, X[100:], positions=apart[100:, :150])
    np.testing.assert_array_equal(labels[:50], model.labels_[100:])


@pytest.mark.parametrize(("clusterer", "eps"), [("dbscan", 0.45), ("hdbscan", 0.0)])
def test_a_fit_by_the_tree_places_as_one_by_the_table_before_and_after_a_file(tmp_path, clusterer, eps):
    rng = np.random.default_rng(4)
    X, times = gaps(rng, 500)
    options = {"n_neighbors": 8, "min_samples": 2, "min_cluster_size": 15, "clusterer": clusterer, "eps": eps}
    dense = MCGTA(**options).fit(X[:400], positions=times[:400])
    with config_context(table_rows=0):
        model = MCGTA(**options).fit(X[:400], positions=times[:400])
    np.testing.assert_array_equal(model.labels_, dense.labels_)
    where = times[300:] + np.where(np.arange(200) % 2, 0.1, 0.0)
    model.save(tmp_path / "open")
    agree(dense, X[300:], model, positions=where)
    assert np.isfinite(
        model.fitted_.derived.membership.core_distances
    ).all()  # since strengths of the fit were asked for
    model.save(tmp_path / "asked")
    for name in ("open", "asked"):
        agree(dense, X[300:], load(tmp_path / name), positions=where)


def test_labels_of_the_new_do_not_wait_for_strengths_of_the_fit():
    rng = np.random.default_rng(4)
    X, times = gaps(rng, 300)
    with config_context(table_rows=0):
        model = MCGTA(n_neighbors=8, eps=0.34).fit(X[:200], positions=times[:200])
    np.testing.assert_array_equal(model.predict(X[:200], positions=times[:200]), model.labels_)
    assert "strengths" not in vars(model.fitted_.derived)
    fresh = strengths_of(model, X[200:], positions=times[200:])
    assert "strengths" not in vars(model.fitted_.derived)
    both = strengths_of(model, X, positions=times)
    np.testing.assert_array_equal(both[:200], model.probabilities_)
    np.testing.assert_array_equal(both[200:], fresh)


@pytest.mark.filterwarnings("ignore:.* of 50 new observations are noise:UserWarning")
def test_what_is_kept_for_placing_is_neither_copied_nor_used_by_the_next_fit():
    X, times = gaps(np.random.default_rng(6), 200)
    model = MCGTA(n_neighbors=8, eps=0.4).fit(X[:150], positions=times[:150])
    first = predict_by_tree(model, X[150:], positions=times[150:])[0]
    kept = reference_of(model)
    np.testing.assert_array_equal(model.predict(X[150:], positions=times[150:]), first)
    assert reference_of(model) is kept
    assert reference_of(deepcopy(model)) is None
    assert reference_of(model.refit(beta=0.3)) is None
    other = MCGTA(n_neighbors=8, eps=0.4).fit(X[50:], positions=times[50:])
    again = model.fit(X[50:], positions=times[50:])
    np.testing.assert_array_equal(
        again.predict(X[:50], positions=times[:50]), other.predict(X[:50], positions=times[:50])
    )


def naive_repeated(X, places, X_new, new):
    """Row by row."""

    def key(values, positions, k):
        name = positions.group_names[positions.groups[k]].item()
        return (*(values[k] + 0.0).tolist(), *(positions.coordinates[k] + 0.0).tolist(), name)

    rows = [key(X, places, k) for k in range(len(places))]
    wanted = (key(X_new, new, k) for k in range(len(new)))
    return [rows.index(each) if each in rows else -1 for each in wanted]


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(12, 120),
    place=st.sampled_from(["line", "plane", "sphere", "spacetime", "globe and time"]),
    step=st.sampled_from([0.0, 0.5, 3.0]),
    n=st.integers(2, 9),
    lags=st.integers(0, 3),
    beyond=st.sampled_from([0.0, 20.0, 1e6]),
)
def test_what_stands_around_is_enough(seed, count, place, step, n, lags, beyond):
    """Repeated rows, neighbourhoods and lags are those of a search among all observations of the fit."""
    rng = np.random.default_rng(seed)
    total = count + 25

    def rough(values):
        return np.round(values / step) * step if step else values

    where = rough(rng.uniform(-10, 10, (total, 3)))
    where[count:, 0] += rng.choice([0.0, beyond], 25)
    params, metric = None, "euclidean"
    if place == "line":
        where, metric = where[:, 0], "time"
    elif place == "plane":
        where = where[:, :2]
    elif place == "sphere":
        where, metric = where[:, :2] % 80, "haversine"
    else:
        metric, params = "spacetime", {"time_scale": 2.0}
        if place == "globe and time":
            where[:, :2] = where[:, :2] % 80
            params = {"time_scale": 1e6, "space": "haversine"}
    X = np.round(rng.normal(size=(total, 2))) * rng.choice([-1.0, 1.0], (total, 1))
    again = rng.choice(count, 8)
    X[count : count + 8], where[count : count + 8] = X[again], where[again]
    groups = rng.integers(0, 2, total) if seed % 2 else np.zeros(total, dtype=int)
    groups[-5:] += seed % 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        places = read_positions(
            where[:count], count, groups=groups[:count], metric=SpaceTime(**params) if params else metric
        )
        if n > np.bincount(places.groups).max():
            return
        data = sort_observations(X[:count], places, n_neighbors=n, lags=lags, seed=0)
        new = read_new(places, X[count:], where[count:], groups[count:])
    full = join_new(data, new)
    few = join_new(data, new, Surroundings(data.positions, max(n, lags + 1), lags))
    assert full.known.tolist() == few.known.tolist() == naive_repeated(X[:count], places, X[count:], new.positions)
    np.testing.assert_array_equal(few.fresh, full.fresh)
    assert few.positions.rounding == full.positions.rounding
    size = few.around.size
    rows = np.r_[few.around, count + np.arange(full.fresh.size)]
    stacked = [stack_lags(joined.X, joined.positions, lags) for joined in (full, few)]
    np.testing.assert_array_equal(stacked[1][size:], stacked[0][count:])
    near = [
        find_neighborhoods_of_new(joined.positions, at, n, "triangular") for joined, at in ((full, count), (few, size))
    ]
    np.testing.assert_array_equal(near[1].complete, near[0].complete)
    np.testing.assert_array_equal(np.where(near[1].indices < 0, -1, rows[near[1].indices]), near[0].indices)
    np.testing.assert_array_equal(near[1].distances, near[0].distances)
    np.testing.assert_array_equal(near[1].weights, near[0].weights)
