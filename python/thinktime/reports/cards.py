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
    return Highlight("busy", "CPU busy", known.busy, "share", note, "capacity")


def _users(known: Evidence) -> Highlight | None:
    gauge = known.gauge("active_users")
    if gauge is None:
        return None
    mean, highest = gauge
    note = f"at most; {shown.number(mean)} on average"
    return Highlight("users", "Active users", round(highest), "user", note, "timeline")


def _limit(known: Evidence) -> Highlight | None:
    if known.limit is None:
        return None
    name, part = known.limit
    often = f"used up in {shown.quantity(part.value, 'share')} of the intervals"
    if part.value < SATURATED:
        return Highlight("limit", "Limited by", "nothing", "", f"{name}: {often}", "saturation")
    value: Cell = name.removeprefix("a ").removeprefix("the ")
    return Highlight("limit", "Limited by", value, "", often, "saturation")


def _response(known: Evidence) -> Highlight | None:
    group = known.crowd
    if group is None or group.response is None:
        return None
    whom = f"with {crowd_of(group)}" if known.populations else "all interactions"
    note = f"{whom}; median {shown.quantity(group.response.p50.value, 's')}"
    return Highlight("response", "Nine in ten answered within", group.response.p90, "s", note, "response")


def _throughput(known: Evidence) -> Highlight | None:
    groups = [(group, group.throughput) for group in known.populations if group.throughput is not None]
    if not groups:
        return None
    best, value = max(groups, key=lambda pair: pair[1].value)
    note = f"at most, with {crowd_of(best)}"
    return Highlight(
        "throughput", "Interactions completed", replace(value, unit="1/s"), "1/s", note, "response"
    )


def _cost(known: Evidence) -> Highlight | None:
    if known.metered:
        event = known.metered[0]
        label = f"CPU time of one {event.label}"
        note = f"metered; {shown.quantity(event.share.value, 'share')} of the capacity"
        return Highlight("cost", label, event.overhead, "s", note, "capacity")
    cost = next((cost for cost in known.costs if cost.request == "forks"), None) or next(
        iter(known.costs), None
    )
    if cost is None:
        return None
    note = f"{shown.quantity(cost.share.value, 'share')} of the system time"
    if cost.direct is not None:
        note = f"measured directly: {shown.quantity(cost.direct.seconds.value, 's')}"
    label = f"CPU time of one {noun(cost.request, cost.label)}"
    return Highlight("cost", label, bare(cost.seconds), "s", note, "overhead")
