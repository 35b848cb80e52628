"""New observations go where the table of their losses with every anchor sends them, to the last bit."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcgta import compare_models, empirical_semivariogram, find_neighborhoods, fit_local_models, fit_semivariogram
from mcgta.observations import sort_observations
from mcgta.position_input import read_positions
from mcgta.stages.loss import Loss
from mcgta.stages.loss_tree import LossTree
from mcgta.stages.membership import Membership

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
    return read_positions(positions, count, groups=groups, metric=metric, metric_params=params)


def draw(seed, count, d, place, repeats):
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
        curve = fit_semivariogram(empirical_semivariogram(compare_models(models), places), "spherical")
    return rng, models, places, curve


def naive_place(models, places, curve, options, fitted, new, membership):
    """The table of all new observations with all anchors."""
    both = np.r_[fitted[membership.anchors], new]
    loss = Loss(compare_models(models.take(both)), places.take(both), curve, **options)
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
    within_range=st.booleans(),
    holds=st.sampled_from(["nothing", "ties", "noise", "zero"]),
)
def test_labels_and_strengths_are_those_of_the_table(
    seed, count, d, place, repeats, beta, margin, within_range, holds
):
    rng, models, places, curve = draw(seed, count, d, place, repeats)
    options = {"beta": beta, "margin": margin, "within_range": within_range}
    known = rng.random(len(models)) < 0.7
    fitted, new = np.flatnonzero(known), np.flatnonzero(~known)
    if repeats == "clumps":  # the very models and places of the fit, too
        new = np.r_[new, rng.choice(fitted, 5)]
    unseen = rng.random(len(places)) < (0.3 if seed % 3 else 0.0)
    unseen[fitted] = False
    loss = Loss(compare_models(models.take(fitted)), places.take(fitted), curve, **options)
    anchors = np.flatnonzero(rng.random(fitted.size) < rng.choice([0.1, 0.6, 1.0]))
    clusters = int(rng.integers(1, 5))
    values = np.quantile(loss.matrix(), rng.uniform(0, 0.5, clusters))
    radii = {"nothing": values, "ties": values, "noise": 1e-3 * values, "zero": 0.0 * values}[holds]
    labels = rng.integers(0, clusters, anchors.size)
    own = rng.random(anchors.size) * radii[labels]
    if holds == "ties":
        own = np.round(2 * own / radii.max()) * radii.max() / 2 if radii.max() > 0 else own
    membership = Membership(anchors, labels, own, radii)

    names = np.arange(places.group_names.size + 1)
    codes = np.where(unseen, names[-1], places.groups)
    apart = replace(places, groups=codes, group_names=names)
    expected = naive_place(models, apart, curve, options, fitted, new, membership)

    tree = LossTree.of(loss)
    (packed,) = compare_models(models.take(new)).parts
    ready = tree.anchors(anchors, own, float(radii.max()))
    groups = np.where(unseen[new], -1, places.groups[new])
    reach, rows = tree.place(ready, packed, places.take(new), groups, n_jobs=1 + seed % 2)
    found = membership.place(reach, np.searchsorted(anchors, rows)) if anchors.size else expected
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    assert (np.isinf(reach) == (rows < 0)).all()
