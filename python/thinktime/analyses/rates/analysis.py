"""Mean rate of every counter and mean of every gauge, with confidence intervals."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from thinktime.log import facts, observations
from thinktime.questions.checks import check_level, check_log
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    from thinktime.log import Column, Log
    from thinktime.log.observations import Observations

Array = NDArray[np.float64]

FEW_INTERVALS = 16
"""Number of intervals below which there are too few batches."""
DRIFTS = 0.8
"""Autocorrelation above which a series counts as drifting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One column of the samples over the whole log."""

    column: str
    description: str
    kind: Literal["counter", "gauge"]
    mean: Estimate
    """Counter: amount per second (unit ``fork/s``; ``s/s`` of CPU time); gauge: mean over time."""
    total: float | None
    """Amount of a counter in the whole log, in the unit of the column; None for a gauge."""
    lowest: float
    """Smallest value of one interval, in the unit of `mean`."""
    highest: float
    """Largest value of one interval, in the unit of `mean`."""
    autocorrelation: float | None
    """Correlation of successive intervals; None if the value never changes."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Rates(Result):
    """Rate of every counter and mean of every gauge."""

    MAIN = "rates"

    intervals: int
    time_s: float
    """Measured time, without gaps between sessions."""
    rates: tuple[Rate, ...]
    not_measured: tuple[str, ...]
    """Columns that are null in every interval."""
    always_zero: tuple[str, ...]
    """Counters that never increased: nothing happened, or this kernel does not count it."""
    caveats: tuple[Caveat, ...]


def analyse(log: Log, *, level: float = 0.95) -> Rates | NotApplicable:
    r"""Mean rate of every counter and mean over time of every gauge, with confidence intervals.

    For a counter with amounts :math:`a_i` in intervals of lengths :math:`l_i`, the rate is
    :math:`\sum a_i / \sum l_i` (differences over elapsed time: Bard 1971, Table 2 and equation 2); the mean
    of a gauge weights each reading with the length of its interval. Confidence intervals hold under
    autocorrelation (`stats.series.batch_means.batch_ratio`). They describe the load that was recorded, not
    that of another day. Means of a play that stepped through numbers of users have none, since how long each
    number lasted was chosen.

    Parameters
    ----------
    log : Log
    level : float
        Confidence of the intervals.

    Raises
    ------
    TypeError
        `log` is not a `Log`.
    InputError
        `level` is not a confidence.
    """
    check_log(log)
    check_level(level)
    schema = [column for column in log.schema("samples") if column.kind in ("counter", "gauge")]
    names = [column.name for column in schema]
    pieces = observations.held(lambda: observations.chunks(log, names))
    intervals, time_s, dropped, absent = 0, 0.0, 0, frozenset[str]()
    firsts = {column.name: _First(column) for column in schema}
    for piece in pieces():
        intervals, time_s = intervals + len(piece), time_s + float(piece.length_s.sum())
        dropped, absent = dropped + piece.dropped, piece.absent
        for column in schema:
            if column.name not in absent:
                firsts[column.name].absorb(piece)
    if not intervals:
        return NotApplicable("the log has no samples", "record with `thinktime record`")
    known = [first for name, first in firsts.items() if name not in absent]
    seconds = [_Second(first) for first in known if first.any]
    for piece in pieces():
        for second in seconds:
            second.absorb(piece)
    chosen = facts.chosen_loads(log)
    rates = [second.rate(level) for second in seconds]
    if chosen is not None:
        method = f"mean of a play of {chosen} users"
        rates = [dataclasses.replace(rate, mean=rate.mean.without_interval(method)) for rate in rates]
    return Rates(
        intervals=intervals,
        time_s=time_s,
        rates=tuple(rates),
        not_measured=tuple(name for name in names if name in absent),
        always_zero=tuple(first.column.name for first in known if not first.any),
        caveats=_caveats(intervals, dropped, rates, chosen),
    )


class _First:
    """What is known of a column after a first look: number, total, and extremes of its values."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.is_counter = column.kind == "counter"
        self.n, self.total, self.sum = 0, 0.0, 0.0
        self.lowest, self.highest = np.inf, -np.inf
        self.any = not self.is_counter
        """False for a counter that never increased."""

    def absorb(self, piece: Observations) -> None:
        values, lengths = self.measured(piece)
        if len(values):
            single = values / lengths if self.is_counter else values
            self.n += len(values)
            self.total += float(values.sum())
            self.sum += float(single.sum())
            self.lowest = min(self.lowest, float(single.min()))
            self.highest = max(self.highest, float(single.max()))
            self.any = self.any or bool(values.any())

    def measured(self, piece: Observations) -> tuple[Array, Array]:
        """Values of the intervals that have one, and their lengths."""
        values = piece.columns[self.column.name]
        known = ~np.isnan(values)
        return values[known], piece.length_s[known]


class _Second:
    """The second look: sums of batches, whose number is known now, and correlation about the mean."""

    def __init__(self, first: _First) -> None:
        self._first = first
        self._batches = batch_means.Batches(first.n, 1)
        self._correlation = batch_means.Autocorrelation(1)
        self._mean = first.sum / first.n

    def absorb(self, piece: Observations) -> None:
        values, lengths = self._first.measured(piece)
        is_counter = self._first.is_counter
        self._batches.absorb((values if is_counter else values * lengths)[:, None], lengths)
        self._correlation.absorb((values / lengths if is_counter else values) - self._mean)

    def rate(self, level: float) -> Rate:
        first, column = self._first, self._first.column
        unit = f"{column.unit}/s" if first.is_counter else column.unit
        size = max(abs(first.lowest), abs(first.highest))
        correlation = float(self._correlation.values(size)[0])
        return Rate(
            column=column.name,
            description=column.description,
            kind="counter" if first.is_counter else "gauge",
            mean=self._batches.interval(0, level).with_unit(unit),
            total=first.total if first.is_counter else None,
            lowest=first.lowest,
            highest=first.highest,
            autocorrelation=None if np.isnan(correlation) else correlation,
        )


def _caveats(intervals: int, dropped: int, rates: list[Rate], chosen: str | None) -> tuple[Caveat, ...]:
    caveats = []
    if chosen is not None:
        caveats.append(Caveat("loads_chosen", users=chosen))
    elif intervals < FEW_INTERVALS:
        caveats.append(Caveat("few_intervals", intervals=intervals))
    elif drifting := [
        rate.column for rate in rates if rate.autocorrelation and rate.autocorrelation > DRIFTS
    ]:
        caveats.append(
            Caveat("drifting", series=len(drifting), of=len(rates), above=DRIFTS, example=drifting[0])
        )
    if dropped:
        caveats.append(Caveat("no_length", rows=dropped))
    return tuple(caveats)
