"""Lint what changed, and run the tests nearest to it, in about a minute.

    python scripts/check.py [--since REF] [--seconds 40] [--list]

Changed is what differs from REF (default: the last commit), and files that git does not know yet. The tests
of a changed crate run whole. Files of Python tests are taken by how near they are: a changed one, those that
import a changed module, those that import what imports it, and so on, as long as the seconds that they took
last time fit. What is left out is said; `make test` runs it.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
SECONDS = ROOT / ".pytest_cache" / "v" / "thinktime" / "seconds"
"""Seconds that each file of tests took when it last ran; `tests/conftest.py` writes them."""
UNKNOWN_S = 5.0
"""Taken for a file of tests that has not run here."""
MEASURING = {"laws", "recorder"}
"""Folders of tests that measure this machine, and run alone."""
PYTEST = (f"{BIN}/pytest", "-q")
STUBTEST = (f"{BIN}/stubtest", "--mypy-config-file", ".config/stubtest.ini", "thinktime._native")
AT_ONCE = 2
"""Files of tests that run at the same time."""


def changed_files(since: str) -> list[Path]:
    """Files that differ from `since`, deleted ones included, and new ones."""
    listings = (
        ("git", "diff", "--name-only", "-z", since, "--"),
        ("git", "ls-files", "--others", "--exclude-standard", "-z"),
    )
    names: set[str] = set()
    for listing in listings:
        found = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True)
        if found.returncode:
            raise SystemExit(f"{' '.join(listing)}: {found.stderr.strip()}")
        names |= set(found.stdout.split("\0")) - {""}
    return [Path(name) for name in sorted(names)]


def modules_of(path: Path) -> set[str]:
    """Dotted names that stand for a file; what is no module of the package belongs to its whole folder."""
    if path.parts[:2] != ("python", "thinktime"):
        return set()
    if path.suffix in (".py", ".pyi"):
        return {".".join(path.with_suffix("").parts[1:]).removesuffix(".__init__")}
    folder = path.parent
    while not (modules := list((ROOT / folder).glob("*.py"))) and folder != Path("python/thinktime"):
        folder = folder.parent
    return set().union(*(modules_of(module.relative_to(ROOT)) for module in modules))


@cache
def imports_of(path: Path) -> frozenset[str]:
    """Dotted names that a file imports, anywhere in it, each with the names that it begins with."""
    names = set()
    for node in ast.walk(ast.parse((ROOT / path).read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    # Whoever imports a module runs the packages that it lies in.
    words = [name.split(".") for name in names]
    return frozenset(".".join(name[:length]) for name in words for length in range(1, len(name) + 1))


def distances(changed: Iterable[Path]) -> dict[Path, int]:
    """How many imports lie between a file of tests and the nearest changed file: 0 for a changed file.

    Commands are called by name and not imported, so that tests in the folder named as a changed room count as
    two imports away. Tests of the repository's own rules read all files.
    """
    changed = list(changed)
    tests = [path.relative_to(ROOT) for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    modules = {
        name: path.relative_to(ROOT)
        for path in sorted((ROOT / "python").rglob("*.py"))
        for name in modules_of(path.relative_to(ROOT))
    }
    users: dict[str, set[Path]] = {}
    for path in [*modules.values(), *tests]:
        for name in imports_of(path):
            users.setdefault(name, set()).add(path)
    names = {path: name for name, path in modules.items()}
    rooms: set[str] = set()
    reached = {path: 0 for path in tests if path in changed}
    frontier = set().union(*(modules_of(path) for path in changed))
    seen = set(frontier)
    for distance in range(1, len(modules) + 1):
        next_to = set().union(*(users.get(name, set()) for name in frontier))
        if distance == 1:
            next_to |= {path for path in tests if path.parts[1] == "tidy"}
            rooms = {name.split(".")[1] for name in frontier if "." in name}
        if distance == 2:
            next_to |= {path for path in tests if path.parts[1] in rooms}
        for path in next_to:
            if path in tests:
                reached.setdefault(path, distance)
        frontier = {names[path] for path in next_to if path in names} - seen
        seen |= frontier
        if not frontier and distance > 1:
            break
    return reached


def chosen(
    near: Mapping[Path, int], took: Mapping[str, float], room_s: float
) -> tuple[list[Path], list[Path]]:
    """Files of tests that fit into `room_s`, the nearest first and of those the quickest; and those left out.

    A changed file of tests is always chosen.
    """
    taken, left = [], []
    for path in sorted(near, key=lambda path: (near[path], took.get(str(path), UNKNOWN_S), str(path))):
        needed_s = took.get(str(path), UNKNOWN_S) / AT_ONCE
        if near[path] and needed_s > room_s:
            left.append(path)
            continue
        room_s -= needed_s
        taken.append(path)
    return taken, left


def run(*command: str) -> bool:
    """Whether a command succeeded; it is shown with the seconds that it took."""
    began = time.monotonic()
    status = subprocess.run(command, cwd=ROOT).returncode
    shown = " ".join(word.removeprefix(f"{BIN}/") for word in command)
    print(
        f"{'ok' if status == 0 else 'FAILED':6} {time.monotonic() - began:5.1f} s  "
        f"{shown if len(shown) <= 100 else shown[:97] + '...'}",
        flush=True,
    )
    return status == 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 0 if all that was run passed."""
    parser = argparse.ArgumentParser(prog="check", description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--since", default="HEAD", metavar="REF", help="state to compare with (default: HEAD)"
    )
    parser.add_argument("--seconds", type=float, default=40.0, help="room for Python tests (default: 40)")
    parser.add_argument(
        "--list", action="store_true", help="print the files of tests that would run, and end"
    )
    given = parser.parse_args(arguments)
    changed = changed_files(given.since)
    if not changed:
        print(f"Nothing differs from {given.since}.")
        return 0
    took = json.loads(SECONDS.read_text()) if SECONDS.exists() else {}
    taken, left = chosen(distances(changed), took, given.seconds)
    if given.list:
        print("\n".join(map(str, taken)))
        return 0
    crates = sorted({path.parts[1] for path in changed if path.parts[0] == "crates" and len(path.parts) > 2})
    passed = run(f"{BIN}/ruff", "check", "--quiet", ".")
    passed &= run(f"{BIN}/ruff", "format", "--check", "--quiet", ".")
    if any(path.suffix in (".py", ".pyi") for path in changed):
        passed &= run(f"{BIN}/mypy", "--no-error-summary")
    if crates:
        names = [crate if crate == "workspace-hack" else f"thinktime-{crate}" for crate in crates]
        packages = [f"--package={name}" for name in names]
        tested = [crate for crate in crates if crate not in ("python", "workspace-hack")]
        passed &= run("cargo", "fmt", "--all", "--", "--check")
        passed &= run(
            *("cargo", "clippy", "--release", *packages, "--all-targets", "--quiet", "--"),
            *("-D", "warnings", "-D", "clippy::undocumented_unsafe_blocks"),
        )
        passed &= "python" not in crates or run(*STUBTEST)
        passed &= not tested or run("sh", "scripts/test-crates", *tested)
    alone = [str(path) for path in taken if path.parts[1] in MEASURING]
    others = [str(path) for path in taken if path.parts[1] not in MEASURING]
    passed &= not others or run(*PYTEST, "--numprocesses", str(AT_ONCE), "--dist", "loadfile", *others)
    passed &= not alone or run(*PYTEST, *alone)
    if left:
        shown = ", ".join(map(str, left[:5]))
        more = ", ..." if len(left) > 5 else ""
        print(f"Left out, {len(left)} files of tests: {shown}{more}. `make test` runs them.")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
