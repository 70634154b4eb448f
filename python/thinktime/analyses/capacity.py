"""Where the CPU capacity went."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses import observations
from thinktime.analyses import overhead as overhead_analysis
from thinktime.stats import series
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.overhead import Overhead
    from thinktime.log import Log

__all__ = ["Capacity", "Event", "Part", "analyse"]

Array = NDArray[np.float64]

LABELS = {
    "user_s": "user",
    "nice_s": "user, at low priority",
    "system_s": "system, for processes",
    "irq_s": "hardware interrupts",
    "softirq_s": "soft interrupts",
    "steal_s": "stolen by the hypervisor",
    "idle_s": "idle",
    "iowait_s": "idle, waiting for a disk",
}
NO_EVENT = ("base", "user_time")
OFF = 0.05


@dataclass(frozen=True, slots=True)
class Part:
    """One state of the CPUs."""

    name: str
    """``user``, ``nice``, ``system``, ``irq``, ``softirq``, ``steal``, ``iowait``, ``idle``."""
    label: str
    share: Estimate
    """Part of the CPU capacity, 0 to 1. The parts of all states add to 1."""


@dataclass(frozen=True, slots=True)
class Event:
    """One kind of event, with share = overhead / time between (Sekino 1971, Tables 1 to 3)."""

    request: str
    label: str
    share: Estimate
    """Part of the CPU capacity, 0 to 1."""
    overhead: Estimate
    """System CPU time an event [s]."""
    time_between: Estimate
    """Mean time between events per processor [s]: CPUs x time / events."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """CPU capacity by state, and the system's part by event."""

    cpus: float
    """Number of CPUs: from the manifest, or from the times themselves."""
    intervals: int
    parts: tuple[Part, ...]
    events: tuple[Event, ...]
    """By falling share; empty where the overhead regression does not apply."""
    unattributed: Estimate | None
    """Part of the capacity that the system used but no event explains; with `events` the system's share."""
    system: Estimate
    """Part of the capacity used by the system: system, irq and softirq."""
    recorder: Estimate | None
    """Part of the capacity that the recorder itself used; inside user and system."""
    caveats: tuple[str, ...]


def analyse(
    log: Log, *, overhead: Overhead | NotApplicable | None = None, level: float = 0.95
) -> Capacity | NotApplicable:
    r"""CPU capacity by state, and the system's part of it by event (Sekino 1971, Tables 1 to 3).

    A state's share is its time over the time of all states, :math:`\sum s_i / \sum \sum_k s_{ki}`, so that
    the shares add to one (Table 1), with batch-means intervals. An event's share of the capacity is

    .. math:: \text{share} = \frac{\text{overhead per event}}{\text{mean time between events per processor}}

    (Tables 1 to 3), where the overhead is the regression's cost (`overhead.analyse`), not a meter's as
    on Multics, and the time between events is CPUs x time / events.

    Parameters
    ----------
    log : Log
    overhead : Overhead or NotApplicable, optional
        Result of `overhead.analyse` for this log, where there is one already.
    level : float
        Confidence of the intervals.
    """
    states = _read(log)
    if isinstance(states, NotApplicable):
        return states
    if overhead is None:
        overhead = overhead_analysis.analyse(log, level=level)
    capacity = states.times.sum(axis=1)
    cpus, told = _cpus(log, states.measured_cpus)
    events = () if isinstance(overhead, NotApplicable) else _events(overhead, cpus)
    system_columns = [name in observations.role_columns(log, "system_time") for name in states.names]
    system = _share(states.times[:, system_columns].sum(axis=1), capacity, level)
    known = ~np.isnan(states.recorder)
    return Capacity(
        cpus=cpus,
        intervals=len(capacity),
        parts=tuple(
            Part(
                name.removesuffix("_s"),
                LABELS.get(name, observations.label(name)),
                _share(states.times[:, at], capacity, level),
            )
            for at, name in enumerate(states.names)
        ),
        events=events,
        unattributed=_rest(system, events, overhead, cpus),
        system=system,
        recorder=_share(states.recorder[known], capacity[known], level) if known.any() else None,
        caveats=_caveats(states, cpus, told, overhead),
    )


