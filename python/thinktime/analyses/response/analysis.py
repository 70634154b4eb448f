"""Response times by number of users and by class of interaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.response.decomposition import (
    IO_DELAY,
    RUN_DELAY,
    Decomposition,
    can_divide,
    decomposed,
    divided,
)
from thinktime.analyses.response.playing import ThroughputByUsers
from thinktime.errors import InputError, offered
from thinktime.log import facts, interaction_pieces
from thinktime.log.interaction_pieces import Piece, Stream
from thinktime.log.loads import ranges
from thinktime.log.periods import Span, sessions
from thinktime.questions.checks import check_level, check_log
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series.looks import Fold, Following, Looks, Ratio, mean, shared
from thinktime.stats.series.quantiles import Quantiles

if TYPE_CHECKING:
    from thinktime.log import Log

Array = NDArray[np.float64]

WAITED = "waited"
"""Column of interactions: true if the user waited for the reply."""
N_RELIABLE = 10
"""Completed interactions below which a response time is unreliable."""
CORRELATED = 0.2
"""Correlation of successive response times above which there is a caveat."""
DELAYED = 0.02
"""Delay of sending, relative to the response time, above which there is a caveat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Mean and quantiles of one kind of waiting time [s]."""

    n: int
    mean: Estimate
    p50: Estimate
    p90: Estimate
    p99: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseGroup:
    """Interactions of one range of users, or of one class."""

    label: str
    """``all``, the name of the class, or the range of users: ``3-4``."""
    population_low: float | None
    population_high: float | None
    typed: int | None
    """Users with an input, perhaps fewer than were asked for; None where the source does not name them."""
    arrived: int
    unfinished: int
    """Interactions not completed in the log; left out, though their response times are the longest."""
    response: Waiting | None
    """From the input to completion; None if none completed."""
    first_output: Waiting | None
    """From the input to the first output."""
    reaction: Waiting | None
    """From the input to the first slice of service, if the source records it."""
    service: Estimate | None
    """Mean CPU time received [s]."""
    stretch: Estimate | None
    """Stretch factor: mean response over mean service (ratio of means)."""
    throughput: Estimate | None
    """Interactions completed per second; None for a class, which is not a stretch of time."""
    parts: Decomposition | None
    """Mean response as CPU time, waits and rest; None where the source does not record the waits."""

    @property
    def is_short_of_users(self) -> bool:
        """True if fewer users typed than were asked for."""
        return self.population_low is not None and self.typed is not None and self.typed < self.population_low


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Response(Result):
    """Response times of all interactions, by number of users and by class."""

    MAIN = "groups"

    overall: ResponseGroup
    by_population: tuple[ResponseGroup, ...]
    by_class: tuple[ResponseGroup, ...]
    """Empty if there is only one class."""
    without: ResponseGroup | None
    """All interactions except the classes named in `without`; None if none were named."""
    growth: Estimate | None
    """Median response at the most users over that at the fewest, if both are reliable."""
    caveats: tuple[Caveat, ...]

    @property
    def groups(self) -> tuple[ResponseGroup, ...]:
        """All groups: by number of users, by class, and overall."""
        rest = () if self.without is None else (self.without,)
        return (*self.by_population, *self.by_class, *rest, self.overall)


def analyse(
    log: Log,
    *,
    width: int | None = None,
    without: Sequence[str] = (),
    accept_driver_load: bool = False,
    level: float = 0.95,
) -> Response | NotApplicable:
    r"""Response times by number of users and by class of interaction.

    Response time is :math:`R = t_{completion} - t_{due}`; times to the first output and to the first service
    (reaction time; Anderson and Sargent 1974) are taken in the same way. Intervals of means
    and quantiles allow for the correlation of successive interactions (`stats.series.long_run`). The stretch
    factor is :math:`\sum R_i / \sum S_i`, where S is the CPU time received (Brachman 1983): a ratio of
    means, which short interactions cannot dominate. Throughput is completions per second while that number
    of users was playing, so that Little's law can be checked: users = X (R + think time).

    Users do not wait for every reply: if the interactions have a column ``waited``, only those that a user
    waited for have response times (Sekino 1969, Table 1).

    Parameters
    ----------
    log : Log
    width : int, optional
        Numbers of users in a group, see `loads.ranges`.
    without : sequence of str
        Classes to leave out of an additional group: heavy commands, whose long responses dominate the
        overall mean.
    accept_driver_load : bool
        Give the times of a play whose driver was the load too: without it, the result is `NotApplicable`.
    level : float
        Confidence of the intervals.

    Raises
    ------
    TypeError
        `log` is not a `Log`.
    InputError
        No interaction has a class named in `without`, or `level` is not a confidence.
    """
    check_log(log)
    check_level(level)
    stream = interaction_pieces.read(log, [WAITED, RUN_DELAY, IO_DELAY])
    if stream is None:
        return NotApplicable(
            "the log has no interactions: inputs and response times were not recorded",
            "play users with `thinktime play` while recording",
        )
    refused = facts.driver_was_load(log)
    if refused is not None and not accept_driver_load:
        return refused
    looks = Looks(stream.pieces)
    seen = looks.ask(Fold(_Seen.absorb, _Seen(classes=np.zeros(len(stream.classes), dtype=np.int64))))()
    if not seen.completed:
        return NotApplicable(
            f"none of {seen.waited} interactions completed", "play for longer than an interaction takes"
        )
    names = [name for name, n in zip(stream.classes, seen.classes.tolist(), strict=True) if n]
    for name in without:
        if name not in names:
            raise InputError(f"without: {name}: there is no such class; {offered(name, names)}")
    loads = np.array(sorted(seen.loads))
    kinds = [
        _Kind("all", _waited),
        *(
            _Kind(
                f"{part.low:g}" if part.low == part.high else f"{part.low:g}-{part.high:g}",
                _playing(part.low, part.high),
                playing=(part.low, part.high),
            )
            for part in ranges(loads, width)
        ),
        *(_Kind(name or "(none)", _of_class(stream.classes.index(name)), is_class=True) for name in names),
    ]
    if without:
        heavy = np.array([name in without for name in stream.classes])
        kinds.append(_Kind(f"all but {', '.join(without)}", _not_of(heavy), is_rest=True))
    covered = sessions(log, stream.origin_us, 0.0, stream.last)
    made = _groups(looks, stream, kinds, covered, level)
    correlation = looks.ask(Following(seen.about_their_load()))
    groups = [group() for group in made]
    overall = groups[0]
    by_population = tuple(group for kind, group in zip(kinds, groups, strict=True) if kind.playing)
    by_class = tuple(group for kind, group in zip(kinds, groups, strict=True) if kind.is_class)
    return Response(
        overall=overall,
        by_population=by_population,
        by_class=by_class if len(names) > 1 else (),
        without=groups[-1] if without else None,
        growth=_growth(by_population, level),
        caveats=(*_of_play(log), *_caveats(stream.n, seen, overall, by_population, correlation())),
    )


Rows = Callable[[Piece], NDArray[np.bool_]]
"""Which interactions of a piece."""


def _waited(piece: Piece) -> NDArray[np.bool_]:
    """Those for whose reply the user waited."""
    waited: NDArray[np.bool_] = piece.columns[WAITED] != 0.0
    return waited


def _playing(low: float, high: float) -> Rows:
    def rows(piece: Piece) -> NDArray[np.bool_]:
        load = np.rint(piece.columns["population"])
        return _waited(piece) & (load >= low) & (load <= high)

    return rows


def _of_class(number: int) -> Rows:
    return lambda piece: _waited(piece) & (piece.class_of == number)


def _not_of(classes: NDArray[np.bool_]) -> Rows:
    return lambda piece: _waited(piece) & ~classes[piece.class_of]


@dataclass(slots=True, kw_only=True)
class _Seen:
    """What a first look at the interactions gives, of those whose reply was waited for."""

    classes: NDArray[np.int64]
    """Interactions of each class."""
    waited: int = 0
    completed: int = 0
    loads: set[float] = field(default_factory=set)
    """Numbers of users, in whole users."""
    by_load: dict[float, tuple[float, int]] = field(default_factory=dict)
    """Sum of the response times and their number, by number of users; 0 where it was not counted."""
    delay: tuple[float, int] = (0.0, 0)
    """Sum of the delays of sending, and their number."""

    def absorb(self, piece: Piece) -> _Seen:
        """Look at a piece."""
        rows = _waited(piece)
        self.waited += int(np.count_nonzero(rows))
        self.classes += np.bincount(piece.class_of[rows], minlength=len(self.classes))
        population = piece.columns["population"][rows]
        self.loads |= set(np.unique(np.rint(population[~np.isnan(population)])).tolist())
        load, response = _completed(piece)
        self.completed += len(response)
        values, group = np.unique(load, return_inverse=True)
        sums, counts = np.bincount(group, response), np.bincount(group)
        for value, total, n in zip(values.tolist(), sums.tolist(), counts.tolist(), strict=True):
            before = self.by_load.get(value, (0.0, 0))
            self.by_load[value] = before[0] + total, before[1] + n
        delay = (piece.times["sent"] - piece.times["due"])[rows]
        delay = delay[~np.isnan(delay)]
        self.delay = self.delay[0] + float(delay.sum()), self.delay[1] + len(delay)
        return self

    def about_their_load(self) -> Callable[[Piece], Array]:
        """Response times about the mean of their number of users."""
        loads = np.array(sorted(self.by_load))
        sums = (self.by_load[load] for load in loads.tolist())
        means = np.array([total / max(n, 1) for total, n in sums])

        def values(piece: Piece) -> Array:
            load, response = _completed(piece)
            about: Array = response - means[np.searchsorted(loads, load)]
            return about

        return values


def _completed(piece: Piece) -> tuple[Array, Array]:
    """Numbers of users and response times of the completed interactions that a user waited for."""
    response = piece.response
    rows = _waited(piece) & ~np.isnan(response)
    return np.nan_to_num(piece.columns["population"][rows]), response[rows]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A group of interactions."""

    label: str
    rows: Rows
    _: KW_ONLY
    playing: tuple[float, float] | None = None
    """Range of users, of a group by users."""
    is_class: bool = False
    is_rest: bool = False


