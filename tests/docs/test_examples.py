"""The Python in the documentation runs, on real logs of this machine."""

import re
import subprocess
import sys

import pytest
from documented import pages

PAGES = [path for path in pages() if "```python" in path.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_the_examples_of_a_page_run_one_after_the_other(page, folder):
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL))
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
