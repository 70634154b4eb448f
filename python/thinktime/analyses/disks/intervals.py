"""Sample intervals of the analysis of disks, and ratios over them with their confidence intervals."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.disks.result import Compared
from thinktime.errors import InputError
from thinktime.log import facts, observations
from thinktime.stats.estimate import Estimate
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    from thinktime.log import Log

Array = NDArray[np.float64]

DIFFERS_LEVEL = 0.99
ROUNDING = 1e-9
"""Differences of fractions below this are rounding."""
SLACK_S = 1e-6
"""Slack for start times, which are kept in microseconds."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Numerators and denominators of a ratio by interval; nan is not measured."""

    amounts: Array
    per: Array
    _: KW_ONLY
    n: int | None = None
    """Observations behind it; the number of intervals by default."""
    by: str = ""
    """Origin, for `Estimate.method`."""
    is_constant: bool = False
    """One value spread over its session: intervals within the session carry no information."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """Sample intervals in order, of the selected sessions and stretch."""

    session: NDArray[np.int64]
    """Number of the session of each interval."""
    start_us: NDArray[np.int64]
    since_s: Array
    """From the start of the session [s]."""
    length_s: Array
    columns: dict[str, Array]
    is_replicated: bool
    """True if the sessions are replications of one simulation: they then are the independent observations."""
    is_whole: bool
    """True if the sessions are used in full, except for their warm-up."""
    level: float
    negative: int
    """Values omitted because they are below zero, which is impossible for a counter."""
    dropped: int
    """Rows left out because their length is null or not positive."""

    def __len__(self) -> int:
        return len(self.length_s)

    @property
    def sessions(self) -> tuple[int, ...]:
        """Numbers of the sessions."""
        return tuple(np.unique(self.session).tolist())

    def column(self, name: str) -> Array:
        """Values of a column; nan throughout where the log lacks it."""
        return self.columns.get(name, np.full(len(self), np.nan))

    def has(self, name: str) -> bool:
        """True if a column was measured in any interval."""
        return bool(np.isfinite(self.column(name)).any())

    def total(self, names: Sequence[str]) -> Array:
        """Sum of those columns that were measured at all; nan where one of them is missing."""
        present = [self.column(name) for name in names if self.has(name)]
        return np.sum(present, axis=0) if present else np.full(len(self), np.nan)

    def rate(self, amounts: Array, unit: str) -> Estimate | None:
        """Amount per second."""
        return self.ratio(Reading(amounts, self.length_s), unit)

    def ratio(self, reading: Reading, unit: str, level: float | None = None) -> Estimate | None:
        r"""Ratio of sums; None where nothing was measured.

        .. math:: R = \sum_i a_i / \sum_i p_i

        The interval of confidence allows for the correlation of readings, which at clock ticks follow
        their own past; over several replications it is by Student's t on their sums
        (`stats.series.batch_means.batch_ratio`). The interval of a fraction
        of a whole is cut at one.
        """
        level = self.level if level is None else level
        measured = np.isfinite(reading.amounts) & np.isfinite(reading.per)
        amounts, per = reading.amounts[measured], reading.per[measured]
        if not len(per) or per.sum() <= 0.0:
            return None
        numbers, place = (
            np.unique(self.session[measured], return_inverse=True) if self.is_replicated else ((), None)
        )
        if place is not None and len(numbers) > 1:
            sums = np.bincount(place, amounts), np.bincount(place, per)
            interval = batch_means.batch_ratio(*sums, level, independent=True)
            how = f"ratio of sums, Student's t over {len(numbers)} replications"
        else:
            interval = batch_means.batch_ratio(amounts, per, level)
            how = interval.method
        if reading.is_constant and len(numbers) < 2:
            interval, how = dataclasses.replace(interval, low=None, high=None), "one run"
        method = f"{reading.by}, {how}" if reading.by else how
        if unit == "" and interval.high is not None and ((amounts >= 0.0) & (amounts <= per)).all():
            interval = dataclasses.replace(interval, high=min(interval.high, 1.0))
        n = len(amounts) if reading.n is None else reading.n
        return dataclasses.replace(interval.with_unit(unit), n=n, method=method)

    def compared(self, sampled: Reading | None, exact: Reading | None, unit: str = "") -> Compared:
        r"""Comparison of a sampled and an exact value of one quantity.

        The difference is :math:`\sum_i (s_i \sum p / \sum t - e_i) / \sum p` over intervals with both, where
        :math:`s_i` of :math:`t_i` readings and the amount :math:`e_i` of :math:`p_i`: variation that
        both have from interval to interval cancels in its confidence interval.
        """
        first = None if sampled is None else self.ratio(sampled, unit)
        second = None if exact is None else self.ratio(exact, unit)
        if sampled is None or exact is None or first is None or second is None:
            return Compared(sampled=first, exact=second)
        gap = _gap(sampled, exact)
        difference = self.ratio(gap, unit)
        strict = self.ratio(gap, unit, DIFFERS_LEVEL)
        if strict is None or strict.low is None or strict.high is None:
            return Compared(sampled=first, exact=second, difference=difference)
        differs = abs(strict.value) > ROUNDING and not strict.low <= 0.0 <= strict.high
        return Compared(sampled=first, exact=second, difference=difference, differs=differs)


def _gap(sampled: Reading, exact: Reading) -> Reading:
    """Sampled minus exact, interval by interval, on the scale of the exact value."""
    both = np.isfinite(sampled.amounts + sampled.per + exact.amounts + exact.per)
    per = float(exact.per[both].sum())
    readings = float(sampled.per[both].sum())
    scale = per / readings if readings > 0 else np.nan
    gaps = np.where(both, sampled.amounts * scale - exact.amounts, np.nan)
    return Reading(gaps, np.where(both, exact.per, np.nan), n=sampled.n, by="sampled less exact")


def read(
    log: Log,
    names: Sequence[str],
    *,
    session: int | None = None,
    start_s: float = 0.0,
    end_s: float | None = None,
    level: float = 0.95,
) -> Intervals:
    """Columns `names` of the samples in the selected intervals.

    Parameters
    ----------
    log : Log
    names : sequence of str
    session : int, optional
        Number of one session, from 0; all by default.
    start_s, end_s : float
        Intervals that lie wholly within this stretch of their session [s].
    level : float
        Confidence of the intervals.

    Raises
    ------
    InputError
        The log has no such session, or the stretch ends before it begins.
    """
    listed = facts.sessions(log)
    if session is not None and not 0 <= session < max(len(listed), 1):
        raise InputError(f"{log.path} has no session {session}; its sessions are 0 to {len(listed) - 1}")
    if not start_s >= 0.0 or (end_s is not None and not end_s > start_s):
        until = "its end" if end_s is None else f"{end_s:g} s"
        raise InputError(f"from {start_s:g} s to {until}: the end must come after the start, from 0 s on")
    samples = observations.read(log, names)
    number, since = _sessions(listed, samples.start_us)
    warm_up = [item.warm_up_s for item in listed] or [0.0]
    begin = np.maximum(np.array(warm_up)[number], start_s) if len(samples) else np.zeros(0)
    kept = since >= begin - SLACK_S
    if session is not None:
        kept &= number == session
    if end_s is not None:
        kept &= since + samples.length_s <= end_s + SLACK_S
    below = {name: values[kept] < 0.0 for name, values in samples.columns.items()}
    chosen = np.unique(number[kept])
    return Intervals(
        session=number[kept],
        start_us=samples.start_us[kept],
        since_s=since[kept],
        length_s=samples.length_s[kept],
        columns={
            name: np.where(below[name], np.nan, values[kept]) for name, values in samples.columns.items()
        },
        is_replicated=len(chosen) > 1 and all(listed[index].is_replication for index in chosen),
        is_whole=start_s == 0.0 and end_s is None,
        level=level,
        negative=sum(int(negative.sum()) for negative in below.values()),
        dropped=samples.dropped,
    )


def _sessions(
    listed: Sequence[facts.Session], start_us: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Array]:
    """Session of each interval, and the time since its start [s]."""
    begins = np.array([item.start_us for item in listed], dtype=np.int64)
    number = np.full(len(start_us), -1, dtype=np.int64)
    for index, item in enumerate(listed):
        after = begins[index + 1] if index + 1 < len(listed) else np.iinfo(np.int64).max
        end = item.end_us or after
        number[(start_us >= begins[index]) & (start_us < max(end, begins[index] + 1))] = index
    if not (number >= 0).any():
        # A log whose sessions lie elsewhere in time (an import, a test) is one stretch.
        first = start_us[0] if len(start_us) else 0
        return np.zeros(len(start_us), dtype=np.int64), (start_us - first) / 1e6
    # A row outside all sessions (the wall clock was set) belongs to that of the row before it.
    last = np.maximum.accumulate(np.where(number >= 0, np.arange(len(number)), -1))
    number = np.where(last >= 0, number[np.maximum(last, 0)], number[number >= 0][0])
    return number, (start_us - begins[number]) / 1e6
