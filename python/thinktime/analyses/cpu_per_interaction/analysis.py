"""Components of the CPU time of an interaction, by number of users and by page faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log import LogError, facts, interactions, observations
from thinktime.log.loads import SINGLE_UP_TO, ranges
from thinktime.questions.checks import check_level, check_logs
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series import batch_means, ratio_regression

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.facts import Facts

_Array = NDArray[np.float64]

N_FEW = 30
"""Interactions below which a point is unreliable."""
ROWS_FEW = 8
"""Intervals below which the error of a point is hardly known."""
NEAR = 1.1
"""Ratio of most to fewest events per interaction below which a line through the points means little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Interactions at one number of users."""

    log: str
    users_low: float
    """Fewest of these interactions."""
    users_high: float
    users: float
    """Mean over the intervals."""
    n: int
    """Interactions completed."""
    few: bool
    """True if there are too few interactions to rely on; such points are left out of the lines."""
    cpu: Estimate
    """CPU time per interaction [s]."""
    components: tuple[Estimate, ...]
    """CPU time per interaction of each component [s]; their sum is `cpu`."""
    shares: tuple[Estimate, ...]
    """Share of each component."""
    events: Estimate | None
    """Events per interaction."""
    per_event: tuple[Estimate | None, ...]
    """Time of each component per event [s]; None where no event happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Line of one component of the CPU time against events, both per interaction."""

    component: str
    """Its name; ``CPU time`` for the whole."""
    slope: Estimate
    """Time that comes with an additional event [s]."""
    intercept: Estimate
    """Extrapolated time without events [s]."""
    deviation: float
    """Root mean square distance of the points from the line [s]."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CpuPerInteraction(Result):
    """CPU time of an interaction and its components, by number of users."""

    MAIN = "points"

    of: str
    """Users whose interactions are counted."""
    event: str | None
    """Event that is counted; None where none is."""
    components: tuple[str, ...]
    """Names of the components, the run time first."""
    points: tuple[Point, ...]
    """By number of users."""
    lines: tuple[Line, ...]
    """CPU time first; empty where fewer than two points are reliable."""
    caveats: tuple[Caveat, ...]


def analyse(
    logs: Sequence[Log], names: Sequence[str], *, width: int | None = None, level: float = 0.95
) -> CpuPerInteraction | NotApplicable:
    r"""CPU time per interaction and its components (Sekino 1969, Figures 1 to 3).

    At each number of users k, a component p takes :math:`t_{pk} = \sum_i T_{pi} / \sum_i n_i` per
    interaction, T being its CPU time and n the interactions completed in interval i; intervals are batch
    means of ratios. Each component is regressed on the events per interaction,
    :math:`t_{pk} = a_p + b_p f_k`, by least squares through the points of all numbers of users: the slope is
    the time that comes with an additional event (`stats.series.ratio_regression.fit_line`).

    The manifest describes the components; a session's ``machine`` has, as a simulated Multics writes it, ::

        "decomposition": {
          "of": "scripted users",
          "users": "users",
          "interactions": "script_interactions",
          "event": {"name": "page fault", "count": "script_page_faults"},
          "parts": [{"name": "run", "time": "script_run_s"},
                    {"name": "page-fault processing", "time": "script_page_fault_s"},
                    {"name": "other faults", "time": "script_other_fault_s"}]
        }

    with columns of the samples: a gauge of the users, counters of interactions, of events (may be left
    out) and of the CPU time of each part, the run time first. Elsewhere the interactions that were played
    are taken, with the user and system time and the page faults of the processes that served them; failing
    that, the user and system time of the whole machine by interactions completed.

    Parameters
    ----------
    logs : sequence of Log
        One log whose users vary, or one for each number of users.
    names : sequence of str
        Names of the logs.
    width : int, optional
        Numbers of users looked at together, see `loads.ranges`.
    level : float
        Confidence of the intervals.

    Raises
    ------
    InputError
        There is no log, or names and logs differ in number, or two names are equal.
    TypeError
        `logs` is not a sequence of open logs.
    """
    check_logs(logs, names, least=1)
    check_level(level)
    tables = []
    for log, name in zip(logs, names, strict=True):
        rows = _read(log)
        if isinstance(rows, NotApplicable):
            reason = rows.reason if len(logs) == 1 else f"{name}: {rows.reason}"
            return NotApplicable(reason, rows.remedy)
        tables.append(rows)
    first = tables[0]
    for name, rows in zip(names, tables, strict=True):
        if (rows.components, rows.of) != (first.components, first.of):
            reason = f"{name} has other components ({_words(rows)}) than {names[0]} ({_words(first)})"
            return NotApplicable(reason, "analyse only logs of one kind together")
    event = first.event if all(rows.event == first.event for rows in tables) else None
    groups = [group for name, rows in zip(names, tables, strict=True) for group in _groups(name, rows, width)]
    both = sorted(((_point(group, event, level), group) for group in groups), key=lambda item: item[0].users)
    points = tuple(point for point, _ in both)
    reliable = [group for point, group in both if not point.few]
    lines = _lines(reliable, first.components, level) if event else ()
    origins = [rows.origin for rows in tables if rows.origin is not None]
    return CpuPerInteraction(
        of=first.of,
        event=event,
        components=first.components,
        points=points,
        lines=lines,
        caveats=(*map(Caveat, dict.fromkeys(origins)), *_caveats(points, lines)),
    )


