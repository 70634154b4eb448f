"""Where the time of interactions goes: states of each response, of all inputs and of the slowest tenth."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from thinktime.log import interaction_pieces
from thinktime.log.facts import driver_was_load
from thinktime.log.interaction_pieces import Piece, Stream
from thinktime.questions.checks import check_level, check_log
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series import batch_means
from thinktime.stats.series.looks import Fold, Looks, Ratio, Request, Total, shared
from thinktime.stats.series.quantiles import Quantiles

if TYPE_CHECKING:
    from thinktime.log import Log

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
StateName = Literal["cpu", "cpu_wait", "io_wait", "rest", "undivided"]

SLOWEST = 0.1
"""Fraction of the interactions that are called the slowest."""
N_LEAST = 20
"""Completed interactions below which the slowest tenth is one or two of them."""
USERS_LEAST = 10
"""Users from which on differences between them bound the interval too."""
_WAITED, _RUN_DELAY, _IO_DELAY, _MAJOR = "waited", "run_delay_s", "io_delay_s", "page_faults_major"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Time of one state, in all interactions and in the slowest tenth."""

    name: StateName
    share: Estimate
    """Share of the time of all responses."""
    slow_share: Estimate
    """Share of the time of the slowest responses."""
    mean: Estimate
    """Mean time in a response [s]."""
    slow_mean: Estimate
    """The same in a slow one [s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowClass:
    """A class of inputs, and what the slow ones among them waited for."""

    name: str
    n: int
    slow: int
    """Number of its interactions among the slowest tenth."""
    share_of_slow: Estimate
    """Share of the slowest tenth that is of this class."""
    response: Estimate
    """Mean response time [s]."""
    longest_state: StateName | None
    """State with most time in its slow interactions; None where it has none."""
    longest_share: float | None
    """Share of that state in the time of its slow interactions."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class States(Result):
    """States of the responses, and of the slowest tenth of them."""

    MAIN = "states"

    interactions: int
    """Completed interactions."""
    users: int
    slow: int
    """Number of the slowest."""
    threshold: Estimate
    """Response time that the slowest exceed [s]."""
    states: tuple[State, ...]
    """In the order of a response; their shares add to 1."""
    classes: tuple[SlowClass, ...]
    """By decreasing number of slow interactions; empty where there is one class only."""
    divided: int
    """Interactions whose response could be divided."""
    has_io: bool
    """True if the wait for I/O was measured; else the rest has it."""
    major_faults: Estimate | None
    """Page faults per interaction that waited for a disk; their time is in the wait for I/O."""
    slow_major_faults: Estimate | None
    caveats: tuple[Caveat, ...]


