"""House rules that a reviewer would otherwise have to remember."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 800
BLOB_BYTES_MAX = 1_000_000
BANNED_FOLDERS = {"utils", "util", "common", "helpers", "helper", "misc"}


def tracked() -> list[Path]:
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in listing.stdout.splitlines() if (ROOT / line).is_file()]


def sources(*endings: str) -> list[Path]:
    return [path for path in tracked() if path.suffix in endings]


def long_python_functions(path: Path) -> list[str]:
    long = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = (node.end_lineno - body[0].lineno + 1) if body else 0
            if lines > FUNCTION_LINES_MAX:
                long.append(f"{path.relative_to(ROOT)}:{node.name} has {lines} lines")
    return long


def long_rust_functions(path: Path) -> list[str]:
    long, start, name, indent = [], 0, "", ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := re.match(r"^(\s*)(?:pub(?:\([a-z]+\))? )?(?:const |unsafe )*fn (\w+)", line):
            start, name, indent = number, match[2], match[1]
        elif line == f"{indent}}}" and name:
            if number - start + 1 > FUNCTION_LINES_MAX:
                long.append(f"{path.relative_to(ROOT)}:{name} has {number - start + 1} lines")
            name = ""
    return long


def test_functions_are_short_enough_to_read():
    long = [text for path in sources(".py") for text in long_python_functions(path)]
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


def test_the_length_checkers_see_what_is_too_long(tmp_path, monkeypatch):
    import sys

    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    python = tmp_path / "long.py"
    python.write_text("def f():\n" + "    x = 1\n" * 71)
    rust = tmp_path / "long.rs"
    rust.write_text("    pub fn f() {\n" + "        x();\n" * 70 + "    }\n")
    assert long_python_functions(python)
    assert long_rust_functions(rust)
