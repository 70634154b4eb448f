"""Summary in plain words: load, limiting resource, costs of requests, waiting times, and next steps.

Every sentence is derived from results alone; if a result is missing, its sentence is omitted, and the last
sentences say how to obtain it.
"""

from __future__ import annotations

from thinktime.analyses.health import section as health
from thinktime.analyses.health import words
from thinktime.analyses.recording.analysis import SHORT
from thinktime.analyses.recording.section import host_name, host_words, lost
from thinktime.analyses.response.decomposition_section import crowd
from thinktime.analyses.response.decomposition_section import sentence as parts_sentence
from thinktime.analyses.scheduling import section as scheduling
from thinktime.analyses.users import logins_section
from thinktime.documents import format as shown
from thinktime.documents.document import Finding
from thinktime.documents.wording import bare, capital, listed, noun, one_of, share
from thinktime.reports.summary_facts import SATURATED, LogFacts
from thinktime.stats.estimate import NotApplicable

HEAVY = 0.25
"""Share of the system time above which one kind of request is worth pointing out."""
WAITING = 0.1
"""Share of CPU time spent idle while a drive is busy above which it is worth a sentence."""


def findings(facts: LogFacts) -> tuple[Finding, ...]:
    """Findings below the cards: the state of the machine, warnings, next steps."""
    if not facts.recording.intervals and facts.response is None:
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
    if facts.logins is not None and facts.capacity is None:
        # Nothing was measured: how to measure more precisely is no advice then.
        told = (Finding(text, section="users") for text in logins_section.section(facts.logins).summary)
        return (*told, *_attention(facts))
    news = (
        _busy(facts),
        _limit(facts),
        _waiting(facts),
        _cost(facts),
        _direct(facts),
        _response(facts),
        _parts(facts),
        _crowding(facts),
        _scheduling(facts),
    )
    told = (finding for finding in (*_traced(facts), *news) if finding is not None)
    attention = _attention(facts)
    if _is_reservation(facts):
        return (*told, *attention, *_warnings(facts), *_next(facts))
    return (*attention, *told, *_warnings(facts), *_next(facts))


def _is_reservation(facts: LogFacts) -> bool:
    """True if nothing was found and that is no good news: little was examined, or a resource was full."""
    checks = facts.health
    if checks is None or checks.found:
        return False
    is_full = facts.limit is not None and facts.limit[1].value >= SATURATED
    return is_full or 2 * len(checks.unmeasured) > len(checks.checks)


def _attention(facts: LogFacts) -> list[Finding]:
    """What needs attention, the costliest first; one sentence if nothing does, and much was examined."""
    if facts.health is None:
        return []
    if not facts.health.found:
        # Of a simulation, only that no time is missing: its own section says so.
        if len(facts.health.unmeasured) >= len(facts.health.checks) - 1:
            return []
        return [Finding(health.summary(facts.health), section="health")]
    return [
        Finding(
            words.sentence(check),
            section=check.section,
            tone=words.tone(check),
            evidence=words.evidence(check),
        )
        for check in facts.health.found
    ]


def _traced(facts: LogFacts) -> list[Finding]:
    """What the trace of a scheduler shows: how long tasks wait for a CPU, and who waits most."""
    if facts.scheduling is None:
        return []
    return [Finding(text, section="scheduling") for text in scheduling.findings(facts.scheduling)]


def _busy(facts: LogFacts) -> Finding | None:
    if facts.capacity is None:
        return None
    host = facts.recording.host
    busy, user = shown.quantity(facts.busy, "share"), shown.quantity(facts.capacity.user.value, "share")
    system = shown.quantity(facts.capacity.system.value, "share")
    return Finding(
        f"The CPUs of {host_name(host)} ({host_words(host)}) were busy {busy} of the time: {user} in user "
        f"programs, {system} in the system.",
        section="capacity",
    )


def _limit(facts: LogFacts) -> Finding | None:
    if facts.limit is None:
        return None
    name, part = facts.limit
    often = shown.estimate(share(part) or part)
    if (filled := facts.filled_by_low_priority) is not None:
        full, without = (shown.quantity(item, "share") for item in filled)
        text = (
            f"Work at normal priority alone does not fill the CPUs: they were full in {full} of the "
            f"intervals, and in {without} without work at low priority (nice)."
        )
        return Finding(text, section="saturation")
    if part.value < SATURATED:
        text = (
            f"This load does not saturate the machine: {name} was exhausted in only {often} of the intervals."
        )
        return Finding(text, section="saturation")
    waits = _waits_for_cpu(facts) if name == "the CPU" else ""
    return Finding(
        f"The limit is {name}, exhausted in {often} of the intervals{waits}.", section="saturation"
    )


