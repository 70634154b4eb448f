"""Figures of a machine and its users from a TOML file, where there is no log yet."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from thinktime import toml
from thinktime.errors import InputError, offered
from thinktime.models.sizing import DRAWS, MODEL_SD, Fit, Machine, Work
from thinktime.predictions.inputs import byte_count, exact, number, seconds, whole
from thinktime.predictions.size.measured import Measured
from thinktime.predictions.size.memory import Memory
from thinktime.stats.estimate import Estimate

Array = NDArray[np.float64]
Reader = Callable[[object, str], float | Estimate]

KEYS = ("cpus", "users", "think_time", "background", "memory", "memory_in_use", "demand", "user_memory")
DEMAND = ("cpu", "disk", "rest", "variation")
USER_MEMORY = ("mean", "sd", "p50", "p90")
ENDS = ("value", "low", "high")
Z95, Z90 = 1.959963984540054, 1.2815515655446004
"""Quantiles of the normal distribution: of both ends of a 95 % interval, and of 90 %."""
SERVICES = 2000
"""CPU times that stand for their distribution."""
EXAMPLE = """\
# A machine and its users, for: thinktime size --from site.toml
# Each figure is a number or a text with its unit. If it is not known well, give its 95 % interval as well:
# "20 +- 4 s", or { value = "20 s", low = "15 s", high = "30 s" }.

cpus = 8
users = "20..100..20"        # numbers of users to predict; may be left out
think_time = "20 +- 5 s"     # of a user, from an answer to the next input
background = 0.1             # CPUs that are busy with work that is not the users'

memory = "64 GB"             # memory may be left out: then nothing is said about it
memory_in_use = "2 GB"       # without users

[demand]                     # of one interaction
cpu = { value = "250 ms", low = "200 ms", high = "320 ms" }
disk = "20 ms"               # served one at a time, such as writes that are confirmed
rest = "100 ms"              # waits that do not depend on the others, such as a network
variation = 1.0              # standard deviation of the CPU times over their mean

