"""The monitored system: APL/360 with its original scheduler, traced into a log and analysed from it.

Periods of ten minutes with 25 to 36 users of different haste stand for the paper's four weeks. What follows
is computed from the log alone, by the analyses that read the log of any machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from thinktime.studies.anderson_sargent_1974.experiments import PERIOD_S, SYSTEM, think
from thinktime.studies.laboratory import Laboratory, applicable, remembered

if TYPE_CHECKING:
    from thinktime.analyses.arrivals.analysis import Arrivals
    from thinktime.analyses.service.analysis import Service
    from thinktime.analyses.waits.analysis import TraceInterval
    from thinktime.documents.document import Section
    from thinktime.log import Log


USERS = (25, 26, 27, 30, 31, 35, 36)
INSERTION_S = (16.0, 20.0, 24.0, 28.0)
PERIODS = 4
"""Of ten minutes, for each number of users and each haste."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """Ten minutes of the log."""

    users: int
    insertion_s: float
    seen: TraceInterval

    @property
    def rate_per_min(self) -> float:
        """Inputs a minute and user."""
        return self.seen.inputs / self.users / (self.seen.length_s / 60.0)

    @property
    def accesses(self) -> float:
        """D: disk accesses in ten minutes."""
        return self.seen.accesses / self.seen.length_s * PERIOD_S

    @property
    def foreground_min(self) -> float:
        """W_F [min]: mean number in foreground over inputs a minute (Little's law)."""
        return self.seen.numbers[1] / (self.seen.inputs / (self.seen.length_s / 60.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitored:
    """Results of the analyses of the log."""

    service: Service
    section: Section
    """The report's section on service times: its charts are Figures 1 to 4."""
    arrivals: Arrivals
    periods: tuple[Period, ...]
    unfinished: dict[str, float]
    """Part of the inputs of each class that the end of their period cut off."""


@remembered
def monitored(laboratory: Laboratory) -> Monitored:
    """The traced system, and the analyses of its log.

    Raises
    ------
    WorkError
        An analysis does not apply to the log.
    """
    from thinktime.analyses.arrivals import analysis as arrivals
    from thinktime.analyses.service import analysis as service
    from thinktime.analyses.service.section import section
    from thinktime.analyses.waits import analysis as waits

    sessions = list(product(USERS, INSERTION_S, range(laboratory.scaled(PERIODS))))
    log = laboratory.traced(SYSTEM, [_parameters(users, insertion) for users, insertion, _ in sessions])
    services = applicable(service.analyse(log))
    intervals = applicable(waits.analyse(log, interval_s=PERIOD_S)).intervals
    return Monitored(
        service=services,
        section=section(services),
        arrivals=applicable(arrivals.analyse(log, period_s=PERIOD_S)),
        periods=tuple(
            Period(users=users, insertion_s=insertion, seen=interval)
            for (users, insertion, _), interval in zip(sessions, intervals, strict=True)
        ),
        unfinished=_unfinished(log),
    )


def _parameters(users: int, insertion_s: float) -> dict[str, Any]:
    return {
        "users": users,
        "insertion_time": think(insertion_s),
        "scheduler": "original",
        "regions": 4,
        "length": PERIOD_S,
    }


def _unfinished(log: Log) -> dict[str, float]:
    import polars as pl

    frame = (
        log.interactions()
        .group_by(pl.col("class").cast(pl.String))
        .agg(pl.col("completion").is_null().mean().alias("part"))
        .sort("class")
        .collect()
    )
    return dict(zip(frame["class"], frame["part"], strict=True))
