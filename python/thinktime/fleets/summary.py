"""A log reduced to what a fleet needs of it: some numbers for each hour, and costs with their errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.saturation.resources import CPU_ROLES, LIMITS, Meter, Thresholds, ceilings
from thinktime.fleets import costs
from thinktime.fleets.costs import Coefficient
from thinktime.log import Log, LogError, facts, observations, vocabulary
from thinktime.log.border import changes, reading

if TYPE_CHECKING:
    from thinktime.log.observations import Observations, Quantity

Array = NDArray[np.float64]

REQUESTS = ("forks", "page_faults", "context_switches", "disk_operations", "net_packets")
"""Kinds of request whose costs are compared; in a log that counts none of them, its columns of requests."""
BASE, INTERACTION, USER, MEMORY = "base", "interaction", "user", "memory"
"""Coefficients beside those of requests: system time without any, CPU time of an interaction, and the shares
of the CPUs and of the memory that one more active user takes."""
INTERVALS_LEAST = costs.ROWS_LEAST
"""Intervals below which a log says too little about its machine."""
FULL_LEAST = 0.05
"""Share of the intervals with exhausted CPUs from which a number of users is left out of the line of CPU
use."""
MEMORY_COLUMNS = ("memory_total_bytes", "memory_available_bytes")
UNKNOWN = LIMITS.index("unknown")
KEPT_PIECES = 4
"""Pieces of a log that are held; one with more is read again for each pass."""
HOUR_US = 3_600_000_000
LOADS_MAX = 100_000
"""Numbers of users from which on all count as one."""
OFF = 0.05
"""Difference of the CPU time in all from that of the CPUs, beyond which one of both is wrong."""

Kind = Literal["damaged", "short", "no_cpu", "units"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """A log that says nothing about its machine."""

    path: str
    kind: Kind
    reason: str
    """Why, and what would help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    """Sums over the intervals that begin in each hour, ascending."""

    hour: NDArray[np.int64]
    """Hours since 1970 UTC."""
    intervals: Array
    """Number of intervals in which the use of a resource was measured."""
    measured_s: Array
    used_s: Array
    """Share of the CPUs in use, times the length of the interval."""
    low_s: Array
    """Share of them in use at low priority, times the length: other work displaces it."""
    known_s: Array
    """Time in which that was measured."""
    full: Array
    """Number of intervals in which each of `Summary.limits` was exhausted, shape (hours, limits)."""
    memory_s: Array
    """Share of the memory in use, times the length."""
    memory_known_s: Array
    users_s: Array
    """Number of active users, times the length."""
    users_known_s: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A log, reduced."""

    path: str
    host: str | None
    """Name of the machine; None where the log does not have it, and for simulated ones."""
    model: str | None
    """Model of its CPUs, or name of the simulated system."""
    cpus: int | None
    memory_bytes: float | None
    version: int
    """Version of the log's format."""
    start_us: int
    end_us: int
    intervals: int
    limits: tuple[str, ...]
    """Resources that can have been exhausted: `resources.LIMITS`, and those with a ceiling."""
    hours: Hours
    labels: Mapping[str, str]
    """Name in words of each kind of request of the regression; logs with different counters have different
    ones."""
    coefficients: Mapping[str, Coefficient]
    """By kind of request, `BASE`, `INTERACTION`, `USER` and `MEMORY`; those that were estimated."""
    backwards: int
    """Intervals that begin before the one before has ended: a clock that was set back, or two writers."""
    measured_cpus: float
    """CPU time in all per second: as many CPUs as the machine has, where clock and units are right."""
    below: float | None
    """Number of users up to which `USER` was estimated; None where CPUs were never exhausted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Intervals of a log, with what is computed from them."""

    start_us: NDArray[np.int64]
    length_s: Array
    use: Array
    low: Array
    memory: Array
    users: Array
    limit: NDArray[np.int8]
    system_s: Array
    cpu_s: Array
    requests: Array
    absent: frozenset[str]


def summarise(path: Path) -> Summary | Unusable:
    """A log reduced to what a fleet needs of it, or why it says nothing; no defect of a log is an error here.

    Parameters
    ----------
    path : Path
        Folder of the log.
    """
    try:
        log = Log.open(path)
        with reading(log):
            changed = changes([log])
            if changed:
                return Unusable(path=str(path), kind="damaged", reason=changed[0])
            return _summarised(log)
    except LogError as error:
        return Unusable(path=str(path), kind="damaged", reason=str(error))


