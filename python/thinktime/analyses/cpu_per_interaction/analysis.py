"""Components of the CPU time of an interaction, by number of users and by page faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log import LogError, facts, interaction_pieces, observations, playing
from thinktime.log.loads import SINGLE_UP_TO, ranges
from thinktime.questions.checks import check_level, check_logs
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series import ratio_regression
from thinktime.stats.series.batch_means import Batches
from thinktime.stats.series.looks import Fold, Looks, Ratio, Request, Total, shared
from thinktime.stats.series.ratio_regression import GroupSums

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.facts import Facts
    from thinktime.log.observations import Observations

_Array = NDArray[np.float64]

N_FEW = 30
"""Interactions below which a point is unreliable."""
ROWS_FEW = 8
"""Intervals below which the error of a point is hardly known."""
NEAR = 1.1
"""Ratio of most to fewest events per interaction below which no line is drawn through the points."""


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
    asked = [(_point(group, event, len(first.components), level), group) for group in groups]
    sums = {id(group): group.looks.ask(_Sums(group.rows, len(first.components))) for group in groups}
    both = sorted(((point(), group) for point, group in asked), key=lambda item: item[0].users)
    points = tuple(point for point, _ in both)
    reliable = [sums[id(group)]() for point, group in both if not point.few]
    lines = _lines(reliable, first.components, level) if event and not _are_similar(points) else ()
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
    looks: Looks[_Piece]
    rows: Callable[[_Piece], _Piece]
    """Its rows among those of a piece."""

    def ratio(
        self, amounts: Callable[[_Piece], _Array], lengths: Callable[[_Piece], _Array], level: float
    ) -> Callable[[], Estimate | None]:
        """Ratio of sums."""

        def parts(piece: _Piece) -> tuple[_Array, _Array]:
            rows = self.rows(piece)
            return amounts(rows), lengths(rows)

        return self.looks.ask(Ratio(parts, level))


def _groups(name: str, rows: _Rows, width: int | None) -> list[_Group]:
    """Rows by number of users: each number by itself where there are few, else ranges of numbers."""
    users = np.array(sorted(rows.counts))
    if width is None and len(users) <= SINGLE_UP_TO:
        width = 1
    return [
        _Group(
            log=name,
            low=float(users[item.rows].min()),
            high=float(users[item.rows].max()),
            looks=rows.looks,
            rows=shared(_members(float(users[item.rows].min()), float(users[item.rows].max()))),
        )
        for item in ranges(users, width)
        if sum(rows.counts[float(one)] for one in users[item.rows]) > 0.0
    ]


def _members(low: float, high: float) -> Callable[[_Piece], _Piece]:
    def of(piece: _Piece) -> _Piece:
        load = np.rint(piece.users)
        return piece.chosen((load >= low) & (load <= high))

    return of


def _point(group: _Group, event: str | None, components: int, level: float) -> Callable[[], Point]:
    users = group.looks.ask(Total(lambda piece: group.rows(piece).users))
    count = group.looks.ask(Total(lambda piece: group.rows(piece).count))
    columns = [_column(index) for index in range(components)]
    cpu = group.ratio(_whole, _count, level)
    parts = [group.ratio(column, _count, level) for column in columns]
    shares = [group.ratio(column, _whole, level) for column in columns]
    events = group.ratio(_events, _count, level) if event else None
    per_event = [group.ratio(column, _events, level) for column in columns] if event else []

    def point() -> Point:
        n, rows = round(count()[0]), count()[1]
        busy = all(share() is not None for share in shares)
        return Point(
            log=group.log,
            users_low=group.low,
            users_high=group.high,
            users=users()[0] / rows,
            n=n,
            few=n < N_FEW or rows < ROWS_FEW,
            cpu=_with_unit(cpu, "s"),
            components=tuple(_with_unit(part, "s") for part in parts),
            shares=tuple(_with_unit(share, "") for share in shares) if busy else (),
            events=_with_unit(events, event) if events and event else None,
            per_event=tuple(
                None if (found := each()) is None else found.with_unit("s") for each in per_event
            ),
        )

    return point


def _count(piece: _Piece) -> _Array:
    return piece.count


def _events(piece: _Piece) -> _Array:
    return piece.events


def _whole(piece: _Piece) -> _Array:
    """CPU time of all components."""
    whole: _Array = piece.times.sum(axis=1)
    return whole


def _column(index: int) -> Callable[[_Piece], _Array]:
    return lambda piece: piece.times[:, index]


def _with_unit(asked: Callable[[], Estimate | None], unit: str) -> Estimate:
    estimate = asked()
    assert estimate is not None, "there are interactions"
    return estimate.with_unit(unit)


class _Sums(Request["_Piece", "list[GroupSums]"]):
    """Sums of a group for its line: CPU time first, then each component."""

    def __init__(self, rows: Callable[[_Piece], _Piece], components: int) -> None:
        self._rows, self._components = rows, components
        self._n = 0
        self._batches: Batches | None = None

    def _columns(self, piece: _Piece) -> tuple[_Array, ...]:
        rows = self._rows(piece)
        return (rows.events, _whole(rows), *rows.times.T)

    def absorb(self, piece: _Piece) -> None:
        if self._batches is None:
            self._n += len(self._rows(piece))
        else:
            self._batches.absorb(np.column_stack(self._columns(piece)), self._rows(piece).count)

    def more(self) -> bool:
        if self._batches is not None:
            return False
        self._batches = Batches(self._n, self._components + 2)
        return True

    def answer(self) -> list[GroupSums]:
        assert self._batches is not None, "the rows were counted"
        (events, *times), count = self._batches.sums
        return [GroupSums(x=events, y=time, count=count) for time in times]

    def whole(self, piece: _Piece) -> list[GroupSums]:
        events, *times = self._columns(piece)
        count = self._rows(piece).count
        return [ratio_regression.group_sums(events, time, count) for time in times]


def _lines(sums: Sequence[Sequence[GroupSums]], components: Sequence[str], level: float) -> tuple[Line, ...]:
    """Lines of the CPU time and of each component; none where the points do not determine one."""
    lines = []
    for index, name in enumerate(("CPU time", *components)):
        line = ratio_regression.fit_line([group[index] for group in sums], level)
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


def _events_of(points: Sequence[Point]) -> list[float]:
    """Events per interaction at the points from which lines are drawn."""
    return [point.events.value for point in points if not point.few and point.events is not None]


def _are_similar(points: Sequence[Point]) -> bool:
    """True if several points have nearly as many events: errors of the times would decide the slopes."""
    events = _events_of(points)
    return len(events) > 1 and max(events) < NEAR * min(events)


def _caveats(points: Sequence[Point], lines: Sequence[Line]) -> Iterator[Caveat]:
    if few := tuple(point.users for point in points if point.few):
        yield Caveat("few", users=few)
    reliable = [point for point in points if not point.few]
    events = _events_of(points)
    if len(events) == 2 and lines:
        yield Caveat("two_points")
    if _are_similar(points):
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
FAULTS = ("page_faults_minor", "page_faults_major")
REMEDY = (
    "record a machine while `thinktime play` plays users on it, or simulate a system that meters its "
    "scripted users (`thinktime simulate multics`)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Intervals, or single interactions, in order."""

    users: _Array
    """Users logged in."""
    count: _Array
    """Interactions completed."""
    events: _Array
    """Events in them; nan throughout where none is counted."""
    times: _Array
    """CPU time [s], a column for each component."""

    def __len__(self) -> int:
        return len(self.count)

    def chosen(self, rows: NDArray[np.bool_]) -> _Piece:
        """Some of the rows."""
        return _Piece(
            users=self.users[rows], count=self.count[rows], events=self.events[rows], times=self.times[rows]
        )

    def complete(self, *, with_events: bool) -> _Piece:
        """Rows of which every figure was measured."""
        known = [self.users, self.count, self.times, *([self.events] if with_events else [])]
        return self.chosen(np.array(np.isfinite(np.column_stack(known)).all(axis=1), dtype=np.bool_))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Rows of one log."""

    of: str
    """Users whose interactions are counted: ``scripted users``."""
    event: str | None
    """Event that is counted: ``page fault``."""
    components: tuple[str, ...]
    """Components of the CPU time, the run time first."""
    looks: Looks[_Piece]
    """Rows of which every figure was measured."""
    counts: dict[float, float]
    """Interactions completed, by number of users in whole users."""
    origin: str | None
    """Kind of the caveat on how the CPU time was measured; None where the manifest describes it."""


def _rows_of(
    pieces: Callable[[], Iterator[_Piece]],
    *,
    of: str,
    event: str | None,
    components: tuple[str, ...],
    origin: str | None = None,
) -> _Rows:
    """Rows that come in pieces, of which those are used that were measured completely."""
    looks = Looks(
        observations.held(lambda: (piece.complete(with_events=event is not None) for piece in pieces()))
    )

    def step(counts: dict[float, float], piece: _Piece) -> dict[float, float]:
        users, place = np.unique(np.rint(piece.users), return_inverse=True)
        sums = np.bincount(place, piece.count, len(users))
        for number, count in zip(users.tolist(), sums.tolist(), strict=True):
            counts[number] = counts.get(number, 0.0) + count
        return counts

    counts = looks.ask(Fold[_Piece, dict[float, float]](step, {}))()
    return _Rows(of=of, event=event, components=components, looks=looks, counts=counts, origin=origin)


def _read(log: Log) -> _Rows | NotApplicable:
    """Rows that the manifest describes; else played interactions; else the time of the whole machine."""
    entry = _entry(log)
    rows = (_played(log) or _machine(log)) if entry is None else _described(log, entry)
    if isinstance(rows, NotApplicable):
        return rows
    if not sum(rows.counts.values()) > 0.0:
        return NotApplicable("no interval has interactions, their number of users and all times", REMEDY)
    return rows


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

    def pieces() -> Iterator[_Piece]:
        for piece in observations.chunks(log, columns):
            yield _Piece(
                users=piece.columns[users],
                count=piece.columns[count],
                events=piece.columns[named[1]] if named else np.full(len(piece), np.nan),
                times=np.column_stack([piece.columns[time] for _, time in parts]),
            )

    return _rows_of(
        pieces,
        of=entry.text("of") or "all users",
        event=named[0] if named else None,
        components=tuple(name for name, _ in parts),
    )


def _needed(entry: Facts, key: str) -> str:
    return entry.needed(key).text(key) or ""


@dataclass(slots=True)
class _Faults:
    """Page faults of the completed interactions, and whether these have any time."""

    timed: bool = False
    known: tuple[bool, ...] = (False, False)
    """Whether minor and major ones were counted."""
    totals: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Of minor ones, of major ones, and of both where both were counted."""

    def absorb(self, piece: interaction_pieces.Piece) -> _Faults:
        """Look at a piece."""
        done = ~np.isnan(piece.response)
        times = np.column_stack([piece.columns["user_s"], piece.columns["system_s"]])[done]
        self.timed = self.timed or not np.isnan(times).all()
        counted = [piece.columns[name][done] for name in FAULTS]
        self.known = tuple(
            known or not np.isnan(faults).all() for known, faults in zip(self.known, counted, strict=True)
        )
        sums = (float(np.nansum(faults)) for faults in (*counted, np.sum(counted, axis=0)))
        minor, major, both = (total + more for total, more in zip(self.totals, sums, strict=True))
        self.totals = minor, major, both
        return self

    @property
    def total(self) -> float:
        """Page faults of those kinds that were counted."""
        minor, major, both = self.totals
        return both if all(self.known) else minor if self.known[0] else major


