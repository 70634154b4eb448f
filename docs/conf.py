"""Sphinx configuration: prose in Markdown, reference generated from the code itself."""

import json
from pathlib import Path

import thinktime
from thinktime import _native

project = "thinktime"
author = "The thinktime developers"
version = release = thinktime.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
html_theme = "furo"
html_title = f"thinktime {release}"
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
autosummary_generate = True
numpydoc_show_class_members = False

GENERATED = Path(__file__).parent / "reference" / "columns.md"


def write_columns() -> None:
    """Write the vocabulary as a page, so that it cannot differ from what the sources write."""
    lines = ["# Columns", "", "Every source uses these names; a source may add columns of its own.", ""]
    for table in json.loads(_native.vocabulary()):
        lines += [
            f"## `{table['name']}`",
            "",
            "| column | unit | kind | role | what |",
            "| --- | --- | --- | --- | --- |",
        ]
        for column in table["columns"]:
            role = column.get("role", "")
            cells = (f"`{column['name']}`", column["unit"], column["kind"], role, column["description"])
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    GENERATED.write_text("\n".join(lines))


write_columns()
