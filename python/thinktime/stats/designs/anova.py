r"""Analysis of variance of factorial designs, with or without blocks.

A balanced design is swept: the mean over everything, then of each level, then of each pair of levels and
so on is taken out of what the sweeps before have left, and the squares of what each sweep takes out are
the sums of squares. Nothing is computed as the difference of two large numbers, hence leading digits
that all responses share cost none (the data sets SmLs07 to SmLs09 of NIST's StRD). An unbalanced design
goes by least squares (`stats.linear_anova`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinktime.stats import critical_values
from thinktime.stats.designs import linear_anova
from thinktime.stats.designs.factorial import CellMeans, Factor, Responses

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One source of variation.

    Parameters
    ----------
    factors : tuple of str
        Names of the factors: one for a main effect, several for their interaction.
    degrees : int
        Degrees of freedom.
    squares : float
        Sum of squares, in the response's unit squared.
    f : float or None
        Mean square over that of the error; None where there is no error to compare with.
    p : float or None
        Probability of an F at least as large if the source had no effect.
    """

    factors: tuple[str, ...]
    degrees: int
    squares: float
    f: float | None = None
    p: float | None = None

    @property
    def source(self) -> str:
        """Name for print: ``users × scheduler``."""
        return " × ".join(self.factors)

    @property
    def mean_square(self) -> float:
        """Sum of squares a degree of freedom."""
        return self.squares / self.degrees

    def counts(self, error_mean_square: float, multiple: float = 10.0) -> bool:
        """Whether the mean square is at least `multiple` times that of the error.

        A rule that needs no normal errors, of Anderson and Sargent (1974, below Table 5): "at least an
        order of magnitude larger".
        """
        return self.mean_square >= multiple * error_mean_square


@dataclass(frozen=True, slots=True, kw_only=True)
class Anova:
    """An analysis of variance.

    Parameters
    ----------
    effects : tuple of Effect
        Main effects, then interactions of two factors, and so on.
    blocks : Effect or None
        What was taken out of the error for the blocks; None where none was.
    error : Effect
        What is left.
    total_squares : float
        Sum of squared deviations from the mean of everything.
    n : int
        Observations.
    squares : str
        How the sums of squares were computed.
    """

    effects: tuple[Effect, ...]
    blocks: Effect | None
    error: Effect
    total_squares: float
    n: int
    squares: str

    @property
    def error_mean_square(self) -> float:
        """Variance of one observation about its cell, as estimated; nan without degrees of freedom."""
        return self.error.squares / self.error.degrees if self.error.degrees else float("nan")

    @property
    def r_squared(self) -> float:
        """Part of the total squares that effects and blocks explain."""
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
    r"""Test every effect and interaction.

    .. math:: F = \frac{SS / \nu}{SS_E / \nu_E}

    Parameters
    ----------
    responses : Responses
    blocks_out : bool
        Take the differences between blocks out of the error, where the responses have blocks. The error
        then is how much effects differ from block to block; left in, it is that and the differences
        between blocks.
    order : int, optional
        Most factors of an interaction; those of more go into the error. All by default.
    squares : {"II", "III"}, optional
        Which sums of squares an unbalanced design gets, see `linear_anova.Type`. By default III, or II
        where cells are empty. All types agree for a balanced design.

    Raises
    ------
    ValueError
        `squares` is III and there are empty cells, `squares` is unknown, or `order` is below one.
    """
    if order is not None and order < 1:
        raise ValueError(f"order {order}: a main effect has order 1")
    used = replace(responses, blocks=None) if not blocks_out else responses
    terms = linear_anova.terms_up_to(len(used.factors), order)
    if used.balanced:
        found = _swept(used.array(), terms, blocked=used.blocks is not None)
        how = "exact sums of squares of a balanced design"
    else:
        kind = linear_anova.chosen_type(used, squares)
        found = linear_anova.sums(used, terms, kind)
        how = f"type {kind} sums of squares by QR, the design being unbalanced"
    return _table(used, terms, found, how)


