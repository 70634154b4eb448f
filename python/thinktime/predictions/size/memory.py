"""Memory of users, idle ones included: its distribution, and the probability that it suffices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log import interactions, observations
from thinktime.log import users as people
from thinktime.stats.estimate import Estimate
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    import polars as pl

    from thinktime.log import Log
    from thinktime.log.observations import Observations

Array = NDArray[np.float64]

COLUMNS = ("memory_total_bytes", "memory_available_bytes", "swap_total_bytes")
AMOUNTS = ("memory_proportional_bytes", "memory_anonymous_bytes", "memory_resident_bytes")
"""Columns of `presence`, the best first: in the first two a shared page is counted once."""
RESIDENT = "memory_bytes"
"""Column of `users`, for logs without `presence`."""
LEVELS_LEAST = 4
"""Numbers of users from which the memory of a further user is taken from their growth."""
RISE_LEAST = 1.5
"""Ratio of most to fewest users from which the growth is used."""
SEED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Memory of the users and of everything else."""

    total_bytes: float
    base_bytes: float
    """Memory in use without users."""
    user: Estimate
    """Memory that a further user takes [byte]."""
    user_sd_bytes: float
    """Standard deviation of the memory of a user at a moment: between users and over time."""
    skewness: float = 0.0
    """Skewness between users."""
    seen: int = 0
    """Users whose memory was seen; 0 where only the sum of all was."""
    largest_bytes: float
    """Largest memory of a user, resident, shared pages included."""
    peak: int
    """Users at most."""
    shared_once: bool
    """True if pages that users share are counted once."""
    swap_bytes: float | None = None
    """Swap space; None where it was not recorded."""

    def times(self, factor: float) -> Memory:
        """Memory if each user needs `factor` times as much."""
        low, high = (None if end is None else end * factor for end in (self.user.low, self.user.high))
        return replace(
            self,
            user=replace(self.user, value=self.user.value * factor, low=low, high=high),
            user_sd_bytes=self.user_sd_bytes * factor,
            largest_bytes=self.largest_bytes * factor,
        )

    def suffices(self, there_bytes: float, users: Array, draws: int) -> Array:
        r"""Probability, at a moment, that all users fit into `there_bytes`, for each draw of the unknown.

        The sum over N users who are drawn from a population of mean m, standard deviation s and skewness g
        has mean N m, standard deviation :math:`\sqrt{N} s` and skewness :math:`g / \sqrt{N}`: Pearson's
        type III, a shifted gamma distribution, which has these three. Mean and standard deviation are drawn
        as for a sample from a normal population: the variance by chi squared, the mean by its interval.

        Parameters
        ----------
        there_bytes : float
            Memory for users and everything else [byte].
        users : array
            Numbers of users.
        draws : int

        Returns
        -------
        array of shape (draws, len(users))
        """
        random = np.random.default_rng([SEED, draws])
        low, high = self.user.low, self.user.high
        error = 0.0 if low is None or high is None else (high - low) / (2.0 * 1.96)
        spread = np.full(draws, self.user_sd_bytes)
        if self.seen > 1:
            spread *= np.sqrt((self.seen - 1) / random.chisquare(self.seen - 1, draws))
        mean = np.maximum(self.user.value + error * random.permutation(_normal(draws)), 0.0)
        left = there_bytes - self.base_bytes
        scale = np.maximum(spread[:, None] * np.sqrt(users), 1.0)
        return _pearson((left - mean[:, None] * users) / scale, self.skewness / np.sqrt(users))


def _normal(n: int) -> Array:
    """Quantiles of the normal distribution, evenly spread."""
    from scipy.special import ndtri

    result: Array = ndtri((np.arange(n) + 0.5) / n)
    return result