[user_memory]                # of one user: mean and sd, or the percentiles p50 and p90
mean = "350 +- 50 MB"
sd = "150 MB"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Figures of a file, as the model takes them."""

    measured: Measured
    """Machine, distribution of CPU times, and memory; nothing is measured."""
    fitted: Fit
    """Work, drawn from the intervals."""
    users: tuple[float, ...]
    """Numbers of users to predict; empty for a choice around the answer."""


def read(path: Path, numbers_of: Callable[[object, str], Sequence[float]], *, seed: int = 1) -> Site:
    """Site of a TOML file.

    Each figure with an interval is drawn from a distribution whose median is the value, and of which 2.5 %
    lie beyond either end: logarithms from two halves of normal distributions, or the figures themselves where
    the lower end is 0.

    Parameters
    ----------
    path : Path
    numbers_of : callable
        Reader of numbers of users; takes text and item.
    seed : int
        Of the draws.

    Raises
    ------
    InputError
        The file cannot be read, has a key that is not known, lacks one, or has a value that is not allowed.
    """
    table = toml.read(path)
    place = f"{path}: "
    _check_keys(table, KEYS, place)
    demand = _table(table, "demand", DEMAND, place)
    cpus = whole(_given(table, "cpus", "8", place), f"{place}cpus")
    cpu = _figure(_given(demand, "cpu", '"250 ms"', f"{place}demand."), seconds, f"{place}demand.cpu")
    if (cpu.low if cpu.low is not None else cpu.value) <= 0.0:
        raise InputError(f"{place}demand.cpu: reaches down to 0; give a CPU time above 0")
    think = _figure(_given(table, "think_time", '"20 s"', place), seconds, f"{place}think_time")
    background = _figure(table.get("background", 0), number, f"{place}background")
    if background.value >= 0.9 * cpus or (background.high or 0.0) >= 0.95 * cpus:
        raise InputError(f"{place}background: leaves too little of {cpus} CPUs; give less, or more CPUs")
    machine = Machine(cpus=cpus, background=background.value)
    random = np.random.default_rng([seed, 0])
    disk, rest = (_figure(demand.get(name, 0), seconds, f"{place}demand.{name}") for name in ("disk", "rest"))
    drawn = [_drawn(one, random) for one in (think, cpu, disk, rest, background)]
    # Of a machine with c CPUs, background b leaves c - b: one that is not known well does as much to the
    # largest throughput as a CPU time that is not.
    slowed = (cpus - background.value) / (cpus - drawn[4])
    draws = tuple(
        Work(think_s=think_s, cpu_s=cpu_s * factor, serial_s=serial_s, delay_s=delay_s)
        for think_s, cpu_s, serial_s, delay_s, factor in zip(
            *(one.tolist() for one in drawn[:4]), slowed.tolist(), strict=True
        )
    )
    variation = exact(number, demand.get("variation", 1.0), f"{place}demand.variation")
    return Site(
        measured=Measured(
            names=(str(path),),
            machine=machine,
            stretches=(),
            extra_cpu_s=0.0,
            services=_services(variation, cpu.value),
            kinds=np.full(SERVICES, ""),
            memory=_memory(table, place),
            caveats=(),
        ),
        fitted=Fit(
            machine=machine,
            draws=draws,
            errors=np.exp(MODEL_SD * random.permutation(_normal())),
            n_effective=float(DRAWS),
        ),
        users=tuple(numbers_of(_listed(table["users"]), f"{place}users")) if "users" in table else (),
    )


def _listed(given: object) -> str:
    return ",".join(map(str, given)) if isinstance(given, list) else str(given)


def _check_keys(table: Mapping[str, Any], known: Sequence[str], place: str) -> None:
    for key in table:
        if key not in known:
            raise InputError(f"{place}{key}: is not known; {offered(key, known)}")


def _table(table: Mapping[str, Any], name: str, known: Sequence[str], place: str) -> Mapping[str, Any]:
    found = table.get(name, {})
    if not isinstance(found, Mapping):
        raise InputError(f"{place}{name}: is no table; give [{name}] with {', '.join(known)}")
    _check_keys(found, known, f"{place}{name}.")
    return found


def _given(table: Mapping[str, Any], key: str, example: str, place: str) -> object:
    if key not in table:
        raise InputError(
            f"{place}{key}: is missing; give {key} = {example} (`thinktime size --example-site` shows all)"
        )
    return table[key]


def _figure(given: object, read_: Reader, item: str) -> Estimate:
    """Figure with the interval that it was given, if any."""
    if isinstance(given, (list, bool)):
        raise InputError(f"{item}: {given} is no figure; give a number, a text, or value, low and high")
    if not isinstance(given, Mapping):
        value = read_(given, item)
        found = value if isinstance(value, Estimate) else Estimate(value=value, unit="", n=1, method="given")
    else:
        _check_keys(given, ENDS, f"{item}.")
        value_, low, high = (
            exact(read_, _given(given, end, "a figure", f"{item}."), f"{item}.{end}") for end in ENDS
        )
        found = Estimate(value=value_, unit="", low=low, high=high, n=1, method="given with its interval")
    if found.low is not None and found.high is not None and not 0.0 <= found.low <= found.value <= found.high:
        raise InputError(
            f"{item}: the interval from {found.low:g} to {found.high:g} around {found.value:g} (s, byte) "
            "begins below 0 or does not hold the value; give 0 <= low <= value <= high"
        )
    return found


def _normal() -> Array:
    """Quantiles of the normal distribution, as many as there are draws."""
    result: Array = special.ndtri((np.arange(DRAWS) + 0.5) / DRAWS)
    return result


def _drawn(figure: Estimate, random: np.random.Generator) -> Array:
    """Draws whose quantiles are the value and the ends of its interval, in random order."""
    at = random.permutation(_normal()) / Z95
    low, high = figure.low, figure.high
    if low is None or high is None or low == high:
        return np.full(DRAWS, figure.value)
    if low > 0.0:
        reach = np.where(at < 0.0, math.log(figure.value / low), math.log(high / figure.value))
        result: Array = figure.value * np.exp(at * reach)
        return result
    spread = np.where(at < 0.0, figure.value, high - figure.value)
    drawn: Array = np.maximum(figure.value + at * spread, 0.0)
    return drawn


def _services(variation: float, mean: float) -> Array:
    """CPU times of a gamma distribution; exponential with a variation of 1."""
    if variation == 0.0:
        return np.full(SERVICES, mean)
    shape = variation**-2
    result: Array = special.gammaincinv(shape, (np.arange(SERVICES) + 0.5) / SERVICES)
    scaled: Array = result * (mean / result.mean())
    return scaled


def _memory(table: Mapping[str, Any], place: str) -> Memory | None:
    user = _table(table, "user_memory", USER_MEMORY, place)
    if not user and "memory" not in table:
        return None
    if not user:
        raise InputError(f"{place}user_memory: is missing; give [user_memory] with mean, or leave out memory")
    total = exact(byte_count, _given(table, "memory", '"64 GB"', place), f"{place}memory")
    base = exact(byte_count, table.get("memory_in_use", 0), f"{place}memory_in_use")
    if total <= base:
        raise InputError(
            f"{place}memory_in_use: is not less than memory; give the memory in use without users"
        )
    mean, sd, skewness = _user_memory(user, f"{place}user_memory.")
    return Memory(
        total_bytes=total,
        base_bytes=base,
        user=mean,
        user_sd_bytes=sd,
        skewness=skewness,
        largest_bytes=math.nan,
        peak=1,
        shared_once=True,
    )


def _user_memory(user: Mapping[str, Any], place: str) -> tuple[Estimate, float, float]:
    """Mean memory of a user, its standard deviation between users [byte], and its skewness."""
    if "p50" in user or "p90" in user:
        if "mean" in user or "sd" in user:
            raise InputError(f"{place}p50: is given together with mean or sd; give one of the two pairs")
        middle, upper = (
            exact(byte_count, _given(user, key, '"350 MB"', place), f"{place}{key}") for key in ("p50", "p90")
        )
        if not 0.0 < middle <= upper:
            raise InputError(f"{place}p90: is below p50, or p50 is 0; give 0 < p50 <= p90")
        # Of a lognormal distribution.
        sigma = math.log(upper / middle) / Z90
        mean = middle * math.exp(sigma**2 / 2.0)
        estimate = Estimate(value=mean, unit="byte", n=1, method="given")
        variation = math.sqrt(math.expm1(sigma**2))
        return estimate, mean * variation, (variation**2 + 3.0) * variation
    found = _figure(_given(user, "mean", '"350 MB"', place), byte_count, f"{place}mean")
    return found, exact(byte_count, user.get("sd", 0), f"{place}sd"), 0.0
