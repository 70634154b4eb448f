"""Response times by number of users and by class of interaction."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.response.decomposition import IO_DELAY, RUN_DELAY, Decomposition, decomposed
from thinktime.errors import InputError, offered
from thinktime.log import facts, interactions
from thinktime.log.loads import ranges
from thinktime.log.periods import Span, sessions
from thinktime.questions.checks import check_level, check_log
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series import batch_means
from thinktime.stats.series.shares import quantile_in_time

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
THROUGHPUT_PIECES = 16


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
    inputs = interactions.read(log, [WAITED, RUN_DELAY, IO_DELAY])
    if inputs is None:
        return NotApplicable(
            "the log has no interactions: inputs and response times were not recorded",
            "play users with `thinktime play` while recording",
        )
    refused = facts.driver_was_load(log)
    if refused is not None and not accept_driver_load:
        return refused
    waited = np.flatnonzero(inputs.columns[WAITED] != 0.0)
    if not (~np.isnan(inputs.response[waited])).any():
        return NotApplicable(
            f"none of {len(waited)} interactions completed", "play for longer than an interaction takes"
        )
    covered = sessions(log, inputs.origin_us, 0.0, _last(inputs))
    overall = _group(inputs, waited, "all", level)
    by_population = tuple(
        _group(
            inputs,
            waited[part.rows],
            f"{part.low:g}" if part.low == part.high else f"{part.low:g}-{part.high:g}",
            level,
            playing=(part.low, part.high, covered),
        )
        for part in ranges(inputs.columns["population"][waited], width)
    )
    classes = inputs.classes[waited]
    names = [str(name) for name in np.unique(classes)]
    by_class = tuple(_group(inputs, waited[classes == name], name or "(none)", level) for name in names)
    for name in without:
        if name not in names:
            raise InputError(f"without: {name}: there is no such class; {offered(name, names)}")
    rest = waited[~np.isin(classes, list(without))]
    return Response(
        overall=overall,
        by_population=by_population,
        by_class=by_class if len(names) > 1 else (),
        without=_group(inputs, rest, f"all but {', '.join(without)}", level) if without else None,
        growth=_growth(by_population, level),
        caveats=(*_of_play(log), *_caveats(inputs, waited, overall, by_population)),
    )


def _group(
    inputs: interactions.Interactions,
    rows: NDArray[np.int64],
    label: str,
    level: float,
    playing: tuple[float, float, Sequence[Span]] | None = None,
) -> ResponseGroup:
    """Interactions `rows`; `playing` is their range of users, and the time in which users played."""
    due = inputs.times["due"][rows]
    response = inputs.response[rows]
    done = ~np.isnan(response)
    service = inputs.service[rows]
    served = done & ~np.isnan(service) & (service > 0)
    return ResponseGroup(
        label=label,
        population_low=playing[0] if playing else None,
        population_high=playing[1] if playing else None,
        typed=len(set(inputs.users[rows].tolist()) - {""}) or None,
        arrived=len(rows),
        unfinished=int(np.count_nonzero(~done)),
        response=_waiting(response, level),
        first_output=_waiting(inputs.times["first_output"][rows] - due, level),
        reaction=_waiting(inputs.times["first_service"][rows] - due, level),
        service=batch_means.batch_ratio(service[served], None, level).with_unit("s")
        if served.any()
        else None,
        stretch=batch_means.batch_ratio(response[served], service[served], level) if served.any() else None,
        throughput=_throughput(inputs, *playing, level=level) if playing else None,
        parts=decomposed(inputs, rows, level),
    )


def _waiting(waits: Array, level: float) -> Waiting | None:
    measured = waits[~np.isnan(waits)]
    if not len(measured):
        return None
    p50, p90, p99 = (quantile_in_time(measured, q, level).with_unit("s") for q in (0.5, 0.9, 0.99))
    mean = batch_means.batch_ratio(measured, None, level).with_unit("s")
    return Waiting(n=len(measured), mean=mean, p50=p50, p90=p90, p99=p99)


def _last(inputs: interactions.Interactions) -> float:
    """Time at which the last interaction arrived or was completed [s]."""
    ends = np.concatenate([inputs.times["due"], inputs.times["completion"]])
    return float(np.nanmax(ends))


def _throughput(
    inputs: interactions.Interactions,
    users_low: float,
    users_high: float,
    covered: Sequence[Span],
    *,
    level: float,
) -> Estimate | None:
    """Completions per second in the stretches of time that had this number of users.

    The time between two sessions, in which nobody played, does not count.
    """
    arrival, load = inputs.times["due"], np.rint(inputs.columns["population"])
    counted = ~np.isnan(load)
    arrival, load = arrival[counted], load[counted]
    completion = np.sort(inputs.times["completion"][~np.isnan(inputs.times["completion"])])
    inside = (load >= users_low) & (load <= users_high)
    # A stretch lasts from its first arrival to the first arrival of the next.
    changes = np.flatnonzero(np.diff(inside)) + 1
    bounds = np.concatenate([[0], changes, [len(inside)]])
    ends = np.append(arrival, _last(inputs))
    counts, lengths = [], []
    for first, last in itertools.pairwise(bounds):
        for span in covered if inside[first] else ():
            low, high = max(ends[first], span.start), min(ends[last], span.end)
            if high > low:
                edges = np.linspace(low, high, THROUGHPUT_PIECES + 1)
                counts.append(np.diff(np.searchsorted(completion, edges)))
                lengths.append(np.diff(edges))
    if not counts:
        return None
    rate = batch_means.batch_ratio(np.concatenate(counts), np.concatenate(lengths), level)
    return dataclasses.replace(rate, n=int(np.concatenate(counts).sum())).with_unit("interaction/s")


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
    inputs: interactions.Interactions,
    rows: NDArray[np.int64],
    overall: ResponseGroup,
    groups: tuple[ResponseGroup, ...],
) -> tuple[Caveat, ...]:
    caveats = []
    if len(rows) < len(inputs):
        caveats.append(Caveat("waited_for", waited=len(rows), interactions=len(inputs)))
    if overall.unfinished:
        caveats.append(Caveat("unfinished", unfinished=overall.unfinished, interactions=overall.arrived))
    if few := [group.label for group in groups if group.response is None or group.response.n < N_RELIABLE]:
        caveats.append(Caveat("few_completed", least=N_RELIABLE, users=few))
    delay = (inputs.times["sent"] - inputs.times["due"])[rows]
    delay = delay[~np.isnan(delay)]
    mean = overall.response.mean.value if overall.response else 0.0
    if len(delay) and float(delay.mean()) > DELAYED * mean:
        caveats.append(Caveat("sent_late", delay_s=float(delay.mean())))
    correlation = _autocorrelation(inputs, rows)
    if correlation > CORRELATED:
        caveats.append(Caveat("correlated", correlation=correlation))
    return tuple(caveats)


def _autocorrelation(inputs: interactions.Interactions, rows: NDArray[np.int64]) -> float:
    """Correlation of successive response times about the mean of their number of users."""
    load = np.nan_to_num(inputs.columns["population"])
    completed = rows[~np.isnan(inputs.response[rows])]
    _, group = np.unique(load[completed], return_inverse=True)
    response = inputs.response[completed]
    means = np.bincount(group, response) / np.maximum(np.bincount(group), 1)
    value = float(batch_means.autocorrelation(response - means[group])[0]) if len(response) > 2 else 0.0
    return 0.0 if np.isnan(value) else value