def _pearson(z: Array, skewness: Array) -> Array:
    """Distribution function of a standardised Pearson III variate of positive skewness, or normal."""
    from scipy import special

    result: Array = special.ndtr(z)
    skewed = skewness > 1e-3
    if skewed.any():
        shape = 4.0 / skewness[skewed] ** 2
        result[:, skewed] = special.gammainc(shape, np.maximum(shape + z[:, skewed] * np.sqrt(shape), 0.0))
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Memory of the users seen."""

    means: Array
    """Mean over time of each user [byte]."""
    within: float
    """Variance over time, mean of the users."""
    largest: float
    shared_once: bool


def of_players(logs: Sequence[Log]) -> Memory | None:
    """Memory by user of logs with interactions; None where it was not recorded.

    Where the number of users varied, a further user takes what the memory in use grew by, shared pages
    counted once; elsewhere, or where it is known better and shared pages are counted once there too, the mean
    memory of a user.
    """
    found = []
    for log in logs:
        inputs = interactions.read(log)
        observed = observations.read(log, COLUMNS)
        if inputs is not None and len(observed):
            found.append((inputs.population_in(observed), observed))
    played = [one for log in logs if (one := seen(log, set(people.played(log)))) is not None]
    return _memory(found, played)


def of_people(log: Log, present: Array, observed: Observations) -> Memory | None:
    """Memory by user of a log without interactions; None where it was not recorded.

    Parameters
    ----------
    log : Log
    present : array
        Number of users in each interval.
    observed : Observations
        With `COLUMNS`.
    """
    found = seen(log, None)
    return _memory([(present, observed)], [] if found is None else [found])


def _memory(counted: Sequence[tuple[Array, Observations]], seen: Sequence[Seen]) -> Memory | None:
    users, used, total = [], [], 0.0
    swaps: list[float] = []
    for number, observed in counted:
        in_use = observed.columns["memory_total_bytes"] - observed.columns["memory_available_bytes"]
        known = ~np.isnan(number) & ~np.isnan(in_use)
        if known.any():
            total = max(total, float(np.nanmax(observed.columns["memory_total_bytes"])))
            swaps += observed.columns["swap_total_bytes"][known].tolist()
            users.append(np.rint(number[known]))
            used.append(in_use[known])
    if not users or not total:
        return None
    at, in_use = np.concatenate(users), np.concatenate(used)
    each = np.concatenate([one.means for one in seen]) if seen else np.empty(0)
    levels = np.unique(at)
    means = np.array([in_use[at == one].mean() for one in levels])
    rises = len(levels) >= LEVELS_LEAST and levels.max() >= RISE_LEAST * max(levels.min(), 1.0)
    once = len(seen) > 0 and all(one.shared_once for one in seen)
    candidates = [growth(levels, means)] if rises else []
    if len(each) > 1 and (once or not rises):
        candidates.append(batch_means.plain_mean(each.tolist()).with_unit("byte"))
    if not candidates:
        return None
    # Where shared pages are counted once, both say the same, each as well as its interval is narrow: memory
    # that others take and give back hides the growth.
    user = min(candidates, key=_relative_width)
    mean = float(each.mean()) if len(each) else math.nan
    # Between users and over time; in proportion, where the growth says how much a user takes.
    spread = math.hypot(_deviation(each), math.sqrt(np.mean([one.within for one in seen]))) if seen else 0.0
    relative = spread / mean if mean > 0.0 else 0.0
    return Memory(
        total_bytes=total,
        base_bytes=max(float(np.mean(means - user.value * levels)), 0.0),
        user=user,
        user_sd_bytes=relative * user.value,
        skewness=_skewness(each),
        seen=len(each),
        largest_bytes=max((one.largest for one in seen), default=math.nan),
        peak=int(levels.max()),
        swap_bytes=float(np.nanmax(swaps)) if not np.isnan(swaps).all() else None,
        shared_once=rises or once,
    )


def _relative_width(estimate: Estimate) -> float:
    if estimate.low is None or estimate.high is None or not estimate.value > 0.0:
        return math.inf
    return (estimate.high - estimate.low) / estimate.value


def _deviation(values: Array) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _skewness(values: Array) -> float:
    """Skewness of a sample, as far as so few values can have one: 0 to 2."""
    if len(values) < 3:
        return 0.0
    spread = float(values.std())
    if not spread > 1e-9 * abs(float(values.mean())):
        return 0.0
    return float(np.clip(np.mean(((values - values.mean()) / spread) ** 3), 0.0, 2.0))


def growth(levels: Array, means: Array) -> Estimate:
    """Growth of the memory in use for a further user, by the line through the means of the levels."""
    from scipy import stats

    line = stats.linregress(levels, means)
    reach = float(stats.t.ppf(0.975, len(levels) - 2)) * float(line.stderr)
    slope = max(float(line.slope), 0.0)
    return Estimate(
        value=slope,
        unit="byte",
        low=max(slope - reach, 0.0),
        high=slope + reach,
        n=len(levels),
        method="slope of the memory in use against users",
    )


def seen(log: Log, chosen: set[str] | None) -> Seen | None:
    """Memory of the users in `chosen`, or of all people: from `presence`, otherwise from `users`."""
    if log.has("presence"):
        found = _of_table(log, "presence", chosen, AMOUNTS)
        if found is not None:
            return found
    return _of_table(log, "users", chosen, (RESIDENT,)) if log.has("users") else None


def _of_table(log: Log, table: str, chosen: set[str] | None, columns: Sequence[str]) -> Seen | None:
    import polars as pl

    names = {item.name for item in log.schema(table)}
    values: dict[str, list[float]] = {}
    largest = 0.0
    kinds = people.kinds(log)
    known = [name for name in columns if name in names and _has_values(log, table, name)]
    if not known:
        return None
    used = known[0]
    column = pl.col(used).cast(pl.Float64)
    swap = pl.col("swap_bytes").cast(pl.Float64).fill_null(0.0) if "swap_bytes" in names else pl.lit(0.0)
    resident = pl.col(known[-1]).cast(pl.Float64)
    for part in log.in_turn(table):
        rows = part.select("user", mine=column + swap, resident=resident).drop_nulls(["user", "mine"])
        for user, mine, whole in rows.collect().iter_rows():
            if user in chosen if chosen is not None else people.is_person(user, kinds.get(user)):
                values.setdefault(user, []).append(mine)
                largest = max(largest, whole or 0.0)
    if not values:
        return None
    return Seen(
        means=np.array([float(np.mean(one)) for one in values.values()]),
        within=float(np.mean([float(np.var(one)) for one in values.values()])),
        largest=largest,
        shared_once=used in AMOUNTS[:2],
    )


def _has_values(log: Log, table: str, name: str) -> bool:
    frame: pl.DataFrame = getattr(log, table)().select(name).drop_nulls().head(1).collect()
    return len(frame) > 0
