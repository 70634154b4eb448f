"""Simulated systems: run replications, extend them, and write them into a log."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from thinktime.errors import NAMES_MAX, InputError, WorkError, offered
from thinktime.log.log import UNFINISHED
from thinktime.log.runs import Runs, over_replications
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, NotApplicable, Plain

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from thinktime._native import NativeReplications, NativeSimulation
    from thinktime.stats.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on the cost of a simulation.

    A simulation whose estimated cost is larger is refused before it begins, and a replication that reaches
    its share of the events ends with an error: no parameter makes a run that does not end.
    """

    max_events: int = 10**10
    """Events of all replications: about ten minutes of one core."""
    max_memory: int = 4 * 2**30
    """Memory of the replications that run at one time, bytes; fewer run together where it would not do."""


SHOWN = 8
"""Responses in the short text of a simulation."""
WARM_UP_LONG = 0.1
"""Share of a run that MSER-5 may cut without a caveat."""
LIMITS = Limits()
"""Limits where none are given."""


class Source(str, Enum):
    """Kinds of sources of a default."""

    PAGE = "page"
    """Printed: page, table or figure of the paper, or another document."""
    CALIBRATED = "calibrated"
    """Calibrated against printed results."""
    CHOSEN = "chosen"
    """Chosen by the author of the simulation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemParameter:
    """A parameter of a simulated system."""

    name: str
    unit: str
    default: Plain
    """None if it is required."""
    allowed: str
    """Allowed values, as a remedy: "give ..."."""
    description: str
    source: Source
    """Kind of source of the default."""
    reference: str
    """Page, table or document; calibration target; or reason of the choice. Empty where there is none."""
    compared_with_calibration: bool
    """True if a choice was compared with the results against which other parameters are calibrated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A simulated system and its parameters."""

    name: str
    summary: str
    parameters: tuple[SystemParameter, ...]

    def has(self, parameter: str) -> bool:
        """True if the system has `parameter`."""
        return any(item.name == parameter for item in self.parameters)

    def calibrated(self) -> list[str]:
        """Names of the calibrated parameters."""
        return [item.name for item in self.parameters if item.source is Source.CALIBRATED]


def systems() -> tuple[System, ...]:
    """Every simulated system."""
    from thinktime._native import simulated_systems

    return tuple(
        System(
            name=described["name"],
            summary=described["summary"],
            parameters=tuple(
                SystemParameter(
                    name=item["name"],
                    unit=item["unit"],
                    default=item["default"],
                    allowed=item["allowed"],
                    description=item["description"],
                    source=Source(item["source"]),
                    reference=item["reference"],
                    compared_with_calibration=item["compared_with_calibration"],
                )
                for item in described["parameters"]
            ),
        )
        for described in simulated_systems()
    )


def find(name: str) -> System:
    """The simulated system `name`.

    Raises
    ------
    InputError
        There is no such system.
    """
    by_name = {system.name: system for system in systems()}
    if name not in by_name:
        raise InputError(f"{name}: there is no such simulated system; {offered(name, by_name)}")
    return by_name[name]


def resolve(system: str, parameters: Mapping[str, object]) -> dict[str, Any]:
    """All parameters of `system`, with defaults filled in and distributions written out.

    Raises
    ------
    InputError
        A parameter is impossible.
    """
    return _prepare(system, parameters).parameters()


def check_cost(
    system: str, parameters: Mapping[str, object], *, replications: int, limits: Limits = LIMITS
) -> None:
    """Refuse replications whose estimated cost is above the limits, without simulating them.

    Raises
    ------
    InputError
        A parameter is impossible, or the cost is too high; the message names the parameter that drives it.
    """
    simulation = _prepare(system, parameters)
    _call(simulation.check_cost, replications, (limits.max_events, limits.max_memory))


def machine(system: str, parameters: Mapping[str, object] | None = None) -> dict[str, Any]:
    """Facts about the machine for a log's manifest, in addition to its parameters, without simulating it.

    Raises
    ------
    InputError
        A parameter is impossible.
    """
    return _prepare(system, parameters).machine()


def responses(system: str, parameters: Mapping[str, object] | None = None) -> dict[str, str]:
    """Unit of each response of a system, by name, without simulating it.

    Raises
    ------
    InputError
        A parameter is impossible.
    """
    return {name: unit for name, unit, *_ in _prepare(system, parameters).responses()}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Simulated(Result):
    """Replications of one configuration: a row of its main table is the estimate of a response."""

    MAIN: ClassVar[str] = "responses"

    system: str
    parameters: dict[str, Plain]
    """All parameters, defaults included."""
    seed: int
    """Of all random numbers."""
    responses: pl.DataFrame
    """A row per replication: `replication` (its number) and every response; null where it has no value."""
    units: dict[str, str]
    """Unit of each response."""
    descriptions: dict[str, str]
    """Description of each response."""
    warm_up_s: float
    """Time cut at the beginning of each replication, s."""
    warm_up_settled: bool | None
    """True if MSER-5 found the end of the warm-up within the first half; None if it was given."""
    laws: dict[str, tuple[str, ...]]
    """Conservation laws that were checked in every replication, with the places where they were checked."""
    events: int
    """Events of all replications."""
    quantiles: dict[str, tuple[int, float]]
    """Of each response that is a quantile, the index of its distribution and the share below it."""
    _simulation: NativeSimulation = field(repr=False)
    _replications: NativeReplications = field(repr=False)

    def estimate(self, response: str, level: float = 0.95) -> Estimate | NotApplicable:
        """Mean over the replications with Student's t interval; a quantile is that of all of them together.

        Raises
        ------
        InputError
            There is no such response.
        """
        self._check(response)
        from thinktime.stats.series.shares import quantile_of_replications

        unit = self.units[response]
        mean = over_replications(self.responses, response, unit, level)
        if response not in self.quantiles or isinstance(mean, NotApplicable):
            return mean
        index, q = self.quantiles[response]
        parts = [(self._replications.distributions(at) or [])[index] for at in range(len(self.responses))]
        return quantile_of_replications(parts, q, level).with_unit(unit)

    def values(self, responses: Sequence[str]) -> list[float]:
        """Values of `estimate` without their intervals, in a small part of the time; nan where it has none.

        Raises
        ------
        InputError
            There is no such response.
        """
        import numpy as np

        from thinktime.stats.series.shares import Pooled

        found, pooled = [], dict[int, Pooled]()
        counted = [self._replications.distributions(at) or [] for at in range(len(self.responses))]
        for response in responses:
            self._check(response)
            values = [value for value in self.responses[response].to_list() if value is not None]
            if response not in self.quantiles or not values:
                found.append(float(np.mean(values)) if values else math.nan)
                continue
            index, q = self.quantiles[response]
            if index not in pooled:
                pooled[index] = Pooled.of([each[index] for each in counted])
            found.append(pooled[index].quantile(q))
        return found

    def _check(self, response: str) -> None:
        if response not in self.units:
            raise InputError(f"{self.system} has no response {response!r}; it has: {', '.join(self.units)}")

    def estimates(self, level: float = 0.95) -> dict[str, Estimate | NotApplicable]:
        """Estimate of every response, by name."""
        return {name: self.estimate(name, level) for name in self.units}

    @property
    def length_s(self) -> float:
        """Simulated time of a replication [s], the warm-up included."""
        return float(str(self.parameters["length"]))

    def to_dict(self) -> dict[str, Plain]:
        """All fields, and the estimate of every response, as plain values in SI units."""
        estimates: dict[str, Plain] = {name: item.to_dict() for name, item in self.estimates().items()}
        return Result.to_dict(self) | {"estimates": estimates}

    def _records(self) -> Sequence[Mapping[str, object]]:
        return [
            {"response": name, "estimate": item, "unit": self.units[name]}
            for name, item in self.estimates().items()
        ]

    def __repr__(self) -> str:
        """System and replications, and the first responses."""
        count = len(self.responses)
        runs = f"{count} {'replication' if count == 1 else 'replications'} of {self.length_s:g} s"
        lines = [f"  {name}: {self.estimate(name)}" for name in list(self.units)[:SHOWN]]
        rest = len(self.units) - SHOWN
        more = [f"  and {rest} more responses: to_frame() has all"] if rest > 0 else []
        return "\n".join([f"Simulated {self.system}: {runs}, seed {self.seed}", *lines, *more])

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """Reasons to doubt the warm-up that MSER-5 found."""
        share = self.warm_up_s / self.length_s
        if self.warm_up_settled is False:
            return (Caveat("warm_up_not_settled"),)
        if self.warm_up_settled and share > WARM_UP_LONG:
            return (Caveat("warm_up_long", share=share),)
        return ()

    def batch_means(self, index: int = 0) -> NDArray[np.float64]:
        """Means of equal batches of the main response in replication `index`, in order, s.

        The batches count from the end of the warm-up; there are at most 2048, each of 5 times a power of
        two observations.

        Raises
        ------
        InputError
            There is no replication `index`.
        """
        import numpy as np

        batches = self._replications.batches(index)
        if batches is None:
            raise InputError(f"index {index} of {len(self.responses)} replications: give a number from 0")
        return np.asarray(batches[0])

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
            True to write `interactions` and `events` in addition to `samples`.
        mode : {"create", "resume", "replace"}
            A new log; sessions added to an existing log; or a new log that replaces an existing one.
        progress : callable, optional
            Called with the number of replications written.

        Raises
        ------
        InputError
            The log exists and `mode` is ``"create"``, or it cannot be written.
        """
        numbers = self.responses["replication"]
        marker, manifest = Path(path) / UNFINISHED, Path(path) / "manifest.json"
        before = manifest.read_bytes() if manifest.is_file() else None
        try:
            for done, number in enumerate(numbers):
                opened = mode if done == 0 else "resume"
                _call(
                    self._simulation.record, Path(path), opened, self.seed, number, self._replications, trace
                )
                # Each replication is complete in itself: nothing else tells a part of them from all.
                if done == 0 and len(numbers) > 1:
                    _mark(marker, numbers[-1] + 1)
                if progress is not None:
                    progress(done + 1)
        except KeyboardInterrupt:
            # It may have come between the first replication and the marker.
            if len(numbers) > 1 and manifest.is_file() and manifest.read_bytes() != before:
                _mark(marker, numbers[-1] + 1)
            raise
        marker.unlink(missing_ok=True)


