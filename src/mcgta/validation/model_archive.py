"""Local models kept in a folder, each with a fingerprint of what it was fitted on."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mcgta.positions.positions import Positions
from mcgta.runtime.archive import Archived, ArchiveError, read_archive
from mcgta.runtime.rules import Rule, check_value
from mcgta.runtime.types import Array
from mcgta.stages.local_models import LocalModels


@dataclass(frozen=True, eq=False)
class KeptModels(Archived):
    """Local models, and what they were fitted on.

    Attributes
    ----------
    fingerprint : of features, positions, groups and parameters; see :func:`take_fingerprint`
    models : in the order of the user's rows
    """

    fingerprint: str
    models: LocalModels


def take_fingerprint(X: Array, places: Positions, params: Mapping[str, Any]) -> str:
    """Return a text that changes with any feature, position, group or parameter."""
    digest = hashlib.sha256()
    for array in (X, places.coordinates, places.groups, places.matrix):
        if array is not None:
            digest.update(f"{array.dtype.str} {array.shape} ".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    said = {name: repr(value) for name, value in sorted(params.items())}
    digest.update(repr((places.metric if places.matrix is None else places.metric.name, said)).encode())
    return digest.hexdigest()


class ModelArchive:
    """A folder that local models are kept in; without a folder none are."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        check_value("archive", folder, Rule(folder=True, none=True))
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None and self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"archive={str(folder)!r} is a file; it must be the path of a folder")

    def find(self, fingerprint: str) -> LocalModels | None:
        """Return the models with that fingerprint, if they are there."""
        path = self._path(fingerprint)
        if path is None or not path.exists():
            return None
        kept = read_archive(path)
        if not isinstance(kept, KeptModels) or kept.fingerprint != fingerprint:
            raise ArchiveError(
                f"{path}: holds something other than the local models of these observations and parameters; delete it, or use "
                "another folder"
            )
        return kept.models

    def keep(self, fingerprint: str, models: LocalModels) -> None:
        """Write models to the folder, which is made where it is missing."""
        path = self._path(fingerprint)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            KeptModels(fingerprint, models).save(path)

    def _path(self, fingerprint: str) -> Path | None:
        return None if self.folder is None else self.folder / f"models-{fingerprint[:20]}.mcgta"
