"""Sample intervals of the analysis of disks, in pieces, and ratios over them with confidence intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.disks import formulas
from thinktime.analyses.disks.formulas import Array, Formula, Piece, Reading
from thinktime.analyses.disks.result import Compared
from thinktime.errors import InputError
from thinktime.log import facts, observations
from thinktime.log.observations import Observations
from thinktime.stats.estimate import Estimate
from thinktime.stats.series import batch_means
from thinktime.stats.series.batch_means import Batches
from thinktime.stats.series.looks import Asked, Looks, Request

if TYPE_CHECKING:
    from thinktime.log import Log

DIFFERS_LEVEL = 0.99
ROUNDING = 1e-9
"""Differences of fractions below this are rounding."""
SLACK_S = 1e-6
"""Slack for start times, which are kept in microseconds."""


@dataclass(slots=True)
class Fact:
    """What is known of the values of a formula over all intervals."""

    known: int = 0
    """Intervals in which it was measured."""
    total: float = 0.0
    highest: float = -np.inf

    @property
    def count(self) -> int:
        """Total as a whole number."""
        return int(self.total)


class _Facts(Request[Piece, dict[str, Fact]]):
    def __init__(self, formulas: Mapping[str, Formula]) -> None:
        self._formulas = formulas
        self._facts = {name: Fact() for name in formulas}

    def absorb(self, piece: Piece) -> None:
        for name, formula in self._formulas.items():
            values, fact = formula(piece), self._facts[name]
            known = np.isfinite(values)
            fact.known += int(np.count_nonzero(known))
            fact.total += float(np.nansum(values))
            fact.highest = max(fact.highest, float(np.max(values[known], initial=-np.inf)))

    def answer(self) -> dict[str, Fact]:
        return self._facts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Summed:
    """A reading summed up: its ratio, without origin and unit."""

    interval: Estimate
    how: str
    n: int
    sessions: int
    is_share: bool
    """True if no amount is negative or more than what it is divided by."""


class _Ratio(Request[Piece, "Callable[[float], _Summed | None]"]):
    """Ratio of sums of a reading: first its intervals are counted, then it is added up in batches."""

    def __init__(self, reading: Reading, *, is_replicated: bool) -> None:
        self._reading, self._is_replicated = reading, is_replicated
        self._n, self._per, self._is_share = 0, 0.0, True
        self._by_session: dict[int, Array] = {}
        self._batches: Batches | None = None

    def absorb(self, piece: Piece) -> None:
        amounts, per, known = self._reading.measured(piece)
        if self._batches is not None:
            self._batches.absorb(amounts[:, None], per)
            return
        self._n += len(amounts)
        self._per += float(per.sum())
        self._is_share = self._is_share and bool(((amounts >= 0.0) & (amounts <= per)).all())
        if self._is_replicated:
            numbers, place = np.unique(piece.session[known], return_inverse=True)
            sums = np.bincount(place, amounts), np.bincount(place, per)
            for number, *both in zip(numbers.tolist(), *sums, strict=True):
                self._by_session[number] = self._by_session.get(number, np.zeros(2)) + both

    def more(self) -> bool:
        if self._batches is not None or not self._n or self._per <= 0.0 or len(self._by_session) > 1:
            return False
        self._batches = Batches(self._n, 1)
        return True

    def answer(self) -> Callable[[float], _Summed | None]:
        return self._at

    def _at(self, level: float) -> _Summed | None:
        """Ratio with an interval at a level of confidence; None where nothing was measured."""
        if not self._n or self._per <= 0.0:
            return None
        if self._batches is None:
            sums = [self._by_session[number] for number in sorted(self._by_session)]
            amounts, per = np.array(sums).T
            interval = batch_means.batch_ratio(amounts, per, level, independent=True)
            how = f"ratio of sums, Student's t over {len(sums)} replications"
        else:
            interval = self._batches.interval(0, level)
            how = interval.method
        return _Summed(
            interval=interval, how=how, n=self._n, sessions=len(self._by_session), is_share=self._is_share
        )


class _Gap(_Ratio):
    r"""Sampled minus exact, interval by interval, on the scale of the exact value.

    :math:`\sum_i (s_i \sum p / \sum t - e_i) / \sum p` over intervals with both, where :math:`s_i` of
    :math:`t_i` readings and the amount :math:`e_i` of :math:`p_i`: a look more, for the scale.
    """

    def __init__(self, sampled: Reading, exact: Reading, *, is_replicated: bool) -> None:
        gap = Reading(self._gaps, self._exactly, n=sampled.n, by="sampled less exact")
        super().__init__(gap, is_replicated=is_replicated)
        self.gap, self._sampled, self._exact = gap, sampled, exact
        self._per_exact = self._readings = 0.0
        self._scale: float | None = None

    def _both(self, piece: Piece) -> tuple[Array, Array, Array, Array, NDArray[np.bool_]]:
        sampled, exact = self._sampled, self._exact
        found = sampled.amounts(piece), sampled.per(piece), exact.amounts(piece), exact.per(piece)
        return (*found, np.isfinite(found[0] + found[1] + found[2] + found[3]))

    def _gaps(self, piece: Piece) -> Array:
        sampled, _, exact, _, both = self._both(piece)
        assert self._scale is not None, "the scale is known before"
        return np.where(both, sampled * self._scale - exact, np.nan)

    def _exactly(self, piece: Piece) -> Array:
        *_, per, both = self._both(piece)
        return np.where(both, per, np.nan)

    def absorb(self, piece: Piece) -> None:
        if self._scale is not None:
            super().absorb(piece)
            return
        _, readings, _, per, both = self._both(piece)
        self._per_exact += float(per[both].sum())
        self._readings += float(readings[both].sum())

    def more(self) -> bool:
        if self._scale is None:
            self._scale = self._per_exact / self._readings if self._readings > 0 else np.nan
            return True
        return super().more()


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervals:
    """Sample intervals of the selected sessions and stretch, read in pieces as often as is needed."""

    looks: Looks[Piece]
    """The intervals, with the rows of table `disks` beside them where it is used."""
    alone: Looks[Piece]
    """The intervals alone."""
    facts: Mapping[str, Fact]
    """Of the columns."""
    count: int
    """Number of intervals."""
    time_s: float
    sessions: tuple[int, ...]
    """Numbers of the sessions."""
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
        return self.count

    def has(self, name: str) -> bool:
        """True if a column was measured in any interval."""
        return name in self.facts and self.facts[name].known > 0

    def sum_of(self, name: str) -> float:
        """Sum of a column; 0 where it was never measured."""
        return self.facts[name].total if name in self.facts else 0.0

    def total(self, names: Sequence[str]) -> Formula:
        """Sum of those columns that were measured at all; nan where one of them is missing."""
        present = [formulas.column(name) for name in names if self.has(name)]
        return formulas.total(present) if present else formulas.unknown

    def known(self, wanted: Mapping[str, Formula], *, of_devices: bool = False) -> Asked[dict[str, Fact]]:
        """Facts of formulas of columns, or of devices."""
        return (self.looks if of_devices else self.alone).ask(_Facts(wanted))

    def rate(self, amounts: Formula, unit: str) -> Callable[[], Estimate | None]:
        """Amount per second."""
        return self.ratio(Reading(amounts, formulas.length_s), unit)

    def ratio(self, reading: Reading, unit: str) -> Callable[[], Estimate | None]:
        r"""Ratio of sums; None where nothing was measured.

        .. math:: R = \sum_i a_i / \sum_i p_i

        The interval of confidence allows for the correlation of readings, which at clock ticks follow
        their own past; over several replications it is by Student's t on their sums
        (`stats.series.batch_means.batch_ratio`). The interval of a fraction
        of a whole is cut at one.
        """
        asked = self.looks.ask(_Ratio(reading, is_replicated=self.is_replicated))
        return lambda: self._estimate(asked()(self.level), reading, unit)

    @staticmethod
    def _estimate(summed: _Summed | None, reading: Reading, unit: str) -> Estimate | None:
        if summed is None:
            return None
        interval, how = summed.interval, summed.how
        if reading.is_constant and summed.sessions < 2:
            interval, how = replace(interval, low=None, high=None), "one run"
        method = f"{reading.by}, {how}" if reading.by else how
        if unit == "" and interval.high is not None and summed.is_share:
            interval = replace(interval, high=min(interval.high, 1.0))
        n = summed.n if reading.n is None else reading.n
        return replace(interval.with_unit(unit), n=n, method=method)

    def compared(
        self, sampled: Reading | None, exact: Reading | None, unit: str = ""
    ) -> Callable[[], Compared]:
        """Comparison of a sampled and an exact value of one quantity.

        Of their difference (`_Gap`) variation that both have from interval to interval cancels in its
        confidence interval.
        """
        first = None if sampled is None else self.ratio(sampled, unit)
        second = None if exact is None else self.ratio(exact, unit)
        request = (
            None
            if sampled is None or exact is None
            else _Gap(sampled, exact, is_replicated=self.is_replicated)
        )
        asked = None if request is None else self.looks.ask(request)

        def found() -> Compared:
            both = None if first is None else first(), None if second is None else second()
            if request is None or asked is None or None in both:
                return Compared(sampled=both[0], exact=both[1])
            difference = self._estimate(asked()(self.level), request.gap, unit)
            strict = self._estimate(asked()(DIFFERS_LEVEL), request.gap, unit)
            if strict is None or strict.low is None or strict.high is None:
                return Compared(sampled=both[0], exact=both[1], difference=difference)
            differs = abs(strict.value) > ROUNDING and not strict.low <= 0.0 <= strict.high
            return Compared(sampled=both[0], exact=both[1], difference=difference, differs=differs)

        return found


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

    def selected(columns: Sequence[str]) -> Callable[[], Iterator[Piece]]:
        selection = _Selection(
            listed,
            observations.held(lambda: observations.chunks(log, columns)),
            session=session,
            start_s=start_s,
            end_s=end_s,
        )
        return observations.held(selection.pieces)

    pieces = selected(names)
    begun: set[int] = set()
    count, time_s, negative, dropped = 0, 0.0, 0, 0
    known = _Facts({name: formulas.column(name) for name in dict.fromkeys(names)})
    for piece in pieces():
        begun |= set(np.unique(piece.session).tolist())
        count += len(piece)
        time_s += float(piece.length_s.sum())
        negative += piece.negative
        dropped += piece.dropped
        known.absorb(piece)
    found = known.answer()
    # What was never measured is not looked for again.
    pieces = selected([name for name, fact in found.items() if fact.known])
    looks = Looks(pieces)
    return Intervals(
        looks=looks,
        alone=looks,
        facts=found,
        count=count,
        time_s=time_s,
        sessions=tuple(sorted(begun)),
        is_replicated=len(begun) > 1 and all(listed[number].is_replication for number in begun),
        is_whole=start_s == 0.0 and end_s is None,
        level=level,
        negative=negative,
        dropped=dropped,
    )


class _Selection:
    """Pieces of the samples with the intervals of a stretch of some sessions."""

    def __init__(
        self,
        listed: Sequence[facts.Session],
        found: Callable[[], Iterator[Observations]],
        *,
        session: int | None,
        start_s: float,
        end_s: float | None,
    ) -> None:
        self._listed, self._found = listed, found
        self._session, self._start_s, self._end_s = session, start_s, end_s
        self._warm_up = np.array([item.warm_up_s for item in listed] or [0.0])
        self._begins = np.array([item.start_us for item in listed], dtype=np.int64)
        self._first_us = 0
        self._first: int | None = None
        """Session of the first interval that lies in one; None if none does."""
        for number, piece in enumerate(found()):
            if number == 0 and len(piece):
                self._first_us = int(piece.start_us[0])
            own = self._within(piece.start_us)
            if (own >= 0).any():
                self._first = int(own[own >= 0][0])
                break

    def pieces(self) -> Iterator[Piece]:
        """The selected intervals, from the start."""
        before = self._first
        for piece in self._found():
            number, since = self._numbered(piece.start_us, before)
            before = int(number[-1]) if len(number) and self._first is not None else before
            yield self._selected(piece, number, since)

    def _within(self, start_us: NDArray[np.int64]) -> NDArray[np.int64]:
        """Session in whose time each interval begins; -1 for none."""
        number = np.full(len(start_us), -1, dtype=np.int64)
        for index, item in enumerate(self._listed):
            last = index + 1 == len(self._listed)
            end = item.end_us or (np.iinfo(np.int64).max if last else self._begins[index + 1])
            begin = self._begins[index]
            number[(start_us >= begin) & (start_us < max(end, begin + 1))] = index
        return number

    def _numbered(self, start_us: NDArray[np.int64], before: int | None) -> tuple[NDArray[np.int64], Array]:
        """Session of each interval, and the time since its start [s]."""
        if before is None:
            # A log whose sessions lie elsewhere in time (an import, a test) is one stretch.
            return np.zeros(len(start_us), dtype=np.int64), (start_us - self._first_us) / 1e6
        # A row outside all sessions (the wall clock was set) belongs to that of the row before it.
        number = np.concatenate([[before], self._within(start_us)])
        last = np.maximum.accumulate(np.where(number >= 0, np.arange(len(number)), 0))
        number = number[last][1:]
        return number, (start_us - self._begins[number]) / 1e6

    def _selected(self, piece: Observations, number: NDArray[np.int64], since: Array) -> Piece:
        kept = since >= np.maximum(self._warm_up[number], self._start_s) - SLACK_S
        if self._session is not None:
            kept &= number == self._session
        if self._end_s is not None:
            kept &= since + piece.length_s <= self._end_s + SLACK_S
        columns, negative = {}, 0
        for name, values in piece.columns.items():
            chosen = values[kept]
            below = chosen < 0.0
            found = int(np.count_nonzero(below))
            negative += found
            columns[name] = np.where(below, np.nan, chosen) if found else chosen
        return Piece(
            start_us=piece.start_us[kept],
            length_s=piece.length_s[kept],
            segments=piece.segments[kept],
            columns=columns,
            dropped=piece.dropped,
            absent=piece.absent,
            session=number[kept],
            since_s=since[kept],
            negative=negative,
        )
