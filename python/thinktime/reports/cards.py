"""Cards at the top of a report: one figure each."""

from __future__ import annotations

from dataclasses import replace

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Highlight
from thinktime.documents.wording import bare, noun
from thinktime.reports.summary_facts import SATURATED, Evidence, crowd_of

__all__ = ["highlights"]


def highlights(known: Evidence) -> tuple[Highlight, ...]:
    """Cards for which there is a figure."""
    cards = (
        _busy(known),
        _users(known),
        _limit(known),
        _response(known),
        _throughput(known),
        _cost(known),
    )
    return tuple(card for card in cards if card is not None)


def _busy(known: Evidence) -> Highlight | None:
    if known.capacity is None:
        return None
    user = shown.quantity(known.capacity.user.value, "share")
    note = f"{user} user programs, {shown.quantity(known.capacity.system.value, 'share')} system"
    return Highlight(
        name="busy", label="CPU busy", value=known.busy, unit="share", note=note, section="capacity"
    )


def _users(known: Evidence) -> Highlight | None:
    gauge = known.gauge("active_users")
    if gauge is None:
        return None
    mean, highest = gauge
    note = f"at most; {shown.number(mean)} on average"
    return Highlight(
        name="users", label="Active users", value=round(highest), unit="user", note=note, section="timeline"
    )


def _limit(known: Evidence) -> Highlight | None:
    if known.limit is None:
        return None
    name, part = known.limit
    often = f"used up in {shown.quantity(part.value, 'share')} of the intervals"
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


def _response(known: Evidence) -> Highlight | None:
    group = known.crowd
    if group is None or group.response is None:
        return None
    whom = f"with {crowd_of(group)}" if known.populations else "all interactions"
    note = f"{whom}; median {shown.quantity(group.response.p50.value, 's')}"
    return Highlight(
        name="response",
        label="Nine in ten answered within",
        value=group.response.p90,
        unit="s",
        note=note,
        section="response",
    )


def _throughput(known: Evidence) -> Highlight | None:
    groups = [(group, group.throughput) for group in known.populations if group.throughput is not None]
    if not groups:
        return None
    best, value = max(groups, key=lambda pair: pair[1].value)
    note = f"at most, with {crowd_of(best)}"
    return Highlight(
        name="throughput",
        label="Interactions completed",
        value=replace(value, unit="1/s"),
        unit="1/s",
        note=note,
        section="response",
    )


def _cost(known: Evidence) -> Highlight | None:
    if known.metered:
        event = known.metered[0]
        label = f"CPU time of one {event.label}"
        note = f"metered; {shown.quantity(event.share.value, 'share')} of the capacity"
        return Highlight(
            name="cost", label=label, value=event.overhead, unit="s", note=note, section="capacity"
        )
    cost = next((cost for cost in known.costs if cost.request == "forks"), None) or next(
        iter(known.costs), None
    )
    if cost is None:
        return None
    note = f"{shown.quantity(cost.share.value, 'share')} of the system time"
    if cost.direct is not None:
        note = f"measured directly: {shown.quantity(cost.direct.seconds.value, 's')}"
    label = f"CPU time of one {noun(cost.request, cost.label)}"
    return Highlight(
        name="cost", label=label, value=bare(cost.seconds), unit="s", note=note, section="overhead"
    )