def _waits_for_cpu(facts: LogFacts) -> str:
    """Words on how long programs waited for a CPU, where that is no finding of its own."""
    checks = facts.health.checks if facts.health is not None else ()
    for check in checks:
        if check.kind == "cpu_wait" and check.unit == "" and check.value is not None and not check.found:
            return (
                f"; programs waited {shown.quantity(check.value, 's')} for it for each second that they used"
            )
    return ""


def _waiting(facts: LogFacts) -> Finding | None:
    """Share of CPU time idle while a disk was busy; None if there is only a hint of it."""
    disks = facts.disks
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
        section="disks",
    )


def _cost(facts: LogFacts) -> Finding | None:
    if facts.metered:
        costs = [
            f"{one_of(event.label)} took {shown.estimate(event.overhead)}"
            for event in facts.metered[:3]
            if event.overhead is not None
        ]
        return Finding(f"According to the meters, {listed(costs)} of system CPU time.", section="capacity")
    if facts.overhead is None or not facts.costs:
        return None
    named = [
        f"{one_of(noun(cost.request, cost.label))} costs {shown.estimate(bare(cost.seconds))}"
        for cost in facts.costs[:3]
    ]
    explained = shown.quantity(facts.overhead.r_squared, "share")
    return Finding(
        f"In system CPU time, {listed(named)}; the regression explains {explained} of its variance.",
        section="overhead",
    )


def _direct(facts: LogFacts) -> Finding | None:
    named = [
        f"{noun(cost.request, cost.label)} {shown.estimate(bare(cost.direct.seconds))}"
        for cost in facts.costs
        if cost.direct is not None
    ]
    return (
        Finding(f"Measured directly in the same run, for comparison: {listed(named)}.", section="overhead")
        if named
        else None
    )


def _response(facts: LogFacts) -> Finding | None:
    group = facts.crowd
    if group is None or group.response is None:
        return None
    whom = f" with {crowd(group)}" if facts.populations else ""
    stretch = ""
    if group.stretch is not None:
        stretch = f"; the stretch factor (response over service) is {shown.number(group.stretch.value)}"
    return Finding(
        f"The median response time{whom} is {shown.estimate(group.response.p50)}, "
        f"the 90th percentile {shown.estimate(group.response.p90)}{stretch}.",
        section="response",
    )


def _parts(facts: LogFacts) -> Finding | None:
    group = facts.crowd
    if group is None:
        return None
    text = parts_sentence(group, f"At {crowd(group)}" if facts.populations else "On average")
    return None if text is None else Finding(text, section="response")


def _crowding(facts: LogFacts) -> Finding | None:
    if facts.response is None or facts.response.growth is None or len(facts.populations) < 2:
        return None
    first, last = facts.populations[0], facts.populations[-1]
    found = facts.response.growth
    if found.low is not None and found.high is not None and found.low <= 1.0 <= found.high:
        return None  # Not told from no growth at all: no finding.
    growth = shown.estimate(found)
    return Finding(
        f"The median response time with {crowd(last)} is {growth} times that with {crowd(first)}.",
        section="response",
    )


def _scheduling(facts: LogFacts) -> Finding | None:
    if facts.service is None or not facts.service.ageing:
        return None
    overall = facts.service.ageing[0]
    first, last = overall.curve[0], overall.curve[-1]
    course = (
        f"the mean remaining CPU time is {shown.quantity(first.residual.value, 's')} at the start of an "
        f"input and {shown.quantity(last.residual.value, 's')} after {shown.quantity(last.service_s, 's')}"
    )
    if overall.rule == "least attained service":
        text = (
            f"The longer an input has run, the longer it is likely to run on: {course}. Serving the input "
            "with the least service so far first keeps short ones fast."
        )
    elif overall.rule == "first come, first served":
        text = (
            f"The longer an input has run, the sooner it is likely to end: {course}. Finishing inputs in "
            "order of arrival keeps the mean response time short."
        )
    else:
        return None
    return Finding(text, section="service")


