"""The rows of a chart, as Altair carries them from layer to layer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import altair as alt


class _Values:
    """Rows that Altair takes as one value: it would copy each of them for every layer."""

    _schema: ClassVar[Mapping[str, str]] = {"type": "array"}
    """By this Altair knows what has a `to_dict` of its own."""

    def __init__(self, rows: Sequence[Mapping[str, object]]) -> None:
        self._rows = [{key: _clean(value) for key, value in row.items()} for row in rows]

    def to_dict(self) -> list[dict[str, object]]:
        """Rows, when the specification is complete."""
        return self._rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Values) and (self is other or self._rows == other._rows)

    __hash__ = None  # type: ignore[assignment]


def data(rows: Sequence[Mapping[str, object]]) -> alt.Data:
    """Data of a chart with these rows of plain values; what is not finite is null."""
    import altair as alt
    from altair.utils import schemapi

    # To hold each row to the schema takes half of the time of a chart.
    with schemapi.debug_mode(False):
        return alt.Data(values=_Values(rows))  # type: ignore[no-untyped-call]


def _clean(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value
