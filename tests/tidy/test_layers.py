"""The rooms depend on each other in one direction only; see ARCHITECTURE.md."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "thinktime"

CRATES = {
    "workspace-hack": set(),
    "quantities": set(),
    "log": set(),
    "engine": {"quantities"},
    "script": {"engine", "quantities"},
    "systems": {"engine", "log", "script"},
    "live": {"log"},
    "export": {"log"},
    "tracer": set(),
    "recorder": {"export", "live", "log", "quantities", "tracer"},
    "terminals": {"log", "quantities", "script"},
    "theory": set(),
    "stats": set(),
    "python": {"live", "log", "quantities", "recorder", "script", "stats", "systems", "terminals", "theory"},
}
"""What each crate of ours may depend on."""

ROOMS = {
    "stats": {"errors", "escape", "notation", "_native"},
    "log": {"stats", "errors", "toml", "_native"},
    "models": {"stats", "errors", "notation", "results", "_native"},
    "documents": {"stats", "errors", "escape", "notation"},
    "questions": {"stats", "errors", "escape", "quantity", "results", "log", "documents"},
    "analyses": {"stats", "errors", "escape", "toml", "quantity", "results", "log", "documents", "questions"},
    "tasks": {"errors", "_native"},
    "sources": {"stats", "errors", "escape", "toml", "quantity", "results", "log", "tasks", "_native"},
    "predictions": {
        "stats",
        "errors",
        "notation",
        "toml",
        "quantity",
        "results",
        "log",
        "analyses",
        "models",
        "documents",
        "sources",
    },
    "reports": {"stats", "errors", "log", "analyses", "documents"},
    "fleets": {"stats", "errors", "results", "log", "questions", "analyses", "documents"},
    "studies": {
        "stats",
        "errors",
        "toml",
        "results",
        "log",
        "analyses",
        "models",
        "documents",
        "predictions",
        "reports",
        "sources",
        "tasks",
        "_native",
    },
}
"""What each room of the package may import of ours, itself apart."""

STATS_LIBRARIES = {"numpy", "scipy"}


@cache
def imports_of(path: Path) -> set[str]:
    """Dotted names that a module imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layers"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def our_rooms(names: set[str]) -> set[str]:
    return {name.split(".")[1] for name in names if name.startswith("thinktime.")}


@pytest.mark.parametrize("crate", sorted(path.name for path in (ROOT / "crates").iterdir()))
def test_a_crate_depends_only_on_its_layer(crate):
    manifest = (ROOT / "crates" / crate / "Cargo.toml").read_text()
    ours = set(re.findall(r"^thinktime-(\w+)", manifest, re.MULTILINE))
    assert ours <= CRATES[crate]


def test_only_one_crate_knows_python():
    for manifest in (ROOT / "crates").glob("*/Cargo.toml"):
        knows = bool(re.search(r"^pyo3\b", manifest.read_text(), re.MULTILINE))
        assert knows == (manifest.parent.name == "python"), manifest


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_imports_only_its_layer(room):
    for path in (PACKAGE / room).rglob("*.py"):
        foreign = our_rooms(imports_of(path)) - {room} - ROOMS[room]
        assert not foreign, f"{path.relative_to(ROOT)} imports {sorted(foreign)}"


QUESTION_ARROWS = {
    ("capacity", "overhead"),
    ("capacity", "timeline"),
    ("compare", "overhead"),
    ("compare", "throughput"),
    ("users", "timeline"),
}
"""Questions that build on another one, at most five pairs; nothing else lies between the questions."""


def arrows_between_children(room: Path) -> set[tuple[str, str]]:
    """Pairs (importer, imported) of folders and files directly in `room`, its ``__init__`` apart."""
    package = (PACKAGE.name, *room.relative_to(PACKAGE).parts)
    arrows = set()
    for path in room.rglob("*.py"):
        source = path.relative_to(room).parts[0].removesuffix(".py")
        for name in imports_of(path):
            words = tuple(name.split("."))
            if source != "__init__" and words[: len(package)] == package:
                arrows.add((source, words[len(package)]))
    return {(source, target) for source, target in arrows if source != target}


def test_questions_hardly_know_each_other():
    assert arrows_between_children(PACKAGE / "analyses") == QUESTION_ARROWS
    assert len(QUESTION_ARROWS) <= 5


@pytest.mark.parametrize("name", ["analysis", "result"])
def test_numbers_do_not_know_how_they_are_shown(name):
    for path in (PACKAGE / "analyses").glob(f"*/{name}.py"):
        shown = {item for item in imports_of(path) if "section" in item or ".documents" in item}
        assert not shown, f"{path.relative_to(ROOT)} imports {sorted(shown)}"


def test_every_room_is_in_the_table():
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms - {"cli"} == set(ROOMS)


def test_statistics_stand_on_numpy_and_scipy_alone():
    import sys

    for path in (PACKAGE / "stats").rglob("*.py"):
        roots = {name.split(".")[0] for name in imports_of(path)} - {"thinktime"}
        foreign = roots - STATS_LIBRARIES - set(sys.stdlib_module_names)
        assert not foreign, f"{path.relative_to(ROOT)} imports {sorted(foreign)}"


def test_the_checker_sees_an_import_that_is_wrong(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f():\n    from thinktime.reports import html\n")
    assert our_rooms(imports_of(wrong)) - ROOMS["analyses"] == {"reports"}
