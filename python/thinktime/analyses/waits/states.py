"""Where the time of interactions goes: states of each response, of all inputs and of the slowest tenth."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from thinktime.log import interactions
from thinktime.log.facts import driver_was_load
from thinktime.questions.checks import check_level, check_log
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series import batch_means
from thinktime.stats.series.shares import quantile_in_time

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


@dataclass(frozen=True, slots=True)
class _Inputs:
    """Completed interactions in the order in which they were due."""

    response: Array
    slow: Flags
    threshold: float
    users: NDArray[np.int64]
    level: float

    def estimate(self, amounts: Array, lengths: Array) -> Estimate:
        """Ratio of sums, with the wider of two intervals: by time, and by users where there are enough.

        Neighbours in time share the state of the machine, and a user's inputs share the user.
        """
        by_time = batch_means.batch_ratio(amounts, lengths, self.level)
        count = int(self.users.max()) + 1
        if count < USERS_LEAST:
            return by_time
        sums = np.bincount(self.users, amounts, count), np.bincount(self.users, lengths, count)
        by_user = batch_means.batch_ratio(*sums, self.level, independent=True)
        if None in (by_time.low, by_time.high, by_user.low, by_user.high) or _width(by_user) <= _width(
            by_time
        ):
            return by_time
        return dataclasses.replace(by_user, n=by_time.n, method=f"{count} users, Student's t")

    def of_slow(self, amounts: Array, lengths: Array | None = None) -> Estimate:
        r"""Ratio of the sums of the slow ones.

        The threshold :math:`\xi` is itself estimated: a sum over :math:`R > \xi` has the influence
        :math:`(a - E[a \mid R = \xi])(1_{R > \xi} - p)` besides its own, the mean at the threshold taken
        from the neighbours of it.
        """
        fraction = float(self.slow.mean())
        excess = self.slow - fraction

        def influence(values: Array) -> Array:
            at: float = float(values[self._near()].mean())
            found: Array = values * self.slow - at * excess
            return found

        below = np.ones_like(amounts) if lengths is None else lengths
        # The mean response at the threshold is the threshold itself, or more where many are equal: never
        # negative lengths.
        at_threshold = min(self.threshold, float(below[self.slow].min())) if lengths is not None else 1.0
        reach = below * self.slow - at_threshold * excess
        found = self.estimate(influence(amounts), np.maximum(reach, 0.0))
        # The influences of the threshold add to nothing but for rounding.
        exact = float(amounts[self.slow].sum()) / float(below[self.slow].sum())
        return dataclasses.replace(found, value=exact)

    def _near(self) -> NDArray[np.int64]:
        count = max(3, math.isqrt(len(self.response)))
        nearest: NDArray[np.int64] = np.argsort(np.abs(self.response - self.threshold), kind="stable")[:count]
        return nearest


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
    table = interactions.read(log, (_WAITED, _RUN_DELAY, _IO_DELAY, _MAJOR))
    if table is None:
        return NotApplicable(
            "the log has neither interactions nor events of them",
            "play users with `thinktime play`, or simulate some with `thinktime simulate apl360 --trace`",
        )
    if (refused := driver_was_load(log)) is not None:
        return refused
    done = (table.columns[_WAITED] != 0.0) & ~np.isnan(table.response) & (table.response >= 0.0)
    times = _times(table, done)
    response, known = table.response[done], ~np.isnan(times["cpu_wait"])
    if not known.any():
        return NotApplicable(
            "the log has no events of interactions, and none of them has its wait for a CPU: where their "
            "time went is unknown",
            "play a script at real shells with `thinktime play`, on a kernel with schedstat, or use "
            "`thinktime simulate apl360 --trace`",
        )
    if len(response) < N_LEAST:
        return NotApplicable(
            f"only {len(response)} interactions were completed; {N_LEAST} are needed to call a tenth of them "
            "the slowest",
            "play for longer",
        )
    inputs = _inputs(table, done, level)
    if not inputs.slow.any():
        return NotApplicable("all responses took equally long", "use a finer clock")
    has_io = bool((~np.isnan(times["io_wait"][known])).all())
    divided = _divided(response, times, known, has_io=has_io)
    major = table.columns[_MAJOR][done]
    counted = bool((~np.isnan(major)).all())
    return States(
        interactions=len(response),
        users=len(np.unique(table.users[done])),
        slow=int(inputs.slow.sum()),
        threshold=quantile_in_time(response, 1.0 - SLOWEST, level).with_unit("s"),
        states=tuple(_state(name, values, inputs) for name, values in divided.items()),
        classes=_classes(table.classes[done], divided, inputs),
        divided=int(known.sum()),
        has_io=has_io,
        major_faults=inputs.estimate(major, np.ones_like(major)).with_unit("fault") if counted else None,
        slow_major_faults=inputs.of_slow(major).with_unit("fault") if counted else None,
        caveats=tuple(_caveats(table, known, divided, has_io=has_io)),
    )


def _times(table: interactions.Interactions, done: Flags) -> dict[str, Array]:
    return {
        "cpu": table.service[done],
        "cpu_wait": np.where(np.isnan(table.service[done]), np.nan, table.columns[_RUN_DELAY][done]),
        "io_wait": table.columns[_IO_DELAY][done],
    }


def _inputs(table: interactions.Interactions, done: Flags, level: float) -> _Inputs:
    response = table.response[done]
    threshold = float(np.quantile(response, 1.0 - SLOWEST))
    users = np.unique(table.users[done], return_inverse=True)[1]
    return _Inputs(response, response > threshold, threshold, users.astype(np.int64), level)


def _divided(
    response: Array, times: dict[str, Array], known: Flags, *, has_io: bool
) -> dict[StateName, Array]:
    """Time of each state in each interaction; the states add to the response."""
    none = np.zeros_like(response)
    cpu = np.where(known, times["cpu"], none)
    cpu_wait = np.where(known, times["cpu_wait"], none)
    io_wait = np.where(known, times["io_wait"], none) if has_io else none
    undivided = np.where(known, none, response)
    rest = np.where(known, response - cpu - cpu_wait - io_wait, none)
    found: dict[StateName, Array] = {"cpu": cpu, "cpu_wait": cpu_wait, "io_wait": io_wait, "rest": rest}
    if not has_io:
        del found["io_wait"]
    return found | ({} if known.all() else {"undivided": undivided})


def _state(name: StateName, times: Array, inputs: _Inputs) -> State:
    ones = np.ones_like(times)
    return State(
        name=name,
        share=_within_one(inputs.estimate(times, inputs.response)),
        slow_share=_within_one(inputs.of_slow(times, inputs.response)),
        mean=inputs.estimate(times, ones).with_unit("s"),
        slow_mean=inputs.of_slow(times).with_unit("s"),
    )


def _classes(
    classes: NDArray[np.str_], divided: dict[StateName, Array], inputs: _Inputs
) -> tuple[SlowClass, ...]:
    names = np.unique(classes)
    if len(names) < 2:
        return ()
    found = [_class(str(name), classes == name, divided, inputs) for name in names]
    return tuple(sorted(found, key=lambda item: (-item.slow, -item.n, item.name)))


def _class(name: str, inside: Flags, divided: dict[StateName, Array], inputs: _Inputs) -> SlowClass:
    slow = inside & inputs.slow
    times = {state: float(values[slow].sum()) for state, values in divided.items()}
    total = float(inputs.response[slow].sum())
    ordered = sorted(times, key=lambda state: -times[state])
    longest = ordered[0] if total > 0.0 else None
    ones = inside.astype(np.float64)
    return SlowClass(
        name=name or "(none)",
        n=int(inside.sum()),
        slow=int(slow.sum()),
        share_of_slow=_within_one(inputs.of_slow(ones)),
        response=inputs.estimate(inputs.response * ones, ones).with_unit("s"),
        longest_state=longest,
        longest_share=None if longest is None else times[longest] / total,
    )


def _caveats(
    table: interactions.Interactions, known: Flags, divided: dict[StateName, Array], *, has_io: bool
) -> Iterator[Caveat]:
    unfinished = int(np.isnan(table.times["completion"]).sum())
    if unfinished:
        yield Caveat("slow_unfinished", unfinished=unfinished, interactions=len(table))
    if not known.all():
        yield Caveat("undivided", interactions=int((~known).sum()), of=len(known))
    if not has_io:
        yield Caveat("io_unknown")
    rest = divided["rest"]
    if float(rest.sum()) < 0.0:
        yield Caveat("rest_negative", share=float(rest.sum() / sum(item.sum() for item in divided.values())))


def _width(estimate: Estimate) -> float:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.high - estimate.low


def _within_one(share: Estimate) -> Estimate:
    """Cut the interval of a share at 0 and 1, unless the value itself is outside."""
    low = None if share.low is None else min(max(share.low, 0.0), share.value)
    high = None if share.high is None else max(min(share.high, 1.0), share.value)
    return dataclasses.replace(share, low=low, high=high)
