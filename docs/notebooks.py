"""The notebooks: scripts in cells, from which pages, files for Jupyter and marimo's twins are made.

A source is a Python script with ``# %%`` before each cell: it can be read, compared and linted as what it is.
"""

from __future__ import annotations

import html
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "notebooks"
SOURCES = sorted(FOLDER.glob("*.py"))


def executed(source: Path, folder: Path) -> Any:
    """Notebook of a source with the output of every cell, as Jupyter runs it in `folder`."""
    import jupytext
    from nbclient import NotebookClient

    notebook = jupytext.read(source)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.metadata["kernelspec"] = kernel
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def twin(source: Path, target: Path) -> None:
    """Write marimo's form of a source."""
    command = [sys.executable, "-m", "marimo", "convert", str(source), "-o", str(target)]
    subprocess.run(command, check=True, capture_output=True, text=True)


def page(notebook: Any, source: Path) -> str:
    """Page of a notebook that was run: text, code and what it showed."""
    links = f"Run on the machine that built these pages; the source is `docs/notebooks/{source.name}`."
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        else:
            parts += [f"```python\n{cell.source}\n```", *map(_shown, cell.outputs)]
    title, *rest = (part for part in parts if part)
    return "\n\n".join([title, links, *rest]) + "\n"


def _shown(output: Any) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        return f"```{{raw}} html\n<div class='output'>{data['text/html']}</div>\n```"
    text = output.get("text") or data.get("text/plain", "")
    return f"```{{raw}} html\n<pre class='output'>{html.escape(text)}</pre>\n```"


def write(folder: Path = FOLDER) -> None:
    """Run every notebook that is newer than its page, and write its page and its file for Jupyter."""
    import nbformat

    for source in SOURCES:
        target = folder / f"{source.stem}.md"
        if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
            notebook = executed(source, folder)
            nbformat.write(notebook, folder / f"{source.stem}.ipynb")
            target.write_text(page(notebook, source), encoding="utf-8")
