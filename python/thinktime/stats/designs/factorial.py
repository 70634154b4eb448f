"""Factorial layouts: factors with their levels, the cells they make, and responses sorted into cells."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Level = str | int | float | bool

SWEEPS_MAX = 1000
SETTLED = 1e-14
"""A sweep that changes residuals by no more than this part of the largest response was the last."""


@dataclass(frozen=True, slots=True)
class Factor:
    """What is varied on purpose.

    Parameters
    ----------
    name : str
    levels : tuple
        At least two, all different, in the order in which they are shown.
    """

    name: str
    levels: tuple[Level, ...]

    def __post_init__(self) -> None:
        """Refuse what cannot be compared."""
        if len(self.levels) < 2:
            raise ValueError(f"factor {self.name}: {len(self.levels)} level; at least two can be compared")
        if len(set(self.levels)) != len(self.levels):
            raise ValueError(f"factor {self.name}: a level is given twice in {list(self.levels)}")

    @property
    def numeric(self) -> bool:
        """Whether the distance between two levels means something."""
        return all(
            isinstance(level, (int, float)) and not isinstance(level, bool) and math.isfinite(level)
            for level in self.levels
        )

    @property
    def scores(self) -> tuple[int | float, ...]:
        """Place of each level on the axis of a polynomial: its value, or 1, 2, ... where it is a name."""
        if self.numeric:
            return tuple(level for level in self.levels if isinstance(level, (int, float)))
        return tuple(range(1, len(self.levels) + 1))


def full_factorial(factors: Mapping[str, Sequence[Level]]) -> tuple[dict[str, Level], ...]:
    """Every combination of levels, the last factor changing fastest.

    Examples
    --------
    >>> full_factorial({"slice": [0.1, 0.2], "regions": [3, 4]})[1]
    {'slice': 0.1, 'regions': 4}
    """
    return tuple(dict(zip(factors, levels, strict=True)) for levels in itertools.product(*factors.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class CellMeans:
    """Means of the cells of a design, and what is known of the error of one observation.

    All that contrasts need, hence published tables of means can be analysed without their raw data.

    Parameters
    ----------
    factors : tuple of Factor
    means : ndarray
        One axis a factor; nan where a cell is not known.
    counts : ndarray of int
        Observations behind each mean; 0 where a cell is not known.
    error_mean_square : float
    error_degrees : int
    """

    factors: tuple[Factor, ...]
    means: Array
    counts: Codes
    error_mean_square: float
    error_degrees: int

    @classmethod
    def published(
        cls,
        factors: Sequence[Factor],
        means: ArrayLike,
        *,
        replications: int,
        error_mean_square: float,
        error_degrees: int | None = None,
    ) -> CellMeans:
        """Cells with r replications each; the error has cells x (r - 1) degrees of freedom if not given.

        Raises
        ------
        ValueError
            The means do not fit the factors, or replications or error are impossible.
        """
        array = np.asarray(means, dtype=np.float64)
        shape = tuple(len(factor.levels) for factor in factors)
        if array.shape != shape:
            raise ValueError(f"cell means of shape {array.shape} do not fit factors of {shape} levels")
        if replications < 1 or not error_mean_square > 0.0:
            raise ValueError(
                f"{replications} replications with an error mean square of {error_mean_square}: "
                "both must be positive"
            )
        counts = np.where(np.isnan(array), 0, replications).astype(np.int64)
        degrees = array.size * (replications - 1) if error_degrees is None else error_degrees
        return cls(
            factors=tuple(factors),
            means=array,
            counts=counts,
            error_mean_square=error_mean_square,
            error_degrees=degrees,
        )

    def position(self, name: str) -> int:
        """Axis of factor `name`."""
        return [factor.name for factor in self.factors].index(name)

    def missing(self, involved: NDArray[np.bool_]) -> tuple[str, ...]:
        """Cells among those `involved` that are not known: ``scheduler = fb2, regions = 3``."""
        gaps = np.argwhere(involved & (self.counts == 0))
        return tuple(
            ", ".join(
                f"{factor.name} = {factor.levels[at]}" for factor, at in zip(self.factors, gap, strict=True)
            )
            for gap in gaps
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Responses:
    """Observations of one response, each in a cell of a design and perhaps in a block.

    Parameters
    ----------
    factors : tuple of Factor
    codes : ndarray of int, shape (n, factors)
        Position of the level of each factor.
    y : ndarray, shape (n,)
    blocks : ndarray of int, shape (n,), or None
        Number of the block of each observation; None for a completely randomized design.
    """

    factors: tuple[Factor, ...]
    codes: Codes
    y: Array
    blocks: Codes | None = None

    def __post_init__(self) -> None:
        """Refuse observations that do not fit the factors."""
        if self.codes.shape != (len(self.y), len(self.factors)) or not len(self.y):
            raise ValueError(f"levels {self.codes.shape} do not fit {len(self.y)} responses")
        if self.blocks is not None and len(self.blocks) != len(self.y):
            raise ValueError(f"{len(self.blocks)} block numbers do not fit {len(self.y)} responses")
        if not np.isfinite(self.y).all():
            raise ValueError("a response is not finite; leave out what was not measured")

    @classmethod
    def of_cells(cls, factors: Sequence[Factor], y: ArrayLike, *, blocked: bool = False) -> Responses:
        """Responses in an array with one axis a factor and a last one for the replications or blocks."""
        array = np.asarray(y, dtype=np.float64)
        places = np.indices(array.shape).reshape(array.ndim, -1).T
        blocks = places[:, -1] if blocked else None
        return cls(factors=tuple(factors), codes=places[:, :-1], y=array.ravel(), blocks=blocks)

    @property
    def n(self) -> int:
        """Number of observations."""
        return len(self.y)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each factor."""
        return tuple(len(factor.levels) for factor in self.factors)

    def cell_of(self) -> Codes:
        """Flat position of the cell of each observation."""
        result: Codes = np.ravel_multi_index(tuple(self.codes.T), self.shape).astype(np.int64)
        return result

    def counts(self) -> Codes:
        """Observations in each cell, one axis a factor."""
        flat = np.bincount(self.cell_of(), minlength=math.prod(self.shape))
        result: Codes = flat.reshape(self.shape).astype(np.int64)
        return result

    def means(self) -> Array:
        """Mean of each cell, nan where it is empty.

        Deviations from one observation are averaged, so that leading digits which all share cost none.
        """
        pivot = self.y[0]
        sums = np.bincount(self.cell_of(), self.y - pivot, minlength=math.prod(self.shape))
        counts = self.counts().ravel()
        flat = np.where(counts > 0, pivot + sums / np.maximum(counts, 1), np.nan)
        result: Array = flat.reshape(self.shape)
        return result

    @property
    def balanced(self) -> bool:
        """Whether every cell has equally many observations, and every block each cell once."""
        counts = self.counts()
        if counts.min() != counts.max():
            return False
        if self.blocks is None:
            return True
        _, block = np.unique(self.blocks, return_inverse=True)
        met = np.bincount(block * counts.size + self.cell_of(), minlength=counts.size * (block.max() + 1))
        return bool((met == 1).all())

    def array(self) -> Array:
        """Observations of a balanced design, one axis a factor and a last one for blocks or replications.

        Raises
        ------
        ValueError
            The design is not balanced.
        """
        if not self.balanced:
            raise ValueError("cells hold different numbers of observations")
        keys = (self.blocks, self.cell_of()) if self.blocks is not None else (self.cell_of(),)
        order = np.lexsort(keys)
        result: Array = self.y[order].reshape(*self.shape, -1)
        return result

    def residuals(self, *, blocks_out: bool = True) -> Array:
        """Deviations from the mean of the cell and, where blocks are taken out, from that of the block.

        Cells and blocks are swept in turn: once where every block holds every cell, else until nothing
        changes.
        """
        groups = [self.cell_of()]
        if blocks_out and self.blocks is not None:
            groups.append(np.unique(self.blocks, return_inverse=True)[1])
        rest = self.y - self.y[0]
        enough = SETTLED * float(np.abs(rest).max())
        for _ in range(SWEEPS_MAX):
            before = rest
            for group in groups:
                means = np.bincount(group, rest) / np.maximum(np.bincount(group), 1)
                rest = rest - means[group]
            if float(np.abs(rest - before).max()) <= enough:
                break
        result: Array = rest
        return result

    def error_degrees(self, *, blocks_out: bool = True) -> int:
        """Degrees of freedom of the residuals."""
        blocks = len(np.unique(self.blocks)) if blocks_out and self.blocks is not None else 1
        return self.n - int(np.count_nonzero(self.counts())) - (blocks - 1)