def _summarised(log: Log) -> Summary | Unusable:
    refuse = partial(Unusable, path=str(log.path))
    meter, kinds = Meter(log, ceilings(log)), _kinds(log)
    names = _columns(log, meter, kinds)
    wrong = _wrong_unit(log, names)
    if wrong is not None:
        return refuse(kind="units", reason=wrong)
    pieces = observations.held(
        lambda: (_piece(log, meter, kinds, chunk) for chunk in observations.chunks(log, names)), KEPT_PIECES
    )
    totals = _Totals(len(LIMITS) + len(meter.ceilings))
    for piece in pieces():
        totals.add(piece)
    if totals.intervals < INTERVALS_LEAST:
        few = f"{INTERVALS_LEAST} intervals are needed, not {totals.intervals}; record for longer"
        return refuse(kind="short", reason=few)
    hours = totals.hours()
    if not hours.known_s.sum() > 0.0:
        lacking = "the idle time of its CPUs was not measured; record with `thinktime record`"
        return refuse(kind="no_cpu", reason=lacking)
    machine, below = facts.last_machine(log), totals.below()
    simulated = any(session.is_replication for session in facts.sessions(log))
    absent = next(pieces()).absent
    counted = [place for place, kind in enumerate(kinds) if not absent.issuperset(kind.columns)]
    return Summary(
        path=str(log.path),
        host=None if simulated else machine.text("hostname"),
        model=machine.text("cpu_model") or (machine.text("system") if simulated else None),
        cpus=None if simulated else machine.whole("cpus", least=1),
        memory_bytes=machine.number("memory_bytes", least=0.0),
        version=int(log.manifest["schema_version"]),
        start_us=totals.start_us,
        end_us=totals.end_us,
        intervals=totals.intervals,
        limits=(*LIMITS, *(ceiling.resource for ceiling in meter.ceilings)),
        hours=hours,
        labels={kinds[place].name: kinds[place].label for place in counted},
        coefficients=_coefficients(log, pieces, {kinds[place].name: place for place in counted}, below),
        backwards=0 if simulated else totals.backwards,
        measured_cpus=totals.cpu_s / totals.cpu_known_s if totals.cpu_known_s > 0.0 else 0.0,
        below=below,
    )


def _kinds(log: Log) -> tuple[Quantity, ...]:
    """Kinds of request of a log: those of a Linux machine, or those that a simulated system counts."""
    return observations.quantities(log, REQUESTS) or observations.quantities(
        log, observations.role_columns(log, "request")
    )


def _columns(log: Log, meter: Meter, kinds: Sequence[Quantity]) -> list[str]:
    """Columns of the samples that are read."""
    of_kinds = [column for kind in kinds for column in kind.columns]
    roles = [name for role in ("system_time", "load") for name in observations.role_columns(log, role)]
    return list(dict.fromkeys([*meter.columns, *roles, *of_kinds, *MEMORY_COLUMNS]))


def _wrong_unit(log: Log, names: Sequence[str]) -> str | None:
    """Which column is in another unit than all logs have it in; None if none is."""
    units = {column.name: column.unit for column in vocabulary("samples")}
    for column in log.schema("samples"):
        if column.name in names and column.unit != units.get(column.name, column.unit):
            return (
                f"its column {column.name} is in {column.unit or 'no unit'}, where other logs have "
                f"{units[column.name] or 'none'}; import or record it again"
            )
    return None


def _piece(log: Log, meter: Meter, kinds: Sequence[Quantity], chunk: Observations) -> _Piece:
    state = meter.read(chunk)
    total, available = (chunk.columns[name] for name in MEMORY_COLUMNS)
    cpu = [name for role in CPU_ROLES for name in observations.role_columns(log, role)]
    with np.errstate(divide="ignore", invalid="ignore"):
        memory = 1.0 - available / total
    return _Piece(
        start_us=chunk.start_us,
        length_s=chunk.length_s,
        use=1.0 - state.idle,
        low=np.nan_to_num(state.low_priority),
        memory=np.where(np.isfinite(memory), memory, np.nan),
        users=chunk.total(observations.role_columns(log, "load")[:1]),
        limit=state.limits(Thresholds()),
        system_s=chunk.total(observations.role_columns(log, "system_time")),
        cpu_s=chunk.total([*cpu, "steal_s"]),
        requests=np.column_stack([chunk.total(kind.columns) for kind in kinds])
        if kinds
        else np.zeros((len(chunk), 0)),
        absent=chunk.absent,
    )


