"""Results as a frame of the caller's library."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mcgta import MCGTA, load

COLUMNS = ["cluster", "probability", "is_noise"]


def model(**params):
    return MCGTA(**{"n_neighbors": 6, "eps": 4.0, "semivariogram": "empirical", **params})


def columns(X):
    return {"speed": X[:, 0], "torque": X[:, 1]}


@pytest.fixture(scope="module")
def labelled(series):
    """A fit on a pandas frame whose rows have names."""
    names = [f"row {k}" for k in range(120)]
    return model().fit(pd.DataFrame(columns(series.X), index=names), positions=series.positions)


def test_a_pandas_frame_comes_back_with_its_index(labelled, series):
    frame = labelled.to_frame()
    assert list(frame.columns) == COLUMNS
    assert frame.index[7] == "row 7"
    np.testing.assert_array_equal(frame["cluster"], series.truth)
    np.testing.assert_array_equal(frame["probability"], labelled.probabilities_)
    assert frame["is_noise"].dtype == bool


@pytest.mark.parametrize(
    ("wrap", "kind"), [(pl.DataFrame, pl.DataFrame), (pa.table, pa.Table), (pd.DataFrame, pd.DataFrame)]
)
def test_the_frame_is_of_the_library_that_the_features_came_in(series, wrap, kind):
    frame = model().fit(wrap(columns(series.X)), positions=series.positions).to_frame()
    assert isinstance(frame, kind)
    names = frame.column_names if kind is pa.Table else list(frame.columns)
    assert names == COLUMNS
    np.testing.assert_array_equal(np.asarray(frame["cluster"]), series.truth)


def test_an_array_gives_a_frame_of_pandas(series):
    frame = model().fit(series.X, positions=series.positions).to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.equals(pd.RangeIndex(120))


def test_other_settings_and_added_rows_keep_the_index(labelled, series):
    assert labelled.refit(eps=3.0).to_frame().index.equals(labelled.to_frame().index)
    assert labelled.with_provenance(None).to_frame().index.equals(labelled.to_frame().index)
    grown = pickle.loads(pickle.dumps(labelled))
    more = pd.DataFrame(columns(series.X[:20]), index=[f"new {k}" for k in range(20)])
    grown.append(more, positions=series.positions[:20] + 1000)
    assert grown.to_frame().index[[0, 119, 120, 139]].tolist() == ["row 0", "row 119", "new 0", "new 19"]


def test_a_loaded_fit_counts_its_rows(labelled, tmp_path):
    labelled.save(tmp_path / "fit.mcgta")
    frame = load(tmp_path / "fit.mcgta").to_frame()
    assert frame.index.equals(pd.RangeIndex(120))
    np.testing.assert_array_equal(frame["cluster"], labelled.labels_)


def test_noise_is_said_to_be_noise(series):
    X = pd.DataFrame(columns(series.X))
    X.loc[4, "speed"] = np.nan
    with pytest.warns(UserWarning, match="1 of 120 rows have missing values"):
        frame = model(missing="drop").fit(X, positions=series.positions).to_frame()
    assert frame.loc[4].tolist() == [-1, 0.0, True]
