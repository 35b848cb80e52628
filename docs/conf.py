"""Sphinx configuration."""

from __future__ import annotations

import sys
from pathlib import Path

import mcgta

sys.path.insert(0, str(Path(__file__).parent))

project = "mcgta"
author = "The mcgta developers"
release = mcgta.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "benchmark_tables"]
exclude_patterns = ["_build", "_generated", "benchmarks"]
html_theme = "furo"
html_title = f"mcgta {release}"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = True
napoleon_use_ivar = False
myst_heading_anchors = 2
suppress_warnings = ["myst.xref_missing", "ref.python"]
