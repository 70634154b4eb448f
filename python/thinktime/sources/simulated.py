"""The simulated systems, from Python: run replications, and write them into a log."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from thinktime.errors import InputError, WorkError
from thinktime.log.runs import over_replications

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from thinktime._native import NativeFinished, NativeSimulation
    from thinktime.stats.estimate import Estimate, NotApplicable

__all__ = [
    "Simulated",
    "System",
    "SystemParameter",
    "machine",
    "record",
    "resolve",
    "responses",
    "simulate",
    "systems",
]


@dataclass(frozen=True, slots=True)
class SystemParameter:
    """A parameter of a simulated system."""

    name: str
    unit: str
    default: Any
    """None where it must be given."""
    allowed: str
    description: str
    source: str
    """Where the default comes from: page, table or figure; "calibrated" and against what; "chosen"."""


@dataclass(frozen=True, slots=True)
class System:
    """A simulated system and its parameters."""

    name: str
    summary: str
    parameters: tuple[SystemParameter, ...]

    def has(self, parameter: str) -> bool:
        """Whether the system takes `parameter`."""
        return any(known.name == parameter for known in self.parameters)


def systems() -> tuple[System, ...]:
    """Return every simulated system."""
    from thinktime._native import simulated_systems

    return tuple(
        System(found["name"], found["summary"], tuple(SystemParameter(**p) for p in found["parameters"]))
        for found in json.loads(simulated_systems())
    )


def resolve(system: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Check `parameters` and return all of them, defaults filled in and distributions spelt out.

    Raises
    ------
    InputError
        A parameter cannot be.
    """
    from thinktime._native import NativeSimulation

    native = _call(NativeSimulation, system, _written(system, parameters))
    resolved: dict[str, Any] = json.loads(native.parameters())
    return resolved


