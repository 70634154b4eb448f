"""Users who meet a goal: by the model, and by the log itself where that says otherwise.

A number of users that was measured to meet a goal does meet it, whatever a model says; and a prediction that
its own log refutes is no answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thinktime.documents import format as shown
from thinktime.models.sizing import ENDS
from thinktime.predictions.size.goals import Goal
from thinktime.predictions.size.measured import Measured, Stretch
from thinktime.stats.estimate import Estimate

Ends = tuple[float, float]
"""Low and high end."""
TIMES = ("response", "utilisation")
"""Kinds of goals that more users end, and that both the model and what was measured can judge."""
MEASURED = "measured"
"""Limit of an answer that is what was measured, since the model does not describe the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One goal at one measured number of users."""

    goal: Goal
    users: int
    value: Estimate
    """What was measured of the quantity that the goal limits."""
    met: bool
    """True if all of the interval meets the goal, false if none of it does."""

    @property
    def words(self) -> str:
        """The measurement: ``a mean response of 17 ms (15 to 19) was measured``."""
        value = shown.estimate(self.value)
        unsure = "" if self.value.low is not None and self.value.high is not None else ", without an interval"
        if self.goal.kind == "utilisation":
            return f"a utilisation of {shown.quantity(self.value.value, 'share')} was measured{unsure}"
        if self.goal.kind == "throughput":
            return f"a throughput of {value} was measured{unsure}"
        if self.goal.quantile is None:
            return f"a mean response of {value} was measured{unsure}"
        return f"a response of {value} within which {100 * self.goal.quantile:g} % stay was measured{unsure}"

    @property
    def verdict(self) -> str:
        """The measurement and what it says of the goal: ``.. was measured, which meets the goal (..)``."""
        return f"{self.words}, which {'meets' if self.met else 'misses'} the goal ({self.goal.words})"


def between(users: Estimate) -> str:
    """Number of users with its interval: ``10 (8 to 13)``."""
    low, high = users.low, users.high
    if low is None or high is None or round(low) == round(high):
        return f"{users.value:.0f}"
    return f"{users.value:.0f} ({low:.0f} to {high:.0f})"


def quantity(goal: Goal, stretch: Stretch, cpus: int) -> Estimate | None:
    """What was measured of the quantity that a goal limits; None if it was not."""
    if goal.kind == "response":
        return stretch.response if goal.quantile is None else stretch.quantile(goal.quantile)
    if goal.kind == "throughput":
        return stretch.throughput
    if goal.kind == "utilisation" and stretch.machine_cpu is not None:
        share = stretch.machine_cpu / cpus
        return Estimate(value=share, unit="share", n=stretch.n, method="counters of the machine")
    return None


def judged(goal: Goal, value: Estimate, limit: Ends) -> bool | None:
    """True if all of an interval meets a goal, false if none of it does, None between.

    Parameters
    ----------
    goal : Goal
    value : Estimate
        What was measured; without an interval, the value itself counts. An end that is open meets nothing.
    limit : (float, float)
        Ends of the interval of the limit.
    """
    low, high = value.low, value.high
    if low is None and high is None:
        low = high = value.value
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    if goal.kind == "throughput":
        return True if low >= limit[1] else False if high < limit[0] else None
    return True if high <= limit[0] else False if low > limit[1] else None


def alone(measured: Measured, least_s: float) -> Ends:
    """Ends of the interval of the mean response of a user alone [s].

    Measured, if one user was. Otherwise at most what was measured with the fewest users; and at least the
    time of an interaction that waits for nobody, or where the line from any larger number through the fewest
    leads, if that is longer: in queues, each further user adds no less than the one before.

    Parameters
    ----------
    measured : Measured
    least_s : float
        Low end of the time of an interaction that waits for nobody [s].
    """
    fewest = measured.stretches[0]
    response = fewest.response
    high = response.value if response.high is None else response.high
    if fewest.users == 1:
        return (response.value if response.low is None else response.low), high
    first = fewest.users - 1
    lines = [
        response.low - first * max(other.response.high - response.low, 0.0) / (other.users - fewest.users)
        for other in measured.stretches[1:]
        if response.low is not None and other.response.high is not None
    ]
    return min(max([least_s, *lines]), high), high


def seen(goal: Goal, measured: Measured, alone_s: Ends) -> tuple[Seen, ...]:
    """Numbers of users that met a goal or missed it for sure, ascending; up to the first that missed it.

    Beyond a number that misses it, one that meets it is of no use. A goal of throughput is met from some
    number on: it has all of them.
    """
    found = []
    limit = (goal.limit * alone_s[0], goal.limit * alone_s[1]) if goal.relative else (goal.limit, goal.limit)
    for stretch in measured.stretches:
        value = quantity(goal, stretch, measured.machine.cpus)
        met = None if value is None else judged(goal, value, limit)
        if value is None or met is None:
            continue
        found.append(Seen(goal=goal, users=stretch.users, value=value, met=met))
        if not met and goal.kind != "throughput":
            break
    return tuple(found)


def most_met(found: Sequence[Seen]) -> Seen | None:
    """The largest number that met a goal."""
    return next((one for one in reversed(found) if one.met), None)


def first_missed(found: Sequence[Seen]) -> Seen | None:
    """The first number that missed it."""
    return next((one for one in found if not one.met), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Otherwise:
    """Measurement that says otherwise than the model."""

    by: Seen
    model: Estimate | None
    """Users by the model; None where more meet the goal than were looked at."""
    model_least: int
    """Users looked at, where `model` is None."""
    agrees: bool
    """True if the interval of the model holds numbers with which the measurement agrees."""

    @property
    def model_words(self) -> str:
        """Users by the model: ``10 (8 to 13)``."""
        return f"at least {self.model_least}" if self.model is None else between(self.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """Users who meet one goal."""

    goal: Goal
    users: Estimate | None
    """None where more meet it than were looked at, or where only what was measured is known."""
    at_least: int
    """Where `users` is None: users looked at, all of whom meet it, or the most measured to meet it, 0 where
    none was; of a throughput, the fewest that give it, 0 where none do."""
    limit: str
    """What runs short: ``cpu``, ``rest``, ``memory``, ``users`` where nothing does, ``unmeasured`` where the
    goal cannot be judged, or ``measured`` where the model does not describe the log."""
    at_most: int | None = None
    """One user fewer than the first measured to miss it, where `limit` is ``measured``; None for none."""
    met: Seen | None = None
    """What was measured with `at_least` users, where `limit` is ``measured``."""
    missed: Seen | None = None
    """What was measured with the fewest that missed it, likewise."""
    otherwise: Otherwise | None = None
    """Measurement that says otherwise than the model; None where none does."""

    @property
    def number(self) -> int:
        """Users who meet it, at the least."""
        return self.at_least if self.users is None else int(self.users.value)

    @property
    def order(self) -> tuple[bool, bool, float, float, float, str]:
        """Key by which the goal that fails first comes first."""
        # What was not measured is no answer, and a throughput is met from some number on.
        known = self.users is not None or self.limit == MEASURED
        users = float(self.number) if known else math.inf
        most = math.inf if self.at_most is None else float(self.at_most)
        # Of goals that are met throughout, the one that is known for fewer users.
        least = 0.0 if known else float(self.at_least)
        return self.limit == "unmeasured", self.goal.kind == "throughput", users, most, least, self.goal.kind


def reconciled(
    fits: Sequence[Fits],
    seen_of: Mapping[Goal, Sequence[Seen]],
    draws: Callable[[Goal], NDArray[np.int64]],
) -> tuple[Fits, ...]:
    """Users who meet each goal, none of them refuted by what was measured.

    A number that the log refutes is replaced by what the draws say that agree with it. Where these are fewer
    than the interval leaves out, the model does not describe the log: then all goals that it predicts are
    answered by what was measured alone.

    Parameters
    ----------
    fits : sequence of Fits
        By the model, for the machine and the work that were measured.
    seen_of : mapping of Goal to sequence of Seen
        What was measured.
    draws : callable
        Most users that meet a goal, by draw.
    """
    found = [_agreeing(one, seen_of.get(one.goal, ()), draws) for one in fits]
    if all(one.otherwise is None or one.otherwise.agrees for one in found):
        return tuple(found)
    return tuple(
        one if one.goal.kind == "memory" else _as_seen(one, seen_of.get(one.goal, ())) for one in found
    )


def refuting(fits: Sequence[Fits]) -> Otherwise | None:
    """What was measured against the model, where it does not describe the log."""
    against = [one.otherwise for one in fits if one.otherwise is not None]
    return next((one for one in against if not one.agrees), None)


def _agreeing(fits: Fits, seen_: Sequence[Seen], draws: Callable[[Goal], NDArray[np.int64]]) -> Fits:
    """Users by the draws that agree with what was measured, where the number by all of them does not."""
    if fits.goal.kind not in TIMES or fits.limit == "unmeasured":
        return fits
    met, missed = most_met(seen_), first_missed(seen_)
    number = math.inf if fits.users is None else fits.users.value
    if met is not None and met.users > number:
        by = met
    elif missed is not None and missed.users <= number:
        by = missed
    else:
        return fits
    reached = draws(fits.goal)
    inside = reached >= (0 if met is None else met.users)
    if missed is not None:
        inside &= reached < missed.users
    otherwise = Otherwise(
        by=by,
        model=fits.users,
        model_least=fits.at_least,
        agrees=bool(inside.mean() > ENDS[0]),
    )
    if not otherwise.agrees:
        return replace(fits, otherwise=otherwise)
    low, middle, high = np.quantile(reached[inside], ENDS, method="inverted_cdf")
    users = Estimate(
        value=float(middle),
        unit="user",
        low=float(low),
        high=float(high),
        n=by.value.n,
        method="largest number that meets the goal, over draws that agree with what was measured",
    )
    return replace(fits, users=users, at_least=int(low), otherwise=otherwise)


def _as_seen(fits: Fits, seen_: Sequence[Seen]) -> Fits:
    """Users who were measured to meet a goal."""
    if fits.limit == "unmeasured" or not seen_:
        return replace(fits, users=None, at_least=0, limit="unmeasured")
    met, missed = most_met(seen_), first_missed(seen_)
    if fits.goal.kind == "throughput":
        met, missed = next((one for one in seen_ if one.met), None), None
    return replace(
        fits,
        users=None,
        at_least=0 if met is None else met.users,
        at_most=None if missed is None else missed.users - 1,
        limit=MEASURED,
        met=met,
        missed=missed,
    )
