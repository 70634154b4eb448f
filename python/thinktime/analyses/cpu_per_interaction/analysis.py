"""What the CPU time of an interaction is made of, by number of users and by page faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.cpu_per_interaction.source import Rows, read
from thinktime.log.loads import SINGLE_UP_TO, ranges
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.series import batch_means, ratio_regression

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Decomposition", "Line", "Point", "analyse"]

_Array = NDArray[np.float64]

N_FEW = 30
"""Interactions below which a point is not relied on."""
ROWS_FEW = 8
"""Intervals below which a point's error is hardly known."""
NEAR = 1.1
"""Most over fewest events an interaction, below which a line through the points says little."""


@dataclass(frozen=True, slots=True)
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
    """Too few to rely on: left out of the lines."""
    cpu: Estimate
    """CPU time an interaction [s]."""
    parts: tuple[Estimate, ...]
    """The same, part by part: they add to `cpu`."""
    shares: tuple[Estimate, ...]
    """Each part over the whole, 0 to 1."""
    events: Estimate | None
    """Events an interaction."""
    per_event: tuple[Estimate | None, ...]
    """Time of each part over the events [s]; None where none happened."""


@dataclass(frozen=True, slots=True)
class Line:
    """One part of the CPU time against events, both an interaction."""

    part: str
    """Its name; ``CPU time`` for the whole."""
    slope: Estimate
    """What an added event goes with [s]."""
    intercept: Estimate
    """What would be left without events [s]: outside what was seen."""
    deviation: float
    """Root mean square distance of the points from the line [s]."""


@dataclass(frozen=True, slots=True)
class Decomposition:
    """CPU time of an interaction, part by part."""

    of: str
    """Whose interactions."""
    event: str | None
    """What is counted besides."""
    parts: tuple[str, ...]
    """Names of the parts, the run time first."""
    points: tuple[Point, ...]
    """By number of users."""
    lines: tuple[Line, ...]
    """The whole first; empty where fewer than two points can be relied on."""
    caveats: tuple[str, ...]


def analyse(
    logs: Sequence[Log], names: Sequence[str], *, width: int | None = None, level: float = 0.95
) -> Decomposition | NotApplicable:
    r"""CPU time an interaction and its parts (Sekino 1969, Figures 1 to 3).

    At each number of users k, a part p takes :math:`t_{pk} = \sum_i T_{pi} / \sum_i n_i` an interaction, T
    being its CPU time and n the interactions completed in interval i; intervals are batch means of ratios.
    Each part is set against the events an interaction, :math:`t_{pk} = a_p + b_p f_k`, by least squares
    through the points of all numbers of users: the slope is what an added event goes with
    (`stats.ratio_line.through`).

    What is decomposed is told by the manifest; a session's ``machine`` has, as a simulated Multics writes
    it, ::

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
        One whose users vary, or one a number of users.
    names : sequence of str
        What they are called.
    width : int, optional
        Numbers of users looked at together, see `loads.ranges`.
    level : float
        Confidence of the intervals.

    Raises
    ------
    ValueError
        There is no log.
    """
    if not logs:
        raise ValueError("a decomposition needs a log")
    found = []
    for log, name in zip(logs, names, strict=True):
        rows = read(log)
        if isinstance(rows, NotApplicable):
            reason = rows.reason if len(logs) == 1 else f"{name}: {rows.reason}"
            return NotApplicable(reason, rows.remedy)
        found.append(rows)
    first = found[0]
    for name, rows in zip(names, found, strict=True):
        if (rows.parts, rows.of) != (first.parts, first.of):
            reason = f"{name} has other parts ({_words(rows)}) than {names[0]} ({_words(first)})"
            return NotApplicable(reason, "decompose logs of one kind together")
    event = first.event if all(rows.event == first.event for rows in found) else None
    groups = [group for name, rows in zip(names, found, strict=True) for group in _groups(name, rows, width)]
    points = sorted(
        ((_point(group, event, level), group) for group in groups), key=lambda item: item[0].users
    )
    solid = [group for point, group in points if not point.few]
    lines = _lines(solid, first.parts, level) if event else ()
    return Decomposition(
        first.of,
        event,
        first.parts,
        tuple(point for point, _ in points),
        lines,
        _caveats(found, [point for point, _ in points], lines),
    )


