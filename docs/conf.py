"""Sphinx configuration."""

from __future__ import annotations

import mcgta

project = "mcgta"
author = "The mcgta developers"
release = mcgta.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"mcgta {release}"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = True
napoleon_use_ivar = False
myst_heading_anchors = 2
suppress_warnings = ["myst.xref_missing", "ref.python"]
