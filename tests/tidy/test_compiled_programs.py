"""The compiled programs of the tracer are those of the sources beside them."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "crates" / "tracer" / "bpf"
COMPILER, *LINES = (FOLDER / "compiled").read_text().splitlines()
"""What compiled them, and the checksum of each source and object."""


def test_the_objects_were_compiled_from_these_sources():
    sums = {name.removeprefix("./"): checksum for checksum, name in (line.split() for line in LINES)}
    for name, checksum in sums.items():
        found = hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()
        assert found == checksum, f"{name} has changed: run {FOLDER / 'compile'}"
    others = {path.name for path in FOLDER.iterdir()} - set(sums)
    assert others == {"compiled"}


def test_the_same_compiler_makes_the_same_bytes(tmp_path):
    clang = shutil.which("clang-16")
    if clang is None:
        pytest.skip("needs clang-16: apt-get install clang-16")
    version = subprocess.run([clang, "--version"], capture_output=True, text=True, check=True).stdout
    if version.splitlines()[0] != COMPILER:
        pytest.skip(f"the objects were compiled by {COMPILER}")
    subprocess.run([FOLDER / "compile", tmp_path], check=True)
    objects = sorted(path.name for path in FOLDER.glob("*.bpf.o"))
    assert sorted(path.name for path in tmp_path.iterdir()) == objects
    for name in objects:
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), name
