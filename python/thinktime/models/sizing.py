"""Response time and throughput of a machine by number of users, with every uncertainty carried through.

Users think, then need CPU time, and wait for whatever is not a CPU: some of it a delay of its own for each
interaction (a network, a pause), some of it one at a time for all (a log on a disk, a lock). CPU time, think
time and response times are measured at one or several numbers of users; the rest is what they leave.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thinktime import _native
from thinktime.errors import InputError
from thinktime.models.prediction import Assumption, at_least_zero, count, positive
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
    """CPU time that others use [s/s], on the processors measured."""
    serial_speed: float = 1.0
    """Speed of whatever serves one interaction at a time, such as a disk, relative to the one measured."""

    def __post_init__(self) -> None:
        """Refuse machines that are none."""
        count("cpus", self.cpus)
        positive("cpu_speed", self.cpu_speed)
        positive("serial_speed", self.serial_speed)
        if at_least_zero("background", self.background) >= BACKGROUND_MOST * self.cpus * self.cpu_speed:
            raise InputError(
                f"background load of {self.background:g} CPUs leaves nothing of {self.cpus}"
                f"{'' if self.cpu_speed == 1.0 else f' at {self.cpu_speed:g} of the speed'}; give more CPUs"
            )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Prediction with 1, 2, ... users."""

    response_s: Array
    throughput_per_s: Array
    utilisation: Array
    """Of the CPUs, all load included."""
    serial: Array
    """Utilisation of whatever serves one at a time."""


def crowding(number: Array | float, cpus: int) -> Array:
    """Share of the growth of the demand that shows when this many interactions need a CPU: 0 to 1."""
    at = np.maximum(np.asarray(number, dtype=np.float64) - 1.0, 0.0)
    result: Array = at / (at + cpus)
    return result


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
        busy = np.minimum(np.arange(1.0, users + 1.0), machine.cpus) * machine.cpu_speed
        left = np.array(closed_rates(machine.background, busy, users)) if machine.background else busy
        return cls(machine=machine, left=left, crowded=crowding(np.arange(1.0, users + 1.0), machine.cpus))


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
    at = rates.left / (1.0 + work.growth * rates.crowded)
    solved = _native.mva_rates(
        [serial] if serial else [], work.think_s + work.delay_s, [work.cpu_s], [at.tolist()], users
    )
    throughput, _, number = (np.frombuffer(part) for part in solved)
    response = np.arange(1.0, users + 1.0) / throughput - work.think_s
    demand = work.cpu_s * (1.0 + work.growth * crowding(number, machine.cpus)) / machine.cpu_speed
    busy = (throughput * demand + machine.background / machine.cpu_speed) / machine.cpus
    return Course(
        response_s=response,
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

    @property
    def central(self) -> Work:
        """Work with the median of each quantity."""
        names = ("think_s", "cpu_s", "growth", "delay_s", "serial_s")
        return Work(**{name: float(np.median([getattr(one, name) for one in self.draws])) for name in names})

    def courses(self, machine: Machine, users: int, changed: Changes | None = None) -> Courses:
        """Prediction for `machine` by every draw."""
        rates, changes = _Rates.of(machine, users), changed or Changes()
        works = [changes.of(work) for work in self.draws]
        if changes.cpu_error > 0.0:
            # Independent of the draws of the work, and the same for every machine.
            random = np.random.default_rng([SEED_OF_CHANGES, len(works)])
            factors = np.exp(changes.cpu_error * random.permutation(_normal(len(works)))).tolist()
            works = [
                replace(work, cpu_s=work.cpu_s * factor) for work, factor in zip(works, factors, strict=True)
            ]
        found = [_course(work, rates, users) for work in works]
        return Courses(
            response_s=np.array([one.response_s for one in found]) * self.errors[:, None],
            throughput_per_s=np.array([one.throughput_per_s for one in found]),
            utilisation=np.array([one.utilisation for one in found]),
            serial=np.array([one.serial for one in found]),
        )


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
    predicted = np.array(
        [
            _course(_work(*centre, rest=one, part=share), rates, users).response_s[index]
            for one, share in zip(amount.tolist(), part.tolist(), strict=True)
        ]
    )
    logs = -0.5 * ((predicted - measured) ** 2 / (error**2 + (MODEL_SD * measured) ** 2)).sum(axis=1)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    kept = np.searchsorted(np.cumsum(weights), (np.arange(DRAWS) + random.uniform()) / DRAWS)
    kept = random.permutation(np.minimum(kept, TRIED - 1))
    return Fit(
        machine=machine,
        draws=tuple(
            _work(*values, rest=one, part=share)
            for *values, one, share in zip(
                think[:DRAWS].tolist(),
                cpu[:DRAWS].tolist(),
                growth[:DRAWS].tolist(),
                amount[kept].tolist(),
                part[kept].tolist(),
                strict=True,
            )
        ),
        errors=np.exp(MODEL_SD * random.permutation(_normal(DRAWS))),
        n_effective=float(1.0 / (weights**2).sum()),
    )


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
