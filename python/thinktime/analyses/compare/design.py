"""Which treatment was in force when: units, their treatments and their blocks."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.compare.result import Randomisation, Unit
from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.observations import Observations

__all__ = [
    "BLOCKS",
    "Clock",
    "Plan",
    "Slots",
    "aligned",
    "both_in_each",
    "by_column",
    "by_plan",
    "chosen_blocks",
    "labels",
    "length_of",
    "slots",
    "start_of",
    "time_label",
]

_Int = NDArray[np.int64]
_Float = NDArray[np.float64]
Clock = Callable[[_Int], _Int]
"""Gives instants the time by which they are sorted into days and weeks."""

LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(min|m|h|d)")
SECONDS = {"m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
DAY_US = 86_400_000_000
WEEK_US = 7 * DAY_US
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
BLOCKS = ("week", "weekday", "day", "hour")
"""Blocking factors that follow from the time at which a unit starts (UTC)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of an experiment, as it was carried out.

    Parameters
    ----------
    treatments : mapping of str to str
        Treatment of each unit. A unit is a day, ``1970-05-04``, or a stretch of time,
        ``1970-05-04T08:00/1970-05-04T12:00`` (UTC).
    control : str, optional
        The treatment that the other is compared with; by default the first in the alphabet.
    blocks : tuple of str, optional
        Blocking factors whose effects are taken out: ``week``, ``weekday``, ``day`` and ``hour`` follow
        from the start of a unit, others are in `own`. By default week and weekday (of units shorter than a
        day, day and hour), or the first of them, or none: those that have both treatments in each
        of their blocks.
    own : mapping of str to mapping
        Other blocking factors: label of each unit.
    randomisation : str, optional
        How treatments were assigned; by default as tightly as the blocks say: counterbalanced with two
        or more, blocks with one, complete with none.
    name : str
        What messages and the report call it.
    """

    treatments: Mapping[str, str]
    control: str | None = None
    blocks: tuple[str, ...] | None = None
    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    randomisation: Randomisation | None = None
    name: str = "treatment"

    def __post_init__(self) -> None:
        """Refuse what is no plan.

        Raises
        ------
        InputError
            There are not two treatments, or something is named that does not exist.
        """
        levels = sorted(set(self.treatments.values()))
        if len(levels) != 2:
            raise InputError(
                f"{self.name}: has {len(levels)} treatments ({', '.join(levels)}); two are compared"
            )
        if self.control is not None and self.control not in levels:
            raise InputError(
                f"{self.name}: control {self.control!r} is no treatment; they are {', '.join(levels)}"
            )
        if self.randomisation is not None and self.randomisation not in get_args(Randomisation):
            names = ", ".join(get_args(Randomisation))
            raise InputError(f"{self.name}: randomisation {self.randomisation!r} is none of {names}")
        for factor in self.blocks or ():
            if factor not in BLOCKS and factor not in self.own:
                known = ", ".join((*BLOCKS, *self.own))
                raise InputError(f"{self.name}: there is no blocking factor {factor!r}; there are {known}")
        for factor, given in self.own.items():
            if missing := [unit for unit in self.treatments if unit not in given]:
                raise InputError(f"{self.name}: {factor} of {missing[0]} is not given")


@dataclass(frozen=True, slots=True)
class Slots:
    """Stretches of time to which treatments were assigned, in order of time."""

    labels: tuple[str, ...]
    start_us: _Int
    end_us: _Int


class Placing(Protocol):
    """Says to which unit, and to which treatment, each observation belongs."""

    def __call__(self, piece: Observations) -> tuple[_Int, _Float]:
        """Return the unit of each observation, -1 for none, and a number for its treatment."""
        ...


def slots(plan: Plan) -> Slots:
    """Return the units of a plan by time.

    Raises
    ------
    InputError
        A unit is no day and no stretch of time, or two overlap.
    """
    spans = sorted((*_span(text, plan.name), text) for text in plan.treatments)
    for (_, end, first), (start, _, second) in itertools.pairwise(spans):
        if start < end:
            raise InputError(f"{plan.name}: the units {first} and {second} overlap")
    starts, ends = (np.array([span[at] for span in spans], dtype=np.int64) for at in (0, 1))
    return Slots(tuple(text for _, _, text in spans), starts, ends)


def _span(text: str, name: str) -> tuple[int, int]:
    first, _, last = text.partition("/")
    try:
        if not last:
            start = dt.datetime.fromisoformat(first).replace(tzinfo=dt.timezone.utc)
            if start.time() != dt.time(0):
                raise ValueError
            return _microseconds(start), _microseconds(start) + DAY_US
        start, end = (_instant(part) for part in (first, last))
    except ValueError:
        raise InputError(
            f"{name}: unit {text!r} is no day (1970-05-04) and no stretch of time "
            "(1970-05-04T08:00/1970-05-04T12:00)"
        ) from None
    if end <= start:
        raise InputError(f"{name}: unit {text} ends before it begins")
    return _microseconds(start), _microseconds(end)


def _instant(text: str) -> dt.datetime:
    found = dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return found if found.tzinfo else found.replace(tzinfo=dt.timezone.utc)


def _microseconds(moment: dt.datetime) -> int:
    return (moment - EPOCH) // dt.timedelta(microseconds=1)


NUMBERS_FROM = -(10**12)
"""Number that units of a fixed length are counted from: before any time that a log can hold."""


def aligned(log: Log) -> Clock:
    """Return a clock by which every replication of a simulation begins at the same hour of the week.

    A log has replications one right after the other, in the middle of a day of the one before. Each is
    put off to the next whole week since the first began; other logs keep their time.
    """
    sessions = sorted(
        (int(session["start_us"]), int(session["end_us"]))
        for session in log.manifest.get("sessions", [])
        if "replication" in session and session.get("end_us") is not None
    )
    starts = np.array([start for start, _ in sessions], dtype=np.int64)
    shifts, free = np.zeros(len(sessions), dtype=np.int64), starts[0] if len(starts) else 0
    for at, (start, end) in enumerate(sessions):
        begin = starts[0] - (starts[0] - free) // WEEK_US * WEEK_US
        shifts[at] = begin - start
        free = end + shifts[at]

    def clock(instants: _Int) -> _Int:
        if len(starts) < 2:
            return instants
        found: _Int = instants + shifts[np.maximum(np.searchsorted(starts, instants, side="right") - 1, 0)]
        return found

    return clock


def by_plan(known: Slots) -> Placing:
    """Place each observation by the middle of its interval."""

    def place(piece: Observations) -> tuple[_Int, _Float]:
        middle = _middle(piece)
        at = np.searchsorted(known.start_us, middle, side="right") - 1
        inside = (at >= 0) & (middle < known.end_us[np.maximum(at, 0)])
        return np.where(inside, at, -1).astype(np.int64), np.zeros(len(piece))

    return place


def by_column(column: str, length_s: float | None, clock: Clock) -> Placing:
    """Place each observation by a column of treatments.

    Parameters
    ----------
    column : str
    length_s : float, optional
        Length of a unit; None where a unit lasts as long as its treatment.
    clock : callable
        See `aligned`.
    """
    last, number = float("nan"), -1

    def place(piece: Observations) -> tuple[_Int, _Float]:
        nonlocal last, number
        values = piece.columns[column]
        known = ~np.isnan(values)
        if length_s is not None:
            at = np.floor_divide(clock(_middle(piece)), round(length_s * 1e6))
            # Units before 1970 have negative numbers: -1 must stay free for none.
            return np.where(known, at - NUMBERS_FROM, -1).astype(np.int64), values
        seen = values[known]
        begun = np.concatenate([[last], seen])
        changes = np.cumsum(begun[1:] != begun[:-1]) if len(seen) else np.zeros(0, dtype=np.int64)
        runs = np.full(len(piece), -1, dtype=np.int64)
        runs[known] = number + changes
        if len(seen):
            last, number = float(seen[-1]), int(number + changes[-1])
        return runs, values

    return place


def start_of(number: int, length_s: float) -> int:
    """Begin of the unit that `by_column` numbered so, microseconds since 1970 UTC."""
    return (number + NUMBERS_FROM) * round(length_s * 1e6)


def length_of(unit: str) -> float | None:
    """Length of a unit [s]: of a ``day`` or ``6h``; None of a ``run``.

    Raises
    ------
    InputError
        It is none of them.
    """
    if unit in ("day", "run"):
        return 86_400.0 if unit == "day" else None
    match = LENGTH.fullmatch(unit)
    if match is None or float(match[1]) <= 0.0:
        raise InputError(f"unit {unit!r}: is none of day, run, or a length such as 30m, 6h or 2d")
    return float(match[1]) * SECONDS[match[2]]


def time_label(start_us: int, *, day: bool) -> str:
    """Name of a unit by its start."""
    moment = EPOCH + dt.timedelta(microseconds=start_us)
    return moment.date().isoformat() if day else moment.strftime("%Y-%m-%dT%H:%M")


def _middle(piece: Observations) -> _Int:
    found: _Int = piece.start_us + (piece.length_s * 5e5).astype(np.int64)
    return found


def labels(factor: str, starts_us: Sequence[int]) -> tuple[str, ...]:
    """Block of each unit in a factor of `BLOCKS`: ``week 1``, ``Monday``, ``1970-05-04``, ``8 h``."""
    moments = [EPOCH + dt.timedelta(microseconds=int(start)) for start in starts_us]
    if factor == "week":
        mondays = [moment.date() - dt.timedelta(days=moment.weekday()) for moment in moments]
        return tuple(f"week {(monday - min(mondays)).days // 7 + 1}" for monday in mondays)
    if factor == "weekday":
        return tuple(WEEKDAYS[moment.weekday()] for moment in moments)
    if factor == "day":
        return tuple(moment.date().isoformat() for moment in moments)
    return tuple(f"{moment.hour} h" for moment in moments)


def chosen_blocks(units: Sequence[Unit], short: bool, treated: str) -> tuple[str, ...]:
    """Blocking factors that the time of the units offers: those with both treatments in every block.

    A factor of which each block is one unit only, or that is one block, says nothing.
    """
    starts = [unit.start_us for unit in units]
    found: tuple[str, ...] = ()
    for factor in ("day", "hour") if short else ("week", "weekday"):
        blocks = labels(factor, starts)
        if len(set(blocks)) < 2 or not both_in_each(blocks, [unit.treatment == treated for unit in units]):
            break
        found = (*found, factor)
    return found


def both_in_each(blocks: Sequence[Hashable], treated: Sequence[bool]) -> bool:
    """Whether every block has units of both treatments."""
    seen: dict[Hashable, set[bool]] = {}
    for block, chosen in zip(blocks, treated, strict=True):
        seen.setdefault(block, set()).add(chosen)
    return all(len(kinds) == 2 for kinds in seen.values())
