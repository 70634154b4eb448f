"""Counters and figures of each drive or block device."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.disks import formulas
from thinktime.analyses.disks.formulas import Array, Formula, Piece, Reading
from thinktime.analyses.disks.intervals import Fact, Intervals
from thinktime.analyses.disks.result import Drive, Maker
from thinktime.log import facts, observations
from thinktime.log.alongside import Matched, alongside, can_follow
from thinktime.stats.estimate import Estimate
from thinktime.stats.series.looks import Looks

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log
    from thinktime.log.facts import Facts

DRIVE_COLUMN = re.compile(r"drive(\d+)_(requests|bytes|seeks|access_s|transfer_s|busy_s)")
"""Columns of the samples that belong to one drive."""
ALL_DISKS = "all disks"
"""Name of the device that stands for all disks where the log has only their sums."""
TOTALS = {
    "reads": "disk_reads",
    "writes": "disk_writes",
    "read_bytes": "disk_read_bytes",
    "write_bytes": "disk_write_bytes",
    "busy_s": "disk_busy_s",
}
"""Columns of the samples that add all disks up."""
TABLE = (
    "reads",
    "writes",
    "operations",
    "read_bytes",
    "write_bytes",
    "read_wait_s",
    "write_wait_s",
    "busy_s",
    "queue_s",
    "in_progress",
)
BUSY_SLACK = 0.01
BUSY_SLACK_S = 0.02
"""Excess of busy time over the interval that is no error: a kernel rounds busy time to its clock."""


TIMES = ("requests", "bytes", "seeks", "access_s", "transfer_s")
"""Counters that sources with drives of their own have besides those of `TABLE`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """Counters of one drive, interval by interval; nan is not measured."""

    name: str
    number: int | None
    """Of a drive with columns of its own in the samples."""
    counters: Mapping[str, Formula]
    facts: Mapping[str, Fact]
    overfull: int
    """Intervals with more busy time than they are long; it is left out."""

    @property
    def did_anything(self) -> bool:
        """True if any counter is above zero anywhere."""
        return any(fact.total > 0 for fact in self.facts.values())

    def get(self, name: str) -> Formula:
        """Values of a counter; nan throughout where it is not counted."""
        return self.counters[name]

    def has(self, name: str) -> bool:
        """True if a counter was measured in any interval."""
        return self.facts[name].known > 0


def devices(log: Log, intervals: Intervals) -> tuple[Intervals, tuple[Device, ...]]:
    """Drives of the samples, else devices of table `disks`, else all disks as one device.

    Returns
    -------
    (intervals, devices)
        The intervals have the rows of the table beside them where it is used.
    """
    described = _described(log, intervals)
    numbers = sorted(
        {
            int(match[1])
            for name in intervals.facts
            if (match := DRIVE_COLUMN.fullmatch(name)) and intervals.has(name)
        }
    )
    if numbers:
        drives = dict(zip(numbers, _limited(intervals, [_drive(described, n) for n in numbers]), strict=True))
        # A system with columns for more drives than it has writes zeros for the others.
        there = len(described) or max(numbers) + 1
        return intervals, tuple(
            item for number, item in drives.items() if number < there or item.did_anything
        )
    if log.has("disks"):
        return _of_table(log, intervals)
    if any(intervals.has(name) for name in TOTALS.values()):
        counters = {name: formulas.column(of) for name, of in TOTALS.items()}
        found = _limited(intervals, [_Counted(ALL_DISKS, None, counters)], limited=False)
        return intervals, tuple(found)
    return intervals, ()


def _described(log: Log, intervals: Intervals) -> Sequence[Facts]:
    """Entries of the manifest on the drives of the first session that is used."""
    sessions = facts.sessions(log)
    number = intervals.sessions[0]
    return sessions[number].machine.tables("drives") if number < len(sessions) else ()


@dataclass(frozen=True, slots=True)
class _Counted:
    """Device with its counters as the log has them."""

    name: str
    number: int | None
    counters: Mapping[str, Formula]


def _drive(described: Sequence[Facts], number: int) -> _Counted:
    names = [item.text("name") for item in described]
    given = names[number] if number < len(names) else None
    name = given if given and names.count(given) == 1 else f"drive{number}"
    counted = (*TIMES, "busy_s")
    return _Counted(name, number, {item: formulas.column(f"drive{number}_{item}") for item in counted})