@dataclass(slots=True, kw_only=True)
class _Counted:
    """Numbers of interactions of a group."""

    users: NDArray[np.bool_]
    """Who typed."""
    arrived: int = 0
    unfinished: int = 0
    divided: int = 0
    without_io: int = 0


def _groups(
    looks: Looks[Piece], stream: Stream, kinds: Sequence[_Kind], covered: Sequence[Span], level: float
) -> list[Callable[[], ResponseGroup]]:
    """Functions that give the groups, all of which are computed when the first is."""
    measured = shared(can_divide)
    members = [_Members(kind.rows, measured) for kind in kinds]
    counts = [
        looks.ask(Fold(_counting(of), _Counted(users=np.zeros(len(stream.users), bool)))) for of in members
    ]
    # What is asked for below depends on these: their look is one of its own.
    counted = [count() for count in counts]
    playing = [kind.playing for kind in kinds if kind.playing is not None]
    rates = looks.ask(ThroughputByUsers(stream, playing, covered, level))
    named = np.array([name != "" for name in stream.users])
    return [
        _group(looks, kind, seen, of, named, rates, level)
        for kind, seen, of in zip(kinds, counted, members, strict=True)
    ]


class _Members:
    """Interactions of a group among those of a piece."""

    def __init__(self, rows: Rows, measured: Callable[[Piece], NDArray[np.bool_]]) -> None:
        self._rows, self._measured = rows, measured
        self.rows = shared(self._places)
        """Their places."""
        self.response = shared(self._responses)
        """Their response times [s]."""
        self.parts = shared(self._divided)
        """Parts of the response times of those that have them (`divided`)."""

    def _places(self, piece: Piece) -> NDArray[np.int64]:
        return np.flatnonzero(self._rows(piece))

    def _responses(self, piece: Piece) -> Array:
        return piece.response[self.rows(piece)]

    def _divided(self, piece: Piece) -> tuple[Array, Array, Array, Array]:
        rows = self.rows(piece)
        return divided(piece, rows[self._measured(piece)[rows]])


