"""The summary in plain words: what this machine is, how busy, what limits it, what a request costs.

Every sentence is made from results alone; where a result is missing, its sentence is left out and the
last part says what to do to get it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.analyses.recording.analysis import SHORT
from thinktime.analyses.recording.section import host_name, host_words
from thinktime.documents import format as shown
from thinktime.documents.document import Finding
from thinktime.documents.wording import bare, capital, listed, noun, one_of, share
from thinktime.reports.summary_facts import SATURATED, Evidence, crowd_of
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.overhead.result import DirectCost

__all__ = ["findings"]

HEAVY = 0.25
"""Part of the system time above which one kind of request is worth a look."""
WAITING = 0.1
"""Part of the CPU time spent idle while a drive is busy above which it is worth a sentence."""
STRETCHED = 2.0
"""Stretch factor above which users wait for each other more than for their own work."""


def findings(known: Evidence) -> tuple[Finding, ...]:
    """Sentences below the cards: what is, what to beware of, what to look at next."""
    if not known.recording.intervals and known.response is None:
        return (
            Finding(
                "The log holds no samples and no interactions: nothing was measured.",
                section="",
                tone="warning",
            ),
            Finding(
                "Record a load with `thinktime record`, or play one with `thinktime play`.",
                section="",
                tone="next",
            ),
        )
    news = (
        _busy(known),
        _limit(known),
        _waiting(known),
        _cost(known),
        _direct(known),
        _response(known),
        _crowding(known),
        _scheduling(known),
    )
    return (*(finding for finding in news if finding is not None), *_warnings(known), *_next(known))


def _busy(known: Evidence) -> Finding | None:
    if known.capacity is None:
        return None
    host = known.recording.host
    busy, user = shown.quantity(known.busy, "share"), shown.quantity(known.capacity.user.value, "share")
    system = shown.quantity(known.capacity.system.value, "share")
    return Finding(
        f"The CPUs of {host_name(host)} ({host_words(host)}) were busy {busy} of the time: {user} in user "
        f"programs, {system} in the system.",
        section="capacity",
    )


def _limit(known: Evidence) -> Finding | None:
    if known.limit is None:
        return None
    name, part = known.limit
    often = shown.estimate(share(part) or part)
    if part.value < SATURATED:
        text = f"This load does not saturate it: {name} was used up in only {often} of the intervals."
        return Finding(text, section="saturation")
    return Finding(f"It saturates on {name}, used up in {often} of the intervals.", section="saturation")


def _waiting(known: Evidence) -> Finding | None:
    """Say how much CPU time a disk costs by keeping the CPU idle; a hint alone is no finding."""
    disks = known.iostat
    if disks is None or isinstance(disks.cpu, NotApplicable) or disks.cpu.is_hint:
        return None
    waiting = share(disks.cpu.waiting)
    if waiting is None or waiting.value < WAITING:
        return None
    queue = ""
    if not isinstance(disks.queues, NotApplicable) and disks.queues[0].mean.best is not None:
        queue = f", with {shown.estimate(disks.queues[0].mean.best)} at the controller on average"
    return Finding(
        f"The CPU was idle while a drive was busy {shown.estimate(waiting)} of the time{queue}.",
        section="iostat",
    )


def _cost(known: Evidence) -> Finding | None:
    if known.metered:
        each = [
            f"{one_of(event.label)} took {shown.estimate(event.overhead)}"
            for event in known.metered[:3]
            if event.overhead is not None
        ]
        return Finding(f"By the meters, {listed(each)} of system CPU time.", section="capacity")
    if known.overhead is None or not known.costs:
        return None
    named = [
        f"{one_of(noun(cost.request, cost.label))} costs {shown.estimate(bare(cost.seconds))}"
        for cost in known.costs[:3]
    ]
    explained = shown.quantity(known.overhead.r_squared, "share")
    return Finding(
        f"Of system CPU time, {listed(named)}; the regression explains {explained} of its variance.",
        section="overhead",
    )


def _direct(known: Evidence) -> Finding | None:
    pairs = [(cost, cost.direct) for cost in known.costs if cost.direct is not None]
    named = [f"{noun(cost.request, cost.label)} {_agreement(direct)}" for cost, direct in pairs]
    return (
        Finding(f"Measured directly in the same run: {listed(named)}.", section="overhead") if named else None
    )


def _agreement(direct: DirectCost) -> str:
    seconds = shown.estimate(bare(direct.seconds))
    if direct.overlaps:
        return f"{seconds} (the intervals overlap)"
    return f"{seconds} (the regression gives {shown.number(direct.ratio)} times that)"


def _response(known: Evidence) -> Finding | None:
    group = known.crowd
    if group is None or group.response is None:
        return None
    crowd = f" with {crowd_of(group)}" if known.populations else ""
    stretch = ""
    if group.stretch is not None:
        stretch = f"; it takes {shown.number(group.stretch.value)} times the service that it receives"
    return Finding(
        f"An input{crowd} is answered in {shown.estimate(group.response.p50)} (median), "
        f"one in ten takes longer than {shown.estimate(group.response.p90)}{stretch}.",
        section="response",
    )


def _crowding(known: Evidence) -> Finding | None:
    if known.response is None or known.response.growth is None or len(known.populations) < 2:
        return None
    first, last = known.populations[0], known.populations[-1]
    growth = shown.estimate(known.response.growth)
    return Finding(
        f"The median response time with {crowd_of(last)} is {growth} times that with {crowd_of(first)}.",
        section="response",
    )


def _scheduling(known: Evidence) -> Finding | None:
    if known.service is None or not known.service.ageing:
        return None
    overall = known.service.ageing[0]
    first, last = overall.curve[0], overall.curve[-1]
    course = (
        f"{shown.quantity(first.residual.value, 's')} of CPU time are still to come at the start of an "
        f"input, {shown.quantity(last.residual.value, 's')} after {shown.quantity(last.service_s, 's')}"
    )
    if overall.rule == "least attained service":
        text = f"Long inputs stay long: {course}. Serving first who received least keeps short ones fast."
    elif overall.rule == "first come, first served":
        text = (
            f"What has been begun is soon done: {course}. Finishing it first keeps the mean response short."
        )
    else:
        return None
    return Finding(text, section="service")


def _warnings(known: Evidence) -> list[Finding]:
    said = known.recording
    found = []
    if 0 < said.intervals < SHORT:
        text = f"Only {shown.count(said.intervals, 'interval')} were recorded: most intervals below are wide."
        found.append(Finding(text, section="recording", tone="warning"))
    if said.ticks_biased and said.busy_ticks_s and said.busy_exact_s:
        off = shown.quantity(said.busy_ticks_s / said.busy_exact_s - 1, "share")
        text = f"Tick-sampled CPU time is off by {off}: something runs in step with the clock tick."
        found.append(Finding(text, section="recording", tone="warning"))
    if said.dropped:
        text = f"{shown.count(said.dropped, 'interval')} had to be dropped."
        found.append(Finding(text, section="recording", tone="warning"))
    return found


def _next(known: Evidence) -> list[Finding]:
    """List what to look at next, the most promising first."""
    steps: list[tuple[str, str]] = [*_relief(known)]
    heavy = next((cost for cost in known.costs if cost.share.value >= HEAVY), None)
    if heavy is not None:
        part = shown.quantity(heavy.share.value, "share")
        what = shown.plural(noun(heavy.request, heavy.label))
        steps.append((f"Find who makes the {what}: they are {part} of the system's CPU time.", "overhead"))
    if known.capacity is not None and known.metered and known.capacity.system.value > 0.0:
        event = known.metered[0]
        of_system = event.share.value / known.capacity.system.value
        if of_system >= HEAVY:
            part, what = shown.quantity(of_system, "share"), shown.plural(event.label)
            steps.append(
                (f"Find who makes the {what}: they are {part} of the system's CPU time.", "capacity")
            )
    if known.response is None:
        steps.append(("Response times are not in this log: `thinktime play` measures them.", "response"))
    if 0 < known.recording.intervals < 4 * SHORT:
        steps.append(
            (
                "Record for longer: four times the intervals halve the width of the intervals below.",
                "recording",
            )
        )
    return [Finding(text, section=section, tone="next") for text, section in steps]


def _relief(known: Evidence) -> list[tuple[str, str]]:
    """Say what would take the limit away."""
    if known.limit is None:
        return []
    name, part = known.limit
    if part.value < SATURATED:
        return [
            (
                "To see what limits it, record a heavier load, or add users with `thinktime play`.",
                "saturation",
            )
        ]
    if name != "the CPU":
        return [(f"{capital(name)} is the limit: more CPU would not help first.", "saturation")]
    by_users = known.capacity is None or known.capacity.user.value > known.capacity.system.value
    if by_users:
        return [("The CPU is the limit and user programs have most of it: see who they are.", "users")]
    return [("The CPU is the limit and the system has most of it: see which requests cost it.", "overhead")]
