"""Texts of tools that print reports at intervals: their lines, head lines, and the times of their reports.

vmstat, iostat and pidstat print rates and shares since their report before. Most print no length: it is the
difference of two times, in whole seconds, or what the user says.
"""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinktime.errors import InputError
from thinktime.sources.importers.importer import Given
from thinktime.sources.importers.interval import COUNT_MAX
from thinktime.sources.importers.problems import Problems

LINE_BYTES_MAX = 1 << 16
"""Longest line that is read."""
NUMBER_CHARS_MAX = 30
DAY_S = 86_400
NAME_MAX = 255
"""Longest name of a disk, user or command that is kept."""
BANNER = re.compile(r"Linux (\S+) \((.{0,255}?)\)\s+(\S+)\s+(?:_(\S+)_\s+)?\((\d{1,6}) CPU\)")
"""Head line of sysstat: release, host, day, architecture, CPUs."""
YEARS = range(1970, 2200)
LENGTH_MAX_S = 10 * 366 * DAY_S
"""Longest interval: a longer one comes of a damaged time."""
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)

_NUMBER = re.compile(r"\d+(?:[.,]\d+)?", re.ASCII)
_EPOCH = re.compile(r"\d{9,11}", re.ASCII)
_TIME = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})(?:\s*([AaPp])\.?[Mm]\.?)?", re.ASCII)
_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_DAY = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{2}|\d{4})", re.ASCII)
_OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})$", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Time of a report: the local day and time of day, or the seconds since 1970."""

    day: datetime.date | None = None
    second: int = 0
    """Second of the day."""
    offset_s: int | None = None
    """Local time less UTC, where the text has it."""
    epoch_s: int | None = None


def lines(path: Path, problems: Problems) -> Iterator[tuple[int, str]]:
    """Lines of a text with their numbers; those that are too long are counted and left out."""
    with path.open("rb") as file:
        number = 0
        while True:
            line = file.readline(LINE_BYTES_MAX)
            if not line:
                return
            number += 1
            if len(line) == LINE_BYTES_MAX and not line.endswith(b"\n"):
                problems.add("damaged_record", f"line {number}: longer than {LINE_BYTES_MAX} bytes; left out")
                while line and not line.endswith(b"\n"):
                    line = file.readline(LINE_BYTES_MAX)
                continue
            yield number, line.decode("utf-8", "replace").rstrip("\r\n")


def machine_of(banner: re.Match[str]) -> dict[str, Any]:
    """Description of the machine in a head line of sysstat."""
    release, host, _, architecture, cpus = banner.groups()
    facts = {"system": "Linux", "kernel": release, "hostname": host, "architecture": architecture}
    return {name: text for name, text in facts.items() if text} | ({"cpus": int(cpus)} if int(cpus) else {})


def number(word: str) -> float | None:
    """Number that is not negative, with a point or a comma; None for anything else."""
    if len(word) > NUMBER_CHARS_MAX or not _NUMBER.fullmatch(word):
        return None
    return float(word.replace(",", "."))


def stamp(text: str, problems: Problems) -> Stamp | None:
    """Time of a report that is all of `text`, in any of the forms of the tools; None for other text."""
    text = text.strip()
    if _EPOCH.fullmatch(text):
        return Stamp(epoch_s=int(text))
    offset = _OFFSET.search(text)
    offset_s = None
    if offset is not None and ":" in text[: offset.start()]:
        sign, hours, minutes = offset.groups()
        offset_s = (1 if sign == "+" else -1) * (int(hours) * 3600 + int(minutes) * 60)
        text = text[: offset.start()]
    elif text.endswith("Z"):
        offset_s, text = 0, text[:-1]
    first, _, rest = text.replace("T", " ", 1).partition(" ")
    date = day(first, problems)
    second = _second(rest.strip() if date is not None else text)
    return None if second is None else Stamp(day=date, second=second, offset_s=offset_s)


