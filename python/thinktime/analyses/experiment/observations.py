"""Observations of a response in the cells of a designed experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError, offered
from thinktime.stats.designs.factorial import Factor, Level, Responses
from thinktime.stats.designs.transformations import Transformation
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """Observations of one response."""

    response: str
    responses: Responses
    """Values on the scale of the analysis, by cell and block."""
    raw: NDArray[np.float64]
    """The same observations in the response's own unit."""
    transformation: Transformation | None
    not_measured: int
    """Rows left out because the response was null or not a number."""
    blocks_incomplete: int
    """Blocks left out because they lack a cell that others have."""


def read(
    frame: pl.DataFrame,
    response: str,
    factors: Sequence[str] | Mapping[str, Sequence[Level]],
    blocks: str | None,
    transformation: Transformation | None,
) -> Observations | NotApplicable:
    """Observations of `response` in the cells of the design; arguments as of `analysis.analyse`."""
    for name in (response, *factors, *([blocks] if blocks else [])):
        if name not in frame.columns:
            raise InputError(f"{name}: there is no such column; {offered(name, frame.columns)}")
    if not frame[response].dtype.is_numeric():
        raise InputError(f"response {response!r} is of type {frame[response].dtype}, and must be a number")
    measured = frame.filter(frame[response].is_finite() & frame[response].is_not_null())
    dropped = frame.height - measured.height
    if not measured.height:
        return NotApplicable(f"{response} was not measured in any run", "choose another response")
    design_factors = _factors(measured, factors)
    if isinstance(design_factors, NotApplicable):
        return design_factors
    codes = np.column_stack([_codes(measured, factor) for factor in design_factors])
    raw = measured[response].cast(float).to_numpy().astype(np.float64)
    numbers = None if blocks is None else np.unique(measured[blocks].to_numpy(), return_inverse=True)[1]
    design = Responses(factors=design_factors, codes=codes, y=raw, blocks=numbers)
    kept, incomplete = _complete(design)
    raw = raw[kept]
    try:
        y = raw if transformation is None else transformation.apply(raw)
    except ValueError as error:
        raise InputError(f"response {response!r}: {error}; give a shift, or another transformation") from None
    used = Responses(
        factors=design_factors, codes=codes[kept], y=y, blocks=None if numbers is None else numbers[kept]
    )
    return Observations(
        response=response,
        responses=used,
        raw=raw,
        transformation=transformation,
        not_measured=dropped,
        blocks_incomplete=incomplete,
    )


def _factors(
    frame: pl.DataFrame, factors: Sequence[str] | Mapping[str, Sequence[Level]]
) -> tuple[Factor, ...] | NotApplicable:
    listed = []
    for name in factors:
        levels = factors[name] if isinstance(factors, Mapping) else _levels_in(frame, name)
        if len(levels) < 2:
            return NotApplicable(
                f"factor {name} has only one level, {list(levels)}", "vary it, or make it a fixed parameter"
            )
        listed.append(Factor(name, tuple(levels)))
    if not listed:
        return NotApplicable("there is no factor", "name the factors of the design")
    return tuple(listed)


def _levels_in(frame: pl.DataFrame, name: str) -> list[Level]:
    levels = frame[name].unique(maintain_order=True)
    return (levels.sort() if levels.dtype.is_numeric() else levels).to_list()


def _codes(frame: pl.DataFrame, factor: Factor) -> NDArray[np.int64]:
    positions = {level: index for index, level in enumerate(factor.levels)}
    try:
        return np.array([positions[level] for level in frame[factor.name].to_list()], dtype=np.int64)
    except KeyError as error:
        raise InputError(
            f"factor {factor.name}: a run has the level {error.args[0]!r}, which is not among "
            f"{', '.join(map(str, factor.levels))}"
        ) from None


def _complete(design: Responses) -> tuple[NDArray[np.bool_], int]:
    """Rows of blocks that have every cell which any has, and the number of other blocks.

    All rows if no block is complete: least squares then separate cells and blocks.
    """
    every = np.ones(design.n, dtype=bool)
    if design.blocks is None:
        return every, 0
    cells = np.count_nonzero(design.counts())
    held = {
        block: len(np.unique(design.cell_of()[design.blocks == block])) for block in np.unique(design.blocks)
    }
    complete = [block for block, count in held.items() if count == cells]
    if not complete:
        return every, 0
    return np.isin(design.blocks, complete), len(held) - len(complete)
