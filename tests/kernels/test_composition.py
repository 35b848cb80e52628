"""Kernels for regions that are mixtures of kinds, against their slow twins."""

import numpy as np
import pytest

from mcgta.kernels.composition.forward import predict_rows
from naive import composition as naive


@pytest.mark.parametrize(("rows", "size"), [(1, 1), (5, 1), (6, 2), (6, 3)])
@pytest.mark.parametrize("change", [0.01, 0.4])
def test_rows_of_series_are_as_probable_as_all_labellings_together(rows, size, change):
    rng = np.random.default_rng(rows + size)
    worth = rng.normal(size=(rows, size))
    first = np.arange(rows) % 4 == 0
    out = np.empty(rows)
    predict_rows(worth, first, change, out)
    assert out.sum() == pytest.approx(naive.log_probability_of_series(worth, first, change), abs=1e-10)
