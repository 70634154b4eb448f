"""Files of a Rust room need each other in circles of at most three, so that a part can be read alone."""

import re
from pathlib import Path

import pytest

CRATES = Path(__file__).parents[2] / "crates"
LARGEST = 3
"""Files in a circle, at most."""


def rooms() -> list[Path]:
    """Every folder of Rust sources with more than one file."""
    folders = {path.parent for path in CRATES.glob("*/src/**/*.rs")}
    return sorted(folder for folder in folders if len(list(folder.glob("*.rs"))) > 1)


def first_names(tree: str) -> set[str]:
    """Names that a tree of a `use` begins with, of `a::b` or `{a, b::{c, d}}`."""
    if not tree.startswith("{"):
        return {re.split(r"\W", tree, maxsplit=1)[0]}
    flat = tree
    while "{" in flat[1:]:
        flat = flat[0] + re.sub(r"\{[^{}]*\}", "", flat[1:])
    return {re.split(r"\W", name.strip(), maxsplit=1)[0] for name in flat.strip("{}").split(",")}


def arrows(room: Path) -> dict[str, set[str]]:
    """By file of a room, the other files of the room whose names it uses. Tests are left out."""
    files = {path.stem: path for path in room.glob("*.rs")}
    files = {name: path for name, path in files.items() if name not in ("mod", "lib", "main", "tests")}
    # From the top of a crate its files are reached by `crate`, from a folder by `super`.
    prefix = "(?:crate|super)" if room.name == "src" else rf"(?:super|crate::(?:\w+::)*{room.name})"
    found = {}
    for name, path in files.items():
        code = path.read_text().split("#[cfg(test)]\nmod tests")[0]
        text = re.sub(r"//.*", "", code)
        trees = re.findall(rf"\b{prefix}::(\{{[^;]*\}}|\w+)", text)
        used = set().union(*map(first_names, trees)) if trees else set()
        found[name] = (used & files.keys()) - {name}
    return found


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Sets of two or more files each of which needs, over others, each of the rest."""
    below = {}
    for name in graph:
        reached, waiting = set(), [name]
        while waiting:
            for other in graph[waiting.pop()] - reached:
                reached.add(other)
                waiting.append(other)
        below[name] = reached
    together = {
        frozenset(other for other in graph if other in below[name] and name in below[other]) for name in graph
    }
    return [set(circle) for circle in together if len(circle) > 1]


@pytest.mark.parametrize("room", rooms(), ids=lambda room: str(room.relative_to(CRATES)))
def test_circles_are_small(room):
    assert not [circle for circle in circles(arrows(room)) if len(circle) > LARGEST]


def test_the_checker_sees_a_circle(tmp_path):
    room = tmp_path / "room"
    room.mkdir()
    (room / "a.rs").write_text("use super::b::{B, Other};\n")
    (room / "b.rs").write_text("use super::{c::C, e};\nfn f() { super::d::g() }\n")
    (room / "c.rs").write_text("use super::d::D;\n#[cfg(test)]\nmod tests {\n    use super::a::A;\n}\n")
    (room / "d.rs").write_text("use crate::room::a::A;\n")
    (room / "e.rs").write_text("//! `super::a` is not used.\n")
    assert arrows(room) == {"a": {"b"}, "b": {"c", "d", "e"}, "c": {"d"}, "d": {"a"}, "e": set()}
    assert circles(arrows(room)) == [{"a", "b", "c", "d"}]
