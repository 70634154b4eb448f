r"""Contrasts: sums of cell means, weighted so that they ask one question each.

.. math:: L = \sum c \bar y, \qquad SS = \frac{L^2}{\sum c^2 / n}

which is :math:`r (\sum c \bar y)^2 / \sum c^2` for r observations in each cell (Hicks, *Fundamental
Concepts in the Design of Experiments*, chapter 3; Anderson and Sargent 1974, Tables 3 and 5 to 8).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from thinktime.stats import critical_values
from thinktime.stats.designs.factorial import CellMeans, Factor
from thinktime.stats.estimate import Estimate, NotApplicable

Array = NDArray[np.float64]

NAMES = ("mean", "linear", "quadratic", "cubic", "quartic")
LARGEST_COEFFICIENT = 10_000
"""Beyond it whole numbers help nobody, and the largest coefficient is one instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One factor's part in a contrast: the polynomial of `degree` over its levels."""

    factor: str
    degree: int
    coefficients: tuple[float, ...]

    @property
    def name(self) -> str:
        """Name for print: ``users quadratic``; a factor of two levels has only the one contrast."""
        if len(self.coefficients) == 2:
            return self.factor
        word = NAMES[self.degree] if self.degree < len(NAMES) else f"degree {self.degree}"
        return f"{self.factor} {word}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """A contrast of cell means.

    Parameters
    ----------
    components : tuple of Component
        The product of these is the contrast; factors that are not named are averaged over.
    estimate : Estimate
        The contrast scaled to a difference between two weighted means: for two levels their difference,
        for a linear contrast of three levels the last less the first, for a quadratic one the ends less
        the middle, for products differences of differences.
    squares : float
        Sum of squares, with one degree of freedom.
    f : float
        Over the error mean square.
    p : float
        Probability of an F at least as large if the contrast of the true means were zero.
    """

    components: tuple[Component, ...]
    estimate: Estimate
    squares: float
    f: float
    p: float

    @property
    def name(self) -> str:
        """Name for print: ``users linear × input_rate quadratic``."""
        return " × ".join(component.name for component in self.components)


def orthogonal_polynomials(
    scores: Sequence[int | float], degree: int | None = None
) -> tuple[tuple[float, ...], ...]:
    """Coefficients of the contrasts linear, quadratic, ... at these places of the levels.

    Computed by Gram and Schmidt in exact fractions of the decimal numbers given and scaled to whole
    numbers without a common divisor: the textbook's tables at equal distances, and exactly orthogonal at
    any others.

    Parameters
    ----------
    scores : sequence of numbers
        Different places, in any order.
    degree : int, optional
        Highest degree; by default one less than the number of levels.

    Examples
    --------
    >>> orthogonal_polynomials([1.36, 1.62, 1.88])
    ((-1.0, 0.0, 1.0), (1.0, -2.0, 1.0))
    >>> orthogonal_polynomials([1, 2, 4])
    ((-4.0, -1.0, 5.0), (2.0, -3.0, 1.0))
    """
    places = [Fraction(str(score)) for score in scores]
    if len(set(places)) != len(places):
        raise ValueError(f"levels at {list(scores)} are not all different")
    most = len(places) - 1 if degree is None else min(degree, len(places) - 1)
    basis = [[Fraction(1)] * len(places)]
    for power in range(1, most + 1):
        column = [place**power for place in places]
        for known in basis:
            share = _inner(column, known) / _inner(known, known)
            column = [entry - share * other for entry, other in zip(column, known, strict=True)]
        basis.append(column)
    return tuple(_whole(column) for column in basis[1:])


def contrast(
    cells: CellMeans, components: Sequence[Component], *, unit: str = "", level: float = 0.95
) -> Contrast | NotApplicable:
    """Contrast that is the product of `components`.

    Not applicable where it needs the mean of a cell that is not known, or an error that is not.
    """
    weight = weights(cells, components)
    used = weight != 0.0
    if gaps := cells.missing(used):
        more = f" and {len(gaps) - 1} more" if len(gaps) > 1 else ""
        return NotApplicable(
            f"the mean of the cell {gaps[0]}{more} is not known", "run the cells that are missing"
        )
    if cells.error_degrees < 1 or not cells.error_mean_square > 0.0:
        return NotApplicable("there is no error to compare with", "replicate the cells")
    value = float(np.sum(weight[used] * cells.means[used]))
    spread = float(np.sum(weight[used] ** 2 / cells.counts[used]))
    squares = value**2 / spread
    f = squares / cells.error_mean_square
    reach = critical_values.student_t(level, cells.error_degrees) * math.sqrt(
        cells.error_mean_square * spread
    )
    n = int(cells.counts[used].sum())
    estimate = Estimate(
        value=value,
        unit=unit,
        n=n,
        method="contrast of cell means, Student t",
        low=value - reach,
        high=value + reach,
        level=level,
    )
    return Contrast(
        components=tuple(components),
        estimate=estimate,
        squares=squares,
        f=f,
        p=critical_values.f_tail(f, 1.0, cells.error_degrees),
    )


def polynomial_contrasts(
    cells: CellMeans, *, degree: int = 2, order: int = 2, unit: str = "", level: float = 0.95
) -> tuple[tuple[tuple[Component, ...], Contrast | NotApplicable], ...]:
    """All polynomial contrasts of single factors and all products of them, each with its answer.

    Parameters
    ----------
    cells : CellMeans
    degree : int
        Highest degree for one factor.
    order : int
        Most factors in one product.
    unit : str
        Of the response.
    level : float
        Confidence of the intervals, each by itself.
    """
    single = [_components(factor, degree) for factor in cells.factors]
    products = [
        components
        for size in range(1, min(order, len(single)) + 1)
        for chosen in itertools.combinations(single, size)
        for components in itertools.product(*chosen)
    ]
    return tuple((each, contrast(cells, each, unit=unit, level=level)) for each in products)


def _components(factor: Factor, degree: int) -> list[Component]:
    rows = orthogonal_polynomials(factor.scores, degree)
    return [
        Component(factor=factor.name, degree=power, coefficients=row)
        for power, row in enumerate(rows, start=1)
    ]


def weights(cells: CellMeans, components: Sequence[Component]) -> Array:
    """Weight of each cell's mean: of each factor's, the positive ones sum to one, and the others to -1."""
    vectors = [np.full(len(factor.levels), 1.0 / len(factor.levels)) for factor in cells.factors]
    for component in components:
        row = np.asarray(component.coefficients, dtype=np.float64)
        vectors[cells.position(component.factor)] = 2.0 * row / np.abs(row).sum()
    result: Array = reduce(np.multiply.outer, vectors)
    return result


def _inner(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def _whole(column: Sequence[Fraction]) -> tuple[float, ...]:
    """Scaled to whole numbers without a common divisor, rising at the last level."""
    scale = math.lcm(*(entry.denominator for entry in column))
    numbers = [int(entry * scale) for entry in column]
    divisor = math.gcd(*numbers)
    largest = max(abs(number) for number in numbers)
    if largest // divisor > LARGEST_COEFFICIENT:
        divisor = largest
    return tuple(float(Fraction(number, divisor)) for number in numbers)
