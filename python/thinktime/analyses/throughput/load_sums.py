"""Sums of every quantity by range of load and batch, from one pass over a log of any length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.log import loads, observations, users
from thinktime.log.alongside import alongside
from thinktime.stats.series import batch_means
from thinktime.stats.series.batch_means import GrowingBatches

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from thinktime.log import Log
    from thinktime.log.observations import Observations, Quantity
    from thinktime.log.playing import Playing

STRETCHES_MIN, STRETCHES_MAX = 8, 30
SPREAD_MIN = 4.0
"""Fewest equal stretches of time over which a range of load must be spread to take its error from them."""
GROUPS_MAX = 200
"""Largest number of ranges of load: nobody reads more, and each takes memory for its sums."""
DERIVED = ("interactions", "per_capita", "overhead", "load", "time")
"""Quantities that are not columns."""

_Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Measure of the load of an interval."""

    name: str
    """A column, or ``population``: the synthetic users playing, by the interactions."""
    unit: str
    low: float
    high: float
    """Least and greatest load of the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Amounts and the bases they are divided by, for each quantity, range of load and batch."""

    names: tuple[str, ...]
    """Quantities: the measures by name, then `DERIVED`."""
    width: int
    own: GrowingBatches
    """Batches of each range's own observations: one clock per range."""
    time: GrowingBatches
    """Stretches of time, with the sums of each range in them: one clock, one slot per range."""
    negative: tuple[bool, ...]
    extents: tuple[_Array, _Array] | None = None
    """Least and greatest load, in whole users, that occurred in each range; None if a width was asked for."""
    n: int
    """Observations with a load."""
    time_s: float
    """Total length of these observations."""

    def column(self, name: str) -> int:
        """Index of the first of the three sums of quantity `name`: amount, base, count."""
        return 3 * self.names.index(name)

    def counts(self, name: str) -> NDArray[np.int64]:
        """Observations in which the quantity was measured, by range."""
        return np.rint(self.own.totals()[self.column(name) + 2, :, 0]).astype(np.int64)

    def batched(self, name: str, number: int) -> tuple[_Array, _Array, int]:
        """Amounts and bases of a range's batches, where it was measured, and its observations."""
        index = self.column(name)
        sums = self.own.sums(number)[index : index + 3, :, 0]
        sums = sums[:, sums[2] > 0.0]
        n = round(float(sums[2].sum()))
        return sums[0], sums[1], n

    def stretches(self, name: str, number: int) -> tuple[_Array, _Array]:
        """Amounts and bases by stretch of time and range; shape (stretches, ranges)."""
        index = self.column(name)
        amounts, bases = batch_means.join_batches(self.time.sums(0)[index : index + 2], number)
        return amounts, bases

    def bounds(self, number: int) -> tuple[float, float]:
        """Lowest and highest load of a range.

        By default both occurred: nobody should read of 34 users where there were 33.
        """
        if self.extents is None:
            return loads.bounds(number, self.width)
        least, most = self.extents
        return float(least[number]), float(most[number])

    @property
    def ranges(self) -> int:
        """Ranges of load, those without an observation among them."""
        return len(self.counts("load"))


def stretches_for(n: int) -> int:
    """Number of stretches of time for n observations: about :math:`2 n^{1/3}`, 8 to 30.

    Few and long, so that correlated observations fall into one; enough to estimate an error from.
    """
    return int(np.clip(round(2.0 * np.cbrt(n)), STRETCHES_MIN, STRETCHES_MAX))


def _ranges(load: Load, width: int | None) -> tuple[int, int]:
    """Width of the ranges of load and their number.

    Raises
    ------
    InputError
        The width makes more than `GROUPS_MAX` ranges.
    """
    chosen = loads.width_for(load.high) if width is None else width
    count = int(loads.numbers(np.array([load.high]), chosen)[0]) + 1
    if count > GROUPS_MAX + 1:
        raise InputError(
            f"width: {chosen} makes {count - 1} ranges up to a load of {load.high:.6g}, but the most is "
            f"{GROUPS_MAX}; increase it"
        )
    return chosen, count


