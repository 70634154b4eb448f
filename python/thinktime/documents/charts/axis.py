"""The axes of a chart, and the types of its rows and of its specification."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

Spec = dict[str, Any]
"""Specification of a chart in Vega-Lite's JSON."""
Chart = Callable[[], Spec]
"""Function that makes the specification when a renderer needs it: text and JSON do not load Altair."""
Rows = Sequence[Mapping[str, object]]
"""Rows of a chart: each has its fields by name."""

TICKS_MAX = 9
"""Labels of a logarithmic axis for which there is room; with more, only decades are labelled."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Name of an axis with its unit, and how it is scaled."""

    title: str
    _: KW_ONLY
    log: bool = False
    format: str = ""
    """A d3 number format; empty for Vega's choice."""
    symbol: str = ""
    """Unit that each label carries with its prefix, instead of a unit in the title: 20 ms, 2 s."""
    low: float | None = None
    high: float | None = None
    ticks: tuple[float, ...] = ()
    """Positions of the labels; empty for Vega's choice."""

    @classmethod
    def from_zero(cls, title: str, rows: Rows, format: str = "") -> Axis:  # noqa: A002
        """Axis from zero that covers every `value` of the rows, and intervals up to half as high again.

        One wide interval must not flatten all curves; it is cut at the edge, and is in the table.
        """
        values = [number(row["value"]) for row in rows if row.get("value") is not None]
        highs = [number(row["high"]) for row in rows if row.get("high") is not None and not row.get("few")]
        top = max(filter(math.isfinite, values), default=0.0)
        wanted = max(top, min(max(highs, default=top), 1.5 * top))
        # Values that a damaged log gives may all be below zero, or infinite.
        wanted = wanted if 0.0 < wanted < math.inf else 1.0
        step = 10.0 ** math.floor(math.log10(wanted)) / 2
        return cls(title, format=format, low=0.0, high=math.ceil(wanted / step - 1e-9) * step)

    @classmethod
    def logarithmic(cls, title: str, values: Iterable[object], symbol: str = "") -> Axis:
        """Logarithmic axis over `values`, labelled at decades, and at 2 and 5 where that is not too dense."""
        positive = [found for value in values if (found := number(value)) > 0 and math.isfinite(found)]
        low, high = min(positive, default=1.0), max(positive, default=1.0)
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        fine = [round(step * 10.0**decade, 15 - decade) for decade in decades for step in (1, 2, 5)]
        below = max((tick for tick in fine if tick <= low), default=low)
        above = min((tick for tick in fine if tick >= high), default=high * 1.0001)
        ticks = [tick for tick in fine if below <= tick <= above]
        if len(ticks) > TICKS_MAX:
            ticks = [10.0**decade for decade in decades if below <= 10.0**decade <= above]
        return cls(title, log=True, symbol=symbol, low=below, high=above, ticks=tuple(ticks))


def number(value: object) -> float:
    """The value if it is a number, else nan."""
    return float(value) if isinstance(value, (int, float)) else math.nan
