"""Where the CPU capacity went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from thinktime.analyses.capacity import events as of_events
from thinktime.analyses.capacity.result import Capacity, Check, Condition, Event, Part
from thinktime.analyses.capacity.states import LOCKS, RECORDER, States, gauges, read, told_cpus
from thinktime.analyses.overhead import analysis as overhead_analysis
from thinktime.analyses.overhead.regression import FitOptions
from thinktime.analyses.timeline import analysis as timeline
from thinktime.log import observations
from thinktime.log.meters import Meter, meters
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    from thinktime.analyses.overhead.result import Overhead
    from thinktime.log import Log

__all__ = ["Capacity", "Check", "Condition", "Event", "Part", "analyse"]

LABELS = {
    "user_s": "user",
    "nice_s": "user, at low priority",
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
    the shares add to one (Table 1), with batch-means intervals. An event's share of the capacity is

    .. math:: \text{share} = \frac{\text{overhead per event}}{\text{mean time between events per processor}}

    (Tables 1 to 3). Where the manifest names `meters` (as ``ttm`` did on Multics), the overhead is the
    event's time over its count, the time between events is CPUs x time over the count, and the share is the
    event's part of the time of all states, all with batch-means intervals of ratios: then the identity is a
    check of the meters, which holds where the states add up to CPUs x time. Elsewhere the overhead is the
    regression's cost (`overhead.analyse`).

    Parameters
    ----------
    log : Log
    overhead : Overhead or NotApplicable, optional
        Result of `overhead.analyse` for this log, where there is one already; not looked at where the log
        has meters.
    level : float
        Confidence of the intervals.
    """
    found, unusable = meters(log)
    states = read(log, found)
    if isinstance(states, NotApplicable):
        return states
    cpus, told = _cpus(log, states.measured_cpus)
    if states.meters:
        overhead = None
        events = tuple(of_events.metered(states, meter, cpus, level) for meter in states.meters)
    else:
        overhead = (
            overhead_analysis.analyse(log, fit_options=FitOptions(level=level))
            if overhead is None
            else overhead
        )
        events = () if isinstance(overhead, NotApplicable) else of_events.regressed(overhead, cpus)
    system = states.share(states.of_use("system"), level)
    return Capacity(
        cpus=cpus,
        intervals=len(states.length_s),
        metered=bool(states.meters),
        parts=tuple(
            Part(name, _label(name, found), states.uses[name], states.share([name], level))
            for name in _order(states)
        ),
        events=events,
        unattributed=of_events.unattributed(states, system, events, overhead, cpus, level),
        user=states.share(states.of_use("user"), level),
        system=system,
        recorder=states.inside(RECORDER, level),
        lock_wait=_waited(states.inside(LOCKS, level)),
        accounted=states.measured_cpus / cpus,
        checks=of_events.checks(events, system, overhead),
        conditions=_conditions(log, states, level),
        caveats=_caveats(log, states, cpus, told, overhead, unusable),
        over_time=timeline.over_time(log, rates=list(states.uses), gauges=()),
    )


def _waited(share: Estimate | None) -> Estimate | None:
    """Time spent waiting for locks; None where nobody ever waited, as with one processor."""
    return share if share is not None and share.value > 0.0 else None


def _label(column: str, found: Sequence[Meter]) -> str:
    event = next((meter.event for meter in found if meter.time == column), None)
    return event or LABELS.get(column, observations.label(column))


def _order(states: States) -> list[str]:
    """Order of the columns; with meters that of Table 1: events, the rest, idle, useful work."""
    if not states.meters:
        return list(states.uses)
    times = [meter.time for meter in states.meters if meter.time in states.uses]
    rest = ("system", "steal", "idle", "user")
    others = sorted(
        (name for name in states.uses if name not in times), key=lambda name: rest.index(states.uses[name])
    )
    return [*times, *others]


def _cpus(log: Log, measured: float) -> tuple[float, bool]:
    """Return the number of CPUs, and whether the manifest tells it; else it follows from the times."""
    told = told_cpus(log)
    return (told[-1], True) if told else (float(max(1, round(measured))), False)


def _conditions(log: Log, states: States, level: float) -> tuple[Condition, ...]:
    machine = (log.manifest.get("sessions") or [{}])[-1].get("machine") or {}
    core = machine.get("core_kwords")
    found = [Condition("core_kwords", "core", core, "Kword")] if isinstance(core, int | float) else []
    units = {column.name: column.unit for column in log.schema("samples")}
    for name in gauges(log):
        known = ~np.isnan(states.columns[name])
        if known.any():
            length = states.length_s[known]
            mean = batch_means.batch_ratio(states.columns[name][known] * length, length, level)
            label = observations.label(name).removesuffix(" mean")
            found.append(Condition(name, label, mean.with_unit(units[name]), units[name]))
    return tuple(found)


def _caveats(
    log: Log,
    states: States,
    cpus: float,
    told: bool,
    overhead: Overhead | NotApplicable | None,
    unusable: Sequence[str],
) -> tuple[str, ...]:
    caveats = [f"A meter of the manifest cannot be used: {words}." for words in unusable]
    measured = states.measured_cpus
    if len(several := sorted(set(told_cpus(log)))) > 1:
        each = ", ".join(f"{count:g}" for count in several)
        caveats.append(
            f"Sessions differ in their number of CPUs ({each}): times between events are for {cpus:g}."
        )
    elif told and abs(measured / cpus - 1.0) > OFF:
        caveats.append(
            f"The states add up to {measured:.3g} CPUs' time while the machine has {cpus:g}: ticks were "
            "lost or the number of CPUs changed. Shares are of the time that was accounted for."
        )
    if not told:
        caveats.append(f"The log does not say how many CPUs there are; {cpus:g} follows from the times.")
    if states.absent:
        caveats.append(
            f"Not measured: {', '.join(states.absent)}; where they hold time, the other shares are too high."
        )
    if isinstance(overhead, NotApplicable):
        caveats.append(f"The system's part is not divided by event: {overhead.reason}.")
    if overhead is None or isinstance(overhead, NotApplicable):
        return tuple(caveats)
    caveats.append(
        "Overhead per event comes from a regression, not from a meter; see the caveats of overhead."
    )
    check = overhead.tick_check
    if check and abs(check.disagreement) > OFF:
        caveats.append(
            f"States are sampled by ticks; against exact CPU time they are {check.disagreement:+.0%} "
            "off in total."
        )
    return tuple(caveats)
