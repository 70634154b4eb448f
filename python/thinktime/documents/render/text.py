"""A document as plain text: for a terminal, a mail or a diff."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator, Sequence

from thinktime.documents import format as shown
from thinktime.documents.document import DATA_IN, Document, Figure, Section, Table
from thinktime.documents.render import WIDTH
from thinktime.documents.render.escape import escaped_document
from thinktime.documents.wording import capital
from thinktime.notation import plain

ROWS_MAX = 60
NAMES_MAX = 400
"""Length of the rows' names beyond which a folded table prints only their number."""
PROSE_MIN = 80
"""A table with a longer cell is a list of sentences, not a grid of numbers."""
LAST_MIN = 22
"""Columns that a last column of sentences needs, if it is to stand in a grid."""
FIRST_MIN = 20
"""Columns that the first cell of a row keeps at least."""
GAP = "  "


def render(document: Document, width: int = WIDTH) -> str:
    """Whole report, at most `width` columns wide where words can be broken."""
    document = escaped_document(document)
    blocks = _head(document, width)
    if document.facts:
        blocks.append("\n".join(_pairs(document.facts, width)))
    blocks.extend(_first_screen(document, width))
    for group, sections in document.groups():
        if group:
            blocks.append(_headline(group, "=", width))
        blocks.extend(
            _section(section, width, document.data_in) for section in sections if not section.not_applicable
        )
        absent = [section for section in sections if section.not_applicable]
        if absent:
            blocks.append(_absent(absent, width))
    return _printable("\n\n".join(blocks) + "\n")


def brief(document: Document, width: int = WIDTH) -> str:
    """Beginning of a report: its cards and findings."""
    document = escaped_document(document)
    return _printable("\n\n".join([*_head(document, width), *_first_screen(document, width)]) + "\n")


def _head(document: Document, width: int) -> list[str]:
    return [_headline(document.title, "=", width) + "\n" + _wrapped(document.subtitle, width)]


def _first_screen(document: Document, width: int) -> list[str]:
    """Cards and findings."""
    blocks = []
    if document.highlights:
        rows = [(item.label, shown.cell(item.value, item.unit), item.note) for item in document.highlights]
        taken = sum(max(_columns(row[place]) for row in rows) + len(GAP) for place in (0, 1))
        if taken + LAST_MIN <= width:
            blocks.append("\n".join(_grid(rows, "<><", width)))
        else:
            blocks.append(
                "\n".join(
                    _wrapped(f"{label}: {_breakable(value)}; {note}", width, "", "  ")
                    for label, value, note in rows
                )
            )
    blocks.append(_headline("Findings", "-", width) + "\n" + "\n".join(_findings(document, width)))
    return blocks


def render_section(section: Section, width: int = WIDTH, data_in: str = DATA_IN) -> str:
    """Section as text: its answer, its tables and its caveats; `data_in` names the place of all numbers."""
    return _printable(_section(escaped_document(section), width, data_in))


def _section(section: Section, width: int, data_in: str) -> str:
    blocks = [_headline(section.title, "-", width)]
    if section.not_applicable:
        blocks.append(_wrapped(f"Not applicable: {section.not_applicable}", width))
        return "\n\n".join(blocks)
    blocks.extend(_wrapped(sentence, width) for sentence in section.summary)
    blocks.extend(_figure(figure, width, data_in) for figure in section.figures)
    blocks.extend(_table(table, width, data_in) for table in section.tables)
    if section.all_caveats:
        blocks.append(
            "\n".join(_wrapped(caveat, width, "Beware: ", " " * 8) for caveat in section.all_caveats)
        )
    if section.method:
        blocks.append(_wrapped(section.method, width, "Method: ", " " * 8))
    return "\n\n".join(blocks)


def _absent(sections: Sequence[Section], width: int) -> str:
    """Sections that have no answer, with the reasons."""
    lines = [
        _wrapped(section.not_applicable, width, f"{capital(section.label)}: ", "  ") for section in sections
    ]
    return _headline("Not in this log", "-", width) + "\n\n" + "\n".join(lines)


def _printable(text: str) -> str:
    # The no-break spaces have done their work once the lines are broken.
    return "\n".join(line.rstrip() for line in plain(text).split("\n"))


