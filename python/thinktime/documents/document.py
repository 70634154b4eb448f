"""A report before it is rendered: sections of sentences, figures and tables, free of any format.

Analyses return numbers; a section turns one analysis into these objects; the renderers (text, JSON,
CSV, HTML) know only these objects. Numbers stay numbers, in SI units, until a renderer formats them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Generic, Literal, TypeVar

from thinktime.stats.estimate import Estimate

Record = TypeVar("Record")
Read = TypeVar("Read", contravariant=True)

DATA_IN = "--format json and csv"
"""Where all figures of a report are."""

Shape = Literal["square", "circle", "diamond", "line"]

Cell = str | int | float | None | Estimate
"""One cell of a table. An Estimate is shown with its interval; None as not measured."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: what it holds and its unit.

    The unit is SI or a noun (``s``, ``byte``, ``fork/s``), ``share`` for a part of one (shown in per cent),
    ``p`` for the probability that a test gives, and empty for labels and pure numbers.
    """

    name: str
    _: KW_ONLY
    unit: str = ""
    scaled: bool = True
    """False: shown in this very unit, as a published table is; texts in it are printed numbers."""


@dataclass(frozen=True, slots=True)
class Col(Generic[Read]):
    """A column of a table made by `Table.of`: heading, unit, and the function that gives its cell.

    Parameters
    ----------
    name : str
        Heading.
    of : callable of record
        Cell of one record: ``lambda cost: cost.seconds``.
    unit, scaled
        As of `Column`.
    """

    name: str
    of: Callable[[Read], Cell]
    _: KW_ONLY
    unit: str = ""
    scaled: bool = True


@dataclass(frozen=True, slots=True)
class Cols(Generic[Read]):
    """Several columns of one kind in a table made by `Table.of`: one for each log, say.

    Parameters
    ----------
    names : iterable of str
        Headings.
    of : callable of record
        Cells of one record, in the order of the headings.
    unit, scaled
        As of `Column`.
    """

    names: Iterable[str]
    of: Callable[[Read], Iterable[Cell]]
    _: KW_ONLY
    unit: str = ""
    scaled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells under named columns; the first column names the row."""

    name: str
    """Identifier, unique in the document: ``overhead-costs``."""
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    folded: bool = False
    """Of use to few readers: a page shows it on demand, a text names its rows only."""

    @classmethod
    def of(
        cls,
        records: Iterable[Record],
        *columns: Col[Record] | Cols[Record],
        name: str,
        caption: str,
        notes: Sequence[str] = (),
        folded: bool = False,
    ) -> Table:
        """Table with a row for each record, under columns that say how they get their cells.

        Examples
        --------
        >>> table = Table.of([1, 2], Col("n", str), Col("square", lambda n: n * n), name="n", caption="N")
        >>> table.rows
        (('1', 1), ('2', 4))
        """
        heads: list[Column] = []
        for item in columns:
            names = (item.name,) if isinstance(item, Col) else item.names
            heads.extend(Column(heading, unit=item.unit, scaled=item.scaled) for heading in names)
        return cls(
            name=name,
            caption=caption,
            columns=tuple(heads),
            rows=tuple(
                tuple(
                    cell
                    for item in columns
                    for cell in ((item.of(record),) if isinstance(item, Col) else item.of(record))
                )
                for record in records
            ),
            notes=tuple(notes),
            folded=folded,
        )

    def __post_init__(self) -> None:
        """Refuse a row that does not fit the columns: it would show figures under a wrong name."""
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.name}: row {number} has {len(row)} cells for {len(self.columns)} columns"
                )


@dataclass(frozen=True, slots=True)
class Key:
    """A named part of a chart, and the meaning that gives it its colour: `user`, `system`, `disk`."""

    name: str
    _: KW_ONLY
    colour: str
    shape: Shape = "square"

    @classmethod
    def each(cls, names: Iterable[str], colours: Sequence[str], shape: Shape) -> tuple[Key, ...]:
        """Key for each name; with more names than colours these repeat."""
        return tuple(
            cls(name, colour=colour, shape=shape)
            for name, colour in zip(names, itertools.cycle(colours), strict=False)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart with its data as a table and in words, for who cannot see it."""

    name: str
    title: str
    chart: Callable[[], dict[str, Any]]
    """Makes the Vega-Lite specification with inline data; called only by a renderer that draws."""
    data: Table
    alt: str
    """What the chart shows, in one or two sentences with the figures that matter."""
    keys: tuple[Key, ...] = ()
    """What the colours stand for, where the chart does not say it at the marks."""
    half: bool = False
    """Readable at half the width of the page: such figures stand side by side where there is room."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the reader should know, in plain words."""

    text: str
    _: KW_ONLY
    section: str = ""
    """Name of the section that shows it; empty where there is none."""
    tone: str = ""
    """``warning`` where the reader must beware, ``next`` for what to look at next, else empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Highlight:
    """One figure of the summary at the top."""

    name: str
    label: str
    value: Cell
    unit: str
    note: str
    section: str = ""
    """Name of the section that shows it; empty where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One question and its answer."""

    name: str
    """Identifier, unique in the document: the name of the analysis."""
    title: str
    summary: tuple[str, ...]
    """The answer in plain sentences, most important first."""
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    caveats: tuple[str, ...] = ()
    """What the reader must know before relying on the answer."""
    method: str = ""
    """How it was computed and after whom, with page and equation."""
    not_applicable: str = ""
    """Why there is no answer for this log; then the other fields are empty."""
    group: str = ""
    """The log that this section is about, where a document covers several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole report."""

    title: str
    subtitle: str
    findings: tuple[Finding, ...]
    """The plain-words summary that comes first."""
    sections: tuple[Section, ...]
    facts: tuple[tuple[str, str], ...] = ()
    """What was measured, when, by what: label and value."""
    highlights: tuple[Highlight, ...] = ()
    facts_title: str = "What was recorded?"
    data_in: str = DATA_IN
    """Where a text sends its reader for the figures that it does not print."""
    origin: str = "Made by thinktime from the log alone: the same log gives the same page."
    """The last sentence of a page: what it was made from."""

    def tables(self) -> Iterator[tuple[Section, Table]]:
        """Every table with its section, the data of figures included, in the order of the report."""
        for section in self.sections:
            for figure in section.figures:
                yield section, figure.data
            for table in section.tables:
                yield section, table
