"""The model of users of several classes: a closed network with a class for each, solved for each draw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from thinktime.models.queueing import many_networks
from thinktime.models.queueing.approximations import approximate
from thinktime.models.queueing.customers import Customers
from thinktime.models.queueing.marginals import closed_rates
from thinktime.models.queueing.networks import Station, class_course
from thinktime.models.sizing import ENDS, Fit, Machine, Work, Works, crowding
from thinktime.predictions.size.answer import Plan
from thinktime.predictions.size.by_class.classes import UserClass
from thinktime.predictions.size.goals import Goal
from thinktime.predictions.size.measured import Measured
from thinktime.predictions.size.percentiles import (
    SHARING,
    OfClasses,
    Parts,
    Scheduler,
    parts,
    simulated_classes,
)
from thinktime.stats.estimate import Estimate

Array = NDArray[np.float64]
Numbers = Mapping[str, int]
"""Users by class."""

DRAWS = 100
"""Combinations of the unknown quantities for which each mix of users is solved."""
EXACT_MOST = 20_000
"""Populations up to which a mix is solved exactly; beyond, the linearizer."""
SEED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """Work of each class by draw, on the machine of a plan."""

    measured: Measured
    classes: tuple[UserClass, ...]
    works: tuple[Works, ...]
    """Draws of each class."""
    parts: tuple[Parts, ...]
    """CPU times of each class."""
    errors: Array
    machine: Machine
    plan: Plan
    goals: tuple[Goal, ...]

    @classmethod
    def of(
        cls,
        measured: Measured,
        fitted: Fit,
        classes: tuple[UserClass, ...],
        plan: Plan,
        goals: Sequence[Goal],
    ) -> Model:
        """Model of a plan."""
        return cls(
            measured=measured,
            classes=classes,
            works=_works(fitted, classes, plan),
            parts=tuple(parts(one.services) for one in classes),
            errors=fitted.errors[:DRAWS],
            machine=plan.machine(measured.machine),
            plan=plan,
            goals=tuple(goals),
        )

    def present(self, numbers: Numbers) -> tuple[list[int], list[int]]:
        """Places of the classes with users, and their numbers."""
        places = [at for at, one in enumerate(self.classes) if numbers[one.name]]
        return places, [numbers[self.classes[at].name] for at in places]

    def memory_of(self, name: str) -> float:
        """Factor of the memory of a user of a class."""
        return self.plan.memory * math.prod(one.memory for one in self.plan.own if one.name == name)


def _works(fitted: Fit, classes: Sequence[UserClass], plan: Plan) -> tuple[Works, ...]:
    """Work of each class by draw: that of all interactions times ratios of means, with their errors."""
    random = np.random.default_rng([SEED, len(classes)])
    total = sum(one.n for one in classes)
    mean = sum(one.n * one.cpu.value for one in classes) / total
    rests = [one.rest_s for one in classes]
    known = [rest for rest in rests if rest is not None]
    rest_mean = sum(one.n * max(one.rest_s or 0.0, 0.0) for one in classes) / total
    shares = [
        max(rest, 0.0) / rest_mean if rest is not None and len(known) == len(rests) and rest_mean else 1.0
        for rest in rests
    ]
    factors = [drawn(one.cpu, random) / mean for one in classes]
    thinks = [drawn(one.think, random) for one in classes]
    # The errors of the fitted CPU time of all and of the ratio are of the same interactions: once is enough.
    centre, all_ = fitted.central.cpu_s, fitted.works.first(DRAWS)
    found = []
    for one, factor, think, share in zip(classes, factors, thinks, shares, strict=True):
        works = replace(
            all_,
            cpu_s=centre * factor[: len(all_)] * fitted.slowed[: len(all_)],
            think_s=think[: len(all_)],
            serial_s=all_.serial_s * share,
            delay_s=all_.delay_s * share,
        )
        for changes in (plan.changes, *(own.changes for own in plan.own if own.name == one.name)):
            works = changes.of_all(works)
        found.append(works)
    return tuple(found)


def drawn(estimate: Estimate, random: np.random.Generator) -> Array:
    """Draws of a positive quantity, lognormal."""
    if estimate.low is None or estimate.high is None or not estimate.value > 0.0:
        return np.full(DRAWS, max(estimate.value, 0.0))
    error = (estimate.high - estimate.low) / (2.0 * 1.96 * estimate.value)
    result: Array = estimate.value * np.exp(error * random.standard_normal(DRAWS))
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """Responses and throughputs by draw and class with users, and utilisations by draw."""

    response: Array
    throughput: Array
    utilisation: Array
    serial: Array


def solved(works: Sequence[Works], users: Sequence[int], machine: Machine) -> Solved:
    """Means of every draw; `works` are those of the classes with users."""
    growth = works[0].growth
    grown = np.ones(len(growth))
    for _ in range(2 if (np.abs(growth) > 1e-3).any() else 1):
        response, throughput, there = _network(works, users, machine, grown)
        last, grown = grown, 1.0 + growth * crowding(there, machine.cpus)
    demand = np.stack([one.cpu_s for one in works], axis=1) * last[:, None] / machine.cpu_speed
    serial = np.stack([one.serial_s for one in works], axis=1) / machine.serial_speed
    busy = ((throughput * demand).sum(axis=1) + machine.others) / machine.cpus
    return Solved(
        response=response,
        throughput=throughput,
        utilisation=np.minimum(busy, 1.0),
        serial=np.minimum((throughput * serial).sum(axis=1), 1.0),
    )


def _network(
    works: Sequence[Works], users: Sequence[int], machine: Machine, grown: Array
) -> tuple[Array, Array, Array]:
    """Responses and throughputs by draw and class, and mean numbers at the CPUs by draw."""
    if math.prod(number + 1 for number in users) <= EXACT_MOST:
        think, cpu, delay, serial = (
            np.stack([getattr(one, name) for one in works], axis=1)
            for name in ("think_s", "cpu_s", "delay_s", "serial_s")
        )
        left = np.array(_left(machine, sum(users)))
        demand = cpu * grown[:, None] / machine.cpu_speed
        found = many_networks.class_throughputs(
            think + delay, serial / machine.serial_speed, demand, left, users
        )
        if found is not None:
            throughput, there = found
            return np.array(users) / throughput - think, throughput, there
        one_by_one = _exact
    else:
        one_by_one = _approximate
    each = [
        one_by_one(row, users, machine, factor)
        for row, factor in zip(zip(*(one.each() for one in works), strict=True), grown.tolist(), strict=True)
    ]
    response, throughput, at_cpus = map(np.array, zip(*each, strict=True))
    return response, throughput, (throughput * at_cpus).sum(axis=1)


def _exact(
    works: Sequence[Work], users: Sequence[int], machine: Machine, grown: float
) -> tuple[Array, Array, Array]:
    """Responses, throughputs and times at the CPUs of the classes of one draw."""
    demands = [
        [work.cpu_s * grown / machine.cpu_speed for work in works],
        [work.serial_s / machine.serial_speed for work in works],
        [work.delay_s for work in works],
    ]
    rates: list[Sequence[float] | None] = [_left(machine, sum(users)), [1.0], None]
    throughput, residence = class_course(demands, rates, [work.think_s for work in works], list(users))
    return residence.sum(axis=0), throughput, residence[0]


@lru_cache(maxsize=256)
def _left(machine: Machine, users: int) -> tuple[float, ...]:
    """Rates of the CPUs with 1, 2, ... interactions, after the background load."""
    busy = np.minimum(np.arange(1.0, max(users, machine.cpus) + 1.0), machine.cpus)
    offered = machine.background / machine.cpu_speed
    return closed_rates(offered, busy, users) if offered else tuple(busy[:users].tolist())


def _approximate(
    works: Sequence[Work], users: Sequence[int], machine: Machine, grown: float
) -> tuple[Array, Array, Array]:
    """As `_exact`, by the linearizer, background load as the last class."""
    open_ = 1 if machine.background > 0.0 else 0
    mean = float(np.mean([work.cpu_s for work in works]))
    cpu = [*(work.cpu_s * grown for work in works), *[mean] * open_]
    stations = [Station("cpu", tuple(one / machine.cpu_speed for one in cpu), servers=machine.cpus)]
    if any(work.serial_s for work in works):
        serial = [work.serial_s / machine.serial_speed for work in works]
        stations.append(Station("serial", (*serial, *[0.0] * open_)))
    if any(work.delay_s for work in works):
        stations.append(
            Station("rest", (*(work.delay_s for work in works), *[0.0] * open_), servers=math.inf)
        )
    customers = [
        Customers(f"class {at}", users=number, think_s=work.think_s)
        for at, (work, number) in enumerate(zip(works, users, strict=True))
    ]
    if open_:
        customers.append(Customers("background", arrivals_per_s=machine.background / mean))
    solved = approximate(stations, customers)
    closed = slice(len(works))
    return (
        solved.array("response_s")[closed],
        solved.array("throughput_per_s")[closed],
        solved.array("residence_s")[0, closed],
    )


def means(model: Model, numbers: Numbers) -> Solved:
    """Means of every draw for the classes with users, the model's own error included.

    Another scheduler than that of the model is compared with it by simulating both for the middle draw, and
    changes the response of a class by as much in every draw; throughputs follow by Little's law.
    """
    places, users = model.present(numbers)
    works = [model.works[at] for at in places]
    found = solved(works, users, model.machine)
    scheduler = model.plan.scheduler
    if scheduler != SHARING:
        plain, other = (simulated(model, places, users, one).means for one in (SHARING, scheduler))
        think = np.stack([one.think_s for one in works], axis=1)
        response = found.response * (other / plain)
        throughput = np.array(users) / (think + response)
        cpu, serial = (
            np.stack([getattr(one, name) for one in works], axis=1) for name in ("cpu_s", "serial_s")
        )
        more_cpu, more_serial = (
            (throughput * of).sum(axis=1) / np.maximum((found.throughput * of).sum(axis=1), 1e-12)
            for of in (cpu, serial)
        )
        others = min(model.machine.others / model.machine.cpus, 1.0)
        found = Solved(
            response=response,
            throughput=throughput,
            utilisation=np.clip(others + (found.utilisation - others) * more_cpu, 0.0, 1.0),
            serial=np.minimum(found.serial * more_serial, 1.0),
        )
    return replace(found, response=found.response * model.errors[:, None])


def simulated(model: Model, places: Sequence[int], users: Sequence[int], scheduler: Scheduler) -> OfClasses:
    """Responses of the classes with users, by simulation of the middle draw."""
    middle = [model.works[at].middle() for at in places]
    throughput = solved([Works.of([one]) for one in middle], users, model.machine).throughput
    cycle = float(sum(users)) / float(throughput.sum())
    own = [model.parts[at] for at in places]
    return simulated_classes(middle, own, users, machine=model.machine, cycle_s=cycle, scheduler=scheduler)


def estimate(values: Array, unit: str, n: int) -> Estimate:
    """Median of draws, with its interval."""
    low, middle, high = np.quantile(values, ENDS)
    return Estimate(value=float(middle), unit=unit, low=float(low), high=float(high), n=n, method="predicted")


def alone(model: Model, places: Sequence[int]) -> Array:
    """Mean response of a user alone, by draw and class [s]."""
    machine = model.machine
    return np.stack(
        [
            work.cpu_s / machine.cpu_speed + work.serial_s / machine.serial_speed + work.delay_s
            for work in (model.works[at] for at in places)
        ],
        axis=1,
    )
