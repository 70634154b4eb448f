"""Sums of squares of unbalanced designs, as differences between least-squares fits.

Where cells hold different numbers of observations the effects overlap, and their sums of squares are a
matter of definition: the type. A balanced design does not need it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from thinktime.errors import InputError
from thinktime.stats import arguments
from thinktime.stats.designs.factorial import Codes, Responses
from thinktime.stats.regression.least_squares import LeastSquares

Array = NDArray[np.float64]
Term = tuple[int, ...]

RANK_BELOW = 1e-10
"""A column of which less than this fraction is independent of others is a combination of them."""

Type = Literal["II", "III"]
"""II: squares that an effect explains beyond all effects that do not contain it (main effects beyond each
other, interactions beyond the main effects). III: squares that it explains beyond all others, with levels
coded to sum to zero, so that main effects concern unweighted means of cells; it needs every cell (Searle
1987, *Linear Models for Unbalanced Data*, chapter 8)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Degrees of freedom and sums of squares of the terms, the blocks, the error and in total.

    `rank` is that of the model, the constant included; None where the terms' degrees add up to it.
    """

    terms: tuple[tuple[int, float], ...]
    blocks: tuple[int, float] | None
    error: float
    total: float
    rank: int | None = None


def chosen_type(responses: Responses, requested: str | None) -> Type:
    """Type requested; by default III, or II where cells are empty.

    Raises
    ------
    InputError
        Type III is requested and cells are empty, or the type is unknown.
    """
    if requested is not None:
        arguments.choice(requested, ("II", "III"), "squares")
    empty = int(np.count_nonzero(responses.counts() == 0))
    if requested == "III" and empty:
        raise InputError(f"squares is 'III', which needs every cell, and {empty} are empty; give 'II'")
    return "II" if requested == "II" or empty else "III"


def terms_up_to(factors: int, order: int | None) -> list[Term]:
    """Positions of the factors of each effect: main effects, pairs, triples, up to `order`."""
    most = factors if order is None else min(order, factors)
    return [term for size in range(1, most + 1) for term in itertools.combinations(range(factors), size)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Residuals of a model in its cells and blocks."""

    of: Callable[[Array], Array]
    """Residuals of any responses in the same cells and blocks."""
    degrees: int
    """Degrees of freedom of the residuals."""


def errors(responses: Responses, order: int | None = None, *, blocks_out: bool = True) -> Errors:
    """Errors of the model with interactions up to `order` and, where there are any, blocks.

    With all interactions cells and blocks are swept; else the projection on an orthonormal basis of the
    model is subtracted.
    """
    if order is None or order >= len(responses.factors):

        def swept(y: Array) -> Array:
            return replace(responses, y=y).residuals(blocks_out=blocks_out)

        return Errors(of=swept, degrees=responses.error_degrees(blocks_out=blocks_out))
    groups = [np.ones((responses.n, 1))]
    groups += [_columns(responses, term) for term in terms_up_to(len(responses.factors), order)]
    if responses.blocks is not None and blocks_out:
        groups.append(_block_columns(responses.blocks))
    basis, triangle, _ = linalg.qr(np.hstack(groups), mode="economic", pivoting=True)
    lengths = np.abs(np.diagonal(triangle))
    basis = basis[:, : int(np.count_nonzero(lengths > RANK_BELOW * lengths[0]))]

    def left(y: Array) -> Array:
        centred = y - y[0]
        result: Array = centred - basis @ (basis.T @ centred)
        return result

    return Errors(of=left, degrees=responses.n - basis.shape[1])


def sums(responses: Responses, terms: Sequence[Term], kind: Type) -> Sums:
    """Sums of squares of `terms`, and of the blocks where there are any.

    Degrees of freedom are differences of ranks: an interaction has fewer, or none, where cells are empty.
    """
    groups = [np.ones((responses.n, 1))]
    groups += [_columns(responses, term) for term in terms]
    blocked = responses.blocks is not None
    if responses.blocks is not None:
        groups.append(_block_columns(responses.blocks))
    ends = np.cumsum([group.shape[1] for group in groups])
    places = [list(range(end - group.shape[1], end)) for group, end in zip(groups, ends, strict=True)]
    target = responses.y - responses.y[0]
    rows = LeastSquares(int(ends[-1]))
    rows.absorb(np.hstack(groups), target - target.mean())
    every = list(range(len(groups)))
    last = len(groups) - 1

    def fitted(kept: Sequence[int]) -> tuple[int, float]:
        fit = rows.solve([column for group in kept for column in places[group]])
        return fit.rank, fit.residual_squares

    def beyond(group: int, others: Sequence[int]) -> tuple[int, float]:
        small, large = fitted(others), fitted([*others, group])
        return large[0] - small[0], max(small[1] - large[1], 0.0)

    result = []
    for number, term in enumerate(terms, start=1):
        others = [group for group in every if group != number]
        if kind == "II":
            containing = {index for index, other in enumerate(terms, start=1) if set(term) <= set(other)}
            others = [group for group in others if group not in containing]
        result.append(beyond(number, others))
    blocks = beyond(last, every[:-1]) if blocked else None
    rank, error = fitted(every)
    return Sums(terms=tuple(result), blocks=blocks, error=error, total=fitted([0])[1], rank=rank)


def _block_columns(blocks: Codes) -> Array:
    _, block = np.unique(blocks, return_inverse=True)
    return _coded(block.astype(np.int64), int(block.max()) + 1)


def _columns(responses: Responses, term: Term) -> Array:
    """Columns of an interaction: all products of a column of each of its factors."""
    coded = [_coded(responses.codes[:, index], responses.shape[index]) for index in term]
    return reduce(lambda left, right: (left[:, :, None] * right[:, None, :]).reshape(len(left), -1), coded)


def _coded(codes: Codes, levels: int) -> Array:
    """Codes that sum to zero over the levels: the last level is -1 in every column."""
    table = np.vstack([np.eye(levels - 1), -np.ones(levels - 1)])
    result: Array = table[codes]
    return result