def _counting(members: _Members) -> Callable[[_Counted, Piece], _Counted]:
    def step(counted: _Counted, piece: Piece) -> _Counted:
        rows = members.rows(piece)
        counted.users[piece.user_of[rows]] = True
        counted.arrived += len(rows)
        counted.unfinished += int(np.count_nonzero(np.isnan(members.response(piece))))
        io_wait = members.parts(piece)[3]
        counted.divided += len(io_wait)
        counted.without_io += int(np.count_nonzero(np.isnan(io_wait)))
        return counted

    return step


def _group(
    looks: Looks[Piece],
    kind: _Kind,
    counted: _Counted,
    members: _Members,
    named: NDArray[np.bool_],
    rates: Callable[[], Mapping[tuple[float, float], Estimate | None]],
    level: float,
) -> Callable[[], ResponseGroup]:
    """Ask for the figures of a group."""

    def since_due(event: str) -> Callable[[], Waiting | None]:
        def waits(piece: Piece) -> Array:
            rows = members.rows(piece)
            values = piece.times[event][rows] - piece.times["due"][rows]
            return values[~np.isnan(values)]

        return _waiting(looks, waits, level)

    def replied(piece: Piece) -> Array:
        values = members.response(piece)
        known: Array = values[~np.isnan(values)]
        return known

    def served(piece: Piece) -> tuple[Array, Array]:
        response, service = members.response(piece), piece.service[members.rows(piece)]
        rows = ~np.isnan(response) & ~np.isnan(service) & (service > 0)
        return response[rows], service[rows]

    of_served = shared(served)
    response = _waiting(looks, replied, level)
    first_output, reaction = map(since_due, ("first_output", "first_service"))
    service = looks.ask(mean(lambda piece: of_served(piece)[1], level))
    stretch = looks.ask(Ratio(of_served, level))
    decomposition = (
        decomposed(looks, members.parts, level, has_io=counted.without_io == 0) if counted.divided else None
    )

    def found() -> ResponseGroup:
        mean_service = service()
        return ResponseGroup(
            label=kind.label,
            population_low=kind.playing[0] if kind.playing else None,
            population_high=kind.playing[1] if kind.playing else None,
            typed=int(np.count_nonzero(counted.users & named)) or None,
            arrived=counted.arrived,
            unfinished=counted.unfinished,
            response=response(),
            first_output=first_output(),
            reaction=reaction(),
            service=None if mean_service is None else mean_service.with_unit("s"),
            stretch=stretch(),
            throughput=rates()[kind.playing] if kind.playing else None,
            parts=None if decomposition is None else decomposition(),
        )

    return found


