"""What the memorandum says of its tables, and whether it holds here."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from thinktime.documents import format as shown
from thinktime.stats.estimate import Estimate
from thinktime.studies.cells import Finding
from thinktime.studies.sekino_1971.machine import Machine, interval
from thinktime.studies.sekino_1971.mechanisms import RISING
from thinktime.studies.sekino_1971.tables import (
    BETWEEN,
    CAPACITY,
    FULL,
    LARGE,
    NAME,
    OVERHEAD,
    SMALL,
    SYSTEMS,
    Configuration,
    cell,
    words,
)
from thinktime.studies.study import Chapter

__all__ = ["chapter"]

Array = NDArray[np.float64]

NEAR_LIMIT = 0.95
"""Part of the limit of eligible processes that a saturated system uses."""
DOUBLES = (1.6, 2.4)
"""Ratios that double: within the fifth by which a predicted time may be off."""
WORK_POINTS = 8.0
CAUSED = ("getwork", "drum_interrupt")
"""Events that page faults cause."""


def chapter(machine: Machine) -> Chapter:
    """Every statement of the memorandum, with the statistic that says whether it holds."""
    findings = (
        _saturated(machine),
        _throughput(machine),
        _falls(machine),
        _core(machine),
        *_caused(machine),
        _doubles(machine),
        *_rises(machine),
        _gates(machine),
    )
    held = sum(finding.holds is True for finding in findings)
    summary = (
        f"Of {len(findings)} statements, {held} hold on the simulated machine. What interference and lockout "
        "have to do with them is asked in the section on mechanisms.",
    )
    return Chapter(findings=findings, summary=summary)


def _found(finding: str, source: str, holds: bool | None, statistic: str, text: str) -> Finding:
    return Finding(NAME, finding, source, holds, statistic, text)


def _above(estimate: Estimate, value: float) -> bool:
    return estimate.low is not None and estimate.low > value


def _ratio(machine: Machine, after: Configuration, before: Configuration, response: str) -> Estimate:
    """Ratio of a response of two configurations, each with the users and eligible processes of its own."""
    values: Array = machine.measured(after, response) / machine.measured(before, response)
    return interval(values)


def _saturated(machine: Machine) -> Finding:
    used = {each.words: machine.mean(each, "eligible_mean") / each.eligible for each in SYSTEMS.values()}
    said = ", ".join(f"{name} {100 * part:.1f} %" for name, part in used.items())
    return _found(
        "saturated",
        "Table 1",
        min(used.values()) >= NEAR_LIMIT,
        f"mean eligible processes, of the limit: {said}; {100 * NEAR_LIMIT:.0f} % is saturated",
        "all three configurations are saturated: somebody always waits to become eligible",
    )


def _throughput(machine: Machine) -> Finding:
    off = {}
    for each in (SMALL, FULL):
        ours = interval(machine.measured(each, "useful_share"), factor=100.0)
        off[each.words] = (ours, cell(CAPACITY, each, "useful_work"))
    said = ", ".join(
        f"{name} {shown.estimate(ours)} % for {theirs:g} %" for name, (ours, theirs) in off.items()
    )
    return _found(
        "percentile-throughput",
        "Table 1",
        all(abs(ours.value - theirs) <= WORK_POINTS for ours, theirs in off.values()),
        f"{said}; within {WORK_POINTS:g} points is equal",
        "percentile throughput, the share of useful work, is a little below one half",
    )


def _falls(machine: Machine) -> Finding:
    change = interval(
        machine.measured(FULL, "useful_share") - machine.measured(SMALL, "useful_share"), factor=100.0
    )
    theirs = cell(CAPACITY, FULL, "useful_work") - cell(CAPACITY, SMALL, "useful_work")
    return _found(
        "throughput-falls",
        "Table 1",
        change.high is not None and change.high < 0.0,
        f"{shown.estimate(change)} points, {theirs:+.1f} published",
        f"each processor of {FULL.words} does less useful work than that of {SMALL.words}",
    )


def _core(machine: Machine) -> Finding:
    ratio = _ratio(machine, LARGE, SMALL, "page_fault_between_s")
    return _found(
        "core-page-faults",
        "text on the time between page faults",
        _above(ratio, 1.0),
        f"time between page faults of {LARGE.words} over that of {SMALL.words}: {shown.estimate(ratio)}",
        "more core lengthens the time between page faults",
    )


def _caused(machine: Machine) -> Iterator[Finding]:
    for event in CAUSED:
        ratio = _ratio(machine, LARGE, SMALL, f"{event}_between_s")
        ours = ", ".join(
            f"{_per_page_fault(machine, system, event):.2f} with {system.words}"
            for system in SYSTEMS.values()
        )
        theirs = ", ".join(
            f"{cell(BETWEEN, system, 'page_fault') / cell(BETWEEN, system, event):.2f} with {system.words}"
            for system in (SMALL, FULL)
        )
        name = f"{words(event)}s"
        yield _found(
            f"core-{event.replace('_', '-')}s",
            "text on the time between page faults",
            _above(ratio, 1.0),
            f"time between {name} of {LARGE.words} over that of {SMALL.words}: {shown.estimate(ratio)}; "
            f"per page fault {ours}; published {theirs}",
            f"the time between {name} lengthens with that between page faults, which cause them",
        )


def _per_page_fault(machine: Machine, system: Configuration, event: str) -> float:
    return machine.mean(system, "page_fault_between_s") / machine.mean(system, f"{event}_between_s")


def _doubles(machine: Machine) -> Finding:
    """Compare page faults of all processors together, with the second processor and without."""
    traffic = _traffic(machine, LARGE)
    both = _traffic(machine, SMALL)
    theirs = FULL.cpus * cell(BETWEEN, SMALL, "page_fault") / cell(BETWEEN, FULL, "page_fault")
    low, high = DOUBLES
    return _found(
        "second-processor-doubles-paging",
        "text on the second processor",
        low <= traffic.value <= high,
        f"page faults a second of {FULL.words} over those of {LARGE.words}: {shown.estimate(traffic)}; "
        f"{low:g} to {high:g} is double; over those of {SMALL.words} {shown.estimate(both)}, {theirs:.2f} "
        "published",
        "a second processor doubles the paging traffic",
    )


def _traffic(machine: Machine, single: Configuration) -> Estimate:
    """Page faults a second of two processors over those of one."""
    return interval(
        FULL.cpus
        * machine.measured(single, "page_fault_between_s")
        / machine.measured(FULL, "page_fault_between_s")
    )


def _rises(machine: Machine) -> Iterator[Finding]:
    for event in RISING:
        own, small, large = (machine.measured(each, f"{event}_overhead_s") for each in (FULL, SMALL, LARGE))
        change, beside = (interval(own - other, factor=1000.0) for other in (small, large))
        theirs = {each: cell(OVERHEAD, FULL, event) - cell(OVERHEAD, each, event) for each in (SMALL, LARGE)}
        yield _found(
            f"overhead-{event.replace('_', '-')}",
            "Table 3",
            _above(change, 0.0),
            f"{FULL.words} less {SMALL.words} {shown.estimate(change)} ms, {theirs[SMALL]:+.2f} published; "
            f"less {LARGE.words} {shown.estimate(beside)} ms, {theirs[LARGE]:+.2f} published",
            f"the overhead of a {words(event)} is larger with {FULL.words} than with {SMALL.words}",
        )


def _gates(machine: Machine) -> Finding:
    each = {
        system.words: interval(machine.measured(system, "gate_fault_overhead_s"), factor=1000.0)
        for system in SYSTEMS.values()
    }
    estimate = cell(OVERHEAD, SMALL, "gate_fault")
    values = [item.value for item in each.values()]
    said = ", ".join(f"{name} {shown.estimate(item)} ms" for name, item in each.items())
    return _found(
        "gate-fault-overhead",
        "Table 3, footnote",
        max(abs(value / estimate - 1.0) for value in values) <= 0.10,
        f"{said}; {estimate:g} ms estimated for all; within 10 % is equal",
        "a gate fault costs the same in all configurations, as was estimated",
    )
