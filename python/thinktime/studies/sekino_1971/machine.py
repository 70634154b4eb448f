"""The simulated Multics as this study runs it: each configuration once, with the same workloads in all."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import WorkError
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.series.batch_means import plain_mean
from thinktime.studies.sekino_1971.tables import SYSTEMS, Configuration
from thinktime.studies.study import Settings

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.sources.simulated import Simulated

__all__ = [
    "ENOUGH",
    "MACHINE",
    "PERIOD",
    "Machine",
    "Recorded",
    "applicable",
    "interval",
    "parameters_of",
]

Array = NDArray[np.float64]
_T = TypeVar("_T")

MACHINE = "multics"
ENOUGH = 4
"""Replications of what is compared on the same workloads, and of every point of a curve."""
PERIOD: dict[str, Any] = {"warm_up": 600.0, "length": 3600.0}
"""Of each replication: an hour, of which ten minutes to log in and to fill core [s]."""


def interval(values: Array, unit: str = "", factor: float = 1.0) -> Estimate:
    """Mean over replications, times `factor`, with the interval of Student's t."""
    return plain_mean(factor * values).with_unit(unit)


def applicable(answer: _T | NotApplicable) -> _T:
    """Answer of an analysis that must apply.

    Raises
    ------
    WorkError
        It does not.
    """
    if isinstance(answer, NotApplicable):
        raise WorkError(f"the log of the simulated machine cannot be analysed: {answer.reason}")
    return answer


def parameters_of(configuration: Configuration) -> dict[str, Any]:
    """Parameters of the simulated system for a configuration; all others are those of System 14."""
    return {
        **PERIOD,
        "cpus": configuration.cpus,
        "core": configuration.core_kwords,
        "users": configuration.users,
        "max_eligible": configuration.eligible,
    }


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run of a configuration: its log, and what the simulation knows of itself."""

    log: Log
    responses: Mapping[str, float | None]


@dataclass
class Machine:
    """Runs configurations, and remembers them; its logs are deleted when it is no longer used.

    Replication r of every configuration has the same users asking for the same work: common random numbers.
    """

    settings: Settings
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="thinktime-study-")))
    _known: dict[str, Simulated] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Delete the logs at the end."""
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def values(self, parameters: Mapping[str, Any], response: str, replications: int | None = None) -> Array:
        """One response of every replication of one set of parameters.

        Parameters
        ----------
        parameters : mapping
            Of the system, where they differ from its defaults.
        response : str
        replications : int, optional
            By default as many as the user wants, up to `ENOUGH`.
        """
        from thinktime.sources.simulated import simulate

        count = min(self.settings.replications, ENOUGH) if replications is None else replications
        key = repr(sorted(parameters.items()))
        if key not in self._known or len(self._known[key].responses) < count:
            self._known[key] = simulate(MACHINE, parameters, seed=self.settings.seed, replications=count)
        found: Array = self._known[key].responses[response].to_numpy()
        return found[:count]

    def measured(self, configuration: Configuration, response: str) -> Array:
        """One response of every replication of a configuration that is in the tables."""
        return self.values(parameters_of(configuration), response, self.settings.replications)

    def mean(self, configuration: Configuration, response: str) -> float:
        """Mean of one response over the replications of a configuration."""
        return float(self.measured(configuration, response).mean())

    @cached_property
    def recorded(self) -> dict[str, Recorded]:
        """One run of each configuration, as its meters recorded it after the warm-up."""
        from thinktime.log import Log
        from thinktime.sources import simulated

        found = {}
        for name, configuration in SYSTEMS.items():
            path = self.folder / f"whole-{name}"
            own = parameters_of(configuration)
            responses = simulated.record(MACHINE, own, path, seed=self.settings.seed)
            found[name] = Recorded(_settled(Log.open(path), self.folder / name), responses)
        return found

    @property
    def defaults(self) -> dict[str, Any]:
        """Every parameter of the system where this study says nothing."""
        from thinktime.sources.simulated import resolve

        return resolve(MACHINE, {})


def _settled(log: Log, path: Path) -> Log:
    """Log of what came after the warm-up, as one who starts to record then has it."""
    import polars as pl

    from thinktime.log import Log, LogWriter

    (session,) = log.manifest["sessions"]
    samples = log.samples().collect()
    warm_up = pl.duration(seconds=session["replication"]["warm_up_s"])
    known = {key: session[key] for key in ("machine", "options")}
    with LogWriter.open(path, "create", source=session["source"], **known) as writer:
        after = samples.filter(pl.col("start") >= pl.col("start").min() + warm_up)
        writer.write("samples", after, log.schema("samples"))
    return Log.open(path)


def begin(settings: Settings) -> Machine:
    """Machine that has not run anything."""
    return Machine(settings)