def _words(rows: _Rows) -> str:
    return f"{', '.join(rows.components)} of {rows.of}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Rows of one log with one number of users."""

    log: str
    low: float
    high: float
    users: _Array
    count: _Array
    events: _Array
    times: _Array


def _groups(name: str, rows: _Rows, width: int | None) -> list[_Group]:
    """Rows by number of users: each number by itself where there are few, else ranges of numbers."""
    if width is None and len(np.unique(np.rint(rows.users))) <= SINGLE_UP_TO:
        width = 1
    return [
        _Group(
            log=name,
            low=float(np.rint(rows.users[item.rows].min())),
            high=float(np.rint(rows.users[item.rows].max())),
            users=rows.users[item.rows],
            count=rows.count[item.rows],
            events=rows.events[item.rows],
            times=rows.times[item.rows],
        )
        for item in ranges(rows.users, width)
        if rows.count[item.rows].sum() > 0.0
    ]


def _point(group: _Group, event: str | None, level: float) -> Point:
    whole = group.times.sum(axis=1)
    n = round(float(group.count.sum()))

    def ratio(amounts: _Array, lengths: _Array, unit: str) -> Estimate | None:
        if not lengths.sum() > 0.0:
            return None
        return batch_means.batch_ratio(amounts, lengths, level).with_unit(unit)

    def known(amounts: _Array, lengths: _Array, unit: str) -> Estimate:
        return batch_means.batch_ratio(amounts, lengths, level).with_unit(unit)

    columns = list(group.times.T)
    busy = float(whole.sum()) > 0.0
    return Point(
        log=group.log,
        users_low=group.low,
        users_high=group.high,
        users=float(group.users.mean()),
        n=n,
        few=n < N_FEW or len(group.count) < ROWS_FEW,
        cpu=known(whole, group.count, "s"),
        components=tuple(known(column, group.count, "s") for column in columns),
        shares=tuple(known(column, whole, "") for column in columns) if busy else (),
        events=known(group.events, group.count, event) if event else None,
        per_event=tuple(ratio(column, group.events, "s") for column in columns) if event else (),
    )


def _lines(groups: Sequence[_Group], components: Sequence[str], level: float) -> tuple[Line, ...]:
    """Lines of the CPU time and of each component; none where the points do not determine one."""
    lines = []
    for index, name in enumerate(("CPU time", *components)):
        sums = [
            ratio_regression.group_sums(
                group.events,
                group.times.sum(axis=1) if index == 0 else group.times[:, index - 1],
                group.count,
            )
            for group in groups
        ]
        line = ratio_regression.fit_line(sums, level)
        if line is None:
            return ()
        lines.append(
            Line(
                component=name,
                slope=line.slope.with_unit("s"),
                intercept=line.intercept.with_unit("s"),
                deviation=line.deviation,
            )
        )
    return tuple(lines)


def _caveats(points: Sequence[Point], lines: Sequence[Line]) -> Iterator[Caveat]:
    if few := tuple(point.users for point in points if point.few):
        yield Caveat("few", users=few)
    reliable = [point for point in points if not point.few]
    events = [point.events.value for point in reliable if point.events is not None]
    if len(events) == 2 and lines:
        yield Caveat("two_points")
    if lines and max(events) < NEAR * min(events):
        yield Caveat("similar_events", difference=max(events) / min(events) - 1.0)
    off = tuple(
        line.component for index, line in enumerate(lines) if line.deviation > _reach(reliable, index - 1)
    )
    if off:
        yield Caveat("not_a_line", components=off)
    if lines:
        yield Caveat("slopes_are_associations")


def _reach(points: Sequence[Point], component: int) -> float:
    """Root mean square half width of the intervals of a component; of the CPU time for -1."""
    values = [point.cpu if component < 0 else point.components[component] for point in points]
    halves = [
        (value.high - value.low) / 2 for value in values if value.low is not None and value.high is not None
    ]
    return float(np.sqrt(np.mean(np.square(halves)))) if halves else float("inf")


# Rows of a log