def one_way(groups: Sequence[ArrayLike], name: str = "group") -> Anova:
    """Analysis of variance of groups of any sizes.

    Raises
    ------
    ValueError
        There are fewer than two groups, or one is empty.
    """
    arrays = [np.asarray(group, dtype=np.float64).ravel() for group in groups]
    if len(arrays) < 2 or not all(len(group) for group in arrays):
        raise ValueError("an analysis of variance needs two groups, none of them empty")
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
    """Effects by the means of the cells alone, tested with the error that goes with them.

    Raises
    ------
    ValueError
        A cell is missing or cells have different numbers of observations.
    """
    if gaps := cells.missing(np.ones(cells.means.shape, dtype=bool)):
        raise ValueError(f"the mean of the cell {gaps[0]} is not known")
    replications = int(cells.counts.flat[0])
    if (cells.counts != replications).any():
        raise ValueError("cells hold different numbers of observations")
    terms = linear_anova.terms_up_to(len(cells.factors), order)
    found = _swept(cells.means[..., None], terms, blocked=False)
    error = Effect(
        factors=("error",), degrees=cells.error_degrees, squares=cells.error_degrees * cells.error_mean_square
    )
    return tuple(
        _tested(
            Effect(factors=_names(cells.factors, term), degrees=degrees, squares=replications * squares),
            error,
        )
        for term, (degrees, squares) in zip(terms, found.terms, strict=True)
    )


def relative_efficiency(blocked: Anova) -> float:
    r"""How many times the observations a design without blocks would need to know the effects as well.

    .. math:: E = \frac{SS_B + r (c - 1) MS_E}{(r c - 1) MS_E}

    with r blocks and c cells (Cochran and Cox, *Experimental Designs*, 4.37, without its correction for
    degrees of freedom).

    Raises
    ------
    ValueError
        No blocks were taken out.
    """
    if blocked.blocks is None:
        raise ValueError("no blocks were taken out of the error")
    rows = blocked.blocks.degrees + 1
    cells = blocked.n / rows
    error = blocked.error_mean_square
    if error == 0.0:
        return float("inf")
    return (blocked.blocks.squares + rows * (cells - 1) * error) / ((blocked.n - 1) * error)


def _names(factors: Sequence[Factor], term: Sequence[int]) -> tuple[str, ...]:
    return tuple(factors[at].name for at in term)


def _centred(values: Array) -> Array:
    """Deviations from the mean. That from one of the values first: it is exact where all are alike."""
    shifted = values - values.flat[0]
    first = shifted - shifted.mean()
    result: Array = first - first.mean()
    return result


def _swept(y: Array, terms: Sequence[tuple[int, ...]], *, blocked: bool) -> linear_anova.Sums:
    """Sweep an array with one axis a factor and a last one for blocks or replications."""
    rest = _centred(y)
    total = float(np.sum(rest**2))
    found = []
    axes = [*terms, *([(y.ndim - 1,)] if blocked else [])]
    for kept in axes:
        over = tuple(axis for axis in range(y.ndim) if axis not in kept)
        taken = rest.mean(axis=over, keepdims=True) if over else rest
        rest = rest - taken
        degrees = int(np.prod([y.shape[axis] - 1 for axis in kept]))
        found.append((degrees, float(np.sum(taken**2)) * (y.size // taken.size)))
    blocks = found.pop() if blocked else None
    return linear_anova.Sums(terms=tuple(found), blocks=blocks, error=float(np.sum(rest**2)), total=total)


def _table(
    responses: Responses, terms: Sequence[tuple[int, ...]], found: linear_anova.Sums, how: str
) -> Anova:
    spent = sum(degrees for degrees, _ in found.terms) + (found.blocks[0] if found.blocks else 0)
    degrees = responses.n - 1 - (spent if found.rank is None else found.rank - 1)
    error = Effect(factors=("error",), degrees=degrees, squares=found.error)
    effects = tuple(
        _tested(Effect(factors=_names(responses.factors, term), degrees=each, squares=squares), error)
        for term, (each, squares) in zip(terms, found.terms, strict=True)
        if each
    )
    blocks = None
    if found.blocks is not None:
        degrees, squares = found.blocks
        blocks = _tested(Effect(factors=("blocks",), degrees=degrees, squares=squares), error)
    return Anova(
        effects=effects, blocks=blocks, error=error, total_squares=found.total, n=responses.n, squares=how
    )


def _tested(effect: Effect, error: Effect) -> Effect:
    if not error.degrees or (error.squares == 0.0 and effect.squares == 0.0):
        return effect
    if error.squares == 0.0:
        return replace(effect, f=float("inf"), p=0.0)
    f = effect.mean_square / error.mean_square
    return replace(effect, f=f, p=critical_values.f_tail(f, effect.degrees, error.degrees))
