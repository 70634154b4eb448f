"""Logins: files of wtmp and utmp, and the database of wtmpdb.

The log has intervals of ten minutes, or of ``--interval``: the sessions at the end of each, the time for
which sessions were there, logins and logouts; and who was there, at which terminal, from which machine.

**Limitations.**
Logins say who was there, not what anybody used: CPU time, memory, disks and response times are null. Records
of wtmp are those of Linux on x86-64 (384 bytes) and on ARM64 (400 bytes), little endian. A session without a
logout lasts until the next login at its terminal, the shutdown or the end of the file. Where a boot follows
without a shutdown, nobody knows when the machine stopped: from the last record before the boot on, there are
no intervals. The log ends with the last record. A write-ahead log beside a database is not read.
"""

from __future__ import annotations

from thinktime.sources.importers.importer import Head, Importer, Opened, Source

__all__ = ["WtmpImporter"]

SQLITE_MAGIC = b"SQLite format 3\0"


class WtmpImporter(Importer):
    """Logins in records of wtmp and utmp, or in the database of wtmpdb."""

    name = "wtmp"
    help = "logins: a file of wtmp or utmp, or the database of wtmpdb"
    takes = frozenset({"interval"})

    def detect(self, head: Head, *, asked: bool) -> str | None:
        """``database`` or ``binary``; None if it is neither of wtmpdb nor of wtmp."""
        if head.folder:
            return None
        if head.data.startswith(SQLITE_MAGIC):
            return "database" if asked or b"CREATE TABLE wtmp" in head.data else None
        from thinktime.sources.importers.wtmp.records import layout_of

        return "binary" if layout_of(head.data, asked=asked) is not None else None

    def open(self, source: Source) -> Opened:
        """Opened file."""
        from thinktime.sources.importers.wtmp import database, records
        from thinktime.sources.importers.wtmp.sessions import opened

        read = database.events if source.form == "database" else records.events
        return opened(source, read(source))
