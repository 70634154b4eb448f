"""Jobs of Slurm's accounting, as sacct prints them for programs.

**Limitations.**
A job is an interaction: due when it was submitted, served from its start on, complete at its end. Steps are
left out, since their job has their CPU time; so is their memory. CPU time is null where the cluster does not
gather it, and for jobs that have not ended. What machines and users did outside of jobs is not there: there
are no samples. Times are whole seconds.
"""

from __future__ import annotations

from thinktime.sources.importers.importer import Head, Importer, Opened, Source

__all__ = ["NEEDED", "SacctImporter", "names_of"]

NEEDED = ("JobID", "Submit", "End")
"""Columns without which a job has no place in time."""


class SacctImporter(Importer):
    """Text of sacct."""

    name = "sacct"
    help = "the text of `sacct --allusers --parsable2 --format=JobID,User,Submit,Start,End` (Slurm)"
    takes = frozenset({"timezone"})

    def detect(self, head: Head, *, asked: bool) -> str | None:
        """``text`` if the first line has the names of sacct's columns."""
        del asked
        lines = head.lines(1)
        return "text" if lines and not head.folder and set(NEEDED) <= set(names_of(lines[0])) else None

    def open(self, source: Source) -> Opened:
        """Opened text."""
        from thinktime.sources.importers.sacct.text import opened

        return opened(source.path, source.given, source.problems)


def names_of(line: str) -> list[str]:
    """Names of the columns in a head line."""
    return line.strip().removeprefix("\ufeff").split("|")
