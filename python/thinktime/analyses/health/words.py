"""Sentences of the findings, and the next step that each suggests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from thinktime.analyses.health.result import Check
from thinktime.documents import format as shown
from thinktime.documents.wording import capital, few_attributed, listed, whole

LOW_PRIORITY_WORTH = 0.1
"""Share of the CPU time at low priority from which a sentence about waits names it."""
IDLE_WORTH = 0.3
"""Idle share of the CPUs from which a wait for a CPU needs another explanation than their load."""


def _s(seconds: float | None) -> str:
    return shown.quantity(seconds, "s")


def _percent(part: float | None) -> str:
    return shown.quantity(part, "share")


def _stopped(seconds: float) -> str:
    """Clause on quotas, whose time is in that for which tasks waited for a CPU."""
    return f"CPU quotas stopped control groups for {_s(seconds)}, which counts as such a wait"


def _cpu_wait(waited_s: float, used_s: float | None, **more: Any) -> str:
    if used_s is None:
        return (
            f"Some program was waiting for a CPU for {_s(waited_s)} of the record, by the kernel's pressure."
        )
    each = [
        f"{name}{'' if number else ' waited'} {_s(wait)} to use {_s(cpu)}"
        for number, (name, wait, cpu) in enumerate(more["users"])
    ]
    if more["all_wait"]:
        text = f"Programs waited {_s(waited_s)} in all for a CPU, to use {_s(used_s)} of CPU time"
        # A single user who waited is all of them.
        alone = len(each) == 1 and more["users"][0][1] >= waited_s
        text += f"; {listed(each)}" if each and not alone else ""
    else:
        name, wait, cpu = more["users"][0]
        text = f"The programs of {name} waited {_s(wait)} for a CPU, to use {_s(cpu)} of CPU time"
        text += f"; those of {listed(each[1:])}" if each[1:] else ""
    if (more["idle"] or 0.0) >= IDLE_WORTH:
        text += f", although the CPUs were idle {_percent(more['idle'])} of that time"
    text += "."
    if more["stopped_s"]:
        text += f" {_stopped(more['stopped_s'])}."
    if (more["low_priority"] or 0.0) >= LOW_PRIORITY_WORTH:
        part = _percent(more["low_priority"])
        text += f" Work at low priority, which used {part} of the busy CPU time, waits by design."
    return text


def _held_up(user: str, **more: Any) -> str:
    text = (
        f"While {user} used {shown.number(more['used'], 2)} of {shown.quantity(whole(more['cpus']), 'CPU')} "
        f"(for {_s(more['time_s'])} in all), the others waited {_s(more['waited_s'])} for a CPU, to use "
        f"{_s(more['ran_s'])} of CPU time"
    )
    if more["without"] is None:
        text += f". The record has no stretch without {user} to compare with."
        if more["stopped_s"]:
            text += f" {_stopped(more['stopped_s'])}, whatever {user} does."
        return text
    return (
        f"{text}: {_s(more['ratio'])} for each second of use, and {_s(more['without'])} while {user} used "
        "little. That both happened together does not prove that one caused the other"
        + (f": {_stopped(more['stopped_s'])}." if more["stopped_s"] else ".")
    )


def _throttled(groups: list[tuple[str, float, float]], more: int) -> str:
    each = [
        f"{group} in {_percent(share)} of its periods, {_s(lost)} in all" for group, share, lost in groups
    ]
    rest = f", and {shown.count(more, 'further group')}" if more else ""
    return f"CPU quotas stopped {listed(each)}{rest}."


def _killed(killed: float, groups: list[str]) -> str:
    number = shown.count(int(killed), "process")
    return f"The kernel killed {number} for lack of memory in {listed(groups)}."


def _swapping(read: float, written: float, waited_s: float | None) -> str:
    into, out = shown.quantity(written, "page/s"), shown.quantity(read, "page/s")
    text = f"{out} were read back from swap, {into} written to it"
    return f"{text}; programs waited {_s(waited_s)} for them." if waited_s else f"{text}."


def _io_pressure(
    share: float,
    disk: str | None,
    read_s: float | None,
    write_s: float | None,
    user: tuple[str, float] | None,
) -> str:
    text = f"Some program was stalled on a disk {_percent(share)} of the time"
    reads = f"a read took {_s(read_s)}" if read_s is not None else ""
    writes = f"a write {'took ' if read_s is None else ''}{_s(write_s)}" if write_s is not None else ""
    if times := [item for item in (reads, writes) if item]:
        text += f"; on {disk}, {listed(times)} on average"
    if user is not None:
        text += f"; {user[0]} read or changed the most data, {shown.quantity(user[1], 'byte')}"
    return f"{text}."


def _low_priority(full: float, full_without: float, share: float | None, seen: bool) -> str:
    work = "nice 10 or more" if seen else "nice"
    text = (
        f"The CPUs were full in {_percent(full)} of the intervals, in {_percent(full_without)} even without "
        f"the work at low priority ({work}), which took {_percent(share)} of the CPU time."
    )
    if seen:
        return (
            f"{text} It leaves at least nine tenths of a CPU to other work of its own session or control "
            "group; to that of others, the kernel may leave no more than a fair share."
        )
    return (
        f"{text} Other work displaces it nearly wholly at nice 19 and hardly at nice 1; the kernel counts "
        "both as one."
    )


def _inherited(share: float, user: str, user_s: float | None, of_s: float | None, told: bool) -> str:
    del told
    return (
        f"{_percent(share)} of the CPU time is of processes that no sample saw at work; it was counted for "
        f"the users who waited for them. Of the {_s(of_s)} of {user}, {_s(user_s)} may be of others."
    )


def _gaps(gaps: int, missing_s: float, longest_s: float, steps: int) -> str:
    text = f"Nothing was recorded for {shown.duration(missing_s)}, in {shown.count(gaps, 'gap')}"
    text = f"{text}." if gaps == 1 else f"{text}; the longest lasted {shown.duration(longest_s)}."
    if steps:
        times = "once" if steps == 1 else shown.count(steps, "time")
        text += f" The wall clock was set forward {times} while it was recorded, which looks like a gap."
    return text


def _memory_pressure(
    share: float, stalled_s: float, available: float | None, groups: list[tuple[str, float]]
) -> str:
    text = (
        f"Some program was stalled for lack of memory {_percent(share)} of the time, {_s(stalled_s)} in all"
    )
    if available is None:
        return f"{text}."
    text += f", although at least {_percent(available)} of the machine's memory was available"
    if not groups:
        return f"{text}: a control group may have been short of it, by a limit of its own."
    held = [f"{group} held {_percent(part)} of its own limit" for group, part in groups]
    return f"{text}: {listed(held)}."


def _faulty(share: float, interface: str, errors: float, drops: float) -> str:
    counts = f"{shown.number(whole(errors) or 0)} with errors, {shown.number(whole(drops) or 0)} dropped"
    return f"On {interface}, {_percent(share)} of the packets were lost or faulty: {counts}."


FINDINGS: Mapping[str, Callable[..., str]] = {
    "killed": _killed,
    "cpu_wait": _cpu_wait,
    "held_up": _held_up,
    "throttled": _throttled,
    "stolen": lambda stolen_s, share: (
        f"The hypervisor gave {_percent(share)} of the CPU time that this machine wanted to others, "
        f"{_s(stolen_s)} in all."
    ),
    "low_priority": _low_priority,
    "memory_pressure": _memory_pressure,
    "swapping": _swapping,
    "reclaim": lambda rate, share: (
        f"In search of memory, the kernel examined {shown.quantity(rate, 'page/s')} and could free only "
        f"{_percent(share)} of them."
    ),
    "memory_low": lambda share, available_bytes, total_bytes: (
        f"At the lowest, {_percent(share)} of the memory was available: "
        f"{shown.quantity(available_bytes, 'byte')} of {shown.quantity(total_bytes, 'byte')}."
    ),
    "memory_shrinking": lambda first_bytes, last_bytes, left_s: (
        f"Available memory fell steadily from {shown.quantity(first_bytes, 'byte')} to "
        f"{shown.quantity(last_bytes, 'byte')}; at that pace, none would be left after another "
        f"{shown.duration(left_s)}."
    ),
    "io_pressure": _io_pressure,
    "slow_reads": lambda disk, read_s, reads: (
        f"A read of {disk} took {_s(read_s)} on average, over {shown.count(int(reads), 'read')}."
    ),
    "faulty_network": _faulty,
    "steady_network": lambda interface, share, rate: (
        f"The traffic of {interface} was within 5 % of its highest rate, {shown.quantity(rate, 'byte/s')}, "
        f"in {_percent(share)} of the intervals: its link may be full, or a sender may limit itself."
    ),
    "unattributed": few_attributed,
    "inherited": _inherited,
    "gaps": _gaps,
}
"""Sentence of each kind of finding, called with its values by name."""


def _wait_step(idle: float | None = None, **_: Any) -> str:
    if (idle or 0.0) >= IDLE_WORTH:
        return "Find out which quota, CPU set or burst makes programs wait while CPUs are idle."
    return "More CPUs, or less work at the same time, would shorten the waits: see who runs what, and when."


def _memory_step(available: float | None, groups: list[tuple[str, float]], **_: Any) -> str:
    if available is None:
        return MEMORY_STEP
    if not groups:
        return "Find the control group that is short of memory (memory.max): the machine is not."
    largest = groups[0][0]
    return f"Raise the memory limit of {largest} (MemoryMax=), or find out what in it needs that much."


MEMORY_STEP = "See which users hold the most memory; stop what is idle, or add memory."

STEPS: Mapping[str, Callable[..., str]] = {
    "killed": lambda groups, **_: f"Raise the memory limit of {groups[0]}, or find out what grew in it.",
    "cpu_wait": _wait_step,
    "held_up": lambda user, **_: (
        f"Lower the priority of {user}'s work (nice, or CPUWeight= of its unit), or move it to a quieter "
        "time; then record again and compare."
    ),
    "throttled": lambda groups, **_: (
        f"Raise the CPU quota of {groups[0][0]} (CPUQuota=, cpu.max), or find out what in it needs that much."
    ),
    "stolen": lambda **_: "Ask the operator of the host for CPUs that are not shared, or move this machine.",
    "memory_pressure": _memory_step,
    "swapping": lambda **_: MEMORY_STEP,
    "reclaim": lambda **_: MEMORY_STEP,
    "memory_low": lambda **_: MEMORY_STEP,
    "memory_shrinking": lambda **_: "Find out whose memory grows, before the kernel has to kill programs.",
    "io_pressure": lambda **_: "See which disk is busy, and who reads or writes so much.",
    "slow_reads": lambda disk, **_: f"See what else {disk} does; if it is little, examine the disk itself.",
    "faulty_network": lambda interface, **_: f"Examine cable, driver and buffers of {interface}.",
    "steady_network": lambda interface, **_: f"Compare that rate with the speed of the link of {interface}.",
    "inherited": lambda told, **_: (
        "Give the recorder a higher priority: more processes ended while it was held up than it could be "
        "told of."
        if told
        else "Record as root: the kernel then names the owner of every process that ends."
    ),
}
"""Next step that a finding suggests; a kind that is absent suggests none."""
STEP_SECTIONS = {"memory_pressure": "users", "swapping": "users", "reclaim": "users", "memory_low": "users"}
"""Question whose section helps with the step, where it is another than that of the finding."""


def sentence(check: Check) -> str:
    """Finding in words."""
    return capital(FINDINGS[check.kind](**check.values))


def step(check: Check) -> str:
    """Next step; empty if there is none."""
    return STEPS[check.kind](**check.values) if check.kind in STEPS else ""


def step_section(check: Check) -> str:
    """Question whose section helps with the next step."""
    return STEP_SECTIONS.get(check.kind, check.section)


def evidence(check: Check) -> str:
    """Columns behind a finding, and when it was worst."""
    text = ", ".join(check.evidence)
    return text if check.worst_us is None else f"{text}; worst at {shown.moment(check.worst_us)}"


def tone(check: Check) -> str:
    """``warning`` for what harms users or may mislead the reader; empty for what is good to know."""
    return "" if check.kind in {"low_priority", "steady_network"} else "warning"
