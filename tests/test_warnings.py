"""Warnings are given at the caller's line, however deep in the package their cause is."""

import warnings

import numpy as np
import pandas as pd
import pytest

from mcgta import MCGTA
from mcgta.datasets import make_series

DATA = make_series(400, n_clusters=2, separation=1.5, segment_lengths=(20, 40), random_state=20)
WHITE = np.random.default_rng(0).normal(size=(300, 2))


def caught(work):
    """Return the files and texts of the warnings that some work gives."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        work()
    return [(warned.filename, str(warned.message)) for warned in given]


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: MCGTA(n_neighbors=20, eps=0.5).fit(np.c_[DATA.X, np.ones(400)]), "is constant"),
        (
            lambda: MCGTA(n_neighbors=20, eps=0.5).fit(DATA.X, positions=np.arange(400) // 2),
            "repeated within their group",
        ),
        (lambda: MCGTA(n_neighbors=20, eps=0.5).fit(DATA.X, DATA.X), "y is ignored"),
        (lambda: MCGTA().fit(WHITE), "no cluster structure"),
        (lambda: MCGTA().fit(DATA.X).refit(beta=3.0), "labels now come from the clusterer"),
        (lambda: MCGTA().fit(DATA.X).predict(DATA.X[:50] + 100), "unlike anything in the fit"),
        (lambda: MCGTA(n_neighbors=20).fit(DATA.X + 1e13), "too few digits"),
        (
            lambda: MCGTA(n_neighbors=20).fit(DATA.X + np.r_[1e13, np.zeros(DATA.X.shape[1] - 1)]),
            "the search leaves it out",
        ),
        (
            lambda: MCGTA(n_neighbors=20, eps=0.5).fit(pd.DataFrame(DATA.X).add_prefix("x")).predict(DATA.X[:50]),
            "does not have valid feature names",
        ),
        (
            lambda: MCGTA(n_neighbors=20, eps=0.5).fit(WHITE).refit(n_clusters=3),
            "explain the observations no better than one cluster",
        ),
    ],
)
def test_a_warning_points_at_the_line_that_called_the_package(work, said):
    files = [file for file, text in caught(work) if said in text]
    assert files == [__file__]


def test_a_feature_that_varies_by_rounding_alone_is_no_matter_of_digits():
    nearly = np.where(np.arange(400) % 2, 0.3, 0.1 + 0.2)
    assert not [
        text for _, text in caught(lambda: MCGTA(n_neighbors=20).fit(np.c_[DATA.X, nearly])) if "digits" in text
    ]
