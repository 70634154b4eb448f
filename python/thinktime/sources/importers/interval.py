"""One interval of an imported file, in the columns and units of the log, for every kind of file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from thinktime.sources.importers.problems import Problems

if TYPE_CHECKING:
    import polars as pl

SECTOR_BYTES = 512
"""Unit of block counts of the kernel [byte], whatever the sectors of the disk are."""
COUNT_MAX = 2**63 - 1
"""Amounts above this in one interval are damage, not counts."""

Row = dict[str, Any]
"""Values of a row by column name; an absent column is null."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A row of `samples`, and its rows of the other tables."""

    start_us: int
    """Start, microseconds since 1970 UTC."""
    length_s: float
    """Measured length."""
    samples: Row | None
    """Row of `samples`, without start and length; None for rows of a table that has no intervals."""
    tables: dict[str, list[Row]] = field(default_factory=dict)
    """Rows of the other tables by table, without start: only what did anything."""
    frames: dict[str, pl.DataFrame] = field(default_factory=dict)
    """The same as columns, for tables of which there are millions of rows, each with its own time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Differences of two readings of a counter.

    Parameters
    ----------
    problems : Problems
        Where wraps and resets are counted.
    long_bits : int
        Width of the recorded machine's ``unsigned long``.
    """

    problems: Problems
    long_bits: int = 64

    def amount(
        self, name: str, previous: int, current: int, bits: int | None = None, *, may_step_back: bool = False
    ) -> int | None:
        """Difference of two readings; None where the counter was set back.

        A reading below its predecessor is a wrap when the counter has `bits` (32) and stood in the upper half
        before and in the lower half after; anything else is a reset, and the count in between is lost. Idle
        time and I/O wait `may_step_back` by the kernel's own bookkeeping: no progress.
        """
        if current >= previous:
            return current - previous
        if may_step_back:
            self.problems.add("counter_reset", f"{name} ran backwards")
            return 0
        width = bits or self.long_bits
        half = 1 << (width - 1)
        if width == 32 and half <= previous < 2 * half and current < half:
            self.problems.add("counter_wrap", f"{name} wrapped at 32 bits")
            return current - previous + 2 * half
        self.problems.add("counter_reset", f"{name} went back")
        return None

    def checked(self, name: str, value: int | None) -> int | None:
        """`value`, or None if no machine can have counted that much in an interval."""
        if value is not None and value > COUNT_MAX:
            self.problems.add("damaged_record", f"{name} is {value} in one interval")
            return None
        return value


class Sums:
    """Totals over the rows of a long table; null where no row had the column."""

    def __init__(self, names: Iterable[str]) -> None:
        self.totals: dict[str, float | int | None] = dict.fromkeys(names)

    def add(self, name: str, value: float | int | None) -> None:
        """Add one row's value."""
        if value is not None:
            self.totals[name] = (self.totals[name] or 0) + value


def whole_disks(names: Iterable[str]) -> set[str]:
    """Those of `names` that are not a partition of another one (``sda1``, ``nvme0n1p2``)."""
    disks = set(names)

    def parent(name: str) -> str:
        stem = name.rstrip("0123456789")
        if stem != name and stem.endswith("p") and stem[:-1] in disks:
            return stem[:-1]
        return stem

    return {name for name in disks if parent(name) == name or parent(name) not in disks}


def is_stacked(name: str) -> bool:
    """True if the device stands on other devices or on memory, so that a total would count it twice."""
    return name.startswith(("dm-", "md", "loop", "ram", "zram", "drbd", "bcache", "nbd"))
