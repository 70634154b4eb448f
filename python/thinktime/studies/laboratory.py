"""The laboratory of a study: simulated runs and their logs, each made once and deleted at the end.

Replication r of every run has the same random numbers: what differs between two runs is what their
parameters make of the same work (common random numbers).
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar

from thinktime.errors import InputError, WorkError
from thinktime.stats.estimate import NotApplicable
from thinktime.studies.estimates import Array
from thinktime.tasks import Pool, Threads
from thinktime.tasks.kept import Kept

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.sources.simulated import Simulated, System

_P = ParamSpec("_P")
_T = TypeVar("_T")

Parameters = Mapping[str, Any]
"""Parameters of a simulated system that differ from its defaults."""

Progress = Callable[[float, str], None]
"""Called with the fraction done, 0 to 1, and what is being done."""


def silent(done: float, doing: str) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Choices of the user of a study.

    Raises
    ------
    InputError
        There are too few replications for an interval, or `scale` is not a positive fraction.
    """

    seed: int = 1
    """Of all random numbers."""
    replications: int = 8
    """Simulated runs of each experiment whose cells are judged; comparisons on the same work need fewer."""
    scale: float = 1.0
    """Length of every run, as a fraction of the full one: published cells are judged at 1."""
    progress: Progress = silent
    pool: Pool | None = None
    """Where replications are simulated, such as a cluster; None for all cores of this machine."""
    kept: Kept | None = None
    """Where their results are kept, and taken from if they are there."""

    def __post_init__(self) -> None:
        """Refuse settings with which no interval can be computed."""
        if self.replications < 2:
            raise InputError(f"replications is {self.replications}; intervals need at least 2")
        if not 0.0 < self.scale <= 1.0:
            raise InputError(f"scale is {self.scale:g}; give a fraction above 0 and up to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One replication that was recorded: its log, and what the simulation itself knows of it."""

    log: Log
    responses: Mapping[str, float | None]
    """By name, see `thinktime systems`."""

    def response(self, name: str) -> float:
        """Value of a response.

        Raises
        ------
        WorkError
            The run has no such figure.
        """
        value = self.responses[name]
        if value is None:
            raise WorkError(f"the simulated system has no {name} in this run")
        return value


class Laboratory:
    """Runs of simulated systems, each made once for all parts of a study.

    Parameters
    ----------
    settings : Settings
    lengths : mapping of str to sequence of str
        By system, the parameters that say how long a run is: `Settings.scale` shortens them.
    """

    def __init__(self, settings: Settings, lengths: Mapping[str, Sequence[str]]) -> None:
        self.settings = settings
        self._lengths = lengths
        self._runs: dict[str, dict[int, Simulated]] = {}
        self._recorded: dict[str, Recorded] = {}
        self._pooled: dict[str, Log] = {}
        self._numbers = count()
        self._remembered: dict[tuple[Any, ...], Any] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="thinktime-study-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def path(self, stem: str) -> Path:
        """Path of a new log, which is deleted with the laboratory."""
        return self._folder / f"{stem}-{next(self._numbers)}"

    def count(self, enough: int) -> int:
        """Replications of a comparison: as many as the user wants, up to those that are `enough`."""
        return min(self.settings.replications, enough)

    def scaled(self, count: int, least: int = 2) -> int:
        """`count` periods, interactions or random draws at full length; fewer at a smaller scale."""
        return max(min(count, least), round(count * self.settings.scale))

    def levels(self, every: Sequence[_T], needed: Sequence[_T]) -> tuple[_T, ...]:
        """Levels of a curve: every one at full length, at a smaller scale those that claims are about."""
        return tuple(every if self.settings.scale == 1.0 else needed)

    def shortened(self, system: str, parameters: Parameters) -> dict[str, Any]:
        """`parameters` with every length of a run multiplied by the scale."""
        from thinktime.sources.simulated import resolve

        changed = dict(parameters)
        if self.settings.scale < 1.0:
            resolved = resolve(system, parameters)
            for name in self._lengths.get(system, ()):
                full = resolved[name]
                changed[name] = self.scaled(full, 1) if isinstance(full, int) else full * self.settings.scale
        return changed

    def simulate(self, system: str, parameters: Parameters, replications: int | None = None) -> Simulated:
        """Replications of a system, by default as many as the user wants."""
        from thinktime.sources import remote
        from thinktime.sources.simulated import simulate

        number = self.settings.replications if replications is None else replications
        runs = self._runs.setdefault(_key(system, parameters), {})
        if number not in runs:
            shortened = self.shortened(system, parameters)
            how: dict[str, Any] = {"seed": self.settings.seed, "replications": number}
            if self._is_direct:
                runs[number] = simulate(system, shortened, **how)
            else:
                with self._pool_of_tasks() as pool:
                    runs[number] = remote.simulate(
                        system, shortened, **how, pool=pool, kept=self.settings.kept
                    )
        return runs[number]

    @property
    def _is_direct(self) -> bool:
        """True if runs are made in this process, and nothing of them is kept."""
        return self.settings.pool is None and self.settings.kept is None

    @contextmanager
    def _pool_of_tasks(self) -> Iterator[Pool]:
        """The pool of the settings, which stays open; threads of this process where there is none."""
        if self.settings.pool is not None:
            yield self.settings.pool
            return
        with Threads() as threads:
            yield threads

    def values(
        self, system: str, parameters: Parameters, response: str, replications: int | None = None
    ) -> Array:
        """One response of every replication; NaN where it has no figure."""
        number = self.settings.replications if replications is None else replications
        # The first replications of a longer run are those of a shorter one.
        longer = max(self._runs.get(_key(system, parameters), {}), default=0)
        run = self.simulate(system, parameters, max(number, longer))
        values: Array = run.responses[response].fill_null(float("nan")).to_numpy()
        return values[:number]

    def record(self, system: str, runs: Sequence[tuple[Parameters, int]]) -> list[Recorded]:
        """Recorded replications, made on as many threads as there are cores, or on the pool of the settings.

        Parameters
        ----------
        system : str
        runs : sequence of (mapping, int)
            Parameters, and number of the replication.
        """
        keys = [f"{_key(system, parameters)} {number}" for parameters, number in runs]
        missing = {
            key: (system, *run, self.path("recorded"))
            for key, run in zip(keys, runs, strict=True)
            if key not in self._recorded
        }
        with self._pool_of_tasks() as pool:
            if self._is_direct:
                pool.run(lambda key: self._record(*missing[key]), missing, kept=self._recorded.__setitem__)
            else:
                self._recorded.update(self._record_elsewhere(missing, pool))
        return [self._recorded[key] for key in keys]

    def _record(self, system: str, parameters: Parameters, number: int, path: Path) -> Recorded:
        from thinktime.log import Log
        from thinktime.sources import simulated

        shortened = self.shortened(system, parameters)
        responses = simulated.record(system, shortened, path, seed=self.settings.seed, replication=number)
        return Recorded(log=Log.open(path), responses=responses)

    def _record_elsewhere(
        self, missing: Mapping[str, tuple[str, Parameters, int, Path]], pool: Pool
    ) -> dict[str, Recorded]:
        from thinktime.log import Log
        from thinktime.sources import remote

        runs = [
            (system, self.shortened(system, parameters), number, path)
            for system, parameters, number, path in missing.values()
        ]
        made = remote.record(runs, seed=self.settings.seed, pool=pool, kept=self.settings.kept)
        return {
            key: Recorded(log=Log.open(path), responses=responses)
            for key, (*_, path), responses in zip(missing, runs, made, strict=True)
        }

    def pooled(self, system: str, runs: Sequence[tuple[Parameters, int]]) -> Log:
        """Samples of several replications in one log, a session each, as recorded after the warm-up."""
        key = " ".join(f"{_key(system, parameters)} {number}" for parameters, number in runs)
        if key not in self._pooled:
            self._pooled[key] = self._pool(self.record(system, runs))
        return self._pooled[key]

    def _pool(self, runs: Sequence[Recorded]) -> Log:
        import polars as pl

        from thinktime.log import Log, LogWriter

        path = self.path("pooled")
        for run in runs:
            (session,) = run.log.manifest["sessions"]
            samples = run.log.samples().collect()
            begins = pl.col("start").min() + pl.duration(seconds=session["replication"]["warm_up_s"])
            mode: Literal["create", "resume"] = "resume" if path.exists() else "create"
            described = {key: session[key] for key in ("machine", "options")}
            with LogWriter.open(path, mode, source=session["source"], **described) as writer:
                writer.write("samples", samples.filter(pl.col("start") >= begins), run.log.schema("samples"))
        return Log.open(path)

    def traced(self, system: str, runs: Sequence[Parameters]) -> Log:
        """One log with every interaction of several runs: a session each, its number that of the run."""
        from thinktime.log import Log
        from thinktime.sources.simulated import simulate

        path = self.path("traced")
        for number, parameters in enumerate(runs):
            # The number keeps sessions apart in time, and in random numbers.
            shortened = self.shortened(system, parameters)
            run = simulate(system, shortened, seed=self.settings.seed, first_replication=number)
            run.record(path, trace=True, mode="resume")
        return Log.open(path)

    def defaults(self, system: str) -> dict[str, Any]:
        """Every parameter of a system with its default."""
        from thinktime.sources.simulated import resolve

        return resolve(system, {})

    def system(self, name: str) -> System:
        """Description of a simulated system and its parameters."""
        from thinktime.sources.simulated import systems

        return next(system for system in systems() if system.name == name)


def remembered(
    work: Callable[Concatenate[Laboratory, _P], _T],
) -> Callable[Concatenate[Laboratory, _P], _T]:
    """`work` done once in each laboratory for the same further arguments, which must be hashable."""

    def once(laboratory: Laboratory, /, *args: _P.args, **options: _P.kwargs) -> _T:
        key = (work, args, tuple(sorted(options.items())))
        if key not in laboratory._remembered:
            laboratory._remembered[key] = work(laboratory, *args, **options)
        result: _T = laboratory._remembered[key]
        return result

    return wraps(work)(once)


def applicable(answer: _T | NotApplicable) -> _T:
    """Result of an analysis that must apply to the log of a simulated system.

    Raises
    ------
    WorkError
        It does not apply.
    """
    if isinstance(answer, NotApplicable):
        raise WorkError(f"the log of the simulated system cannot be analysed: {answer.reason}")
    return answer


def _key(system: str, parameters: Parameters) -> str:
    """Name of a run; `parameters` may hold tables and lists, which cannot be hashed."""
    return f"{system} {sorted(parameters.items())!r}"
