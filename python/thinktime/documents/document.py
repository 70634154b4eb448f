"""A report before it is rendered: sections of sentences, figures and tables, free of any format.

Analyses return numbers; a section turns one analysis into these objects; the renderers (text, JSON,
CSV, HTML) know only these objects. Numbers stay numbers, in SI units, until a renderer formats them.
"""

from __future__ import annotations

import html
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from thinktime import notation
from thinktime.documents.remarks import remarks
from thinktime.escape import escaped
from thinktime.stats.estimate import Estimate

if TYPE_CHECKING:
    from thinktime.documents.explorer import Explorer
    from thinktime.stats.estimate import Plain

Record = TypeVar("Record")
Read = TypeVar("Read", contravariant=True)

DATA_IN = "--format json and csv"
"""Place of all numbers of a report."""

Shape = Literal["square", "circle", "diamond", "line", "dashed", "upright"]

Cell = str | int | float | None | Estimate
"""One cell of a table. An Estimate is shown with its interval; None as not measured."""


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a table: its content and unit.

    The unit is SI or a noun (``s``, ``byte``, ``fork/s``), ``share`` for a fraction of one (shown in per
    cent), ``p`` for the probability that a test gives, and empty for labels and pure numbers.
    """

    name: str
    _: KW_ONLY
    unit: str = ""
    scaled: bool = True
    """False to show it in exactly this unit, as a published table; texts in it are printed numbers."""


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
    """Several columns of one kind in a table made by `Table.of`, such as one for each log.

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
    """True if useful to few readers: a page shows it on demand, a text only names its rows."""

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
        """Table with a row for each record, under columns that define its cells.

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
        """Refuse a row that does not fit the columns: it would show numbers under a wrong name."""
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.name}: row {number} has {len(row)} cells for {len(self.columns)} columns"
                )


@dataclass(frozen=True, slots=True)
class Key:
    """Named part of a chart, with the meaning that determines its colour: `user`, `system`, `disk`."""

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
    """Chart with its data as a table and in words, for readers who cannot see it."""

    name: str
    title: str
    chart: Callable[[], dict[str, Any]]
    """Function that makes the Vega-Lite specification with inline data, for renderers that draw."""
    data: Table
    alt: str
    """Content of the chart, in one or two sentences with the most important numbers."""
    keys: tuple[Key, ...] = ()
    """Meaning of the colours, unless the chart shows it at the marks."""
    half: bool = False
    """True if readable at half the width of the page: such figures are placed side by side."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Finding that the reader should know, in plain words."""

    text: str
    _: KW_ONLY
    section: str = ""
    """Name of the section with the details; empty if there is none."""
    tone: str = ""
    """``warning`` if the reader must beware, ``next`` for a next step, else empty."""
    evidence: str = ""
    """Columns of the log from which it follows, and times; empty where the section has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Highlight:
    """Value of the summary at the top."""

    name: str
    label: str
    value: Cell
    unit: str
    note: str
    section: str = ""
    """Name of the section with the details; empty if there is none."""


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
    """Caveats that the reader must know before relying on the answer."""
    method: str = ""
    """Method and its source, with page and equation."""
    not_applicable: str = ""
    """Reason why there is no answer for this log; the other fields are then empty."""
    group: str = ""
    """Log of this section, if a document covers several."""
    result: Mapping[str, Plain] | None = field(default=None, compare=False)
    """Values behind the section, as the library's ``to_dict()`` gives them; print has them in tables."""
    folded: bool = False
    """True if few readers need more than its first sentence: a page shows the rest on demand."""
    short: str = ""
    """Name in a list of sections, if `name` is not it."""

    @property
    def label(self) -> str:
        """Name in a list of sections: ``cpu per interaction``."""
        return (self.short or self.name).replace("-", " ")

    def __repr__(self) -> str:
        """Name, and the first sentence of the answer."""
        said = self.not_applicable or next(iter(self.summary), "")
        return f"Section({self.name!r}: {notation.plain(said)})"

    @property
    def all_caveats(self) -> tuple[str, ...]:
        """Caveats, then those of the estimates in the tables."""
        return (*self.caveats, *remarks(self.tables))


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Report."""

    title: str
    subtitle: str
    findings: tuple[Finding, ...]
    """The plain-words summary that comes first."""
    sections: tuple[Section, ...]
    facts: tuple[tuple[str, str], ...] = ()
    """Facts about the measurement, such as its time and source: label and value."""
    highlights: tuple[Highlight, ...] = ()
    facts_title: str = "What was recorded?"
    data_in: str = DATA_IN
    """Reference of a text to the numbers that it does not print."""
    explorer: Explorer | None = None
    """Answer that the reader varies on the page; other formats leave it out."""
    origin: str = "Made by thinktime from the log alone: the same log gives the same page."
    """Last sentence of a page, on its origin."""

    def __repr__(self) -> str:
        """Title, and the findings, one in a line."""
        lines = [f"  - {notation.plain(item.text)}" for item in self.findings]
        return "\n".join([f"Document: {self.title} ({len(self.sections)} sections)", *lines])

    def _repr_html_(self) -> str:
        """Title and findings, as a notebook shows them; the page itself is made by ``thinktime.render``."""
        items = "".join(f"<li>{html.escape(escaped(item.text))}</li>" for item in self.findings)
        return f"<strong>{html.escape(escaped(self.title))}</strong><ul>{items}</ul>"

    def groups(self) -> list[tuple[str, list[Section]]]:
        """Sections by log, in the order of the report."""
        return [
            (group, list(sections))
            for group, sections in itertools.groupby(self.sections, key=lambda section: section.group)
        ]

    def tables(self) -> Iterator[tuple[Section, Table]]:
        """Every table with its section, the data of figures included, in the order of the report."""
        for section in self.sections:
            for figure in section.figures:
                yield section, figure.data
            for table in section.tables:
                yield section, table