def measures_of(log: Log) -> tuple[Quantity, ...]:
    """User, system and idle time, then every kind of request."""
    times = tuple(
        observations.Quantity(name=role, label=role.replace("_", " "), unit="s", columns=columns)
        for role in ("user_time", "system_time", "idle_time")
        if (columns := observations.role_columns(log, role))
    )
    requests = observations.role_columns(log, "request")
    sum_of = {
        column: name for name, parts in observations.SUMS.items() for column in parts if name != "page_faults"
    }
    names = dict.fromkeys(sum_of.get(column, column) for column in requests)
    return times + observations.quantities(log, list(names))


def load_of(log: Log, arrivals: Playing | None, requested: str | None) -> Load | None:
    """Measure of the load: the requested one, the users who were played, or a column that varies.

    None if no load was measured.

    Raises
    ------
    InputError
        `asked` is neither ``population`` nor a column of the samples.
    """
    schema = {column.name: column for column in log.schema("samples")}
    if requested not in (None, "population", *schema):
        offered = ", ".join(["population", *observations.role_columns(log, "load")])
        raise InputError(
            f"load: {log.path} has no column {requested!r}; loads are {offered}, or any other column"
        )
    played = None if arrivals is None else _played(log, arrivals)
    if played is not None and (requested == "population" or (requested is None and played[1])):
        return played[0]
    candidates = [requested] if requested else list(observations.role_columns(log, "load"))
    extents = observations.extents(log, candidates)
    columns = [
        Load(name=name, unit=schema[name].unit, low=extents[name][0], high=extents[name][1])
        for name in candidates
        if name in extents and name != "population"
    ]
    varying = [load for load in columns if requested or load.low < load.high]
    if varying:
        return varying[0]
    if played is not None and played[0].low < played[0].high and not requested:
        return played[0]
    return columns[0] if columns else None


def _played(log: Log, arrivals: Playing) -> tuple[Load, bool] | None:
    """Load by users who were played, and whether they varied and played most of the time."""
    low, high, counted, n = np.inf, -np.inf, 0, 0
    for chunk in observations.chunks(log, []):
        population = arrivals.population_in(chunk)
        present = population[~np.isnan(population)]
        low, high = np.min(present, initial=low), np.max(present, initial=high)
        counted, n = counted + len(present), n + len(chunk)
    if not counted:
        return None
    load = Load(name="population", unit="user", low=float(low), high=float(high))
    return load, bool(low < high and counted > 0.5 * n)


def gather(log: Log, load: Load, width: int | None = None, arrivals: Playing | None = None) -> Sums:
    """Sum every measure by load and batch, in one pass.

    Raises
    ------
    InputError
        The width makes more than `GROUPS_MAX` ranges.
    """
    chosen, ranges = _ranges(load, width)
    measures = measures_of(log)
    names = (*(item.name for item in measures), *DERIVED)
    own, time = GrowingBatches(ranges, 1, 3 * len(names)), GrowingBatches(1, ranges, 3 * len(names))
    negative = np.zeros(len(names), dtype=np.bool_)
    columns = [column for item in measures for column in item.columns]
    wanted = columns if load.name == "population" else [*columns, load.name]
    least, most = np.full(ranges, np.inf), np.full(ranges, -np.inf)
    n, time_s = 0, 0.0
    for chunk, own_user in _with_own_time(log, load, wanted):
        if load.name != "population":
            value = chunk.columns[load.name]
        else:
            value = arrivals.population_in(chunk) if arrivals else np.full(len(chunk), np.nan)
        measured = ~np.isnan(value)
        pairs = _pairs(chunk, measures, value, arrivals, own_user)
        if not measured.all():
            value = value[measured]
            bases = {id(base): base[measured] for _, base in pairs}
            pairs = [(amount[measured], bases[id(base)]) for amount, base in pairs]
        n, time_s = n + len(value), time_s + float(chunk.length_s[measured].sum())
        negative |= [bool((amount < 0.0).any()) for amount, _ in pairs]
        cells = loads.numbers(value, chosen)
        np.minimum.at(least, cells, np.rint(value))
        np.maximum.at(most, cells, np.rint(value))
        none = np.zeros(len(cells), dtype=np.int64)
        sums = _columns(pairs)
        own.add(cells, none, sums)
        time.add(none, cells, sums)
    return Sums(
        names=names,
        width=chosen,
        own=own,
        time=time,
        negative=tuple(map(bool, negative)),
        extents=(least, most) if width is None else None,
        n=n,
        time_s=time_s,
    )


