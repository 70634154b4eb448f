"""Components of the CPU time of an interaction, by number of users and by page faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.cpu_per_interaction.rows import Rows, read
from thinktime.log.loads import SINGLE_UP_TO, ranges
from thinktime.questions.results import Result, check_level, check_logs
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series import batch_means, ratio_regression

if TYPE_CHECKING:
    from thinktime.log import Log

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
    """Time that goes along with an added event [s]."""
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
    the time that goes along with an added event (`stats.series.ratio_regression.fit_line`).

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
        There is no log, or not as many different names as logs.
    TypeError
        `logs` is not a sequence of open logs.
    """
    check_logs(logs, names, least=1)
    check_level(level)
    tables = []
    for log, name in zip(logs, names, strict=True):
        rows = read(log)
        if isinstance(rows, NotApplicable):
            reason = rows.reason if len(logs) == 1 else f"{name}: {rows.reason}"
            return NotApplicable(reason, rows.remedy)
        tables.append(rows)
    first = tables[0]
    for name, rows in zip(names, tables, strict=True):
        if (rows.components, rows.of) != (first.components, first.of):
            reason = f"{name} has other components ({_words(rows)}) than {names[0]} ({_words(first)})"
            return NotApplicable(reason, "analyse logs of one kind together")
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


def _words(rows: Rows) -> str:
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


def _groups(name: str, rows: Rows, width: int | None) -> list[_Group]:
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
            ratio_regression.batch_sums(
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