def _is_over(busy: Formula) -> Formula:
    """1 where a drive was busy for longer than the interval, 0 elsewhere."""
    return lambda piece: (busy(piece) > piece.length_s * (1 + BUSY_SLACK) + BUSY_SLACK_S).astype(np.float64)


def _within(busy: Formula) -> Formula:
    over = _is_over(busy)
    return lambda piece: np.where(over(piece) > 0.0, np.nan, busy(piece))


def _limited(intervals: Intervals, found: Sequence[_Counted], *, limited: bool = True) -> Iterator[Device]:
    """Devices whose busy time is left out where it is longer than the interval."""
    asked = []
    for item in found:
        counters = {name: item.counters.get(name, formulas.unknown) for name in (*TABLE, *TIMES)}
        over: dict[str, Formula] = {}
        if limited and "busy_s" in item.counters:
            over = {"over": _is_over(counters["busy_s"])}
            counters["busy_s"] = _within(counters["busy_s"])
        sums = {
            "operations of both kinds": formulas.total([counters["reads"], counters["writes"]]),
            "bytes of both kinds": formulas.total([counters["read_bytes"], counters["write_bytes"]]),
        }
        asked.append((item, counters, sums, intervals.known(counters | sums | over, of_devices=True)))
    for item, counters, sums, known in asked:
        facts_of = known()
        chosen = {name: name for name in counters}
        if not facts_of["requests"].known:
            # A source may count operations without distinguishing reads and writes.
            both = "operations of both kinds"
            chosen["requests"] = both if facts_of[both].known else "operations"
        if not facts_of["bytes"].known:
            chosen["bytes"] = "bytes of both kinds"
        all_of = counters | sums
        yield Device(
            name=item.name,
            number=item.number,
            counters={name: all_of[of] for name, of in chosen.items()},
            facts={name: facts_of[of] for name, of in chosen.items()},
            overfull=facts_of["over"].count if "over" in facts_of else 0,
        )


def _of_table(log: Log, intervals: Intervals) -> tuple[Intervals, tuple[Device, ...]]:
    """Devices of table `disks`: an interval without a row is one in which a device did nothing."""
    beside = _Beside(log, intervals)
    known = beside.found()
    looks = Looks(observations.held(lambda: beside.pieces(known)))
    intervals = replace(intervals, looks=looks)
    counted = [
        _Counted(device, None, {name: _spread(device, name) for name in names})
        for device, names in known.items()
    ]
    found = _limited(intervals, counted)
    return intervals, tuple(sorted(found, key=lambda item: (-item.facts["busy_s"].total, item.name)))


def _spread(device: str, name: str) -> Formula:
    """Values of a counter at their intervals, zero elsewhere."""

    def of(piece: Piece) -> Array:
        if device not in piece.devices:
            return np.zeros(len(piece))
        place, counters = piece.devices[device]
        result: Array = np.bincount(place, counters[name], minlength=len(piece)).astype(np.float64)
        return result

    return of


class _Beside:
    """Rows of table `disks` beside the intervals."""

    def __init__(self, log: Log, intervals: Intervals) -> None:
        present = {column.name for column in log.schema("disks")}
        self._log, self._intervals = log, intervals
        self._columns = [name for name in TABLE if name in present]
        self._in_order = can_follow(log, "disks", intervals.alone.pieces)

    def _select(self, part: pl.LazyFrame) -> pl.LazyFrame:
        import polars as pl

        return part.select(
            pl.col("start").dt.epoch("us"),
            pl.col("device").cast(pl.String),
            *(pl.col(name).cast(pl.Float64) for name in self._columns),
        ).filter(pl.col("device").is_not_null())

    def _rows(self) -> Iterator[tuple[Piece, Iterator[Matched]]]:
        pieces = self._intervals.alone.pieces
        return alongside(self._log, "disks", pieces, self._select, in_order=self._in_order)

    def found(self) -> dict[str, tuple[str, ...]]:
        """Devices with a row beside an interval, and the counters of each that have a value."""
        import polars as pl

        valued = [(pl.col(name).is_finite() & (pl.col(name) >= 0.0)).any() for name in self._columns]
        known: dict[str, set[str]] = {}
        for _, rows in self._rows():
            for frame, _ in rows:
                for device, *has in frame.group_by("device").agg(valued).iter_rows():
                    known.setdefault(device, set()).update(
                        name for name, one in zip(self._columns, has, strict=True) if one
                    )
        return {
            device: tuple(name for name in self._columns if name in known[device]) for device in sorted(known)
        }

    def pieces(self, known: Mapping[str, Sequence[str]]) -> Iterator[Piece]:
        """The intervals with their rows, by device."""
        for piece, rows in self._rows():
            parts: dict[str, list[tuple[NDArray[np.int64], pl.DataFrame]]] = {}
            for frame, place in rows:
                for (device,), own in _by_device(frame, place):
                    parts.setdefault(str(device), []).append((own["_place"].to_numpy(), own))
            yield replace(
                piece,
                devices={
                    device: (
                        np.concatenate([place for place, _ in found]),
                        {
                            name: _valid(np.concatenate([own[name].to_numpy() for _, own in found]))
                            for name in known[device]
                        },
                    )
                    for device, found in parts.items()
                },
            )


