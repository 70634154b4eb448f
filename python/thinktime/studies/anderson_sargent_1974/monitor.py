"""The monitored system: APL/360 with its original scheduler, traced into a log and analysed from it.

Periods of ten minutes with 25 to 36 users of different haste stand for the paper's four weeks. What follows
is computed from the log alone, by the analyses that read the log of any machine.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from thinktime.errors import WorkError
from thinktime.stats.estimate import NotApplicable
from thinktime.studies.anderson_sargent_1974.machine import PERIOD_S, SYSTEM, think

if TYPE_CHECKING:
    from thinktime.analyses.arrivals.analysis import Arrivals
    from thinktime.analyses.service.analysis import Service
    from thinktime.analyses.waits.analysis import TraceInterval
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.studies.laboratory import Settings

__all__ = ["INSERTION_S", "USERS", "Monitored", "Period", "monitor"]

USERS = (25, 26, 27, 30, 31, 35, 36)
INSERTION_S = (16.0, 20.0, 24.0, 28.0)
PERIODS = 4
"""Of ten minutes, for each number of users and each haste."""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Monitored:
    """What the analyses say of the log."""

    service: Service
    section: Section
    """The report's section on service times: its charts are Figures 1 to 4."""
    arrivals: Arrivals
    periods: tuple[Period, ...]
    unfinished: dict[str, float]
    """Part of the inputs of each class that the end of their period cut off."""


def monitor(settings: Settings) -> Monitored:
    """Run and trace the system, and analyse the log.

    Raises
    ------
    WorkError
        An analysis does not apply to the log.
    """
    from thinktime.log import Log

    with tempfile.TemporaryDirectory(prefix="thinktime-study-") as folder:
        path = Path(folder) / "log"
        sessions = list(product(USERS, INSERTION_S, range(PERIODS)))
        for number, (users, insertion, _) in enumerate(sessions):
            _record(path, number, users, insertion, settings.seed)
        return _analysed(Log.open(path), [session[:2] for session in sessions])


def _record(path: Path, number: int, users: int, insertion_s: float, seed: int) -> None:
    """Record one period; its number keeps it apart from the others in time and in random numbers."""
    from thinktime.sources.simulated import simulate

    parameters = {
        "users": users,
        "insertion_time": think(insertion_s),
        "scheduler": "original",
        "regions": 4,
        "length": PERIOD_S,
    }
    run = simulate(SYSTEM, parameters, seed=seed, first_replication=number)
    run.record(path, trace=True, mode="resume")


def _analysed(log: Log, sessions: list[tuple[int, float]]) -> Monitored:
    from thinktime.analyses.arrivals import analysis as arrivals
    from thinktime.analyses.service import analysis as service
    from thinktime.analyses.service.section import section
    from thinktime.analyses.waits import analysis as trace

    asked = service.analyse(log)
    came = arrivals.analyse(log, period_s=PERIOD_S)
    seen = trace.analyse(log, interval_s=PERIOD_S)
    for answer in (asked, came, seen):
        if isinstance(answer, NotApplicable):
            raise WorkError(f"the log of the simulated system cannot be analysed: {answer.reason}")
    assert not isinstance(asked, NotApplicable)
    assert not isinstance(came, NotApplicable)
    assert not isinstance(seen, NotApplicable)
    periods = tuple(
        Period(*session, interval) for session, interval in zip(sessions, seen.intervals, strict=True)
    )
    return Monitored(asked, section(asked), came, periods, _unfinished(log))


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
