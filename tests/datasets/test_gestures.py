"""The gesture-like series, and that large data sets are made in little memory."""

import tracemalloc

import numpy as np
import pytest

from mcgta.datasets import make_gestures, make_regions


def records(sample, length):
    return sample.X.reshape(-1, length, sample.X.shape[1])


@pytest.mark.parametrize(("length", "types", "d"), [(315, 8, 3), (9, 1, 1), (40, 3, 5)])
def test_a_series_of_gestures_has_the_shape_that_was_asked_for(length, types, d):
    sample = make_gestures(7, record_length=length, n_types=types, n_features=d)
    assert sample.X.shape == (7 * length, d)
    assert sample.positions.tolist() == list(range(1, 7 * length + 1))
    assert sample.labels.shape == (7 * length,)
    assert sample.labels.dtype == np.int64
    assert sample.covariances.shape == (types, d, d)
    assert np.isfinite(sample.X).all()


def test_the_same_seed_gives_the_same_gestures_and_another_seed_others():
    a, b, c = make_gestures(5, random_state=3), make_gestures(5, random_state=3), make_gestures(5, random_state=4)
    for name in ("X", "positions", "labels", "covariances"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert not np.array_equal(a.X, c.X)


def test_a_record_is_of_one_type_and_all_types_occur():
    labels = make_gestures(400, record_length=20).labels.reshape(400, 20)
    assert (labels == labels[:, :1]).all()
    assert sorted(set(labels[:, 0].tolist())) == list(range(8))


def test_features_are_standardised_within_each_record():
    curves = records(make_gestures(30, noise=0.0), 315)
    np.testing.assert_allclose(curves.mean(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(curves.std(axis=1), 1.0, rtol=1e-12)


def test_curves_are_smooth_and_noise_is_white_and_of_its_size():
    smooth, rough = (records(make_gestures(40, noise=noise), 315) for noise in (0.0, 0.15))
    assert np.abs(np.diff(smooth, axis=1)).max() < 0.2
    noise = rough - smooth
    assert noise.std() == pytest.approx(0.15, rel=0.02)
    assert abs(np.corrcoef(noise[:, 1:].ravel(), noise[:, :-1].ravel())[0, 1]) < 0.02


def test_records_of_one_type_are_alike_but_not_the_same():
    sample = make_gestures(60, noise=0.0)
    curves, types = records(sample, 315), sample.labels[::315]
    apart = ((curves[:, None] - curves[None]) ** 2).mean(axis=(2, 3))
    same = types[:, None] == types[None]
    others = same & ~np.eye(60, dtype=bool)
    assert apart[others].min() > 1e-3
    assert np.quantile(apart[others], 0.95) < np.quantile(apart[~same], 0.05)


def test_the_covariances_are_those_of_the_types_with_noise():
    sample = make_gestures(300, n_types=3)
    for label, cov in enumerate(sample.covariances):
        own = sample.X[sample.labels == label]
        np.testing.assert_allclose(np.diagonal(cov), 1 + 0.15**2)
        np.testing.assert_allclose(own.T @ own / len(own), cov, atol=0.1)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"n_records": 0}, "n_records=0"),
        ({"record_length": 8}, "record_length=8 is not allowed: record_length must be an integer >= 9"),
        ({"n_records": "two"}, "n_records='two' is not allowed: n_records must be an integer >= 1"),
        ({"n_records": 2.5}, r"n_records=2\.5"),
        ({"record_length": 20.0}, r"record_length=20\.0"),
        ({"n_types": 0}, "n_types=0"),
        ({"n_types": None}, "n_types=None"),
        ({"n_features": "3"}, "n_features='3'"),
        ({"noise": "loud"}, "noise='loud' is not allowed: noise must be a number >= 0"),
        ({"random_state": "a"}, "random_state='a'"),
        ({"n_features": 0}, "n_features=0"),
        ({"noise": -0.1}, r"noise=-0\.1"),
        ({"noise": float("nan")}, "noise=nan"),
    ],
)
def test_impossible_gestures_are_refused_by_name(options, name):
    with pytest.raises(ValueError, match=name):
        make_gestures(**{"n_records": 2, **options})


@pytest.mark.parametrize(("make", "size", "times"), [(make_gestures, 400, 4), (make_regions, 50_000, 16)])
def test_large_data_sets_take_a_few_times_their_own_memory(make, size, times):
    make(10)
    tracemalloc.start()
    sample = make(size, n_features=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < times * (sample.X.nbytes + sample.positions.nbytes + sample.labels.nbytes)
