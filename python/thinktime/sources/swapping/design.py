"""Configurations of a swapping experiment, in random order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thinktime.errors import InputError
from thinktime.log.runs import FILE_NAME, REAL, Level, Runs
from thinktime.sources.plans import Plan, compute_loop, workload
from thinktime.sources.swapping.ground import PAGE_BYTES

FACTORS = ("memory_bytes", "processes", "size_bytes", "burst_ms")
"""Factors of Brachman 1983: MM, PN, PS and PC."""
INTERACTIONS = 200
"""Interactions of each process that an elapsed time is for, as in the thesis."""
SCRATCH_BLOCKS = 256
"""Blocks of a page in each process's part of the device of files."""
FILE_BLOCKS = 6.0
"""Mean number of file requests of an interaction, as in the thesis; geometric."""
OWN_BYTES = 1 << 18
"""Most memory that a process takes besides its array, generously: stacks, page tables, pages of its
program."""
FEWEST_BYTES = 1 << 20
"""Least memory of a group with which processes can start at all, beside one of them."""
MEMORY_MOST = 1 << 30
"""Most memory of a group: an experiment must not bring a machine into need."""
BETWEEN_S = 1.5
"""Time of a run besides its play, about."""
FILLED = 1.6
"""Time to fill memory for the first time, relative to that of the bytes that do not fit: they go out, and
come in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: a replication of a cell."""

    cell: int
    """Number of the cell in the runs."""
    replication: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Levels of the factors, and how each configuration is run."""

    memory_bytes: tuple[int, ...]
    """Memory of the control group: MM."""
    processes: tuple[int, ...]
    """Prototype processes: PN."""
    size_bytes: tuple[int, ...]
    """Array of each process, all of which it touches in each interaction: PS, nearly."""
    burst_ms: tuple[int, ...]
    """Mean CPU time of the compute loop of an interaction, by Table III of the thesis: PC."""
    replications: int
    seed: int
    think_s: float
    """Mean pause between two interactions; exponential."""
    pages_per_s: int
    """Speed of the device: pages read in a second, and as many written."""
    warm_up_s: float
    """Time of each run that is left out, after memory was filled."""
    measured_s: float
    """Time of each run that is measured."""

    def check(self) -> None:
        """Refuse levels that cannot be run, before anything is made.

        Raises
        ------
        InputError
            A level is out of its range; the message names it and the range.
        """
        for option, values, least, most in (
            ("--processes", self.processes, 1, 500),
            ("--size", self.size_bytes, PAGE_BYTES, MEMORY_MOST),
            ("--memory", self.memory_bytes, FEWEST_BYTES, MEMORY_MOST),
        ):
            for value in values:
                if not least <= value <= most:
                    raise InputError(f"{option} {value}: give numbers from {least} to {most}")
        for burst in self.burst_ms:
            compute_loop(burst)
        for size in self.size_bytes:
            if size + OWN_BYTES > min(self.memory_bytes):
                raise InputError(
                    f"--size {size}: is too large for a group of {min(self.memory_bytes)} bytes: a process "
                    "and its own "
                    f"{OWN_BYTES} bytes must fit; give smaller processes, or more with --memory"
                )
        if self.pages_per_s < 100:
            raise InputError(f"--speed {self.pages_per_s}: give at least 100 pages per second")
        if self.replications < 1:
            raise InputError(f"--replications {self.replications}: give at least 1")
        if self.measured_s < 1.0:
            raise InputError(f"--time {self.measured_s:g}s: give at least 1s for each run")

    @property
    def bytes_per_s(self) -> int:
        """Speed of the device."""
        return self.pages_per_s * PAGE_BYTES

    @property
    def swap_bytes(self) -> int:
        """Size of the swap area: for all processes of the largest configuration, twice."""
        whole = 2 * max(self.processes) * (max(self.size_bytes) + OWN_BYTES)
        return -(-whole // (1 << 20)) << 20

    @property
    def files_bytes(self) -> int:
        """Size of the device of files."""
        return max(self.processes) * SCRATCH_BLOCKS * PAGE_BYTES

    def levels(self) -> list[dict[str, Level]]:
        """Configurations, the last factor changing fastest."""
        return [
            dict(zip(FACTORS, (memory, number, size, burst), strict=True))
            for memory in self.memory_bytes
            for number in self.processes
            for size in self.size_bytes
            for burst in self.burst_ms
        ]

    def runs(self) -> list[Run]:
        """All runs, the replications one after the other, each in a random order of the cells.

        A replication has the same seed in every cell: the same processes do the same work.
        """
        random = np.random.default_rng(self.seed)
        count = len(self.levels())
        return [
            Run(cell=int(cell), replication=replication, seed=self.seed + replication)
            for replication in range(self.replications)
            for cell in random.permutation(count)
        ]

    def before_s(self, levels: dict[str, Level]) -> float:
        """Time of a run before it is measured: memory is filled, each process read once, and the warm-up."""
        whole = int(levels["processes"]) * (int(levels["size_bytes"]) + OWN_BYTES)
        outside = whole - int(levels["memory_bytes"])
        if outside <= 0:
            return self.warm_up_s
        return (FILLED * outside + whole) / self.bytes_per_s + self.warm_up_s

    def seconds(self, levels: dict[str, Level]) -> float:
        """Duration of a run with what comes before and after it."""
        return self.before_s(levels) + self.measured_s + BETWEEN_S

    def total_s(self) -> float:
        """Duration of the whole experiment."""
        return self.replications * math.fsum(self.seconds(levels) for levels in self.levels())

    def plan(self, levels: dict[str, Level], seed: int, files: Path, group: Path) -> Plan:
        """Play of one run: prototype processes in the control group, with their files on the device."""
        prototype = workload("prototype")
        [interaction] = prototype["classes"]
        prototype["array_bytes"] = int(levels["size_bytes"])
        prototype["scratch_blocks"] = SCRATCH_BLOCKS
        interaction["compute_iterations"] = compute_loop(int(levels["burst_ms"]))
        # The pause of the thesis is the wait for the next input here, in which a process may be swapped out.
        interaction["pause_s"] = {"kind": "deterministic", "value": 0.0}
        return Plan(
            workload=prototype,
            users=str(levels["processes"]),
            step_s=self.before_s(levels) + self.measured_s,
            think={"kind": "exponential", "mean": self.think_s},
            seed=seed,
            scratch=files,
            groups=(group,),
            baseline_s=0.0,
        )

    def parameters(self) -> dict[str, object]:
        """What is the same in all cells, as the description of the runs has it."""
        return {
            "replications": self.replications,
            "think_s": self.think_s,
            "pages_per_s": self.pages_per_s,
            "page_bytes": PAGE_BYTES,
            "warm_up_s": self.warm_up_s,
            "measured_s": self.measured_s,
            "file_blocks": FILE_BLOCKS,
            "interactions": INTERACTIONS,
        }

    @classmethod
    def of(cls, runs: Runs) -> Design:
        """Design of runs that were begun.

        Raises
        ------
        InputError
            They are not of a swapping experiment, or their description is damaged.
        """
        place = runs.path / FILE_NAME
        if runs.is_simulated:
            raise InputError(
                f"{place}: describes runs of {runs.system}; give the folder of `thinktime lab swap`"
            )
        try:
            whole = {name: tuple(int(value) for value in runs.factors[name]) for name in FACTORS}
            rest = {
                name: kind(str(runs.parameters[name]))
                for name, kind in (
                    ("replications", int),
                    ("think_s", float),
                    ("pages_per_s", int),
                    ("warm_up_s", float),
                    ("measured_s", float),
                )
            }
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{place}: is damaged ({error}); begin a new experiment") from None
        design = cls(seed=runs.seed, **whole, **rest)  # type: ignore[arg-type]
        design.check()
        return design

    def create(self, folder: Path) -> Runs:
        """Describe the runs in a new folder."""
        return Runs.create(
            folder,
            system=REAL,
            seed=self.seed,
            factors={
                "memory_bytes": self.memory_bytes,
                "processes": self.processes,
                "size_bytes": self.size_bytes,
                "burst_ms": self.burst_ms,
            },
            levels=self.levels(),
            parameters=self.parameters(),
        )


def listed(values: Sequence[object]) -> str:
    """Levels in one line."""
    return ", ".join(map(str, values))
