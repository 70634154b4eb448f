"""Percentiles of response times by number of users, by simulation with the measured distribution of work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.documents import format as shown
from thinktime.models.sizing import Machine, Work, course
from thinktime.sources import simulated

Array = NDArray[np.float64]

MEAN = "mean_response_s"
RESPONSES = {0.5: "median_response_s", 0.9: "p90_response_s", 0.95: "p95_response_s", 0.99: "p99_response_s"}
STEPS = 2
"""Simulated numbers of users in each doubling; those between are interpolated. They are the same for every
question, so that one number of users has the same percentiles in each."""
INTERACTIONS = 24_000
"""Interactions of a simulation, over its replications."""
REPLICATIONS = 4
CLASSES_SEED = 1
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
        """Fields of a simulated station."""
        given: dict[str, object] = {"discipline": self.name, "servers": servers}
        return given if self.slice_s is None else given | {"time_slice": self.slice_s}


SHARING = Scheduler(name="processor_sharing")
"""Scheduler of the model: an operating system whose slices are short against an interaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """Ratios of percentiles to the mean, by number of users."""

    users: Array
    """Numbers of users simulated, ascending."""
    ratios: dict[float, Array]
    """By part of the responses."""
    differences: Array
    """Relative differences of the simulated means from the solution of the model."""
    means: Array
    """Simulated means over those with CPUs that are shared in equal parts."""
    throughputs: Array
    """Throughputs, likewise."""

    def agreement(self, most: int) -> float:
        """Largest difference with up to `most` users."""
        return float(self.differences[: len(_grid(most))].max())

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
    differences, means, throughputs = list[float](), list[float](), list[float]()
    if known is not None:
        ratios = {q: known.ratios[q].tolist() for q in quantiles}
        differences = known.differences.tolist()
        means, throughputs = known.means.tolist(), known.throughputs.tolist()
    parted = parts(services)
    names = [MEAN, *(RESPONSES[q] for q in quantiles)]
    for users in grid[len(means) :].tolist():
        plain, *found = _simulated(work, machine, parted, users, (seed, SHARING)).values(names)
        mean = plain
        if scheduler != SHARING:
            mean, *found = _simulated(work, machine, parted, users, (seed, scheduler)).values(names)
        differences.append(abs(plain / float(exact[users - 1]) - 1.0))
        means.append(mean / plain)
        throughputs.append((work.think_s + plain) / (work.think_s + mean))
        for q, value in zip(quantiles, found, strict=True):
            ratios[q].append(value / mean)
    return Percentiles(
        users=grid.astype(np.float64),
        ratios={q: np.array(values) for q, values in ratios.items()},
        differences=np.array(differences),
        means=np.array(means),
        throughputs=np.array(throughputs),
    )


def _grid(most: int) -> NDArray[np.int64]:
    """Numbers of users that are simulated: 1, 2, 3, 4, 6, 8, 11, ..., up to the first of at least `most`."""
    exponents = np.arange(math.ceil(STEPS * math.log2(most)) + 2)
    numbers = np.unique(np.rint(2.0 ** (exponents / STEPS)).astype(np.int64))
    result: NDArray[np.int64] = numbers[: int(np.searchsorted(numbers, most)) + 1]
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class OfClasses:
    """Simulated responses of several classes."""

    means: Array
    """Mean response of each class [s]."""
    ratios: dict[float, Array]
    """Percentiles of the responses of each class over its mean, by part of the responses."""


def simulated_classes(
    works: Sequence[Work],
    services: Sequence[Parts],
    users: Sequence[int],
    *,
    machine: Machine,
    cycle_s: float,
    scheduler: Scheduler = SHARING,
) -> OfClasses:
    """Responses of each class, by simulation; with the same random numbers for every scheduler.

    Parameters
    ----------
    works, services, users : sequences
        Of each class: its work, the CPU times that stand for all, and its users.
    machine : Machine
    cycle_s : float
        Mean time from one input of a user to the next.
    scheduler : Scheduler
        Order in which interactions get a CPU.
    """
    names = [f"c{at}" for at in range(len(works))]
    total = sum(users)
    stations: list[dict[str, object]] = [{"name": "cpu", **scheduler.station(machine.cpus)}]
    serial = any(work.serial_s > 0.0 for work in works)
    if serial:
        stations.append({"name": "serial", "discipline": "fcfs"})
    delayed = any(work.delay_s > 0.0 for work in works)
    if delayed:
        stations.append({"name": "rest", "discipline": "delay"})
    classes = []
    for name, work, own, number in zip(names, works, services, users, strict=True):
        service: dict[str, object] = {"cpu": _cpu_times(work, machine, own, total)}
        if serial:
            service["serial"] = f"exponential(mean={max(work.serial_s / machine.serial_speed, 1e-9)!r})"
        if delayed:
            service["rest"] = f"exponential(mean={max(work.delay_s, 1e-9)!r})"
        think = f"exponential(mean={work.think_s!r})"
        classes.append({"name": name, "users": number, "think": think, "service": service})
    length = INTERACTIONS / REPLICATIONS / total * cycle_s
    given = {
        "users": 0,
        "stations": stations,
        "classes": classes,
        "length": length * 1.1,
        "warm_up": length * 0.1,
        "interval": length * 1.1,
    }
    run = simulated.simulate("network", given, replications=REPLICATIONS, seed=CLASSES_SEED)
    # The responses of the only class have no name before them.
    before = [f"{name}_" for name in names] if len(names) > 1 else [""]
    found = np.array(
        [run.values([f"{name}{response}" for response in (MEAN, *RESPONSES.values())]) for name in before]
    )
    ratios = found[:, 1:] / found[:, :1]
    return OfClasses(means=found[:, 0], ratios={q: ratios[:, at] for at, q in enumerate(RESPONSES)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Service times that stand for all."""

    means: Array
    """Of equal parts of the sorted times."""
    shares: Array
    """Of the times, in each part."""
    mean: float
    """Of all."""


def parts(services: Array) -> Parts:
    """Means of equal parts of service times."""
    split = np.array_split(np.sort(services), min(GROUPS, len(services)))
    return Parts(
        means=np.array([part.mean() for part in split]),
        shares=np.array([len(part) / len(services) for part in split]),
        mean=float(services.mean()),
    )


def _cpu_times(work: Work, machine: Machine, services: Parts, users: int) -> dict[str, object]:
    """Distribution of CPU times as the simulation takes it, slowed by the background load."""
    grown = work.cpu_s * (1.0 + work.growth * users / (users + machine.cpus))
    scale = grown / (machine.cpu_speed * services.mean)
    slowed = machine.cpus / (machine.cpus - machine.background / machine.cpu_speed)
    return {
        "kind": "discrete",
        "values": (services.means * scale * slowed).tolist(),
        "weights": services.shares.tolist(),
    }


def _simulated(
    work: Work, machine: Machine, services: Parts, users: int, how: tuple[int, Scheduler]
) -> simulated.Simulated:
    seed, scheduler = how
    stations: list[dict[str, object]] = [
        {
            "name": "cpu",
            **scheduler.station(machine.cpus),
            "service": _cpu_times(work, machine, services, users),
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
