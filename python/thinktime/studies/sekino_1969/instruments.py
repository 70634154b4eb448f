"""Two instruments compared: CPU time charged to the script, and the counts of the meter inside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thinktime.documents import document
from thinktime.documents.document import Col, Cols, Table
from thinktime.stats.estimate import Estimate
from thinktime.stats.series import batch_means
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import Array, interval, scaled
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.sekino_1969.cpu_time import LEAST_USERS
from thinktime.studies.sekino_1969.loads import ENOUGH, INTERACTIONS, PAPER, column, fact, log_of, on_multics
from thinktime.studies.sekino_1969.responses import average
from thinktime.studies.study import Chapter

FAULT_TIMES = ("page_fault_s", "segment_fault_s", "gate_fault_s")
"""Columns of the meter for a process's own faults; getwork and interrupts are charged to nobody."""
DAILY, INSIDE = "daily measurement", "meter inside"
COLUMNS = {
    DAILY: (
        ("script_run_s", "script_page_fault_s", "script_other_fault_s"),
        "script_page_fault_s",
        "script_page_faults",
        "script_interactions",
    ),
    INSIDE: (("useful_s", *FAULT_TIMES), "page_fault_s", "page_faults", "interactions"),
}
"""Columns of the log by instrument: parts of CPU time, page-fault time, page faults, interactions."""
AS_IN_1969, QUIET, ALIKE = "as in 1969", "without housekeeping", "four scripts, no housekeeping"
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    AS_IN_1969: {},
    QUIET: {"housekeeping": 0},
    ALIKE: {"housekeeping": 0, "normal_users": 0},
}
"""Causes of a difference, taken away one after the other: work of no user, and users of another kind."""
CLOCKS_S = (0.5, 6.0, 60.0)
"""Half seconds by hand; a ready message that gives tenths of minutes, or minutes."""
CLOCK_USERS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Reading of an instrument: means per interaction with four users."""

    cpu_ms: Estimate
    page_fault_ms: Estimate
    """CPU time, and the part of it that is page-fault processing."""
    faults: Estimate
    """Page faults."""


def reading(laboratory: Laboratory, instrument: str, variant: str = AS_IN_1969) -> Reading:
    """Reading of one of the instruments, of the same runs.

    The daily measurement divides what is charged to the scripted users by their interactions, the meter
    inside divides what all processes took by the interactions of all users.
    """
    times, paging, faults, count = COLUMNS[instrument]
    samples = log_of(laboratory, LEAST_USERS, **VARIANTS[variant]).samples().collect()

    def per_interaction(names: Sequence[str], unit: str, factor: float) -> Estimate:
        amounts = sum(samples[name].cast(float).to_numpy() for name in names)
        result = batch_means.batch_ratio(amounts, samples[count].cast(float).to_numpy()).with_unit(unit)
        return scaled(result, factor, unit)

    return Reading(
        cpu_ms=per_interaction(times, "ms", 1000.0),
        page_fault_ms=per_interaction([paging], "ms", 1000.0),
        faults=per_interaction([faults], "", 1.0),
    )


def off(inside: Reading, outside: Reading) -> tuple[float, float]:
    """Differences of CPU time and of page-fault processing, inside from outside, per cent."""
    pairs = ((inside.cpu_ms, outside.cpu_ms), (inside.page_fault_ms, outside.page_fault_ms))
    cpu, paging = (100.0 * (one.value / other.value - 1.0) for one, other in pairs)
    return cpu, paging


def chapter(laboratory: Laboratory) -> Chapter:
    """Both instruments as in 1969, the causes of their difference, and the terminal's clock."""
    stated = [
        100.0 * (fact(one).value / fact(other).value - 1.0)
        for one, other in (
            ("cpu-time-feiertag", "cpu-time-4-users"),
            ("page-fault-time-feiertag", "page-fault-time"),
        )
    ]
    both = off(reading(laboratory, INSIDE), reading(laboratory, DAILY))
    summary = (
        f"Of the same runs with {LEAST_USERS} users, the meter inside has {both[0]:+.1f} % of CPU time and "
        f"{both[1]:+.1f} % of page-fault processing against the daily measurement; published are "
        f"{stated[0]:+.1f} and {stated[1]:+.1f} %.",
        *_why(laboratory),
        *_clock_sentence(laboratory),
    )
    method = (
        "Daily measurement: what is charged to the scripted user, over the user's interactions. Meter "
        "inside: useful time and the time of page, segment and gate faults of all processes, over the "
        "interactions of all users; time in getwork and interrupts is charged to nobody. Both from the "
        "samples of the same logs. Clock: the scripted user reads the time before and after in whole steps."
    )
    return Chapter(
        cells=tuple(_facts(laboratory)),
        summary=summary,
        tables=(_table(laboratory), _clocks(laboratory)),
        method=method,
    )