def _played(log: Log) -> _Rows | None:
    """Interactions with a CPU time of their own; None where they have none."""
    played = interaction_pieces.read(log, FAULTS)
    if played is None:
        return None
    seen = Looks(played.pieces).ask(Fold(_Faults.absorb, _Faults()))()
    if not seen.timed:
        return None
    counted = [name for name, known in zip(FAULTS, seen.known, strict=True) if known]

    def pieces() -> Iterator[_Piece]:
        for piece in played.pieces():
            done = ~np.isnan(piece.response)
            times = np.column_stack([piece.columns["user_s"], piece.columns["system_s"]])[done]
            faults = [piece.columns[name][done] for name in counted]
            yield _Piece(
                users=piece.columns["population"][done],
                count=np.ones(len(times)),
                events=np.sum(faults, axis=0) if faults else np.full(len(times), np.nan),
                times=times,
            )

    event = FAULT if seen.total > 0.0 else None
    return _rows_of(pieces, of="played users", event=event, components=(RUN, SYSTEM), origin="charged_time")


def _machine(log: Log) -> _Rows | NotApplicable:
    """Time of the whole machine and the interactions that it completed."""
    roles = {
        role: observations.role_columns(log, role) for role in ("user_time", "system_time", "throughput")
    }
    if not roles["user_time"] or not roles["system_time"]:
        return NotApplicable("user and system time were not both measured", REMEDY)
    played = playing.read(log)
    if played is None and not roles["throughput"]:
        return NotApplicable("the log does not record the number of completed interactions", REMEDY)
    faults = observations.quantities(log, ["page_faults"])
    counters = roles["throughput"][:1]
    gauges = ("users", *observations.role_columns(log, "load"))
    names = [*roles["user_time"], *roles["system_time"], *counters, *gauges]
    names += [name for item in faults for name in item.columns]

    def events_in(piece: Observations) -> _Array:
        return piece.total(faults[0].columns) if faults else np.full(len(piece), np.nan)

    def pieces() -> Iterator[_Piece]:
        for piece in observations.chunks(log, names):
            if played is not None:
                count, users = played.completed_in(piece), played.population_in(piece)
            else:
                count = piece.columns[counters[0]]
                users = next(
                    (piece.columns[name] for name in gauges if name not in piece.absent), np.ones(len(piece))
                )
            yield _Piece(
                users=users,
                count=count,
                events=events_in(piece),
                times=np.column_stack([piece.total(roles["user_time"]), piece.total(roles["system_time"])]),
            )

    total = sum(float(np.nansum(events_in(piece))) for piece in observations.chunks(log, names))
    event = FAULT if total > 0.0 else None
    return _rows_of(pieces, of="all users", event=event, components=(RUN, SYSTEM), origin="whole_machine")
