"""Cells, columns and instants in print; `thinktime.notation`, offered here too, has the numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from thinktime.documents.document import Cell, Column
from thinktime.notation import (
    ABSENT,
    DIGITS,
    SPACE,
    THIN,
    Scale,
    apart,
    count,
    decimals,
    estimate,
    fixed,
    interval,
    magnitude,
    number,
    plural,
    probability,
    quantity,
    scale,
)
from thinktime.stats.estimate import Estimate

__all__ = [
    "ABSENT",
    "SPACE",
    "THIN",
    "FormattedColumn",
    "Scale",
    "apart",
    "cell",
    "column",
    "count",
    "duration",
    "estimate",
    "moment",
    "number",
    "plural",
    "probability",
    "quantity",
    "scale",
]


@dataclass(frozen=True, slots=True)
class FormattedColumn:
    """A column ready to print: heading with its unit, and the text of every cell."""

    heading: str
    unit: str
    cells: tuple[str, ...]
    numeric: bool


def _magnitude(value: Cell) -> float:
    """Magnitude of a cell; 0 where it has none."""
    if isinstance(value, Estimate):
        return magnitude(value)
    if isinstance(value, (int, float)) and math.isfinite(value):
        return abs(value)
    return 0.0


def cell(value: Cell, unit: str = "") -> str:
    """Cell with its unit, scaled individually."""
    if value is None:
        return ABSENT
    if isinstance(value, str):
        return value
    if isinstance(value, Estimate):
        return estimate(value)
    return quantity(value, unit)


def column(head: Column, cells: Sequence[Cell]) -> FormattedColumn:
    """Column of a table: one scale for all its cells if they are of similar size, else one for each.

    A common unit is in the heading, and the numbers line up; costs of a fork and of a page fault (a
    hundredfold apart) stay readable with separate units.
    """
    if not head.scaled:
        texts = tuple(_unitless(value, Scale(1.0, head.unit), None) for value in cells)
        return FormattedColumn(head.name, head.unit, texts, numeric=True)
    if head.unit == "p":
        texts = tuple(probability(value) if isinstance(value, float) else ABSENT for value in cells)
        return FormattedColumn(head.name, "", texts, numeric=True)
    numbers = [value for value in cells if isinstance(value, (int, float, Estimate))]
    if not numbers:
        texts = tuple(ABSENT if value is None else str(value) for value in cells)
        return FormattedColumn(head.name, "", texts, numeric=False)
    unit = head.unit or next((value.unit for value in numbers if isinstance(value, Estimate)), "")
    sizes = [size for size in map(_magnitude, numbers) if size > 0]
    mixed = any(isinstance(value, Estimate) and value.unit != unit for value in numbers)
    if mixed or (
        sizes and max(sizes) / min(sizes) >= 1e3 and scale(max(sizes), unit) != scale(min(sizes), unit)
    ):
        texts = tuple(cell(value, unit) for value in cells)
        return FormattedColumn(head.name, "", texts, numeric=True)
    chosen = scale(sorted(sizes)[len(sizes) // 2] if sizes else 0.0, unit)
    places = _shared_places([value for value in numbers if not isinstance(value, Estimate)], chosen)
    texts = tuple(_unitless(value, chosen, places) for value in cells)
    return FormattedColumn(head.name, chosen.unit, texts, numeric=True)


def _shared_places(values: Sequence[float], chosen: Scale) -> int | None:
    """Decimals for a whole column, so that its points line up; None if each number needs its own."""
    scaled = [abs(value / chosen.factor) for value in values if value and math.isfinite(value)]
    if not scaled or (all(isinstance(value, int) for value in values) and chosen.factor == 1.0):
        return 0 if scaled and max(scaled) < 1e15 else None
    if max(scaled) >= 1e15 or min(scaled) < 1e-4:
        return None
    middle = sorted(scaled)[len(scaled) // 2]
    return min(max(decimals(middle, DIGITS), 0), 6)


def _unitless(value: Cell, chosen: Scale, places: int | None) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ABSENT
    if isinstance(value, str):
        return value
    if isinstance(value, Estimate):
        return ABSENT if math.isnan(value.value) else interval(value, chosen)
    scaled = value / chosen.factor if chosen.factor != 1.0 else value
    if places is None:
        return number(scaled)
    # A small number in a column of large ones keeps one digit rather than turn into a zero.
    if scaled and round(scaled, places) == 0:
        return number(scaled, 1)
    return fixed(scaled, places)


def duration(seconds: float) -> str:
    """Length of time in words of the clock: 3 min 20 s."""
    if seconds < 60 or not math.isfinite(seconds):
        return quantity(seconds, "s")
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    first = next(index for index, (amount, _) in enumerate(parts) if amount)
    shown = [f"{amount}{SPACE}{symbol}" for amount, symbol in parts[first : first + 2] if amount]
    return " ".join(shown)


MOMENT = re.compile(r"\b(?P<date>\d{4}-\d\d-\d\d) (?P<time>\d\d:\d\d:\d\d) UTC\b")
"""Instant in a sentence, as `moment` writes it."""


def localised(text: str) -> str:
    """`text` with its instants in the zone of whoever reads it here: 2026-11-23 17:31:02 CET (UTC+01:00)."""

    def local(found: re.Match[str]) -> str:
        instant = datetime.fromisoformat(f"{found['date']}T{found['time']}+00:00").astimezone()
        if not instant.utcoffset():
            return found[0]
        name, away = _zone(instant)
        return f"{instant:%Y-%m-%d %H:%M:%S} " + (f"{name} ({away})" if name else away)

    return MOMENT.sub(local, text)


def local_minute(instant: datetime) -> str:
    """Instant to the minute, in the zone of whoever reads it here: 2026-11-23 17:31 CET."""
    here = instant.astimezone()
    name, away = _zone(here)
    return f"{here:%Y-%m-%d %H:%M} {name or away}"


def _zone(instant: datetime) -> tuple[str, str]:
    """Name of the zone and distance from UTC; some zones have no name but their distance."""
    name, offset = instant.tzname() or "", instant.strftime("%z")
    return name if name.isalpha() else "", f"UTC{offset[:3]}:{offset[3:5]}"


def moment(instant: datetime | int) -> str:
    """Instant to the second, in UTC; an integer counts microseconds since 1970 UTC."""
    if isinstance(instant, int):
        instant = datetime.fromtimestamp(instant // 1_000_000, timezone.utc)
    return instant.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