def _with_own_time(log: Log, load: Load, wanted: list[str]) -> Iterator[tuple[Observations, _Array | None]]:
    """Pieces of the samples, each with the user time of the users who are the load.

    None where all user time counts as theirs: the load is no play, or the log does not name the sessions of
    those who played (simulated users have a machine of their own). Nan where it names them, and has no rows
    of them: they played on another machine, or users were not recorded by session.
    """
    import polars as pl

    sessions = list(users.played(log)) if load.name == "population" else []
    names = [column.name for column in log.schema("users")] if log.has("users") else []

    def own(part: pl.LazyFrame) -> pl.LazyFrame:
        theirs = part.filter(pl.col("user").is_in(sessions))
        return theirs.select(pl.col("start").dt.epoch("us"), user_s=users.column(names, "user_s"))

    seen = bool(sessions and names) and any(
        own(part).filter(pl.col("user_s") > 0.0).head(1).collect().height for part in log.in_turn("users")
    )
    if not seen:
        for chunk in observations.chunks(log, wanted):
            yield chunk, np.full(len(chunk), np.nan) if sessions else None
        return
    pieces = observations.held(lambda: observations.chunks(log, wanted))
    for piece, frames in alongside(log, "users", pieces, own):
        time = np.zeros(len(piece))
        for frame, place in frames:
            np.add.at(time, place, frame["user_s"].fill_null(0.0).to_numpy())
        yield piece, time


def _pairs(
    chunk: Observations,
    measures: tuple[Quantity, ...],
    load: _Array,
    arrivals: Playing | None,
    own_user: _Array | None,
) -> list[tuple[_Array, _Array]]:
    """Amount and base of every quantity in each interval, in the order of `Sums.names`."""
    unknown = np.full(len(chunk), np.nan)
    amounts = {item.name: chunk.total(item.columns) for item in measures}
    one = np.ones(len(chunk))
    user, system = amounts.get("user_time", unknown), amounts.get("system_time", unknown)
    return [
        *((amount, chunk.length_s) for amount in amounts.values()),
        (unknown if arrivals is None else arrivals.completed_in(chunk), chunk.length_s),
        (user if own_user is None else own_user, chunk.length_s * load),
        (system, user),
        (load, one),
        (chunk.length_s, one),
    ]


def _columns(pairs: list[tuple[_Array, _Array]]) -> list[tuple[_Array, list[int]]]:
    """Values and the columns they are summed into; bases that are the same are summed once."""
    shared: dict[int, tuple[_Array, list[int]]] = {}
    ones: list[int] = []
    columns: list[tuple[_Array, list[int]]] = []
    for index, (amount, base) in enumerate(pairs):
        measured = ~(np.isnan(amount) | np.isnan(base))
        if measured.all():
            columns.append((amount, [3 * index]))
            shared.setdefault(id(base), (base, []))[1].append(3 * index + 1)
            ones.append(3 * index + 2)
        elif measured.any():
            columns.append((np.where(measured, amount, 0.0), [3 * index]))
            columns.append((np.where(measured, base, 0.0), [3 * index + 1]))
            columns.append((measured.astype(np.float64), [3 * index + 2]))
    if pairs and ones:
        columns.append((np.ones(len(pairs[0][0])), ones))
    return [*columns, *shared.values()]
