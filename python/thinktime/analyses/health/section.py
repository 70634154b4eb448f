"""Section of what needs attention: the findings, and a table of everything that was examined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from thinktime.analyses.health import words
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Col, Section, Table
from thinktime.documents.wording import refused, worded
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.health.result import Check, Health

TITLE = "What needs attention?"
LABELS = {
    "killed": "Processes killed for lack of memory",
    "cpu_wait": "Waiting for a CPU, over using it",
    "held_up": "Others' waits beside a user of half of the CPUs",
    "throttled": "Periods in which a quota stopped a group",
    "stolen": "CPU time taken by the hypervisor, of that wanted",
    "low_priority": "Intervals full only because of low priority",
    "memory_pressure": "Time stalled on memory",
    "swapping": "Pages read back from swap",
    "reclaim": "Pages freed, of those examined",
    "memory_low": "Memory available, at the lowest",
    "memory_shrinking": "Time until memory runs out, over that recorded",
    "io_pressure": "Time stalled on a disk",
    "slow_reads": "Mean time of a read, slowest disk",
    "faulty_network": "Packets lost or faulty, worst interface",
    "steady_network": "Intervals near an interface's highest rate",
    "unattributed": "CPU time of processes hidden from the recorder",
    "inherited": "CPU time counted for those who waited for it",
    "gaps": "Time not recorded",
}
PRESSURE = "Time in which a program waited for a CPU"
"""Label of the wait for a CPU where it is the kernel's pressure, as users' waits are not known."""
WORDS: Mapping[str, Callable[..., str]] = {
    "few_intervals": lambda intervals, least: (
        f"Waits and shortages are judged from {least} intervals on; the log has {intervals}."
    )
}
METHOD = (
    "Each line compares one number of the whole record with a limit; how to read a report gives the reason "
    "of each limit. Findings are in the order of the time that they cost: work that was lost, time lost to "
    "waiting, risks, and what a reader must know."
)


def section(result: Health | NotApplicable) -> Section:
    """Section of the checks, those beyond their limits first in words."""
    if isinstance(result, NotApplicable):
        return refused("health", TITLE, result)
    return Section(
        name="health",
        title=TITLE,
        summary=(summary(result), *map(words.sentence, result.found)),
        tables=_checks(result),
        caveats=worded(result.caveats, WORDS),
        method=METHOD,
    )


def summary(result: Health) -> str:
    """Number of things examined, and of those beyond their limits."""
    examined, beyond = len(result.checks) - len(result.unmeasured), len(result.found)
    unjudged = [check for check in result.checks if _is_unjudged(check)]
    if examined == 1 and not beyond and not unjudged and result.unmeasured:
        [only] = (_label(check) for check in result.checks if check.value is not None)
        return (
            f"Only one of {len(result.checks)} things could be examined ({only[0].lower()}{only[1:]}: within "
            "its limit). The log lacks the columns of the others."
        )
    text = f"Of {shown.count(examined, 'thing')} examined, "
    if not beyond and unjudged:
        are = "1 is beyond its limit" if len(unjudged) == 1 else f"{len(unjudged)} are beyond their limits"
        doubt = "in too few intervals to judge" if result.caveats else "too little to matter"
        text += f"{are}, but {doubt}."
    elif not beyond:
        text += "none is beyond its limit."
    else:
        text += "1 is beyond its limit." if beyond == 1 else f"{beyond} are beyond their limits."
    if not result.unmeasured:
        return text
    return f"{text} {len(result.unmeasured)} more could not be examined: the log lacks what they need."


def _checks(result: Health) -> tuple[Table, ...]:
    """What was examined; and, folded, what the log has no columns for."""
    measured = Table.of(
        # A long table is cut on a page: what needs attention stands first.
        sorted(
            (check for check in result.checks if check.value is not None), key=lambda check: not check.found
        ),
        Col("examined", _label),
        Col("measured", lambda check: _measured(check, result.intervals)),
        Col("limit", _limit),
        Col("verdict", lambda check: _verdict(check, result)),
        name="health-checks",
        caption="Everything that was examined",
    )
    lacking = Table.of(
        (check for check in result.checks if check.value is None),
        Col("not measured", _label),
        Col("limit", _limit),
        name="health-unmeasured",
        caption="What could not be examined",
        folded=True,
    )
    return tuple(table for table in (measured, lacking) if table.rows)


def _verdict(check: Check, result: Health) -> str:
    if check.found:
        return "needs attention"
    if _is_unjudged(check):
        return "not judged" if result.caveats else "too little"
    return "fine"


def _is_unjudged(check: Check) -> bool:
    """Whether the value is beyond its limit, and another condition for a finding does not hold."""
    if check.found or check.value is None or check.instead:
        return False
    return check.value < check.limit if check.below else check.value >= check.limit


def _label(check: Check) -> str:
    return PRESSURE if check.kind == "cpu_wait" and check.unit == "share" else LABELS[check.kind]


def _measured(check: Check, intervals: int) -> Cell:
    if check.value is None:
        return None
    if check.instead:
        return check.instead
    return Estimate(value=check.value, unit=check.unit, n=intervals, method="over the whole record")


def _limit(check: Check) -> str:
    """Limit as it was chosen, without further digits."""
    chosen = shown.scale(check.limit, check.unit)
    unit = check.unit if check.limit == 1.0 else chosen.unit
    limit = f"{check.limit / chosen.factor:g}{shown.SPACE if unit else ''}{unit}"
    return f"below {limit}" if check.below else f"from {limit}"
