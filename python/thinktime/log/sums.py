"""Sums by group whose bits do not depend on the number of threads.

A group-by of polars adds the parts of a group in an order that depends on its threads, and the last digit of
a sum depends on that order. Here the rows of a group are added in the order of the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl


def by_group(parts: Iterable[pl.LazyFrame], key: str, names: Sequence[str]) -> pl.DataFrame:
    """Sum of each column for each value of `key`, in order of first appearance; null where nothing is known.

    Parameters
    ----------
    parts : iterable of polars.LazyFrame
        Rows, as `Log.in_turn` gives them: a few parts are in memory at a time.
    key : str
        Column without nulls whose values name the groups.
    names : sequence of str
        Columns of floats.
    """
    import polars as pl

    sums: dict[object, np.ndarray] = {}
    counts: dict[object, np.ndarray] = {}
    for part in parts:
        frame = part.select(key, *names).collect()
        if frame.is_empty():
            continue
        # In order of first appearance. polars finds groups of texts far faster than NumPy sorts them.
        groups = frame[key].unique(maintain_order=True)
        codes = frame[key].replace_strict(groups, pl.arange(len(groups), eager=True)).to_numpy()
        columns = [frame[name] for name in names]
        added = np.array([np.bincount(codes, item.fill_null(0.0).to_numpy()) for item in columns])
        known = np.array([np.bincount(codes, item.is_not_null().to_numpy()) for item in columns])
        for index, group in enumerate(groups.to_list()):
            sums[group] = sums.get(group, 0.0) + added[:, index]
            counts[group] = counts.get(group, 0.0) + known[:, index]
    return pl.DataFrame(
        {
            key: list(sums),
            **{
                name: [float(sums[group][column]) if counts[group][column] else None for group in sums]
                for column, name in enumerate(names)
            },
        },
        schema_overrides=dict.fromkeys(names, pl.Float64),
        strict=False,
    )
