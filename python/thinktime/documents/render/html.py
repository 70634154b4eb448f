"""A document as one self-contained HTML file, without server, network or date of creation.

The file contains every chart twice: drawn beforehand as SVG, for paper and for readers without scripts, and
as a specification that Vega draws to the width of the screen. Vega and the specifications are packed, and
unpacked by the browser when the first chart comes into view. The Content-Security-Policy allows only the
scripts and styles of this file, by their hashes: whatever a log contains, it cannot run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata, resources
from typing import TYPE_CHECKING, Any

from thinktime.documents import format as shown
from thinktime.documents.charts import frame
from thinktime.documents.document import DATA_IN, Cell, Document, Figure, Section, Table
from thinktime.documents.render.arranged import ROWS_SHOWN, Words, arrange, counted
from thinktime.documents.render.drawing import embedded
from thinktime.documents.render.escape import escaped_document
from thinktime.documents.render.kept import kept
from thinktime.stats.estimate import Estimate

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

DIGITS = 7
"""Significant digits of a number in a chart: a screen shows four, and an axis may begin far from zero."""
STATIC_WIDTH = 760
"""Width of the charts drawn beforehand: about a page of paper [px]."""
VEGA_LITE = "6.4"
"""The version that this Altair writes; vl-convert carries several."""
_MARKED = re.compile(rf"`(?P<code>[^`\n]+)`|{shown.MOMENT.pattern}")
"""Code in backticks, or an instant."""
ROWS_MOST = 1000
"""Rows of a table that a page holds: a log of years has a hundred thousand periods."""
_DRAWN = re.compile(r"<(?:text|tspan)\b[^>]*>([^<]*)<")
"""Words in a drawing."""


@dataclass(frozen=True, slots=True)
class HtmlCell:
    """Cell on the page: the number, its interval in quieter ink, and the details behind it."""

    text: str
    interval: str
    unit: str
    hint: str
    absent: bool


@dataclass(frozen=True, slots=True)
class HtmlTable:
    """Table on the page."""

    name: str
    caption: str
    headings: tuple[tuple[str, str, bool], ...]
    """Name, unit, and whether the column holds numbers."""
    rows: tuple[tuple[HtmlCell, ...], ...]
    notes: tuple[str, ...]

    @property
    def classes(self) -> str:
        """Names of its columns of numbers in the style; in each cell they would be a tenth of a page."""
        return " ".join(f"n{place}" for place, (_, _, numeric) in enumerate(self.headings, 1) if numeric)


@dataclass(frozen=True, slots=True)
class HtmlFigure:
    """Figure on the page."""

    name: str
    title: str
    alt: str
    svg: str
    spec: dict[str, Any]
    table: HtmlTable
    half: bool


@cache
def _page() -> Template:
    """Template of a page, compiled once for all of them."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = _cell
    environment.filters["worded"] = _worded
    return environment.from_string(_resource("report.html.j2"))


def render(document: Document) -> str:
    """Complete page."""
    document = escaped_document(document)
    halves = {name for section in document.sections for name in _halves(section)}
    explorer = document.explorer
    moved = explorer.figures if explorer else ()
    halves |= {figure.name for figure in moved if figure.half}
    figures = {
        figure.name: _figure(figure, figure.name in halves)
        for figure in (*moved, *(one for section in document.sections for one in section.figures))
    }
    tables = {table.name: _table(table) for section in document.sections for table in section.tables}
    columns = max((len(table.columns) for _, table in document.tables()), default=0)
    style, bundle = _resource("report.css") + _numbers(columns), _bundle() if figures else None
    script = _resource("report.js") + (_resource("explorer.js") if explorer else "")
    return _page().render(
        document=document,
        groups=document.groups(),
        figures=figures,
        tables=tables,
        arrangement=arrange(document, _words(figures, tables)),
        rows_shown=ROWS_SHOWN,
        style=style,
        script=script,
        bundle=bundle,
        varied=_json(explorer.data()) if explorer else "",
        specs=_packed(_json({name: figure.spec for name, figure in figures.items()})),
        policy=_policy(style, [_hash(script), *([bundle.hash] if bundle else [])]),
    )


def _words(figures: Mapping[str, HtmlFigure], tables: Mapping[str, HtmlTable]) -> Words:
    """Numbers of words that a reader sees of each figure and of each table."""
    return Words(
        figures={
            # What a chart draws, its words, its name over it and at the fold of its data, and the keys there.
            name: sum(map(counted, (*_DRAWN.findall(figure.svg), figure.alt, *[figure.title] * 2))) + 8
            for name, figure in figures.items()
        },
        tables={
            name: [
                sum(counted(f"{heading} {unit}") for heading, unit, _ in table.headings)
                + sum(map(counted, (table.caption, *table.notes))),
                *(sum(counted(f"{cell.text} {cell.interval}") for cell in row) for row in table.rows),
            ]
            for name, table in tables.items()
        },
    )


def _numbers(columns: int) -> str:
    """Style of columns of numbers, in tables of up to so many columns."""
    cells = ", ".join(f".n{place} > * > tr > :nth-child({place})" for place in range(1, columns + 1))
    look = "text-align: right; font-variant-numeric: tabular-nums;"
    return f"{cells} {{ {look} }}\n@media screen {{ {cells} {{ white-space: nowrap; }} }}\n" if cells else ""


@cache
def _resource(name: str) -> str:
    return (
        resources.files("thinktime.documents.render")
        .joinpath("page")
        .joinpath(name)
        .read_text(encoding="utf-8")
    )


