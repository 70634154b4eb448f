"""The Python in the documentation runs, on a real log of this machine."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2]
PAGES = [
    path
    for path in [DOCS / "README.md", *sorted(DOCS.glob("docs/**/*.md"))]
    if "```python" in path.read_text()
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    record = [sys.executable, "-c", "from thinktime.cli import main; main()", "record", "-o", "run"]
    subprocess.run(
        [*record, "--interval", "0.1s", "--duration", "1s"], cwd=folder, check=True, capture_output=True
    )
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_one_after_the_other(page, folder):
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL))
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