def _warnings(facts: LogFacts) -> list[Finding]:
    record = facts.recording
    warnings = []
    played = None if record.workload is None else record.workload.crowd
    if played is not None and played.asked and played.started is not None and played.started < played.asked:
        text = (
            f"{shown.count(played.asked, 'user')} were asked for and {shown.number(played.started)} started: "
            "numbers of users in this report are those asked for. Give each number more time (--step)."
        )
        warnings.append(Finding(text, section="recording", tone="warning"))
    if 0 < record.intervals < SHORT:
        text = (
            f"Only {shown.count(record.intervals, 'interval')} recorded: most confidence intervals are wide."
        )
        warnings.append(Finding(text, section="recording", tone="warning"))
    if record.ticks_biased and record.busy_ticks_s and record.busy_exact_s:
        off = shown.quantity(record.busy_ticks_s / record.busy_exact_s - 1, "share")
        text = (
            f"Tick-sampled CPU time differs by {off} from the exact time: a load runs in step with the tick."
        )
        warnings.append(Finding(text, section="recording", tone="warning"))
    if record.lost:
        warnings.append(Finding(lost(record.lost), section="recording", tone="warning"))
    if record.dropped:
        text = (
            f"{shown.count(record.dropped, 'interval')} {'was' if record.dropped == 1 else 'were'} dropped."
        )
        warnings.append(Finding(text, section="recording", tone="warning"))
    return warnings


def _next(facts: LogFacts) -> list[Finding]:
    """Next steps, the most promising first."""
    steps: list[tuple[str, str]] = [*_remedies(facts), *_relief(facts)]
    heavy = next((cost for cost in facts.costs if cost.share.value >= HEAVY), None)
    if heavy is not None:
        part = shown.quantity(heavy.share.value, "share")
        kind = shown.plural(noun(heavy.request, heavy.label))
        steps.append(
            (f"Find out who causes the {kind}: they take {part} of the system's CPU time.", "overhead")
        )
    if facts.capacity is not None and facts.metered and facts.capacity.system.value > 0.0:
        event = facts.metered[0]
        of_system = event.share.value / facts.capacity.system.value
        if of_system >= HEAVY:
            part, kind = shown.quantity(of_system, "share"), shown.plural(event.label)
            steps.append(
                (
                    f"Find out who causes the {kind}: they take {part} of the system's CPU time.",
                    "capacity",
                )
            )
    if facts.response is None:
        how = "`thinktime simulate --trace` logs" if facts.simulated else "`thinktime play` measures"
        steps.append((f"This log has no response times: {how} them.", "response"))
    if 0 < facts.recording.intervals < 4 * SHORT:
        steps.append(
            (
                f"{'Simulate' if facts.simulated else 'Record'} longer: four times as many intervals halve "
                "the width of the confidence intervals.",
                "recording",
            )
        )
    return [Finding(text, section=section, tone="next") for text, section in dict(steps).items()]


def _remedies(facts: LogFacts) -> list[tuple[str, str]]:
    """Next steps that follow from what needs attention, in its order."""
    found = facts.health.found if facts.health is not None else ()
    return [(text, words.step_section(check)) for check in found if (text := words.step(check))]


def _relief(facts: LogFacts) -> list[tuple[str, str]]:
    """Next step that follows from the limit."""
    if facts.limit is None:
        return []
    name, part = facts.limit
    if part.value < SATURATED or facts.filled_by_low_priority is not None:
        return [
            (
                "To find the limit, simulate more users."
                if facts.simulated
                else "To find the limit, record a heavier load, or add users with `thinktime play`.",
                "saturation",
            )
        ]
    if name != "the CPU":
        return [(f"{capital(name)} is the limit: a faster CPU would not help yet.", "saturation")]
    by_users = facts.capacity is None or facts.capacity.user.value > facts.capacity.system.value
    if by_users and facts.health is not None and facts.health.of("cpu_wait") is not None:
        # Its own step says so already.
        return []
    if by_users and facts.users is None and facts.simulated:
        return []
    if by_users and facts.users_partial is not None:
        whose = "record as root, outside of a PID namespace, to see whose they are"
        return [(f"The CPU is the limit, and user programs use most of it: {whose}.", "saturation")]
    if by_users and facts.users is None:
        text = "user programs use most of it: `thinktime record --by uid` tells whose they are"
        if facts.capacity is None:
            text = "`thinktime record --by uid` tells who uses it"
        return [(f"The CPU is the limit, and {text}.", "saturation")]
    if by_users:
        return [
            ("The CPU is the limit, and user programs use most of it: see which users run them.", "users")
        ]
    return [
        (
            "The CPU is the limit, and the system uses most of it: see which requests cost the most.",
            "overhead",
        )
    ]
