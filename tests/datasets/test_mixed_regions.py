"""Regions that are mixtures of kinds."""

import numpy as np
import pytest

from mcgta.datasets import MixedSample, make_mixed_regions, stream_mixed_regions

PARTS = ("X", "positions", "labels", "covariances")


@pytest.mark.parametrize("layout", ["layers", "patches", "series"])
def test_mixed_regions_have_the_shape_that_was_asked_for(layout):
    sample = make_mixed_regions(900, n_clusters=3, n_kinds=4, n_features=5, layout=layout)
    assert isinstance(sample, MixedSample)
    assert sample.X.shape == (900, 5)
    assert sample.positions.shape == ((900,) if layout == "series" else (900, 2))
    assert set(sample.labels.tolist()) == {0, 1, 2}
    assert set(sample.kinds.tolist()) == {0, 1, 2, 3}
    assert sample.shares.shape == (3, 4)
    assert sample.covariances.shape == (3, 5, 5)
    assert np.isfinite(sample.X).all()


def test_the_same_seed_gives_the_same_mixed_regions_and_another_seed_others():
    first, again, other = (make_mixed_regions(200, random_state=seed) for seed in (3, 3, 4))
    for name in (*PARTS, "kinds", "shares"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert not np.array_equal(first.X, other.X)


def test_the_kinds_of_a_region_come_at_its_shares():
    sample = make_mixed_regions(40_000, n_clusters=3, n_kinds=5, random_state=1)
    for label, shares in enumerate(sample.shares):
        own = sample.kinds[sample.labels == label]
        np.testing.assert_allclose(np.bincount(own, minlength=5) / own.size, shares, atol=0.02)


@pytest.mark.parametrize("tails", [None, 8.0])
def test_the_covariances_are_those_of_regions_as_a_whole(tails):
    sample = make_mixed_regions(60_000, n_clusters=2, n_kinds=3, n_features=3, tails=tails, random_state=2)
    for label, covariance in enumerate(sample.covariances):
        spread = np.sqrt(np.diagonal(covariance))
        found = np.cov(sample.X[sample.labels == label].T)
        np.testing.assert_allclose(found / np.outer(spread, spread), covariance / np.outer(spread, spread), atol=0.05)


@pytest.mark.parametrize("knobs", [{"n_clusters": 1}, {"n_kinds": 1}, {"gradient": True}])
def test_without_borders_there_is_one_region(knobs):
    sample = make_mixed_regions(300, **knobs)
    assert not sample.labels.any()
    assert len(sample.shares) == len(sample.covariances) == 1


@pytest.mark.parametrize("layout", ["layers", "series"])
def test_a_gradient_changes_shares_from_one_side_to_the_other(layout):
    sample = make_mixed_regions(30_000, n_kinds=3, layout=layout, gradient=True, random_state=1)
    way = sample.positions[:, 0] if layout == "layers" else sample.positions / 30_000
    shares = [np.bincount(sample.kinds[part], minlength=3) / part.sum() for part in (way < 0.1, way > 0.9)]
    middle = np.bincount(sample.kinds[np.abs(way - 0.5) < 0.05], minlength=3) / (np.abs(way - 0.5) < 0.05).sum()
    assert np.abs(shares[0] - shares[1]).max() > 0.2
    np.testing.assert_allclose(middle, 0.5 * (shares[0] + shares[1]), atol=0.04)


def test_regions_are_shifted_by_what_was_asked_for():
    still, shifted = (make_mixed_regions(2000, shift=shift, random_state=5) for shift in (0.0, 2.0))
    moved = shifted.X - still.X
    for label in range(5):
        own = moved[still.labels == label]
        np.testing.assert_allclose(own, np.broadcast_to(own[0], own.shape), atol=1e-12)
    assert 1.0 < moved.std() < 3.0


def test_kinds_are_as_far_apart_as_was_asked_for():
    near, far = (make_mixed_regions(3000, n_kinds=2, separation=gap, log_scale=0.1, random_state=2) for gap in (1, 9))
    for sample, gap in ((near, 1.0), (far, 9.0)):
        middles = [sample.X[sample.kinds == kind].mean(axis=0) for kind in (0, 1)]
        assert np.linalg.norm(middles[0] - middles[1]) == pytest.approx(gap, abs=0.3)


@pytest.mark.parametrize("knobs", [{}, {"layout": "patches", "tails": 5.0}, {"layout": "series"}, {"gradient": True}])
@pytest.mark.parametrize("block_size", [333, 30_000])
def test_the_blocks_of_mixed_regions_are_the_whole(knobs, block_size):
    whole = make_mixed_regions(9000, **knobs)
    blocks = list(stream_mixed_regions(9000, block_size=block_size, **knobs))
    for part in PARTS[:3]:
        found = np.concatenate([getattr(block, part) for block in blocks])
        np.testing.assert_array_equal(found, getattr(whole, part))
    np.testing.assert_array_equal(blocks[0].covariances, whole.covariances)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_samples": 0}, "n_samples=0"),
        ({"n_samples": None}, "n_samples=None"),
        ({"n_kinds": 0}, "n_kinds=0"),
        ({"n_clusters": 2.5}, r"n_clusters=2\.5"),
        ({"layout": "rings"}, "layout='rings' is not allowed: layout must be one of 'layers', 'patches', 'series'"),
        ({"concentration": 0.0}, r"concentration=0\.0"),
        ({"size_concentration": -1.0}, r"size_concentration=-1\.0"),
        ({"separation": -1.0}, r"separation=-1\.0"),
        ({"tails": 2.0}, r"tails=2\.0"),
        ({"gradient": "yes"}, "gradient='yes'"),
        ({"segment_lengths": (9, 3)}, r"segment_lengths=\(9, 3\)"),
    ],
)
def test_impossible_mixed_regions_are_refused_by_name(options, said):
    with pytest.raises(ValueError, match=said):
        make_mixed_regions(**{"n_samples": 20, **options})
