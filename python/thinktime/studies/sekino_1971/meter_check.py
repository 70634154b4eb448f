"""Tables 1 to 3 from logs alone: `thinktime analyse capacity` on the records of the machine's meters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.studies.cells import Claim
from thinktime.studies.laboratory import Laboratory, Recorded, applicable
from thinktime.studies.sekino_1971.configurations import EVENTS, PAPER, SYSTEM, SYSTEMS
from thinktime.studies.study import Chapter

if TYPE_CHECKING:
    from thinktime.analyses.capacity.result import Capacity

SHOWN = ("capacity-states", "capacity-between", "capacity-overheads", "capacity-checks")
"""Tables of the analysis that are Tables 1 to 3, and its check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metered:
    """One run of a configuration: the analysis of its log, and what the simulation itself knows."""

    name: str
    capacity: Capacity
    recorded: Recorded

    @property
    def error(self) -> float:
        """Largest relative difference of a share, overhead or time between events."""
        errors = []
        for event, item in zip(EVENTS, self.capacity.events, strict=True):
            values = {"share": item.share, "overhead_s": item.overhead, "between_s": item.time_between}
            for ending, ours in values.items():
                true = self.recorded.responses[f"{event}_{ending}"]
                if ours is not None and true:
                    errors.append(abs(ours.value / true - 1.0))
        return max(errors)

    @property
    def identity_error(self) -> float:
        """Largest relative difference of overhead over time between events from the share."""
        return max(abs(check.product / check.share - 1.0) for check in self.capacity.checks)


def chapter(laboratory: Laboratory) -> Chapter:
    """Tables 1 to 3 according to the logs of one run of each configuration."""
    from thinktime.analyses.capacity import comparison
    from thinktime.analyses.capacity.comparison_section import section
    from thinktime.analyses.capacity.section import METHODS

    runs = [(item.parameters, 0) for item in SYSTEMS.values()]
    logs = [laboratory.pooled(SYSTEM, [run]) for run in runs]
    compared = applicable(comparison.compare(logs, [item.words for item in SYSTEMS.values()]))
    metered = [
        Metered(name=name, capacity=result, recorded=recorded)
        for name, result, recorded in zip(
            compared.names, compared.results, laboratory.record(SYSTEM, runs), strict=True
        )
    ]
    error = max(run.error for run in metered)
    intervals = ", ".join(f"{run.capacity.intervals} with {run.name}" for run in metered)
    return Chapter(
        claims=tuple(_claims(metered)),
        summary=(
            "The machine's total time meters count each kind of event and its time. They are read into a "
            f"log, interval by interval ({intervals}), and the logs are analysed like those of any machine.",
            f"The largest relative error of the analysis is {error:.1e}, against what the simulation itself "
            "knows.",
            *_reach(metered),
        ),
        tables=tuple(table for table in section(compared).tables if table.name in SHOWN),
        method=(
            "`thinktime analyse capacity LOG LOG LOG` on one run of each configuration, the first "
            f"replication, without the intervals of the warm-up. {METHODS[compared.metered]}"
        ),
    )


def _reach(runs: Sequence[Metered]) -> Iterator[str]:
    """Precision of one run: a printed column is that of one to three."""
    reaches = []
    for run in runs:
        useful = run.capacity.user
        if useful.low is not None and useful.high is not None:
            reaches.append(f"{50.0 * (useful.high - useful.low):.1f} with {run.name}")
    if reaches:
        yield (
            "At 95 % confidence, one such run gives useful work to within this number of points: "
            f"{', '.join(reaches)}. A column that was measured once may be off by as much."
        )


def _claims(runs: Sequence[Metered]) -> Iterator[Claim]:
    error, identity = max(run.error for run in runs), max(run.identity_error for run in runs)
    yield PAPER.claim(
        "meters-tell",
        [error],
        f"largest difference of {3 * len(EVENTS) * len(runs)} figures, as a part: {error:.1e}",
    )
    yield PAPER.claim(
        "meters-identity",
        [identity],
        f"largest difference of {len(EVENTS) * len(runs)} products, as a part: {identity:.1e}",
    )
