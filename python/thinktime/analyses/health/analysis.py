"""What needs attention: each thing that slows users down, measured and compared with a limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from thinktime.analyses.health import contention, devices, memory, owners
from thinktime.analyses.health.readings import Readings, read
from thinktime.analyses.health.result import Check, Health
from thinktime.questions.checks import check_log
from thinktime.stats.estimate import Caveat, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

CHECKS: tuple[Callable[[Readings], Check], ...] = (
    owners.killed,
    contention.cpu_wait,
    contention.held_up,
    owners.throttled,
    contention.stolen,
    contention.low_priority,
    memory.pressure,
    memory.swapping,
    memory.reclaim,
    memory.low,
    memory.shrinking,
    devices.io_pressure,
    devices.slow_reads,
    devices.faulty_network,
    devices.steady_network,
    owners.unattributed,
    owners.inherited,
    owners.gaps,
)


def analyse(log: Log) -> Health | NotApplicable:
    """Every check of a log: its measured value, its limit, and whether it needs attention.

    A check compares one number of the whole record with a limit; ``docs/how-to/read-a-report.md`` gives the
    reason of each limit. Waits and shortages are found only in a record of 5 intervals or more.

    Raises
    ------
    TypeError
        `log` is not a `Log`.
    """
    check_log(log)
    readings = read(log)
    if not readings.intervals:
        return NotApplicable("the log has no samples", "record with `thinktime record`")
    checks = tuple(check(readings) for check in CHECKS)
    return Health(
        checks=checks,
        intervals=readings.intervals,
        time_s=readings.time_s,
        caveats=()
        if readings.enough
        else (Caveat("few_intervals", intervals=readings.intervals, least=readings.INTERVALS_LEAST),),
    )
