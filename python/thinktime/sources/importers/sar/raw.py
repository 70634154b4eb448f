"""Intervals from the raw text of ``sadf -r``: cumulative counters, two readings per line."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from thinktime.sources.importers.interval import Interval
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.sar.raw_blocks import Boot, Clock, Index, Moment, Record, index, records
from thinktime.sources.importers.sar.raw_rows import Rows

USER_HZ = 100
"""Ticks per second of /proc/stat on every Linux architecture except Alpha and IA-64."""
CLOCK_STEP_S = 1.5
"""Wall clock and uptime of a record may differ by the second to which sadc truncates the former."""
LENGTH_MIN_S = 0.1
"""Shortest interval: sar counts time in steps of 0.01 s, so that its rates are off by up to 10 %."""
WITNESSES = (
    ("tasks", "cswch/s"),
    ("paging", "fault/s"),
    ("cpu", "%idle"),
    ("cpu", "%usr"),
    ("interrupts", "all"),
)
"""Counters that show whether a record follows the one before: they seldom stand still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawText:
    """Reader of one raw text.

    Parameters
    ----------
    path : Path
        The text.
    problems : Problems
        Where damage, reboots, resets and the like are counted.
    hz : int
        Ticks per second of the recorded machine.
    long_bits : int
        Width of its ``unsigned long``.
    date : datetime.date or None
        Day of the first record, for a text that has only times of day.
    """

    path: Path
    problems: Problems
    hz: int = USER_HZ
    long_bits: int = 64
    date: datetime.date | None = None

    def index(self) -> Index:
        """Index of the text; counts missing information."""
        found = index(self.path, self.problems)
        if not found.has_headers:
            self.problems.add(
                "coarse_clock",
                "the text has no record headers: lengths are differences of whole seconds, and the first "
                "interval of every boot has none; use sadf -r -U -O debug",
            )
            if not found.has_date and self.date is None:
                self.problems.add(
                    "date_unknown",
                    "the text has times of day only, taken as of 1970-01-01; use sadf -r -U -O debug, or "
                    "--date",
                )
            if not found.is_utc:
                self.problems.add(
                    "timezone_unknown", "times of day without UTC are taken as UTC; leave out -t and -T"
                )
        return found

    def intervals(self, found: Index) -> Iterator[Interval]:
        """Intervals of all boots, in the order in which they were recorded."""
        clock: Clock | None = None
        if not found.has_headers:
            date = self.date or datetime.date(1970, 1, 1)
            midnight = datetime.datetime.combine(date, datetime.time(), datetime.timezone.utc)
            clock = Clock(int(midnight.timestamp()), 0)
        last: Moment | None = None
        for boot in found.boots:
            wall = _WallClock(self.problems)
            previous = boot.first
            if last is not None:
                self._count_restart(last, boot)
            before: dict[tuple[str, str, str], int] = {}
            for record in records(self.path, boot, clock, self.problems):
                readings = _witnessed(record)
                if _has_gap(before, readings):
                    self.problems.add(
                        "interval_dropped", f"records are missing before {_time(record.moment)}"
                    )
                elif (interval := self._interval(record, previous, wall)) is not None:
                    yield interval
                previous = record.moment
                before = {witness: current for witness, (_, current) in readings.items()}
            last = previous
            if clock is not None and previous is not None and not found.has_date:
                clock = Clock(previous.wall_s - previous.wall_s % 86_400, previous.wall_s % 86_400)

    def _interval(self, record: Record, previous: Moment | None, wall: _WallClock) -> Interval | None:
        now = record.moment
        if previous is None:
            self.problems.add("interval_dropped", "no record before it: its length is not known")
            return None
        length_s = _length_s(previous, now)
        if length_s <= 0:
            self._count_no_length(now, length_s)
            if length_s < 0:
                wall.anchor = None
            return None
        if length_s < LENGTH_MIN_S:
            self.problems.add(
                "interval_dropped", f"shorter than {LENGTH_MIN_S} s; sar counts the time in 0.01 s"
            )
            return None
        rows = Rows(record, self.problems, self.hz, self.long_bits)
        samples = rows.samples(length_s)
        if samples is None:
            return None
        disks, interfaces = rows.disks(samples), rows.interfaces(samples)
        return Interval(
            start_us=wall.at(previous),
            length_s=length_s,
            samples=samples,
            tables={"cpus": rows.cpus, "disks": disks, "interfaces": interfaces},
        )

    def _count_restart(self, last: Moment, boot: Boot) -> None:
        first = boot.first
        if boot.is_other_file:
            self.problems.add("interval_dropped", f"the text of another file begins after {_time(last)}")
        elif first is None or first.uptime_cs < last.uptime_cs or last.uptime_cs < 0:
            self.problems.add("reboot", f"RESTART record after {_time(last)}")
        else:
            self.problems.add(
                "interval_dropped",
                f"RESTART record after {_time(last)}, but the uptime went on: sadc was restarted",
            )

    def _count_no_length(self, now: Moment, length_s: float) -> None:
        if length_s == 0:
            self.problems.add("interval_dropped", "two records at the same time: an interval of length 0")
        elif now.uptime_cs >= 0:
            self.problems.add("reboot", f"the uptime went back at {_time(now)}")
        else:
            self.problems.add(
                "clock_step", f"the clock went back by {-length_s:.0f} s at {_time(now)}; interval dropped"
            )


def _witnessed(record: Record) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Both readings of the witnesses in the record, by activity, item and field."""
    pairs = {}
    for activity, name in WITNESSES:
        for _, readings in record.activities.get(activity, ())[:1]:
            pair = readings.numbers.get(name, ())
            if len(pair) == 2:
                pairs[activity, readings.item, name] = (pair[0], pair[1])
    return pairs


def _has_gap(
    before: dict[tuple[str, str, str], int], readings: dict[tuple[str, str, str], tuple[int, int]]
) -> bool:
    """True if no witness begins with the reading at which it ended: a record in between is missing."""
    common = [readings[witness][0] == before[witness] for witness in readings.keys() & before.keys()]
    return bool(common) and not any(common)


def _time(moment: Moment) -> str:
    return datetime.datetime.fromtimestamp(moment.wall_s, datetime.timezone.utc).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )


def _length_s(previous: Moment, now: Moment) -> float:
    if previous.uptime_cs >= 0 and now.uptime_cs >= 0:
        return (now.uptime_cs - previous.uptime_cs) / 100
    return float(now.wall_s - previous.wall_s)


class _WallClock:
    """Wall clock of a record, to the hundredth of a second where the uptime gives it.

    sadc truncates the time of day to seconds. The time of the first record of a boot is accepted; the others
    follow by uptime, so that one interval ends where the next begins, until wall clock and uptime disagree by
    more than the truncation: then the clock was set.
    """

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.anchor: Moment | None = None

    def at(self, moment: Moment) -> int:
        """Microseconds since 1970 UTC."""
        if moment.uptime_cs < 0:
            return moment.wall_s * 1_000_000
        anchor = self.anchor
        if anchor is None or moment.uptime_cs < anchor.uptime_cs:
            self.anchor = anchor = moment
        elapsed_s = (moment.uptime_cs - anchor.uptime_cs) / 100
        step_s = moment.wall_s - anchor.wall_s - elapsed_s
        if abs(step_s) >= CLOCK_STEP_S:
            self.problems.add(
                "clock_step", f"the wall clock was set by {step_s:+.0f} s before {_time(moment)}"
            )
            self.anchor, anchor = moment, moment
        return anchor.wall_s * 1_000_000 + (moment.uptime_cs - anchor.uptime_cs) * 10_000
