"""Parameters of the estimator on the command line: every one of them, with the types of its rule."""

from __future__ import annotations

import pytest

from mcgta.cli import main
from mcgta.cli.failures import CommandError
from mcgta.cli.parameters import read_list, read_param
from mcgta.settings import RULES, Settings

VALUES = {
    "n_clusters": ("4", 4),
    "n_neighbors": ("45", 45),
    "weights": ("gaussian", "gaussian"),
    "lags": ("2", 2),
    "standardize": ("yes", True),
    "covariance": ("ledoit_wolf", "ledoit_wolf"),
    "alpha": ("0.1", 0.1),
    "prior": ("gmm", "gmm"),
    "dissimilarity": ("kl", "kl"),
    "metric": ("euclidean", "euclidean"),
    "semivariogram": ("matern", "matern"),
    "bins": ("0,10,20.5", (0, 10, 20.5)),
    "max_lag": ("250", 250),
    "beta": ("0", 0),
    "margin": ("5%", "5%"),
    "penalty": ("unconditional", "unconditional"),
    "clusterer": ("hdbscan", "hdbscan"),
    "eps": ("1e-2", 0.01),
    "min_samples": ("5", 5),
    "min_cluster_size": ("none", None),
    "refine": ("none", "none"),
    "family": ("level", "level"),
    "n_components": ("12", 12),
    "missing": ("drop", "drop"),
    "n_jobs": ("-1", -1),
    "random_state": ("7", 7),
    "progress": ("false", False),
}


@pytest.mark.parametrize("name", RULES)
def test_every_parameter_can_be_set(name):
    text, value = VALUES[name]
    read = read_param(name, text)
    assert read == value
    assert type(read) is type(value)
    Settings(**{name: read})


@pytest.mark.parametrize("name", [name for name in RULES if isinstance(getattr(Settings, name), str)])
def test_every_word_that_is_a_default_can_be_said(name):
    assert read_param(name, getattr(Settings, name)) == getattr(Settings, name)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("n_neighbours", "3", "did you mean n_neighbors"),
        ("zzz", "3", "there is no parameter 'zzz'"),
        ("n_neighbors", "1", "an integer >= 2"),
        ("n_neighbors", "4.5", "an integer >= 2"),
        ("clusterer", "hbdscan", "did you mean 'hdbscan'"),
        ("margin", "500%", "significance level"),
        ("bins", "3,2,1", "increasing"),
        ("bins", "1,two", "increasing"),
        ("standardize", "perhaps", "True or False"),
        ("eps", "nan", "a number >= 0"),
        ("random_state", "none of it", "an integer"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_right(name, text, said):
    with pytest.raises(CommandError, match=said) as refused:
        read_param(name, text)
    assert refused.value.failure.code == 2


def test_what_no_text_can_say_is_not_offered():
    with pytest.raises(CommandError) as refused:
        read_param("metric", "mine")
    assert "function" not in str(refused.value)
    assert "Metric" not in str(refused.value)


def test_several_values_are_read_one_by_one():
    assert read_list("n_neighbors", "20, auto,45") == [20, "auto", 45]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--clusters", "3", "--set", "n_clusters=4"], "and --clusters: n_clusters is given more than once"),
        (["--set", "beta=1", "--set", "beta=0"], "beta is given more than once"),
        (["--set", "penalty=no_hinge"], "penalty='no_hinge' makes the loss of close pairs negative"),
        (["--set", "eps=1", "--clusters", "3", "--set", "refine=none"], "cannot both be set"),
        (["--max-memory", "lots"], "--max-memory lots"),
        (["--time-scale", "2"], "--time-scale 2 has no effect without both a time and a place"),
    ],
)
def test_settings_that_do_not_go_together_are_refused_before_any_work(arguments, said, table, capsys):
    assert main(["cluster", table, *arguments]) == 2
    assert said in capsys.readouterr().err
