"""The mapping of a table: which column of the file is which column of the log."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinktime import toml
from thinktime.errors import InputError, offered
from thinktime.log import Column, Kind, Type, tables, vocabulary
from thinktime.quantity import parse_seconds
from thinktime.sources.importers.importer import zone_of
from thinktime.sources.importers.parts import WITHOUT_INTERVALS

HOLDS = ("amount", "rate", "counter", "gauge", "text", "time", "since", "until")
"""What a column of a file may hold."""
UNITS: dict[str, float] = {
    "B": 1,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "ticks": 0.01,
    "sectors": 512,
    "pages": 4096,
    "%": 0.01,
    "1": 1.0,
}
"""Factor to the unit of the log, by the unit of the file."""
OF_ALL_CPUS = "% of all CPUs"
EPOCHS = {"s": 1_000_000.0, "ms": 1000.0, "us": 1.0, "ns": 0.001}
"""Microseconds in the unit of times since 1970."""
LABELS = {
    "users": ("user",),
    "commands": ("user", "command"),
    "presence": ("user",),
    "groups": ("group",),
    "cpus": ("cpu",),
    "disks": ("device",),
    "interfaces": ("interface",),
}
"""Columns that name what a row is about, by table."""
OWN_UNIT_MAX = 40
SOURCE_MAX = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A column of the log, and where its values come from."""

    name: str
    column: str
    """Column of the file."""
    holds: str
    scale: float = 1.0
    of: str = ""
    """Column of the log from which a duration counts."""
    type: str = "f64"


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """How the times of a file are written."""

    column: str = ""
    format: str = "iso"
    zone: datetime.tzinfo = datetime.timezone.utc
    marks: str = "end"
    length_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMapping:
    """A whole mapping."""

    table: str
    source: str
    delimiter: str
    decimal: str
    times: Times
    machine: dict[str, Any]
    places: tuple[Place, ...]
    own: tuple[Column, ...] = field(default=())

    @property
    def has_intervals(self) -> bool:
        """Whether a row of the table belongs to an interval."""
        return self.table not in WITHOUT_INTERVALS


