"""Reading of saved objects, of whatever class.

A file may hold an object of any class that can be saved, and a class is known once its module is imported. So all of them are
imported here, before a file is read.
"""

from __future__ import annotations

import os
from typing import Any

from mcgta.estimator import MCGTA
from mcgta.runtime.archive import Archived, read_archive
from mcgta.validation.model_archive import KeptModels
from mcgta.validation.stability import Stability

ROOTS: tuple[type[Archived], ...] = (MCGTA, Stability, KeptModels)
"""Classes whose modules import those of all others that can be saved."""


def load(path: str | os.PathLike[str]) -> Any:
    """Return the object that ``save`` wrote: a fitted estimator, local models, a semivariogram, ...

    Raises
    ------
    ArchiveError
        where the file is not an archive, is damaged, or was written by a newer version
    """
    return read_archive(path)
