"""What the system's part of the capacity went to, event by event."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinktime.analyses.capacity.result import Check, Event
from thinktime.analyses.capacity.states import States, part_of
from thinktime.log.meters import Meter
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    from thinktime.analyses.overhead.result import Overhead

__all__ = ["checks", "metered", "regressed", "unattributed"]

NO_EVENT = ("base", "user_time")


def metered(states: States, meter: Meter, cpus: float, level: float) -> Event:
    """Event that the source counts and times."""
    count, time = states.columns[meter.count], states.columns[meter.time]
    known = ~np.isnan(count) & ~np.isnan(time)
    count, time = count[known], time[known]
    share = part_of(time, states.capacity[known], level)
    if not count.sum() > 0.0:
        return Event(meter.count, meter.event, share, None, None)
    overhead = batch_means.batch_ratio(time, count, level)
    between = batch_means.batch_ratio(cpus * states.length_s[known], count, level)
    # How often an interval saw the ratio is not how many events it is from.
    events = round(float(count.sum()))
    return Event(
        meter.count,
        meter.event,
        share,
        dataclasses.replace(overhead, n=events).with_unit("s"),
        dataclasses.replace(between, n=events).with_unit("s"),
    )


def regressed(overhead: Overhead, cpus: float) -> tuple[Event, ...]:
    """Events whose overhead is a cost of the regression."""
    events = []
    for cost in overhead.costs:
        if cost.request in NO_EVENT or cost.rate.value <= 0.0:
            continue
        between = cpus / cost.rate.value
        ends = [None if end is None or end <= 0.0 else cpus / end for end in (cost.rate.high, cost.rate.low)]
        unit = cost.seconds.unit
        time_between = Estimate(
            value=between,
            unit=unit,
            n=cost.rate.n,
            method="CPUs x time / events",
            low=ends[0],
            high=ends[1],
            level=cost.rate.level,
        )
        share = Estimate(
            value=cost.seconds.value / between,
            unit="",
            n=cost.seconds.n,
            method="overhead per event / mean time between events",
            low=None if cost.seconds.low is None else cost.seconds.low / between,
            high=None if cost.seconds.high is None else cost.seconds.high / between,
            level=cost.seconds.level,
        )
        events.append(Event(cost.request, cost.label, share, cost.seconds, time_between))
    return tuple(sorted(events, key=lambda event: -event.share.value))


def unattributed(
    states: States,
    system: Estimate,
    events: tuple[Event, ...],
    overhead: Overhead | NotApplicable | None,
    cpus: float,
    level: float,
) -> Estimate | None:
    """System's share that no event explains: the base, what goes with user time, and outliers."""
    if not events or isinstance(overhead, NotApplicable):
        return None
    if overhead is None:
        own = [meter.time for meter in states.meters]
        if not set(states.of_use("system")) - set(own):
            return None
        return part_of(states.total(states.of_use("system")) - states.total(own), states.capacity, level)
    value = system.value - sum(event.share.value for event in events)
    base = overhead.costs[0].seconds
    low, high = (None if end is None else value + (end - base.value) / cpus for end in (base.low, base.high))
    method = "system's share less that of the events, interval of the base"
    return Estimate(value=value, unit="", n=system.n, method=method, low=low, high=high, level=system.level)


def checks(
    events: Sequence[Event], system: Estimate, overhead: Overhead | NotApplicable | None
) -> tuple[Check, ...]:
    """Shares of the events that happened, come to in two ways."""
    found = []
    for event in events:
        if event.overhead is None or event.time_between is None:
            continue
        share = event.share.value
        if overhead is not None and not isinstance(overhead, NotApplicable):
            cost = overhead.cost(event.request)
            share = system.value * cost.share.value if cost else share
        product = event.overhead.value / event.time_between.value
        found.append(Check(event.request, event.label, product, share))
    return tuple(found)
