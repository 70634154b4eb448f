"""Text of iostat (sysstat).

**Limitations.**
The first report counts since the boot and is left out, the first after each head line too. Rates are
rounded to 0.01, and so are the shares of CPU time. Without ``-x``, reads and writes of a disk are one
count, and the time that they took is not known. Without ``-t``, reports have no times: ``--interval`` says
how far apart they are. Memory, users, processes, interfaces, page faults and context switches are null.
Human-readable numbers (``-h``, ``--human``) are not read.
"""

from __future__ import annotations

from thinktime.sources.importers.importer import Head, Importer, Opened, Source

__all__ = ["IostatImporter"]


class IostatImporter(Importer):
    """Text of iostat with an interval."""

    name = "iostat"
    help = "the text of `iostat -t -x 10` (sysstat)"
    takes = frozenset({"date", "interval", "timezone"})

    def detect(self, head: Head, *, asked: bool) -> str | None:
        """``text`` if one of the first lines is a head line of iostat."""
        lines = head.lines(2000 if asked else 40)
        if not asked and not (lines and lines[0].startswith("Linux ")):
            return None
        return "text" if any(line.startswith(("avg-cpu:", "Device")) for line in lines) else None

    def open(self, source: Source) -> Opened:
        """Opened text."""
        from thinktime.sources.importers.iostat.text import opened

        return opened(source.path, source.given, source.problems)
