"""Design of an experiment: units of time, their treatments and their blocks; plans in files."""

from __future__ import annotations

import csv
import datetime as dt
import itertools
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.compare.result import Randomisation, Unit
from thinktime.errors import InputError
from thinktime.log import facts

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.observations import Observations


_Int = NDArray[np.int64]
_Float = NDArray[np.float64]
Clock = Callable[[_Int], _Int]
"""Maps instants to the times by which they are sorted into days and weeks."""

LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(min|m|h|d)")
SECONDS = {"m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
DAY_S = 86_400.0
DAY_US = 86_400_000_000
WEEK_US = 7 * DAY_US
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
BLOCKS = ("week", "weekday", "day", "hour")
"""Blocking factors that follow from the time at which a unit starts (UTC)."""


@dataclass(frozen=True, slots=True)
class TreatmentColumn:
    """Column of the samples that holds the treatment in force.

    Parameters
    ----------
    name : str
        A column of numbers with two values.
    unit : str
        Unit to which treatments were assigned: ``day`` (UTC), ``run`` (a stretch of one treatment), or a
        length such as ``6h``.
    control, blocks, randomisation
        As of `Plan`.
    """

    name: str
    _: KW_ONLY
    unit: str = "day"
    control: str | None = None
    blocks: tuple[str, ...] | None = None
    randomisation: Randomisation | None = None

    def __post_init__(self) -> None:
        """Check that the unit is a length and that all blocking factors exist.

        Raises
        ------
        InputError
            One does not.
        """
        length_of(self.unit)
        _check_blocks(self.name, self.blocks, BLOCKS)


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of an experiment, as it was carried out.

    Parameters
    ----------
    treatments : mapping of str to str
        Treatment of each unit. A unit is a day, ``1970-05-04``, or a stretch of time,
        ``1970-05-04T08:00/1970-05-04T12:00`` (UTC).
    control : str, optional
        The treatment that the other is compared with; by default the first in the alphabet.
    blocks : tuple of str, optional
        Blocking factors whose effects are removed: ``week``, ``weekday``, ``day`` and ``hour`` follow
        from the start of a unit, others are in `own`. By default week and weekday (for units shorter than
        a day, day and hour), or the first of them, or none: those that have both treatments in each
        of their blocks.
    own : mapping of str to mapping
        Other blocking factors: label of each unit.
    randomisation : str, optional
        How treatments were assigned; by default as tightly as the blocks say: counterbalanced with two
        or more, blocks with one, complete with none.
    name : str
        Name in messages and in the report.
    """

    treatments: Mapping[str, str]
    _: KW_ONLY
    control: str | None = None
    blocks: tuple[str, ...] | None = None
    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    randomisation: Randomisation | None = None
    name: str = "treatment"

    def __post_init__(self) -> None:
        """Check that there are two treatments and that all names exist.

        Raises
        ------
        InputError
            They do not.
        """
        levels = sorted(set(self.treatments.values()))
        if len(levels) != 2:
            raise InputError(
                f"{self.name}: has {len(levels)} treatments ({', '.join(levels)}); two are compared"
            )
        if self.control is not None and self.control not in levels:
            raise InputError(
                f"{self.name}: control {self.control!r} is not a treatment; the treatments are "
                f"{', '.join(levels)}"
            )
        if self.randomisation is not None and self.randomisation not in get_args(Randomisation):
            names = ", ".join(get_args(Randomisation))
            raise InputError(f"{self.name}: randomisation {self.randomisation!r} is not one of {names}")
        _check_blocks(self.name, self.blocks, (*BLOCKS, *self.own))
        for factor, given in self.own.items():
            if missing := [unit for unit in self.treatments if unit not in given]:
                raise InputError(f"{self.name}: {factor} of {missing[0]} is not given")


def _check_blocks(name: str, blocks: Sequence[str] | None, allowed: Sequence[str]) -> None:
    for factor in blocks or ():
        if factor not in allowed:
            raise InputError(
                f"{name}: there is no blocking factor {factor!r}; there are {', '.join(allowed)}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """Stretches of time to which treatments were assigned, in order of time."""

    labels: tuple[str, ...]
    start_us: _Int
    end_us: _Int


class Placing(Protocol):
    """Assigns each observation to a unit and a treatment."""

    def __call__(self, piece: Observations) -> tuple[_Int, _Float]:
        """Unit of each observation, -1 for none, and a number for its treatment."""
        ...


def slots(plan: Plan) -> Slots:
    """Units of a plan in order of time.

    Raises
    ------
    InputError
        A unit is neither a day nor a stretch of time, or two overlap.
    """
    spans = sorted((*_span(text, plan.name), text) for text in plan.treatments)
    for (_, end, first), (start, _, second) in itertools.pairwise(spans):
        if start < end:
            raise InputError(f"{plan.name}: the units {first} and {second} overlap")
    starts, ends = (np.array([span[end] for span in spans], dtype=np.int64) for end in (0, 1))
    return Slots(labels=tuple(text for _, _, text in spans), start_us=starts, end_us=ends)


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
            f"{name}: unit {text!r} is neither a day (1970-05-04) nor a stretch of time "
            "(1970-05-04T08:00/1970-05-04T12:00)"
        ) from None
    if end <= start:
        raise InputError(f"{name}: unit {text} ends before it begins")
    return _microseconds(start), _microseconds(end)


def _instant(text: str) -> dt.datetime:
    instant = dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return instant if instant.tzinfo else instant.replace(tzinfo=dt.timezone.utc)


def _microseconds(moment: dt.datetime) -> int:
    return (moment - EPOCH) // dt.timedelta(microseconds=1)


NUMBERS_FROM = -(10**12)
"""First number of units of a fixed length: before any time that a log can hold."""


def aligned(log: Log) -> Clock:
    """Clock by which every replication of a simulation begins at the same hour of the week.

    In a log, a replication begins where the one before ended, in the middle of a day. Each is shifted to
    the next whole week since the first began; other logs keep their time.
    """
    sessions = sorted(
        (session.start_us, session.end_us)
        for session in facts.sessions(log)
        if session.is_replication and session.end_us is not None
    )
    starts = np.array([start for start, _ in sessions], dtype=np.int64)
    shifts, free = np.zeros(len(sessions), dtype=np.int64), starts[0] if len(starts) else 0
    for index, (start, end) in enumerate(sessions):
        begin = starts[0] - (starts[0] - free) // WEEK_US * WEEK_US
        shifts[index] = begin - start
        free = end + shifts[index]

    def clock(instants: _Int) -> _Int:
        if len(starts) < 2:
            return instants
        session = np.maximum(np.searchsorted(starts, instants, side="right") - 1, 0)
        shifted: _Int = instants + shifts[session]
        return shifted

    return clock


def by_plan(units: Slots) -> Placing:
    """Placing of each observation by the middle of its interval."""

    def place(piece: Observations) -> tuple[_Int, _Float]:
        middle = _middle(piece)
        unit = np.searchsorted(units.start_us, middle, side="right") - 1
        inside = (unit >= 0) & (middle < units.end_us[np.maximum(unit, 0)])
        return np.where(inside, unit, -1).astype(np.int64), np.zeros(len(piece))

    return place


def by_column(column: str, length_s: float | None, clock: Clock) -> Placing:
    """Placing of each observation by a column of treatments.

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
        is_measured = ~np.isnan(values)
        if length_s is not None:
            unit = np.floor_divide(clock(_middle(piece)), round(length_s * 1e6))
            # Units before 1970 have negative numbers: -1 must stay free for "none".
            return np.where(is_measured, unit - NUMBERS_FROM, -1).astype(np.int64), values
        measured = values[is_measured]
        begun = np.concatenate([[last], measured])
        changes = np.cumsum(begun[1:] != begun[:-1]) if len(measured) else np.zeros(0, dtype=np.int64)
        runs = np.full(len(piece), -1, dtype=np.int64)
        runs[is_measured] = number + changes
        if len(measured):
            last, number = float(measured[-1]), int(number + changes[-1])
        return runs, values

    return place


def start_of(number: int, length_s: float) -> int:
    """Start of the unit with this number of `by_column`, microseconds since 1970 UTC."""
    return (number + NUMBERS_FROM) * round(length_s * 1e6)


def length_of(unit: str) -> float | None:
    """Length of a unit [s]: of a ``day`` or ``6h``; None of a ``run``.

    Raises
    ------
    InputError
        It is none of them.
    """
    if unit in ("day", "run"):
        return DAY_S if unit == "day" else None
    match = LENGTH.fullmatch(unit)
    if match is None or float(match[1]) <= 0.0:
        raise InputError(f"unit {unit!r}: is not day, run or a length such as 30m, 6h or 2d")
    return float(match[1]) * SECONDS[match[2]]


def time_label(start_us: int, *, day: bool) -> str:
    """Name of a unit, from its start."""
    moment = EPOCH + dt.timedelta(microseconds=start_us)
    return moment.date().isoformat() if day else moment.strftime("%Y-%m-%dT%H:%M")


def _middle(piece: Observations) -> _Int:
    middle: _Int = piece.start_us + (piece.length_s * 5e5).astype(np.int64)
    return middle


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
    """Blocking factors from the time of the units: those with both treatments in every block.

    A factor with a single block, or with one unit in each block, carries no information.
    """
    starts = [unit.start_us for unit in units]
    chosen: tuple[str, ...] = ()
    for factor in ("day", "hour") if short else ("week", "weekday"):
        blocks = labels(factor, starts)
        if len(set(blocks)) < 2 or not both_in_each(blocks, [unit.treatment == treated for unit in units]):
            break
        chosen = (*chosen, factor)
    return chosen


def both_in_each(blocks: Sequence[Hashable], treated: Sequence[bool]) -> bool:
    """True if every block has units of both treatments."""
    kinds: dict[Hashable, set[bool]] = {}
    for block, is_treated in zip(blocks, treated, strict=True):
        kinds.setdefault(block, set()).add(is_treated)
    return all(len(both) == 2 for both in kinds.values())


# Files

UNIT_COLUMNS = ("day", "unit")
"""Names of the column of a CSV with the unit."""
PLAN_KEYS = ("control", "randomisation", "blocks", "treatments")


def read_plan(path: Path) -> Plan:
    """Plan in a file in CSV or TOML.

    CSV: a row for each unit, with columns ``day`` (or ``unit``), ``treatment``, and any further blocking
    factors. TOML: ``control``, ``randomisation`` and ``blocks``, and a table ``[treatments]`` with the
    list of units of each.

    Raises
    ------
    InputError
        The file cannot be read, or is not a plan.
    """
    if path.suffix.lower() == ".toml":
        return _of_toml(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"{path}: cannot be read: {reason}") from None
    return _of_csv(path, text)


def _of_csv(path: Path, text: str) -> Plan:
    rows = csv.DictReader(text.splitlines())
    names = [name.strip() for name in rows.fieldnames or ()]
    rows.fieldnames = names
    when = next((name for name in names if name in UNIT_COLUMNS), None)
    if when is None or "treatment" not in names:
        raise InputError(
            f"{path}: line 1: has the columns {', '.join(names) or 'none'}; the columns day and treatment "
            f"are required"
        )
    factors = [name for name in names if name not in (when, "treatment")]
    treatments: dict[str, str] = {}
    own: dict[str, dict[str, str]] = {factor: {} for factor in factors}
    for row in rows:
        values = {name: (row[name] or "").strip() for name in names}
        if row.get(None) or not all(values.values()):
            raise InputError(f"{path}: line {rows.line_num}: does not have one value per column")
        unit = values[when]
        if unit in treatments:
            raise InputError(f"{path}: line {rows.line_num}: {unit} is given twice")
        treatments[unit] = values["treatment"]
        for factor in factors:
            own[factor][unit] = values[factor]
    return Plan(treatments, own=own, blocks=tuple(factors) or None, name=str(path))


def _of_toml(path: Path) -> Plan:
    from thinktime import toml

    table: dict[str, Any] = toml.read(path, dates=True)
    if unknown := [key for key in table if key not in PLAN_KEYS]:
        raise InputError(f"{path}: has no key {unknown[0]!r}; the keys are {', '.join(PLAN_KEYS)}")
    given = table.get("treatments")
    if not isinstance(given, dict) or not all(isinstance(units, list) for units in given.values()):
        raise InputError(f"{path}: [treatments] must give each treatment a list of days")
    treatments: dict[str, str] = {}
    for treatment, units in given.items():
        for unit in map(str, units):
            if unit in treatments:
                raise InputError(f"{path}: {unit} is given to {treatments[unit]} and to {treatment}")
            treatments[unit] = str(treatment)
    blocks = table.get("blocks")
    if blocks is not None and not (isinstance(blocks, list) and all(isinstance(b, str) for b in blocks)):
        raise InputError(f"{path}: blocks must be a list of names")
    return Plan(
        treatments,
        control=table.get("control"),
        blocks=None if blocks is None else tuple(blocks),
        randomisation=table.get("randomisation"),
        name=str(path),
    )