def analyse(log: Log, *, level: float = 0.95) -> States | NotApplicable:
    r"""Time of the responses by state, of all interactions and of the slowest tenth.

    Over the completed interactions for which a user waited. A response is divided as :math:`R = S + W_{CPU}
    + W_{I/O} + rest`, as the kernel accounted for its processes; where it was not, all of it is
    *undivided*, so that shares are of all time. Share of a state:
    :math:`\sum_i T_i / \sum_i R_i` over the interactions of the group, a ratio with the wider of two
    intervals, by the long-run variance in time and by differences between users (`_Inputs.estimate`). No
    trace is needed.

    Parameters
    ----------
    log : Log
    level : float
        Confidence of the intervals.

    Raises
    ------
    TypeError
        `log` is not an open log.
    """
    check_log(log)
    check_level(level)
    stream = interaction_pieces.read(log, (_WAITED, _RUN_DELAY, _IO_DELAY, _MAJOR))
    if stream is None:
        return NotApplicable(
            "the log has neither interactions nor events of them",
            "play users with `thinktime play`, or simulate some with `thinktime simulate apl360 --trace`",
        )
    if (refused := driver_was_load(log)) is not None:
        return refused
    looks = Looks(stream.pieces)
    asked = looks.ask(Fold(_Seen.absorb, _Seen.none(stream)))
    thresholds = looks.ask(Quantiles(lambda piece: piece.response[_done(piece)], (1.0 - SLOWEST,), level))
    seen = asked()
    if not seen.known:
        return NotApplicable(
            "the log has no events of interactions, and none of them has its wait for a CPU: where their "
            "time went is unknown",
            "play a script at real shells with `thinktime play`, on a kernel with schedstat, or use "
            "`thinktime simulate apl360 --trace`",
        )
    if seen.n < N_LEAST:
        return NotApplicable(
            f"only {seen.n} interactions were completed; {N_LEAST} are needed to call a tenth of them "
            "the slowest",
            "play for longer",
        )
    (threshold,) = thresholds()
    inputs = _Inputs(looks, stream, seen, threshold.value, level)
    if not inputs.slow.n:
        return NotApplicable("all responses took equally long", "use a finer clock")
    counted = not seen.without_faults
    states = [_state(name, inputs) for name in inputs.names]
    classes = _classes(inputs)
    major = inputs.ratio(_faults, None) if counted else None
    slow_major = inputs.of_slow(_faults, _MAJOR) if counted else None
    return States(
        interactions=seen.n,
        users=inputs.users,
        slow=inputs.slow.n,
        threshold=threshold.with_unit("s"),
        states=tuple(state() for state in states),
        classes=classes(),
        divided=seen.known,
        has_io=seen.has_io,
        major_faults=None if major is None else major().with_unit("fault"),
        slow_major_faults=None if slow_major is None else slow_major().with_unit("fault"),
        caveats=tuple(_caveats(stream, seen, inputs.totals())),
    )


def _done(piece: Piece) -> Flags:
    """Completed interactions for whose reply the user waited."""
    response = piece.response
    done: Flags = (piece.columns[_WAITED] != 0.0) & ~np.isnan(response) & (response >= 0.0)
    return done


def _response(piece: Piece) -> Array:
    return piece.response[_done(piece)]


def _classes_of(piece: Piece) -> NDArray[np.int64]:
    return piece.class_of[_done(piece)]


def _faults(piece: Piece) -> Array:
    return piece.columns[_MAJOR][_done(piece)]


def _is_known(piece: Piece, done: Flags) -> Flags:
    """Which of the completed interactions can be divided."""
    service = piece.service[done]
    return ~np.isnan(np.where(np.isnan(service), np.nan, piece.columns[_RUN_DELAY][done]))


@dataclass(slots=True, kw_only=True)
class _Seen:
    """What a first look at the interactions gives."""

    users: Flags
    classes: NDArray[np.int64]
    """Completed interactions of each class."""
    n: int = 0
    """Completed interactions."""
    known: int = 0
    """Those that can be divided."""
    has_io: bool = True
    without_faults: int = 0
    unfinished: int = 0

    @classmethod
    def none(cls, stream: Stream) -> _Seen:
        """Nothing seen yet."""
        return cls(
            users=np.zeros(len(stream.users), dtype=np.bool_),
            classes=np.zeros(len(stream.classes), dtype=np.int64),
        )

    def absorb(self, piece: Piece) -> _Seen:
        """Look at a piece."""
        done = _done(piece)
        known = _is_known(piece, done)
        self.users[piece.user_of[done]] = True
        self.classes += np.bincount(piece.class_of[done], minlength=len(self.classes))
        self.n += int(np.count_nonzero(done))
        self.known += int(np.count_nonzero(known))
        self.has_io = self.has_io and not np.isnan(piece.columns[_IO_DELAY][done][known]).any()
        self.without_faults += int(np.count_nonzero(np.isnan(_faults(piece))))
        self.unfinished += int(np.isnan(piece.times["completion"]).sum())
        return self


@dataclass(slots=True)
class _Slow:
    """What a look at the slow interactions gives, and at those next to the threshold."""

    n: int = 0
    shortest: float = math.inf
    """Shortest response of the slow ones."""
    by_class: dict[tuple[str, int], float] = field(default_factory=dict)
    """Sums of the slow ones by amount and class; their number under an empty name."""
    sums: dict[str, float] = field(default_factory=dict)
    """Sums of the slow ones by amount."""
    near: dict[str, Array] = field(default_factory=dict)
    """Amounts of the interactions nearest to the threshold, the nearest first; their distances under an
    empty name."""