def _waiting(
    looks: Looks[Piece], waits: Callable[[Piece], Array], level: float
) -> Callable[[], Waiting | None]:
    values = shared(waits)
    quantiles = looks.ask(Quantiles(values, (0.5, 0.9, 0.99), level))
    average = looks.ask(mean(values, level))

    def found() -> Waiting | None:
        middle = average()
        if middle is None:
            return None
        p50, p90, p99 = (quantile.with_unit("s") for quantile in quantiles())
        return Waiting(n=middle.n, mean=middle.with_unit("s"), p50=p50, p90=p90, p99=p99)

    return found


def _growth(groups: tuple[ResponseGroup, ...], level: float) -> Estimate | None:
    """Median at the most users over that at the fewest, among reliable groups."""
    reliable = [group.response for group in groups if group.response and group.response.n >= N_RELIABLE]
    if len(reliable) < 2:
        return None
    few, many = reliable[0], reliable[-1]
    low = high = None
    # Ends of two independent intervals: conservative, the pair covers at least at `level`.
    if few.p50.high and many.p50.low is not None:
        low = many.p50.low / few.p50.high
    if few.p50.low and many.p50.high is not None:
        high = many.p50.high / few.p50.low
    if few.p50.value <= 0.0:
        return None
    ratio = many.p50.value / few.p50.value
    return Estimate(
        value=ratio,
        unit="",
        n=few.n + many.n,
        method="ratio of medians, from both intervals' ends",
        low=low,
        high=high,
        level=level,
    )


def _of_play(log: Log) -> Iterator[Caveat]:
    """What the play itself says about its measurements, once for all sessions."""
    problem = facts.driver_problem(log)
    if problem is not None:
        yield Caveat("driver_was_load", problem=problem)
    plays = [session.facts.table("terminals") for session in facts.sessions(log)]
    hosts = {play.text("on") for play in plays} - {None}
    if hosts:
        yield Caveat("played_elsewhere", hosts=sorted(str(host) for host in hosts))
    accounts = [play.table("outcome").table("accounts") for play in plays]
    if any(account.text("cpu_time") == "processes" for account in accounts):
        yield Caveat("service_by_ticks")
    if any(account.flag("waits") is False for account in accounts):
        yield Caveat("waits_unknown")


def _caveats(
    count: int,
    seen: _Seen,
    overall: ResponseGroup,
    groups: tuple[ResponseGroup, ...],
    correlation: float,
) -> Iterator[Caveat]:
    if seen.waited < count:
        yield Caveat("waited_for", waited=seen.waited, interactions=count)
    if overall.unfinished:
        yield Caveat("unfinished", unfinished=overall.unfinished, interactions=overall.arrived)
    if few := [group.label for group in groups if group.response is None or group.response.n < N_RELIABLE]:
        yield Caveat("few_completed", least=N_RELIABLE, users=few)
    total, sent = seen.delay
    mean = overall.response.mean.value if overall.response else 0.0
    if sent and total / sent > DELAYED * mean:
        yield Caveat("sent_late", delay_s=total / sent)
    if seen.completed > 2 and correlation > CORRELATED:
        yield Caveat("correlated", correlation=correlation)
