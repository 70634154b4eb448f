"""The same figures from the log alone: `thinktime analyse capacity` on what the machine's meters recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.reports.compared import Finding
from thinktime.reports.document import Cell, Column, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.sekino_1971.machine import Machine, Recorded, applicable, scaled
from thinktime.studies.sekino_1971.tables import EVENTS, NAME, SYSTEMS, words
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.capacity_result import Capacity

__all__ = ["chapter"]

SAME = 1e-6
"""Part by which two ways to the same figure may differ: sums of whole intervals, in floating point."""


@dataclass(frozen=True, slots=True)
class Metered:
    """One run of a configuration: what its log says, and what the simulation knows of itself."""

    name: str
    capacity: Capacity
    recorded: Recorded

    @property
    def off(self) -> float:
        """Largest difference of a share, overhead or time between events, as a part of it."""
        found = []
        for event, item in zip(EVENTS, self.capacity.events, strict=True):
            for ending, ours in (
                ("share", item.share),
                ("overhead_s", item.overhead),
                ("between_s", item.time_between),
            ):
                known = self.recorded.responses[f"{event}_{ending}"]
                if ours is not None and known:
                    found.append(abs(ours.value / known - 1.0))
        return max(found)

    @property
    def identity(self) -> float:
        """Largest difference of overhead over time between events from the share, as a part of it."""
        return max(abs(check.product / check.share - 1.0) for check in self.capacity.checks)


def metered(machine: Machine) -> tuple[Metered, ...]:
    """Analyse a run of each configuration."""
    from thinktime.analyses import capacity

    return tuple(
        Metered(SYSTEMS[name].words, applicable(capacity.analyse(recorded.log)), recorded)
        for name, recorded in machine.recorded.items()
    )


def chapter(machine: Machine) -> Chapter:
    """Tables 1 to 3 as the log of one run has them."""
    runs = metered(machine)
    worst = max(runs, key=lambda run: run.off)
    intervals = ", ".join(f"{run.capacity.intervals} of {run.name}" for run in runs)
    summary = (
        "The machine's total time meters count each kind of event and its time. They are read into a log, "
        f"interval by interval ({intervals}), and the log is analysed as that of any machine.",
        f"Against what the simulation knows of itself the analysis is off by at most {worst.off:.1e}, as a "
        "part.",
        *_reach(runs),
    )
    method = (
        "As `thinktime simulate multics ... -o run` and `thinktime analyse capacity run`, without the "
        "intervals of the warm-up. One run of each configuration, the first replication; batch means over "
        "its log."
    )
    return Chapter(findings=tuple(_findings(runs)), summary=summary, tables=(_table(runs),), method=method)


def _reach(runs: tuple[Metered, ...]) -> Iterator[str]:
    """Say how much a run of an hour tells: that of a printed column is no longer."""
    said = []
    for run in runs:
        useful = run.capacity.user
        if useful.low is not None and useful.high is not None:
            said.append(f"{50.0 * (useful.high - useful.low):.1f} with {run.name}")
    if said:
        yield (
            f"One such run tells useful work to so many points at 95 %: {', '.join(said)}. So far off may a "
            "column be that was measured once."
        )


def _findings(runs: tuple[Metered, ...]) -> Iterator[Finding]:
    off, identity = (max(getattr(run, name) for run in runs) for name in ("off", "identity"))
    yield Finding(
        NAME,
        "meters-tell",
        "text on ttm",
        off <= SAME,
        f"largest difference of {3 * len(EVENTS) * len(runs)} figures, as a part: {off:.1e}",
        "all results can be had from the total time meters alone",
    )
    yield Finding(
        NAME,
        "meters-identity",
        "Tables 1 to 3",
        identity <= SAME,
        f"largest difference of {len(EVENTS) * len(runs)} products, as a part: {identity:.1e}",
        "overhead per event over the time between events is the metered share of capacity",
    )


def _table(runs: tuple[Metered, ...]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        for event, item in zip(EVENTS, run.capacity.events, strict=True):
            times = (_ms(item.time_between), _ms(item.overhead))
            rows.append((run.name, words(event), scaled(item.share, 100.0), *times))
        rows.extend(
            (run.name, part.label, scaled(part.share, 100.0), None, None)
            for part in run.capacity.parts
            if part.use in ("idle", "user")
        )
    columns = (
        Column("configuration"),
        Column("event"),
        Column("share, %", scaled=False),
        Column("time between, ms", scaled=False),
        Column("overhead, ms", scaled=False),
    )
    return Table("metered", "Tables 1 to 3 from the log of one run", columns, tuple(rows))


def _ms(value: Estimate | None) -> Estimate | None:
    return None if value is None else scaled(value, 1000.0)