class _Reader:
    """A table of TOML whose keys are all asked for."""

    def __init__(self, path: Path, place: str, content: object) -> None:
        if not isinstance(content, dict):
            raise InputError(f"{path}, line {toml.line_of(path, place)}: [{place}] must be a table")
        self.path, self.place, self.content = path, place, content
        self.asked: list[str] = []

    def refuse(self, key: str, message: str) -> InputError:
        """Error about a key, with its line."""
        line = toml.line_of(self.path, key)
        item = f"{self.place}.{key}" if self.place else key
        return InputError(f"{self.path}, line {line}: {item}: {message}")

    def text(self, key: str, default: str | None = None) -> str:
        """Text under a key."""
        self.asked.append(key)
        value = self.content.get(key, default)
        if value is None:
            raise InputError(
                f"{self.path}, line {toml.line_of(self.path, self.place)}: {self.place or 'the mapping'} "
                f"has no {key}; "
                "`thinktime import --example-mapping` shows all keys"
            )
        if not isinstance(value, str) or (not value and key != "source"):
            raise self.refuse(key, f"{value!r} is no text")
        return value

    def number(self, key: str) -> float | None:
        """Positive number under a key; None if there is none."""
        self.asked.append(key)
        value = self.content.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e30:
            raise self.refuse(key, f"{value!r} is no positive number")
        return float(value)

    def choice(self, key: str, default: str, among: tuple[str, ...]) -> str:
        """One of several words under a key."""
        value = self.text(key, default)
        if value not in among:
            raise self.refuse(key, f"there is no {value}; {offered(value, among)}")
        return value

    def end(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self.content:
            if key not in self.asked:
                raise self.refuse(key, f"there is no such key; {offered(key, self.asked)}")


def read(path: Path) -> TableMapping:
    """Mapping in a file.

    Raises
    ------
    InputError
        The file cannot be read, or says something impossible; the message names line and key.
    """
    whole = _Reader(path, "", toml.read(path))
    known = tuple(item for item in tables() if item not in ("presence", "latencies"))
    table = whole.choice("table", "samples", known)
    source = whole.text("source", "table")
    if len(source) > SOURCE_MAX:
        raise whole.refuse("source", f"has more than {SOURCE_MAX} characters; give a short name")
    delimiter = whole.text("delimiter", ",") if "delimiter" in whole.content else ""
    decimal = whole.choice("decimal", ".", (".", ","))
    machine = _Reader(path, "machine", whole.content.get("machine", {}))
    cpus = machine.number("cpus")
    facts: dict[str, Any] = {} if cpus is None else {"cpus": int(cpus)}
    facts |= {"hostname": machine.text("hostname")} if "hostname" in machine.content else {}
    machine.asked.append("hostname")
    machine.end()
    times = _times(_Reader(path, "time", whole.content.get("time", {})), table)
    columns = _Reader(path, "columns", whole.content.get("columns", {}))
    schema = {column.name: column for column in vocabulary(table)}
    places, own = [], []
    for name in columns.content:
        place, added = _place(
            _Reader(path, f"columns.{name}", columns.content[name]), name, table, schema, cpus
        )
        places.append(place)
        own += [added] if added else []
    whole.asked += ["machine", "time", "columns"]
    whole.end()
    _complete(path, table, places, times)
    return TableMapping(
        table=table,
        source=source,
        delimiter=delimiter,
        decimal=decimal,
        times=times,
        machine=facts,
        places=tuple(places),
        own=tuple(own),
    )


def _times(reader: _Reader, table: str) -> Times:
    has_intervals = table not in WITHOUT_INTERVALS
    column = reader.text("column") if has_intervals else reader.text("column", "-")
    form = reader.text("format", "iso")
    if form not in ("iso", *EPOCHS) and "%" not in form:
        raise reader.refuse(
            "format", f"{form} is no format; give iso, {', '.join(EPOCHS)}, or one such as %d.%m.%Y %H:%M"
        )
    name = reader.text("timezone", "UTC")
    zone = zone_of(name)
    if zone is None:
        raise reader.refuse("timezone", f"there is no zone {name}; give one such as Europe/Berlin")
    marks = reader.choice("marks", "end", ("end", "start"))
    length_s = None
    if "length" in reader.content:
        length_s = parse_seconds(reader.text("length"), "time.length")
        if not 0 < length_s < 1e9:
            raise reader.refuse("length", "give a time above zero")
    reader.asked.append("length")
    reader.end()
    return Times(column=column, format=form, zone=zone, marks=marks, length_s=length_s)


def _place(
    reader: _Reader, name: str, table: str, schema: Mapping[str, Column], cpus: float | None
) -> tuple[Place, Column | None]:
    """Place of a column, and the column itself if the log does not know it."""
    known = schema.get(name)
    if name in ("start", "length_s"):
        raise reader.refuse("column", f"{name} comes from [time]; leave it out")
    own = reader.content.get("own", False)
    if known is None and own is not True:
        raise InputError(
            f"{reader.path}, line {toml.line_of(reader.path, name)}: columns.{name}: table {table} has no "
            f"such column; "
            f"{offered(name, schema)}; or say own = true, for a column of your own"
        )
    holds = reader.choice("is", _default(known), HOLDS)
    column = reader.text("column")
    scale = _scale(reader, cpus)
    added = None
    if known is None:
        added = _own(reader, name, holds)
    reader.asked += ["own", "own_unit", "role", "description", "of"]
    _check_kind(reader, known or added, holds, table)
    of = reader.text("of") if holds in ("since", "until") else ""
    reader.end()
    typed = known or added
    assert typed is not None
    return Place(name=name, column=column, holds=holds, scale=scale, of=of, type=typed.type), added


def _default(known: Column | None) -> str:
    if known is None:
        return "amount"
    return {"counter": "amount", "gauge": "gauge", "time": "time"}.get(known.kind, "text")


def _scale(reader: _Reader, cpus: float | None) -> float:
    scale, unit = reader.number("scale"), reader.text("unit", "1")
    if unit == OF_ALL_CPUS:
        if cpus is None:
            raise reader.refuse("unit", f"{OF_ALL_CPUS}: needs their number, as cpus = 4 under [machine]")
        return 0.01 * cpus * (scale or 1.0)
    if unit not in UNITS:
        raise reader.refuse("unit", f"there is no unit {unit}; {offered(unit, [*UNITS, OF_ALL_CPUS])}")
    return UNITS[unit] * (scale or 1.0)


def _own(reader: _Reader, name: str, holds: str) -> Column:
    if not name.replace("_", "a").isalnum() or not name.isascii() or len(name) > 80:
        raise reader.refuse("column", f"{name} is no name of a column; give letters, digits and _")
    unit = reader.text("own_unit", "") if "own_unit" in reader.content else ""
    role = (
        reader.choice("role", "request", ("request", "load", "throughput"))
        if "role" in reader.content
        else None
    )
    kind: Kind = "gauge" if holds == "gauge" else "label" if holds == "text" else "counter"
    words: Type = "text" if holds == "text" else "f64"
    description = reader.text("description", f"Column {reader.content.get('column')} of the imported file")
    return Column(
        name=name,
        type=words,
        unit=unit[:OWN_UNIT_MAX],
        kind=kind,
        description=description[:200],
        role=role,  # type: ignore[arg-type]
    )


def _check_kind(reader: _Reader, column: Column | None, holds: str, table: str) -> None:
    kind = column.kind if column else "counter"
    fits = {
        "counter": ("amount", "rate", "counter"),
        "gauge": ("gauge",),
        "label": ("text",),
        "time": ("time", "since", "until"),
    }[kind]
    if table in WITHOUT_INTERVALS and kind == "counter":
        fits = ("amount",)
    if holds not in fits:
        raise reader.refuse("is", f"a {kind} of {table} cannot hold a {holds}; give {' or '.join(fits)}")


def _complete(path: Path, table: str, places: list[Place], times: Times) -> None:
    """Refuse a mapping that lacks what every row needs."""
    names = {place.name for place in places}
    for label in LABELS.get(table, ()):
        if label not in names:
            raise InputError(
                f"{path}: columns.{label}: is needed, since rows of {table} are about one; name its column"
            )
    needed = {"interactions": "due", "events": "time"}.get(table)
    if needed and needed not in names:
        raise InputError(
            f"{path}: columns.{needed}: is needed, since every row of {table} has one; name its column"
        )
    if not names:
        raise InputError(f"{path}: [columns] names no column; `thinktime import --example-mapping` shows how")
    for place in places:
        if place.of and place.of not in {other.name for other in places if other.holds == "time"}:
            raise InputError(
                f"{path}: columns.{place.name}: of = {place.of!r} must be a column here that holds a time"
            )
    if times.marks == "start" and any(place.holds == "counter" for place in places):
        raise InputError(
            f'{path}: time.marks = "start" does not go with totals that grow (is = "counter"): the '
            f"increase belongs to "
            "the time before the reading"
        )
