"""Writing a report: the page and its values, both replaced as a whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mcgta.plot.reading import fit_of
from mcgta.report.page import make_page
from mcgta.report.subject import Subject
from mcgta.report.values import report_values, to_json
from mcgta.runtime.progress import stage
from mcgta.runtime.replacing import replacing

VALUES_SUFFIX = ".json"


def write_report(
    model: Any, path: str | os.PathLike[str], *, force: bool = False, title: str | None = None
) -> tuple[Path, Path]:
    """Write the report of a fitted model as one HTML file, and its values as JSON beside it.

    The page needs nothing beside it and loads nothing from a network. Equal fits give equal files. Both are written whole or
    not at all.

    Parameters
    ----------
    model : fitted MCGTA
    path : of the page, such as "report.html"; its values go to "report.json"
    force : whether files that exist are replaced
    title : of the page; the name of the input by default

    Returns
    -------
    the paths of the page and of the values
    """
    fit = fit_of(model)
    page = Path(path)
    values = page.with_suffix(VALUES_SUFFIX)
    _check(page, values, title, force=force)
    if title is None:
        title = page.stem if fit.provenance is None or fit.provenance.name == "-" else fit.provenance.name
    subject = Subject(fit, title, page.stem)
    with stage("report", 2) as advance:
        content = make_page(subject).encode()
        advance(1)
        listed = to_json(report_values(subject)).encode()
        with replacing(page) as one, replacing(values) as two:
            one.write(content)
            two.write(listed)
        advance(1)
    return page, values


def _check(page: Path, values: Path, title: str | None, *, force: bool) -> None:
    """Refuse names that cannot be written to, and files that exist."""
    if not page.name or page.suffix.lower() == VALUES_SUFFIX:
        raise ValueError(f"path={str(page)!r} must be the name of a page, such as 'report.html'")
    if title is not None and not isinstance(title, str):
        raise ValueError(f"title={title!r} must be a text, or None for the name of the input")
    if not isinstance(force, bool):
        raise ValueError(f"force={force!r} must be True or False")
    for each in (page, values):
        if not force and os.path.lexists(each):
            raise FileExistsError(f"path={str(page)!r}: {each} exists already; force=True replaces it")
