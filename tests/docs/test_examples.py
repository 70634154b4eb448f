"""The Python in the documentation runs, on real logs of this machine."""

import re
import subprocess
import sys

import pytest
from documented import pages

LONG = {"did-the-change-help", "library"}
"""Pages whose examples take ten seconds."""
PAGES = [
    pytest.param(
        path, marks=pytest.mark.thorough if path.stem in LONG else (), id=f"{path.parent.name}-{path.stem}"
    )
    for path in pages()
    if "```python" in path.read_text()
]


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run_one_after_the_other(page, folder):
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL))
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