def _by_device(
    frame: pl.DataFrame, place: NDArray[np.int64]
) -> Iterable[tuple[tuple[object, ...], pl.DataFrame]]:
    import polars as pl

    numbered = frame.with_columns(pl.Series("_place", place))
    if len(frame) and (frame["device"] == frame["device"][0]).all():
        return [((frame["device"][0],), numbered)]
    return numbered.partition_by("device", as_dict=True, maintain_order=True).items()


def _valid(values: Array) -> Array:
    return np.where(np.isfinite(values) & (values >= 0.0), values, np.nan)


def makers(log: Log, intervals: Intervals) -> list[tuple[float | None, float | None]]:
    """Mean access time [s] and transfer time of a byte [s] by the maker, of each drive."""
    return [
        (_positive(item.number("mean_access_s")), _positive(item.number("transfer_s_per_byte")))
        for item in _described(log, intervals)
    ]


def _positive(value: float | None) -> float | None:
    return float(value) if value is not None and value > 0 else None


def drive(
    device: Device,
    intervals: Intervals,
    sampled: Reading | None,
    makers: list[tuple[float | None, float | None]],
) -> tuple[Callable[[], Drive], Reading]:
    """Figures of one device, and the reading of its utilisation for the periods.

    Parameters
    ----------
    device : Device
    intervals : Intervals
    sampled : Reading or None
        Ticks that found it busy.
    makers : list
        Figures of the maker, by number of the drive.
    """
    requests, busy = device.get("requests"), device.get("busy_s")
    count = device.facts["requests"].count

    def mean(amounts: Formula, unit: str) -> Callable[[], Estimate | None]:
        return intervals.ratio(Reading(amounts, requests, n=count), unit)

    exact = Reading(busy, formulas.length_s) if device.has("busy_s") else None
    size = mean(device.get("bytes"), "byte")
    utilisation = intervals.compared(sampled, exact)
    asked = {
        "requests": intervals.rate(requests, "request/s"),
        "amount": intervals.rate(device.get("bytes"), "byte/s"),
        "reads": intervals.rate(device.get("reads"), "operation/s"),
        "writes": intervals.rate(device.get("writes"), "operation/s"),
        "seeks": intervals.rate(device.get("seeks"), "seek/s"),
        "bytes_per_request": size,
        "access": mean(device.get("access_s"), "s"),
        "transfer": mean(device.get("transfer_s"), "s"),
        "service": mean(busy, "s"),
        "response": mean(formulas.total([device.get("read_wait_s"), device.get("write_wait_s")]), "s"),
    }

    def figures() -> Drive:
        return Drive(
            name=device.name,
            requests_total=_total(device.facts["requests"]),
            amount_total=_total(device.facts["bytes"]),
            utilisation=utilisation(),
            maker=_maker(device, makers, size()),
            **{name: estimate() for name, estimate in asked.items()},
        )

    return figures, exact or sampled or Reading(formulas.unknown, formulas.length_s)


def _total(fact: Fact) -> float | None:
    return fact.total if fact.known else None


def _maker(
    device: Device, makers: list[tuple[float | None, float | None]], size: Estimate | None
) -> Maker | None:
    if device.number is None or device.number >= len(makers):
        return None
    access_s, byte_s = makers[device.number]
    if access_s is None and byte_s is None:
        return None
    transfer_s = None if byte_s is None or size is None else byte_s * size.value
    return Maker(access_s=access_s, transfer_s=transfer_s)
