"""What the checks need of the intervals of a log, added up a piece at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from thinktime.log.observations import LOW_PRIORITY, Observations
from thinktime.log.users import UserTimes

Array = NDArray[np.float64]

STATES = ("user_s", "nice_s", "system_s", "irq_s", "softirq_s", "steal_s", "idle_s", "iowait_s")
BUSY = STATES[:-3]
IDLE = ("idle_s", "iowait_s")
PRESSURES = ("psi_cpu_some_s", "psi_memory_some_s", "psi_io_some_s")
PAGES = ("swap_in_pages", "swap_out_pages", "pages_scanned", "pages_reclaimed")
AVAILABLE, MEMORY = "memory_available_bytes", "memory_total_bytes"
COLUMNS = (*STATES, *LOW_PRIORITY, *PRESSURES, *PAGES, AVAILABLE, MEMORY)
SUMMED = (STATES, BUSY, *((name,) for name in ("steal_s", *PRESSURES, *PAGES)))
"""Columns whose sums are wanted, alone or together."""
RATES = ("steal_s", *PRESSURES, "swap_in_pages", "pages_scanned")
"""Columns of which the worst interval is wanted."""
FULL_IDLE = 0.05
"""Idle share below which the CPUs count as full, as in the question about saturation."""
PARTS = 10
"""Parts of the record whose means of available memory are compared."""


@dataclass(slots=True)
class Sum:
    """Sum of what was measured; None where nothing was."""

    value: float | None = None

    def absorb(self, values: Array) -> None:
        """Add values, nan where nothing was measured."""
        if np.isfinite(values).any():
            self.value = (self.value or 0.0) + float(np.nansum(values))


@dataclass(slots=True)
class Worst:
    """Start of the interval with the greatest value, the first of them; None where none is above zero."""

    start_us: int | None = None
    _value: float = 0.0

    def absorb(self, values: Array, starts_us: NDArray[np.int64]) -> None:
        """Look at intervals that follow those before."""
        highest = float(np.nanmax(values, initial=0.0))
        if highest > self._value:
            self._value = highest
            self.start_us = int(starts_us[int(np.nanargmax(values))])


@dataclass(slots=True)
class Full:
    """Intervals in which the CPUs were full, with and without work at low priority."""

    known: int = 0
    full: int = 0
    without: int = 0
    seen: bool = True
    """True if the recorder saw the nice values in every interval."""

    def absorb(self, piece: Observations) -> None:
        """Count intervals."""
        all_s, idle_s = piece.total(STATES), piece.total(IDLE)
        self.seen = self.seen and bool(np.isfinite(piece.columns[LOW_PRIORITY[0]]).all())
        with np.errstate(divide="ignore", invalid="ignore"):
            idle = idle_s / all_s
            spare = (idle_s + piece.low_priority()) / all_s
        known = np.isfinite(spare)
        self.known += int(np.count_nonzero(known))
        self.full += int(np.count_nonzero(idle[known] < FULL_IDLE))
        self.without += int(np.count_nonzero(spare[known] < FULL_IDLE))


@dataclass(slots=True)
class Gaps:
    """Times between intervals in which nothing was measured."""

    number: int = 0
    missing_s: float = 0.0
    longest_s: float = 0.0
    longest_us: int | None = None
    """Start of the interval before the longest."""
    _step_us: int = 0
    _last: tuple[int, float, int] | None = None

    def absorb(self, piece: Observations) -> None:
        """Look at intervals that follow those before."""
        if not len(piece):
            return
        start_us, lengths, segments = piece.start_us, piece.length_s, piece.segments
        if self._last is not None:
            start_us = np.concatenate([[self._last[0]], start_us])
            lengths = np.concatenate([[self._last[1]], lengths])
            segments = np.concatenate([[self._last[2]], segments])
        self._last = int(start_us[-1]), float(lengths[-1]), int(segments[-1])
        jumps = np.flatnonzero(np.diff(segments) > 0)
        if not len(jumps):
            return
        steps = start_us[jumps + 1] - start_us[jumps]
        missing = steps / 1e6 - lengths[jumps]
        missing = missing[missing > 0.0]
        self.number += len(missing)
        self.missing_s += float(missing.sum())
        self.longest_s = max(self.longest_s, float(missing.max(initial=0.0)))
        if self.longest_us is None or steps.max() > self._step_us:
            self._step_us = int(steps.max())
            self.longest_us = int(start_us[jumps[int(np.argmax(steps))]])


@dataclass(slots=True)
class Memory:
    """Least share of memory that was available, and the intervals in which it was measured."""

    share: float | None = None
    start_us: int | None = None
    available_bytes: float = np.nan
    total_bytes: float = np.nan
    known: int = 0
    """Intervals in which the available memory was read."""
    length_s: float = 0.0
    """Their length."""

    def absorb(self, piece: Observations) -> None:
        """Look at intervals that follow those before."""
        available, total = piece.columns[AVAILABLE], piece.columns[MEMORY]
        read = np.isfinite(available)
        self.known += int(np.count_nonzero(read))
        self.length_s += float(piece.length_s[read].sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            free = available / total
        known = np.isfinite(free)
        if known.any() and (self.share is None or free[known].min() < self.share):
            at = int(np.argmin(np.where(known, free, np.inf)))
            self.share, self.start_us = float(free[at]), int(piece.start_us[at])
            self.available_bytes, self.total_bytes = float(available[at]), float(total[at])


@dataclass(slots=True)
class First:
    """What a first look at the intervals gives."""

    intervals: int = 0
    time_s: float = 0.0
    sums: dict[tuple[str, ...], Sum] = field(default_factory=lambda: {names: Sum() for names in SUMMED})
    worst: dict[str, Worst] = field(default_factory=lambda: {name: Worst() for name in RATES})
    low_priority: Sum = field(default_factory=Sum)
    full: Full = field(default_factory=Full)
    gaps: Gaps = field(default_factory=Gaps)
    memory: Memory = field(default_factory=Memory)

    def absorb(self, piece: Observations) -> None:
        """Look at intervals that follow those before."""
        self.intervals += len(piece)
        self.time_s += float(piece.length_s.sum())
        for names, total in self.sums.items():
            total.absorb(piece.total(names))
        for name, worst in self.worst.items():
            worst.absorb(piece.rate((name,)), piece.start_us)
        self.low_priority.absorb(piece.low_priority())
        self.full.absorb(piece)
        self.gaps.absorb(piece)
        self.memory.absorb(piece)


class Falling:
    """Mean available memory in equal parts of a record, whose number of intervals is known.

    Parameters
    ----------
    known : int
        Intervals in which it was read.
    """

    def __init__(self, known: int) -> None:
        self._ends = np.cumsum([known // PARTS + (part < known % PARTS) for part in range(PARTS)])
        self._amounts, self._lengths = np.zeros(PARTS), np.zeros(PARTS)
        self._seen = 0

    def absorb(self, piece: Observations) -> None:
        """Add intervals that follow those before."""
        available = piece.columns[AVAILABLE]
        read = np.flatnonzero(np.isfinite(available))
        part = np.searchsorted(self._ends, np.arange(self._seen, self._seen + len(read)), side="right")
        for number in np.unique(part).tolist():
            rows = read[part == number]
            self._amounts[number] += (available[rows] * piece.length_s[rows]).sum()
            self._lengths[number] += piece.length_s[rows].sum()
        self._seen += len(read)

    @property
    def means(self) -> Array:
        """Mean of each part, weighted by the lengths of its intervals."""
        result: Array = self._amounts / self._lengths
        return result


@dataclass(slots=True)
class Held:
    """Intervals in which a user had much of the CPUs, or little, and what the others did meanwhile."""

    much: int = 0
    time_s: float = 0.0
    waited_s: float = 0.0
    ran_s: float = 0.0
    used_s: float = 0.0
    little: int = 0
    waited_without_s: float = 0.0
    ran_without_s: float = 0.0
    worst: Worst = field(default_factory=Worst)

    def absorb(
        self, piece: Observations, used: Array, waited: Array, ran: Array, limits: Sequence[float]
    ) -> None:
        """Add intervals that follow those before.

        Parameters
        ----------
        piece : Observations
        used : array
            CPU time of the user in each interval [s].
        waited, ran : array
            Time that the others waited for a CPU, and CPU time that they used [s].
        limits : (float, float)
            CPUs from which they are much, and below which they are little.
        """
        lengths = piece.length_s
        use = used / lengths
        much, little = use >= limits[0], use < limits[1]
        self.much += int(np.count_nonzero(much))
        self.time_s += float(lengths[much].sum())
        self.waited_s += float(waited[much].sum())
        self.ran_s += float(ran[much].sum())
        self.used_s += float((use * lengths)[much].sum())
        self.little += int(np.count_nonzero(little))
        self.waited_without_s += float(waited[little].sum())
        self.ran_without_s += float(ran[little].sum())
        self.worst.absorb(np.where(much, waited / lengths, -np.inf), piece.start_us)


class Second:
    """What a second look at the intervals gives, with what users did in each.

    Parameters
    ----------
    known : int
        Intervals in which the available memory was read.
    limits : (float, float)
        See `Held.absorb`.
    """

    def __init__(self, known: int, limits: Sequence[float]) -> None:
        self.falling = Falling(known)
        self.delayed = Worst()
        self.held: dict[str, Held] = {}
        """By user, those with most CPU time first."""
        self._limits = limits
        self._idle_s = self._waited_s = 0.0

    def absorb(self, piece: Observations, times: UserTimes) -> None:
        """Add intervals that follow those before."""
        self.falling.absorb(piece)
        self.delayed.absorb(times.all_delay_s / piece.length_s, piece.start_us)
        all_s, idle_s = piece.total(STATES), piece.total(IDLE)
        waited = times.all_delay_s
        known = (all_s > 0.0) & ~np.isnan(idle_s) & (waited > 0.0)
        self._idle_s += float((idle_s[known] / all_s[known] * waited[known]).sum())
        self._waited_s += float(waited[known].sum())
        for rank, user in enumerate(times.users):
            self.held.setdefault(user, Held()).absorb(
                piece,
                times.cpu_s[rank],
                times.all_delay_s - times.delay_s[rank],
                times.all_cpu_s - times.cpu_s[rank],
                self._limits,
            )

    @property
    def idle_in_waits(self) -> float | None:
        """Idle share of the CPUs in the intervals in which users waited, each by how much they did.

        Over all of a record, an idle night would make every queue of the day look like one beside idle CPUs.
        """
        return self._idle_s / self._waited_s if self._waited_s > 0.0 else None
