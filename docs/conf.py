"""How the documentation is built. Pages are Markdown; a new one has its place in index.md."""

from __future__ import annotations

import fmqbus

project = "fmqbus"
author = "the fmqbus authors"
release = fmqbus.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinxcontrib.zopeext.autointerface",  # without it, autodoc takes an interface for a plain value
]
exclude_patterns = ["_build"]

myst_heading_anchors = 3
# Docstrings put names in single backquotes, as the pages do.
default_role = "code"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = f"fmqbus {release}"
