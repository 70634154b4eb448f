r"""Analysis of variance of factorial designs, with or without blocks.

A balanced design is swept: the mean of all responses, then of each level, then of each pair of levels and
so on is subtracted from the remainder of the sweeps before, and the squares of these means are the sums of
squares. Nothing is computed as the difference of two large numbers, hence leading digits that all
responses share cost no accuracy (the data sets SmLs07 to SmLs09 of NIST's StRD). An unbalanced design is
analysed by least squares (`linear_anova`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinktime.errors import InputError
from thinktime.stats import arguments, critical_values
from thinktime.stats.designs import linear_anova
from thinktime.stats.designs.factorial import CellMeans, Factor, Responses

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Source of variation in an analysis of variance."""

    factors: tuple[str, ...]
    """Names of the factors: one for a main effect, several for their interaction."""
    degrees: int
    """Degrees of freedom."""
    squares: float
    """Sum of squares, in the response's unit squared."""
    f: float | None = None
    """Mean square over that of the error; None where there is no error mean square."""
    p: float | None = None
    """Probability of an F at least as large if the source had no effect."""

    @property
    def source(self) -> str:
        """Name for print: ``users × scheduler``."""
        return " × ".join(self.factors)

    @property
    def mean_square(self) -> float:
        """Sum of squares per degree of freedom."""
        return self.squares / self.degrees

    def counts(self, error_mean_square: float, multiple: float = 10.0) -> bool:
        """True if the mean square is at least `multiple` times that of the error.

        A rule of Anderson and Sargent (1974, below Table 5) that needs no normal errors: "at least an
        order of magnitude larger".
        """
        return self.mean_square >= multiple * error_mean_square


@dataclass(frozen=True, slots=True, kw_only=True)
class Anova:
    """Table of an analysis of variance."""

    effects: tuple[Effect, ...]
    """Main effects, then interactions of two factors, and so on."""
    blocks: Effect | None
    """Differences between blocks; None where they are in the error."""
    error: Effect
    """Remainder."""
    total_squares: float
    """Sum of squared deviations from the mean of all responses."""
    n: int
    """Number of observations."""
    squares: str
    """Method of computation of the sums of squares."""

    @property
    def error_mean_square(self) -> float:
        """Estimated variance of one observation about its cell; nan without degrees of freedom."""
        return self.error.squares / self.error.degrees if self.error.degrees else float("nan")

    @property
    def r_squared(self) -> float:
        """Fraction of the total squares that effects and blocks explain."""
        return 1.0 - self.error.squares / self.total_squares if self.total_squares > 0.0 else 0.0

    def effect(self, *factors: str) -> Effect:
        """Effect of these factors, in any order.

        Raises
        ------
        KeyError
            It is not in the analysis.
        """
        for item in self.effects:
            if set(item.factors) == set(factors):
                return item
        raise KeyError(f"no effect of {' × '.join(factors)} was analysed")


def anova(
    responses: Responses, *, blocks_out: bool = True, order: int | None = None, squares: str | None = None
) -> Anova:
    r"""Analysis of variance of a factorial design, with a test of every effect and interaction.

    .. math:: F = \frac{SS / \nu}{SS_E / \nu_E}

    Parameters
    ----------
    responses : Responses
    blocks_out : bool
        Exclude the differences between blocks from the error, where the responses have blocks. The error
        is then the variation of effects from block to block.
    order : int, optional
        Largest number of factors of an interaction; higher ones are in the error. All by default.
    squares : {"II", "III"}, optional
        Sums of squares of an unbalanced design, see `linear_anova.Type`. By default III, or II where
        cells are empty. All types agree for a balanced design.

    Raises
    ------
    InputError
        `squares` is III and there are empty cells, `squares` is unknown, or `order` is below one.
    TypeError
        An argument is of the wrong kind.
    """
    arguments.record(responses, Responses, "responses")
    if order is not None:
        order = arguments.whole(order, "order", least=1)
    used = replace(responses, blocks=None) if not blocks_out else responses
    terms = linear_anova.terms_up_to(len(used.factors), order)
    if used.balanced:
        result = _swept(used.array(), terms, blocked=used.blocks is not None)
        how = "exact sums of squares of a balanced design"
    else:
        kind = linear_anova.chosen_type(used, squares)
        result = linear_anova.sums(used, terms, kind)
        how = f"type {kind} sums of squares by QR, the design being unbalanced"
    return _table(used, terms, result, how)


def one_way(groups: Sequence[ArrayLike], name: str = "group") -> Anova:
    """Analysis of variance of one factor: groups of any sizes.

    Parameters
    ----------
    groups : sequence of array of shape (n,)
        Observations of each group.
    name : str
        Name of the factor.

    Raises
    ------
    InputError
        There are fewer than two groups, one is empty, or a value is not finite.
    TypeError
        A group is not made of numbers.
    """
    arrays = arguments.samples(groups, "groups", least=2, each=1)
    every = _centred(np.concatenate(arrays))
    ends = np.cumsum([len(group) for group in arrays])
    centred = np.split(every, ends[:-1])
    means = [float(group.mean()) for group in centred]
    between = float(sum(len(group) * mean**2 for group, mean in zip(centred, means, strict=True)))
    rest = np.concatenate([group - mean for group, mean in zip(centred, means, strict=True)])
    error = Effect(factors=("error",), degrees=len(every) - len(arrays), squares=float(rest @ rest))
    effect = _tested(Effect(factors=(name,), degrees=len(arrays) - 1, squares=between), error)
    return Anova(
        effects=(effect,),
        blocks=None,
        error=error,
        total_squares=float(every @ every),
        n=len(every),
        squares="exact sums of squares",
    )


