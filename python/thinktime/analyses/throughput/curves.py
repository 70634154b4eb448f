"""What throughput is computed from: sums by load, of one pass over a log of any length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log import loads, observations
from thinktime.stats.series import batch_means
from thinktime.stats.series.batch_means import Batched

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.interactions import Interactions
    from thinktime.log.observations import Observations, Quantity

__all__ = [
    "GROUPS_MAX",
    "OWN",
    "SPREAD_MIN",
    "Load",
    "Sums",
    "gather",
    "load_of",
    "measures_of",
    "stretches_for",
]

STRETCHES_MIN, STRETCHES_MAX = 8, 30
SPREAD_MIN = 4.0
"""Fewest equal stretches of time that a range of load is spread over for its error to be seen in them."""
GROUPS_MAX = 200
"""Ranges of load that are kept apart; more would not be read, and each has sums of its own."""
OWN = ("interactions", "per_capita", "overhead", "load", "time")
"""Quantities that are not columns."""

_Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Load:
    """What measures the load of an interval."""

    name: str
    """A column, or ``population``: the synthetic users playing, by the interactions."""
    unit: str
    low: float
    high: float
    """Least and greatest load of the log."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Amounts and the bases they are divided by, for each quantity, range of load and batch."""

    names: tuple[str, ...]
    """Quantities: the measures by name, then `OWN`."""
    width: int
    own: Batched
    """Batches of each range's own observations: a clock a range."""
    time: Batched
    """Stretches of time, with what each range did in them: one clock, a slot a range."""
    negative: tuple[bool, ...]
    n: int
    """Observations with a load."""
    time_s: float
    """Their length together."""

    def column(self, name: str) -> int:
        """Where the sums of quantity `name` begin: amount, base, number."""
        return 3 * self.names.index(name)

    def counts(self, name: str) -> NDArray[np.int64]:
        """Observations in which the quantity was measured, by range."""
        return np.rint(self.own.totals()[self.column(name) + 2, :, 0]).astype(np.int64)

    def batched(self, name: str, number: int) -> tuple[_Array, _Array, int]:
        """Amounts and bases of a range's batches, where it was measured, and its observations."""
        at = self.column(name)
        sums = self.own.sums(number)[at : at + 3, :, 0]
        sums = sums[:, sums[2] > 0.0]
        n = round(float(sums[2].sum()))
        amounts, bases, _ = batch_means.joined(sums, batch_means.batches_for(n)) if n else sums
        return amounts, bases, n

    def stretches(self, name: str, number: int) -> tuple[_Array, _Array]:
        """Return amounts and bases by stretch of time and range; shape (stretches, ranges)."""
        at = self.column(name)
        amounts, bases = batch_means.joined(self.time.sums(0)[at : at + 2], number)
        return amounts, bases

    @property
    def ranges(self) -> int:
        """Ranges of load, those without an observation among them."""
        return len(self.counts("load"))


def stretches_for(n: int) -> int:
    """Return into how many stretches of time n observations are cut: about :math:`2 n^{1/3}`, 8 to 30.

    Few and long, since what is correlated must fall into one, and enough to estimate an error from.
    """
    return int(np.clip(round(2.0 * np.cbrt(n)), STRETCHES_MIN, STRETCHES_MAX))


def _ranges(load: Load, width: int | None) -> tuple[int, int]:
    """Width of the ranges of load and their number.

    Raises
    ------
    ValueError
        The width makes more than `GROUPS_MAX` ranges.
    """
    chosen = loads.width_for(load.high) if width is None else width
    count = int(loads.numbers(np.array([load.high]), chosen)[0]) + 1
    if count > GROUPS_MAX + 1:
        raise ValueError(
            f"ranges of width {chosen} up to a load of {load.high:.6g} are {count - 1}; "
            f"the most is {GROUPS_MAX}"
        )
    return chosen, count


def measures_of(log: Log) -> tuple[Quantity, ...]:
    """User, system and idle time, then every kind of request."""
    times = tuple(
        observations.Quantity(role, role.replace("_", " "), "s", columns)
        for role in ("user_time", "system_time", "idle_time")
        if (columns := observations.role_columns(log, role))
    )
    requests = observations.role_columns(log, "request")
    whole = {
        column: name for name, parts in observations.SUMS.items() for column in parts if name != "page_faults"
    }
    names = dict.fromkeys(whole.get(column, column) for column in requests)
    return times + observations.quantities(log, list(names))