class _Inputs:
    """Completed interactions, their states, and the slow ones among them."""

    def __init__(
        self, looks: Looks[Piece], stream: Stream, seen: _Seen, threshold: float, level: float
    ) -> None:
        self._looks, self._seen, self._threshold, self._level = looks, seen, threshold, level
        self.class_names = {
            number: stream.classes[number] for number in np.flatnonzero(seen.classes).tolist()
        }
        self.counts = seen.classes
        """Completed interactions of each class."""
        self._number = np.cumsum(seen.users) - 1
        self.users = int(np.count_nonzero(seen.users))
        """Users who completed an interaction."""
        names: tuple[StateName, ...] = ("cpu", "cpu_wait", "io_wait", "rest")
        self.names: tuple[StateName, ...] = tuple(name for name in names if seen.has_io or name != "io_wait")
        if seen.known < seen.n:
            self.names = (*self.names, "undivided")
        self._nearest = max(3, math.isqrt(seen.n))
        self.divided = shared(self._divided)
        self.response = shared(_response)
        """Response time of each [s]."""
        self._users_of = shared(self._users)
        self.classes_of = shared(_classes_of)
        """Class of each."""
        self._ones = shared(self._one_each)
        self._is_slow = shared(self._slowness)
        """1 for the slow ones."""
        self._excess = shared(self._more_than_expected)
        self.slow = looks.ask(Fold(self._absorb, _Slow()))()
        self._fraction = float(self.slow.n) / seen.n
        self._totals = {name: looks.ask(Total(self.state(name))) for name in self.names}

    def _users(self, piece: Piece) -> NDArray[np.int64]:
        numbers: NDArray[np.int64] = self._number[piece.user_of[_done(piece)]]
        return numbers

    def _one_each(self, piece: Piece) -> Array:
        return np.ones_like(self.response(piece))

    def _slowness(self, piece: Piece) -> Array:
        return (self.response(piece) > self._threshold).astype(np.float64)

    def _more_than_expected(self, piece: Piece) -> Array:
        excess: Array = self._is_slow(piece) - self._fraction
        return excess

    def _divided(self, piece: Piece) -> dict[StateName, Array]:
        """Time of each state in each interaction; the states add to the response."""
        done = _done(piece)
        response, known = piece.response[done], _is_known(piece, done)
        none = np.zeros_like(response)
        cpu = np.where(known, piece.service[done], none)
        cpu_wait = np.where(known, piece.columns[_RUN_DELAY][done], none)
        io_wait = np.where(known, piece.columns[_IO_DELAY][done], none) if self._seen.has_io else none
        undivided = np.where(known, none, response)
        rest = np.where(known, response - cpu - cpu_wait - io_wait, none)
        return {"cpu": cpu, "cpu_wait": cpu_wait, "io_wait": io_wait, "rest": rest, "undivided": undivided}

    def state(self, name: StateName) -> Callable[[Piece], Array]:
        """Time of a state in each interaction [s]."""
        return lambda piece: self.divided(piece)[name]

    def totals(self) -> dict[StateName, float]:
        """Time of each state in all interactions [s]."""
        return {name: total()[0] for name, total in self._totals.items()}

    def _amounts(self, piece: Piece) -> dict[str, Array]:
        divided = self.divided(piece)
        amounts: dict[str, Array] = {name: divided[name] for name in self.names}
        amounts["response"] = self.response(piece)
        if not self._seen.without_faults:
            amounts[_MAJOR] = _faults(piece)
        return amounts

    def _absorb(self, slow: _Slow, piece: Piece) -> _Slow:
        amounts, classes = self._amounts(piece), self.classes_of(piece)
        response = amounts["response"]
        is_slow = response > self._threshold
        slow.n += int(np.count_nonzero(is_slow))
        slow.shortest = min(slow.shortest, float(response[is_slow].min(initial=math.inf)))
        for name, values in amounts.items():
            slow.sums[name] = slow.sums.get(name, 0.0) + float(values[is_slow].sum())
        for number in self.class_names:
            inside = is_slow & (classes == number)
            for name, values in amounts.items():
                key = name, number
                slow.by_class[key] = slow.by_class.get(key, 0.0) + float(values[inside].sum())
            slow.by_class["", number] = slow.by_class.get(("", number), 0.0) + np.count_nonzero(inside)
        distance = {"": np.abs(response - self._threshold)}
        near = amounts | distance | {"class": classes.astype(np.float64)}
        if slow.near:
            near = {name: np.concatenate([slow.near[name], values]) for name, values in near.items()}
        nearest = _least(near[""], self._nearest)
        slow.near = {name: values[nearest] for name, values in near.items()}
        return slow

    def ratio(
        self, amounts: Callable[[Piece], Array], lengths: Callable[[Piece], Array] | None
    ) -> Callable[[], Estimate]:
        """Ratio of sums, with the wider of two intervals: by time, and by users where there are enough.

        Neighbours in time share the state of the machine, and a user's inputs share the user.
        """

        def parts(piece: Piece) -> tuple[Array, Array]:
            return amounts(piece), self._ones(piece) if lengths is None else lengths(piece)

        return self._looks.ask(_Wider(parts, self._users_of, self.users, self._level))

    def of_slow(
        self, amounts: Callable[[Piece], Array], name: str, *, of_response: bool = False
    ) -> Callable[[], Estimate]:
        r"""Ratio of the sums of the slow ones, to their number or their responses.

        The threshold :math:`\xi` is itself estimated: a sum over :math:`R > \xi` has the influence
        :math:`(a - E[a \mid R = \xi])(1_{R > \xi} - p)` besides its own, the mean at the threshold taken
        from the neighbours of it.

        Parameters
        ----------
        amounts : callable
            Amount of each interaction of a piece.
        name : str
            Its name among the sums.
        of_response : bool
        """
        near = self.slow.near
        at = float((near[name] if name in near else near["class"] == int(name)).mean())
        # The mean response at the threshold is the threshold itself, or more where many are equal: never
        # negative lengths.
        at_threshold = min(self._threshold, self.slow.shortest) if of_response else 1.0

        def influence(piece: Piece) -> tuple[Array, Array]:
            slow, excess = self._is_slow(piece), self._excess(piece)
            below = self.response(piece) if of_response else self._ones(piece)
            reach = below * slow - at_threshold * excess
            return amounts(piece) * slow - at * excess, np.maximum(reach, 0.0)

        asked = self._looks.ask(_Wider(influence, self._users_of, self.users, self._level))
        total = self.slow.sums[name] if name in near else self.slow.by_class["", int(name)]
        # The influences of the threshold add to nothing but for rounding.
        exact = total / (self.slow.sums["response"] if of_response else float(self.slow.n))
        return lambda: dataclasses.replace(asked(), value=exact)