def _mark(marker: Path, asked: int) -> None:
    """Write the number of replications asked for into the log; the file is there as a whole or not at all."""
    draft = marker.with_suffix(".new")
    draft.write_text(f"{asked}\n", encoding="ascii")
    draft.replace(marker)


def simulate(
    system: str,
    parameters: Mapping[str, object] | None = None,
    *,
    seed: int = 1,
    replications: int = 1,
    first_replication: int = 0,
    threads: int | None = None,
    limits: Limits = LIMITS,
    progress: Callable[[int], object] | None = None,
    **named: object,
) -> Simulated:
    """Replications of a simulated system, run on all cores.

    Parameters
    ----------
    system : str
        Its name; see `systems`.
    parameters : mapping, optional
        Values that differ from the defaults; distributions as tables or in short form, a script of users by
        name or file.
    seed : int
        Of all random numbers, 0 or more. Replication r draws from streams addressed by (seed, r).
    replications : int
        Number of replications. A finished simulation is extended with `resume`.
    first_replication : int
        Number of the first.
    threads : int, optional
        By default one per core, which is also the most. The results are the same for any number.
    limits : Limits, optional
        What the replications may cost; by default, ``LIMITS``.
    progress : callable, optional
        Called now and then with the number of replications done.
    **named : object
        Parameters by name, as in ``simulate("apl360", users=3)``.

    Raises
    ------
    InputError
        A parameter is impossible or given twice, all replications are copies of each other, or they cost more
        than a limit allows; the message names the parameter that drives the cost.
    WorkError
        A conservation law does not hold: a defect.
    """
    import polars as pl

    for name, value, least in (
        ("seed", seed, 0),
        ("first_replication", first_replication, 0),
        ("replications", replications, 1),
        ("max_events", limits.max_events, 1),
        ("max_memory", limits.max_memory, 1),
    ):
        if not least <= value < 2**64:
            raise InputError(f"{name} is {value}; give a whole number of at least {least} and below 2^64")
    if twice := sorted(set(parameters or {}) & set(named)):
        raise InputError(f"{', '.join(twice)}: given in the mapping and by name; give each parameter once")
    simulation = _prepare(system, {**(parameters or {}), **named})
    replicated = _call(
        simulation.run,
        seed,
        first_replication,
        replications,
        limits=(limits.max_events, limits.max_memory),
        threads=threads,
        progress=progress,
    )
    described = simulation.responses()
    rows = replicated.responses()
    columns: dict[str, Any] = {"replication": range(first_replication, first_replication + len(rows))}
    for index, (name, *_) in enumerate(described):
        columns[name] = [None if math.isnan(row[index]) else row[index] for row in rows]
    schema = {"replication": pl.Int64} | {name: pl.Float64 for name, *_ in described}
    return Simulated(
        system=system,
        parameters=simulation.parameters(),
        seed=seed,
        responses=pl.DataFrame(columns, schema=schema),
        units={name: unit for name, unit, *_ in described},
        descriptions={name: text for name, _, text, _ in described},
        quantiles={name: of for name, _, _, of in described if of is not None},
        warm_up_s=replicated.warm_up_s,
        warm_up_settled=replicated.settled,
        laws={law: tuple(places) for law, places in replicated.laws()},
        events=replicated.events,
        _simulation=simulation,
        _replications=replicated,
    )


