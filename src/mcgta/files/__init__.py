"""Tables in files: read by suffix, written back with columns added, and what their columns stand for."""

from mcgta.files.by_suffix import check_target, read_file, write_file
from mcgta.files.observations import FileObservations, make_observations
from mcgta.files.problems import AmbiguousRoles, FileProblem, UnknownFormat
from mcgta.files.roles import guess_roles
from mcgta.files.table import BadCells, FileTable, Points, Roles

__all__ = [
    "AmbiguousRoles",
    "BadCells",
    "FileObservations",
    "FileProblem",
    "FileTable",
    "Points",
    "Roles",
    "UnknownFormat",
    "check_target",
    "guess_roles",
    "make_observations",
    "read_file",
    "write_file",
]
