"""Sphinx configuration: prose in Markdown, reference generated from the code itself."""

import sys
from pathlib import Path

import thinktime

sys.path.insert(0, str(Path(__file__).parent))
import pages

project = "thinktime"
author = "The thinktime developers"
version = release = thinktime.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
html_theme = "furo"
html_title = f"thinktime {release}"
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
numpydoc_show_class_members = False
# Modules may use one name for a thing of their own; links by the short name are then ambiguous.
suppress_warnings = ["ref.python"]

pages.write()
