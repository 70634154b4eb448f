"""Sums by group whose bits do not depend on the number of threads.

A group-by of polars adds the parts of a group in an order that depends on its threads, and the last digit of
a sum depends on that order. Here the rows of a group are added in the order of the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

_Array = NDArray[np.float64]
_Codes = NDArray[np.int64]

SPARSE = 4
"""Combinations of several keys, for each row, above which those that occur are counted instead of all."""


def by_group(parts: Iterable[pl.LazyFrame], key: str | Sequence[str], names: Sequence[str]) -> pl.DataFrame:
    """Sum of each column for each group, in order of first appearance; null where nothing is known.

    Parameters
    ----------
    parts : iterable of polars.LazyFrame
        Rows, as `Log.in_turn` gives them: a few parts are in memory at a time.
    key : str or sequence of str
        Column without nulls whose values name the groups, or several columns of texts.
    names : sequence of str
        Columns of floats.
    """
    import polars as pl

    keys = [key] if isinstance(key, str) else list(key)
    sums: dict[tuple[object, ...], _Array] = {}
    counts: dict[tuple[object, ...], _Array] = {}
    for part in parts:
        frame = part.select(*keys, *names).collect()
        if frame.is_empty():
            continue
        groups, codes = _grouped(frame.select(keys))
        added = np.array([_sums(codes, frame[name], len(groups)) for name in names])
        known = np.array([_known(codes, frame[name], len(groups)) for name in names])
        for index, group in enumerate(groups):
            sums[group] = sums.get(group, 0.0) + added[:, index]
            counts[group] = counts.get(group, 0.0) + known[:, index]
    return pl.DataFrame(
        {
            **{name: [group[place] for group in sums] for place, name in enumerate(keys)},
            **{
                name: [float(sums[group][column]) if counts[group][column] else None for group in sums]
                for column, name in enumerate(names)
            },
        },
        schema_overrides=dict.fromkeys(names, pl.Float64),
        strict=False,
    )


def _grouped(keys: pl.DataFrame) -> tuple[list[tuple[object, ...]], _Codes]:
    """Values of the keys of each group, in order of first appearance, and the number of each row's group."""
    import polars as pl

    values, codes = zip(*(_coded(column) for column in keys), strict=True)
    if len(values) == 1:
        return [(value,) for value in values[0]], codes[0]
    sizes = [len(column) for column in values]
    together = np.ravel_multi_index(codes, sizes)
    if int(np.prod(sizes, dtype=np.float64)) <= SPARSE * len(together):
        first = np.full(int(np.prod(sizes)), len(together))
        np.minimum.at(first, together, np.arange(len(together)))
        occurring = np.flatnonzero(first < len(together))
        present = occurring[np.argsort(first[occurring])]
        number = np.empty(len(first), dtype=np.int64)
        number[present] = np.arange(len(present))
        rows = number[together]
    else:
        # Of an array polars makes no series without masked arrays, whose module takes long to load.
        present = pl.Series(together).unique(maintain_order=True).to_numpy()
        order = np.argsort(present)
        rows = order[np.searchsorted(present[order], together)]
    places = zip(*(place.tolist() for place in np.unravel_index(present, sizes)), strict=True)
    return [tuple(values[column][at] for column, at in enumerate(place)) for place in places], rows


def _coded(column: pl.Series) -> tuple[list[object], _Codes]:
    """Different values of a column, in order of first appearance, and the number of each row's value."""
    import polars as pl

    if column.dtype == pl.String:
        # Texts are compared once, and numbers from then on.
        texts = column.cast(pl.Categorical)
        numbers = texts.to_physical().to_numpy()
        values = texts.unique(maintain_order=True)
        place = np.empty(int(numbers.max()) + 1, dtype=np.int64)
        place[values.to_physical().to_numpy()] = np.arange(len(values))
        return values.to_list(), place[numbers]
    values = column.unique(maintain_order=True)
    return values.to_list(), column.replace_strict(values, pl.arange(len(values), eager=True)).to_numpy()


def _sums(codes: _Codes, column: pl.Series, groups: int) -> _Array:
    if column.null_count() == len(column):
        return np.zeros(groups)
    return np.bincount(codes, column.fill_null(0.0).to_numpy(), groups).astype(np.float64)


def _known(codes: _Codes, column: pl.Series, groups: int) -> _Array:
    """Number of values in each group."""
    if column.null_count() == len(column):
        return np.zeros(groups)
    known = None if column.null_count() == 0 else column.is_not_null().to_numpy()
    return np.bincount(codes, known, groups).astype(np.float64)
