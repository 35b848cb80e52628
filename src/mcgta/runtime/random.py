"""One seed of everything that is random in a fit."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np


def draw_seed(random_state: Any) -> int:
    """Return one seed for everything that is random in a fit."""
    if isinstance(random_state, numbers.Integral):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    from sklearn.utils import check_random_state  # costs half a second, and data sets are made without

    return int(check_random_state(random_state).randint(2**31 - 1))
