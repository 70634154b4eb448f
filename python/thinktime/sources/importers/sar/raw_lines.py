r"""One line of ``sadf -r``: pure functions from bytes to a record header, a mark or readings.

The lines, with ``-O debug`` and ``-U``::

    # uptime_cs; 94783; ust_time; 1795250846; extra_next; 0; record_type; 1; HH:MM:SS; 08:47:26
    # name; A_PCSW; nr_curr; 1; nr_alloc; 1; nr_ini; 1
    1795250846; proc/s; 9739; 9781; cswch/s; 429103; 432837;
    1795250846; CPU [TLS]; 0; %usr; 13899; 13901; %nice; 0; 0; ...
    1795250846; LINUX-RESTART (2 CPU)
    1795250846; COM a comment

A counter has two numbers, the reading of the record before and its own; a gauge has one.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

LINE_BYTES_MAX = 1 << 20
READING_MAX = 2**64 - 1
READING_DIGITS_MAX = 20
"""Digits of the largest 64-bit counter."""

RESTART = "restart"
COMMENT = "comment"
OTHER = "other"

_HEADER = re.compile(
    rb"# uptime_cs; (\d{1,20}); ust_time; (\d{1,11}); extra_next; \d+; record_type; (\d{1,3});"
)
_LABEL = re.compile(rb"(?:(\d{2}):(\d{2}):(\d{2})( UTC)?|(\d{9,11}))\Z")
_MARKER = re.compile(rb" \[[A-Z]{3}\]")

_ACTIVITIES: dict[bytes, tuple[str, bytes]] = {
    b"proc/s": ("tasks", b""),
    b"pswpin/s": ("swapping", b""),
    b"pgpgin/s": ("paging", b""),
    b"tps": ("io", b""),
    b"kbmemfree": ("memory", b""),
    b"kbswpfree": ("swap_space", b""),
    b"runq-sz": ("queue", b""),
    b"major": ("disk", b"; DEV; "),
    b"%scpu-10": ("pressure_cpu", b""),
    b"%sio-10": ("pressure_io", b""),
    b"%smem-10": ("pressure_memory", b""),
}
"""First word of a line: the activity, and the other required content of the line."""


class DamagedLineError(ValueError):
    """A line is not as sadf prints it; the message names the item and the correct form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Record header: a statistics record has `kind` 1, a restart 2, a comment 4."""

    uptime_cs: int
    wall_s: int
    kind: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line with a time, its activity, and the text after the time."""

    seconds: int
    """Seconds since 1970 where `has_date`, else since midnight."""
    has_date: bool
    is_utc: bool
    activity: str
    rest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """Item of a line (CPU, device; empty where there is none) and its numbers by field name."""

    item: str
    numbers: dict[str, list[int]]

    def gauge(self, name: str) -> int | None:
        """Single number of field `name`; None if this version has no such field.

        Raises
        ------
        DamagedLineError
            The field has another number of numbers.
        """
        numbers = self._checked(name, 1, "a gauge has 1")
        return None if numbers is None else numbers[0]

    def counter(self, name: str) -> tuple[int, int] | None:
        """Two numbers of field `name`: before and now.

        Raises
        ------
        DamagedLineError
            The field has another number of numbers.
        """
        numbers = self._checked(name, 2, "a counter has 2, before and now")
        return None if numbers is None else (numbers[0], numbers[1])

    def _checked(self, name: str, count: int, rule: str) -> list[int] | None:
        numbers = self.numbers.get(name)
        if numbers is not None and len(numbers) != count:
            raise DamagedLineError(f"{name} has {len(numbers)} numbers; {rule}")
        return numbers


def parse_header(line: bytes) -> Header | None:
    """Record header, or None for any other line."""
    if not line.startswith(b"# uptime"):
        return None
    match = _HEADER.match(line)
    if match is None:
        return None
    uptime_cs, wall_s, kind = (int(number) for number in match.groups())
    return Header(uptime_cs=uptime_cs, wall_s=wall_s, kind=kind)


