"""The Python in the documentation runs, on real logs of this machine."""

import re
import warnings

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
    with warnings.catch_warnings():
        # As in a session of the reader: a warning is no error.
        warnings.simplefilter("default")
        exec(compile(code, str(page), "exec"), {"__name__": "__main__"})