def _breakable(text: str) -> str:
    """Number with its interval, which may go on in the next line where there is no room."""
    return text.replace(shown.SPACE, " ")


def _headline(text: str, rule: str, width: int) -> str:
    title = _wrapped(text, width)
    return f"{title}\n{rule * max(map(_columns, title.splitlines()), default=0)}"


def _wrapped(text: str, width: int, first: str = "", rest: str = "") -> str:
    return textwrap.fill(
        shown.localised(text),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _findings(document: Document, width: int) -> Iterator[str]:
    marks = {"warning": "! ", "next": "> "}
    for finding in document.findings:
        evidence = f" [{finding.evidence}]" if finding.evidence else ""
        yield _wrapped(finding.text + evidence, width, marks.get(finding.tone, "* "), "  ")


def _pairs(facts: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    label_width = min(max(_columns(label) for label, _ in facts), max(width - LAST_MIN, 0))
    for label, value in facts:
        yield _wrapped(value, width, _padded(label, label_width, "<") + GAP, " " * (label_width + len(GAP)))


def _figure(figure: Figure, width: int, data_in: str) -> str:
    # Its words only: what it shows stands in the section's tables, or is too long to be read as numbers.
    rows = shown.count(len(figure.data.rows), "row")
    title = figure.title if figure.title.endswith("?") else f"{figure.title}."
    return _wrapped(f"{title} {figure.alt} ({rows} in {data_in}: {figure.data.name}.)", width)


def _table(table: Table, width: int, data_in: str) -> str:
    if table.folded:
        return _folded(table, width, data_in)
    columns = [
        shown.column(head, [row[index] for row in table.rows]) for index, head in enumerate(table.columns)
    ]
    has_prose = any(len(text) > PROSE_MIN for column in columns for text in column.cells)
    if has_prose or _ends_beyond(columns, width):
        explained = _explained(columns, width)
        if has_prose or explained:
            rows_in_words = explained or _records(columns, width)
            notes = (_wrapped(note, width) for note in table.notes)
            return "\n\n".join([_wrapped(table.caption, width), *rows_in_words, *notes])
    headings = [_heading(column) for column in columns]
    sides = "".join(">" if column.numeric else "<" for column in columns)
    rows = list(zip(*(column.cells for column in columns), strict=True))
    lines = [_wrapped(table.caption, width)]
    for block in _blocks(headings, rows[:ROWS_MAX], width):
        body = [[row[index] for index in block] for row in [headings, *rows[:ROWS_MAX]]]
        head, *others = _narrowed(body, width)
        of_rows = [*head, *(line for row in others for line in row)]
        grid = list(_grid(of_rows, "".join(sides[index] for index in block), None))
        rule = "-" * max(_columns(line) for line in grid)
        lines.extend(["", *grid[: len(head)], rule, *grid[len(head) :]])
    if max(map(_columns, "\n".join(lines).splitlines())) > width:
        # Too narrow for two columns side by side.
        lines = [_wrapped(table.caption, width), "", *_records(columns, width, ROWS_MAX)]
    if len(rows) > ROWS_MAX:
        lines.append(f"... and {len(rows) - ROWS_MAX} more rows, all in {data_in}")
    if not rows:
        lines.append("(no rows)")
    lines.extend(_wrapped(note, width) for note in table.notes)
    return "\n".join(lines)


def _ends_beyond(columns: Sequence[shown.FormattedColumn], width: int) -> bool:
    """True if only a last column of words keeps a grid from its width: it is better broken than set below."""
    *others, last = (max(map(_columns, [_heading(column), *column.cells])) for column in columns)
    if columns[-1].numeric or last <= LAST_MIN:
        return False
    return sum(others) + last + len(GAP) * len(others) > width


def _explained(columns: Sequence[shown.FormattedColumn], width: int) -> list[str]:
    """Grid whose last column is a sentence in several lines; none if there are more sentences, or no room."""
    *others, last = columns
    heads = [_heading(column) for column in others]
    taken = sum(max(map(_columns, [head, *item.cells])) for head, item in zip(heads, others, strict=True))
    has_room = taken + len(GAP) * len(others) + LAST_MIN <= width
    if not has_room or any(len(text) > PROSE_MIN for column in others for text in column.cells):
        return []
    rows = list(zip(*(column.cells for column in columns), strict=True))
    sides = "".join(">" if column.numeric else "<" for column in columns)
    head, *lines = _grid([[*heads, last.heading], *rows], sides, width)
    return [
        "\n".join([head, "-" * max(_columns(part) for line in lines for part in line.split("\n")), *lines])
    ]


def _heading(column: shown.FormattedColumn) -> str:
    return f"{column.heading} [{column.unit}]" if column.unit else column.heading


def _records(columns: Sequence[shown.FormattedColumn], width: int, most: int | None = None) -> Iterator[str]:
    """Rows one below the other, at most so many: each cell in lines of its own."""
    first, *others = columns
    for number, text in enumerate(first.cells[:most]):
        lines = [_wrapped(_breakable(text), width, "* ", "  ")]
        lines.extend(
            _wrapped(f"{_heading(column)}: {_breakable(column.cells[number])}", width, "  ", "    ")
            for column in others
            if column.cells[number]
        )
        yield "\n".join(lines)


def _folded(table: Table, width: int, data_in: str) -> str:
    """Names of the rows, if they are informative; the numbers are in the other formats."""
    firsts = [row[0] for row in table.rows]
    names = [first for first in firsts if isinstance(first, str)]
    telling = len(set(names)) == len(firsts) and not all(name[:1].isdigit() for name in names)
    if not telling or sum(map(len, map(str, firsts))) > NAMES_MAX:
        amount = shown.count(len(firsts), "row")
        caption = table.caption if table.caption.endswith("?") else f"{table.caption.rstrip('.')}:"
        return _wrapped(f"{caption} {amount} in {data_in}: {table.name}.", width)
    return _wrapped(f"{table.caption} ({len(firsts)}): {', '.join(map(str, firsts))}.", width)


def _blocks(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[list[int]]:
    """Groups of columns side by side; a wide table continues below, with its first column repeated."""
    widths = [max(_columns(row[index]) for row in [headings, *rows]) for index in range(len(headings))]
    block = [0]
    for index in range(1, len(widths)):
        taken = sum(widths[place] + len(GAP) for place in block)
        if len(block) > 1 and taken + widths[index] > width:
            yield block
            block = [0]
        block.append(index)
    yield block


def _narrowed(rows: Sequence[Sequence[str]], width: int) -> Iterator[list[list[str]]]:
    """Lines of each row: a first cell that leaves the others no room goes on in the next line."""
    widths = [max(_columns(row[index]) for row in rows) for index in range(len(rows[0]))]
    room = width - sum(widths[1:]) - len(GAP) * (len(widths) - 1)
    for row in rows:
        if widths[0] <= room or room < FIRST_MIN:
            yield [list(row)]
            continue
        first, *more = textwrap.wrap(
            row[0], room, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        ) or [""]
        yield [[first, *row[1:]], *([text, *[""] * (len(row) - 1)] for text in more)]


def _grid(rows: Sequence[Sequence[str]], sides: str, width: int | None) -> Iterator[str]:
    widths = [max((_columns(row[index]) for row in rows), default=0) for index in range(len(sides))]
    for row in rows:
        if width is None:
            yield GAP.join(_padded(text, widths[index], sides[index]) for index, text in enumerate(row))
            continue
        indent = sum(widths[:-1]) + len(GAP) * (len(sides) - 1)
        head = (
            GAP.join(_padded(text, widths[index], sides[index]) for index, text in enumerate(row[:-1])) + GAP
        )
        yield _wrapped_raw(row[-1], width, head, " " * indent)


def _wrapped_raw(text: str, width: int, first: str, rest: str) -> str:
    return (
        textwrap.fill(text, max(width, len(rest) + 20), initial_indent=first, subsequent_indent=rest) or first
    )


def _padded(text: str, width: int, side: str) -> str:
    blank = " " * max(width - _columns(text), 0)
    return text + blank if side == "<" else blank + text


def _columns(text: str) -> int:
    """Columns that a terminal needs for `text`."""
    # Most texts: each of their characters has a column.
    return len(text) if text.isascii() else sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
