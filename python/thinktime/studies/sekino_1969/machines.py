"""The simulated Multics and CTSS as this study runs them: each load once, with the same script in all."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thinktime.stats.estimate import Estimate
from thinktime.stats.series import plain_mean
from thinktime.studies.sekino_1969.configuration import (
    CTSS,
    MULTICS,
    WARM_UP_S,
    ctss_parameters,
    multics_parameters,
    pass_s,
)
from thinktime.studies.study import Settings

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.sources.simulated import Simulated

__all__ = ["ENOUGH", "Array", "Machines", "Recorded", "begin", "column", "interval"]

Array = NDArray[np.float64]

ENOUGH = 8
"""Runs where CPU time is asked, which varies little, and not response."""
PASSES = 3
"""Times through the script in each of these."""


def interval(values: Array, unit: str = "") -> Estimate:
    """Mean over runs with the interval of Student's t; runs without a figure are left out."""
    return plain_mean(values[~np.isnan(values)]).estimate(unit)


def column(run: Simulated, response: str) -> Array:
    """One response of every replication of a run; nan where it has no figure."""
    found: Array = run.responses[response].fill_null(float("nan")).to_numpy()
    return found


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run of Multics: its log, and what the simulation knows of itself."""

    log: Log
    responses: Mapping[str, float | None]


@dataclass
class Machines:
    """Runs both systems, and remembers them; its logs are deleted when it is no longer used.

    Replication r of every load has the same scripted user: common random numbers.
    """

    settings: Settings
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="thinktime-study-")))
    _known: dict[str, Simulated] = field(default_factory=dict)
    _recorded: dict[str, tuple[Recorded, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Delete the logs at the end."""
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

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

    def recorded(self, users: int, **changes: object) -> tuple[Recorded, ...]:
        """Run Multics as often as is enough for CPU time; each run has a log, and several passes."""
        key = f"{users} {sorted(changes.items())!r}"
        if key not in self._recorded:
            longer = {"length": WARM_UP_S + PASSES * pass_s(users)}
            parameters = {**multics_parameters(users), **longer, **changes}
            place = self.folder / f"multics-{len(self._recorded)}"
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                runs = pool.map(lambda number: self._record(parameters, place, number), range(self.enough))
                self._recorded[key] = tuple(runs)
        return self._recorded[key]

    def values(self, response: str, users: int, **changes: object) -> Array:
        """One response of every run that was recorded; nan where it has no figure."""
        found = [run.responses[response] for run in self.recorded(users, **changes)]
        return np.array([math.nan if value is None else value for value in found])

    def _record(self, parameters: Mapping[str, Any], place: Path, number: int) -> Recorded:
        from thinktime.log import Log
        from thinktime.sources import simulated

        path = place.with_name(f"{place.name}-{number}")
        seed = self.settings.seed
        responses = simulated.record(MULTICS, parameters, path, seed=seed, replication=number)
        return Recorded(Log.open(path), responses)

    def _run(self, system: str, parameters: Mapping[str, Any], replications: int | None) -> Simulated:
        from thinktime.sources.simulated import simulate

        count = self.settings.replications if replications is None else replications
        key = f"{system} {count} {sorted(parameters.items())!r}"
        if key not in self._known:
            self._known[key] = simulate(system, parameters, seed=self.settings.seed, replications=count)
        return self._known[key]


def begin(settings: Settings) -> Machines:
    """Machines that have not run anything."""
    return Machines(settings)
