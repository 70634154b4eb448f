"""Text of vmstat (procps).

**Limitations.**
vmstat prints whole percents of all CPUs together, and not how many there are: ``--cpus`` says it. Its user
time includes nice time and its system time interrupts. Without ``-t`` it prints no time: ``--interval``
says how far apart the reports are. Swapping is converted into pages of 4096 bytes. Memory is taken as KiB:
what ``-S`` has changed is not in the text. The page cache of vmstat includes reclaimable kernel objects and
has a column of its own. Users, disks, interfaces, page faults and forks are null.
"""

from __future__ import annotations

from thinktime.sources.importers.importer import Head, Importer, Opened, Source

__all__ = ["VmstatImporter"]

FIRST_WORDS = ("r", "b", "swpd", "free")
"""Words at the beginning of every head line."""


class VmstatImporter(Importer):
    """Text of vmstat with a delay."""

    name = "vmstat"
    help = "the text of `vmstat -t 10` (procps); --cpus says how many CPUs the machine has"
    takes = frozenset({"cpus", "date", "interval", "timezone"})

    def detect(self, head: Head, *, asked: bool) -> str | None:
        """``text`` if one of the first lines is a head line of vmstat."""
        lines = head.lines(2000 if asked else 20)
        return "text" if any(tuple(line.split()[:4]) == FIRST_WORDS for line in lines) else None

    def open(self, source: Source) -> Opened:
        """Opened text."""
        from thinktime.sources.importers.vmstat.text import opened

        return opened(source.path, source.given, source.problems)