def resume(
    path: str | Path,
    parameters: Mapping[str, object] | None = None,
    *,
    system: str | None = None,
    seed: int | None = None,
    replications: int = 1,
    threads: int | None = None,
    limits: Limits = LIMITS,
    progress: Callable[[int], object] | None = None,
) -> Simulated:
    """Further replications of the simulation in the log at `path`, numbered after its last one.

    Append them to the log with ``record(path, mode="resume")``. A warm-up that MSER-5 found for the
    replications in the log holds for the further ones, so that all are cut alike.

    Parameters
    ----------
    path : str or Path
        Folder of the log.
    parameters : mapping, optional
        Values that must agree with those in the log.
    system, seed : optional
        System and seed, which must be those in the log.
    replications, threads, limits, progress
        As for `simulate`.

    Raises
    ------
    InputError
        The log holds no simulation, or another system, seed or value of a parameter.
    WorkError
        A conservation law does not hold: a defect.
    """
    runs = Runs.open(path)
    system = runs.system if system is None else system
    seed = runs.seed if seed is None else seed
    if (runs.system, runs.seed) != (system, seed):
        raise InputError(
            f"{path}: holds {runs.system} with seed {runs.seed}; further replications must be of the same, "
            f"not of {system} with seed {seed}"
        )
    given = dict(parameters or {})
    differing = [name for name, value in given.items() if _differs(system, name, value, runs.parameters)]
    if differing:
        raise InputError(
            f"{path}: was made with another {', '.join(differing)}; replications with different parameters "
            "cannot be merged (use `thinktime experiment` to compare)"
        )
    given = runs.parameters | given
    done = runs.cells[0].replications()
    if done and given.get("warm_up") == "mser5":
        given["warm_up"] = done[0].warm_up_s
    return simulate(
        system,
        given,
        seed=seed,
        replications=replications,
        first_replication=done[-1].number + 1 if done else 0,
        threads=threads,
        limits=limits,
        progress=progress,
    )


