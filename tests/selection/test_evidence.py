"""The evidence of labellings, whatever made them."""

import itertools
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from scipy.stats import ortho_group

from mcgta import MCGTA, compare_labellings, evidence
from mcgta.datasets import make_fields, make_regions, make_series
from mcgta.kernels.evidence.cluster_evidence import CLOSENESS, STRENGTHS
from mcgta.positions.reading import read_positions
from mcgta.selection.sampling import sample_rows
from naive import selection as naive

SERIES = make_series(600, n_clusters=3, segment_lengths=(10, 30), random_state=2)
FIELDS = make_fields(500, n_clusters=3, n_features=3, random_state=2)


def changed(data):
    """The true labels, and labels made worse in three ways."""
    truth, rng = data.labels, np.random.default_rng(0)
    first, second = np.unique(truth)[:2]
    place = data.positions if data.positions.ndim == 1 else data.positions[:, 0]
    early = place < np.median(place[truth == first])
    return {
        "truth": truth,
        "shuffled": rng.permutation(truth),
        "merged": np.where(truth == first, second, truth),
        "split": np.where((truth == first) & early, truth.max() + 1, truth),
    }


def independent(seed=0, count=60):
    """Two clusters of independent Gaussian rows in a few segments, and labels."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 0, 1], count // 4)
    return rng.normal(size=(count, 3)) * np.where(labels, 0.3, 1.0)[:, None] + labels[:, None], labels


# ------------------------------------------------------------------------------------------------ what it is good for


@pytest.mark.parametrize(
    "data",
    [
        SERIES,
        make_series(800, n_clusters=3, correlation=0.8, segment_lengths=(20, 40), random_state=4),
        make_regions(800, n_clusters=3, spacing=5.0, random_state=1),
        FIELDS,
    ],
    ids=["series", "dependent series", "regions", "fields"],
)
def test_the_truth_has_more_evidence_than_labels_shuffled_merged_or_split(data):
    found = compare_labellings(data.X, changed(data), positions=data.positions)
    assert found.best == "truth"
    assert found.nats[1] > 5


def test_the_evidence_of_a_fit_is_that_of_its_labels():
    model = MCGTA(refine="all").fit(SERIES.X)
    found = evidence(SERIES.X, model.labels_, overdispersion=model.choice_.overdispersion)
    assert found.log_evidence == pytest.approx(model.choice_.log_evidence)
    assert found.clusters == model.n_clusters_


def test_one_cluster_is_best_where_there_is_one():
    data = make_series(500, n_clusters=1, correlation=0.9, random_state=3)
    halves, rng = np.arange(500) // 250, np.random.default_rng(0)
    found = compare_labellings(data.X, {"halves": halves, "dice": rng.integers(0, 2, 500)})
    assert found.names == ("one cluster", "halves", "dice")


def test_a_mixture_that_ignores_position_is_found_and_told_of():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 400)
    X, places = rng.normal(size=(400, 3)) + 8 * np.eye(3)[labels], rng.uniform(0, 10, (400, 2))
    found = compare_labellings(X, {"truth": labels, "shuffled": rng.permutation(labels)}, positions=places)
    assert found.names == ("truth", "one cluster", "shuffled")
    assert found["truth"].join_count_ratio > 0.8
    assert "position does not help" in str(found["shuffled"])


def test_dependence_and_tails_are_told_of():
    plain = evidence(SERIES.X, SERIES.labels)
    assert (plain.lengths == 0).all()
    assert plain.degrees_of_freedom == np.inf
    assert plain.suggested_overdispersion < 1.3
    heavy = make_series(800, n_clusters=2, tails=3, correlation=0.8, segment_lengths=(30, 60), random_state=1)
    found = evidence(heavy.X, heavy.labels, positions=heavy.positions * 10)
    assert found.degrees_of_freedom <= 6
    assert (found.lengths >= 15).all()  # about 4.5 steps of 10
    assert "Student's t" in str(found)


def test_a_rough_model_is_told_of():
    data = make_regions(600, n_clusters=3, random_state=0)
    found = evidence(data.X, np.zeros(600), positions=data.positions)
    assert found.suggested_overdispersion > 2
    assert "should count as one" in str(found)


# -------------------------------------------------------------------------------------------- against the definition


def closed_form(X, labels, code, overdispersion=1.0):
    """The log evidence of clusters of independent Gaussian rows."""
    y = (X - X.mean(axis=0)) / X.std(axis=0)
    best = max(
        naive.marginal(y, np.ones_like(y), labels, STRENGTHS, CLOSENESS, scaled, 1 / overdispersion)[0]
        for scaled in ([False, True] if len(set(labels)) > 1 else [False])
    )
    return best - code


@pytest.mark.parametrize("overdispersion", [1.0, 3.0])
def test_along_time_independent_rows_have_the_evidence_of_the_closed_form(overdispersion):
    X, labels = independent()
    found = evidence(X, labels, overdispersion=overdispersion)
    assert (found.lengths == 0).all()
    assert found.gain == 0
    changes = 3 * (np.log(59) + np.log(2 - 1))
    assert found.code == pytest.approx(changes)
    assert found.log_evidence == pytest.approx(closed_form(X, labels, changes, overdispersion), rel=1e-9)


def test_on_a_map_independent_rows_have_the_evidence_of_the_closed_form():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    places, three = rng.uniform(0, 1, (60, 2)), np.repeat([0, 1, 2], 20)
    places[:, 0] += three
    found = evidence(X, three, positions=places)
    assert (found.lengths == 0).all()
    assert found.gain == 0
    changes = sum(three[i] != three[j] for i, j in spanning_tree(places))
    where = gammaln(60) - gammaln(changes + 1) - gammaln(60 - changes) + np.log(60)
    code = where + changes * np.log(2)
    assert found.code == pytest.approx(code)
    assert found.log_evidence == pytest.approx(closed_form(X, three, code), rel=1e-9)


def spanning_tree(places):
    """The shortest edges that close no circle."""
    part = list(range(len(places)))
    edges = []
    pairs = itertools.combinations(range(len(places)), 2)
    for i, j in sorted(pairs, key=lambda pair: np.linalg.norm(places[pair[0]] - places[pair[1]])):
        if part[i] != part[j]:
            edges.append((i, j))
            part = [part[i] if p == part[j] else p for p in part]
    return edges


def test_groups_are_written_down_one_by_one():
    X, labels = independent()
    groups = np.repeat(["a", "b", "c", "d"], 15)
    found = evidence(X, labels, groups=groups)
    assert found.code == pytest.approx(3 * np.log(2))
    assert found.log_evidence == pytest.approx(closed_form(X, labels, 3 * np.log(2)), rel=1e-9)


@pytest.mark.parametrize("overdispersion", [1, 2.5])
def test_the_value_is_made_of_its_parts(overdispersion):
    data = make_series(500, n_clusters=2, tails=4, correlation=0.7, segment_lengths=(30, 60), random_state=5)
    found = evidence(data.X, data.labels, overdispersion=overdispersion)
    assert found.overdispersion == overdispersion
    assert found.gain > 0 > found.jacobian
    parts = found.marginal + (found.gain - found.jacobian) / overdispersion - found.code
    assert found.log_evidence == pytest.approx(parts)


# -------------------------------------------------------------------------------------------------------- symmetries


@pytest.mark.parametrize("data", [SERIES, FIELDS], ids=["series", "fields"])
def test_the_order_of_rows_does_not_matter(data):
    order = np.random.default_rng(3).permutation(data.labels.size)
    labels = np.where(np.arange(data.labels.size) % 11 == 0, -1, data.labels)
    one = evidence(data.X, labels, positions=data.positions)
    two = evidence(data.X[order], labels[order], positions=data.positions[order])
    assert two.log_evidence == one.log_evidence
    assert two.suggested_overdispersion == one.suggested_overdispersion


def test_the_order_of_rows_of_several_groups_does_not_matter():
    groups = np.arange(600) // 150
    order = np.random.default_rng(4).permutation(600)
    one = evidence(SERIES.X, SERIES.labels, positions=SERIES.positions, groups=groups)
    two = evidence(SERIES.X[order], SERIES.labels[order], positions=SERIES.positions[order], groups=-groups[order])
    assert two.log_evidence == pytest.approx(one.log_evidence, rel=1e-12)


def test_what_clusters_are_called_does_not_matter():
    one = evidence(SERIES.X, SERIES.labels).log_evidence
    for names in (["wake", "rem", "deep"], [7, 100, 3], [-5, 2, 0], [2.0, 0.0, 1.0]):
        assert evidence(SERIES.X, np.array(names)[SERIES.labels]).log_evidence == one
    assert evidence(SERIES.X, pd.Categorical.from_codes(SERIES.labels, ["x", "y", "z"])).log_evidence == one
    assert evidence(SERIES.X, pd.Series(SERIES.labels, index=np.arange(600)[::-1])).log_evidence == one


@pytest.mark.parametrize("data", [SERIES, FIELDS], ids=["series", "fields"])
def test_units_and_the_order_of_columns_do_not_matter(data):
    one = evidence(data.X, data.labels, positions=data.positions)
    scale = 10.0 ** np.arange(-2, data.X.shape[1] - 2)
    units = evidence(5 + data.X * scale, data.labels, positions=1000 * data.positions)
    assert units.log_evidence == pytest.approx(one.log_evidence, rel=1e-8)
    np.testing.assert_allclose(units.lengths, 1000 * one.lengths)
    columns = evidence(data.X[:, ::-1], data.labels, positions=data.positions)
    assert columns.log_evidence == pytest.approx(one.log_evidence, rel=1e-8)
    np.testing.assert_allclose(columns.lengths, one.lengths[::-1])


def test_differences_between_labellings_of_independent_rows_stay_when_features_are_rotated():
    turned = SERIES.X @ ortho_group.rvs(5, random_state=1)
    found = [compare_labellings(X, changed(SERIES), overdispersion=1) for X in (SERIES.X, turned)]
    assert all((found[k]["truth"].lengths == 0).all() for k in range(2))
    merged = [each["merged"].log_evidence - each["truth"].log_evidence for each in found]
    assert merged[1] == pytest.approx(merged[0], rel=1e-6)


# ------------------------------------------------------------------------------------------------------------- noise


def test_noise_is_scored_as_a_class_or_assigned_or_whichever_is_better():
    rng = np.random.default_rng(5)
    truth, X = SERIES.labels, SERIES.X.copy()
    some = np.where(rng.random(600) < 0.1, -1, truth)
    burst = truth.copy()
    X[200:260], burst[200:260] = rng.normal(0, 8, (60, 5)), -1
    for labels, better in ((some, "assign"), (burst, "class")):
        found = {how: evidence(X, labels, noise=how) for how in ("class", "assign", "best")}
        assert [found[how].noise for how in found] == ["class", "assign", better]
        assert found["best"].log_evidence == max(found["class"].log_evidence, found["assign"].log_evidence)
        assert found["best"].noise_share == (labels < 0).mean()
        assert found["best"].clusters == 3
        assert "noise, scored as" in str(found["best"])


def test_noise_as_a_class_is_a_cluster_like_any_other():
    labels = np.where(SERIES.labels == 2, -1, SERIES.labels)
    assert evidence(SERIES.X, labels, noise="class").log_evidence == evidence(SERIES.X, SERIES.labels).log_evidence


def test_minus_one_as_text_is_a_cluster():
    labels = np.where(SERIES.labels == 2, "-1", "b")
    assert evidence(SERIES.X, labels).noise == "none"
    assert evidence(SERIES.X, labels).clusters == 2


@pytest.mark.parametrize("noise", ["class", "assign", "best"])
def test_nothing_but_noise_is_one_cluster(noise):
    found = evidence(SERIES.X, np.full(600, -1), noise=noise)
    assert (found.clusters, found.noise_share, found.noise) == (0, 1.0, "class")
    assert found.log_evidence == evidence(SERIES.X, np.zeros(600, dtype=int)).log_evidence


def test_clusters_too_small_to_have_a_covariance_are_noise():
    labels = SERIES.labels.copy()
    labels[100:105] = 7
    found = evidence(SERIES.X, labels)
    assert (found.small_clusters, found.clusters, found.noise_share) == (1, 4, 0.0)
    labels[100:105] = -1
    assert evidence(SERIES.X, labels).log_evidence == found.log_evidence
    assert evidence(SERIES.X, np.arange(600)).log_evidence == evidence(SERIES.X, np.zeros(600)).log_evidence


# ------------------------------------------------------------------------------------------------- many observations


@pytest.mark.parametrize("places", ["time", "plane"])
def test_a_sample_of_many_observations_is_scored(monkeypatch, places):
    data = SERIES if places == "time" else FIELDS
    module = sys.modules["mcgta.selection.evidence"]
    for name, value in (("MAX_SEARCHED_ROWS", 300), ("MAX_CHOSEN_ON_ALL_ROWS", 300), ("SCORED", 250)):
        monkeypatch.setattr(module, name, value)
    found = compare_labellings(data.X, changed(data), positions=data.positions)
    scored = found["truth"].scored
    assert 200 <= scored <= 250
    assert found["truth"].count == data.labels.size
    assert found["truth"].clusters == 3
    assert found.best == "truth"
    assert f"a sample of {scored} of" in str(found)
    assert f"a sample of {scored} of" in str(found["truth"])


def test_a_sample_of_many_short_series_is_as_large_as_that_of_a_long_one():
    groups = np.repeat(np.arange(1000), 10)
    rows, part = sample_rows(read_positions(None, 10_000, groups=groups), 0, most=5000, size=2500)
    assert rows.size == len(part) == 2500
    assert np.unique(groups[rows]).size == 250


@pytest.mark.slow
def test_very_many_observations_take_little_memory():
    rng = np.random.default_rng(0)
    labels = np.repeat(rng.integers(0, 3, 1410), 500)[:704_970]
    X = rng.normal(size=(704_970, 3)) * (1.0 + labels)[:, None]
    evidence(X[:100], labels[:100] * 0)
    tracemalloc.start()
    found = compare_labellings(X, {"truth": labels})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.best == "truth"
    assert peak < 1e9


# -------------------------------------------------------------------------------------------------------- comparison


def test_a_comparison_is_ranked_and_at_one_overdispersion():
    found = compare_labellings(SERIES.X, changed(SERIES))
    values = [found[name].log_evidence for name in found.names]
    assert values == sorted(values, reverse=True)
    assert set(found.names) == {"truth", "shuffled", "merged", "split", "one cluster"}
    assert found.nats[0] == 0
    np.testing.assert_allclose(found.nats, values[0] - np.array(values))
    assert {each.overdispersion for each in found.evidences} == {found.overdispersion}
    assert found.overdispersion == evidence(SERIES.X, SERIES.labels).suggested_overdispersion
    assert (
        found["merged"].log_evidence
        == evidence(SERIES.X, changed(SERIES)["merged"], overdispersion=found.overdispersion).log_evidence
    )


def test_a_comparison_at_an_overdispersion_that_is_given():
    found = compare_labellings(SERIES.X, {"truth": SERIES.labels}, overdispersion=4)
    assert found.overdispersion == found["truth"].overdispersion == 4
    assert found["truth"].log_evidence == evidence(SERIES.X, SERIES.labels, overdispersion=4).log_evidence


def test_the_table_of_a_comparison_is_aligned():
    noisy = np.where(np.arange(600) % 4 == 0, -1, SERIES.labels)
    found = compare_labellings(SERIES.X, {"a name that is rather long": noisy, "b": SERIES.labels})
    lines = str(found).splitlines()
    assert len({len(line) for line in lines[:-1]}) == 1
    assert lines[0].split("  ")[0] == "labelling"
    assert lines[1].startswith("b ")
    assert "25.0%" in str(found)
    assert lines[-1].startswith("overdispersion ")


def test_features_that_are_not_used_have_no_length():
    X = np.column_stack([SERIES.X, np.ones(600)])
    with pytest.warns(UserWarning, match="column 5 is constant"):
        found = evidence(X, SERIES.labels)
    np.testing.assert_array_equal(np.isnan(found.lengths), [False] * 5 + [True])
    assert found.log_evidence == evidence(SERIES.X, SERIES.labels).log_evidence


# --------------------------------------------------------------------------------------------------------- bad input

GOOD = {"X": SERIES.X[:100], "labels": SERIES.labels[:100]}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"labels": [0, 1]}, r"labels must hold one label for each of the 100 rows of X, got shape \(2,\)"),
        ({"labels": None}, "labels must hold one label"),
        ({"labels": 3}, r"labels must hold one label for each of the 100 rows of X, got shape \(\)"),
        ({"labels": np.zeros((100, 1))}, r"got shape \(100, 1\)"),
        ({"labels": [0.0, np.nan] * 50}, "labels has 50 missing labels, the first in row 1"),
        ({"labels": ["a", None] * 50}, "labels has 50 missing labels"),
        ({"labels": [0.5, 1.0] * 50}, "labels must be integers or text"),
        ({"labels": ["a", 1] * 50}, "labels mixes labels of types int, str"),
        ({"X": np.ones((100, 2))}, "X: all features are constant"),
        ({"X": 1e9 + 1e-6 * SERIES.X[:100]}, "X: all features are constant, or nearly so"),
        ({"X": np.where(np.eye(100, 3), np.nan, 1.0)}, "X: column 0 holds NaN in 1 row"),
        ({"X": np.where(np.eye(100, 3), np.inf, 1.0)}, "X: column 0 holds infinity in 1 row"),
        ({"X": SERIES.X[:1], "labels": [0]}, "minimum of 2 is required by evidence"),
        ({"X": 1e40 * SERIES.X[:100]}, "too large to square"),
        ({"positions": [1, 2]}, "positions"),
        ({"groups": [1]}, "groups must hold one label"),
        ({"metric": "manhattan"}, "metric='manhattan' is not allowed"),
        ({"noise": "drop"}, "noise='drop' is not allowed: noise must be one of 'class', 'assign', 'best'"),
        ({"overdispersion": 0.5}, "overdispersion=0.5 is not allowed: overdispersion must be a number >= 1"),
        ({"overdispersion": "auto"}, "overdispersion='auto' is not allowed"),
        ({"random_state": -1}, "random_state=-1 is not allowed"),
    ],
)
def test_bad_input_is_refused_in_words(wrong, message):
    given = {**GOOD, **wrong}
    with pytest.raises(ValueError, match=message):
        evidence(given.pop("X"), given.pop("labels"), **given)


@pytest.mark.parametrize(
    ("labellings", "message"),
    [
        ({}, "labellings={} is not allowed"),
        ([GOOD["labels"]], "must be a dict"),
        ({"one cluster": GOOD["labels"]}, "labellings has the name 'one cluster'"),
        ({"mine": [0, 1]}, r"labellings\['mine'\] must hold one label for each of the 100 rows"),
    ],
)
def test_bad_labellings_are_refused_in_words(labellings, message):
    with pytest.raises(ValueError, match=message):
        compare_labellings(GOOD["X"], labellings)


def test_a_labelling_that_is_not_there_is_refused_by_name():
    with pytest.raises(KeyError, match="'k-means' is not one of 'truth', 'one cluster'"):
        compare_labellings(SERIES.X, {"truth": SERIES.labels})["k-means"]


@pytest.mark.parametrize("count", [2, 3, 12])
@pytest.mark.parametrize("where", ["time", "plane", "alone", "one place"])
def test_few_observations_have_finite_evidence(count, where):
    rng = np.random.default_rng(count)
    X, labels = rng.normal(size=(count, 2)), np.arange(count) % 2
    places = {"plane": rng.normal(size=(count, 2)), "one place": np.ones((count, 2))}.get(where)
    found = evidence(X, labels, positions=places, groups=np.arange(count) if where == "alone" else None)
    assert np.isfinite([found.log_evidence, found.suggested_overdispersion, found.code]).all()
