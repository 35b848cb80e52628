"""Saved models as commands read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcgta.cli.failures import unusable
from mcgta.cli.targets import check_input

if TYPE_CHECKING:
    from mcgta.estimator import MCGTA


def read_saved(path: str) -> Any:
    """Return what was saved in a file."""
    check_input(path)
    from mcgta.loading import load

    try:
        return load(path)
    except PermissionError as error:
        raise unusable(f"{path} cannot be read: {error.strerror}") from error


def read_model(path: str) -> MCGTA:
    """Return the model that was saved in a file."""
    from mcgta.estimator import MCGTA

    saved = read_saved(path)
    if not isinstance(saved, MCGTA):
        raise unusable(f"{path} holds a {type(saved).__name__}, not a model", "`mcgta cluster FILE` saves one")
    return saved