def _differs(system: str, name: str, value: Any, recorded: Mapping[str, Any]) -> bool:
    """True if `value` differs from the recorded one; short forms are written out first."""
    return name not in recorded or bool(resolve(system, {**recorded, name: value})[name] != recorded[name])


def record(
    system: str,
    parameters: Mapping[str, object] | None,
    path: str | Path,
    *,
    seed: int,
    replication: int = 0,
) -> dict[str, float | None]:
    """Responses of one replication that runs straight into a new log at `path`.

    This is half the work of `simulate` and `Simulated.record`, which run each replication twice, and enough
    where no interval over replications is needed.

    Raises
    ------
    InputError
        A parameter is impossible, the log exists, or the warm-up is to be found from replications.
    WorkError
        A conservation law does not hold: a defect.
    """
    simulation = _prepare(system, parameters)
    if simulation.parameters().get("warm_up") == "mser5":
        raise InputError(
            "warm_up is mser5, which needs the replications before they are recorded; give a time"
        )
    none = _call(
        simulation.run, seed, replication, 0, limits=(LIMITS.max_events, LIMITS.max_memory), threads=1
    )
    _call(simulation.record, Path(path), "create", seed, replication, none, False)
    return Runs.open(path).cells[0].replications()[0].responses


def _prepare(system: str, parameters: Mapping[str, object] | None) -> NativeSimulation:
    """System with checked parameters; the file of a script is read in place of its name."""
    from thinktime._native import NativeSimulation

    given = dict(parameters or {})
    if "script" in given and any(system == item.name and item.has("script") for item in systems()):
        from thinktime.sources import scripts

        given["script"] = scripts.resolve(given["script"], system)
    try:
        prepared: NativeSimulation = _call(NativeSimulation, system, given)
    except TypeError as error:
        raise InputError(f"{system}: {error}") from None
    except InputError as error:
        names = str(error).partition("? there are: ")[2].split(", ")
        if len(names) <= NAMES_MAX:
            raise
        hint = f"`thinktime systems {system}` lists all {len(names)}"
        raise InputError(f"{str(error).partition(' there are: ')[0]} {hint}") from None
    return prepared


def _call(act: Any, *arguments: Any, **options: Any) -> Any:
    from thinktime._native import NativeLogError, NativeSimulationError

    try:
        return act(*arguments, **options)
    except NativeSimulationError as error:
        raise WorkError(str(error)) from error
    except (NativeLogError, ValueError) as error:
        raise InputError(str(error).removeprefix("thinktime: ")) from error