class _Totals:
    """Sums over the pieces of a log."""

    def __init__(self, limits: int) -> None:
        self._limits = limits
        self._hours: list[tuple[NDArray[np.int64], Array]] = []
        self._loads = np.zeros((2, LOADS_MAX + 1))
        self.intervals = self.backwards = 0
        self.start_us, self.end_us = np.iinfo(np.int64).max, 0
        self.cpu_s = self.cpu_known_s = 0.0
        self._ended_us = -np.inf

    def add(self, piece: _Piece) -> None:
        """Add the intervals of a piece, which follow those before."""
        if not len(piece.start_us):
            return
        length, known = piece.length_s, np.isfinite(piece.use)
        limited = piece.limit[:, None] == np.arange(self._limits)
        columns = [np.ones(len(length)) - limited[:, UNKNOWN], length]
        for values in (piece.use, np.where(known, piece.low, np.nan), piece.memory, piece.users):
            columns += [np.nan_to_num(values) * length, np.isfinite(values) * length]
        hours, place = np.unique(piece.start_us // HOUR_US, return_inverse=True)
        table = np.column_stack([*columns, limited])
        sums = _summed(place, table, len(hours)).T
        self._hours.append((hours, sums))
        loads = np.clip(np.rint(piece.users), 0, LOADS_MAX)
        judged = known & np.isfinite(loads)
        full = judged & (1.0 - piece.use + piece.low < Thresholds().idle_below)
        for row, chosen in enumerate((judged, full)):
            self._loads[row] += np.bincount(loads[chosen].astype(np.int64), minlength=LOADS_MAX + 1)
        self._clock(piece)
        counted = np.isfinite(piece.cpu_s)
        self.cpu_s += float(piece.cpu_s[counted].sum())
        self.cpu_known_s += float(length[counted].sum())
        self.intervals += len(length)

    def _clock(self, piece: _Piece) -> None:
        start, end = piece.start_us, piece.start_us + piece.length_s * 1e6
        before = np.concatenate([[self._ended_us], end[:-1]])
        allowed = np.maximum(observations.GAP_S, piece.length_s / 2.0) * 1e6
        self.backwards += int(np.count_nonzero(start < before - allowed))
        self._ended_us = float(end[-1])
        self.start_us, self.end_us = min(self.start_us, int(start.min())), max(self.end_us, int(end.max()))

    def hours(self) -> Hours:
        """Sums by hour, ascending."""
        hour = np.concatenate([hours for hours, _ in self._hours])
        table = np.concatenate([sums for _, sums in self._hours])
        hours, place = np.unique(hour, return_inverse=True)
        sums = _summed(place, table, len(hours))
        return Hours(
            hour=hours,
            intervals=sums[0],
            measured_s=sums[1],
            used_s=sums[2],
            known_s=sums[3],
            low_s=sums[4],
            memory_s=sums[6],
            memory_known_s=sums[7],
            users_s=sums[8],
            users_known_s=sums[9],
            full=sums[10:].T,
        )

    def below(self) -> float | None:
        """Fewest users with whom the CPUs were exhausted in `FULL_LEAST` of the intervals or more."""
        judged, full = self._loads
        often = np.flatnonzero(full > np.maximum(FULL_LEAST * judged, 0.5))
        return float(often[0]) if len(often) else None


def _summed(place: NDArray[np.int64], table: Array, groups: int) -> Array:
    """Sum of each column over the rows of each group, shape (columns, groups)."""
    sums: Array = np.array([np.bincount(place, column, groups) for column in table.T], dtype=np.float64)
    return sums


def _coefficients(
    log: Log, pieces: Callable[[], Iterator[_Piece]], kinds: Mapping[str, int], below: float | None
) -> dict[str, Coefficient]:
    """Coefficients by name; those that could not be estimated are left out."""
    chosen = list(kinds.values())

    def requested() -> Iterator[tuple[Array, Array]]:
        for piece in pieces():
            yield _complete(np.column_stack([piece.length_s, piece.requests[:, chosen]]), piece.system_s)

    def used(values: Callable[[_Piece], Array]) -> Iterator[tuple[Array, Array]]:
        for piece in pieces():
            # Chosen by the number of users alone: a choice by use would bend the line.
            free = piece.users < (np.inf if below is None else below - 0.5)
            x = np.column_stack([np.ones(len(piece.users)), np.where(free, piece.users, np.nan)])
            yield _complete(x, values(piece))

    found: dict[str, Coefficient | None] = {}
    found.update(zip((BASE, *kinds), costs.coefficients(requested, 1 + len(kinds)), strict=True))
    found[USER] = costs.coefficients(lambda: used(lambda piece: piece.use - piece.low), 2)[1]
    found[MEMORY] = costs.coefficients(lambda: used(lambda piece: piece.memory), 2)[1]
    found[INTERACTION] = costs.interaction(log)
    return {name: item for name, item in found.items() if item is not None}


def _complete(x: Array, y: Array) -> tuple[Array, Array]:
    """Rows in which everything was measured."""
    complete = np.isfinite(x).all(axis=1) & np.isfinite(y)
    return (x, y) if complete.all() else (x[complete], y[complete])
