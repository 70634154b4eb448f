"""Runs of a swapping experiment: those that come with thinktime, or those of a folder of logs."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thinktime.errors import InputError
from thinktime.log import facts, interactions
from thinktime.log.interactions import Interactions
from thinktime.log.runs import FILE_NAME, Cell, Runs
from thinktime.sources.swapping.design import FACTORS, Design
from thinktime.stats.estimate import Estimate

SHIPPED = Path(__file__).parent / "measured"
"""Folder of the runs that come with thinktime."""
TABLE, ABOUT = "runs.csv", "about.json"
LEVEL = 0.95
Values = dict[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What is the same in all runs, and where they were made."""

    pages_per_s: int
    """Speed of the device: pages read in a second, and as many written."""
    page_bytes: int
    think_s: float
    """Mean pause."""
    warm_up_s: float
    measured_s: float
    """Time of a run that is measured."""
    interactions: int
    """Interactions of each process that an elapsed time is for."""
    machine: str
    """Kernel and CPUs; empty if not known."""
    begun_us: int
    """Begin of the first run, microseconds since 1970 UTC."""

    @property
    def page_s(self) -> float:
        """Time for which a page, in or out, occupies its direction of the device."""
        return 1.0 / self.pages_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A combination of levels, with the responses of its runs."""

    memory_bytes: int
    """Memory of the control group: MM."""
    processes: int
    """PN."""
    size_bytes: int
    """Array of a process."""
    burst_ms: int
    """Mean CPU time of the compute loop: PC."""
    runs: tuple[Values, ...]

    def mean(self, response: str) -> float:
        """Mean of a response over the runs that have it; nan if none has."""
        known = [value for run in self.runs if (value := run.get(response)) is not None]
        return math.fsum(known) / len(known) if known else math.nan

    @property
    def process_bytes(self) -> float:
        """Size of a process, as the group accounts for it: PS."""
        return self.mean("process_bytes")

    @property
    def fitting(self) -> int:
        """Processes that the memory holds: the floor of MM / PS, and at least 1."""
        return max(math.floor(self.memory_bytes / self.process_bytes), 1)

    @property
    def loaded(self) -> int:
        """NL, of the processes that there are."""
        return min(self.processes, self.fitting)

    @property
    def swaps(self) -> bool:
        """True if memory does not hold all processes."""
        return self.processes > self.fitting

    @property
    def settled(self) -> bool:
        """True if every process was through its first interaction when the measurement of each run began."""
        return all((run.get("begun") or 0.0) >= self.processes for run in self.runs)

    @property
    def words(self) -> str:
        """Levels in words."""
        sizes = f"{_mega(self.size_bytes)} in {_mega(self.memory_bytes)} MiB"
        return f"{self.processes} of {sizes}, {self.burst_ms} ms"


def _mega(size: int) -> str:
    return f"{size / (1 << 20):g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """All runs of an experiment."""

    conditions: Conditions
    configurations: tuple[Configuration, ...]
    """Those with an elapsed time, in the order of the design."""
    left_out: tuple[Configuration, ...]
    """Those without: no run was complete, or nothing was completed in one."""

    @property
    def spread(self) -> float:
        r"""Standard deviation of the logarithm of elapsed times within configurations that swap, pooled.

        .. math:: s^2 = \frac{\sum_c \sum_r (\ln T_{cr} - \overline{\ln T_c})^2}{\sum_c (n_c - 1)}

        nan where none was run twice.
        """
        return self._pooled(swaps=True)[0]

    def _pooled(self, *, swaps: bool) -> tuple[float, int]:
        """Spread of those that swap, or of those that fit, and its degrees of freedom."""
        alike = [one for one in self.configurations if one.swaps is swaps]
        freedom = sum(len(_logarithms(one)) - 1 for one in alike)
        squares = math.fsum(_deviations(one) for one in alike)
        return (math.sqrt(squares / freedom) if freedom else math.nan), freedom

    def elapsed(self, one: Configuration) -> Estimate:
        """Elapsed time of a configuration: geometric mean of its runs, interval by the pooled spread.

        Those that swap, and those that fit, are pooled by themselves.
        """
        logarithms = _logarithms(one)
        value, half = math.exp(float(np.mean(logarithms))), math.nan
        spread, freedom = self._pooled(swaps=one.swaps)
        if freedom:
            from scipy.stats import t

            half = float(t.ppf(0.5 + 0.5 * LEVEL, freedom)) * spread / math.sqrt(len(logarithms))
        known = not math.isnan(half)
        return Estimate(
            value=value,
            unit="s",
            low=value * math.exp(-half) if known else None,
            high=value * math.exp(half) if known else None,
            level=LEVEL,
            n=len(logarithms),
            method="geometric mean of runs, pooled spread" if known else "one run, no interval",
        )

    @classmethod
    def shipped(cls) -> Measured:
        """Runs that come with thinktime."""
        about = json.loads((SHIPPED / ABOUT).read_text(encoding="utf-8"))
        with (SHIPPED / TABLE).open(encoding="utf-8", newline="") as file:
            rows = [
                {name: float(text) if text else None for name, text in row.items()}
                for row in csv.DictReader(file)
            ]
        return cls.of(Conditions(**about), rows)

    @classmethod
    def of_logs(cls, folder: Path) -> Measured:
        """Runs in the logs of `thinktime lab swap`.

        Raises
        ------
        InputError
            There are none in that folder, or of another system.
        """
        if not (folder / FILE_NAME).exists():
            raise InputError(f"{folder}: holds no {FILE_NAME}; give the folder of `thinktime lab swap`")
        runs = Runs.open(folder)
        design = Design.of(runs)
        rows: list[Values] = []
        for cell in runs.cells:
            levels = {name: float(cell.levels[name]) for name in FACTORS}
            even = _evenness(cell)
            rows += [
                {
                    **levels,
                    "replication": float(one.number),
                    **one.responses,
                    "evenness": even.get(one.number),
                }
                for one in cell.replications()
            ]
        if not rows:
            raise InputError(
                f"{folder}: holds no complete run; go on with `thinktime lab swap --resume {folder}`"
            )
        return cls.of(_conditions(runs, design), rows)

    @classmethod
    def of(cls, conditions: Conditions, rows: Sequence[Values]) -> Measured:
        """Runs by their levels and responses, a row each."""
        grouped: dict[tuple[int, ...], list[Values]] = {}
        for row in rows:
            grouped.setdefault(tuple(int(row[name] or 0) for name in FACTORS), []).append(row)
        found = []
        for (memory, processes, size, burst), runs in grouped.items():
            known = tuple(run for run in runs if run.get("elapsed_s"))
            found.append(
                Configuration(
                    memory_bytes=memory,
                    processes=processes,
                    size_bytes=size,
                    burst_ms=burst,
                    runs=known or tuple(runs),
                )
            )
        has = [any(run.get("elapsed_s") for run in one.runs) for one in found]
        return cls(
            conditions=conditions,
            configurations=tuple(one for one, is_known in zip(found, has, strict=True) if is_known),
            left_out=tuple(one for one, is_known in zip(found, has, strict=True) if not is_known),
        )

    def write(self, folder: Path) -> None:
        """Write the runs as those that come with thinktime are."""
        from dataclasses import asdict

        folder.mkdir(parents=True, exist_ok=True)
        names = list(dict.fromkeys(name for one in self.configurations for run in one.runs for name in run))
        with (folder / TABLE).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writeheader()
            for one in (*self.configurations, *self.left_out):
                for run in one.runs:
                    writer.writerow({name: _digits(run.get(name)) for name in names})
        text = json.dumps(asdict(self.conditions), indent=2)
        (folder / ABOUT).write_text(text + "\n", encoding="utf-8")


def _digits(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}"


def _logarithms(one: Configuration) -> list[float]:
    return [math.log(value) for run in one.runs if (value := run.get("elapsed_s"))]


def _deviations(one: Configuration) -> float:
    logarithms = _logarithms(one)
    return float(np.sum((np.array(logarithms) - np.mean(logarithms)) ** 2))


def _conditions(runs: Runs, design: Design) -> Conditions:
    first = next(cell for cell in runs.cells if cell.replications())
    begins = [session.start_us for session in _sessions(runs) if session.is_replication]
    machine = facts.sessions(first.log())[0].machine
    return Conditions(
        pages_per_s=design.pages_per_s,
        page_bytes=int(str(runs.parameters["page_bytes"])),
        think_s=design.think_s,
        warm_up_s=design.warm_up_s,
        measured_s=design.measured_s,
        interactions=int(str(runs.parameters["interactions"])),
        machine=_named(machine),
        begun_us=min(begins),
    )


def _evenness(cell: Cell) -> dict[int, float | None]:
    r"""Jain's index of the interactions by process while each run was measured.

    .. math:: \frac{(\sum_i x_i)^2}{n \sum_i x_i^2}

    1 where all have as many, 1 / n where one has all. Jain, Chiu and Hawe, DEC Research Report TR-301 (1984).
    """
    if not cell.exists:
        return {}
    log, found = cell.log(), {}
    for session in facts.sessions(log):
        if session.is_replication and session.end_us is not None:
            begin_us = session.start_us + round(1e6 * session.warm_up_s)
            done = interactions.read(log.between(begin_us, session.end_us))
            found[session.replication_number] = (
                None if done is None else jain(done, int(cell.levels["processes"]))
            )
    return found


def jain(done: Interactions, processes: int) -> float | None:
    """Jain's index of the interactions that were completed, by process; None if none was."""
    users = done.users[~np.isnan(done.times["completion"])]
    counts = np.unique(users, return_counts=True)[1]
    return float(counts.sum() ** 2 / (processes * (counts**2).sum())) if len(counts) else None


def _sessions(runs: Runs) -> Iterator[facts.Session]:
    for cell in runs.cells:
        if cell.exists:
            yield from facts.sessions(cell.log())


def _named(machine: facts.Facts) -> str:
    """Kernel and CPUs of a machine, but not its name."""
    kernel, model, cpus = machine.text("kernel"), machine.text("cpu_model"), machine.whole("cpus")
    of = f"{cpus} CPUs" if cpus else ""
    return ", ".join(filter(None, [f"Linux {kernel}" if kernel else "", model or "", of]))