ENTRY = "decomposition"
RUN, SYSTEM = "user time", "system time"
FAULT = "page fault"
REMEDY = (
    "record a machine while `thinktime play` plays users on it, or simulate a system that meters its "
    "scripted users (`thinktime simulate multics`)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Intervals, or single interactions, of one log, in order."""

    of: str
    """Users whose interactions are counted: ``scripted users``."""
    event: str | None
    """Event that is counted: ``page fault``."""
    components: tuple[str, ...]
    """Components of the CPU time, the run time first."""
    users: _Array
    """Users logged in."""
    count: _Array
    """Interactions completed."""
    events: _Array
    """Events in them; nan throughout where none is counted."""
    times: _Array
    """CPU time [s], a column for each component."""
    origin: str | None = None
    """Kind of the caveat on how the CPU time was measured; None where the manifest describes it."""

    def complete(self) -> _Rows:
        """Rows of which every figure was measured."""
        measured = ~np.isnan(np.column_stack([self.users, self.count, self.times])).any(axis=1)
        if self.event is not None:
            measured &= ~np.isnan(self.events)
        arrays = ("users", "count", "events", "times")
        return replace(self, **{name: getattr(self, name)[measured] for name in arrays})


def _read(log: Log) -> _Rows | NotApplicable:
    """Rows that the manifest describes; else played interactions; else the time of the whole machine."""
    entry = _entry(log)
    rows = (_played(log) or _machine(log)) if entry is None else _described(log, entry)
    if isinstance(rows, NotApplicable):
        return rows
    complete = rows.complete()
    if not complete.count.sum() > 0.0:
        return NotApplicable("no interval has interactions, their number of users and all times", REMEDY)
    return complete


def _entry(log: Log) -> Facts | None:
    for session in reversed(facts.sessions(log)):
        if ENTRY in session.machine:
            return session.machine.table(ENTRY)
    return None


def _described(log: Log, entry: Facts) -> _Rows | NotApplicable:
    """Columns of the samples that the manifest names."""
    remedy = "see how a manifest describes the components, in thinktime.analyses.cpu_per_interaction.analysis"
    try:
        parts = tuple((_needed(part, "name"), _needed(part, "time")) for part in entry.tables("parts"))
        count, users = _needed(entry, "interactions"), _needed(entry, "users")
        event = entry.table("event") if "event" in entry else None
        named = None if event is None else (_needed(event, "name"), _needed(event, "count"))
    except LogError as error:
        return NotApplicable(f"the manifest's {ENTRY} is not complete: {error}", remedy)
    if not parts:
        return NotApplicable(f"the manifest's {ENTRY} names no parts", remedy)
    columns = [users, count, *(time for _, time in parts), *([named[1]] if named else [])]
    known = {column.name for column in log.schema("samples")}
    if missing := [name for name in columns if name not in known]:
        reason = f"the manifest's {ENTRY} names {', '.join(missing)}, which the samples lack"
        return NotApplicable(reason, remedy)
    samples = observations.read(log, columns)
    return _Rows(
        of=entry.text("of") or "all users",
        event=named[0] if named else None,
        components=tuple(name for name, _ in parts),
        users=samples.columns[users],
        count=samples.columns[count],
        events=samples.columns[named[1]] if named else np.full(len(samples), np.nan),
        times=np.column_stack([samples.columns[time] for _, time in parts]),
    )


def _needed(entry: Facts, key: str) -> str:
    return entry.needed(key).text(key) or ""


def _played(log: Log) -> _Rows | None:
    """Interactions with a CPU time of their own; None where they have none."""
    faults = ("page_faults_minor", "page_faults_major")
    played = interactions.read(log, faults)
    if played is None:
        return None
    done = ~np.isnan(played.response)
    times = np.column_stack([played.columns["user_s"], played.columns["system_s"]])[done]
    if not len(times) or np.isnan(times).all():
        return None
    counted = _sum([played.columns[name][done] for name in faults])
    event = FAULT if np.nansum(counted) > 0.0 else None
    return _Rows(
        of="played users",
        event=event,
        components=(RUN, SYSTEM),
        users=played.columns["population"][done],
        count=np.ones(len(times)),
        events=counted,
        times=times,
        origin="charged_time",
    )


def _machine(log: Log) -> _Rows | NotApplicable:
    """Time of the whole machine and the interactions that it completed."""
    roles = {
        role: observations.role_columns(log, role) for role in ("user_time", "system_time", "throughput")
    }
    if not roles["user_time"] or not roles["system_time"]:
        return NotApplicable("user and system time were not both measured", REMEDY)
    played = interactions.read(log)
    if played is None and not roles["throughput"]:
        return NotApplicable("the log does not record the number of completed interactions", REMEDY)
    faults = observations.quantities(log, ["page_faults"])
    counters = roles["throughput"][:1]
    gauges = ("users", *observations.role_columns(log, "load"))
    names = [*roles["user_time"], *roles["system_time"], *counters, *gauges]
    samples = observations.read(log, [*names, *(name for item in faults for name in item.columns)])
    times = np.column_stack([samples.total(roles["user_time"]), samples.total(roles["system_time"])])
    events = samples.total(faults[0].columns) if faults else np.full(len(samples), np.nan)
    if played is not None:
        count, users = played.completed_in(samples), played.population_in(samples)
    else:
        count = samples.columns[counters[0]]
        users = next(
            (samples.columns[name] for name in gauges if name not in samples.absent), np.ones(len(samples))
        )
    event = FAULT if np.nansum(events) > 0.0 else None
    return _Rows(
        of="all users",
        event=event,
        components=(RUN, SYSTEM),
        users=users,
        count=count,
        events=events,
        times=times,
        origin="whole_machine",
    )


def _sum(columns: Sequence[_Array]) -> _Array:
    """Sum of the columns that have any value."""
    known = [column for column in columns if not np.isnan(column).all()]
    return np.sum(known, axis=0) if known else np.full(len(columns[0]), np.nan)
