"""Marks of tests that hold with newer versions of other packages only; ``make test-lowest`` runs with the lowest."""

from __future__ import annotations

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

OLD_SKLEARN = parse_version(sklearn.__version__) < parse_version("1.7")


def needs_new_sklearn(reason):
    """Skip a test with scikit-learn before 1.7."""
    return pytest.mark.skipif(OLD_SKLEARN, reason=f"with scikit-learn before 1.7 {reason}")
