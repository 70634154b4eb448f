"""Any table of numbers over time: a CSV or Parquet file with a mapping in TOML.

The mapping says which column of the file is which column of the log, in which unit, and whether it holds
amounts, rates, totals that grow, or readings. One mapping fills one table of the log.

**Limitations.**
Only what the mapping names is read. Rows must stand in order of time, but for tables whose rows have times
of their own (interactions, events). A cell of a CSV file has no line break in it. One group of rows of a
Parquet file must fit into memory.
"""

from __future__ import annotations

from thinktime.errors import InputError
from thinktime.sources.importers.importer import Head, Importer, Opened, Source

__all__ = ["EXAMPLE", "TableImporter"]

EXAMPLE = """\
# What the columns of a table are. Save it, change it, and give it with --mapping FILE.

table = "samples"       # of the log: samples, users, commands, groups, cpus, disks, interfaces, interactions
source = "collectd"     # name of the tool, for reports
# delimiter = ";"       # of a CSV file; by default found in its first line
# decimal = ","         # decimal sign of a CSV file

[time]
column = "time"
format = "iso"          # iso, s, ms, us or ns since 1970, or as in "%d.%m.%Y %H:%M:%S"
timezone = "UTC"        # of times that have none
marks = "end"           # the time is the end of the row's interval, or its start
# length = "10s"        # of every interval; by default the time between two rows

[machine]
cpus = 4                # needed for units of "% of all CPUs"
hostname = "web1"

# Name in the log = column of the file, what it holds, and its unit.
#   is:   amount (in the interval), rate (per second), counter (a total that grows), gauge (a reading), text;
#         for interactions and events: time, since (time after the column that `of` names), until (before it)
#   unit: B kB KiB MB MiB GB GiB, ns us ms s min h, ticks (10 ms), sectors (512 B), pages (4096 B),
#         % (of one CPU, disk or interval), "% of all CPUs"; or scale = 0.001
[columns]
user_s = { column = "cpu user", is = "rate", unit = "% of all CPUs" }
system_s = { column = "cpu system", is = "rate", unit = "% of all CPUs" }
idle_s = { column = "cpu idle", is = "rate", unit = "% of all CPUs" }
context_switches = { column = "ctxt", is = "counter" }
forks = { column = "forks", is = "counter" }
net_bytes_in = { column = "rx", is = "rate", unit = "kB" }
memory_free_bytes = { column = "free", is = "gauge", unit = "MiB" }
# A name that `thinktime` does not know is a column of your own:
requests = { column = "requests", is = "counter", own = true, own_unit = "request", role = "request" }
"""
"""Mapping with every key, as `thinktime import --example-mapping` prints it."""
NEEDS = (
    "the mapping of its columns is needed: `thinktime import --example-mapping > map.toml` prints one to "
    "change, then --mapping map.toml"
)


class TableImporter(Importer):
    """CSV or Parquet with a mapping."""

    name = "table"
    help = "a CSV or Parquet file with a mapping in TOML (--mapping)"
    takes = frozenset({"mapping"})

    def detect(self, head: Head, *, asked: bool) -> str | None:
        """``parquet`` or ``csv``; unasked, a text is one if its first lines have as many delimiters."""
        if head.folder:
            return None
        if head.data.startswith(b"PAR1"):
            return "parquet"
        if asked:
            return "csv"
        lines = [line for line in head.lines(4)[:-1] if line.strip()]
        for delimiter in (",", ";", "\t"):
            counts = {line.count(delimiter) for line in lines}
            if len(lines) > 1 and len(counts) == 1 and counts != {0}:
                return "csv"
        return None

    def open(self, source: Source) -> Opened:
        """Opened table."""
        if source.given.mapping is None:
            raise InputError(f"{source.path}: is a table ({source.form}), and {NEEDS}")
        from thinktime.sources.importers.table.mapping import read
        from thinktime.sources.importers.table.rows import opened

        return opened(source.path, source.form, read(source.given.mapping), source.problems)
