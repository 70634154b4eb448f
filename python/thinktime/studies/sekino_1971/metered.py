"""The same figures from logs alone: `thinktime analyse capacity` on what the machine's meters recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.studies.cells import Finding
from thinktime.studies.sekino_1971.machine import Machine, Recorded, applicable
from thinktime.studies.sekino_1971.tables import EVENTS, NAME, SYSTEMS
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.capacity.comparison import Comparison
    from thinktime.analyses.capacity.result import Capacity

__all__ = ["chapter"]

SAME = 1e-6
"""Part by which two ways to the same figure may differ: sums of whole intervals, in floating point."""
SHOWN = ("capacity-states", "capacity-between", "capacity-overheads", "capacity-checks")
"""Tables of the analysis that are Tables 1 to 3, and its check."""


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
            figures = {"share": item.share, "overhead_s": item.overhead, "between_s": item.time_between}
            for ending, ours in figures.items():
                known = self.recorded.responses[f"{event}_{ending}"]
                if ours is not None and known:
                    found.append(abs(ours.value / known - 1.0))
        return max(found)

    @property
    def identity(self) -> float:
        """Largest difference of overhead over time between events from the share, as a part of it."""
        return max(abs(check.product / check.share - 1.0) for check in self.capacity.checks)


def chapter(machine: Machine) -> Chapter:
    """Tables 1 to 3 as the logs of one run of each configuration have them."""
    from thinktime.analyses.capacity import comparison_section as capacity_comparison
    from thinktime.analyses.capacity.section import METHODS

    compared = _compared(machine)
    runs = [
        Metered(name, result, recorded)
        for name, result, recorded in zip(
            compared.names, compared.results, machine.recorded.values(), strict=True
        )
    ]
    off = max(run.off for run in runs)
    intervals = ", ".join(f"{run.capacity.intervals} with {run.name}" for run in runs)
    summary = (
        "The machine's total time meters count each kind of event and its time. They are read into a log, "
        f"interval by interval ({intervals}), and the logs are analysed as those of any machine.",
        f"Against what the simulation knows of itself the analysis is off by at most {off:.1e}, as a part.",
        *_reach(runs),
    )
    section = capacity_comparison.section(compared)
    return Chapter(
        findings=tuple(_findings(runs)),
        summary=summary,
        tables=tuple(table for table in section.tables if table.name in SHOWN),
        method=(
            "`thinktime analyse capacity LOG LOG LOG` on one run of each configuration, the first "
            f"replication, without the intervals of the warm-up. {METHODS[compared.metered]}"
        ),
    )


def _compared(machine: Machine) -> Comparison:
    from thinktime.analyses.capacity import comparison as capacity_comparison

    logs = [recorded.log for recorded in machine.recorded.values()]
    names = [SYSTEMS[name].words for name in machine.recorded]
    return applicable(capacity_comparison.compare(logs, names))


def _reach(runs: Sequence[Metered]) -> Iterator[str]:
    """Say how much one run tells: a printed column is that of one to three."""
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


def _findings(runs: Sequence[Metered]) -> Iterator[Finding]:
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
