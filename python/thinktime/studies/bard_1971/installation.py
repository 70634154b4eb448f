"""The simulated installation as this study runs it: each run recorded into a log, as DUSETIMR did."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from thinktime.errors import WorkError
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.studies.laboratory import Settings

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["COLUMNS", "PERIODS", "RUNS", "SYSTEM", "Installation", "Recorded", "applicable", "scaled"]

_T = TypeVar("_T")

SYSTEM = "cp67"
PERIODS = ("II-2", "II-3", "III-3")
"""Data sets of Table 3: version of CP and core boxes."""
COLUMNS = {
    "vsio": "vsio",
    "vmio": "vmio",
    "page_io": "page_ios",
    "spool_io": "spool_ios",
    "problem_state_time": "user_time",
}
"""What the log calls the request types of the paper."""


RUNS = 4
"""Runs of each data set, where the question is what the machine can do or what another record would show."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run of the simulated installation: its log, and what the simulation knows of itself."""

    log: Log
    responses: Mapping[str, float | None]
    """By name, see `thinktime systems cp67`; the true costs among them."""

    def response(self, name: str) -> float:
        """One response.

        Raises
        ------
        WorkError
            The run has no such figure.
        """
        value = self.responses[name]
        if value is None:
            raise WorkError(f"the simulated installation has no {name}")
        return value


@dataclass
class Installation:
    """Runs periods and experiments, and remembers them; its logs are deleted when it is no longer used."""

    settings: Settings
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="thinktime-study-")))
    _known: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Delete the logs at the end."""
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def once(self, name: str, work: Callable[[], _T]) -> _T:
        """Do some work the first time, and remember what it gave."""
        if name not in self._known:
            self._known[name] = work()
        known: _T = self._known[name]
        return known

    @cached_property
    def periods(self) -> dict[str, Recorded]:
        """The three data sets."""
        runs = [(f"period-{name}", {"period": name}, 0) for name in PERIODS]
        return dict(zip(PERIODS, self.recorded(runs), strict=True))

    @cached_property
    def repeated(self) -> dict[str, tuple[Recorded, ...]]:
        """Several runs of each data set, the first among them: the same parameters, other random numbers."""
        numbers = range(1, min(RUNS, self.settings.replications))
        names = [(name, number) for name in PERIODS for number in numbers]
        runs = [(f"period-{name}-{number}", {"period": name}, number) for name, number in names]
        others = dict(zip(names, self.recorded(runs), strict=True))
        return {name: (self.periods[name], *(others[name, number] for number in numbers)) for name in PERIODS}

    def pooled(self, name: str) -> Log:
        """Observations of all runs of a data set in one log, a session a run."""
        return self.once(f"pooled {name}", lambda: self._pool(name))

    def _pool(self, name: str) -> Log:
        from thinktime.log import Log, LogWriter

        path = self.folder / f"pooled-{name}"
        for run in self.repeated[name]:
            (session,) = run.log.manifest["sessions"]
            mode: Literal["create", "resume"] = "resume" if path.exists() else "create"
            known = {key: session[key] for key in ("machine", "options")}
            with LogWriter.open(path, mode, source=SYSTEM, **known) as writer:
                writer.write("samples", run.log.samples().collect(), run.log.schema("samples"))
        return Log.open(path)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Every parameter of the system where this study says nothing."""
        from thinktime.sources.simulated import resolve

        return resolve(SYSTEM, {})

    def recorded(self, runs: Sequence[tuple[str, Mapping[str, Any], int]]) -> list[Recorded]:
        """Record runs, as many at a time as there are cores.

        Parameters
        ----------
        runs : sequence of (str, mapping, int)
            Name of the log, parameters that differ from the defaults, number of the replication.
        """
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return list(pool.map(lambda run: self._record(*run), runs))

    def _record(self, name: str, parameters: Mapping[str, Any], replication: int) -> Recorded:
        from thinktime.log import Log
        from thinktime.sources import simulated

        path = self.folder / name
        seed = self.settings.seed
        responses = simulated.record(SYSTEM, parameters, path, seed=seed, replication=replication)
        return Recorded(Log.open(path), responses)


def begin(settings: Settings) -> Installation:
    """Installation that has not run anything."""
    return Installation(settings)


def applicable(answer: _T | NotApplicable) -> _T:
    """Answer of an analysis that must apply.

    Raises
    ------
    WorkError
        It does not.
    """
    if isinstance(answer, NotApplicable):
        raise WorkError(f"the log of the simulated installation cannot be analysed: {answer.reason}")
    return answer


def scaled(estimate: Estimate, factor: float, unit: str = "") -> Estimate:
    """Give an estimate in another unit: times `factor`."""
    low, high = (None if end is None else end * factor for end in (estimate.low, estimate.high))
    if factor < 0.0:
        low, high = high, low
    return replace(estimate, value=estimate.value * factor, unit=unit, low=low, high=high)
