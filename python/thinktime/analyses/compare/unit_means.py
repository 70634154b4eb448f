"""Means and moments of every unit, in one pass over the samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.compare.result import NotCompared
from thinktime.analyses.overhead.design import MEASURED_LEAST
from thinktime.log import observations
from thinktime.log.observations import Quantity
from thinktime.stats.estimate import Caveat

if TYPE_CHECKING:
    import polars as pl

    from thinktime.analyses.compare.design import Placing
    from thinktime.log import Log
    from thinktime.log.observations import Observations

_Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A quantity with a value in every observation: a rate, or a gauge as it was read."""

    quantity: Quantity
    gauge: bool
    squared: bool = False

    @property
    def name(self) -> str:
        """Name of the quantity, with a 2 where it is squared."""
        return f"{self.quantity.name}^2" if self.squared else self.quantity.name

    @property
    def unit(self) -> str:
        """Of the mean."""
        return self.quantity.unit if self.gauge else f"{self.quantity.unit}/s"

    def of(self, piece: Observations) -> _Array:
        """Values of the observations."""
        columns = self.quantity.columns
        values = piece.total(columns) if self.gauge else piece.rate(columns)
        return values * values if self.squared else values


@dataclass
class Cell:
    """Observations of one unit under one treatment: means and co-moments, weighted by time.

    Kept about the means, so that nothing cancels; two halves join exactly (Chan, Golub and LeVeque 1983,
    American Statistician 37, 242).
    """

    n: int = 0
    length_s: float = 0.0
    start_us: int = 0
    mean: _Array = field(default_factory=lambda: np.zeros(0))
    products: _Array = field(default_factory=lambda: np.zeros((0, 0)))
    """Sums of weighted products of deviations from the means."""
    follows: _Array = field(default_factory=lambda: np.zeros(0))
    """Sums of products of each deviation with the next one's, not weighted."""
    squares: _Array = field(default_factory=lambda: np.zeros(0))
    """Sums of squares of the same deviations."""

    def absorb(self, values: _Array, weights: _Array, start_us: int) -> None:
        """Add observations, a row each."""
        weight = float(weights.sum())
        mean = weights @ values / weight
        centred = values - mean
        products = (centred * weights[:, None]).T @ centred
        follows = (centred[1:] * centred[:-1]).sum(axis=0)
        squares = (centred * centred).sum(axis=0)
        if not self.n:
            self.start_us, self.mean, self.products = start_us, mean, products
            self.follows, self.squares = follows, squares
        else:
            total = self.length_s + weight
            step = mean - self.mean
            self.products = self.products + products
            self.products += np.outer(step, step) * (self.length_s * weight / total)
            self.mean = self.mean + step * (weight / total)
            self.follows, self.squares = self.follows + follows, self.squares + squares
        self.n += len(weights)
        self.length_s += weight


def autocorrelation(cells: Iterable[Cell]) -> float | None:
    """Correlation of the first quantity from one observation to the next, within cells; None if constant."""
    follows, squares = (
        sum(float(values[0]) for values in sums)
        for sums in zip(*((cell.follows, cell.squares) for cell in cells), strict=True)
    )
    return follows / squares if squares > 0.0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """Cells by unit and treatment, and observations in no cell."""

    columns: tuple[Measured, ...]
    cells: dict[tuple[int, float], Cell]
    outside: int
    """Observations in no unit."""
    incomplete: int
    """Observations in which some quantity was not measured."""
    span_us: tuple[int, int]
    """Start of the first and of the last observation."""


def gather(log: Log, columns: Sequence[Measured], placing: Placing, extra: Sequence[str] = ()) -> Gathered:
    """Moments of every unit under every treatment, in one pass over the samples.

    Parameters
    ----------
    log : Log
    columns : sequence of Measured
        An observation that lacks one of them is left out, so that all are of the same time.
    placing : Placing
    extra : sequence of str
        Columns that `placing` needs.
    """
    names = [*dict.fromkeys([*extra, *(name for item in columns for name in item.quantity.columns)])]
    cells: dict[tuple[int, float], Cell] = {}
    starts: list[int] = []
    outside = incomplete = 0
    for piece in observations.chunks(log, names):
        if not len(piece):
            continue
        starts += [int(piece.start_us.min()), int(piece.start_us.max())]
        units, treatments = placing(piece)
        values = np.column_stack([item.of(piece) for item in columns])
        complete = ~np.isnan(values).any(axis=1)
        inside = (units >= 0) & ~np.isnan(treatments)
        outside += int(np.count_nonzero(~inside))
        incomplete += int(np.count_nonzero(inside & ~complete))
        _absorb(cells, piece, (units, treatments), values, np.flatnonzero(inside & complete))
    span = (min(starts), max(starts)) if starts else (0, 0)
    return Gathered(columns=tuple(columns), cells=cells, outside=outside, incomplete=incomplete, span_us=span)


def _absorb(
    cells: dict[tuple[int, float], Cell],
    piece: Observations,
    placed: tuple[NDArray[np.int64], _Array],
    values: _Array,
    rows: NDArray[np.int64],
) -> None:
    """Add rows of a piece to their cells, stretch by stretch: rows of one cell mostly adjoin."""
    if not len(rows):
        return
    units, treatments = placed
    changed = (np.diff(units[rows]) != 0) | (np.diff(treatments[rows]) != 0)
    begins = np.flatnonzero(changed) + 1
    for stretch in np.split(rows, begins):
        first = int(stretch[0])
        # Rows that all belong to a cell are a view, not a copy.
        whole = slice(first, int(stretch[-1]) + 1) if stretch[-1] - first == len(stretch) - 1 else stretch
        cell = cells.setdefault((int(units[first]), float(treatments[first])), Cell())
        cell.absorb(values[whole], piece.length_s[whole], int(piece.start_us[first]))


def usable(log: Log, candidates: Sequence[Measured]) -> tuple[tuple[Measured, ...], tuple[NotCompared, ...]]:
    """Quantities that were measured in nearly every observation, and the others with the reason."""
    names = list(dict.fromkeys(name for item in candidates for name in item.quantity.columns))
    if not names:
        return (), ()
    rows, present, happened = 0, dict.fromkeys(names, 0), dict.fromkeys(names, False)
    for part in log.in_turn("samples"):
        counts = part.select(_presence(names)).collect().row(0, named=True)
        rows += counts["rows"]
        for name in names:
            present[name] += counts[f"present {name}"]
            happened[name] |= bool(counts[f"happened {name}"])
    kept, refused = [], []
    for item in candidates:
        measured = [present[name] for name in item.quantity.columns if present[name]]
        if not measured:
            refused.append(NotCompared(name=item.name, reason=Caveat("not_measured")))
        elif min(measured) < MEASURED_LEAST * rows:
            refused.append(NotCompared(name=item.name, reason=Caveat("rarely_measured")))
        elif not any(happened[name] for name in item.quantity.columns):
            refused.append(NotCompared(name=item.name, reason=Caveat("never_happened")))
        else:
            kept.append(item)
    return tuple(kept), tuple(refused)


def _presence(names: Sequence[str]) -> Iterator[pl.Expr]:
    """Number of rows, and for each column the number of values and whether any is not zero."""
    import polars as pl

    yield pl.len().alias("rows")
    for name in names:
        values = pl.col(name).cast(pl.Float64)
        yield values.is_finite().sum().alias(f"present {name}")
        yield (values.abs() > 0.0).any().alias(f"happened {name}")
