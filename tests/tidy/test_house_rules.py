"""House rules that a reviewer would otherwise have to remember."""

import ast
import re
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
FUNCTION_LINES_MAX = 70
"""From `def` to the end, the docstring not counted."""
FILE_LINES_MAX = 800
FOLDER_FILES_MAX = 25
PARAMETERS_MAX = 8
"""Of a function that is no command; a command's parameters are the user's options."""
POSITIONAL_MAX = 6
POSITIONAL_CALLS_PER_1000_LINES_MAX = 0.4
"""Calls of constructors with so many positional arguments that a reader cannot tell them apart."""
BLOB_BYTES_MAX = 1_000_000
BANNED_FOLDERS = {"utils", "util", "common", "helpers", "helper", "misc"}


def tracked() -> list[Path]:
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in listing.stdout.splitlines() if (ROOT / line).is_file()]


def sources(*endings: str) -> list[Path]:
    return [path for path in tracked() if path.suffix in endings]


class Faults(NamedTuple):
    """What a Python file has too much of."""

    long: list[str]
    """Functions that are too long."""
    many: list[str]
    """Functions with more parameters than a caller can keep apart; commands are exempt."""
    positional: list[str]
    """Calls of classes with `POSITIONAL_MAX` or more positional arguments."""


@cache
def faults(path: Path) -> Faults:
    """What each rule finds in a file, which is parsed once: the syntax of all files would fill the memory."""
    found = Faults([], [], [])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if (lines := length(node)) > FUNCTION_LINES_MAX:
                found.long.append(f"{path}:{node.name} has {lines} lines")
            if (count := parameters(node)) > PARAMETERS_MAX and not (
                node.name == "command" and "cli" in path.parts
            ):
                found.many.append(f"{path}:{node.name} has {count} parameters")
        elif isinstance(node, ast.Call):
            named = getattr(node.func, "id", getattr(node.func, "attr", ""))
            count = sum(not isinstance(item, ast.Starred) for item in node.args)
            if named[:1].isupper() and count >= POSITIONAL_MAX:
                found.positional.append(f"{path}:{node.lineno} {named} has {count}")
    return found


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    documented = ast.get_docstring(node) is not None
    docstring = node.body[0].end_lineno - node.body[0].lineno + 1 if documented else 0
    return node.end_lineno - node.lineno + 1 - docstring


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return len([item for item in given if item.arg not in ("self", "cls")])


def long_rust_functions(path: Path) -> list[str]:
    long, start, name, indent = [], 0, "", ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := re.match(r"^(\s*)(?:pub(?:\([a-z]+\))? )?(?:const |unsafe )*fn (\w+)", line):
            start, name, indent = number, match[2], match[1]
        elif line == f"{indent}}}" and name:
            if number - start + 1 > FUNCTION_LINES_MAX:
                long.append(f"{path}:{name} has {number - start + 1} lines")
            name = ""
    return long


def package() -> list[Path]:
    return [path for path in sources(".py") if (ROOT / "python") in path.parents]


def test_functions_have_few_parameters():
    assert not [text for path in package() for text in faults(path).many]


def test_constructors_are_called_by_keyword():
    calls = [text for path in package() for text in faults(path).positional]
    lines = sum(len(path.read_text().splitlines()) for path in package())
    assert len(calls) <= POSITIONAL_CALLS_PER_1000_LINES_MAX * lines / 1000, calls


def test_folders_can_be_taken_in_at_a_glance():
    files = Counter(path.parent for path in sources(".py", ".rs"))
    crowded = {str(folder): count for folder, count in files.items() if count > FOLDER_FILES_MAX}
    assert not crowded


def test_functions_are_short_enough_to_read():
    long = [text for path in sources(".py") for text in faults(path).long]
    long += [text for path in sources(".rs") for text in long_rust_functions(path)]
    assert not long


def test_files_do_one_thing():
    long = {
        str(path.relative_to(ROOT)): lines
        for path in sources(".py", ".rs")
        if (lines := len(path.read_text().splitlines())) > FILE_LINES_MAX
    }
    assert not long


def test_no_folder_is_a_lumber_room():
    for path in tracked():
        assert not BANNED_FOLDERS & set(path.relative_to(ROOT).parts[:-1]), path


def test_no_large_files():
    large = {str(path): path.stat().st_size for path in tracked() if path.stat().st_size > BLOB_BYTES_MAX}
    assert not large


@pytest.mark.parametrize("word", ["FIX" + "ME", "XX" + "X", "TO" + "DO"])
def test_nothing_is_left_for_later_in_a_comment(word):
    found = [
        str(path.relative_to(ROOT))
        for path in sources(".py", ".rs", ".c", ".sh")
        if re.search(rf"\b{word}\b", path.read_text())
    ]
    assert not found


def test_every_study_says_what_it_found():
    for study in (ROOT / "python" / "thinktime" / "studies").glob("*/study.py"):
        assert (study.parent / "README.md").is_file()
        assert list((study.parent / "published").glob("*.csv"))


def test_the_length_checkers_see_what_is_too_long(tmp_path):
    python = {name: tmp_path / f"{name}.py" for name in ("long", "many", "positional", "sound")}
    python["long"].write_text("def f():\n" + "    x = 1\n" * 71)
    python["many"].write_text(f"def f({', '.join(f'a{number}' for number in range(9))}): ...\n")
    python["positional"].write_text("Record(1, 2, 3, 4, 5, 6)\n")
    python["sound"].write_text("def f(a, b):\n" + "    x = 1\n" * 69)
    found = {name: [len(texts) for texts in faults(path)] for name, path in python.items()}
    assert found == {"long": [1, 0, 0], "many": [0, 1, 0], "positional": [0, 0, 1], "sound": [0, 0, 0]}
    rust = tmp_path / "long.rs"
    rust.write_text("    pub fn f() {\n" + "        x();\n" * 70 + "    }\n")
    assert long_rust_functions(rust)
