"""Parquet files of Rezolus, as its recorder writes them.

What each column is stands in metadata of its field (metric, labels, kind), by which it is read: the names of
columns differ by version.

**Limitations.**
Rezolus records the time for which a CPU is busy; the rest of each interval is taken to be idle, with what
waited for a disk and what a hypervisor took. System time includes interrupts, user time what runs at low
priority. Single disks, users and interactions are null. Network traffic includes loopback, which the columns
of the log do not, and is left out. Histograms of latency are not read. Of a file with the metrics of several
programs, those of Rezolus are read; a file of several machines is refused. The container ``.rez`` is not
read: record into a file ``.parquet``.
"""

from __future__ import annotations

from thinktime.sources.importers.importer import Head, Importer, Opened, Source

__all__ = ["RezolusImporter"]

MARK = b"sampling_interval_ms"
"""Key of the metadata that every version writes."""


class RezolusImporter(Importer):
    """Parquet of Rezolus."""

    name = "rezolus"
    help = "the Parquet file of `rezolus record -o rezolus.parquet`"

    def detect(self, head: Head, *, asked: bool) -> str | None:
        """``parquet`` if the footer of a Parquet file has what the recorder of Rezolus adds."""
        del asked
        if head.folder or not head.data.startswith(b"PAR1"):
            return None
        from thinktime.sources.importers.rezolus.fields import footer_of

        return "parquet" if MARK in footer_of(head.path) else None

    def open(self, source: Source) -> Opened:
        """Opened file.

        Raises
        ------
        InputError
            It cannot be read, is of several machines, or has nothing that a log needs.
        """
        from thinktime.sources.importers.rezolus.rows import opened

        return opened(source.path, source.problems)
