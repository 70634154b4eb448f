"""The pages of the documentation, and the commands and files that they show."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
LOGS = {
    "run": "recorded or played on this machine",
    "sim": "simulated",
    "before": "one of two that are compared",
    "after": "the other one",
    "later": "a third one",
    "monday": "of a day",
    "tuesday": "of another day",
    "demo": "made by `make demo`",
}
"""Names of logs in the documentation, and what a log of that name is."""

INDENTED = re.compile(r"(?:^(?: {4}.*)?\n)+", re.MULTILINE)
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """README, the pages below `docs`, and those of the studies, without those generated from the code."""
    listed = subprocess.run(
        ["git", "ls-files", "README.md", "docs/*.md", "python/thinktime/studies/*/README.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


@dataclass(frozen=True)
class Shown:
    """A command on a page."""

    words: tuple[str, ...]
    """Arguments after ``thinktime``."""
    into: str | None
    """File that its output is written to."""

    @property
    def makes(self) -> str | None:
        """Folder or file that it writes."""
        for option in ("-o", "--output", "--runs"):
            if option in self.words[:-1]:
                return self.words[self.words.index(option) + 1]
        if self.words[0] in ("play", "record") and "--show" not in self.words and "--help" not in self.words:
            return "run"
        return self.into


def blocks(text: str) -> Iterator[str]:
    """Blocks of code of a page that are neither Python nor included from a file, in order."""
    fenced = [(match.start(), match[2]) for match in FENCED.finditer(text) if match[1] in ("", "sh", "toml")]
    outside = FENCED.sub(lambda match: re.sub(r"[^\n]", "", match[0]), text)
    indented = [
        (match.start(), re.sub(r"^ {4}", "", match[0], flags=re.MULTILINE))
        for match in INDENTED.finditer(outside)
        if match[0].strip()
    ]
    for _, block in sorted(fenced + indented):
        yield block


def lines(text: str) -> Iterator[str]:
    """Lines of the blocks, continued lines joined."""
    for block in blocks(text):
        yield from re.sub(r"\\\n\s*", " ", block).splitlines()


def commands(text: str) -> Iterator[Shown]:
    """Commands of thinktime on a page, in order; what a pipe passes them on to is left out."""
    for line in lines(text):
        for part in re.split(r";\s", line):
            try:
                words = shlex.split(part, comments=True)
            except ValueError:
                continue
            words = words[1:] if words[:1] in (["$"], ["sudo"]) else words
            if any(word.isupper() and word.isalpha() for word in words):
                # A word that stands for something: SYSTEM, NAME.
                continue
            if not words or words[0] not in ("thinktime", ".venv/bin/thinktime") or len(words) == 1:
                continue
            into = None
            if "|" in words:
                words = words[: words.index("|")]
            if ">" in words:
                into = words[words.index(">") + 1]
                words = words[: words.index(">")]
            yield Shown(words=tuple(words[1:]), into=into)


def tables(text: str) -> list[str]:
    """Blocks of TOML on a page that are written out in it."""
    found = []
    for block in blocks(text):
        try:
            content = tomllib.loads(block)
        except tomllib.TOMLDecodeError:
            continue
        if content:
            found.append(block)
    return found
