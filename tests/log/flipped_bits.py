"""Every single flipped bit of a part of each table: found, or without any effect on the rows.

Run by `make fuzz`. Each bit of a part, of the manifest and of the ledger is flipped in turn, and
`Log.integrity()` must report it. The same parts in logs without a ledger, as versions before 3 are, show
the use of the ledger: there `Log.check()` reports a flip, or the rows are the same, or they differ
unnoticed. Nothing but a LogError may be raised. Journals have their own test in crates/log.
"""

import json
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import polars as pl
from polars import selectors

from thinktime._native import NativeLog, NativeLogError, vocabulary
from thinktime.log import LogWriter

ROWS = 3
VALUES = {"u64": 3, "i64": -3, "f64": 0.5, "bool": True, "text": "a", "time": 1_700_000_000_000_000}
TYPES = {"u64": pl.UInt64, "i64": pl.Int64, "f64": pl.Float64, "bool": pl.Boolean, "text": pl.String}
FILES = ("*/part-*.parquet", "manifest.json", "ledger-*.jsonl")


def column(kind: str) -> pl.Series:
    """Some values of the type `kind`, the last one null."""
    values = [VALUES[kind]] * (ROWS - 1) + [None]
    if kind == "time":
        return pl.Series(values, dtype=pl.Int64).cast(pl.Datetime("us", "UTC"))
    return pl.Series(values, dtype=TYPES[kind])


def write(folder: Path, table: str) -> None:
    """Write a log with one part of `table`."""
    columns = next(schema["columns"] for schema in vocabulary() if schema["name"] == table)
    with LogWriter.open(folder, source="test") as writer:
        writer.write(table, pl.DataFrame({item["name"]: column(item["type"]) for item in columns}))


def without_ledger(folder: Path) -> None:
    """Make the log one of version 2."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    for key in ("ledger", "crc32"):
        del manifest[key]
    path.write_text(json.dumps(manifest | {"schema_version": 2}))


def content(log: NativeLog, table: str) -> object:
    """The rows of a table, or the error that reading them is."""
    try:
        # As numbers: a damaged time may lie outside of every calendar.
        return pl.DataFrame(log.read(table)).with_columns(selectors.temporal().to_physical()).rows()
    except (NativeLogError, pl.exceptions.PolarsError):
        return "error"


def outcome(folder: Path, table: str, sound: object, has_ledger: bool, accepted: int) -> str:
    """What became of a flip that is in the file now."""
    try:
        log = NativeLog(folder)
        defects = log.integrity() if has_ledger else log.check()
    except NativeLogError:
        return "refused"
    if len(defects) > accepted:
        return "found"
    return "harmless" if content(log, table) == sound else "not found"


def flip(table: str, file: str, has_ledger: bool) -> Counter[str]:
    """Outcomes of all flips of one file of a log of `table`."""
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as holder:
        folder = Path(holder) / "log"
        write(folder, table)
        if not has_ledger:
            without_ledger(folder)
        (path,) = folder.glob(file)
        log = NativeLog(folder)
        # A sample without a positive length is an error of the rows; all others must come from the flip.
        accepted = len(log.integrity() if has_ledger else log.check())
        sound = content(log, table)
        data = bytearray(path.read_bytes())
        for bit in range(8 * len(data)):
            data[bit // 8] ^= 1 << bit % 8
            path.write_bytes(data)
            outcomes[outcome(folder, table, sound, has_ledger, accepted)] += 1
            data[bit // 8] ^= 1 << bit % 8
    return outcomes


def main() -> int:
    """Exit status: 1 if a flip of a log with a ledger is neither found nor harmless."""
    tables = [schema["name"] for schema in vocabulary()]
    # Manifest and ledger are alike in all of them: those of the shortest are enough.
    cases = [(table, FILES[0], True) for table in tables] + [("events", file, True) for file in FILES[1:]]
    cases += [(table, FILES[0], False) for table in tables]
    failed = False
    with ProcessPoolExecutor() as pool:
        for case, counts in zip(cases, pool.map(flip, *zip(*cases, strict=True)), strict=True):
            table, file, has_ledger = case
            text = ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))
            ledger = "" if has_ledger else " of a log without a ledger"
            print(f"bits of {table}: {file}{ledger}: {counts.total():,}: {text}", flush=True)
            failed |= has_ledger and counts["not found"] > 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
