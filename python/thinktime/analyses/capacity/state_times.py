"""Times of the CPU states as sums: what they are of the capacity, of an event, and between two of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.stats.estimate import Estimate
from thinktime.stats.series.batch_means import Batches

if TYPE_CHECKING:
    from thinktime.analyses.capacity.result import Use
    from thinktime.log.meters import Meter
    from thinktime.log.observations import Observations

Array = NDArray[np.float64]

CAPACITY, REST = "the capacity", "the rest"
"""Ratios of the time of all states to the time that passed, and of the system's time that no meter has to
that of
all states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTimes:
    """Times of the CPU states that were measured, in the intervals that have them all."""

    uses: dict[str, Use]
    """Use of each state, by its column."""
    ratios: dict[str, Batches]
    """Sums of amounts and of what they are related to (`wanted`); none where no interval has both."""
    meters: tuple[Meter, ...]
    """Those whose columns have values."""
    absent: tuple[str, ...]
    """Columns without a value."""
    chosen: str | None
    """Numbers of users through which a play stepped, see `facts.chosen_loads`."""

    @property
    def intervals(self) -> int:
        """Number of intervals."""
        return self.ratios[CAPACITY].n

    @property
    def measured_cpus(self) -> float:
        """Time of all states per second."""
        return self.ratios[CAPACITY].interval(0).value

    def of_use(self, use: Use) -> list[str]:
        """States of one use."""
        return [name for name, its in self.uses.items() if its == use]

    def share(self, name: str, level: float) -> Estimate:
        """Share of the capacity: of a state by its column, or of a use."""
        share = bounded(self.ratios[name].interval(0, level))
        if self.chosen is None:
            return share
        # How long each load lasted was chosen.
        return share.without_interval(f"share of a play of {self.chosen} users")

    def inside(self, name: str, level: float) -> Estimate | None:
        """Share of the capacity of a time that is included in the states; None if not measured."""
        return self.share(name, level) if name in self.ratios else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """Intervals that have all states, in a piece of the samples."""

    columns: Mapping[str, Array]
    length_s: Array

    def total(self, names: Sequence[str]) -> Array:
        """Sum of several columns in each interval."""
        result: Array = np.sum([self.columns[name] for name in names], axis=0) if names else 0 * self.length_s
        return result


Amount = Callable[[Intervals], Array]
Ratio = tuple[Amount, Amount]
"""Amount of each interval, and what it is related to; nan where either is not known."""


def complete(chunks: Iterable[Observations], uses: Iterable[str]) -> Iterator[Intervals]:
    """Intervals that have all states, a piece at a time."""
    for chunk in chunks:
        whole = ~np.isnan(np.column_stack([chunk.columns[name] for name in uses])).any(axis=1)
        yield Intervals(
            columns={name: values[whole] for name, values in chunk.columns.items()},
            length_s=chunk.length_s[whole],
        )


def wanted(
    uses: Mapping[str, Use],
    meters: Sequence[Meter],
    *,
    inside: Sequence[str] = (),
    gauges: Sequence[str] = (),
) -> dict[str, Ratio]:
    """Ratios by name: of states, uses, meters, and times inside them to the capacity; means of gauges."""

    def capacity(piece: Intervals) -> Array:
        return piece.total(list(uses))

    def length(piece: Intervals) -> Array:
        return piece.length_s

    def rest(piece: Intervals) -> Array:
        return of_use("system")(piece) - piece.total([meter.time for meter in meters])

    def of_use(use: Use) -> Amount:
        names = [name for name, its in uses.items() if its == use]
        return lambda piece: piece.total(names)

    ratios: dict[str, Ratio] = {CAPACITY: (capacity, length), REST: (rest, capacity)}
    ratios |= {name: (_column(name), capacity) for name in (*uses, *inside)}
    ratios |= {use: (of_use(use), capacity) for use in ("user", "system")}
    ratios |= {gauge_ratio(name): (_over_time(name), length) for name in gauges}
    for meter in meters:
        count, time = _column(meter.count), _column(meter.time)
        ratios[f"{meter.time} of all"] = (_where(time, count), capacity)
        ratios[f"{meter.time} of one"] = (time, count)
        ratios[f"{meter.time} between"] = (_where(length, time), count)
    return ratios


def gauge_ratio(name: str) -> str:
    """Name of the ratio that is the mean of a gauge."""
    return f"{name} over time"


def _column(name: str) -> Amount:
    return lambda piece: piece.columns[name]


def _over_time(name: str) -> Amount:
    return lambda piece: piece.columns[name] * piece.length_s


def _where(amount: Amount, other: Amount) -> Amount:
    """Amounts of the intervals in which the other is known."""
    return lambda piece: np.where(np.isnan(other(piece)), np.nan, amount(piece))


def of_pieces(pieces: Callable[[], Iterator[Intervals]], ratios: Mapping[str, Ratio]) -> dict[str, Batches]:
    """Sums of each ratio over the intervals in which it is known, whose number a first pass counts.

    The pieces are read twice and never held, so that memory does not grow with them.

    Parameters
    ----------
    pieces : callable
        Gives the pieces from the start, the same each time.
    ratios : mapping of str to Ratio
    """
    numbers = dict.fromkeys(ratios, 0)
    for piece in pieces():
        for name, ratio in ratios.items():
            numbers[name] += len(_known(piece, ratio)[0])
    sums = {name: Batches(number, 1) for name, number in numbers.items() if number}
    for piece in pieces():
        for name, batches in sums.items():
            amounts, related = _known(piece, ratios[name])
            batches.absorb(amounts[:, None], related)
    return sums


def _known(piece: Intervals, ratio: Ratio) -> tuple[Array, Array]:
    amounts, related = ratio[0](piece), ratio[1](piece)
    there = ~np.isnan(amounts) & ~np.isnan(related)
    return amounts[there], related[there]


def bounded(share: Estimate) -> Estimate:
    """Share of the capacity, 0 to 1, with an interval within these bounds."""
    low = None if share.low is None else max(0.0, share.low)
    high = None if share.high is None else min(1.0, share.high)
    return dataclasses.replace(share, low=low, high=high)
