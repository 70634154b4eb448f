"""Pages of every kind for the gallery, each made by the commands that it shows.

    python docs/gallery.py [--all]

writes them into ``docs/_pages``, from which the documentation is built; a page that is there is left. Studies
take minutes each: they are made with ``--all`` only (`make gallery`), and their pages then stay.
"""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from thinktime.studies import STUDIES, load

FOLDER = Path(__file__).parent / "_pages" / "gallery"
MULTICS = "thinktime simulate multics -p length=1800 --replications 1"
DESIGN = "docs/how-to/designs/disciplines.toml"


@dataclass(frozen=True)
class Entry:
    """A page of the gallery."""

    name: str
    title: str
    words: str
    commands: tuple[str, ...]
    """The last one writes the page."""
    long: bool = False
    """True if it takes minutes, not seconds."""


ENTRIES = (
    Entry(
        "report",
        "Report of a log",
        "Thirty users of APL/360, with every interaction and event logged.",
        (
            "thinktime simulate apl360 -p users=30 -p length=1200 --replications 2 --trace -o sim",
            "thinktime report sim -o report.html",
        ),
    ),
    Entry(
        "compare",
        "Two logs compared",
        "A Multics with one processor and 256K of core, and one with two and 384K.",
        (
            f"{MULTICS} -p cpus=1 -p core=256 -p users=40 -o before",
            f"{MULTICS} -p cpus=2 -p core=384 -p users=48 -o after",
            "thinktime analyse capacity before after -o compare.html",
        ),
    ),
    Entry(
        "size",
        "How many users fit",
        "A machine given by its figures, with controls for users, processors and think time.",
        (
            "thinktime size --example-site > site.toml",
            "thinktime size --from site.toml --goal 'p90 response < 2s' -o size.html",
        ),
    ),
    Entry(
        "experiment",
        "A designed experiment",
        "Disciplines and numbers of users, crossed.",
        (f"thinktime experiment {DESIGN} --replications 4 --runs runs -o experiment.html",),
    ),
    Entry(
        "paging",
        "A prediction",
        "A paging machine by the number of processes that may compete for its memory.",
        ("thinktime predict paging --max-eligible 1..8 -o paging.html",),
    ),
    *(
        Entry(
            name,
            f"A study: {' and '.join(name.title().split('-')[:-1])} ({name[-4:]})",
            load(name).paper.title,
            (f"thinktime study {name} -o {name}.html",),
            long=True,
        )
        for name in STUDIES
    ),
)


def listed() -> str:
    """Entries with their commands, and a link to each page that was made."""
    lines = []
    for entry in ENTRIES:
        page = FOLDER / f"{entry.name}.html"
        link = f' <a href="gallery/{page.name}">Open the page.</a>' if page.exists() else ""
        lines += [f"## {entry.title}", "", f"{entry.words}{link}", ""]
        lines += [*(f"    {command}" for command in entry.commands), ""]
    return "\n".join(lines)


def make(entry: Entry) -> None:
    """Run the commands of an entry and keep its page."""
    from tempfile import TemporaryDirectory

    from thinktime.cli import run

    page = FOLDER / f"{entry.name}.html"
    if page.exists():
        return
    root = Path(__file__).parents[1]
    with TemporaryDirectory() as folder:
        here = Path.cwd()
        os.chdir(folder)
        os.symlink(root / "docs", "docs")
        try:
            for command in entry.commands:
                words, _, written = command.partition(" > ")
                with open(written or os.devnull, "w") as output, redirect_stdout(output):
                    status = run(shlex.split(words)[1:])
                if status:
                    raise RuntimeError(f"{command}: status {status}")
        finally:
            os.chdir(here)
        FOLDER.mkdir(parents=True, exist_ok=True)
        page.write_text((Path(folder) / page.name).read_text(encoding="utf-8"), encoding="utf-8")


if __name__ == "__main__":
    for item in ENTRIES:
        if not item.long or "--all" in sys.argv:
            make(item)
