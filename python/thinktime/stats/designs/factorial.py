"""Factorial designs: factors and their levels, cells, and responses sorted into cells."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinktime.errors import InputError
from thinktime.stats import arguments

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Level = str | int | float | bool

SWEEPS_MAX = 1000
"""Bound on the sweeps: a balanced plan needs two."""
SETTLED = 1e-14
"""The last sweep is one that changes residuals by no more than this fraction of the largest response."""


@dataclass(frozen=True, slots=True)
class Factor:
    """Factor of a design: a quantity that is varied on purpose.

    Raises
    ------
    InputError
        There are fewer than two levels, or two are equal.
    TypeError
        `name` is no text, or `levels` no sequence of texts and numbers.
    """

    name: str
    levels: tuple[Level, ...]
    """At least two, all different, in the order in which they are shown."""

    def __post_init__(self) -> None:
        """Check the levels."""
        arguments.record(self.name, str, "name")
        levels = arguments.sequence(self.levels, "levels", "a list of levels")
        if not all(isinstance(level, (str, int, float, np.generic)) for level in levels):
            raise TypeError(f"levels is {arguments.shown(self.levels)}; give texts or numbers")
        object.__setattr__(self, "levels", tuple(levels))
        if len(self.levels) < 2:
            raise InputError(f"factor {self.name} has {len(self.levels)} levels; give two or more")
        if len(set(self.levels)) != len(self.levels):
            raise InputError(
                f"factor {self.name} has equal levels in {list(self.levels)}; give different ones"
            )

    @property
    def numeric(self) -> bool:
        """True if all levels are numbers, so that distances between them have a meaning."""
        return all(
            isinstance(level, (int, float)) and not isinstance(level, bool) and math.isfinite(level)
            for level in self.levels
        )

    @property
    def scores(self) -> tuple[int | float, ...]:
        """Position of each level on the axis of a polynomial: its value, or 1, 2, ... for names."""
        if self.numeric:
            return tuple(level for level in self.levels if isinstance(level, (int, float)))
        return tuple(range(1, len(self.levels) + 1))


def full_factorial(factors: Mapping[str, Sequence[Level]]) -> tuple[dict[str, Level], ...]:
    """Combinations of all levels, the last factor changing fastest.

    Parameters
    ----------
    factors : mapping of str to sequence
        Levels of each factor by name.

    Raises
    ------
    TypeError
        `factors` is no mapping of names to lists of levels.

    Examples
    --------
    >>> full_factorial({"slice": [0.1, 0.2], "regions": [3, 4]})[1]
    {'slice': 0.1, 'regions': 4}
    """
    if not isinstance(factors, Mapping):
        raise TypeError(f"factors is {arguments.shown(factors)}; give a mapping of names to levels")
    levels = [arguments.sequence(item, f"levels of {name}") for name, item in factors.items()]
    return tuple(dict(zip(factors, chosen, strict=True)) for chosen in itertools.product(*levels))


@dataclass(frozen=True, slots=True, kw_only=True)
class CellMeans:
    """Means of the cells of a design, and the variance of one observation about them.

    Contrasts need no more, hence published tables of means can be analysed without their raw data.
    """

    factors: tuple[Factor, ...]
    means: Array
    """One axis per factor; nan where a cell is not known."""
    counts: Codes
    """Observations behind each mean; 0 where a cell is not known."""
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
        """Cells with r replications each; the error has cells x (r - 1) degrees of freedom by default.

        Raises
        ------
        InputError
            The means do not fit the factors, or replications or error are out of range.
        TypeError
            An argument is of the wrong kind.
        """
        factors = arguments.records(factors, Factor, "factors", least=1)
        array = arguments.numeric(means, "means")
        shape = tuple(len(factor.levels) for factor in factors)
        if array.shape != shape:
            raise InputError(f"means has the shape {array.shape}; give {shape}, one axis per factor")
        replications = arguments.whole(replications, "replications", least=1)
        if not arguments.number(error_mean_square, "error_mean_square", low=0.0):
            raise InputError("error_mean_square is 0; give a number above 0")
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
        """Axis of factor `name`.

        Raises
        ------
        InputError
            There is no such factor.
        """
        names = [factor.name for factor in self.factors]
        if name not in names:
            raise InputError(
                f"factor {arguments.shown(name)} is not in the design; give one of {', '.join(names)}"
            )
        return names.index(name)

    def missing(self, involved: NDArray[np.bool_]) -> tuple[str, ...]:
        """Cells among those `involved` whose mean is not known: ``scheduler = fb2, regions = 3``."""
        gaps = np.argwhere(involved & (self.counts == 0))
        return tuple(
            ", ".join(
                f"{factor.name} = {factor.levels[index]}"
                for factor, index in zip(self.factors, gap, strict=True)
            )
            for gap in gaps
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Responses:
    """Observations of one response, each in a cell of a design and, in a blocked design, in a block.

    Raises
    ------
    InputError
        Shapes do not fit, a code is not that of a level, or a response is not finite.
    TypeError
        An argument is of the wrong kind.
    """

    factors: tuple[Factor, ...]
    codes: Codes
    """Position of the level of each factor."""
    y: Array
    blocks: Codes | None = None
    """Number of the block of each observation; None for a completely randomised design."""

    def __post_init__(self) -> None:
        """Check that observations fit the factors."""
        arguments.records(self.factors, Factor, "factors", least=1)
        for name in ("codes", "y") if self.blocks is None else ("codes", "y", "blocks"):
            arguments.record(getattr(self, name), np.ndarray, name)
        if self.codes.shape != (len(self.y), len(self.factors)) or not len(self.y):
            raise InputError(
                f"codes has the shape {self.codes.shape}; give {(len(self.y), len(self.factors))}, one "
                "level of each factor per response, and at least one response"
            )
        if ((self.codes < 0) | (self.codes >= self.shape)).any():
            raise InputError("codes holds a level that its factor has not; give positions in its levels")
        if self.blocks is not None and len(self.blocks) != len(self.y):
            raise InputError(f"blocks has {len(self.blocks)} numbers; give {len(self.y)}, one per response")
        if not np.isfinite(self.y).all():
            raise InputError("y holds a value that is not finite; leave out what was not measured")

    @classmethod
    def of_cells(cls, factors: Sequence[Factor], y: ArrayLike, *, blocked: bool = False) -> Responses:
        """Responses in an array with one axis per factor and a last one for the replications or blocks.

        Raises
        ------
        InputError, TypeError
            As `Responses`.
        """
        array = arguments.numeric(y, "y")
        factors = arguments.records(factors, Factor, "factors", least=1)
        shape = tuple(len(factor.levels) for factor in factors)
        if array.shape[:-1] != shape:
            raise InputError(f"y has the shape {array.shape}; give {shape} and a last axis of replications")
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
        """Number of observations in each cell, one axis per factor."""
        flat = np.bincount(self.cell_of(), minlength=math.prod(self.shape))
        result: Codes = flat.reshape(self.shape).astype(np.int64)
        return result

    def means(self) -> Array:
        """Mean of each cell, nan where it is empty.

        Deviations from one observation are averaged, so that leading digits that all share cost no accuracy.
        """
        pivot = self.y[0]
        sums = np.bincount(self.cell_of(), self.y - pivot, minlength=math.prod(self.shape))
        counts = self.counts().ravel()
        flat = np.where(counts > 0, pivot + sums / np.maximum(counts, 1), np.nan)
        result: Array = flat.reshape(self.shape)
        return result

    @property
    def balanced(self) -> bool:
        """True if all cells have equally many observations, and every block has each cell once."""
        counts = self.counts()
        if counts.min() != counts.max():
            return False
        if self.blocks is None:
            return True
        _, block = np.unique(self.blocks, return_inverse=True)
        met = np.bincount(block * counts.size + self.cell_of(), minlength=counts.size * (block.max() + 1))
        return bool((met == 1).all())

    def array(self) -> Array:
        """Observations of a balanced design: one axis per factor, a last one for blocks or replications.

        Raises
        ------
        InputError
            The design is not balanced.
        """
        if not self.balanced:
            raise InputError("cells hold different numbers of observations; give a balanced design")
        keys = (self.blocks, self.cell_of()) if self.blocks is not None else (self.cell_of(),)
        order = np.lexsort(keys)
        result: Array = self.y[order].reshape(*self.shape, -1)
        return result

    def residuals(self, *, blocks_out: bool = True) -> Array:
        """Deviations from the mean of the cell and, with `blocks_out`, from that of the block.

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
