"""Intervals from the rows of a CSV or Parquet file, by a mapping."""

from __future__ import annotations

import csv
import datetime
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from thinktime.errors import InputError, offered
from thinktime.sources.importers.importer import Opened
from thinktime.sources.importers.interval import COUNT_MAX, Interval, Row
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.reports import EPOCH, lines
from thinktime.sources.importers.table.mapping import EPOCHS, LABELS, Place, TableMapping

BATCH = 4096
"""Rows of a table without intervals, and of a Parquet file, that are read at once."""
ROWS_PER_BYTE = 1000
ROWS_FREE = 1_000_000
"""Rows of a Parquet file for each of its bytes, and in any file: more are damage, or made to fill memory."""
KEYS_MAX = 200_000
"""Most devices, users, groups or commands whose totals are remembered."""
TEXT_MAX = 400
NUMBER_MAX = 40
GONE = ("", "-", "null", "none", "nan", "na", "n/a", "unknown")
"""Words for a value that is not there, in lower case."""
TIMES_US = range(7_258_118_400_000_000)
"""Times up to the year 2200."""
LENGTH_MAX_US = 10 * 366 * 86_400 * 1_000_000


def opened(path: Path, form: str, mapping: TableMapping, problems: Problems) -> Opened:
    """Opened table."""
    reader = _Rows(path=path, mapping=mapping, problems=problems)
    records = _parquet(path, mapping) if form == "parquet" else _csv(path, mapping, problems)
    intervals = reader.intervals(records) if mapping.has_intervals else reader.batches(records)
    return Opened(
        intervals=intervals,
        machine=dict(mapping.machine),
        source=mapping.source,
        columns={mapping.table: mapping.own} if mapping.own else {},
    )


Record = tuple[str, Mapping[str, object]]
"""Place of a row, for messages, and its values by column of the file."""


def _wanted(mapping: TableMapping) -> list[str]:
    names = [place.column for place in mapping.places]
    return list(dict.fromkeys([*names, mapping.times.column] if mapping.has_intervals else names))


def _check(path: Path, mapping: TableMapping, has: list[str]) -> None:
    for name in _wanted(mapping):
        if name not in has:
            raise InputError(f"{path}: has no column {name!r}, which the mapping names; {offered(name, has)}")


def _csv(path: Path, mapping: TableMapping, problems: Problems) -> Iterator[Record]:
    numbered = lines(path, problems)
    head = next(((number, line) for number, line in numbered if line.strip()), None)
    if head is None:
        raise InputError(f"{path}: has no line; its first one must have the names of its columns")
    first = head[1].removeprefix("\ufeff")
    delimiter = mapping.delimiter or max(
        ",;\t|", key=lambda sign: len(set(_wanted(mapping)) & set(_split(first, sign) or ()))
    )
    if len(delimiter) != 1:
        raise InputError(f"{path}: delimiter = {delimiter!r} in the mapping must be one character")
    names = _split(first, delimiter) or []
    _check(path, mapping, names)
    places = {name: names.index(name) for name in _wanted(mapping)}
    for number, line in numbered:
        if not line.strip():
            continue
        cells = _split(line, delimiter)
        if cells is None or len(cells) != len(names):
            problems.add(
                "damaged_record",
                f"line {number}: has {len(cells or ())} cells, and the first line names {len(names)} "
                f"columns; left out",
            )
            continue
        yield f"line {number}", {name: cells[at] for name, at in places.items()}


def _split(line: str, delimiter: str) -> list[str] | None:
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)]
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return None


def _parquet(path: Path, mapping: TableMapping) -> Iterator[Record]:
    import polars as pl
    import polars.exceptions

    try:
        scan = pl.scan_parquet(path, glob=False)
        _check(path, mapping, scan.collect_schema().names())
        size = scan.select(pl.len()).collect().item()
        if size > ROWS_FREE + ROWS_PER_BYTE * path.stat().st_size:
            raise InputError(
                f"{path}: says that it has {size} rows, more than its length allows; it is damaged"
            )
        number = 0
        batches = scan.select(_wanted(mapping)).collect_batches(chunk_size=BATCH, maintain_order=True)
        for frame in batches:
            for row in frame.iter_rows(named=True):
                number += 1
                yield f"row {number}", row
    except InputError:
        raise
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
        words = str(error).strip().partition("\n")[0][:200]
        raise InputError(f"{path}: cannot be read as Parquet: {words}; write the file anew") from None


