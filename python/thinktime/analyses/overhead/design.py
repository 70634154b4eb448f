"""What the overhead regression stands on: a time to explain, and the rates that may explain it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.log import observations
from thinktime.log.observations import SUMS, Observations, Quantity

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Design", "Rows", "Target", "build", "candidates", "check_names"]

Array = NDArray[np.float64]

MEASURED_LEAST = 0.9
"""A rate that is null in more than a tenth of the intervals would cost too many of them."""
KEPT_APART = ("page_faults",)
"""Sums whose parts cost so differently that they are explained one by one."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is explained, as an amount a second: columns added up, less others.

    Parameters
    ----------
    label : str
        In words.
    unit : str
        Of the amount: ``s`` for a time.
    columns : tuple of str
    less : tuple of str
        Columns that are taken off.
    ticks : tuple of str
        Empty, or the columns of all CPU time by ticks: then the target is its part of them, times the exact
        busy time.
    """

    label: str
    unit: str
    columns: tuple[str, ...]
    less: tuple[str, ...] = ()
    ticks: tuple[str, ...] = ()

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns to read for it."""
        return (*self.columns, *self.less, *self.ticks, *(("cpu_exact_s",) if self.ticks else ()))

    def of(self, seen: Observations) -> Array:
        """Amount a second in each interval; nan where it was not measured."""
        rate = seen.rate(self.columns)
        if self.less:
            rate = rate - seen.rate(self.less)
        if not self.ticks:
            return rate
        ticks = seen.rate(self.ticks)
        share = np.divide(rate, ticks, out=np.zeros(len(seen)), where=ticks > 0)
        scaled: Array = np.where(np.isnan(ticks), np.nan, share * seen.rate(["cpu_exact_s"]))
        return scaled


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a regression: intervals in which everything needed was measured, in order."""

    start_us: NDArray[np.int64]
    segments: NDArray[np.int64]
    x: Array
    """Ones, then requests per second."""
    y: Array
    """Target a second."""


@dataclass(frozen=True, slots=True)
class Design:
    """A regression to be made, on rows that are read as often as they are needed and kept nowhere.

    Parameters
    ----------
    pieces : callable
        Starts a pass over the intervals of the log, given the columns that are needed.
    target : Target
    terms : tuple of Quantity
        Candidates, in the order of the columns of X, which begins with ones.
    gappy : tuple of int
        Columns of X that were not measured in every interval.
    left_out : tuple of (Quantity, str)
        Candidates that cannot be used, and why.
    """

    pieces: Callable[[Sequence[str]], Iterator[Observations]]
    target: Target
    terms: tuple[Quantity, ...]
    gappy: tuple[int, ...]
    left_out: tuple[tuple[Quantity, str], ...]

    @property
    def columns(self) -> int:
        """Number of columns of X."""
        return len(self.terms) + 1

    def rows(self, keep: Sequence[int] | None = None) -> Iterator[Rows]:
        """Pass over the rows, with the columns `keep` of X in that order, all by default.

        They are the same rows whatever is kept: those in which every candidate was measured.
        """
        kept = list(range(self.columns)) if keep is None else list(keep)
        read = sorted({*kept, *self.gappy} - {0})
        names = [column for at in read for column in self.terms[at - 1].columns]
        for seen in self.pieces([*self.target.needed, *names]):
            y = self.target.of(seen)
            rates = {at: seen.rate(self.terms[at - 1].columns) for at in read}
            known = ~np.isnan(y)
            for rate in rates.values():
                known &= ~np.isnan(rate)
            rates[0] = np.ones(len(seen))
            x = np.column_stack([rates[at] for at in kept])
            if known.all():
                yield Rows(seen.start_us, seen.segments, x, y)
            else:
                yield Rows(seen.start_us[known], seen.segments[known], x[known], y[known])


class _Pieces:
    """The intervals of a log, pass after pass; a log of one piece is read once and kept."""

    def __init__(self, log: Log, names: Sequence[str]) -> None:
        self._log = log
        self._kept: list[Observations] | None = []
        for piece in observations.chunks(log, names):
            self._kept.append(piece)
            if sum(map(len, self._kept)) > observations.ROWS:
                self._kept = None
                break

    def __call__(self, names: Sequence[str]) -> Iterator[Observations]:
        if self._kept is not None:
            return iter(self._kept)
        return observations.chunks(self._log, names)


@dataclass(slots=True)
class _Seen:
    """What a first pass learns of one rate, over the intervals in which the target was measured."""

    rows: int = 0
    measured: int = 0
    lowest: float = np.inf
    highest: float = -np.inf

    def absorb(self, rate: Array) -> None:
        known = rate[~np.isnan(rate)]
        self.rows += len(rate)
        self.measured += len(known)
        self.lowest = min(self.lowest, float(known.min(initial=np.inf)))
        self.highest = max(self.highest, float(known.max(initial=-np.inf)))

    @property
    def steady(self) -> bool:
        """Whether it never changed, up to rounding."""
        return self.highest - self.lowest <= 1e-9 * max(abs(self.lowest), abs(self.highest))

    def unusable(self) -> str:
        """Why it cannot be used; empty where it can."""
        if not self.measured:
            return "not measured in this log"
        if self.measured < MEASURED_LEAST * self.rows:
            return f"measured in {self.measured} of {self.rows} intervals only"
        if self.lowest == self.highest == 0.0:
            return "never happened in this log"
        return "constant in this log, so that its cost cannot be told from the base" if self.steady else ""


def candidates(log: Log) -> tuple[str, ...]:
    """Names of everything that may cost system time: requests, reads and writes together, and user time."""
    whole = {column: name for name, parts in SUMS.items() if name not in KEPT_APART for column in parts}
    requests = observations.role_columns(log, "request")
    return (*dict.fromkeys(whole.get(column, column) for column in requests), "user_time")


def check_names(log: Log, names: Sequence[str]) -> None:
    """Refuse a name that is no request of this log.

    Raises
    ------
    InputError
        The log has no such request.
    """
    for name in names:
        if not observations.quantities(log, [name]):
            offered = ", ".join(candidates(log))
            raise InputError(
                f"{log.path}: there is no request {name!r}; the requests of this log are {offered}"
            )


def build(log: Log, names: Sequence[str], target: Target, beside: Sequence[str] = ()) -> Design | str:
    """Find out which rates can be used, or say why there is no regression.

    Parameters
    ----------
    log : Log
    names : sequence of str
        Candidates, see `candidates`.
    target : Target
    beside : sequence of str
        Columns that `Design.pieces` will be asked for besides those of target and terms.
    """
    terms = observations.quantities(log, names)
    needed = [*target.needed, *(column for item in terms for column in item.columns)]
    pieces = _Pieces(log, [*needed, *beside])
    explained, rates, intervals = _Seen(), [_Seen() for _ in terms], 0
    for seen in pieces(needed):
        y = target.of(seen)
        known = ~np.isnan(y)
        intervals += len(seen)
        explained.absorb(y)
        for item, rate in zip(terms, rates, strict=True):
            rate.absorb(seen.rate(item.columns)[known])
    if not intervals:
        return "the log has no samples"
    if not explained.measured:
        return f"{target.label} ({', '.join(target.columns)}) was not measured" + (
            " exactly" if target.ticks else ""
        )
    if explained.lowest == explained.highest:
        return f"{target.label} never changed"
    reasons = [rate.unusable() for rate in rates]
    used = [(item, rate) for item, rate, reason in zip(terms, rates, reasons, strict=True) if not reason]
    return Design(
        pieces=pieces,
        target=target,
        terms=tuple(item for item, _ in used),
        gappy=tuple(at for at, (_, rate) in enumerate(used, start=1) if rate.measured < rate.rows),
        left_out=tuple((item, reason) for item, reason in zip(terms, reasons, strict=True) if reason),
    )