def machine(system: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what a log's manifest says of the machine beside its parameters, without simulating it.

    Raises
    ------
    InputError
        A parameter cannot be.
    """
    from thinktime._native import NativeSimulation

    native = _call(NativeSimulation, system, json.dumps(dict(parameters or {})))
    found: dict[str, Any] = json.loads(native.machine())
    return found


def responses(system: str, parameters: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Name and unit of each response of a system, without simulating it.

    Raises
    ------
    InputError
        A parameter cannot be.
    """
    from thinktime._native import NativeSimulation

    native = _call(NativeSimulation, system, _written(system, parameters))
    return {name: unit for name, unit, _ in native.responses()}


@dataclass(frozen=True, slots=True)
class Simulated:
    """Replications of one configuration.

    Attributes
    ----------
    system : str
        What was simulated.
    parameters : dict
        All parameters, defaults included.
    seed : int
        Of all random numbers.
    responses : polars.DataFrame
        A row a replication: `replication` (its number) and every response; null where it has no figure.
    units, descriptions : dict
        Of each response.
    warm_up_s : float
        Time cut at the beginning of each replication, s.
    warm_up_settled : bool or None
        Whether MSER-5 found the end of the warm-up within the first half; None where it was given.
    laws : tuple of str
        Conservation laws by which every replication was checked.
    events : int
        Events of all replications.
    """

    system: str
    parameters: dict[str, Any]
    seed: int
    responses: pl.DataFrame
    units: dict[str, str]
    descriptions: dict[str, str]
    warm_up_s: float
    warm_up_settled: bool | None
    laws: tuple[str, ...]
    events: int
    _simulation: NativeSimulation = field(repr=False)
    _finished: NativeFinished = field(repr=False)

    def estimate(self, response: str, level: float = 0.95) -> Estimate | NotApplicable:
        """Mean over the replications with Student's t interval.

        Raises
        ------
        InputError
            There is no such response.
        """
        if response not in self.units:
            raise InputError(f"{self.system} has no response {response!r}; it has: {', '.join(self.units)}")
        return over_replications(self.responses, response, self.units[response], level)

    def batch_means(self, index: int = 0) -> NDArray[np.float64]:
        """Means of equal batches of the main response in replication `index`, in order, s.

        The batches count from the end of the warm-up; there are at most 2048, each of 5 times a power of
        two observations.
        """
        import numpy as np

        found = self._finished.batches(index)
        if found is None:
            raise InputError(f"replication {index} of {len(self.responses)}: give a number from 0")
        return np.asarray(found[0])

    def record(
        self,
        path: str | Path,
        *,
        trace: bool = False,
        mode: Literal["create", "resume", "replace"] = "create",
        progress: Callable[[int], object] | None = None,
    ) -> None:
        """Write the replications into the log at `path`, each as a session.

        Parameters
        ----------
        path : str or Path
            Folder of the log.
        trace : bool
            Whether `interactions` and `events` are written beside `samples`.
        mode : {"create", "resume", "replace"}
            A new log; sessions added to one that is there; or a new one in its place.
        progress : callable, optional
            Called with the number of replications written.
        """
        for done, number in enumerate(self.responses["replication"]):
            how = mode if done == 0 else "resume"
            _call(self._simulation.record, Path(path), how, self.seed, number, self._finished, trace)
            if progress is not None:
                progress(done + 1)


def simulate(
    system: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    seed: int,
    replications: int = 1,
    first_replication: int = 0,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Simulated:
    """Run replications of a simulated system, on all cores.

    Parameters
    ----------
    system : str
        Its name; see `systems`.
    parameters : mapping, optional
        What differs from the defaults; distributions as tables or in short form, a script of users by
        its name or file.
    seed : int
        Of all random numbers, 0 or more. Replication r draws from streams addressed by (seed, r).
    replications : int
        How many, from `first_replication` on: a finished study is extended by going on where it ended.
    first_replication : int
        Number of the first.
    threads : int, optional
        By default one a core. The figures are the same for any number.
    progress : callable, optional
        Called now and then with the number of replications done.

    Raises
    ------
    InputError
        A parameter cannot be, or all replications are copies of each other.
    WorkError
        A conservation law does not hold: a defect.
    """
    import polars as pl

    from thinktime._native import NativeSimulation

    for name, value, least in (("seed", seed, 0), ("replications", replications, 1)):
        if value < least:
            raise InputError(f"{name} is {value}; give a whole number of at least {least}")
    simulation = _call(NativeSimulation, system, _written(system, parameters))
    finished = _call(simulation.run, seed, first_replication, replications, threads, progress)
    described = simulation.responses()
    rows = finished.responses()
    columns: dict[str, Any] = {"replication": range(first_replication, first_replication + len(rows))}
    for at, (name, _, _) in enumerate(described):
        columns[name] = [None if math.isnan(row[at]) else row[at] for row in rows]
    schema = {"replication": pl.Int64} | {name: pl.Float64 for name, _, _ in described}
    return Simulated(
        system,
        json.loads(simulation.parameters()),
        seed,
        pl.DataFrame(columns, schema=schema),
        {name: unit for name, unit, _ in described},
        {name: text for name, _, text in described},
        finished.warm_up_s,
        finished.settled,
        tuple(finished.laws()),
        finished.events,
        simulation,
        finished,
    )


def record(
    system: str,
    parameters: Mapping[str, Any] | None,
    path: str | Path,
    *,
    seed: int,
    replication: int = 0,
) -> dict[str, float | None]:
    """Run one replication straight into a new log at `path`, and return its responses.

    That is half the work of `simulate` and `Simulated.record`, which run each replication twice, for who
    needs no interval over replications.

    Raises
    ------
    InputError
        A parameter cannot be, the log exists, or the warm-up is to be found from replications.
    WorkError
        A conservation law does not hold: a defect.
    """
    from thinktime._native import NativeSimulation
    from thinktime.log.runs import Runs

    simulation = _call(NativeSimulation, system, _written(system, parameters))
    if json.loads(simulation.parameters()).get("warm_up") == "mser5":
        raise InputError(
            "warm_up is mser5, which looks at replications before they are recorded: give a time"
        )
    nothing = _call(simulation.run, seed, replication, 0, 1, None)
    _call(simulation.record, Path(path), "create", seed, replication, nothing, False)
    return Runs.open(path).cells[0].replications()[0].responses


def _written(system: str, parameters: Mapping[str, Any] | None) -> str:
    """Write parameters as JSON, with the script of a file in the place of its name."""
    given = dict(parameters or {})
    if "script" in given and any(system == known.name and known.has("script") for known in systems()):
        from thinktime.sources import scripts

        given["script"] = scripts.resolve(given["script"], system)
    return json.dumps(given)


def _call(act: Any, *arguments: Any) -> Any:
    from thinktime._native import NativeLogError, NativeSimulationError

    try:
        return act(*arguments)
    except NativeSimulationError as error:
        raise WorkError(str(error)) from error
    except (NativeLogError, ValueError) as error:
        raise InputError(str(error)) from error
