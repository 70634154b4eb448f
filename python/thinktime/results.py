"""Base of all results (of questions, simulations, plays, models): plain values, a frame, a short text."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from thinktime.escape import escaped
from thinktime.notation import estimate as in_print
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable, Plain
from thinktime.stats.hypothesis import SignificanceTest

if TYPE_CHECKING:
    import polars as pl

SHOWN_MAX = 20
"""Rows of the main table that a notebook shows; `Result.to_frame` has all of them."""
TEXT_MAX = 70


class Result:
    """Base class of results: derive from it as a frozen, keyword-only dataclass with ``repr=False``.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    ... class Group:
    ...     load: float
    ...     mean: Estimate
    >>> @dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
    ... class Curve(Result):
    ...     MAIN = "groups"
    ...     unit: str
    ...     groups: tuple[Group, ...]
    >>> mean = Estimate(value=0.5, unit="s", n=40, method="mean", low=0.4, high=0.6)
    >>> curve = Curve(unit="s", groups=(Group(load=1.0, mean=mean),))
    >>> curve.to_frame().columns
    ['load', 'mean', 'mean_low', 'mean_high', 'mean_n']
    >>> curve.to_dict()["groups"][0]["mean"]["high"]
    0.6
    """

    __slots__ = ()

    MAIN: ClassVar[str] = ""
    """Field that holds the records of the main table; empty where the result itself is its only record."""

    def to_dict(self) -> dict[str, Plain]:
        """All fields as nested dictionaries, lists, numbers and strings, ready for JSON, in SI units.

        An estimate is a dictionary of its value, unit, interval, n and method; a number that is not finite
        becomes None, since JSON cannot express it.
        """
        return {item.name: _plain(getattr(self, item.name)) for item in _fields(self)}

    def to_frame(self) -> pl.DataFrame:
        """Main table as a polars data frame, a row for each record (pandas: ``.to_frame().to_pandas()``).

        An estimate takes four columns: its value under the name of the field, then ``_low``, ``_high`` and
        ``_n``. Fields of nested records have both names: ``response_p90``. Lists inside a record are omitted;
        `to_dict` has them.
        """
        import polars as pl

        rows = [_cells(record) for record in self._records()]
        columns: dict[str, list[str]] = {}
        for row in rows:
            for field, cells in row.items():
                names = columns.setdefault(field, [])
                names.extend(name for name in cells if name not in names)
        return pl.DataFrame(
            {
                name: [row.get(field, {}).get(name) for row in rows]
                for field, names in columns.items()
                for name in names
            },
            strict=False,
        )

    def _records(self) -> Sequence[Any]:
        """Records of the main table: dataclasses or mappings."""
        return getattr(self, self.MAIN) if self.MAIN else (self,)

    def __repr__(self) -> str:
        """Name of the result, and a line for each field."""
        lines = (f"  {item.name}: {escaped(_brief(getattr(self, item.name)))}" for item in _fields(self))
        return "\n".join([type(self).__name__, *lines])

    def _repr_html_(self) -> str:
        """Fields and main table as a notebook shows them."""
        fields = "".join(
            f"<tr><th style='text-align:left'>{item.name}</th>"
            f"<td style='text-align:left'>{_in_html(_brief(getattr(self, item.name)))}</td></tr>"
            for item in _fields(self)
            if item.name != self.MAIN
        )
        title = f"<strong>{type(self).__name__}</strong><table>{fields}</table>"
        return title + _html_table(self._records()) if self.MAIN else title


def _fields(record: Any) -> tuple[dataclasses.Field[Any], ...]:
    # A field with an underscore is a means of the object, not a part of its result.
    return tuple(item for item in dataclasses.fields(record) if not item.name.startswith("_"))


def _is_record(value: object) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _plain(value: Any) -> Plain:
    """`value` of plain Python types."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, NotApplicable):
        return {"not_applicable": value.reason, "remedy": value.remedy}
    if _is_record(value):
        return {item.name: _plain(getattr(value, item.name)) for item in _fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, (Path, complex)):
        return str(value)
    if hasattr(value, "tolist"):  # NumPy's arrays and scalars
        return _plain(value.tolist())
    if hasattr(value, "to_dicts"):  # polars' data frames
        return _plain(value.to_dicts())
    return [_plain(item) for item in value]


def _leaves(record: Any, before: str = "") -> Iterator[tuple[str, Any, str]]:
    """Name, value and declared type of each field, those of nested records by both names; no lists."""
    items = (
        ((str(name), value, "") for name, value in record.items())
        if isinstance(record, Mapping)
        else ((item.name, getattr(record, item.name), str(item.type)) for item in _fields(record))
    )
    for name, value, declared in items:
        leaf = isinstance(value, (Estimate, NotApplicable)) or not _is_record(value)
        if isinstance(value, Mapping) or not leaf:
            yield from _leaves(value, f"{before}{name}_")
        elif isinstance(value, str) or not isinstance(value, Sequence):
            yield before + name, value, declared


def _cells(record: Any) -> dict[str, dict[str, object]]:
    """Columns and values of a row, by field: four for an estimate, several for a nested record."""
    row: dict[str, dict[str, object]] = {}
    top = [str(name) for name in record] if isinstance(record, Mapping) else [f.name for f in _fields(record)]
    for name, value, declared in _leaves(record):
        field = max((item for item in top if name.startswith(item)), key=len)
        cells = row.setdefault(field, {})
        if isinstance(value, Estimate) or (value is None and declared == "Estimate | None"):
            # Where the first row has no estimate, its columns stand in their order all the same.
            for ending, attribute in (("", "value"), ("_low", "low"), ("_high", "high"), ("_n", "n")):
                cells[name + ending] = None if value is None else getattr(value, attribute)
        elif value is not None or not declared[:1].isupper():
            # A nested record that is missing has no column of its own; its fields are null.
            cells[name] = None if isinstance(value, NotApplicable) else value
    return row


def _brief(value: Any) -> str:
    """`value` in a few words."""
    if value is None:
        return "none"
    if isinstance(value, Estimate):
        return f"{in_print(value)} (n = {value.n})"
    if isinstance(value, NotApplicable):
        return f"not applicable: {value.reason}"
    if isinstance(value, Caveat):
        return value.kind
    if isinstance(value, SignificanceTest):
        return f"p = {value.p:.3g}: {value.method}"
    if _is_record(value):
        return type(value).__name__
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, float)):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return _cut(", ".join(f"{key}: {_brief(item)}" for key, item in value.items()) or "none")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _listed(value)
    return _cut(str(value))


def _listed(values: Sequence[Any]) -> str:
    if not values:
        return "none"
    if all(isinstance(value, (str, int, float, Caveat)) for value in values) and len(values) <= 8:
        return _cut(", ".join(_brief(value) for value in values))
    kinds = {type(value).__name__ for value in values if value is not None}
    return f"{len(values)} × {' or '.join(sorted(kinds))}"


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 1] + "…"


def _in_html(text: str) -> str:
    return html.escape(escaped(text))


def _html_table(records: Sequence[Any]) -> str:
    """Records as an HTML table, estimates with their interval."""

    def text(value: Any) -> str:
        return _in_html(in_print(value) if isinstance(value, Estimate) else _brief(value))

    rows = [{name: value for name, value, _ in _leaves(record)} for record in records[:SHOWN_MAX]]
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{_in_html(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{text(row.get(name))}</td>" for name in names) + "</tr>" for row in rows
    )
    more = f"<p>{len(records) - SHOWN_MAX} more rows</p>" if len(records) > SHOWN_MAX else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
