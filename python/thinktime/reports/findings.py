"""The summary in plain words: what this machine is, how busy, what limits it, what a request costs.

Every sentence is made from results alone; where a result is missing, its sentence is left out and the
last part says what to do to get it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from thinktime.reports import format as shown
from thinktime.reports import machine as machines
from thinktime.reports.document import Cell, Finding, Highlight
from thinktime.reports.prose import listed, share, users
from thinktime.reports.sections.capacity import BUSY
from thinktime.reports.sections.overhead import requests
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.capacity import Capacity
    from thinktime.analyses.overhead import Cost, Overhead
    from thinktime.analyses.rates import Rates
    from thinktime.analyses.response import Response, ResponseGroup
    from thinktime.analyses.saturation import Saturation
    from thinktime.analyses.throughput import Throughput

__all__ = ["Evidence", "findings", "highlights"]

Result = TypeVar("Result")
LIMITS = {"cpu": "the CPU", "disk": "a disk", "memory": "memory"}
SATURATED = 0.1
"""Part of the intervals in which a resource must be used up to be called a limit of this load."""
HEAVY = 0.25
"""Part of the system time above which one kind of request is worth a look."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that is known about one log."""

    machine: machines.Machine
    recording: machines.Recording
    results: Mapping[str, object]

    def _result(self, name: str) -> object | None:
        result = self.results.get(name)
        return None if isinstance(result, NotApplicable) else result

    @property
    def capacity(self) -> Capacity | None:
        """The capacity breakdown, where it applies."""
        return self._result("capacity")  # type: ignore[return-value]

    @property
    def overhead(self) -> Overhead | None:
        """The overhead regression, where it applies."""
        return self._result("overhead")  # type: ignore[return-value]

    @property
    def rates(self) -> Rates | None:
        """The rates, where they apply."""
        return self._result("rates")  # type: ignore[return-value]

    @property
    def response(self) -> Response | None:
        """The response times, where they apply."""
        return self._result("response")  # type: ignore[return-value]

    @property
    def saturation(self) -> Saturation | None:
        """The frontier, where it applies."""
        return self._result("saturation")  # type: ignore[return-value]

    @property
    def throughput(self) -> Throughput | None:
        """The throughput by load, where it applies."""
        return self._result("throughput")  # type: ignore[return-value]


def highlights(known: Evidence) -> tuple[Highlight, ...]:
    """The cards at the top of the report."""
    cards = (_busy_card(known), _users_card(known), _response_card(known), _throughput_card(known), _cost_card(known),
             _limit_card(known))  # fmt: skip
    return tuple(card for card in cards if card is not None)


def findings(known: Evidence) -> tuple[Finding, ...]:
    """The sentences below the cards: what is, what to beware of, what to look at next."""
    if not known.recording.intervals and known.response is None:
        return (
            Finding("The log holds no samples and no interactions: nothing was measured.", "", "warning"),
            Finding("Record a load with `thinktime record`, or play one with `thinktime play`.", "", "next"),
        )
    news = (_busy(known), _limit(known), _cost(known), _direct(known), _response(known), _crowding(known))
    said = [finding for finding in news if finding is not None]
    return (*said, *_warnings(known), *_next(known))


def _busy_share(known: Evidence) -> Estimate | None:
    """Busy part of the capacity, with the interval of its complement where that is one state."""
    if known.capacity is None:
        return None
    parts = {part.name: part.share for part in known.capacity.parts}
    busy = sum(parts[name].value for name in BUSY if name in parts)
    sample = next(iter(parts.values()), None)
    return None if sample is None else Estimate(busy, "share", sample.n, "sum of the busy states' means")


def _busy_card(known: Evidence) -> Highlight | None:
    busy = _busy_share(known)
    if busy is None or known.capacity is None:
        return None
    user = sum(part.share.value for part in known.capacity.parts if part.name in {"user", "nice"})
    note = (
        f"{shown.quantity(user, 'share')} user, {shown.quantity(known.capacity.system.value, 'share')} system"
    )
    return Highlight("busy", "CPU busy", busy, "share", note, "capacity")


def _gauge(known: Evidence, column: str) -> tuple[float, float] | None:
    """Mean and highest value of a gauge."""
    if known.rates is None:
        return None
    rate = next((rate for rate in known.rates.rates if rate.column == column), None)
    return None if rate is None else (rate.mean.value, rate.highest)


