"""Cards at the top of a report, each with one value."""

from __future__ import annotations

from dataclasses import replace

from thinktime.analyses.response.decomposition_section import crowd
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Highlight
from thinktime.documents.wording import bare, noun
from thinktime.reports.summary_facts import SATURATED, LogFacts


def highlights(facts: LogFacts) -> tuple[Highlight, ...]:
    """Cards that have a value."""
    cards = (
        _busy(facts),
        _users(facts),
        _waited(facts),
        _limit(facts),
        _response(facts),
        _throughput(facts),
        _cost(facts),
    )
    return tuple(card for card in cards if card is not None)


def _busy(facts: LogFacts) -> Highlight | None:
    if facts.capacity is None:
        return None
    user = shown.quantity(facts.capacity.user.value, "share")
    note = f"{user} user programs, {shown.quantity(facts.capacity.system.value, 'share')} system"
    return Highlight(
        name="busy", label="CPU busy", value=facts.busy, unit="share", note=note, section="capacity"
    )


def _users(facts: LogFacts) -> Highlight | None:
    gauge = facts.gauge("active_users")
    if gauge is None:
        return None
    mean, highest = gauge
    note = f"maximum; mean {shown.number(mean)}"
    if facts.users_partial is not None:
        seen = shown.quantity(facts.users_partial, "share")
        note = f"{note}; of those seen, with {seen} of the CPU time"
    return Highlight(
        name="users", label="Active users", value=round(highest), unit="user", note=note, section="timeline"
    )


def _waited(facts: LogFacts) -> Highlight | None:
    """Time that users' programs waited for a CPU."""
    users = facts.users.users if facts.users is not None else ()
    waited = [user.run_delay_s for user in users if user.run_delay_s is not None]
    if not waited or facts.users_partial is not None:
        return None
    used = shown.quantity(sum(user.cpu_s or 0.0 for user in users), "s")
    return Highlight(
        name="waited",
        label="Waited for a CPU",
        value=sum(waited),
        unit="s",
        note=f"in all, to use {used} of CPU time",
        section="users",
    )


def _limit(facts: LogFacts) -> Highlight | None:
    if facts.limit is None:
        return None
    name, part = facts.limit
    if (filled := facts.filled_by_low_priority) is not None:
        without = shown.quantity(filled[1], "share")
        note = f"the CPU: full in {without} of the intervals without work at low priority"
        return Highlight(
            name="limit", label="Limited by", value="nothing", unit="", note=note, section="saturation"
        )
    often = f"exhausted in {shown.quantity(part.value, 'share')} of the intervals"
    if part.value < SATURATED:
        return Highlight(
            name="limit",
            label="Limited by",
            value="nothing",
            unit="",
            note=f"{name}: {often}",
            section="saturation",
        )
    value: Cell = name.removeprefix("a ").removeprefix("the ")
    return Highlight(name="limit", label="Limited by", value=value, unit="", note=often, section="saturation")


def _response(facts: LogFacts) -> Highlight | None:
    group = facts.crowd
    if group is None or group.response is None:
        return None
    whom = f"with {crowd(group)}" if facts.populations else "all interactions"
    note = f"{whom}; median {shown.quantity(group.response.p50.value, 's')}"
    return Highlight(
        name="response",
        label="90th percentile of response",
        value=group.response.p90,
        unit="s",
        note=note,
        section="response",
    )


def _throughput(facts: LogFacts) -> Highlight | None:
    groups = [(group, group.throughput) for group in facts.populations if group.throughput is not None]
    if not groups:
        return None
    best, value = max(groups, key=lambda pair: pair[1].value)
    note = f"maximum, with {crowd(best)}"
    return Highlight(
        name="throughput",
        label="Interactions completed",
        value=replace(value, unit="1/s"),
        unit="1/s",
        note=note,
        section="response",
    )


def _cost(facts: LogFacts) -> Highlight | None:
    if facts.metered:
        event = facts.metered[0]
        label = f"CPU time of one {event.label}"
        note = f"metered; {shown.quantity(event.share.value, 'share')} of the capacity"
        return Highlight(
            name="cost", label=label, value=event.overhead, unit="s", note=note, section="capacity"
        )
    cost = next(iter(facts.costs), None)
    if cost is None:
        return None
    note = f"{shown.quantity(cost.share.value, 'share')} of the system time"
    if cost.direct is not None:
        note = f"measured directly: {shown.quantity(cost.direct.seconds.value, 's')}"
    label = f"CPU time of one {noun(cost.request, cost.label)}"
    return Highlight(
        name="cost", label=label, value=bare(cost.seconds), unit="s", note=note, section="overhead"
    )
