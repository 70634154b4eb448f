"""The simulated Multics and CTSS as this study runs them: each load once, with the same script in all."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thinktime.stats.estimate import Estimate
from thinktime.stats.series import plain_mean
from thinktime.studies.sekino_1969.configuration import CTSS, MULTICS, ctss_parameters, multics_parameters
from thinktime.studies.study import Settings

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.sources.simulated import Simulated

__all__ = ["ENOUGH", "Array", "Machines", "begin", "column", "interval"]

Array = NDArray[np.float64]

ENOUGH = 8
"""Runs of the script where CPU time is asked, which varies little, and not response."""


def interval(values: Array, unit: str = "") -> Estimate:
    """Mean over runs with the interval of Student's t; runs without a figure are left out."""
    return plain_mean(values[~np.isnan(values)]).estimate(unit)


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

    def values(self, response: str, users: int, **changes: object) -> Array:
        """One response of every replication of Multics, as many as enough for CPU time."""
        return column(self.multics(users, replications=self.enough, **changes), response)

    @property
    def enough(self) -> int:
        """Runs where CPU time is asked."""
        return min(self.settings.replications, ENOUGH)

    def log(self, users: int, **changes: object) -> Log:
        """Log of the runs that `values` takes its figures from, a session a run."""
        from thinktime.log import Log

        key = f"{users} {sorted(changes.items())!r}"
        if key not in self._logs:
            path = self.folder / f"multics-{len(self._logs)}"
            self.multics(users, replications=self.enough, **changes).record(path)
            self._logs[key] = Log.open(path)
        return self._logs[key]

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
