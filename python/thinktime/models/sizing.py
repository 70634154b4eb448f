"""Response time and throughput of a machine by number of users, with every uncertainty carried through.

Users think, then need CPU time, and wait for whatever is not a CPU: some of it a delay of its own for each
interaction (a network, a pause), some of it one at a time for all (a log on a disk, a lock). CPU time, think
time and response times are measured at one or several numbers of users; the rest is what they leave.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from thinktime import _native
from thinktime.errors import InputError
from thinktime.models.prediction import Assumption, at_least_zero, count, positive
from thinktime.models.queueing import many_networks
from thinktime.models.queueing.marginals import closed_rates

Array = NDArray[np.float64]

GROWTH_SD = 0.1
"""Standard deviation of the growth of the demand, before it is measured: a service of real life needed 10 %
less CPU time for a transaction under load than at rest, others as much or a little more."""
MODEL_SD = 0.05
"""Relative standard deviation of the model's own error in a mean response time, before a log shows it."""
TRIED = 2000
"""Combinations of the unknown quantities that are tried."""
DRAWS = 400
"""Combinations that are kept, in proportion to how well they agree with the measurement."""
ENDS = (0.025, 0.5, 0.975)
"""Quantiles of draws that are printed: the interval, and the value within it."""
SEED_OF_CHANGES = 5
SEEN_LEAST = 0.4
"""Least share of the others at what serves one at a time, as found at the arrival, that an interaction waits
for: half of them where visits alternate with CPU time, all where there is one visit."""
BACKGROUND_MOST = 0.98
"""Share of the CPUs above which background load leaves nothing to predict."""
SOURCE = (
    "Baskett, Chandy, Muntz and Palacios, JACM 22 (1975); Bruell, Balbo and Afshari, Performance Evaluation 4"
    " (1984)"
)
ASSUMPTIONS = (
    Assumption("more users do the same work in the same way, and think as long"),
    Assumption("the CPUs are shared in equal parts by the interactions that need one"),
    Assumption("load that is not the users' arrives at random, and stays as it was"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Machine that serves the users."""

    cpus: int
    """Processors."""
    cpu_speed: float = 1.0
    """Speed of a processor, relative to that on which the demand was measured."""
    background: float = 0.0
    """CPU time that others use [s/s], on the processors measured, and for which users wait."""
    background_error: float = 0.0
    """Its standard error [s/s]."""
    yielding: float = 0.0
    """Further CPU time of others [s/s], likewise, that gives way to users: it is in the utilisation alone."""
    serial_speed: float = 1.0
    """Speed of whatever serves one interaction at a time, such as a disk, relative to the one measured."""

    def __post_init__(self) -> None:
        """Refuse machines that are none."""
        count("cpus", self.cpus)
        positive("cpu_speed", self.cpu_speed)
        positive("serial_speed", self.serial_speed)
        at_least_zero("background_error", self.background_error)
        at_least_zero("yielding", self.yielding)
        if at_least_zero("background", self.background) >= BACKGROUND_MOST * self.cpus * self.cpu_speed:
            raise InputError(
                f"background load of {self.background:g} CPUs leaves nothing of {self.cpus}"
                f"{'' if self.cpu_speed == 1.0 else f' at {self.cpu_speed:g} of the speed'}; give more CPUs"
            )

    @property
    def others(self) -> float:
        """CPU time of others on these processors, whether users wait for it or not [s/s]."""
        return (self.background + self.yielding) / self.cpu_speed


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Work of an interaction, and the time between two of a user."""

    think_s: float
    """Mean think time."""
    cpu_s: float
    """CPU time of an interaction on an idle machine."""
    growth: float = 0.0
    """Relative growth of that CPU time from an idle machine to one with many waiting for a CPU."""
    delay_s: float = 0.0
    """Time without a CPU that does not depend on the others."""
    serial_s: float = 0.0
    """Time of whatever serves one interaction at a time."""


QUANTITIES = ("think_s", "cpu_s", "growth", "delay_s", "serial_s")
"""Quantities of a work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Measurement at one number of users; standard errors are those of the means."""

    users: int
    response_s: float
    response_error: float
    cpu_s: float
    """CPU time of an interaction."""
    cpu_error: float
    think_s: float
    think_error: float
    throughput_per_s: float
    rest_slope_s: float | None = None
    """Growth of the time that is neither CPU time nor wait for a CPU, for each other interaction in progress
    at the arrival; None where waits for a CPU were not measured."""
    rest_slope_error: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Prediction with 1, 2, ... users."""

    response_s: Array
    throughput_per_s: Array
    utilisation: Array
    """Of the CPUs, all load included."""
    serial: Array
    """Utilisation of whatever serves one at a time."""
    at_serial: Array
    """Mean number of interactions there, in service or waiting."""


def crowding(number: Array | float, cpus: int) -> Array:
    """Share of the growth of the demand that shows when this many interactions need a CPU: 0 to 1."""
    at = np.maximum(np.asarray(number, dtype=np.float64) - 1.0, 0.0)
    result: Array = at / (at + cpus)
    return result


@lru_cache(maxsize=64)
def _left(machine: Machine, users: int) -> Array:
    """Seconds of work done per second with 1, 2, ... interactions, after the background load."""
    busy = np.minimum(np.arange(1.0, users + 1.0), machine.cpus) * machine.cpu_speed
    return np.array(closed_rates(machine.background, busy, users)) if machine.background else busy


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rates:
    """Rates of the CPUs with 1, 2, ... interactions, which do not depend on the work."""

    machine: Machine
    left: Array
    """Seconds of work done per second, after the background load."""
    crowded: Array
    """Share of the growth of the demand."""

    @classmethod
    def of(cls, machine: Machine, users: int) -> _Rates:
        # For whole bands, so that few are computed, and each number of users has the same digits in all.
        most = next((end for end in many_networks.ENDS if end >= users), users)
        left = _left(machine, most)
        return cls(machine=machine, left=left, crowded=crowding(np.arange(1.0, most + 1.0), machine.cpus))


def course(work: Work, machine: Machine, users: int) -> Course:
    r"""Response time, throughput and utilisation with 1 to `users` users.

    A closed network of product form: a station that is shared in equal parts, with c processors of which
    background load takes its part, of rates

    .. math:: \mu(n) = \frac{\min(n, c) \, v}{1 + g \, k(n)} \, \frac{H(n-1)}{H(n)}, \quad
              k(n) = \frac{n - 1}{n - 1 + c}

    for n interactions, speed v and growth g of the demand; a station of one server for what is served one
    at a time; and a delay. Exact for g = 0.

    Raises
    ------
    InputError
        A number is out of range.
    """
    return _course(work, _Rates.of(machine, count("users", users)), users)


def _course(work: Work, rates: _Rates, users: int) -> Course:
    machine = rates.machine
    serial = work.serial_s / machine.serial_speed
    at = rates.left[:users] / (1.0 + work.growth * rates.crowded[:users])
    solved = _native.mva_rates(
        [serial] if serial else [], work.think_s + work.delay_s, [work.cpu_s], [at.tolist()], users
    )
    throughput, at_serial, number = (np.frombuffer(part) for part in solved)
    response = np.arange(1.0, users + 1.0) / throughput - work.think_s
    demand = work.cpu_s * (1.0 + work.growth * crowding(number, machine.cpus)) / machine.cpu_speed
    busy = (throughput * demand + machine.others) / machine.cpus
    return Course(
        response_s=response,
        throughput_per_s=throughput,
        utilisation=np.minimum(busy, 1.0),
        serial=np.minimum(throughput * serial, 1.0),
        at_serial=at_serial if serial else np.zeros(users),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Works:
    """Many works: an array of each quantity of `Work`."""

    think_s: Array
    cpu_s: Array
    growth: Array
    delay_s: Array
    serial_s: Array

    @classmethod
    def of(cls, works: Sequence[Work]) -> Works:
        """Arrays of single works."""
        return cls(**{name: np.array([getattr(work, name) for work in works]) for name in QUANTITIES})

    def first(self, most: int) -> Works:
        """The first of them."""
        return self.at(np.arange(min(most, len(self))))

    def at(self, places: NDArray[np.int64]) -> Works:
        """Those at some places."""
        return Works(**{name: getattr(self, name)[places] for name in QUANTITIES})

    def middle(self) -> Work:
        """Work with the median of each quantity."""
        return Work(**{name: float(np.median(getattr(self, name))) for name in QUANTITIES})

    def each(self) -> Iterator[Work]:
        """Single works."""
        for values in zip(*(getattr(self, name).tolist() for name in QUANTITIES), strict=True):
            yield Work(**dict(zip(QUANTITIES, values, strict=True)))

    def __len__(self) -> int:
        """Number of works."""
        return len(self.cpu_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Solved:
    """Throughputs of many works, and mean numbers at what serves one at a time: shape (works, users)."""

    throughput: Array
    at_serial: Array


def _solve(works: Works, rates: _Rates, users: int, known: Array | None = None) -> _Solved | None:
    """Solution of many works at once: as each by itself, in a part of the time; None where that cannot be."""
    if not (works.cpu_s > 0.0).all():
        return None
    serial = works.serial_s / rates.machine.serial_speed
    at = rates.left / (works.cpu_s[:, None] * (1.0 + works.growth[:, None] * rates.crowded))
    throughput = many_networks.throughputs(works.think_s + works.delay_s, serial, at, users, known)
    if throughput is None:
        return None
    at_serial = np.empty((users, len(works)))
    there = np.zeros(len(works))
    for n, each in enumerate((throughput * serial[:, None]).T.copy()):
        at_serial[n] = there = each * (1.0 + there)
    return _Solved(throughput=throughput, at_serial=at_serial.T)


def _courses(works: Works, rates: _Rates, users: int, known: Array | None = None) -> Courses:
    """Courses of several works at once; throughputs `known` for fewer users are not computed again."""
    machine, number = rates.machine, np.arange(1.0, users + 1.0)
    solved = _solve(works, rates, users, known)
    if solved is None:
        found = [_course(work, rates, users) for work in works.each()]
        return Courses(
            response_s=np.array([one.response_s for one in found]),
            throughput_per_s=np.array([one.throughput_per_s for one in found]),
            utilisation=np.array([one.utilisation for one in found]),
            serial=np.array([one.serial for one in found]),
        )
    think, cpu, growth, delay, serial = (getattr(works, name)[:, None] for name in QUANTITIES)
    serial = serial / machine.serial_speed
    throughput = solved.throughput
    needing = np.maximum(number - throughput * (think + delay) - solved.at_serial, 0.0)
    demand = cpu * (1.0 + growth * crowding(needing, machine.cpus)) / machine.cpu_speed
    busy = (throughput * demand + machine.others) / machine.cpus
    return Courses(
        response_s=number / throughput - think,
        throughput_per_s=throughput,
        utilisation=np.minimum(busy, 1.0),
        serial=np.minimum(throughput * serial, 1.0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Work that agrees with a measurement, as draws from all that does."""

    machine: Machine
    """Machine that was measured."""
    draws: tuple[Work, ...]
    """Equally likely."""
    errors: Array
    """Factor of the model's own error in the response time, one for each draw."""
    n_effective: float
    """Combinations tried that agreed, as if equally well."""
    slowed: Array = field(default_factory=lambda: np.ones(DRAWS), repr=False, compare=False)
    """Factor of the CPU time in each draw by which the background load may be another."""

    works: Works = field(init=False, repr=False, compare=False)
    """The draws as arrays."""

    def __post_init__(self) -> None:
        """Make the arrays, once for all predictions."""
        object.__setattr__(self, "works", Works.of(self.draws))

    @property
    def central(self) -> Work:
        """Work with the median of each quantity."""
        return self.works.middle()

    def courses(
        self, machine: Machine, users: int, changed: Changes | None = None, known: Courses | None = None
    ) -> Courses:
        """Prediction for `machine` by every draw; those `known` for fewer users are not computed again."""
        rates, changes = _Rates.of(machine, users), changed or Changes()
        works = changes.of_all(self.works)
        if changes.cpu_error > 0.0:
            # Independent of the draws of the work, and the same for every machine.
            random = np.random.default_rng([SEED_OF_CHANGES, len(works)])
            factors = np.exp(changes.cpu_error * random.permutation(_normal(len(works))))
            works = replace(works, cpu_s=works.cpu_s * factors)
        found = _courses(works, rates, users, None if known is None else known.throughput_per_s)
        return replace(found, response_s=found.response_s * self.errors[:, None])


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Changes of the work."""

    cpu: float = 1.0
    """Factor of the CPU time of an interaction."""
    cpu_error: float = 0.0
    """Standard error of the logarithm of that factor."""
    serial: float = 1.0
    """Factor of the time that is served one at a time."""
    delay: float = 1.0
    """Factor of the delay."""
    think_s: float | None = None
    """Think time in place of the measured one."""

    def of(self, work: Work) -> Work:
        """Work after the changes."""
        return replace(
            work,
            cpu_s=work.cpu_s * self.cpu,
            serial_s=work.serial_s * self.serial,
            delay_s=work.delay_s * self.delay,
            think_s=work.think_s if self.think_s is None else self.think_s,
        )

    def of_all(self, works: Works) -> Works:
        """Works after the changes."""
        return replace(
            works,
            cpu_s=works.cpu_s * self.cpu,
            serial_s=works.serial_s * self.serial,
            delay_s=works.delay_s * self.delay,
            think_s=works.think_s if self.think_s is None else np.full(len(works), self.think_s),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Courses:
    """Predictions by every draw: arrays of shape (draws, users)."""

    response_s: Array
    throughput_per_s: Array
    utilisation: Array
    serial: Array

    def times(self, response: Array, throughput: Array, background: float) -> Courses:
        """Predictions with these factors of response times and throughputs, by number of users.

        The share `background` of the CPUs' utilisation is not the users', and stays.
        """
        return Courses(
            response_s=self.response_s * response,
            throughput_per_s=self.throughput_per_s * throughput,
            utilisation=np.clip(background + (self.utilisation - background) * throughput, 0.0, 1.0),
            serial=np.minimum(self.serial * throughput, 1.0),
        )

    def upto(self, users: int) -> Courses:
        """The same for fewer users."""
        return Courses(
            response_s=self.response_s[:, :users],
            throughput_per_s=self.throughput_per_s[:, :users],
            utilisation=self.utilisation[:, :users],
            serial=self.serial[:, :users],
        )


def fit(levels: Sequence[Level], machine: Machine, *, seed: int = 1) -> Fit:
    r"""Work that agrees with the measurement at one or several numbers of users.

    CPU time and think time of an interaction are measured directly. Where there are several levels, the
    growth of the CPU time is regressed on k at the mean number that needed a CPU, with a normal prior of
    mean 0. What is served one at a time, and what is a delay, share what the response time has beyond the
    model without them; in which parts is decided by the levels, if they differ enough. Combinations are
    drawn from a wide prior, and kept with probabilities that are proportional to

    .. math:: \prod_k \exp \left( -\frac{(R_k - \hat R_k)^2}{2 (s_k^2 + \sigma^2 R_k^2)} \right)

    with the measured response times R, their standard errors s, and the model's own error
    :math:`\sigma` (sampling and importance resampling: Rubin, 1988, in *Bayesian Statistics 3*, 395-402).

    Also one number of users shows what is served one at a time, where waits for a CPU are measured: each of
    the others in progress at an arrival is there with probability :math:`p = Q_s / (X R)`, and is then waited
    for, for the service time s. A delay does not grow with their number. The slope :math:`a s p` is compared
    with that of a regression, with a from 0.4 to 1 for visits that are not all made at once.

    Parameters
    ----------
    levels : sequence of Level
        By number of users, at least one.
    machine : Machine
        Machine that was measured.
    seed : int
        Of the draws.

    Raises
    ------
    InputError
        There is no level.
    """
    if not levels:
        raise InputError("levels is empty; give the measurement at one number of users or more")
    return _fit(tuple(levels), machine, seed)


@lru_cache(maxsize=8)
def _fit(levels: tuple[Level, ...], machine: Machine, seed: int) -> Fit:
    """Work that agrees with the measurement: the answer, its check and the rules ask for the same."""
    random = np.random.default_rng([seed, len(levels)])
    users = max(level.users for level in levels)
    rates = _Rates.of(machine, users)
    cpu, growth = _demands(levels, machine, random)
    think = _pooled_think(levels, random)
    rest, slack = _rest(levels, rates, float(cpu.mean()), float(growth.mean()), float(think.mean()))
    # Quantiles of a normal distribution in random order: two independent ones fill the plane evenly.
    amount = np.maximum(rest + slack * random.standard_normal(TRIED), 0.0)
    part = random.uniform(0.0, 1.0, TRIED)
    centre = [float(np.median(values)) for values in (think, cpu, growth)]
    index = np.array([level.users for level in levels]) - 1
    measured = np.array([level.response_s for level in levels])
    error = np.array([level.response_error for level in levels])
    # With the work that was measured: by how much that may differ from all such work, the responses measured
    # with it cannot tell, since they would differ in the same way.
    tried = Works(
        **{name: np.full(TRIED, value) for name, value in zip(QUANTITIES, centre, strict=False)},
        delay_s=amount * (1.0 - part),
        serial_s=amount * part,
    )
    predicted, throughput, at_serial = _tried(tried, rates, users, index)
    logs = -0.5 * ((predicted - measured) ** 2 / (error**2 + (MODEL_SD * measured) ** 2)).sum(axis=1)
    slopes = (amount * part / machine.serial_speed)[:, None] * at_serial / (throughput * predicted)
    logs += _agreement(levels, slopes * random.uniform(SEEN_LEAST, 1.0, TRIED)[:, None])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    kept = np.searchsorted(np.cumsum(weights), (np.arange(DRAWS) + random.uniform()) / DRAWS)
    kept = random.permutation(np.minimum(kept, TRIED - 1))
    slowed = _slowed(machine, random)
    return Fit(
        machine=machine,
        draws=tuple(
            _work(*values, rest=one, part=share)
            for *values, one, share in zip(
                think[:DRAWS].tolist(),
                (cpu[:DRAWS] * slowed).tolist(),
                growth[:DRAWS].tolist(),
                amount[kept].tolist(),
                part[kept].tolist(),
                strict=True,
            )
        ),
        errors=np.exp(MODEL_SD * random.permutation(_normal(DRAWS))),
        n_effective=float(1.0 / (weights**2).sum()),
        slowed=slowed,
    )


def _slowed(machine: Machine, random: np.random.Generator) -> Array:
    """Factor of the CPU time in each draw that does what the error of the background load does.

    Of a machine with c CPUs, background b leaves c - b: one that is not known well does as much to the
    largest throughput as a CPU time that is not.
    """
    if not machine.background_error > 0.0:
        return np.ones(DRAWS)
    error = machine.background_error * random.permutation(_normal(DRAWS))
    drawn = np.clip(machine.background + error, 0.0, BACKGROUND_MOST * machine.cpus)
    result: Array = (machine.cpus - machine.background) / (machine.cpus - drawn)
    return result


def _tried(works: Works, rates: _Rates, users: int, index: NDArray[np.int64]) -> tuple[Array, Array, Array]:
    """Responses, throughputs and numbers at what serves one at a time, of shape (works, levels)."""
    solved = _solve(works, rates, users)
    if solved is None:
        found = [_course(work, rates, users) for work in works.each()]
        return (
            np.array([one.response_s[index] for one in found]),
            np.array([one.throughput_per_s[index] for one in found]),
            np.array([one.at_serial[index] for one in found]),
        )
    throughput = solved.throughput[:, index]
    return (index + 1.0) / throughput - works.think_s[:, None], throughput, solved.at_serial[:, index]


def _agreement(levels: Sequence[Level], slopes: Array) -> Array:
    """Logarithms of the likelihood of combinations with these slopes, of shape (tried, levels)."""
    measured = np.array([math.nan if one.rest_slope_s is None else one.rest_slope_s for one in levels])
    error = np.array([one.rest_slope_error for one in levels])
    known = ~np.isnan(measured) & np.isfinite(error)
    result: Array = -0.5 * (((slopes - measured) / error)[:, known] ** 2).sum(axis=1)
    return result


def _work(think_s: float, cpu_s: float, growth: float, *, rest: float, part: float) -> Work:
    """Work of which `part` of the time without a CPU is served one at a time."""
    return Work(
        think_s=think_s, cpu_s=cpu_s, growth=growth, delay_s=rest * (1.0 - part), serial_s=rest * part
    )


def _normal(n: int) -> Array:
    """Quantiles of the normal distribution, evenly spread."""
    from scipy.special import ndtri

    result: Array = ndtri((np.arange(n) + 0.5) / n)
    return result


def _demands(levels: Sequence[Level], machine: Machine, random: np.random.Generator) -> tuple[Array, Array]:
    """Draws of the CPU time at rest, and of its growth."""
    demand = np.array([level.cpu_s for level in levels])
    # Of logarithms: means of skewed times err upwards by more than downwards.
    error = np.maximum(np.array([level.cpu_error for level in levels]) / demand, 1e-6)
    # The number that needs a CPU, by Little's law; it includes other waits, which the crowding hardly sees.
    at = crowding(np.array([level.throughput_per_s * level.response_s for level in levels]), machine.cpus)
    design = np.column_stack([np.ones(len(levels)), at]) / error[:, None]
    covariance = np.linalg.inv(design.T @ design + np.diag([0.0, GROWTH_SD**-2]))
    mean = covariance @ (design.T @ (np.log(demand) / error))
    drawn = random.multivariate_normal(mean, covariance, TRIED)
    return np.exp(drawn[:, 0]), np.clip(np.expm1(drawn[:, 1]), -0.9, 10.0)


def _pooled_think(levels: Sequence[Level], random: np.random.Generator) -> Array:
    """Draws of the think time."""
    think = np.array([level.think_s for level in levels])
    error = np.array([level.think_error for level in levels])
    if not (error > 0.0).all():
        return np.full(TRIED, float(think.mean()))
    weight = error**-2
    mean, spread = float(np.average(think, weights=weight)), float(weight.sum() ** -0.5)
    return np.maximum(mean + spread * random.standard_normal(TRIED), 0.0)


def _rest(
    levels: Sequence[Level], rates: _Rates, cpu_s: float, growth: float, think_s: float
) -> tuple[float, float]:
    """Time of an interaction beyond CPU time and the wait for it, and how far it may be from that [s]."""
    users = max(level.users for level in levels)
    plain = _course(Work(think_s=think_s, cpu_s=cpu_s, growth=growth), rates, users).response_s
    beyond = np.array([level.response_s - plain[level.users - 1] for level in levels])
    scale = np.array(
        [math.hypot(level.response_error, 2.0 * MODEL_SD * level.response_s) for level in levels]
    )
    weight = scale**-2
    mean = float(np.average(beyond, weights=weight))
    return mean, 2.0 * float(weight.sum() ** -0.5) + 0.5 * max(mean, 0.0)
