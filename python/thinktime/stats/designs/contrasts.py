r"""Contrasts: weighted sums of cell means, each of which answers one question.

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

from thinktime.errors import InputError
from thinktime.stats import arguments, critical_values
from thinktime.stats.designs.factorial import CellMeans, Factor
from thinktime.stats.estimate import Estimate, NotApplicable

Array = NDArray[np.float64]

NAMES = ("mean", "linear", "quadratic", "cubic", "quartic")
LARGEST_COEFFICIENT = 10_000
"""Largest whole-number coefficient: beyond it coefficients are scaled to a largest one of 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """Factor of a contrast: the polynomial of `degree` over the levels of one factor."""

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
    """Contrast of cell means, with its test."""

    components: tuple[Component, ...]
    """The contrast is their product; it averages over factors that are not named."""
    estimate: Estimate
    """The contrast scaled to a difference between two weighted means: for two levels their difference, for a
    linear contrast of three levels the last less the first, for a quadratic one the ends less the middle,
    for products differences of differences."""
    squares: float
    """Sum of squares, with one degree of freedom."""
    f: float
    """Sum of squares over the error mean square."""
    p: float
    """Probability of an F at least as large if the contrast of the true means were zero."""

    @property
    def name(self) -> str:
        """Name for print: ``users linear × input_rate quadratic``."""
        return " × ".join(component.name for component in self.components)


def orthogonal_polynomials(
    scores: Sequence[int | float], degree: int | None = None
) -> tuple[tuple[float, ...], ...]:
    """Coefficients of the linear, quadratic, ... contrasts of levels at these positions.

    Computed by Gram and Schmidt in exact fractions of the decimal numbers given and scaled to whole
    numbers without a common divisor: the textbook's tables at equal distances, and exactly orthogonal at
    any others.

    Parameters
    ----------
    scores : sequence of numbers
        Different positions, in any order.
    degree : int, optional
        Highest degree; by default one less than the number of levels.

    Raises
    ------
    InputError
        Positions are equal or not finite, or `degree` is less than 1.
    TypeError
        An argument is of the wrong kind.

    Examples
    --------
    >>> orthogonal_polynomials([1.36, 1.62, 1.88])
    ((-1.0, 0.0, 1.0), (1.0, -2.0, 1.0))
    >>> orthogonal_polynomials([1, 2, 4])
    ((-4.0, -1.0, 5.0), (2.0, -3.0, 1.0))
    """
    given = arguments.sequence(scores, "scores", "a list of numbers")
    for place, score in enumerate(given):
        arguments.number(score, f"scores[{place}]")
    if degree is not None:
        degree = arguments.whole(degree, "degree", least=1)
    places = [Fraction(str(score)) for score in given]
    if len(set(places)) != len(places):
        raise InputError(f"scores is {arguments.shown(given)}; give positions that differ")
    most = len(places) - 1 if degree is None else min(degree, len(places) - 1)
    basis = [[Fraction(1)] * len(places)]
    for power in range(1, most + 1):
        column = [place**power for place in places]
        for vector in basis:
            share = _inner(column, vector) / _inner(vector, vector)
            column = [entry - share * other for entry, other in zip(column, vector, strict=True)]
        basis.append(column)
    return tuple(_whole(column) for column in basis[1:])


def contrast(
    cells: CellMeans, components: Sequence[Component], *, unit: str = "", level: float = 0.95
) -> Contrast | NotApplicable:
    """Contrast that is the product of `components`.

    Not applicable where it needs the mean of a cell or an error that is not known.

    Parameters
    ----------
    cells : CellMeans
    components : sequence of Component
        Of different factors.
    unit : str
        Unit of the response.
    level : float
        Confidence of the interval.

    Raises
    ------
    InputError
        A factor is not in the design, its coefficients do not fit its levels, or `level` is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    arguments.record(cells, CellMeans, "cells")
    components, level = arguments.records(components, Component, "components"), arguments.level(level)
    weight = weights(cells, components)
    used = weight != 0.0
    if gaps := cells.missing(used):
        more = f" and {len(gaps) - 1} more" if len(gaps) > 1 else ""
        return NotApplicable(f"the mean of the cell {gaps[0]}{more} is not known", "run the missing cells")
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
    """Polynomial contrasts of single factors and all products of them, each with its components.

    Parameters
    ----------
    cells : CellMeans
    degree : int
        Highest degree for one factor.
    order : int
        Largest number of factors in a product.
    unit : str
        Unit of the response.
    level : float
        Confidence of each interval by itself.

    Raises
    ------
    InputError
        A number is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    arguments.record(cells, CellMeans, "cells")
    order, level = arguments.whole(order, "order", least=1), arguments.level(level)
    single = [_components(factor, degree) for factor in cells.factors]
    products = [
        components
        for size in range(1, min(order, len(single)) + 1)
        for chosen in itertools.combinations(single, size)
        for components in itertools.product(*chosen)
    ]
    return tuple((item, contrast(cells, item, unit=unit, level=level)) for item in products)


def _components(factor: Factor, degree: int) -> list[Component]:
    rows = orthogonal_polynomials(factor.scores, degree)
    return [
        Component(factor=factor.name, degree=power, coefficients=row)
        for power, row in enumerate(rows, start=1)
    ]


def weights(cells: CellMeans, components: Sequence[Component]) -> Array:
    """Weights of the cell means: those of each factor that are positive sum to 1, the others to -1."""
    vectors = [np.full(len(factor.levels), 1.0 / len(factor.levels)) for factor in cells.factors]
    for component in components:
        row = arguments.sample(component.coefficients, "coefficients")
        position = cells.position(component.factor)
        if len(row) != len(vectors[position]) or not row.any():
            raise InputError(
                f"coefficients of {component.factor} is {arguments.shown(component.coefficients)}; give "
                f"{len(vectors[position])} numbers, not all 0"
            )
        vectors[position] = 2.0 * row / np.abs(row).sum()
    result: Array = reduce(np.multiply.outer, vectors)
    return result


def _inner(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def _whole(column: Sequence[Fraction]) -> tuple[float, ...]:
    """Coefficients scaled to whole numbers without a common divisor."""
    scale = math.lcm(*(entry.denominator for entry in column))
    numbers = [int(entry * scale) for entry in column]
    divisor = math.gcd(*numbers)
    largest = max(abs(number) for number in numbers)
    if largest // divisor > LARGEST_COEFFICIENT:
        divisor = largest
    return tuple(float(Fraction(number, divisor)) for number in numbers)
