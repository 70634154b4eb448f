"""Design of the overhead regression: the dependent variable, and the request rates that may explain it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError, offered
from thinktime.log import observations
from thinktime.log.observations import SUMS, Observations, Quantity
from thinktime.stats.estimate import Caveat, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

Array = NDArray[np.float64]

MEASURE = "record with a source that measures it (`thinktime record`)"
MEASURED_LEAST = 0.9
"""A rate that is null in more than a tenth of the intervals would cost too many of them."""
KEPT_APART = ("page_faults",)
"""Sums of columns whose costs differ so much that each column is a separate term."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Dependent variable, as an amount per second: a sum of columns, less others."""

    label: str
    unit: str
    """Of the amount: ``s`` for a time."""
    columns: tuple[str, ...]
    subtract: tuple[str, ...] = ()
    """Columns that are subtracted."""
    ticks: tuple[str, ...] = ()
    """Columns of all CPU time by ticks: if given, the target is its share of them times exact busy time."""

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns to read."""
        return (*self.columns, *self.subtract, *self.ticks, *(("cpu_exact_s",) if self.ticks else ()))

    def of(self, piece: Observations) -> Array:
        """Amount per second in each interval; nan where it was not measured."""
        rate = piece.rate(self.columns)
        if self.subtract:
            rate = rate - piece.rate(self.subtract)
        if not self.ticks:
            return rate
        ticks = piece.rate(self.ticks)
        share = np.divide(rate, ticks, out=np.zeros(len(piece)), where=ticks > 0)
        scaled: Array = np.where(np.isnan(ticks), np.nan, share * piece.rate(["cpu_exact_s"]))
        return scaled


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows of a regression, in order: the intervals in which everything needed was measured."""

    start_us: NDArray[np.int64]
    segments: NDArray[np.int64]
    x: Array
    """Ones, then requests per second."""
    y: Array
    """Target per second."""

    def where(self, chosen: NDArray[np.bool_]) -> Rows:
        """Some of the rows."""
        return Rows(
            start_us=self.start_us[chosen],
            segments=self.segments[chosen],
            x=self.x[chosen],
            y=self.y[chosen],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A regression on rows that are read again for each pass and never kept."""

    pieces: Callable[[Sequence[str]], Iterator[Observations]]
    """Starts a pass over the intervals of the log, given the columns that are needed."""
    target: Target
    terms: tuple[Quantity, ...]
    """Candidates, in the order of the columns of X, which begins with ones."""
    gappy: tuple[int, ...] = ()
    """Columns of X that were not measured in every interval."""
    left_out: tuple[tuple[Quantity, Caveat], ...] = ()
    """Candidates that cannot be used, and why."""

    @property
    def columns(self) -> int:
        """Number of columns of X."""
        return len(self.terms) + 1

    def joined(self, groups: Sequence[Sequence[int]]) -> Design:
        """Design with further columns at the end: the sum of each group of columns."""
        sums = [
            observations.together([self.terms[index - 1] for index in group], len(group)) for group in groups
        ]
        return dataclasses.replace(self, terms=(*self.terms, *(item for sum_ in sums for item in sum_)))

    def rows(self, keep: Sequence[int] | None = None) -> Iterator[Rows]:
        """Rows in pieces, with the columns `keep` of X in that order, all by default.

        The rows do not depend on `keep`: they are those in which every candidate was measured.
        """
        kept = list(range(self.columns)) if keep is None else list(keep)
        read = sorted({*kept, *self.gappy} - {0})
        names = [column for index in read for column in self.terms[index - 1].columns]
        for piece in self.pieces([*self.target.needed, *names]):
            y = self.target.of(piece)
            rates = {index: piece.rate(self.terms[index - 1].columns) for index in read}
            measured = ~np.isnan(y)
            for rate in rates.values():
                measured &= ~np.isnan(rate)
            rates[0] = np.ones(len(piece))
            x = np.column_stack([rates[index] for index in kept])
            rows = Rows(start_us=piece.start_us, segments=piece.segments, x=x, y=y)
            yield rows if measured.all() else rows.where(measured)


class _Pieces:
    """Passes over the intervals of a log; a log of one piece is read once and kept."""

    def __init__(self, log: Log, names: Sequence[str], rows: int) -> None:
        self._log = log
        self._rows = rows
        self._kept: list[Observations] | None = []
        for piece in observations.chunks(log, names, rows):
            self._kept.append(piece)
            if sum(map(len, self._kept)) > rows:
                self._kept = None
                break

    def __call__(self, names: Sequence[str]) -> Iterator[Observations]:
        if self._kept is not None:
            return iter(self._kept)
        return observations.chunks(self._log, names, self._rows)


@dataclass(slots=True)
class _Range:
    """Extent of one rate over the intervals in which the target was measured."""

    rows: int = 0
    measured: int = 0
    lowest: float = np.inf
    highest: float = -np.inf

    def absorb(self, rate: Array) -> None:
        measured = rate[~np.isnan(rate)]
        self.rows += len(rate)
        self.measured += len(measured)
        self.lowest = min(self.lowest, float(measured.min(initial=np.inf)))
        self.highest = max(self.highest, float(measured.max(initial=-np.inf)))

    def unusable(self) -> Caveat | None:
        """Reason why the rate cannot be used; None where it can."""
        if not self.measured:
            return Caveat("not_measured")
        if self.measured < MEASURED_LEAST * self.rows:
            return Caveat("rarely_measured", measured=self.measured, rows=self.rows)
        if self.lowest == self.highest == 0.0:
            return Caveat("never_happened")
        # Constant up to rounding.
        constant = self.highest - self.lowest <= 1e-9 * max(abs(self.lowest), abs(self.highest))
        return Caveat("constant") if constant else None


def candidates(log: Log) -> tuple[str, ...]:
    """Names of all that may cost system time: requests, reads and writes together, and user time."""
    whole = {column: name for name, parts in SUMS.items() if name not in KEPT_APART for column in parts}
    requests = observations.role_columns(log, "request")
    return (*dict.fromkeys(whole.get(column, column) for column in requests), "user_time")


def check_names(log: Log, names: Sequence[str]) -> None:
    """Check that all names are requests of this log.

    Raises
    ------
    InputError
        The log has no such request.
    """
    for name in names:
        if not observations.quantities(log, [name]):
            raise InputError(f"{name}: {log.path} has no such request; {offered(name, candidates(log))}")


def build(
    log: Log,
    names: Sequence[str],
    target: Target,
    extra: Sequence[str] = (),
    piece_rows: int = observations.ROWS,
) -> Design | NotApplicable:
    """Design of the regression of `target` on the rates that can be used.

    Parameters
    ----------
    log : Log
    names : sequence of str
        Candidates, see `candidates`.
    target : Target
    extra : sequence of str
        Columns that `Design.pieces` will be asked for in addition to those of target and terms.
    piece_rows : int
        Largest number of rows in memory at a time; the design does not depend on it.
    """
    terms = observations.quantities(log, names)
    needed = [*target.needed, *(column for item in terms for column in item.columns)]
    pieces = _Pieces(log, [*needed, *extra], piece_rows)
    whole, rates, intervals = _Range(), [_Range() for _ in terms], 0
    for piece in pieces(needed):
        y = target.of(piece)
        measured = ~np.isnan(y)
        intervals += len(piece)
        whole.absorb(y)
        for item, rate in zip(terms, rates, strict=True):
            rate.absorb(piece.rate(item.columns)[measured])
    if not intervals:
        return NotApplicable("the log has no samples", MEASURE)
    if not whole.measured:
        exactly = " exactly" if target.ticks else ""
        return NotApplicable(
            f"{target.label} ({', '.join(target.columns)}) was not measured{exactly}", MEASURE
        )
    if whole.measured == 1:
        return NotApplicable(
            f"{target.label} was measured in a single interval", "record longer, or with a shorter interval"
        )
    if whole.lowest == whole.highest:
        return NotApplicable(f"{target.label} never changed", "record under a load that varies")
    reasons = [rate.unusable() for rate in rates]
    used = [(item, rate) for item, rate, reason in zip(terms, rates, reasons, strict=True) if reason is None]
    return Design(
        pieces=pieces,
        target=target,
        terms=tuple(item for item, _ in used),
        gappy=tuple(index for index, (_, rate) in enumerate(used, start=1) if rate.measured < rate.rows),
        left_out=tuple((item, reason) for item, reason in zip(terms, reasons, strict=True) if reason),
    )
