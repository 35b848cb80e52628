"""The files of a command: their names, and whether they can be read and written, looked at before any work is done."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from mcgta.cli.failures import refused, unusable, usage_error
from mcgta.cli.streams import STANDARD, check_standard_input, check_standard_output

MODEL_SUFFIX = ".mcgta"
REPORT_SUFFIX = ".html"
BESIDE_INPUT = "\0beside the input"
"""Stands for the name of a file that is asked for without one; no file is called so."""

_PACKED = (".gz",)


def stem_of(path: str) -> Path:
    """Return the path of an input without its suffix, which may be two: of ``a/b.csv.gz`` it is ``a/b``."""
    stem = Path(path)
    if not stem.name:  # ".", "/" and "" are no files
        check_input(path)
    if stem.suffix.lower() in _PACKED and stem.with_suffix("").suffix:
        stem = stem.with_suffix("")
    return stem.with_suffix("")


def default_table(path: str) -> str:
    """Return the name of the table of clusters of an input; standard output for standard input."""
    if path == STANDARD:
        return STANDARD
    stem = stem_of(path)
    suffix = Path(path).name[len(stem.name) :]
    return str(stem.with_name(f"{stem.name}_clusters{suffix}"))


def beside(path: str, suffix: str, flag: str) -> str:
    """Return the name of a file beside an input; of standard input there is none."""
    if path == STANDARD:
        raise usage_error(f"{flag} needs the name of a file where standard input is read")
    return f"{stem_of(path)}{suffix}"


def check_input(path: str) -> None:
    """Refuse a file to read that is not there, or is a folder, and a standard input that is closed."""
    if path == STANDARD:
        check_standard_input()
        return
    if os.path.isdir(path):
        raise unusable(f"{path} is a folder, not a file")
    if not os.path.exists(path):
        raise unusable(f"there is no file {path or repr(path)}")


def check_targets(targets: Mapping[str, str], inputs: Mapping[str, str], *, force: bool) -> None:
    """Refuse files that cannot be read or written, or that exist and may not be replaced.

    ``targets`` and ``inputs`` are paths by what they are, such as "the table".
    """
    for path in inputs.values():
        check_input(path)
    seen = {os.path.realpath(path): what for what, path in inputs.items() if path != STANDARD}
    for what, path in targets.items():
        if path == STANDARD:
            check_standard_output()
            continue
        real = os.path.realpath(path)
        if real in seen:
            raise usage_error(f"{path} is {seen[real]} already, and cannot be {what} as well")
        seen[real] = what
        _check_folder(path)
        _check_kind(path)
    existing = [path for path in targets.values() if path != STANDARD and os.path.lexists(path)]
    if existing and not force:
        be = "exists" if len(existing) == 1 else "exist"
        raise refused(f"{', '.join(existing)} {be} already", "add --force to replace, or name another file")


def _check_folder(path: str) -> None:
    """Refuse a folder that is not there, or that nothing can be written into, by trying to."""
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise refused(f"{path} cannot be written: there is no folder {Path(path).parent}")
    import tempfile

    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise refused(f"{path} cannot be written: {error.strerror or error}") from error


def _check_kind(path: str) -> None:
    """Refuse what is there and is not a file."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise refused(f"{path} is a folder", "name a file in it")
    if not stat.S_ISREG(mode):
        raise refused(f"{path} is not a file", "use - for standard output")


def report_targets(path: str) -> dict[str, str]:
    """Return the files of a report: the page, and its values as JSON beside it."""
    return {"the report": path, "the values of the report": str(Path(path).with_suffix(".json"))}
