"""What every baseline promises, whatever its method."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from mcgta.baselines.base import Baseline
from mcgta.baselines.dtw import DTW
from mcgta.baselines.hidden_markov import HMM
from mcgta.baselines.pck_means import PCKMeans
from mcgta.baselines.plain import DBSCAN, GMM, HDBSCAN, KMeans
from mcgta.baselines.segments import SegmentStates
from mcgta.baselines.skater import SKATER
from mcgta.baselines.spacetime_dbscan import MDSTDBSCAN, STDBSCAN
from mcgta.baselines.sticc import STICC
from mcgta.baselines.ticc import TICC, FastTICC
from mcgta.baselines.windowed_gmm import WindowedGMM
from mcgta.clustering.labels import number_by_first_member

# With the least agreement on six segments of two states.
BASELINES: dict[str, tuple[Baseline, float]] = {
    "KMeans": (KMeans(2), 0.99),
    "GMM": (GMM(2), 0.99),
    "DBSCAN": (DBSCAN(1.0, 5), 0.9),
    "HDBSCAN": (HDBSCAN(10), 0.9),
    "WindowedGMM": (WindowedGMM(2, 5), 0.6),
    "HMM": (HMM(2), 0.99),
    "DTW": (DTW(2, window=5), 0.6),
    "DTW of rows": (DTW(2, of="rows", band=0), 0.99),
    "SKATER": (SKATER(6), 0.2),
    "STDBSCAN": (STDBSCAN(2.0, 8.0), 0.2),
    "STDBSCAN with delta": (STDBSCAN(2.0, 8.0, delta=2.0), 0.2),
    "MDSTDBSCAN": (MDSTDBSCAN(2.0, None, 8.0), 0.2),
    "PCKMeans": (PCKMeans(2), 0.9),
    "SegmentStates": (SegmentStates(2, min_size=5, jump=1), 0.9),
    "SegmentStates of a kernel": (SegmentStates(2, min_size=5, cost="rbf"), 0.99),
    "TICC": (TICC(2, window=3, beta=10.0), 0.9),
    "FastTICC": (FastTICC(2, window=3, beta=10.0), 0.9),
    "STICC": (STICC(2, subregion=3), 0.9),
}
every = pytest.mark.parametrize("name", BASELINES)
NEEDS = {"HMM": "hmmlearn.hmm", "DTW": "tslearn.clustering", "SegmentStates": "ruptures", "FastTICC": "fast_ticc"}


def make(name: str) -> Any:
    return clone(BASELINES[name][0])


@every
def test_obvious_states_are_found(name: str, series: Any) -> None:
    labels = make(name).fit_predict(series.X, positions=series.positions)
    assert adjusted_rand_score(series.truth, labels) >= BASELINES[name][1]


@every
def test_row_order_does_not_change_labels(name: str, series: Any) -> None:
    shuffled = np.random.default_rng(1).permutation(len(series.X))
    straight = make(name).fit(series.X, positions=series.positions).labels_
    mixed = make(name).fit(series.X[shuffled], positions=series.positions[shuffled]).labels_
    np.testing.assert_array_equal(number_by_first_member(straight[shuffled]), mixed)


@every
def test_the_same_seed_gives_the_same_labels(name: str, series: Any) -> None:
    first, second = (make(name).fit(series.X, positions=series.positions).labels_ for _ in range(2))
    np.testing.assert_array_equal(first, second)


@every
def test_a_generator_is_drawn_from_once_for_a_seed(name: str, series: Any) -> None:
    seed = int(np.random.default_rng(3).integers(2**31 - 1))
    models = [make(name).set_params(random_state=given_) for given_ in (seed, np.random.default_rng(3))]
    first, second = (model.fit(series.X, positions=series.positions).labels_ for model in models)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", ["DBSCAN", "HDBSCAN", "STDBSCAN", "STDBSCAN with delta", "MDSTDBSCAN", "SKATER"])
def test_where_there_is_no_chance_the_seed_takes_no_part(name: str, series: Any) -> None:
    first, second = (
        make(name).set_params(random_state=seed).fit(series.X, positions=series.positions).labels_ for seed in (0, 1)
    )
    np.testing.assert_array_equal(first, second)


@every
def test_labels_are_numbered_by_their_first_row(name: str, series: Any) -> None:
    model = make(name).fit(series.X, positions=series.positions)
    np.testing.assert_array_equal(model.labels_, number_by_first_member(model.labels_))
    assert model.n_clusters_ == np.unique(model.labels_[model.labels_ >= 0]).size > 0


@every
def test_groups_share_times_without_being_neighbours(name: str, series: Any) -> None:
    """Two copies of a series that overlap in time get the labels of the one, as nothing leads from one to the other."""
    X, positions = np.concatenate([series.X, series.X + 1e-9]), np.concatenate([series.positions] * 2)
    groups = np.repeat(["b", "a"], len(series.X))
    model = make(name)
    if isinstance(model, SKATER):
        model.set_params(n_clusters=12)
    labels = model.fit(X, positions=positions, groups=groups).labels_
    first, second = labels[: len(series.X)], labels[len(series.X) :]
    assert adjusted_rand_score(first, second) > 0.9
    if isinstance(model, (SKATER, STDBSCAN, MDSTDBSCAN)):
        assert not set(first[first >= 0]) & set(second[second >= 0])


@every
def test_a_baseline_can_be_cloned_and_set(name: str) -> None:
    model = make(name)
    copy = clone(model)
    assert copy is not model
    assert copy.get_params() == model.get_params()
    for key, value in model.get_params().items():
        assert copy.set_params(**{key: value}).get_params()[key] == value


@every
def test_every_parameter_has_a_rule(name: str, series: Any) -> None:
    for key in make(name).get_params():
        bad = make(name).set_params(**{key: object()})
        with pytest.raises(ValueError, match=f"^{key}=.* is not allowed: {key} must be "):
            bad.fit(series.X, positions=series.positions)


@every
def test_the_docstring_says_when_to_prefer_it_and_names_each_parameter(name: str) -> None:
    text = type(make(name)).__doc__ or ""
    assert "Prefer it" in " ".join(text.split())
    said = text.split("Parameters\n    ----------\n")[1].split("\n\n")[0]
    heads = {word for line in said.splitlines() if " : " in line for word in line.split(" : ")[0].split()}
    assert {word.strip(",") for word in heads} >= set(make(name).get_params())


@every
def test_more_clusters_than_rows_are_refused(name: str, series: Any) -> None:
    model = make(name)
    if "n_clusters" in model.get_params():
        with pytest.raises(ValueError, match="n_clusters=121 but there are only 120"):
            model.set_params(n_clusters=121).fit(series.X, positions=series.positions)


@pytest.mark.parametrize("name", ["HMM", "SegmentStates", "DTW", "TICC", "FastTICC"])
def test_methods_for_time_refuse_places(name: str, plane: Any) -> None:
    with pytest.raises(ValueError, match=f"'euclidean', but {name}.* works on 'time' only"):
        make(name).fit(plane.X, positions=plane.positions)


@pytest.mark.parametrize("name", NEEDS)
def test_a_missing_package_says_what_to_install(name: str, series: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, NEEDS[name], None)
    package = NEEDS[name].split(".")[0].replace("_", "-")
    with pytest.raises(ImportError, match=rf"{name} needs {package}: pip install 'mcgta\[baselines\]'"):
        make(name).fit(series.X, positions=series.positions)


@given(st.lists(st.integers(-2, 4), min_size=1, max_size=30))
def test_numbering_keeps_the_partition(labels: list[int]) -> None:
    given_ = np.array(labels)
    out = number_by_first_member(given_)
    np.testing.assert_array_equal(out == -1, given_ < 0)
    kept = given_ >= 0
    np.testing.assert_array_equal(out[kept][:, None] == out[kept], given_[kept][:, None] == given_[kept])
    firsts = [int(np.flatnonzero(out == k)[0]) for k in range(out.max() + 1)]
    assert firsts == sorted(firsts)


@every
def test_features_that_cannot_be_squared_are_refused(name: str, series: Any) -> None:
    with pytest.raises(ValueError, match=r"X holds .*e\+161, which is too large to square"):
        make(name).fit(series.X * 1e161, positions=series.positions)
    with pytest.raises(ValueError, match=r"X varies by only .* in column 0, too little to square"):
        make(name).fit(series.X * 1e-60, positions=series.positions)


@every
def test_the_number_of_steps_is_told(name: str, series: Any) -> None:
    model = make(name)
    if "max_iter" in model.get_params() and not isinstance(model, FastTICC):  # its package does not tell
        model.fit(series.X, positions=series.positions)
        assert 1 <= model.n_iter_ <= model.max_iter


@pytest.mark.parametrize("name", ["TICC", "STICC", "HMM", "SegmentStates of a kernel", "WindowedGMM", "GMM", "KMeans"])
def test_a_column_that_varies_by_rounding_only_changes_no_label(name: str, series: Any) -> None:
    rounding = np.where(np.random.default_rng(0).random(len(series.X)) < 0.5, 0.1 + 0.2, 0.3)
    found = [make(name).fit_predict(X) for X in (series.X, np.column_stack([series.X, rounding]))]
    assert adjusted_rand_score(*found) > 0.99


@pytest.mark.parametrize("name", ["KMeans", "GMM", "DBSCAN", "HDBSCAN", "DTW of rows"])
def test_methods_of_features_alone_take_any_positions(name: str, series: Any) -> None:
    rng = np.random.default_rng(1)
    count = len(series.X)
    stamps = pd.date_range("2026-01-01", periods=count, freq="h")
    table = np.abs(series.positions[:, None] - series.positions[None])
    order = rng.permutation(count)
    wanted = make(name).fit_predict(series.X, positions=series.positions)
    for places in (pd.DataFrame({"x": rng.random(count), "y": rng.random(count), "when": stamps}), stamps, table):
        np.testing.assert_array_equal(make(name).fit_predict(series.X, positions=places), wanted)
    moved = make(name).fit_predict(series.X[order], positions=table[order][:, order])
    np.testing.assert_array_equal(moved, number_by_first_member(wanted[order]))
    with pytest.raises(ValueError, match=f"positions has 3 rows but X has {count}"):
        make(name).fit(series.X, positions=[1, 2, 3])


@pytest.mark.parametrize("call", ["fit", "fit_predict"])
@pytest.mark.parametrize(
    "model", [HMM(2, max_iter=1, tol=1e-12), PCKMeans(2, max_iter=1), SKATER(3, floor=40), TICC(2, max_iter=1)]
)
def test_warnings_are_of_the_line_that_called(model: Any, call: str, series: Any) -> None:
    X = np.random.default_rng(2).normal(size=(130, 2))
    with pytest.warns(UserWarning, match="max_iter|regions") as told:
        getattr(clone(model), call)(X)
    assert {Path(one.filename).name for one in told} == {Path(__file__).name}


def test_what_baselines_have_in_common_labels_nothing(series: Any) -> None:
    with pytest.raises(TypeError, match="Baseline is what baselines have in common"):
        Baseline().fit(series.X)