def _users_card(known: Evidence) -> Highlight | None:
    gauge = _gauge(known, "active_users")
    if gauge is None:
        return None
    mean, highest = gauge
    return Highlight(
        "users",
        "Active users",
        round(highest),
        "user",
        f"at most; {shown.number(mean)} on average",
        "timeline",
    )


def _crowded(known: Evidence) -> ResponseGroup | None:
    """The largest population with a reliable response time, or all interactions."""
    if known.response is None:
        return None
    measured = [group for group in known.response.by_population if group.response is not None]
    group = measured[-1] if measured else known.response.overall
    return group if group.response is not None else None


def _response_card(known: Evidence) -> Highlight | None:
    group = _crowded(known)
    if group is None or group.response is None or known.response is None:
        return None
    whom = "all interactions" if group is known.response.overall else f"with {users(group.label)}"
    note = f"{whom}; median {shown.quantity(group.response.p50.value, 's')}"
    return Highlight("response", "Nine in ten answered within", group.response.p90, "s", note, "response")


def _throughput_card(known: Evidence) -> Highlight | None:
    if known.response is not None:
        groups = [group for group in known.response.by_population if group.throughput is not None]
        if groups:
            best = max(groups, key=lambda group: group.throughput.value if group.throughput else 0.0)
            note = f"at most, with {users(best.label)}"
            return Highlight(
                "throughput", "Interactions a second", best.throughput, "1/s", note, "throughput"
            )
    return None


def _top_cost(known: Evidence) -> Cost | None:
    costs = requests(known.overhead) if known.overhead else []
    return costs[0] if costs else None


def _cost_card(known: Evidence) -> Highlight | None:
    costs = requests(known.overhead) if known.overhead else []
    cost = next((cost for cost in costs if cost.request == "forks"), _top_cost(known))
    if cost is None:
        return None
    note = f"{shown.quantity(cost.share.value, 'share')} of the system time"
    if cost.direct is not None:
        note = f"measured directly: {shown.quantity(cost.direct.seconds.value, 's')}"
    seconds = cost.seconds
    bare = Estimate(seconds.value, "s", seconds.n, seconds.method, seconds.low, seconds.high, seconds.level)
    return Highlight("cost", f"System time of one {cost.label}", bare, "s", note, "overhead")


def _limiting(known: Evidence) -> tuple[str, Estimate] | None:
    """The resource that was used up most often, and in which part of the intervals."""
    if known.saturation is None:
        return None
    parts = [
        (LIMITS[name], part) for name, part in known.saturation.saturated_share.items() if name in LIMITS
    ]
    return max(parts, key=lambda item: item[1].value, default=None)


def _limit_card(known: Evidence) -> Highlight | None:
    limit = _limiting(known)
    if limit is None:
        return None
    name, part = limit
    value: Cell = name.removeprefix("a ").removeprefix("the ") if part.value >= SATURATED else "nothing"
    often = f"used up in {shown.quantity(part.value, 'share')} of the intervals"
    note = often if part.value >= SATURATED else f"{name}: {often}"
    return Highlight("limit", "Limited by", value, "", note, "saturation")


def _busy(known: Evidence) -> Finding | None:
    busy = _busy_share(known)
    if busy is None or known.capacity is None:
        return None
    user = sum(part.share.value for part in known.capacity.parts if part.name in {"user", "nice"})
    words = machines.words(known.machine)
    return Finding(
        f"{machines.name(known.machine)} ({words}) was busy {shown.quantity(busy.value, 'share')} of its CPU time: "
        f"{shown.quantity(user, 'share')} in user programs, {shown.quantity(known.capacity.system.value, 'share')} in the "
        "system.",
        "capacity",
    )


def _limit(known: Evidence) -> Finding | None:
    limit = _limiting(known)
    if limit is None:
        return None
    name, part = limit
    if part.value < SATURATED:
        return Finding(f"This load does not saturate it: {name} was used up in only {shown.estimate(share(part) or part)} "
                       "of the intervals.", "saturation")  # fmt: skip
    return Finding(
        f"It saturates on {name}, used up in {shown.estimate(share(part) or part)} of the intervals.",
        "saturation",
    )


def _cost(known: Evidence) -> Finding | None:
    if known.overhead is None:
        return None
    costs = requests(known.overhead)[:3]
    if not costs:
        return None
    named = [f"{_article(cost.label)} costs {_seconds(cost.seconds)}" for cost in costs]
    return Finding(
        f"Of system CPU time, {listed(named)}; together with the rest of the regression that explains "
        f"{shown.quantity(known.overhead.r_squared, 'share')} of its variance.",
        "overhead",
    )


