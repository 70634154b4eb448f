"""CPU capacity by state, and the system's part of it by event."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from thinktime.analyses.capacity.result import Capacity, Check, Condition, Event, State, Use
from thinktime.analyses.capacity.state_times import (
    CAPACITY,
    REST,
    StateTimes,
    bounded,
    complete,
    gauge_ratio,
    of_pieces,
    wanted,
)
from thinktime.analyses.overhead import analysis as overhead_analysis
from thinktime.analyses.timeline import analysis as timeline
from thinktime.log import facts, observations
from thinktime.log.meters import Meter, meters
from thinktime.questions.checks import check_level, check_log
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.overhead.result import Overhead
    from thinktime.log import Log

USES: dict[str, Use] = {"user_time": "user", "system_time": "system", "idle_time": "idle"}
STOLEN = "steal_s"
LOCKS = "lock_wait_s"
RECORDER = "recorder_cpu_s"
GAUGES = ("users", "eligible_mean")
"""Gauges without a role that measure the load of the machine."""
NO_EVENT = ("base", "user_time")
LABELS = {
    "user_s": "user",
    "nice_s": "user, at a raised nice value",
    "system_s": "system, for processes",
    "irq_s": "hardware interrupts",
    "softirq_s": "soft interrupts",
    "steal_s": "stolen by the hypervisor",
    "idle_s": "idle",
    "iowait_s": "idle, waiting for a disk",
    "useful_s": "useful work",
    "problem_s": "problem state",
    "cp_s": "control program",
    "wait_s": "wait state",
}
OFF = 0.05


def analyse(
    log: Log, *, overhead: Overhead | NotApplicable | None = None, level: float = 0.95
) -> Capacity | NotApplicable:
    r"""CPU capacity by state, and the system's part of it by event (Sekino 1971, Tables 1 to 3).

    A state's share is its time over the time of all states, :math:`\sum s_i / \sum \sum_k s_{ki}`, so that
    the shares add to one (Table 1), with intervals that allow for
    correlation in time. An event's share of the capacity is

    .. math:: \text{share} = \frac{\text{overhead per event}}{\text{mean time between events per processor}}

    (Tables 1 to 3). Where the manifest names `meters` (as ``ttm`` did on Multics), the overhead is the
    event's time over its count, the time between events is CPUs x time over the count, and the share is the
    event's part of the time of all states, all as ratios: then the identity is a
    check of the meters, which holds where the states add up to CPUs x time. Elsewhere the overhead is the
    regression's cost (`overhead.by_default`).

    Parameters
    ----------
    log : Log
    overhead : Overhead or NotApplicable, optional
        Result of `overhead.analyse` for this log, where there is one already; not looked at where the log
        has meters.
    level : float
        Confidence of the intervals.
    """
    check_log(log)
    check_level(level)
    log_meters, unusable = meters(log)
    states = _read(log, log_meters)
    if isinstance(states, NotApplicable):
        return states
    named = _named_cpus(log)
    cpus = named[-1] if named else float(max(1, round(states.measured_cpus)))
    if states.meters:
        overhead = None
        events = tuple(metered_event(states, meter, cpus, level) for meter in states.meters)
    else:
        overhead = overhead_analysis.by_default(log, level=level) if overhead is None else overhead
        events = () if isinstance(overhead, NotApplicable) else _regressed_events(overhead, cpus)
    system = states.share("system", level)
    return Capacity(
        cpus=cpus,
        intervals=states.intervals,
        metered=bool(states.meters),
        states=tuple(
            State(
                column=name,
                label=_label(name, log_meters),
                use=states.uses[name],
                share=states.share(name, level),
            )
            for name in _order(states)
        ),
        events=events,
        unattributed=_unattributed(states, events, overhead, system=system, cpus=cpus, level=level),
        user=states.share("user", level),
        system=system,
        recorder=states.inside(RECORDER, level),
        lock_wait=_waited(states.inside(LOCKS, level)),
        accounted=states.measured_cpus / cpus,
        checks=_checks(events, system, overhead, cpus=cpus),
        conditions=tuple(_conditions(log, states, level)),
        caveats=(
            *(Caveat("meter_unusable", reason=reason) for reason in unusable),
            *([] if states.chosen is None else [Caveat("loads_chosen", users=states.chosen)]),
            *_caveats_of_cpus(states, cpus, named),
            *_caveats_of_events(overhead),
            *(facts.caveats_of_users(log) if observations.role_columns(log, "load") else ()),
        ),
        over_time=timeline.over_time(log, rates=list(states.uses), gauges=()),
    )


def _waited(share: Estimate | None) -> Estimate | None:
    """Share of the time spent waiting for locks; None where none was, as with one processor."""
    return share if share is not None and share.value > 0.0 else None


def _label(column: str, log_meters: Sequence[Meter]) -> str:
    event = next((meter.event for meter in log_meters if meter.time == column), None)
    return event or LABELS.get(column, observations.label(column))


def _order(states: StateTimes) -> list[str]:
    """Order of the columns; with meters that of Table 1: events, the rest, idle, useful work."""
    if not states.meters:
        return list(states.uses)
    times = [meter.time for meter in states.meters if meter.time in states.uses]
    rest = ("system", "steal", "idle", "user")
    others = sorted(
        (name for name in states.uses if name not in times), key=lambda name: rest.index(states.uses[name])
    )
    return [*times, *others]


def _conditions(log: Log, states: StateTimes, level: float) -> Iterator[Condition]:
    core = facts.last_machine(log).number("core_kwords", least=0.0)
    if core is not None:
        yield Condition(name="core_kwords", label="core", value=core, unit="Kword")
    units = {column.name: column.unit for column in log.schema("samples")}
    for name in _gauges(log):
        if gauge_ratio(name) in states.ratios:
            mean = states.ratios[gauge_ratio(name)].interval(0, level)
            label = observations.label(name).removesuffix(" mean")
            yield Condition(name=name, label=label, value=mean.with_unit(units[name]), unit=units[name])


def _caveats_of_cpus(states: StateTimes, cpus: float, named: Sequence[float]) -> Iterator[Caveat]:
    if len(counts := sorted(set(named))) > 1:
        yield Caveat("cpus_differ", counts=counts, used=cpus)
    elif named and abs(states.measured_cpus / cpus - 1.0) > OFF:
        yield Caveat("states_incomplete", measured=states.measured_cpus, cpus=cpus)
    if not named:
        yield Caveat("cpus_derived", cpus=cpus)
    if states.absent:
        yield Caveat("not_measured", columns=states.absent)


def _caveats_of_events(overhead: Overhead | NotApplicable | None) -> Iterator[Caveat]:
    if isinstance(overhead, NotApplicable):
        yield Caveat("not_divided", reason=overhead.reason)
    elif overhead is not None:
        yield Caveat("by_regression")
        check = overhead.tick_check
        if check and abs(check.disagreement) > OFF:
            yield Caveat("ticks_disagree", disagreement=check.disagreement)
        sampling = overhead.sampling
        if sampling and abs(sampling.disagreement) > OFF:
            yield Caveat("ticks_miss", disagreement=sampling.disagreement)


# Times of the states


def _read(log: Log, log_meters: Sequence[Meter]) -> StateTimes | NotApplicable:
    """Times of the states, with meters, gauges, and the shares of recorder and locks."""
    remedy = "record with `thinktime record`"
    schema = {column.name: column for column in log.schema("samples")}
    # Time stolen by the hypervisor is part of the capacity that nobody here had.
    offered: dict[str, Use] = {
        name: "steal" if name == STOLEN else USES[column.role or ""]
        for name, column in schema.items()
        if column.role in USES or name == STOLEN
    }
    metered = [name for meter in log_meters for name in (meter.count, meter.time)]
    gauges = _gauges(log)
    names = [*offered, *metered, RECORDER, LOCKS, *gauges]
    chunks = observations.held(lambda: observations.chunks(log, names))
    absent = next(chunks()).absent
    uses = {name: use for name, use in offered.items() if name not in absent}
    if not uses:
        return NotApplicable("no CPU state was measured", remedy)
    usable = tuple(meter for meter in log_meters if not {meter.count, meter.time} & absent)
    ratios = wanted(uses, usable, inside=(RECORDER, LOCKS), gauges=gauges)
    sums = of_pieces(lambda: complete(chunks(), uses), ratios)
    if CAPACITY not in sums or not sums[CAPACITY].interval(0).value > 0.0:
        return NotApplicable("the CPU states add up to zero in every interval that has all of them", remedy)
    return StateTimes(
        uses=uses,
        ratios=sums,
        meters=tuple(meter for meter in usable if f"{meter.time} of one" in sums),
        absent=tuple(name for name in (*offered, *metered) if name in absent),
        chosen=facts.chosen_loads(log),
    )


def _gauges(log: Log) -> list[str]:
    """Columns that measure the load of the machine."""
    return [
        column.name
        for column in log.schema("samples")
        if column.kind == "gauge" and (column.role == "load" or column.name in GAUGES)
    ]


def _named_cpus(log: Log) -> list[float]:
    """Number of CPUs of each session that names it."""
    counts = (session.machine.whole("cpus", least=1) for session in facts.sessions(log))
    return [float(cpus) for cpus in counts if cpus is not None]


# Events


def metered_event(states: StateTimes, meter: Meter, cpus: float, level: float) -> Event:
    """Event that the source counts and times, as ratios of sums."""
    of_one, between = (states.ratios[f"{meter.time} {what}"] for what in ("of one", "between"))
    share = bounded(states.ratios[f"{meter.time} of all"].interval(0, level))
    # n is the number of events, not of intervals.
    events = round(of_one.length)
    if not of_one.length > 0.0:
        return Event(request=meter.count, label=meter.event, share=share, overhead=None, time_between=None)
    return Event(
        request=meter.count,
        label=meter.event,
        share=share,
        overhead=dataclasses.replace(of_one.interval(0, level), n=events, unit="s"),
        time_between=dataclasses.replace(scaled(between.interval(0, level), cpus), n=events, unit="s"),
    )


def scaled(value: Estimate, factor: float) -> Estimate:
    """Estimate times a positive number that is known."""
    low, high = (None if end is None else end * factor for end in (value.low, value.high))
    return dataclasses.replace(value, value=value.value * factor, low=low, high=high)


def _regressed_events(overhead: Overhead, cpus: float) -> tuple[Event, ...]:
    """Events with costs of the regression as overhead, by decreasing share."""
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
        events.append(
            Event(
                request=cost.request,
                label=cost.label,
                share=share,
                overhead=cost.seconds,
                time_between=time_between,
                claimed=cost.claimed,
            )
        )
    return tuple(sorted(events, key=lambda event: -event.share.value))


def _unattributed(
    states: StateTimes,
    events: tuple[Event, ...],
    overhead: Overhead | NotApplicable | None,
    *,
    system: Estimate,
    cpus: float,
    level: float,
) -> Estimate | None:
    """System's share that no event explains: the base, the cost of user time, and outliers."""
    if not events or isinstance(overhead, NotApplicable):
        return None
    if overhead is None:
        metered = [meter.time for meter in states.meters]
        if not set(states.of_use("system")) - set(metered):
            return None
        return bounded(states.ratios[REST].interval(0, level)) if REST in states.ratios else None
    value = _of_regression(system, overhead, cpus) - sum(event.share.value for event in events)
    base = overhead.costs[0].seconds
    low, high = (None if end is None else value + (end - base.value) / cpus for end in (base.low, base.high))
    method = "system's share less that of the events, interval of the base"
    return Estimate(value=value, unit="", n=system.n, method=method, low=low, high=high, level=system.level)


def _of_regression(system: Estimate, overhead: Overhead | NotApplicable, cpus: float) -> float:
    """Share of the capacity that costs divide: sampled where the regression is, else that of the states."""
    if isinstance(overhead, NotApplicable) or overhead.timing != "sampled":
        return system.value
    return overhead.target_mean.value / cpus


def _checks(
    events: Sequence[Event],
    system: Estimate,
    overhead: Overhead | NotApplicable | None,
    *,
    cpus: float,
) -> tuple[Check, ...]:
    """Shares of the events that happened, computed in two ways."""
    checks = []
    whole = system.value if overhead is None else _of_regression(system, overhead, cpus)
    for event in events:
        if event.overhead is None or event.time_between is None:
            continue
        share = event.share.value
        if overhead is not None and not isinstance(overhead, NotApplicable):
            cost = overhead.cost(event.request)
            share = whole * cost.share.value if cost else share
        product = event.overhead.value / event.time_between.value
        checks.append(Check(request=event.request, label=event.label, product=product, share=share))
    return tuple(checks)