def parse_line(line: bytes) -> Line | None:
    """Time and activity of a line; None for a blank line or sadf's other ``#`` lines.

    Raises
    ------
    DamagedLineError
        The line does not begin with a time.
    """
    line = line.strip()
    if not line or line.startswith(b"#"):
        return None
    label, _, rest = line.partition(b"; ")
    seconds, has_date, is_utc = _time(label)
    return Line(seconds=seconds, has_date=has_date, is_utc=is_utc, activity=_activity(rest), rest=rest)


@functools.lru_cache(maxsize=16)
def _time(label: bytes) -> tuple[int, bool, bool]:
    """Seconds, True if they have a date, True if they are UTC."""
    match = _LABEL.match(label)
    if match is None:
        shown = label[:40].decode("ascii", "backslashreplace")
        raise DamagedLineError(f"it begins with {shown!r}; give a time such as 08:47:26 UTC or 1795250846")
    hour, minute, second, utc, epoch = match.groups()
    if epoch is not None:
        return int(epoch), True, True
    if int(hour) > 23 or int(minute) > 59 or int(second) > 60:
        raise DamagedLineError(f"{label.decode()!r} is not a time of day")
    return int(hour) * 3600 + int(minute) * 60 + int(second), False, utc is not None


def _activity(rest: bytes) -> str:
    if rest.startswith(b"LINUX-RESTART"):
        return RESTART
    if rest.startswith(b"COM "):
        return COMMENT
    if b" [" in rest:
        rest = _MARKER.sub(b"", rest)
    first = rest.partition(b";")[0]
    if first == b"CPU":
        return "cpu" if b"; %usr" in rest or b"; %user" in rest else OTHER
    if first == b"INTR":
        return "interrupts" if rest.startswith((b"INTR; sum;", b"INTR; -1;")) else OTHER
    if first == b"IFACE":
        if b"; rxpck/s" in rest:
            return "interface"
        return "interface_errors" if b"; rxerr/s" in rest else OTHER
    activity, needed = _ACTIVITIES.get(first, (OTHER, b""))
    return activity if needed in rest else OTHER


def parse_readings(line: Line) -> Readings:
    """Readings of a data line.

    Raises
    ------
    DamagedLineError
        A field has no number, a number is out of range, or the line ends early.
    """
    rest = _MARKER.sub(b"", line.rest) if b" [" in line.rest else line.rest
    if not rest.endswith(b";"):
        raise DamagedLineError("the line ends early: the last character must be a semicolon")
    item, words = _split_item(line.activity, rest[:-1].decode("utf-8", "replace").split("; "))
    numbers: dict[str, list[int]] = {}
    name = ""
    values: list[int] = []
    for word in words:
        if word.isdecimal() and word.isascii():
            if not name:
                raise DamagedLineError(f"{word[:40]} stands where a field's name is needed")
            # Longer words are not converted: that takes time quadratic in their length.
            if len(word) > READING_DIGITS_MAX or int(word) > READING_MAX:
                raise DamagedLineError(f"{name} is {word[:40]}; a counter has 64 bits")
            values.append(int(word))
            continue
        name = word
        if not name or name in numbers:
            raise DamagedLineError(f"field {name[:40]!r} stands where a new field's name is needed")
        numbers[name] = values = []
    return Readings(item=item, numbers=numbers)


def _split_item(activity: str, words: list[str]) -> tuple[str, list[str]]:
    """Item of a line with one, and the fields after it."""
    at = {"cpu": 0, "interrupts": 0, "interface": 0, "interface_errors": 0, "disk": 4}.get(activity)
    if at is None:
        return "", words
    if len(words) <= at + 1 or not words[at + 1]:
        raise DamagedLineError(f"the {activity} line names no item")
    if activity == "cpu" and not re.fullmatch(r"-1|\d{1,5}", words[1], re.ASCII):
        raise DamagedLineError(f"CPU {words[1][:40]!r} is not a number")
    return words[at + 1], words[at + 2 :]