def _article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeio' else 'a'} {noun}"


def _seconds(value: Estimate) -> str:
    return shown.estimate(
        Estimate(value.value, "s", value.n, value.method, value.low, value.high, value.level)
    )


def _direct(known: Evidence) -> Finding | None:
    checked = [
        cost for cost in (requests(known.overhead) if known.overhead else []) if cost.direct is not None
    ]
    named = [
        f"{cost.label} {_seconds(cost.direct.seconds)} ({'agrees' if cost.direct.overlaps else 'differs'})"
        for cost in checked
        if cost.direct is not None
    ]
    return Finding(f"Measured directly in the same run: {listed(named)}.", "overhead") if named else None


def _response(known: Evidence) -> Finding | None:
    group = _crowded(known)
    if group is None or group.response is None or known.response is None:
        return None
    crowd = "" if group is known.response.overall else f" with {users(group.label)}"
    stretch = (
        "" if group.stretch is None else f", {shown.number(group.stretch.value)} times the service received"
    )
    return Finding(
        f"An input{crowd} is answered in {shown.estimate(group.response.p50)} (median); one in ten waits longer than "
        f"{shown.estimate(group.response.p90)}{stretch}.",
        "response",
    )


def _crowding(known: Evidence) -> Finding | None:
    if known.response is None or known.response.growth is None:
        return None
    measured = [group for group in known.response.by_population if group.response is not None]
    if len(measured) < 2:
        return None
    return Finding(
        f"From {measured[0].label} to {users(measured[-1].label)} the median response time grows "
        f"{shown.estimate(known.response.growth)} times.",
        "response",
    )


def _warnings(known: Evidence) -> list[Finding]:
    said = known.recording
    found = []
    if 0 < said.intervals < machines.SHORT:
        found.append(Finding(f"Only {shown.count(said.intervals, 'interval')} were recorded: most intervals below are wide.",
                             "recording", "warning"))  # fmt: skip
    if (
        said.worst_share is not None
        and said.worst_share > machines.DISAGREEMENT
        and said.tick_s
        and said.exact_s
    ):
        found.append(
            Finding(
                f"Tick-sampled and exact CPU time differ by up to {shown.quantity(said.worst_share, 'share')} of the "
                f"capacity in an interval ({shown.quantity(said.tick_s / said.exact_s - 1, 'share')} over the record).",
                "recording",
                "warning",
            )
        )
    if said.dropped:
        found.append(
            Finding(f"{shown.count(said.dropped, 'interval')} had to be dropped.", "recording", "warning")
        )
    return found


def _next(known: Evidence) -> list[Finding]:
    steps = []
    limit = _limiting(known)
    if (
        limit is not None
        and limit[1].value >= SATURATED
        and limit[0] == "the CPU"
        and known.capacity is not None
    ):
        user = sum(part.share.value for part in known.capacity.parts if part.name in {"user", "nice"})
        whose = "user programs" if user > known.capacity.system.value else "the system"
        steps.append(
            Finding(
                f"The CPU is the limit and most of it goes to {whose}: more or faster CPUs help first.",
                "capacity",
                "next",
            )
        )
    elif limit is not None and limit[1].value >= SATURATED:
        steps.append(
            Finding(
                f"{limit[0][:1].upper()}{limit[0][1:]} is the limit: more CPU would not help first.",
                "saturation",
                "next",
            )
        )
    top = _top_cost(known)
    if top is not None and top.share.value >= HEAVY:
        steps.append(
            Finding(f"Find who makes the {shown.plural(top.label) if ' ' not in top.label else top.label + 's'}: they are "
                    f"{shown.quantity(top.share.value, 'share')} of the system's CPU time.", "overhead", "next")
        )  # fmt: skip
    if limit is not None and limit[1].value < SATURATED:
        steps.append(
            Finding(
                "To see what limits it, record a heavier load, or add users with `thinktime play`.",
                "saturation",
                "next",
            )
        )
    if known.response is None:
        steps.append(
            Finding("Response times are not in this log: `thinktime play` measures them.", "response", "next")
        )
    if 0 < known.recording.intervals < 4 * machines.SHORT:
        steps.append(
            Finding(
                "Record for longer: four times the intervals halve the width of every interval below.",
                "recording",
                "next",
            )
        )
    return steps
