"""Percentiles of response times by number of users, by simulation with the measured distribution of work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.documents import format as shown
from thinktime.errors import InputError
from thinktime.models.sizing import Machine, Work, course
from thinktime.sources import simulated
from thinktime.stats.estimate import NotApplicable

Array = NDArray[np.float64]

MEAN = "mean_response_s"
RESPONSES = {0.5: "median_response_s", 0.9: "p90_response_s", 0.95: "p95_response_s", 0.99: "p99_response_s"}
STEPS = 2
"""Simulated numbers of users in each doubling; those between are interpolated. They are the same for every
question, so that one number of users has the same percentiles in each."""
INTERACTIONS = 24_000
"""Interactions of a simulation, over its replications."""
REPLICATIONS = 4
GROUPS = 100
"""Service times that stand for all: means of as many equal parts of those measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """Order in which interactions get a CPU."""

    name: str
    """Discipline of the simulated CPUs: ``processor_sharing``, ``fcfs`` or ``round_robin``."""
    slice_s: float | None = None
    """Time slice of round robin [s]."""

    @property
    def words(self) -> str:
        """The scheduler in words."""
        if self.slice_s is not None:
            return f"round robin with slices of {shown.quantity(self.slice_s, 's')}"
        return "first come, first served" if self.name == "fcfs" else "CPUs shared in equal parts"

    def station(self, servers: int) -> dict[str, object]:
        """Fields of a simulated station.

        Raises
        ------
        InputError
            Round robin on several CPUs, which is not simulated.
        """
        if self.slice_s is None:
            return {"discipline": self.name, "servers": servers}
        if servers > 1:
            raise InputError(
                f"scheduler: round robin is simulated on one CPU, and this plan has {servers}; "
                "add cpus=1, or give scheduler=fcfs"
            )
        return {"discipline": self.name, "time_slice": self.slice_s}


SHARING = Scheduler(name="processor_sharing")
"""Scheduler of the model: an operating system whose slices are short against an interaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """Ratios of percentiles to the mean, by number of users."""

    users: Array
    """Numbers of users simulated, ascending."""
    ratios: dict[float, Array]
    """By part of the responses."""
    agreement: float
    """Largest relative difference of a simulated mean from the solution of the model."""
    means: Array
    """Simulated means over those with CPUs that are shared in equal parts."""
    throughputs: Array
    """Throughputs, likewise."""

    def slower(self, most: int) -> Array:
        """Factor of the mean response by the scheduler with 1, 2, ..., `most` users."""
        return self._between(self.means, most)

    def fewer(self, most: int) -> Array:
        """Factor of the throughput by the scheduler with 1, 2, ..., `most` users."""
        return self._between(self.throughputs, most)

    def _between(self, values: Array, most: int) -> Array:
        at = np.arange(1.0, most + 1.0)
        result: Array = np.interp(np.log(at), np.log(self.users), values)
        return result

    def ratio(self, q: float, most: int) -> Array:
        """Ratio of the percentile to the mean with 1, 2, ..., `most` users."""
        return self._between(self.ratios[q], most)


def percentiles(
    work: Work,
    machine: Machine,
    services: Array,
    most: int,
    quantiles: Sequence[float],
    *,
    seed: int,
    known: Percentiles | None = None,
    scheduler: Scheduler = SHARING,
) -> Percentiles:
    """Percentiles over means with 1 to `most` users; those `known` for fewer users are not simulated again.

    The stations are those of the model; a CPU time is drawn from those measured, what is served one at a time
    and the delay are exponential, and background load slows the CPUs. Another scheduler than that of the
    model is compared with it by simulating both with the same random numbers.
    """
    grid = _grid(most)
    exact = course(work, machine, int(grid[-1])).response_s
    ratios: dict[float, list[float]] = {q: [] for q in quantiles}
    differences, means, throughputs = [], [], []
    if known is not None:
        ratios = {q: known.ratios[q].tolist() for q in quantiles}
        differences = [known.agreement]
        means, throughputs = known.means.tolist(), known.throughputs.tolist()
    for users in grid[len(means) :].tolist():
        shared = run = _simulated(work, machine, services, users, (seed, SHARING))
        if scheduler != SHARING:
            run = _simulated(work, machine, services, users, (seed, scheduler))
        plain, mean = _value(shared, MEAN), _value(run, MEAN)
        differences.append(abs(plain / float(exact[users - 1]) - 1.0))
        means.append(mean / plain)
        throughputs.append((work.think_s + plain) / (work.think_s + mean))
        for q in quantiles:
            ratios[q].append(_value(run, RESPONSES[q]) / mean)
    return Percentiles(
        users=grid.astype(np.float64),
        ratios={q: np.array(values) for q, values in ratios.items()},
        agreement=max(differences),
        means=np.array(means),
        throughputs=np.array(throughputs),
    )


def _value(run: simulated.Simulated, name: str) -> float:
    found = run.estimate(name)
    assert not isinstance(found, NotApplicable)
    return found.value


def _grid(most: int) -> NDArray[np.int64]:
    """Numbers of users that are simulated: 1, 2, 3, 4, 6, 8, 11, ..., up to the first of at least `most`."""
    exponents = np.arange(math.ceil(STEPS * math.log2(most)) + 2)
    numbers = np.unique(np.rint(2.0 ** (exponents / STEPS)).astype(np.int64))
    result: NDArray[np.int64] = numbers[: int(np.searchsorted(numbers, most)) + 1]
    return result


def _simulated(
    work: Work, machine: Machine, services: Array, users: int, how: tuple[int, Scheduler]
) -> simulated.Simulated:
    seed, scheduler = how
    grown = work.cpu_s * (1.0 + work.growth * users / (users + machine.cpus))
    scale = grown / (machine.cpu_speed * float(services.mean()))
    slowed = machine.cpus / (machine.cpus - machine.background / machine.cpu_speed)
    parts = np.array_split(np.sort(services), min(GROUPS, len(services)))
    values = [float(part.mean()) * scale * slowed for part in parts]
    stations: list[dict[str, object]] = [
        {
            "name": "cpu",
            **scheduler.station(machine.cpus),
            "service": {
                "kind": "discrete",
                "values": values,
                "weights": [len(part) / len(services) for part in parts],
            },
        }
    ]
    if work.serial_s > 0.0:
        mean = work.serial_s / machine.serial_speed
        stations.append({"name": "serial", "discipline": "fcfs", "service": f"exponential(mean={mean!r})"})
    if work.delay_s > 0.0:
        stations.append(
            {"name": "rest", "discipline": "delay", "service": f"exponential(mean={work.delay_s!r})"}
        )
    cycle = work.think_s + float(course(work, machine, users).response_s[-1])
    length = INTERACTIONS / REPLICATIONS / users * cycle
    given = {
        "users": users,
        "think": f"exponential(mean={work.think_s!r})",
        "stations": stations,
        "length": length * 1.1,
        "warm_up": length * 0.1,
        "interval": length * 1.1,
    }
    return simulated.simulate("network", given, replications=REPLICATIONS, seed=seed)
