"""Names for the kinds of arrays that pass between functions; shapes are in the docstrings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
"""Real numbers."""

Index = NDArray[np.signedinteger[Any]]
"""Rows of a table."""

Labels = NDArray[np.signedinteger[Any]]
"""Clusters of observations, -1 for noise."""

Mask = NDArray[np.bool_]
"""True or false for each entry."""