def effects_of_means(cells: CellMeans, order: int | None = None) -> tuple[Effect, ...]:
    """Effects computed from the means of the cells alone, tested with the error given with them.

    Raises
    ------
    InputError
        A cell is missing or cells have different numbers of observations.
    """
    if gaps := cells.missing(np.ones(cells.means.shape, dtype=bool)):
        raise InputError(f"the mean of the cell {gaps[0]} is not known; give all means")
    replications = int(cells.counts.flat[0])
    if (cells.counts != replications).any():
        raise InputError("cells hold different numbers of observations; give a balanced design")
    terms = linear_anova.terms_up_to(len(cells.factors), order)
    result = _swept(cells.means[..., None], terms, blocked=False)
    error = Effect(
        factors=("error",), degrees=cells.error_degrees, squares=cells.error_degrees * cells.error_mean_square
    )
    return tuple(
        _tested(
            Effect(factors=_names(cells.factors, term), degrees=degrees, squares=replications * squares),
            error,
        )
        for term, (degrees, squares) in zip(terms, result.terms, strict=True)
    )


def relative_efficiency(blocked: Anova) -> float:
    r"""Relative efficiency of blocking: factor by which a design without blocks needs more observations.

    .. math:: E = \frac{SS_B + r (c - 1) MS_E}{(r c - 1) MS_E}

    with r blocks and c cells (Cochran and Cox, *Experimental Designs*, 4.37, without its correction for
    degrees of freedom).

    Raises
    ------
    InputError
        The analysis has no blocks.
    TypeError
        `blocked` is no `Anova`.
    """
    blocks = arguments.record(blocked, Anova, "blocked").blocks
    if blocks is None:
        raise InputError("blocked has its blocks in the error; analyse with blocks_out")
    rows = blocks.degrees + 1
    cells = blocked.n / rows
    error = blocked.error_mean_square
    if error == 0.0:
        return float("inf")
    return (blocks.squares + rows * (cells - 1) * error) / ((blocked.n - 1) * error)


def _names(factors: Sequence[Factor], term: Sequence[int]) -> tuple[str, ...]:
    return tuple(factors[index].name for index in term)


def _centred(values: Array) -> Array:
    """Deviations from the mean; from one value first, which is exact where all are equal."""
    shifted = values - values.flat[0]
    first = shifted - shifted.mean()
    result: Array = first - first.mean()
    return result


def _swept(y: Array, terms: Sequence[tuple[int, ...]], *, blocked: bool) -> linear_anova.Sums:
    """Sums of squares of an array with one axis per factor and a last one for blocks or replications."""
    rest = _centred(y)
    total = float(np.sum(rest**2))
    sums = []
    axes = [*terms, *([(y.ndim - 1,)] if blocked else [])]
    for kept in axes:
        over = tuple(axis for axis in range(y.ndim) if axis not in kept)
        taken = rest.mean(axis=over, keepdims=True) if over else rest
        rest = rest - taken
        degrees = int(np.prod([y.shape[axis] - 1 for axis in kept]))
        sums.append((degrees, float(np.sum(taken**2)) * (y.size // taken.size)))
    blocks = sums.pop() if blocked else None
    return linear_anova.Sums(terms=tuple(sums), blocks=blocks, error=float(np.sum(rest**2)), total=total)


def _table(
    responses: Responses, terms: Sequence[tuple[int, ...]], sums: linear_anova.Sums, how: str
) -> Anova:
    spent = sum(degrees for degrees, _ in sums.terms) + (sums.blocks[0] if sums.blocks else 0)
    degrees = responses.n - 1 - (spent if sums.rank is None else sums.rank - 1)
    error = Effect(factors=("error",), degrees=degrees, squares=sums.error)
    effects = tuple(
        _tested(Effect(factors=_names(responses.factors, term), degrees=item, squares=squares), error)
        for term, (item, squares) in zip(terms, sums.terms, strict=True)
        if item
    )
    blocks = None
    if sums.blocks is not None:
        degrees, squares = sums.blocks
        blocks = _tested(Effect(factors=("blocks",), degrees=degrees, squares=squares), error)
    return Anova(
        effects=effects, blocks=blocks, error=error, total_squares=sums.total, n=responses.n, squares=how
    )


def _tested(effect: Effect, error: Effect) -> Effect:
    if not error.degrees or (error.squares == 0.0 and effect.squares == 0.0):
        return effect
    if error.squares == 0.0:
        return replace(effect, f=float("inf"), p=0.0)
    f = effect.mean_square / error.mean_square
    return replace(effect, f=f, p=critical_values.f_tail(f, effect.degrees, error.degrees))
