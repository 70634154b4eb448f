"""Formulas of the columns of sample intervals, and ratios of them, piece by piece."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.log.observations import Observations

Array = NDArray[np.float64]
Rows = tuple[NDArray[np.int64], Mapping[str, Array]]
"""Rows of a device: for each the index of its interval within the piece, and its counters by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece(Observations):
    """Sample intervals in order, of the selected sessions and stretch.

    A value below zero, which is impossible for a counter, is nan.
    """

    session: NDArray[np.int64]
    """Number of the session of each interval."""
    since_s: Array
    """From the start of the session [s]."""
    devices: Mapping[str, Rows] = dataclasses.field(default_factory=dict)
    """Rows of table `disks` beside the intervals, by device."""
    negative: int
    """Values that are nan because they were below zero."""

    @property
    def unknown(self) -> Array:
        """Nan for each interval."""
        return np.full(len(self), np.nan)

    def column(self, name: str) -> Array:
        """Values of a column; nan throughout where the log lacks it."""
        found = self.columns.get(name)
        return self.unknown if found is None else found


Formula = Callable[[Piece], Array]
"""A value for each interval of a piece; nan where it was not measured."""


def column(name: str) -> Formula:
    """Values of a column."""
    return lambda piece: piece.column(name)


def length_s(piece: Piece) -> Array:
    """Lengths of the intervals."""
    return piece.length_s


def total(parts: Sequence[Formula]) -> Formula:
    """Sum of formulas; nan where one of them is missing."""
    return lambda piece: np.sum([part(piece) for part in parts], axis=0)


def unknown(piece: Piece) -> Array:
    """What was not measured."""
    return piece.unknown


@dataclass(frozen=True, slots=True)
class Reading:
    """Numerators and denominators of a ratio by interval."""

    amounts: Formula
    per: Formula
    _: KW_ONLY
    n: int | None = None
    """Observations behind it; the number of intervals by default."""
    by: str = ""
    """Origin, for `Estimate.method`."""
    is_constant: bool = False
    """One value spread over its session: intervals within the session carry no information."""

    def measured(self, piece: Piece) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Both where both are measured, and where that is."""
        amounts, per = self.amounts(piece), self.per(piece)
        known = np.isfinite(amounts) & np.isfinite(per)
        return amounts[known], per[known], known