def _words(rows: Rows) -> str:
    return f"{', '.join(rows.parts)} of {rows.of}"


@dataclass(frozen=True, slots=True)
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
    """Rows by number of users: each number by itself where they are few, else ranges of them."""
    if width is None and len(np.unique(np.rint(rows.users))) <= SINGLE_UP_TO:
        width = 1
    return [
        _Group(
            name,
            float(np.rint(rows.users[part.rows].min())),
            float(np.rint(rows.users[part.rows].max())),
            rows.users[part.rows],
            rows.count[part.rows],
            rows.events[part.rows],
            rows.times[part.rows],
        )
        for part in ranges(rows.users, width)
        if rows.count[part.rows].sum() > 0.0
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

    columns = [group.times[:, at] for at in range(group.times.shape[1])]
    busy = float(whole.sum()) > 0.0
    return Point(
        group.log,
        group.low,
        group.high,
        float(group.users.mean()),
        n,
        n < N_FEW or len(group.count) < ROWS_FEW,
        known(whole, group.count, "s"),
        tuple(known(column, group.count, "s") for column in columns),
        tuple(known(column, whole, "") for column in columns) if busy else (),
        known(group.events, group.count, event) if event else None,
        tuple(ratio(column, group.events, "s") for column in columns) if event else (),
    )


def _lines(groups: Sequence[_Group], parts: Sequence[str], level: float) -> tuple[Line, ...]:
    """Lines of the whole and of each part; none where the points do not give one."""
    found = []
    for at, name in enumerate(("CPU time", *parts)):
        sums = [
            ratio_regression.batch_sums(
                group.events, group.times.sum(axis=1) if at == 0 else group.times[:, at - 1], group.count
            )
            for group in groups
        ]
        line = ratio_regression.fit_line(sums, level)
        if line is None:
            return ()
        found.append(Line(name, line.slope.with_unit("s"), line.intercept.with_unit("s"), line.deviation))
    return tuple(found)


def _caveats(found: Sequence[Rows], points: Sequence[Point], lines: Sequence[Line]) -> tuple[str, ...]:
    caveats = list(dict.fromkeys(text for rows in found for text in rows.caveats))
    if few := [f"{point.users:.3g}" for point in points if point.few]:
        caveats.append(
            f"Fewer than {N_FEW} interactions or {ROWS_FEW} intervals with {', '.join(few)} users: "
            "unreliable there, and left out of the lines."
        )
    seen = [point.events.value for point in points if point.events is not None and not point.few]
    if len(seen) == 2 and lines:
        caveats.append("Two points are always on a line: whether more would be is not known.")
    if lines and max(seen) < NEAR * min(seen):
        caveats.append(
            f"Events an interaction differ by {max(seen) / min(seen) - 1.0:.1%} only: slopes say little."
        )
    solid = [point for point in points if not point.few]
    if bent := [line.part for at, line in enumerate(lines) if line.deviation > _reach(solid, at - 1)]:
        caveats.append(
            f"Points of {', '.join(bent)} lie off the line by more than their errors: it is none, and the "
            "slope is a mean over what was seen."
        )
    if lines:
        caveats.append(
            "A slope is what goes along with an added event as users are added: whatever else grows with "
            "users is in it."
        )
    return tuple(caveats)


def _reach(points: Sequence[Point], part: int) -> float:
    """Root mean square half width of the intervals of a part; of the whole for -1."""
    found = [point.cpu if part < 0 else point.parts[part] for point in points]
    halves = [
        (value.high - value.low) / 2 for value in found if value.low is not None and value.high is not None
    ]
    return float(np.sqrt(np.mean(np.square(halves)))) if halves else float("inf")