def _second(text: str) -> int | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hour, minute, second = (int(part) for part in match.groups()[:3])
    if match[4] is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match[4] in "Pp" else 0)
    return hour * 3600 + minute * 60 + second if hour < 24 and minute < 60 and second <= 60 else None


def day(text: str, problems: Problems) -> datetime.date | None:
    """Day in one of the forms of the tools: 2026-11-21, 11/21/26, 21.11.2026; None for other text."""
    if match := _ISO.fullmatch(text):
        year, month, number = (int(part) for part in match.groups())
    elif match := _DAY.fullmatch(text):
        one, other, year = int(match[1]), int(match[3]), int(match[4])
        year += 2000 if year < 100 else 0
        # With slashes, the month comes first in the C locale and that of the US alone.
        month_first = match[2] == "/" and one <= 12
        month, number = (one, other) if month_first else (other, one)
        if match[2] == "/" and one <= 12 and other <= 12 and one != other:
            problems.once(
                "date_ambiguous",
                "days such as 11/05/26 are read as month/day/year; record with S_TIME_FORMAT=ISO if that "
                "is wrong",
            )
    else:
        return None
    try:
        return datetime.date(year, month, number) if year in YEARS else None
    except ValueError:
        return None


@dataclass(slots=True, kw_only=True)
class Times:
    """Starts and lengths of the intervals of one text.

    Parameters
    ----------
    path : Path
        The text, for messages.
    given : Given
        What the user says about the text.
    problems : Problems
        Where clock steps and the like are counted.
    zone_is_utc : bool
        Whether the text says that its times are UTC.
    """

    path: Path
    given: Given
    problems: Problems
    zone_is_utc: bool = False
    day: datetime.date | None = None
    """Day of times of day without one."""
    last_us: int | None = None
    """End of the interval before."""
    last_second: int | None = None
    latest_us: int | None = None
    """End of the last interval, whatever was lost since."""
    has_times: bool = False
    """Whether a report had a time."""
    why: str = "the first report has no time before it: its length is not known; --interval says it"
    """Reason why the next interval would have no length."""

    def restart(self) -> None:
        """What follows is not continuous with what was before; without times it is put behind it."""
        if self.has_times:
            self.last_us = None

    def lost(self) -> None:
        """A report is damaged: the next one has a rate, and not the time since which it holds."""
        if self.has_times and self.last_us is not None:
            self.last_us = None
            self.why = "the report before it is damaged: its length is not known"

    def begin(self, at: Stamp) -> None:
        """Take the time of a report that counts since the boot, or of a head line, as the one before."""
        self.has_times = True
        with contextlib.suppress(ValueError, OverflowError):
            self.last_us = self.end_us(at)
            self._compare(self.last_us)

    def _compare(self, now: int) -> None:
        """Count a clock that stands before the end of the last interval."""
        if self.latest_us is not None and now < self.latest_us:
            back_s = (self.latest_us - now) / 1e6
            self.problems.add(
                "clock_step", f"the time goes back by {back_s:.0f} s after a report that was left out"
            )
            self.latest_us = None

    def end_us(self, at: Stamp) -> int:
        """Time of a report, microseconds since 1970 UTC."""
        if at.epoch_s is not None:
            return at.epoch_s * 1_000_000
        date = at.day or self._day(at.second)
        local = datetime.datetime.combine(date, datetime.time()) + datetime.timedelta(seconds=at.second)
        if at.offset_s is not None:
            local -= datetime.timedelta(seconds=at.offset_s)
            zone: datetime.tzinfo = datetime.timezone.utc
        else:
            zone = self.given.timezone or datetime.timezone.utc
            if self.given.timezone is None and not self.zone_is_utc:
                self.problems.once(
                    "timezone_unknown",
                    "times without a zone are taken as UTC; --timezone Europe/Berlin says which",
                )
        moment = local.replace(tzinfo=zone)
        return (moment - EPOCH) // datetime.timedelta(microseconds=1)

    def _day(self, second: int) -> datetime.date:
        """Day of a time of day: the next one when the time goes back by more than half a day."""
        if self.day is None:
            self.day = _plain(self.given.date)
            if self.day is None:
                self.day = EPOCH.date()
                self.problems.once(
                    "date_unknown",
                    "the text has times of day only, taken as of 1970-01-01; --date says the day",
                )
        if self.last_second is not None and second < self.last_second - DAY_S // 2:
            self.day += datetime.timedelta(days=1)
        self.last_second = second
        return self.day

    def interval(self, at: Stamp | None, number: int) -> tuple[int, float] | None:
        """Start [us] and length [s] of the interval that ends with the report in line `number`, if known."""
        if at is None:
            if self.has_times:
                self.problems.add("damaged_record", f"line {number}: the report has no time; left out")
                self.lost()
                return None
            return self._stepped(number)
        self.has_times = True
        try:
            now = self.end_us(at)
        except (ValueError, OverflowError):
            self.problems.add("damaged_record", f"line {number}: its time is no time")
            self.lost()
            return None
        before, self.last_us = self.last_us, now
        self.problems.once("coarse_clock", "lengths of intervals are differences of times in whole seconds")
        if before is None:
            self._compare(now)
            is_over = self.latest_us is not None and now - self.latest_us < round(
                (self.given.interval or 0) * 1e6
            )
            if self.given.interval is None or is_over:
                self.problems.add("interval_dropped", self.why)
                return None
            self.latest_us = now
            return now - round(self.given.interval * 1e6), self.given.interval
        if now < before:
            self.problems.add(
                "clock_step",
                f"line {number}: the time goes back by {(before - now) / 1e6:.0f} s; interval dropped",
            )
            return None
        if now == before or now - before > LENGTH_MAX_S * 1_000_000:
            what = "two reports at the same time" if now == before else "ten years without a report"
            self.problems.add("interval_dropped", f"{what}, before line {number}")
            return None
        self.latest_us = now
        return before, (now - before) / 1e6

    def _stepped(self, number: int) -> tuple[int, float]:
        """Interval of a text without times."""
        if self.given.interval is None:
            raise InputError(
                f"{self.path}, line {number}: reports have no times; say how far apart they are, as in "
                "--interval 1s, and when they begin, as in --date 2026-11-21T08:00:00; or record with -t"
            )
        if self.last_us is None:
            self.last_us = self._begin_us()
        before = self.last_us
        self.last_us = before + round(self.given.interval * 1e6)
        return before, self.given.interval

    def _begin_us(self) -> int:
        date = self.given.date
        if date is None:
            self.problems.once(
                "date_unknown", "the text has no times, taken from 1970-01-01 on; --date says when"
            )
            return 0
        moment = (
            date if isinstance(date, datetime.datetime) else datetime.datetime.combine(date, datetime.time())
        )
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=self.given.timezone or datetime.timezone.utc)
        return (moment - EPOCH) // datetime.timedelta(microseconds=1)


def _plain(date: datetime.date | None) -> datetime.date | None:
    return date.date() if isinstance(date, datetime.datetime) else date


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """Amounts in one interval from the rates and shares of its report.

    Parameters
    ----------
    length_s : float
        Length of the interval.
    problems : Problems
        Where impossible amounts are counted.
    """

    length_s: float
    problems: Problems

    def count(self, rate: float | None, scale: float = 1.0) -> int | None:
        """Whole amount of a rate per second, times the factor to the unit of the column."""
        return None if rate is None else whole(rate * self.length_s * scale, self.problems)

    def seconds(self, share: float | None, scale: float = 0.01) -> float | None:
        """Time of a share of the interval; a share is in percent."""
        return None if share is None else share * scale * self.length_s


def whole(value: float | None, problems: Problems) -> int | None:
    """Whole number of an amount; None if no machine can have counted that much."""
    if value is None or not value <= COUNT_MAX:
        if value is not None:
            problems.add("damaged_record", f"an amount of {value:.3g} is impossible")
        return None
    return round(value)


def total(values: Sequence[float | None]) -> float | None:
    """Sum of what is known; None if nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
