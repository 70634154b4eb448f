"""What thinktime is built from: pinned, licensed, and with every unsafe block accounted for."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
from third_party_licences import linked  # noqa: E402  (a script, not a module of the package)

UNSAFE_BLOCKS = {"engine": 6, "live": 2, "python": 1, "recorder": 9, "terminals": 20, "tracer": 13}
"""Blocks in the sources of each crate: each is a page to review. Where there are fewer, write it here."""


def code(path: Path) -> list[str]:
    """Lines without comments."""
    return [re.sub(r"//.*", "", line) for line in path.read_text().splitlines()]


def unsafe_blocks(crate: Path) -> int:
    return sum(line.count("unsafe {") for path in (crate / "src").rglob("*.rs") for line in code(path))


def test_every_unsafe_block_is_counted():
    counts = {crate.name: unsafe_blocks(crate) for crate in (ROOT / "crates").iterdir() if crate.is_dir()}
    assert {name: count for name, count in counts.items() if count} == UNSAFE_BLOCKS


def test_every_unsafe_block_says_why_it_is_sound():
    """clippy holds the comment to its block (`make lint`); this holds clippy to it."""
    assert "clippy::undocumented_unsafe_blocks" in (ROOT / "Makefile").read_text()


def test_the_layout_of_ratatui_is_not_used():
    """deny.toml ignores what is wrong with the cache behind it."""
    ignored = tomllib.loads((ROOT / "deny.toml").read_text())["advisories"]["ignore"]
    assert all("Layout" in item["reason"] for item in ignored)
    for path in (ROOT / "crates").glob("*/src/**/*.rs"):
        if "ratatui" in path.read_text():
            assert not re.search(r"\bLayout\b", path.read_text()), path


@pytest.fixture(scope="module")
def metadata():
    # Of this platform: the crates of others are not downloaded.
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"]
    command += ["--filter-platform", "x86_64-unknown-linux-gnu"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_licence_of_everything_that_is_linked_is_in_the_packages(metadata):
    text = (ROOT / "THIRD-PARTY-LICENSES.txt").read_text()
    listed = set(re.findall(r"^  (\S+ \S+): ", text, re.MULTILINE))
    assert set(linked(metadata)) == listed, "run `make licences`"
    assert (
        "THIRD-PARTY-LICENSES.txt"
        in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license-files"]
    )


def test_every_licence_is_one_that_we_allow(metadata):
    allowed = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])
    for name, package in linked(metadata).items():
        alternatives = re.split(r" OR | ?/ ?", package["license"].replace("(", "").replace(")", ""))
        fine = any(
            all(term in allowed for term in alternative.split(" AND ")) for alternative in alternatives
        )
        assert fine, f"{name}: {package['license']}"


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.mark.parametrize("extra", ["", "cluster"])
def test_every_package_that_we_ask_for_is_pinned_with_checksums(extra):
    wanted = list(project()["project"]["dependencies"])
    if extra:
        wanted += project()["project"]["optional-dependencies"][extra]
    lock = (ROOT / "packaging" / f"requirements{extra and '-'}{extra}.lock").read_text()
    pins = re.findall(
        r"^([a-z0-9-]+)==(\S+)((?: ;[^\\\n]*)?) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)",
        lock,
        re.MULTILINE,
    )
    pinned = {name for name, *_ in pins}
    for requirement in wanted:
        name = re.match(r"[a-z0-9-]+", requirement)[0]
        assert name in pinned, f"{name} is not pinned; run `make lock`"
    assert len(re.findall(r"^[a-z0-9-]+==", lock, re.MULTILINE)) == len(pins), "a pin has no checksum"


def test_the_lock_of_an_extra_has_all_pins_of_the_other():
    """So that `make audit`, which reads the one with more, has seen both."""
    pins = [
        set(re.findall(r"^[a-z0-9-]+==\S+", (ROOT / "packaging" / name).read_text(), re.MULTILINE))
        for name in ("requirements.lock", "requirements-cluster.lock")
    ]
    assert pins[0] < pins[1]


def test_tests_have_what_an_extra_needs():
    extra = project()["project"]["optional-dependencies"]["cluster"]
    assert set(extra) <= {item for item in project()["dependency-groups"]["dev"] if isinstance(item, str)}