@dataclass(frozen=True, slots=True)
class _States:
    """Times of the CPU states that were measured, an interval a row, a state a column."""

    names: list[str]
    times: Array
    length_s: Array
    recorder: Array
    absent: list[str]

    @property
    def measured_cpus(self) -> float:
        """Time of all states per second."""
        return float(self.times.sum() / self.length_s.sum())


def _read(log: Log) -> _States | NotApplicable:
    remedy = "record with `thinktime record`"
    roles = ("user_time", "system_time", "idle_time")
    schema = log.schema("samples")
    # Time stolen by the hypervisor is part of the capacity that nobody here had.
    offered = [column.name for column in schema if column.role in roles or column.name == "steal_s"]
    seen = observations.read(log, [*offered, "recorder_cpu_s"])
    names = [name for name in offered if not np.isnan(seen.columns[name]).all()]
    if not names:
        return NotApplicable("no CPU state was measured", remedy)
    times = np.column_stack([seen.columns[name] for name in names])
    known = ~np.isnan(times).any(axis=1)
    if not times[known].sum() > 0.0:
        return NotApplicable("the CPU states add up to no time in any interval that has them all", remedy)
    return _States(
        names,
        times[known],
        seen.length_s[known],
        seen.columns["recorder_cpu_s"][known],
        [name for name in offered if name not in names],
    )


def _share(amounts: Array, capacity: Array, level: float) -> Estimate:
    share = series.batch_ratio(amounts, capacity, level)
    low = None if share.low is None else max(0.0, share.low)
    high = None if share.high is None else min(1.0, share.high)
    return dataclasses.replace(share, low=low, high=high).estimate("")


def _cpus(log: Log, measured: float) -> tuple[float, bool]:
    """Return the number of CPUs, and whether the manifest tells it; else it follows from the times."""
    for session in reversed(log.manifest.get("sessions", [])):
        cpus = (session.get("machine") or {}).get("cpus")
        if isinstance(cpus, int | float) and cpus > 0:
            return float(cpus), True
    return float(max(1, round(measured))), False


def _events(overhead: Overhead, cpus: float) -> tuple[Event, ...]:
    events = []
    for cost in overhead.costs:
        if cost.request in NO_EVENT or cost.rate.value <= 0.0:
            continue
        between = cpus / cost.rate.value
        ends = [None if end is None or end <= 0.0 else cpus / end for end in (cost.rate.high, cost.rate.low)]
        unit = cost.seconds.unit
        time_between = Estimate(
            between, unit, cost.rate.n, "CPUs x time / events", ends[0], ends[1], cost.rate.level
        )
        share = Estimate(
            cost.seconds.value / between,
            "",
            cost.seconds.n,
            "overhead per event / mean time between events",
            None if cost.seconds.low is None else cost.seconds.low / between,
            None if cost.seconds.high is None else cost.seconds.high / between,
            cost.seconds.level,
        )
        events.append(Event(cost.request, cost.label, share, cost.seconds, time_between))
    return tuple(sorted(events, key=lambda event: -event.share.value))


def _rest(
    system: Estimate, events: tuple[Event, ...], overhead: Overhead | NotApplicable, cpus: float
) -> Estimate | None:
    """System's share that no event explains: the base, what goes with user time, and outliers."""
    if not events or isinstance(overhead, NotApplicable):
        return None
    value = system.value - sum(event.share.value for event in events)
    base = overhead.costs[0].seconds
    low, high = (None if end is None else value + (end - base.value) / cpus for end in (base.low, base.high))
    method = "system's share less that of the events, interval of the base"
    return Estimate(value, "", system.n, method, low, high, system.level)


def _caveats(states: _States, cpus: float, told: bool, overhead: Overhead | NotApplicable) -> tuple[str, ...]:
    caveats = []
    measured = states.measured_cpus
    if told and abs(measured / cpus - 1.0) > OFF:
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
