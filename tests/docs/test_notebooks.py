"""The notebooks run from beginning to end, in Jupyter and in marimo, and find what they promise."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
from documented import ROOT

sys.path.insert(0, str(ROOT / "docs"))

import notebooks

# Found, not imported: every worker collects this file, and one of them runs it.
for module in ("nbclient", "marimo"):
    if find_spec(module) is None:
        pytest.skip(f"no {module}; install it with `pip install --group dev`", allow_module_level=True)

PROMISED = {
    "expensive_user": "was active in",
    "how_many_fit": "; limit: ",
    "run_a_paper": "FB-infinity answers sooner by",
}
"""Words that each notebook prints; its source has them too, where a number stands in the output."""

pytestmark = pytest.mark.filterwarnings("ignore")


def said(notebook) -> str:
    """Text of all outputs."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    texts = [output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in outputs]
    return "\n".join(texts)


def test_there_is_a_promise_for_each():
    assert {source.stem for source in notebooks.SOURCES} == set(PROMISED)


@pytest.mark.parametrize("source", notebooks.SOURCES, ids=lambda source: source.stem)
def test_a_notebook_runs_in_jupyter(source, tmp_path):
    notebook = notebooks.executed(source, tmp_path)
    assert PROMISED[source.stem] in said(notebook)
    assert notebooks.page(notebook, source).startswith("# ")


@pytest.mark.thorough
@pytest.mark.parametrize("source", notebooks.SOURCES, ids=lambda source: source.stem)
def test_a_notebook_runs_in_marimo(source, tmp_path):
    """marimo refuses a name that two cells define, and exits with an error if a cell raises one."""
    twin = tmp_path / f"{source.stem}_marimo.py"
    notebooks.twin(source, twin)
    target = tmp_path / "page.html"
    command = [sys.executable, "-m", "marimo", "export", "html", str(twin), "-o", str(target), "--no-sandbox"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=dict(os.environ))
    assert done.returncode == 0, done.stderr[-3000:]
    page = target.read_text(encoding="utf-8")
    assert "MarimoExceptionRaisedError" not in page
    # Once in the code of a cell, and once in what it printed.
    assert page.count(PROMISED[source.stem]) >= 2


def test_a_notebook_with_an_error_is_noticed(tmp_path):
    from nbclient.exceptions import CellExecutionError

    wrong = tmp_path / "wrong.py"
    wrong.write_text("# %%\nimport thinktime\n\nthinktime.analyse('overhead', 'nowhere')\n")
    with pytest.raises(CellExecutionError, match="nowhere"):
        notebooks.executed(wrong, tmp_path)
