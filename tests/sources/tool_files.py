"""Files that other tools wrote, and readings of them that share no code with the importers."""

import re
from pathlib import Path

import polars as pl

from thinktime.log import Log
from thinktime.sources.importers import Given, import_file

TOOLS = Path(__file__).parents[1] / "fixtures" / "tools"
GIVEN = {
    "vmstat-t.txt": Given(cpus=2),
    "vmstat-w.txt": Given(cpus=2, interval=1.0),
    "vmstat-a-m.txt": Given(cpus=2),
    "vmstat-n.txt": Given(cpus=2, interval=1.0),
    "iostat-x-t.txt": Given(),
    "iostat-iso.txt": Given(),
    "iostat-d.txt": Given(interval=1.0),
    "iostat-m.txt": Given(),
    "pidstat-h.txt": Given(),
    "pidstat-blocks.txt": Given(),
    "pidstat-epoch.txt": Given(),
    "pidstat-threads.txt": Given(),
    "node-process.prom": Given(),
    "node-unmarked.prom": Given(),
}
"""What must be said about each file."""


def imported(path, folder, given=None, **options):
    """Summary and log of an import; the log has no defect."""
    path = TOOLS / path if isinstance(path, str) else path
    done = import_file(path, folder / "log", given=given or GIVEN.get(path.name), **options)
    log = Log.open(folder / "log")
    assert log.check() == []
    return done, log


def column(log, name, table="samples"):
    return log.table(table).select(name).collect()[name].to_list()


def total(log, name, table="samples"):
    return log.table(table).select(pl.col(name).sum()).collect().item()


def kinds(done):
    return {kind for kind, _, _ in done.incidents}


def proc(name, pattern):
    """Growth, from before the tool to after it, of the numbers in the line of /proc that fits `pattern`."""
    before, after = (
        sum(map(int, re.search(pattern, (TOOLS / f"{name}.{end}").read_text(), re.MULTILINE).groups()))
        for end in ("before", "after")
    )
    return after - before
