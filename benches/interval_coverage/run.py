"""Measure the coverage of every kind of interval, and write the table.

    PYTHONPATH=benches python -m interval_coverage [--kind NAME ...] [--trials N] [--minutes M] [--on ADDRESS]

Counts are kept in target/coverage, one file per kind, by blocks of trials: what the same sources measured
is not measured again. With --on, workers of a Dask cluster measure the blocks; they need benches in their
PYTHONPATH too. The table goes to docs/background/coverage.md, between its two marks.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from interval_coverage.registry import OPEN, Kind, all_kinds
from thinktime.errors import InputError
from thinktime.tasks import Pool, PoolError, Processes

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "target" / "coverage"
PAGE = ROOT / "docs" / "background" / "coverage.md"
BEGIN, END = "<!-- table: written by `make coverage` -->", "<!-- end of the table -->"
Counts = dict[str, list[int]]
"""For each figure: trials that held the truth, missed it, had no interval; held it with an open end."""


@cache
def sources() -> str:
    """Fingerprint of everything that a count depends on."""
    digest = hashlib.sha256()
    files = [*(ROOT / "python").rglob("*.py"), *(ROOT / "python").rglob("*.so")]
    for path in sorted([*files, *Path(__file__).parent.glob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def counted(kind: Kind, block: int) -> Counts:
    """Counts of one block of trials."""
    counts: Counts = {}
    for number in range(block * kind.block, (block + 1) * kind.block):
        for figure, held in kind.trial(kind.seed(number)).items():
            found = counts.setdefault(figure, [0, 0, 0, 0])
            found[2 if held is None else 0 if held else 1] += 1
            found[3] += int(held == OPEN)
    return counts


Block = tuple[str, int, str]
"""Name of a kind, number of the block, and sources that it is to be measured with."""
_T = TypeVar("_T")


def _work(block: Block) -> Counts:
    name, number, wanted = block
    if sources() != wanted:
        raise InputError("a worker has another interval_coverage or thinktime than this; give all the same")
    return counted(all_kinds()[name], number)


def until(stop: float, items: Iterable[_T]) -> Iterator[_T]:
    """Items up to a time (monotonic)."""
    for item in items:
        if time.monotonic() > stop:
            return
        yield item


def pool_of(on: str | None, processes: int) -> Pool:
    """Processes of this machine, or the cluster at an address."""
    if on is None:
        return Processes(processes)
    from thinktime.tasks.cluster import Cluster

    return Cluster(on, said=lambda text: print(text, file=sys.stderr, flush=True))


class Results:
    """Counts by kind and block, in files."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self._folder, self.fingerprint = folder, fingerprint
        folder.mkdir(parents=True, exist_ok=True)

    def blocks(self, kind: Kind) -> dict[int, Counts]:
        """Blocks of a kind that the present sources have measured."""
        path = self._folder / f"{kind.name}.json"
        found = json.loads(path.read_text()) if path.exists() else {}
        if found.get("sources") != self.fingerprint or found.get("block") != kind.block:
            return {}
        return {int(number): counts for number, counts in found["blocks"].items()}

    def keep(self, kind: Kind, number: int, counts: Counts) -> None:
        """Add one block."""
        blocks = self.blocks(kind) | {number: counts}
        path = self._folder / f"{kind.name}.json"
        # By rename: a run that is cut off leaves the file of before.
        draft = path.with_suffix(".new")
        kept = {"sources": self.fingerprint, "block": kind.block, "blocks": blocks}
        draft.write_text(json.dumps(kept))
        draft.rename(path)


def total(blocks: dict[int, Counts], most: int) -> Counts:
    """Sum of the first `most` blocks."""
    sums: Counts = {}
    for number in sorted(blocks)[:most]:
        for figure, counts in blocks[number].items():
            before = sums.get(figure, [0, 0, 0, 0])
            sums[figure] = [one + other for one, other in zip(before, counts, strict=True)]
    return sums


