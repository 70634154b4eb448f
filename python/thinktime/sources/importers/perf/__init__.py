"""Files of `perf sched record` and of perf record with the scheduler's tracepoints.

They become the events of a trace, as `thinktime record --trace-events` writes them: wake-ups, dispatches
with the wait for a CPU, switches with the length of the slice and its end. perf and the kernel that
recorded need not be here: where each field lies is read from the file.

**Limitations.**
perf knows no owners: users are null, and commands stand for them. It does not say for what a task slept, nor
whether an uninterruptible wait was one for a disk: waits have the reasons ``sleep``, ``uninterruptible``
and ``stopped`` alone. Later versions of `perf sched` record sched_waking in place of sched_wakeup: the wait
for a CPU then begins when somebody starts to wake the task, some microseconds earlier. Times are exact among
themselves; the wall clock is known only of records with a clock of their own (``-k``), else from `--date`
or the last change of the file.
"""

from __future__ import annotations

from thinktime.sources.importers.importer import Head, Importer, Opened, Source

__all__ = ["PerfImporter"]


class PerfImporter(Importer):
    """Files of perf."""

    name = "perf"
    help = "the file of `perf sched record` (perf.data)"
    takes = frozenset({"date", "interval", "timezone"})

    def detect(self, head: Head, *, asked: bool) -> str | None:
        """``binary`` if it begins as files of perf do, of either byte order."""
        del asked
        begins = head.data[:8] in (b"PERFILE2", b"2ELIFREP", b"PERFFILE")
        return "binary" if begins and not head.folder else None

    def open(self, source: Source) -> Opened:
        """Opened file.

        Raises
        ------
        InputError
            It has no switches of tasks, or is of a form that is not read.
        """
        from thinktime.sources.importers.perf.rows import opened

        return opened(source.path, source.given, source.problems)
