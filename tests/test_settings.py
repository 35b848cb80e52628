"""Settings are declared once, typed, frozen, and checked where they are made."""

import dataclasses
import inspect

import pytest

from mcgta import MCGTA
from mcgta.settings import CHANGED_BY_REFIT, RULES, STAGES, Settings, names_of


def test_the_constructor_has_the_settings_in_their_order_with_their_defaults():
    parameters = inspect.signature(MCGTA).parameters
    assert list(parameters) == list(RULES)
    for name, parameter in parameters.items():
        assert parameter.default == getattr(Settings, name), name


def test_there_are_at_most_26_parameters():
    assert len(RULES) <= 26


def test_every_setting_belongs_to_a_stage():
    assert sorted(name for stage in STAGES for name in names_of(stage)) == sorted(RULES)


def test_settings_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().beta = 2.0


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"clusterer": "hdbscn"}, "did you mean 'hdbscan'"),
        ({"dissimilarity": "wasserstein"}, "did you mean 'wasserstein2'"),
        ({"covariance": "ledoit"}, "did you mean 'ledoit_wolf'"),
        ({"semivariogram": "spheric"}, "did you mean 'spherical'"),
        ({"metric": "haversin"}, "did you mean 'haversine'"),
        ({"refine": "non"}, "did you mean 'none'"),
        ({"n_clusters": 3, "eps": 1.0, "refine": "none"}, "cannot both be set"),
        ({"bins": 10**9}, "bins=1000000000 is not allowed"),
        ({"bins": 2**63}, "bins=9223372036854775808 is not allowed"),
    ],
)
def test_what_is_wrong_is_refused_with_what_would_be_right(params, said):
    with pytest.raises(ValueError, match=said):
        Settings(**params)


def test_what_is_left_open_has_a_value_where_nothing_is_searched():
    plain = Settings().plain()
    assert (plain.dissimilarity, plain.beta, plain.margin, plain.min_cluster_size) == ("wasserstein2", 1.0, 0.0, None)


def test_keys_tell_apart_what_a_stage_depends_on_and_nothing_else():
    one = Settings(beta=1.0)
    two = Settings(beta=2.0)
    assert one.key("models", "semivariogram") == two.key("models", "semivariogram")
    assert one.key("loss", "loss") != two.key("loss", "loss")


def test_a_refit_changes_what_comes_after_the_semivariogram():
    assert "beta" in CHANGED_BY_REFIT
    assert "n_clusters" in CHANGED_BY_REFIT
    assert not set(CHANGED_BY_REFIT) & set(names_of("models", "dissimilarity", "semivariogram", "positions"))