@dataclass(frozen=True, slots=True)
class Bundle:
    """Script that draws the charts, packed, and the hash by which the policy allows it."""

    hash: str
    packed: str


@cache
def _bundle() -> Bundle:
    """Script that draws the charts; to put it together takes as long as a small page."""
    version = metadata.version("vl-convert-python")
    return Bundle(*kept(f"vega-lite-{VEGA_LITE}-vl-convert-{version}.packed", _bundled).split("\n"))


def _bundled() -> str:
    import vl_convert

    text: str = vl_convert.javascript_bundle(vl_version=VEGA_LITE)  # type: ignore[call-arg]
    # A module within the page has no event of its own that it has run.
    text += '\nwindow.dispatchEvent(new Event("vega"));\n'
    return f"{_hash(text)}\n{_packed(text)}"


def _packed(text: str) -> str:
    """Text as the script of the page unpacks it: gzip without a date, in letters that end no element."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _policy(style: str, scripts: list[str]) -> str:
    return (
        f"default-src 'none'; script-src {' '.join(scripts)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _worded(text: str) -> Markup:
    """Text whose instants are elements of time, and whose commands are code.

    The script of the page shows the instants in the zone of the reader.
    """
    from markupsafe import Markup, escape

    parts, end = [], 0
    for found in _MARKED.finditer(text):
        parts.append(escape(text[end : found.start()]))
        if found["code"]:
            parts.append(Markup("<code>{}</code>").format(found["code"]))
        else:
            element = Markup('<time datetime="{}T{}Z">{}</time>')
            parts.append(element.format(found["date"], found["time"], found[0]))
        end = found.end()
    return Markup("").join([*parts, escape(text[end:])])


def _json(value: object) -> str:
    """JSON that is safe inside a script element: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _figure(figure: Figure, half: bool) -> HtmlFigure:
    import vl_convert

    spec = figure.chart()
    width = STATIC_WIDTH // 2 if half else STATIC_WIDTH
    svg: str = vl_convert.vegalite_to_svg(frame.at_width(spec, width), vl_version=VEGA_LITE)
    svg = embedded(svg, figure.name)
    return HtmlFigure(figure.name, figure.title, figure.alt, svg, _once(spec), _table(figure.data), half)


def _once(spec: dict[str, Any]) -> dict[str, Any]:
    """Specification that holds each set of rows once, however many layers draw it."""
    places = [
        spec,
        *spec.get("layer", ()),
        *(view for each in spec.get("vconcat", ()) for view in each["layer"]),
    ]
    sets: dict[str, str] = {}
    named: dict[str, list[Any]] = {}
    for place in places:
        values = place.get("data", {}).get("values")
        if values is not None:
            name = sets.setdefault(json.dumps(values), f"rows-{len(sets) + 1}")
            named[name] = [{key: _visible(value) for key, value in row.items()} for row in values]
            place["data"] = {"name": name}
    return spec | {"datasets": spec.get("datasets", {}) | named} if named else spec


def _visible(value: object) -> object:
    """Value with the digits of which a screen can show some."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _halves(section: Section) -> Iterator[str]:
    """Rows of figures: two side by side if both are readable at half the width."""
    waiting = ""
    for figure in section.figures:
        if figure.half and waiting:
            yield waiting
            yield figure.name
            waiting = ""
        else:
            waiting = figure.name if figure.half else ""


def _table(table: Table) -> HtmlTable:
    held, notes = table.rows[:ROWS_MOST], table.notes
    if len(held) < len(table.rows):
        notes = (*notes, f"The first {ROWS_MOST} of {len(table.rows)} rows; all are in {DATA_IN}.")
    columns = [shown.column(head, [row[at] for row in held]) for at, head in enumerate(table.columns)]
    rows = tuple(
        tuple(_table_cell(value, column.cells[number]) for value, column in zip(row, columns, strict=True))
        for number, row in enumerate(held)
    )
    headings = tuple((column.heading, column.unit, column.numeric) for column in columns)
    return HtmlTable(table.name, table.caption, headings, rows, notes)


def _table_cell(value: Cell, text: str) -> HtmlCell:
    if not isinstance(value, Estimate):
        return HtmlCell(text, "", "", "", text == shown.ABSENT)
    figure, interval = _split(text)
    return HtmlCell(figure, interval, "", _hint(value), text == shown.ABSENT)


def _split(text: str) -> tuple[str, str]:
    """Number and interval of a formatted estimate: `377` and `± 12`, or `377` and `(350 to 420)`."""
    for mark in ("±", "("):
        at = text.find(mark)
        if at > 0:
            return text[:at].rstrip(shown.SPACE), text[at:]
    return text, ""


def _cell(value: Cell, unit: str) -> HtmlCell:
    """Number of a card, with its unit separate so that it can be set smaller."""
    text = shown.cell(value, unit)
    if isinstance(value, str) or text == shown.ABSENT:
        return HtmlCell(text, "", "", "", text == shown.ABSENT)
    if isinstance(value, Estimate):
        bare, _, symbol = text.rpartition(shown.SPACE) if _has_unit(value.unit) else (text, "", "")
        figure, interval = _split(bare)
        return HtmlCell(figure, interval, symbol, _hint(value), absent=False)
    bare, _, symbol = text.partition(shown.SPACE)
    return HtmlCell(bare, "", symbol, "", absent=False)


def _has_unit(unit: str) -> bool:
    return unit not in {"", "1/s"}


def _hint(value: Estimate) -> str:
    level = f"{value.level * 100:g} % interval, " if value.low is not None or value.high is not None else ""
    return f"{level}n = {value.n}, {value.method}"
