"""The simulated Multics and CTSS as this study runs them: each load once, with the same script in all."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from thinktime.stats.estimate import Estimate
from thinktime.stats.series.batch_means import plain_mean
from thinktime.studies.laboratory import Settings
from thinktime.studies.sekino_1969.configuration import (
    CTSS,
    MULTICS,
    WARM_UP_S,
    ctss_parameters,
    multics_parameters,
    pass_s,
)

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.sources.simulated import Simulated

__all__ = ["ENOUGH", "Array", "Machines", "begin", "column", "interval", "scaled"]

_T = TypeVar("_T")

Array = NDArray[np.float64]

ENOUGH = 8
"""Runs where CPU time is asked, which varies little, and not response."""
PASSES = 2
"""Times through the script in each of these."""


def interval(values: Array, unit: str = "") -> Estimate:
    """Mean over runs with the interval of Student's t; runs without a figure are left out."""
    return plain_mean(values[~np.isnan(values)]).with_unit(unit)


def scaled(estimate: Estimate, factor: float, unit: str = "") -> Estimate:
    """Give an estimate in another unit: times a positive `factor`."""
    low, high = (None if end is None else end * factor for end in (estimate.low, estimate.high))
    return replace(estimate, value=estimate.value * factor, unit=unit, low=low, high=high)


def column(run: Simulated, response: str) -> Array:
    """One response of every replication of a run; nan where it has no figure."""
    found: Array = run.responses[response].fill_null(float("nan")).to_numpy()
    return found


@dataclass
class Machines:
    """Runs both systems, and remembers them; its logs are deleted when it is no longer used.

    Replication r of every load has the same scripted user: common random numbers.
    """

    settings: Settings
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="thinktime-study-")))
    _known: dict[str, Simulated] = field(default_factory=dict)
    _logs: dict[str, Log] = field(default_factory=dict)
    _done: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Delete the logs at the end."""
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def once(self, name: str, work: Callable[[], _T]) -> _T:
        """Do some work the first time, and remember what it gave."""
        if name not in self._done:
            self._done[name] = work()
        done: _T = self._done[name]
        return done

    def multics(self, users: int, *, replications: int | None = None, **changes: object) -> Simulated:
        """Run Multics with one user who plays the script, each replication once through it.

        Parameters
        ----------
        users : int
            With the scripted one.
        replications : int, optional
            By default as many as the user wants.
        changes
            Of other parameters.
        """
        parameters = {**multics_parameters(users), **changes}
        return self._run(MULTICS, parameters, replications)

    def ctss(self, users: int, *, replications: int | None = None, **changes: object) -> Simulated:
        """Run CTSS with one user who plays the twin script, each replication once through it."""
        parameters = {**ctss_parameters(users), **changes}
        return self._run(CTSS, parameters, replications)

    @property
    def enough(self) -> int:
        """Runs where CPU time is asked."""
        return min(self.settings.replications, ENOUGH)

    def log(self, users: int, **changes: object) -> Log:
        """Log of `ENOUGH` runs of Multics, each several times through the script, a session a run."""
        key = f"{users} {sorted(changes.items())!r}"
        if key not in self._logs:
            longer = {"length": WARM_UP_S + PASSES * pass_s(users)}
            parameters = {**multics_parameters(users), **longer, **changes}
            place = self.folder / f"multics-{len(self._logs)}"
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                runs = pool.map(lambda number: self._record(parameters, place, number), range(self.enough))
                self._logs[key] = _pooled(list(runs), place)
        return self._logs[key]

    def _record(self, parameters: Mapping[str, Any], place: Path, number: int) -> Log:
        from thinktime.log import Log
        from thinktime.sources import simulated

        path = place.with_name(f"{place.name}-{number}")
        simulated.record(MULTICS, parameters, path, seed=self.settings.seed, replication=number)
        return Log.open(path)

    def _run(self, system: str, parameters: Mapping[str, Any], replications: int | None) -> Simulated:
        from thinktime.sources.simulated import simulate

        count = self.settings.replications if replications is None else replications
        key = f"{system} {count} {sorted(parameters.items())!r}"
        if key not in self._known:
            self._known[key] = simulate(system, parameters, seed=self.settings.seed, replications=count)
        return self._known[key]


def _pooled(runs: Sequence[Log], path: Path) -> Log:
    """Log of what several runs did after their warm-up, as one who starts to record then has it."""
    import polars as pl

    from thinktime.log import Log, LogWriter

    for run in runs:
        (session,) = run.manifest["sessions"]
        samples = run.samples().collect()
        begins = pl.col("start").min() + pl.duration(seconds=session["replication"]["warm_up_s"])
        mode: Literal["create", "resume"] = "resume" if path.exists() else "create"
        known = {name: session[name] for name in ("machine", "options")}
        with LogWriter.open(path, mode, source=MULTICS, **known) as writer:
            writer.write("samples", samples.filter(pl.col("start") >= begins), run.schema("samples"))
    return Log.open(path)


def begin(settings: Settings) -> Machines:
    """Machines that have not run anything."""
    return Machines(settings)
