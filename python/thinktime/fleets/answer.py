"""The answer about a fleet: its machines, what they cost, where is room, and the logs that say nothing."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thinktime.errors import InputError
from thinktime.fleets import models
from thinktime.fleets.found import logs_of
from thinktime.fleets.machines import DAY, UNNAMED, Joined, Machine, common_time, describe, hour_of_day, join
from thinktime.fleets.models import Cost, Sought
from thinktime.fleets.summary import HOUR_US, Summary, Unusable, summarise
from thinktime.questions.checks import check_level
from thinktime.results import Result
from thinktime.stats.estimate import Estimate

Show = Callable[..., None]
"""Callback ``(done, total=..., stage=...)``: logs read, all of them, and the one read last."""

HOURS_EACH_MOST = 48
"""Hours of a fleet's record up to which each is shown by itself; of longer ones, the hours of the day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HourOfFleet:
    """One hour of the record, or one hour of the day over all days."""

    label: str
    """``2026-11-23 09:00``, or ``09:00``; UTC."""
    machines: int
    """Machines of which it was measured."""
    saturated: int
    """Machines that were saturated in it, on one day at least."""
    busy: float
    """Share of their CPUs in use, the median over machines."""
    busiest: float
    """The same, of the busiest tenth of the machines the least busy one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Share of the CPUs of a machine in use, by hour."""

    machine: str
    busy: tuple[float | None, ...]
    """In the order of `Fleet.by_hour`; None where it was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Fleet(Result):
    """Many machines, by their logs."""

    MAIN = "machines"

    logs: int
    """Logs that were read."""
    machines: tuple[Machine, ...]
    """Those that saturate most come first, then the busiest."""
    start_us: int
    """Start of the first record, microseconds since 1970 UTC; 0 where no log could be used. Machines that
    were recorded at another time than the rest of the fleet are neither in this nor in `by_hour`."""
    end_us: int
    versions: dict[str, int]
    """Number of logs by version of the format."""
    by_day: bool
    """True if hours are those of the day, over all days; false if each is one hour of the record."""
    by_hour: tuple[HourOfFleet, ...]
    use: tuple[Use, ...]
    """Of each machine, in the order of `machines`."""
    costs: tuple[Cost, ...]
    without_model: int
    """Machines whose logs do not name their model."""
    other_counters: int
    """Machines whose logs count other kinds of request than most: their costs are not compared."""
    outliers: Sought
    room: Estimate | None
    """More active users in all, in the busiest hour of each machine; None where no machine tells."""
    unusable: tuple[Unusable, ...]
    level: float


def fleet(
    *logs: str | Path, level: float = 0.95, threads: int | None = None, on_progress: Show | None = None
) -> Fleet:
    """Use, saturation, costs and room of many machines, from logs that are reduced one by one.

    Each log is read once; memory holds a few of them at a time, and 100 bytes for each of their hours. Logs
    of one host are one machine. A log that cannot be used is named in `Fleet.unusable`, and ends nothing.

    Parameters
    ----------
    *logs : str or Path
        Folders of logs, folders below which there are logs, and patterns of either.
    level : float
        Confidence of the intervals.
    threads : int, optional
        Logs read at the same time; as many as there are CPUs by default. The result does not depend on it.
    on_progress : callable, optional
        Called after each log with the number of those read, and with ``total`` and ``stage`` by name.

    Raises
    ------
    InputError
        No log is found, or a number is out of range.

    Examples
    --------
    >>> found = thinktime.fleet("/var/log/fleet")
    >>> found.to_frame().filter(pl.col("room_users") > 5)["name"]
    """
    check_level(level)
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise InputError(f"threads is {threads!r}; give a whole number of at least 1")
    paths = logs_of(logs)
    read = list(_read(paths, threads, on_progress))
    return of_summaries(
        [item for item in read if isinstance(item, Summary)],
        [item for item in read if isinstance(item, Unusable)],
        level=level,
    )


def _read(paths: Sequence[Path], threads: int | None, show: Show | None) -> Iterator[Summary | Unusable]:
    """Summary of each log, in their order."""
    workers = min(len(paths), threads or len(os.sched_getaffinity(0)))
    with ThreadPoolExecutor(workers) as pool:
        try:
            for number, found in enumerate(pool.map(summarise, paths), start=1):
                if show is not None:
                    show(number, total=len(paths), stage=found.path)
                yield found
        except BaseException:
            # Ctrl-C must not wait for a thousand logs that nobody has begun.
            pool.shutdown(cancel_futures=True)
            raise


def of_summaries(summaries: Sequence[Summary], unusable: Sequence[Unusable], *, level: float = 0.95) -> Fleet:
    """Answer from logs that have been reduced.

    Parameters
    ----------
    summaries, unusable : sequences of Summary and Unusable
    level : float
        Confidence of the intervals.
    """
    joined = join(summaries)
    common = common_time(joined) if joined else (0, 0)
    pairs = [(one, describe(one, common, level)) for one in joined]
    pairs.sort(
        key=lambda pair: (
            -len(pair[1].saturated),
            -pair[1].exhausted.value,
            -pair[1].busy.value,
            pair[1].name,
        )
    )
    joined, machines = tuple(one for one, _ in pairs), tuple(machine for _, machine in pairs)
    # Costs are seconds: a machine whose clock or CPUs are not what they seem has none.
    sound = [(one, machine) for one, machine in pairs if "cpus" not in machine.notes]
    compared = models.comparable([one for one, _ in sound])
    timed = [machine for machine in machines if "apart" not in machine.notes]
    start = min((machine.start_us for machine in timed), default=0)
    end = max((machine.end_us for machine in timed), default=0)
    by_day = math.ceil((end - start) / HOUR_US) > HOURS_EACH_MOST
    hours, use = _by_hour(joined, machines, by_day)
    chosen = {id(one) for one in compared}
    return Fleet(
        logs=len(summaries) + len(unusable),
        machines=machines,
        start_us=start,
        end_us=end,
        versions={
            str(version): sum(item.version == version for item in summaries)
            for version in sorted({item.version for item in summaries})
        },
        by_day=by_day,
        by_hour=hours,
        use=use,
        costs=models.costs(compared, level),
        without_model=sum(machine.model == UNNAMED for machine in machines),
        other_counters=len(sound) - len(compared),
        outliers=models.outliers(compared, [machine for one, machine in sound if id(one) in chosen], level),
        room=_room(machines, level),
        unusable=tuple(unusable),
        level=level,
    )


def _by_hour(
    joined: Sequence[Joined], machines: Sequence[Machine], by_day: bool
) -> tuple[tuple[HourOfFleet, ...], tuple[Use, ...]]:
    """Use of all machines by hour, and of each."""
    rows = [row for row, machine in enumerate(machines) if "apart" not in machine.notes]
    if not rows:
        return (), ()
    first = min(int(joined[row].hours.hour[0]) for row in rows)
    last = max(int(joined[row].hours.hour[-1]) for row in rows)
    size = DAY if by_day else last - first + 1
    shares, full = np.full((len(joined), size), np.nan), np.zeros((len(joined), size), dtype=np.bool_)
    for row in rows:
        hours = joined[row].hours
        place = hours.hour % DAY if by_day else hours.hour - first
        used, known = (np.bincount(place, values, size) for values in (hours.used_s, hours.known_s))
        np.divide(used, known, out=shares[row], where=known > 0.0)
        for start in machines[row].saturated:
            full[row, hour_of_day(start) if by_day else start // HOUR_US - first] = True
    measured = np.isfinite(shares)
    by_hour = []
    for column in range(size):
        known_shares = shares[measured[:, column], column]
        middle, high = np.quantile(known_shares, (0.5, 0.9)) if len(known_shares) else (math.nan, math.nan)
        by_hour.append(
            HourOfFleet(
                label=f"{column:02}:00" if by_day else _label((first + column) * HOUR_US),
                machines=int(measured[:, column].sum()),
                saturated=int(full[:, column].sum()),
                busy=float(middle),
                busiest=float(high),
            )
        )
    return tuple(by_hour), tuple(
        Use(
            machine=machine.name,
            busy=tuple(float(value) if math.isfinite(value) else None for value in shares[row].tolist()),
        )
        for row, machine in enumerate(machines)
    )


def _label(start_us: int) -> str:
    from datetime import datetime, timezone

    return f"{datetime.fromtimestamp(start_us // 1_000_000, timezone.utc):%Y-%m-%d %H:00}"


def _room(machines: Sequence[Machine], level: float) -> Estimate | None:
    """Sum over the machines that tell; their errors are independent."""
    told = [machine.room.users for machine in machines if machine.room.users is not None]
    if not told:
        return None
    value = sum(item.value for item in told)
    below = math.hypot(*(item.value - (item.value if item.low is None else item.low) for item in told))
    above = math.hypot(*((item.value if item.high is None else item.high) - item.value for item in told))
    return Estimate(
        value=value,
        unit="user",
        # Where only one end is known apart from the value, the other is the value: it is bounded there.
        low=math.floor(value - below) if below or above else None,
        high=math.ceil(value + above) if below or above else None,
        n=len(told),
        method="sum over machines",
        level=level,
    )
