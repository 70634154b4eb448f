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
    samples = observations.read(log, [column.name for column in schema])
    if not len(samples):
        return NotApplicable("the log has no samples", "record with `thinktime record`")
    chosen = facts.chosen_loads(log)
    rates, absent, zero = [], [], []
    for column in schema:
        values = samples.columns[column.name]
        measured = ~np.isnan(values)
        if not measured.any():
            absent.append(column.name)
        elif column.kind == "counter" and not values[measured].any():
            zero.append(column.name)
        else:
            rate = _rate(column, values[measured], samples.length_s[measured], level)
            if chosen is not None:
                mean = rate.mean.without_interval(f"mean of a play of {chosen} users")
                rate = dataclasses.replace(rate, mean=mean)
            rates.append(rate)
    return Rates(
        intervals=len(samples),
        time_s=float(samples.length_s.sum()),
        rates=tuple(rates),
        not_measured=tuple(absent),
        always_zero=tuple(zero),
        caveats=_caveats(samples, rates, chosen),
    )


def _rate(column: Column, values: Array, lengths: Array, level: float) -> Rate:
    counter = column.kind == "counter"
    unit = f"{column.unit}/s" if counter else column.unit
    single = values / lengths if counter else values
    mean = batch_means.batch_ratio(values if counter else values * lengths, lengths, level)
    correlation = float(batch_means.autocorrelation(single)[0])
    return Rate(
        column=column.name,
        description=column.description,
        kind="counter" if counter else "gauge",
        mean=mean.with_unit(unit),
        total=float(values.sum()) if counter else None,
        lowest=float(single.min()),
        highest=float(single.max()),
        autocorrelation=None if np.isnan(correlation) else correlation,
    )


def _caveats(samples: observations.Observations, rates: list[Rate], chosen: str | None) -> tuple[Caveat, ...]:
    caveats = []
    if chosen is not None:
        caveats.append(Caveat("loads_chosen", users=chosen))
    elif len(samples) < FEW_INTERVALS:
        caveats.append(Caveat("few_intervals", intervals=len(samples)))
    elif drifting := [
        rate.column for rate in rates if rate.autocorrelation and rate.autocorrelation > DRIFTS
    ]:
        caveats.append(
            Caveat("drifting", series=len(drifting), of=len(rates), above=DRIFTS, example=drifting[0])
        )
    if samples.dropped:
        caveats.append(Caveat("no_length", rows=samples.dropped))
    return tuple(caveats)
