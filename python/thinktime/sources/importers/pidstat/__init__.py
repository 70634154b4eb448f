"""Text of pidstat (sysstat).

**Limitations.**
pidstat prints the tasks that did something, sums them nowhere, and misses those that ended before its next
report: CPU time of users is a lower bound, and the machine's is null, as are memory (only of tasks that are
shown) and the number of processes. Its waits for a CPU (``%wait``) are those of the first thread of each
process: too short where there are several. Rates and shares are rounded to 0.01. With ``-U`` it prints names
instead of numbers of users. Rows of threads (``-t``) are left out: their process has them.
"""

from __future__ import annotations

from thinktime.sources.importers.importer import Head, Importer, Opened, Source

__all__ = ["PidstatImporter"]


class PidstatImporter(Importer):
    """Text of pidstat with an interval."""

    name = "pidstat"
    help = "the text of `pidstat -u -r -d -h 10` (sysstat)"
    takes = frozenset({"date", "interval", "timezone"})

    def detect(self, head: Head, *, asked: bool) -> str | None:
        """``text`` if one of the first lines is a head line of pidstat."""
        lines = head.lines(2000 if asked else 40)
        if not asked and not (lines and lines[0].startswith("Linux ")):
            return None
        heads = (line.split() for line in lines)
        return "text" if any(_is_head(words) for words in heads) else None

    def open(self, source: Source) -> Opened:
        """Opened text."""
        from thinktime.sources.importers.pidstat.text import opened

        return opened(source.path, source.given, source.problems)


def _is_head(words: list[str]) -> bool:
    return words[-1:] == ["Command"] and ("PID" in words or "TGID" in words)
