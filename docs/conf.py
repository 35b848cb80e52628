"""Sphinx configuration. Nothing here, and no page, asks a network for anything."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import mcgta
from mcgta.kernels.simd.compiled import compile_quietly

sys.path.insert(0, str(Path(__file__).parent))

project = "mcgta"
author = "The mcgta developers"
release = mcgta.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "benchmark_tables",
    "formulas",
    "offline",
]
exclude_patterns = ["_build", "_generated", "benchmarks"]
html_theme = "furo"
html_title = f"mcgta {release}"
html_static_path = ["_static"]
html_css_files = ["mcgta.css"]
highlight_options = {"python": {"stripnl": True}, "pycon": {"stripnl": True}}
html_math_renderer = "mathml"
html_copy_source = False
html_show_copyright = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = True
napoleon_use_ivar = False
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 2
suppress_warnings = ["ref.python", "config.cache"]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"^(?!.*plot_\d\d_).*\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "run_stale_examples": True,  # a page is a test of the package, which may have changed where the page has not
    "copyfile_regex": "",
    "download_all_examples": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,  # seconds: pages say nothing that differs from build to build
    "capture_repr": (),  # pages show what is printed; a repr may hold an address of memory
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "image_srcset": ["2x"],
    "matplotlib_animations": False,
}
compile_quietly()  # the first build on a machine gives the same pages as the next
warnings.simplefilter("ignore", mcgta.ChoiceWarning)  # pages print choice_, which has the same words