def _least(values: Array, count: int) -> NDArray[np.int64]:
    """Places of the least values, in their order; those of equal ones in the order of the places."""
    if count >= len(values):
        return np.argsort(values, kind="stable")
    rows = np.flatnonzero(values <= np.partition(values, count - 1)[count - 1])
    return rows[np.argsort(values[rows], kind="stable")[:count]]


class _Wider(Request[Piece, Estimate]):
    """Ratio of sums with the wider of the intervals by time and by users."""

    def __init__(
        self,
        parts: Callable[[Piece], tuple[Array, Array]],
        users_of: Callable[[Piece], NDArray[np.int64]],
        users: int,
        level: float,
    ) -> None:
        self._parts, self._users_of, self._level = shared(parts), users_of, level
        self._by_time: Ratio[Piece] = Ratio(self._parts, level)
        self._by_user = np.zeros((2, users))
        self._is_first = True

    def _add(self, piece: Piece) -> None:
        users = self._users_of(piece)
        for sums, values in zip(self._by_user, self._parts(piece), strict=True):
            sums += np.bincount(users, values, len(sums))

    def absorb(self, piece: Piece) -> None:
        self._by_time.absorb(piece)
        if self._is_first:
            self._add(piece)

    def more(self) -> bool:
        self._is_first = False
        return self._by_time.more()

    def answer(self) -> Estimate:
        return self._chosen(self._by_time.answer())

    def whole(self, piece: Piece) -> Estimate:
        self._add(piece)
        return self._chosen(self._by_time.whole(piece))

    def _chosen(self, by_time: Estimate | None) -> Estimate:
        assert by_time is not None, "there are interactions"
        count = self._by_user.shape[1]
        if count < USERS_LEAST:
            return by_time
        by_user = batch_means.batch_ratio(self._by_user[0], self._by_user[1], self._level, independent=True)
        if None in (by_time.low, by_time.high, by_user.low, by_user.high) or _width(by_user) <= _width(
            by_time
        ):
            return by_time
        return dataclasses.replace(by_user, n=by_time.n, method=f"{count} users, Student's t")


