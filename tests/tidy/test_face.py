"""The face of the package: what it offers is there, is loaded when it is used, and is what it is called."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import thinktime

FACE = Path(thinktime.__file__)


def declared() -> dict[str, str]:
    """Names that type checkers see, and the module that each is imported from."""
    tree = ast.parse(FACE.read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_type_checkers_and_programs_see_the_same_names():
    seen = declared()
    assert set(seen) == {*thinktime.CONTENTS, *thinktime.ROOMS}
    assert {name: ".".join(home) for name, home in thinktime.CONTENTS.items()}.items() <= seen.items()
    assert sorted([*seen, "__version__"]) == sorted(thinktime.__all__)


@pytest.mark.parametrize("name", [*thinktime.CONTENTS, *thinktime.ROOMS])
def test_everything_offered_is_there_and_says_what_it_is(name):
    value = getattr(thinktime, name)
    assert name in dir(thinktime)
    if inspect.isroutine(value) or inspect.isclass(value) or inspect.ismodule(value):
        assert inspect.getdoc(value)


def test_every_room_is_offered():
    folders = {path.name for path in FACE.parent.iterdir() if (path / "__init__.py").exists()}
    assert set(thinktime.ROOMS) == folders - {"cli"}


def test_the_examples_of_the_docstring_name_what_is_offered():
    used = {
        node.attr
        for line in (thinktime.__doc__ or "").splitlines()
        if line.startswith(">>> ")
        for node in ast.walk(ast.parse(line[4:]))
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "thinktime"
    }
    assert used
    assert used <= set(thinktime.__all__)


def test_what_is_not_offered_is_refused_with_what_is():
    with pytest.raises(AttributeError, match=r"it offers .*analyse"):
        thinktime.nothing  # noqa: B018


def test_a_name_is_loaded_when_it_is_used():
    script = (
        "import sys, thinktime\n"
        "assert 'polars' not in sys.modules and 'numpy' not in sys.modules\n"
        "thinktime.Estimate\n"
        "assert 'thinktime.stats.estimate' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