def load_of(log: Log, arrivals: Interactions | None, asked: str | None) -> Load | None:
    """Choose what measures the load: what was asked for, users played, or a column that varies.

    None where it was not measured.
    """
    schema = {column.name: column for column in log.schema("samples")}
    played = None if arrivals is None else _played(log, arrivals)
    if played is not None and (asked == "population" or (asked is None and played[1])):
        return played[0]
    candidates = [asked] if asked else list(observations.role_columns(log, "load"))
    found = observations.extents(log, candidates)
    columns = [
        Load(name, schema[name].unit, *found[name])
        for name in candidates
        if name in found and name != "population"
    ]
    varying = [load for load in columns if asked or load.low < load.high]
    if varying:
        return varying[0]
    if played is not None and played[0].low < played[0].high and not asked:
        return played[0]
    return columns[0] if columns else None


def _played(log: Log, arrivals: Interactions) -> tuple[Load, bool] | None:
    """Load by users who were played, and whether they varied and played most of the time."""
    low, high, known, n = np.inf, -np.inf, 0, 0
    for seen in observations.chunks(log, []):
        population = arrivals.population_in(seen)
        present = population[~np.isnan(population)]
        low, high = np.min(present, initial=low), np.max(present, initial=high)
        known, n = known + len(present), n + len(seen)
    if not known:
        return None
    return Load("population", "user", float(low), float(high)), bool(low < high and known > 0.5 * n)


def gather(log: Log, load: Load, width: int | None = None, arrivals: Interactions | None = None) -> Sums:
    """Sum every measure by load and batch, in one pass.

    Raises
    ------
    ValueError
        The width makes more than `GROUPS_MAX` ranges.
    """
    chosen, ranges = _ranges(load, width)
    measures = measures_of(log)
    names = (*(item.name for item in measures), *OWN)
    own, time = Batched(ranges, 1, 3 * len(names)), Batched(1, ranges, 3 * len(names))
    negative = np.zeros(len(names), dtype=np.bool_)
    columns = [column for item in measures for column in item.columns]
    wanted = columns if load.name == "population" else [*columns, load.name]
    n, time_s = 0, 0.0
    for seen in observations.chunks(log, wanted):
        if load.name != "population":
            value = seen.columns[load.name]
        else:
            value = arrivals.population_in(seen) if arrivals else np.full(len(seen), np.nan)
        known = ~np.isnan(value)
        pairs = _pairs(seen, measures, value, arrivals)
        if not known.all():
            value = value[known]
            bases = {id(base): base[known] for _, base in pairs}
            pairs = [(amount[known], bases[id(base)]) for amount, base in pairs]
        n, time_s = n + len(value), time_s + float(seen.length_s[known].sum())
        negative |= [bool((amount < 0.0).any()) for amount, _ in pairs]
        cells = loads.numbers(value, chosen)
        none = np.zeros(len(cells), dtype=np.int64)
        sums = _columns(pairs)
        own.add(cells, none, sums)
        time.add(none, cells, sums)
    return Sums(names, chosen, own, time, tuple(map(bool, negative)), n, time_s)


def _pairs(
    seen: Observations, measures: tuple[Quantity, ...], load: _Array, arrivals: Interactions | None
) -> list[tuple[_Array, _Array]]:
    """Amount and base of every quantity in each interval, in the order of `Sums.names`."""
    unknown = np.full(len(seen), np.nan)
    amounts = {item.name: seen.total(item.columns) for item in measures}
    one = np.ones(len(seen))
    user, system = amounts.get("user_time", unknown), amounts.get("system_time", unknown)
    return [
        *((amount, seen.length_s) for amount in amounts.values()),
        (unknown if arrivals is None else arrivals.completed_in(seen), seen.length_s),
        (user, seen.length_s * load),
        (system, user),
        (load, one),
        (seen.length_s, one),
    ]


def _columns(pairs: list[tuple[_Array, _Array]]) -> list[tuple[_Array, list[int]]]:
    """Values and the columns they are summed into; bases that are the same are summed once."""
    shared: dict[int, tuple[_Array, list[int]]] = {}
    ones: list[int] = []
    found: list[tuple[_Array, list[int]]] = []
    for at, (amount, base) in enumerate(pairs):
        known = ~(np.isnan(amount) | np.isnan(base))
        if known.all():
            found.append((amount, [3 * at]))
            shared.setdefault(id(base), (base, []))[1].append(3 * at + 1)
            ones.append(3 * at + 2)
        elif known.any():
            found.append((np.where(known, amount, 0.0), [3 * at]))
            found.append((np.where(known, base, 0.0), [3 * at + 1]))
            found.append((known.astype(np.float64), [3 * at + 2]))
    if pairs and ones:
        found.append((np.ones(len(pairs[0][0])), ones))
    return [*found, *shared.values()]