def _state(name: StateName, inputs: _Inputs) -> Callable[[], State]:
    times = inputs.state(name)
    share, slow_share = inputs.ratio(times, inputs.response), inputs.of_slow(times, name, of_response=True)
    mean, slow_mean = inputs.ratio(times, None), inputs.of_slow(times, name)
    return lambda: State(
        name=name,
        share=_within_one(share()),
        slow_share=_within_one(slow_share()),
        mean=mean().with_unit("s"),
        slow_mean=slow_mean().with_unit("s"),
    )


def _classes(inputs: _Inputs) -> Callable[[], tuple[SlowClass, ...]]:
    if len(inputs.class_names) < 2:
        return tuple
    asked = [_class(number, name, inputs) for number, name in inputs.class_names.items()]
    return lambda: tuple(
        sorted((item() for item in asked), key=lambda item: (-item.slow, -item.n, item.name))
    )


def _class(number: int, name: str, inputs: _Inputs) -> Callable[[], SlowClass]:
    def inside(piece: Piece) -> Array:
        members: Array = (inputs.classes_of(piece) == number).astype(np.float64)
        return members

    of_slow = inputs.slow.by_class
    times: dict[StateName, float] = {state: of_slow[state, number] for state in inputs.names}
    total = of_slow["response", number]
    ordered = sorted(times, key=lambda state: -times[state])
    longest = ordered[0] if total > 0.0 else None
    share = inputs.of_slow(inside, str(number))
    response = inputs.ratio(lambda piece: inputs.response(piece) * inside(piece), inside)
    return lambda: SlowClass(
        name=name or "(none)",
        n=int(inputs.counts[number]),
        slow=int(of_slow["", number]),
        share_of_slow=_within_one(share()),
        response=response().with_unit("s"),
        longest_state=longest,
        longest_share=None if longest is None else times[longest] / total,
    )


def _caveats(stream: Stream, seen: _Seen, totals: dict[StateName, float]) -> Iterator[Caveat]:
    if seen.unfinished:
        yield Caveat("slow_unfinished", unfinished=seen.unfinished, interactions=stream.n)
    if seen.known < seen.n:
        yield Caveat("undivided", interactions=seen.n - seen.known, of=seen.n)
    if not seen.has_io:
        yield Caveat("io_unknown")
    if totals["rest"] < 0.0:
        yield Caveat("rest_negative", share=totals["rest"] / sum(totals.values()))


def _width(estimate: Estimate) -> float:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.high - estimate.low


def _within_one(share: Estimate) -> Estimate:
    """Cut the interval of a share at 0 and 1, unless the value itself is outside."""
    low = None if share.low is None else min(max(share.low, 0.0), share.value)
    high = None if share.high is None else max(min(share.high, 1.0), share.value)
    return dataclasses.replace(share, low=low, high=high)
