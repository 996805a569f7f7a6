"""How the documentation is built. Pages are Markdown; a new one has its place in index.md."""

from __future__ import annotations

import attrs
from sphinx.application import Sphinx

import fmqbus
import fmqbus.limits

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


def append_limits(app: Sphinx, page: str, source: list[str]) -> None:
    """Let the page on limits end with a table made from the code, so that it cannot be wrong."""
    if page != "limits":
        return
    app.env.note_dependency(fmqbus.limits.__file__)
    source[0] += "\n| limit | default | unit | reason |\n|---|---:|---|---|\n"
    for limit in attrs.fields(fmqbus.limits.Limits):
        source[0] += "| `{}` | {:,} | {unit} | {reason} |\n".format(limit.name, limit.default, **limit.metadata)


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", append_limits)
