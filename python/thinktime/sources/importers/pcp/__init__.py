"""Archives of Performance Co-Pilot, as pmlogger writes them.

Units and meaning (counter, reading) of each metric are those of the archive's own metadata. Versions 2 and 3
are read, all volumes, without PCP being installed.

**Limitations.**
An interval lies between two fetches that have the CPU time of the machine; metrics that are logged less often
are null. Users and commands are sums over ``proc`` or ``hotproc``: processes that ended between two fetches
are not in them, and waits for a CPU and for disks are null. There are no interactions. Disks and memory of
control groups are read, their block I/O is not. Event records, labels and help texts are passed over.
Compressed volumes have to be unpacked.
"""

from __future__ import annotations

from thinktime.sources.importers.importer import Head, Importer, Opened, Source

__all__ = ["MAGIC", "PcpImporter"]

MAGIC = b"\x50\x05\x26"
"""What a label begins with, after its length; the next byte is the version."""


class PcpImporter(Importer):
    """Archives of pmlogger."""

    name = "pcp"
    help = "an archive of Performance Co-Pilot: its .meta file, or any of its others"

    def detect(self, head: Head, *, asked: bool) -> str | None:
        """``archive`` if the file begins with the label of one."""
        del asked
        return "archive" if not head.folder and head.data[4:7] == MAGIC else None

    def open(self, source: Source) -> Opened:
        """Opened archive.

        Raises
        ------
        InputError
            A file of the archive is missing, or of a version that is not read.
        """
        from thinktime.sources.importers.pcp.rows import opened

        return opened(source.path, source.problems)
