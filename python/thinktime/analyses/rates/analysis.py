"""How much of everything happened a second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from thinktime.log import observations
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    from thinktime.log import Column, Log

__all__ = ["Rate", "Rates", "analyse"]

Array = NDArray[np.float64]

FEW_INTERVALS = 16
DRIFTS = 0.8


@dataclass(frozen=True, slots=True)
class Rate:
    """One column of the samples over the whole log."""

    column: str
    description: str
    kind: Literal["counter", "gauge"]
    mean: Estimate
    """Of a counter, amount per second (unit ``fork/s``; ``s/s`` of CPU time); a gauge's mean over time."""
    total: float | None
    """Of a counter, the amount in the whole log, in the column's unit."""
    lowest: float
    """Smallest value of one interval, in the unit of `mean`."""
    highest: float
    """Largest value of one interval, in the unit of `mean`."""
    autocorrelation: float | None
    """Correlation of one interval's value with the next one's; None where it never changes."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Every counter per second and every gauge's mean."""

    intervals: int
    time_s: float
    """Measured time, gaps between sessions left out."""
    rates: tuple[Rate, ...]
    not_measured: tuple[str, ...]
    """Columns that are null in every interval."""
    always_zero: tuple[str, ...]
    """Counters that never moved: nothing happened, or this kernel does not count it."""
    caveats: tuple[str, ...]


def analyse(log: Log, *, level: float = 0.95) -> Rates | NotApplicable:
    r"""Every counter per second, every gauge as its mean over time, with intervals.

    For a counter with amounts :math:`a_i` in intervals of lengths :math:`l_i`, the rate is
    :math:`\sum a_i / \sum l_i` (differences over elapsed time: Bard 1971, Table 2 and equation 2); a gauge's
    mean weighs each reading with its interval. Intervals of confidence are from batch means, which hold under
    autocorrelation as long as a batch is longer than it (`stats.series.batch_ratio`). They say how well
    the log fixes the mean of the load *it saw*, not of another day's.

    Parameters
    ----------
    log : Log
    level : float
        Confidence of the intervals.
    """
    schema = [column for column in log.schema("samples") if column.kind in ("counter", "gauge")]
    seen = observations.read(log, [column.name for column in schema])
    if not len(seen):
        return NotApplicable("the log has no samples", "record with `thinktime record`")
    rates, absent, zero = [], [], []
    for column in schema:
        values = seen.columns[column.name]
        measured = ~np.isnan(values)
        if not measured.any():
            absent.append(column.name)
        elif column.kind == "counter" and not values[measured].any():
            zero.append(column.name)
        else:
            rates.append(_rate(column, values[measured], seen.length_s[measured], level))
    time_s = float(seen.length_s.sum())
    return Rates(len(seen), time_s, tuple(rates), tuple(absent), tuple(zero), _caveats(seen, rates))


def _rate(column: Column, values: Array, lengths: Array, level: float) -> Rate:
    counter = column.kind == "counter"
    unit = f"{column.unit}/s" if counter else column.unit
    single = values / lengths if counter else values
    mean = batch_means.batch_ratio(values if counter else values * lengths, lengths, level)
    follows = float(batch_means.autocorrelation(single)[0])
    return Rate(
        column.name,
        column.description,
        "counter" if counter else "gauge",
        mean.with_unit(unit),
        float(values.sum()) if counter else None,
        float(single.min()),
        float(single.max()),
        None if np.isnan(follows) else follows,
    )


def _caveats(seen: observations.Observations, rates: list[Rate]) -> tuple[str, ...]:
    caveats = []
    if len(seen) < FEW_INTERVALS:
        caveats.append(
            f"There are only {len(seen)} intervals: too few for batches, so the intervals of confidence take "
            "them as independent, which they are not, and are too narrow."
        )
    elif drifting := [
        rate.column for rate in rates if rate.autocorrelation and rate.autocorrelation > DRIFTS
    ]:
        caveats.append(
            f"{len(drifting)} of {len(rates)} series still follow their own past (autocorrelation above "
            f"{DRIFTS}), {drifting[0]} among them: their means depend on when the log began and ended."
        )
    if seen.dropped:
        caveats.append(f"{seen.dropped} rows without a positive length are left out.")
    return tuple(caveats)
