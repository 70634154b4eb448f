"""CPU time by ticks against exact CPU time, and what the recorder itself took."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.overhead.result import TickCheck
from thinktime.stats.series.batch_means import Batches

if TYPE_CHECKING:
    from thinktime.analyses.overhead.design import Design
    from thinktime.stats.estimate import Estimate

__all__ = ["BESIDE", "recorder_time", "tick_check"]

Array = NDArray[np.float64]

BESIDE = ("cpu_exact_s", "recorder_cpu_s")
"""Columns that are read beside those of the regression."""


def tick_check(design: Design, columns: Sequence[str], level: float) -> TickCheck | None:
    """Compare busy time by ticks, the sum of `columns`, with exact busy time; None where not measured."""

    def rows() -> Iterable[tuple[Array, Array]]:
        for seen in design.pieces([*columns, "cpu_exact_s"]):
            both = np.column_stack([seen.total(columns), seen.columns["cpu_exact_s"]])
            known = ~np.isnan(both).any(axis=1)
            yield both[known], seen.length_s[known]

    found = _batches(rows, 2)
    if found is None:
        return None
    ticks, exact = (found.interval(at, level).with_unit("s/s") for at in (0, 1))
    return TickCheck(ticks, exact, ticks.value / exact.value - 1.0) if exact.value > 0.0 else None


def recorder_time(design: Design, level: float) -> Estimate | None:
    """CPU time of the recorder a second; None where not measured."""

    def rows() -> Iterable[tuple[Array, Array]]:
        for seen in design.pieces(["recorder_cpu_s"]):
            known = ~np.isnan(seen.columns["recorder_cpu_s"])
            yield seen.columns["recorder_cpu_s"][known, None], seen.length_s[known]

    found = _batches(rows, 1)
    return None if found is None else found.interval(0, level).with_unit("s/s")


def _batches(rows: Callable[[], Iterable[tuple[Array, Array]]], columns: int) -> Batches | None:
    """Make two passes: how many rows there are decides how they are batched."""
    n = sum(len(lengths) for _, lengths in rows())
    if not n:
        return None
    found = Batches(n, columns)
    for amounts, lengths in rows():
        found.absorb(amounts, lengths)
    return found