@dataclass(slots=True, kw_only=True)
class _Rows:
    path: Path
    mapping: TableMapping
    problems: Problems
    totals: dict[tuple[object, ...], dict[str, float]] = field(default_factory=dict)
    """Last readings of totals that grow, by the labels of the row."""

    def intervals(self, records: Iterator[Record]) -> Iterator[Interval]:
        """Intervals: all rows of one time are one."""
        if self.mapping.times.length_s is not None:
            yield from self._of_one_length(records, round(self.mapping.times.length_s * 1e6))
            return
        before: tuple[int, list[Record]] | None = None
        for now, rows in self._groups(records):
            if before is None or not self._follows(before[0], now, rows[0][0]):
                self.totals.clear()
                self._first(rows)
            elif self.mapping.times.marks == "start":
                yield from self._interval(before[0], now - before[0], before[1])
            else:
                yield from self._interval(before[0], now - before[0], rows)
            before = (now, rows)

    def _of_one_length(self, records: Iterator[Record], length_us: int) -> Iterator[Interval]:
        before: int | None = None
        for now, rows in self._groups(records):
            if before is not None and now < before:
                self._follows(before, now, rows[0][0])
            elif before is not None and now - before < length_us - 1000:
                self.problems.add(
                    "interval_dropped", f"{rows[0][0]}: begins before the interval before it ends; left out"
                )
                continue
            else:
                start_us = now if self.mapping.times.marks == "start" else now - length_us
                yield from self._interval(start_us, length_us, rows)
            before = now

    def _follows(self, before: int, now: int, place: str) -> bool:
        if now < before:
            back_s = (before - now) / 1e6
            self.problems.add(
                "clock_step", f"{place}: the time goes back by {back_s:.0f} s; interval dropped"
            )
            return False
        if now - before > LENGTH_MAX_US:
            self.problems.add("interval_dropped", f"{place}: comes more than ten years after the one before")
            return False
        return True

    def _first(self, rows: list[Record]) -> None:
        """Totals of the first time, which has no interval."""
        for place, record in rows:
            self._row(place, record, None)
        if self.mapping.times.marks == "end" and not any(
            item.holds == "counter" for item in self.mapping.places
        ):
            self.problems.add(
                "interval_dropped",
                f"{rows[0][0]}: its length is not known; length in [time] of the mapping says it",
            )

    def _groups(self, records: Iterator[Record]) -> Iterator[tuple[int, list[Record]]]:
        """Rows by time."""
        at: int | None = None
        rows: list[Record] = []
        for place, record in records:
            time_us = self._time(record[self.mapping.times.column], place, self.mapping.times.column)
            if time_us is None:
                continue
            if at is not None and time_us != at:
                yield at, rows
                rows = []
            at = time_us
            if len(rows) < KEYS_MAX:
                rows.append((place, record))
            else:
                self.problems.add(
                    "damaged_record", f"{place}: more than {KEYS_MAX} rows of one time; left out"
                )
        if at is not None:
            yield at, rows

    def _interval(self, start_us: int, length_us: int, rows: list[Record]) -> Iterator[Interval]:
        length_s = length_us / 1e6
        table = self.mapping.table
        made = [row for place, record in rows if (row := self._row(place, record, length_s)) is not None]
        if table == "samples":
            if len(made) > 1:
                self.problems.add(
                    "duplicate_record", f"{rows[1][0]}: there is a row of the same time; left out"
                )
            for row in made[:1]:
                yield Interval(start_us=start_us, length_s=length_s, samples=row)
            return
        labels = LABELS[table]
        unique = {tuple(row.get(name) for name in labels): row for row in reversed(made)}
        if len(unique) < len(made):
            self.problems.add(
                "duplicate_record", f"{rows[0][0]}: rows of the same time and {labels[0]}; the first is kept"
            )
        samples: Row = {}
        if table == "users" and any(place.name == "user_s" for place in self.mapping.places):
            samples["active_users"] = sum((row["user_s"] or 0.0) > 0.0 for row in unique.values())
        yield Interval(
            start_us=start_us,
            length_s=length_s,
            samples=samples,
            tables={table: list(reversed(unique.values()))},
        )

    def _row(self, place: str, record: Mapping[str, object], length_s: float | None) -> Row | None:
        """Row of the log; None if it does not say what it is about."""
        row: Row = {}
        for item in self.mapping.places:
            if item.holds == "text" or item.name == "cpu":
                row[item.name] = self._text(record[item.column], item, place)
        if any(row.get(name) is None for name in LABELS.get(self.mapping.table, ())):
            self.problems.add("damaged_record", f"{place}: does not say what it is about; left out")
            return None
        key = tuple(row.get(name) for name in LABELS.get(self.mapping.table, ()))
        for item in self.mapping.places:
            if item.name not in row:
                row[item.name] = self._amount(record[item.column], item, place, key, length_s)
        return row

    def _amount(
        self, cell: object, item: Place, place: str, key: tuple[object, ...], length_s: float | None
    ) -> float | int | None:
        value = self._number(cell, item, place)
        if item.holds == "counter":
            if key not in self.totals and len(self.totals) >= KEYS_MAX:
                self.problems.add(
                    "damaged_record", f"{place}: more than {KEYS_MAX} things are counted; the rest is null"
                )
                return None
            known = self.totals.setdefault(key, {})
            previous = known.pop(item.name, None)
            if value is not None:
                known[item.name] = value
            if previous is None or value is None or length_s is None:
                return None
            if value < previous:
                self.problems.add("counter_reset", f"{item.column} went back")
                return None
            value -= previous
        if value is None or length_s is None:
            return None
        return self._fitted(value * (length_s if item.holds == "rate" else 1.0), item, place)

    def _fitted(self, value: float, item: Place, place: str) -> float | int | None:
        """Value with its factor, as the type of the column demands."""
        value *= item.scale
        if not value <= (COUNT_MAX if item.type == "u64" else 1e100):
            self.problems.add("damaged_record", f"{place}: {item.column} is {value:g}; it is null")
            return None
        return round(value) if item.type in ("u64", "i64") else value

    def _number(self, cell: object, item: Place, place: str) -> float | None:
        """Number that is not negative."""
        if cell is None or (isinstance(cell, str) and cell.strip().lower() in GONE):
            return None
        if isinstance(cell, str):
            text = cell.strip()
            if self.mapping.decimal == ",":
                text = text.replace(".", "").replace(",", ".")
            try:
                value = float(text) if len(text) <= NUMBER_MAX and "_" not in text else math.nan
            except ValueError:
                value = math.nan
        elif isinstance(cell, (int, float)) and not isinstance(cell, bool):
            value = float(cell)
            if math.isnan(value):
                return None
        elif isinstance(cell, datetime.timedelta):
            value = cell.total_seconds()
        else:
            value = math.nan
        if not 0 <= value < math.inf:
            self.problems.add(
                "damaged_record",
                f"{place}: {item.column} is {str(cell)[:NUMBER_MAX]!r}, no number that is not negative; it "
                f"is null",
            )
            return None
        return value

    def _text(self, cell: object, item: Place, place: str) -> str | int | None:
        if cell is None or cell == "":
            return None
        text = str(cell)
        if item.type == "u64":
            if not (text.isascii() and text.isdecimal() and len(text) <= 6):
                self.problems.add(
                    "damaged_record", f"{place}: {item.column} is {text[:NUMBER_MAX]!r}, no number of a CPU"
                )
                return None
            return int(text)
        return text[:TEXT_MAX]

    def _time(self, cell: object, place: str, column: str) -> int | None:
        """Microseconds since 1970 UTC."""
        times = self.mapping.times
        found: datetime.datetime | None = None
        try:
            if isinstance(cell, datetime.datetime):
                found = cell
            elif times.format in EPOCHS:
                value = float(str(cell)) if len(str(cell)) <= NUMBER_MAX else math.nan
                us = round(value * EPOCHS[times.format])
                if us in TIMES_US:
                    return us
            elif times.format == "iso":
                text = str(cell)[:NUMBER_MAX].strip()
                found = datetime.datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
            else:
                found = datetime.datetime.strptime(str(cell)[:100].strip(), times.format)
            if found is not None:
                found = found if found.tzinfo else found.replace(tzinfo=times.zone)
                us = (found - EPOCH) // datetime.timedelta(microseconds=1)
                if us in TIMES_US:
                    return us
        except (ValueError, OverflowError):
            pass
        self.problems.add(
            "damaged_record",
            f"{place}: {column} is {str(cell)[:NUMBER_MAX]!r}, no time in the format {times.format}; left "
            f"out",
        )
        return None

    def batches(self, records: Iterator[Record]) -> Iterator[Interval]:
        """Rows of a table whose rows have times of their own, some at once."""
        rows: list[Row] = []
        for place, record in records:
            row = self._timed(place, record)
            if row is not None:
                rows.append(row)
            if len(rows) >= BATCH:
                yield self._batch(rows)
                rows = []
        if rows:
            yield self._batch(rows)

    def _batch(self, rows: list[Row]) -> Interval:
        first = "due" if self.mapping.table == "interactions" else "time"
        starts = [row[first] for row in rows]
        ends = [
            value for row in rows for name in (first, "completion") if (value := row.get(name)) is not None
        ]
        length_s = (max(ends) - min(starts)) / 1e6
        return Interval(
            start_us=min(starts), length_s=length_s, samples=None, tables={self.mapping.table: rows}
        )

    def _timed(self, place: str, record: Mapping[str, object]) -> Row | None:
        row: Row = {}
        for item in self.mapping.places:
            cell = record[item.column]
            if item.holds == "time":
                gone = cell is None or str(cell).strip().lower() in GONE
                row[item.name] = None if gone else self._time(cell, place, item.column)
            elif item.holds == "text" and item.type == "bool":
                row[item.name] = {"true": True, "1": True, "false": False, "0": False}.get(str(cell).lower())
            elif item.holds == "text":
                row[item.name] = self._text(cell, item, place)
            elif item.holds in ("amount", "gauge"):
                value = self._number(cell, item, place)
                row[item.name] = None if value is None else self._fitted(value, item, place)
        for item in self.mapping.places:
            if item.of:
                value, base = self._number(record[item.column], item, place), row.get(item.of)
                known = value is not None and base is not None and value * item.scale < LENGTH_MAX_US / 1e6
                sign = 1 if item.holds == "since" else -1
                row[item.name] = base + sign * round(value * item.scale * 1e6) if known else None  # type: ignore[operator]
        first = "due" if self.mapping.table == "interactions" else "time"
        order = [
            row[name]
            for name in ("due", "sent", "first_service", "first_output", "completion")
            if row.get(name)
        ]
        if row.get(first) is None or order != sorted(order):
            self.problems.add("damaged_record", f"{place}: has no time, or times that go back; left out")
            return None
        return row
