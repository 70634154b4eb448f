"""Sphinx configuration: prose in Markdown, reference generated from the code itself."""

import sys
from pathlib import Path

import thinktime

sys.path.insert(0, str(Path(__file__).parent))
import gallery
import notebooks
import pages

project = "thinktime"
author = "The thinktime developers"
version = release = thinktime.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
html_theme = "furo"
html_title = f"thinktime {release}"
exclude_patterns = [
    "_build",
    "_pages",
    "reference/gallery.md",
    "reference/studies.md",
    "notebooks/*.ipynb",
    "tutorial/printed",
]
# Pages of the gallery are copied as they are; `docs/gallery.py` makes them.
html_extra_path = ["_pages"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
numpydoc_show_class_members = False
autodoc_typehints = "signature"
# Modules may use one name for a thing of their own; links by the short name are then ambiguous.
suppress_warnings = ["ref.python"]

pages.write()
(Path(__file__).parent / "_pages").mkdir(exist_ok=True)
(pages.REFERENCE / "gallery.md").write_text(gallery.listed(), encoding="utf-8")
notebooks.write()