def row(kind: Kind, figure: str, counts: Sequence[int]) -> str:
    """Line of the table: covered, binomial standard error, trials without an interval, and the goal."""
    held, missed, absent, half = counts
    tried = held + missed
    if tried:
        share = held / tried
        error = 100 * math.sqrt(max(share * (1 - share), 1 / tried) / tried)
        covered = f"{100 * share:.1f} ± {error:.1f} %"
        # Outside the goal by more than two standard errors of the measurement.
        off = share + 2 * error / 100 < kind.least or share - 2 * error / 100 > kind.most
    else:
        covered, off = "none", False
    bare = f"{100 * absent / (tried + absent):.0f} %" if absent else "-"
    open_ = f"{100 * half / tried:.0f} %" if half else "-"
    goal = f"{100 * kind.least:.0f} to {100 * kind.most:.0f} %"
    mark = " **missed**" if off else ""
    cells = (kind.data, figure, tried + absent, covered + mark, open_, bare, goal, kind.note)
    return f"| {' | '.join(map(str, cells))} |"


def table(kinds: Sequence[Kind], found: dict[str, Counts]) -> str:
    """Tables in Markdown, one for each heading."""
    lines: list[str] = []
    for heading in dict.fromkeys(kind.interval for kind in kinds):
        lines += [
            f"### {heading}",
            "",
            "| data | figure | trials | covered | one end open | no interval | goal | |",
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        for kind in kinds:
            if kind.interval == heading:
                lines += [row(kind, figure, counts) for figure, counts in found.get(kind.name, {}).items()]
        lines.append("")
    return "\n".join(lines)


def write(page: Path, text: str) -> None:
    """Put the table between the marks of the page."""
    before, rest = page.read_text().split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{rest.split(END)[1]}")


def missing(kinds: Sequence[Kind], results: Results, trials: int | None) -> Iterator[tuple[str, int]]:
    """Blocks that have to be measured; the first of every kind before the second of any."""
    work = []
    for kind in kinds:
        wanted = -(-(trials or kind.trials) // kind.block)
        done = results.blocks(kind)
        work += [(number, kind.name) for number in range(wanted) if number not in done]
    for number, name in sorted(work, key=lambda item: item[0]):
        yield name, number


def main(arguments: Sequence[str]) -> int:
    """Status 0 when every block has been measured."""
    parser = argparse.ArgumentParser(prog="interval_coverage", description=__doc__.split("\n")[0])
    parser.add_argument("--kind", action="append", default=[], help="a kind, or the beginning of its name")
    parser.add_argument("--trials", type=int, help="trials of each kind, in place of its default")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop then; go on with the next run")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="by default, one per core")
    parser.add_argument("--on", metavar="ADDRESS", help="a Dask cluster: tcp://host:8786 of its scheduler")
    parser.add_argument("--write", action="store_true", help="write the table into the page")
    parser.add_argument("--list", action="store_true", help="list the kinds")
    given = parser.parse_args(arguments)
    every = all_kinds()
    chosen = [kind for name, kind in every.items() if not given.kind or name.startswith(tuple(given.kind))]
    if not chosen:
        parser.error(f"there is no kind {', '.join(given.kind)}; --list lists them")
    if given.list:
        print("\n".join(kind.name for kind in chosen))
        return 0
    results, stop = Results(RESULTS, sources()), time.monotonic() + 60 * given.minutes
    work = list(missing(chosen, results, given.trials))
    done: list[str] = []

    def keep(block: Block, counts: Counts) -> None:
        results.keep(every[block[0]], block[1], counts)
        done.append(block[0])

    blocks = ((name, number, results.fingerprint) for name, number in work)
    try:
        with pool_of(given.on, given.processes) as pool:
            pool.run(_work, until(stop, blocks), kept=keep)
    except (InputError, PoolError) as error:
        print(f"interval_coverage: {error}; what was measured is kept", file=sys.stderr)
        return 2
    found = {
        kind.name: total(results.blocks(kind), -(-(given.trials or kind.trials) // kind.block))
        for kind in chosen
    }
    text = table(chosen, found)
    print(text)
    left = len(work) - len(done)
    if left:
        print(f"{left} of {len(work)} blocks are left: run again")
    if given.write and not left and not given.kind:
        write(PAGE, text)
    return 1 if left else 0