def _facts(laboratory: Laboratory) -> Iterator[Cell]:
    inside = reading(laboratory, INSIDE)
    yield PAPER.fact("cpu-time-feiertag", inside.cpu_ms)
    yield PAPER.fact("page-fault-time-feiertag", inside.page_fault_ms)


def _why(laboratory: Laboratory) -> Iterator[str]:
    """Effect of each cause of the difference, taken away one after the other."""
    listed = []
    for variant in VARIANTS:
        outside, inside = (reading(laboratory, instrument, variant) for instrument in (DAILY, INSIDE))
        listed.append(
            f"{variant}, {inside.cpu_ms.value:.0f} ms inside for {outside.cpu_ms.value:.0f} ms "
            f"({off(inside, outside)[0]:+.1f} %)"
        )
    yield (
        f"Why: {'; '.join(listed)}. The meter inside has what system processes take as well, and "
        f"normal users, "
        "who think for another time, lose more or fewer pages than the script."
    )


def _table(laboratory: Laboratory) -> Table:
    published = {
        DAILY: (fact("cpu-time-4-users").value, fact("page-fault-time").value),
        INSIDE: (fact("cpu-time-feiertag").value, fact("page-fault-time-feiertag").value),
    }
    per_fault = fact("time-per-page-fault").value
    readings = {
        f"{variant}, {instrument}": reading(laboratory, instrument, variant)
        for variant in VARIANTS
        for instrument in (DAILY, INSIDE)
    }
    rows: list[tuple[str, Sequence[document.Cell]]] = [
        *(
            (f"published, {name}", (cpu, paging, paging / per_fault))
            for name, (cpu, paging) in published.items()
        ),
        *((name, (item.cpu_ms, item.page_fault_ms, item.faults)) for name, item in readings.items()),
    ]
    return Table.of(
        rows,
        Col("instrument", lambda row: row[0]),
        Cols(["CPU time, ms", "page-fault processing, ms", "page faults"], lambda row: row[1], scaled=False),
        name="two-instruments",
        caption=f"An interaction with {LEAST_USERS} users, by two instruments",
        notes=["Published page faults: page-fault processing over 7.5 ms."],
    )


def clock_error(laboratory: Laboratory, step_s: float) -> tuple[Array, Array]:
    """Mean response of each run by a clock of such steps, and the error of single responses, s."""
    exact, read = (
        on_multics(laboratory, CLOCK_USERS, replications=laboratory.count(ENOUGH), clock_resolution=step)
        for step in (0.0, step_s)
    )
    names = [f"response_{index:02d}_s" for index in range(1, INTERACTIONS + 1)]
    errors = np.concatenate([column(read, name) - column(exact, name) for name in names])
    return average(read), errors[~np.isnan(errors)]


def _clock_sentence(laboratory: Laboratory) -> Iterator[str]:
    mean = float(
        np.nanmean(average(on_multics(laboratory, CLOCK_USERS, replications=laboratory.count(ENOUGH))))
    )
    listed = []
    for step in CLOCKS_S:
        _, errors = clock_error(laboratory, step)
        listed.append(f"{errors.std():.1f} s by a clock of {step:g} s")
    yield (
        f"A single response with {CLOCK_USERS} users, {mean:.1f} s on the mean, is read with an error of "
        f"{', '.join(listed)} (standard deviation)."
    )


def _clocks(laboratory: Laboratory) -> Table:
    return Table.of(
        [(step, *clock_error(laboratory, step)) for step in CLOCKS_S],
        Col("step of the clock, s", lambda row: f"{row[0]:g}", scaled=False),
        Col("mean response, s", lambda row: interval(row[1]), scaled=False),
        Col("mean error, s", lambda row: f"{row[2].mean():+.2f}", scaled=False),
        Col("standard deviation of an error, s", lambda row: f"{row[2].std():.2f}", scaled=False),
        name="clocks",
        caption=f"Responses with {CLOCK_USERS} users as read by clocks of different steps",
    )
