"""What a page shows of each section at once, and what it folds: a page is read in a quarter of an hour.

A page with few sections shows everything. A longer one shows of every section its answer, then its first
figures, or its first table if it has none, then a caveat and a table, as long as there is room; the rest is
one click away.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TypeVar

from thinktime.documents.document import Document, Figure, Finding, Section, Table
from thinktime.documents.wording import listed

T = TypeVar("T")

WORDS_SHOWN = 3150
"""Words of a page that are seen without a click: at 220 a minute 3300 take a quarter of an hour, and some are
not counted here, such as the labels of axes that a wide screen adds."""
FRAME_SHARE = 0.7
"""Largest part of these words for what is shown of a page in any case: the logs that need more are folded."""
FINDINGS_SHOWN = 16
"""Findings that a page shows at once: those of one log are fewer."""
ROWS_SHOWN = 8
"""First rows of a long table that a page shows until the reader asks for all."""
ROWS_WHOLE = 11
"""A table of at most this many rows is shown whole: the last three are read sooner than asked for."""
FOOTER_WORDS, FOLD_WORDS = 50, 13
"""Of the last line of a page, and of the name of a fold with what it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Content of a section that stands together: what is shown at once, or what is folded."""

    sentences: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    caveats: tuple[str, ...] = ()
    method: str = ""

    @property
    def content(self) -> str:
        """What it holds, in words: ``2 figures, a table and the method``; empty if it holds nothing."""
        kinds = (
            (self.figures, "figure"),
            (self.tables, "table"),
            (self.caveats, "caveat"),
        )
        words = [f"{len(items)} {name}s" if len(items) > 1 else f"a {name}" for items, name in kinds if items]
        if self.method:
            words.append("the method")
        return listed(words) if words else ("the rest of the answer" if self.sentences else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arranged:
    """A section as a page shows it."""

    shown: Part
    more: Part
    """Content of its fold."""
    cut: frozenset[str]
    """Names of the tables of which only the first rows are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """A document as a page shows it."""

    sections: Mapping[str, Arranged]
    """Those that have an answer, by name."""
    folded: frozenset[str]
    """Groups of sections, each of a log, that are folded as a whole."""
    findings: tuple[tuple[Finding, ...], tuple[Finding, ...]]
    """Those that are shown, and those in a fold; next steps are in neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Numbers of words of what was rendered, by name."""

    figures: Mapping[str, int]
    tables: Mapping[str, Sequence[int]]
    """Of the caption, the headings and notes together, then of each row."""


@dataclass(frozen=True, slots=True)
class _Item:
    """Something that may be shown at once."""

    section: str
    kind: str
    place: int
    _: KW_ONLY
    words: int
    rank: int
    """Of items that compete for the room, the one with the least rank is shown first."""
    follows: bool = False
    """True if it is shown only after the item of its kind before it."""


def arrange(document: Document, words: Words) -> Arrangement:
    """What a page shows at once, as long as there is room."""
    news = tuple(item for item in document.findings if item.tone != "next")
    folded = _folded(document, words)
    left = WORDS_SHOWN - _frame(document, words, folded)
    answered = [section for section in document.sections if not section.not_applicable]
    offered = [section for section in answered if not section.folded and section.group not in folded]
    shown: set[tuple[str, str, int]] = set()
    items = [item for section in offered for item in _items(section, words)]
    for item in sorted(items, key=lambda item: item.rank):
        before = (item.section, item.kind, item.place - 1)
        if item.words > left or (item.follows and before not in shown):
            continue
        shown.add((item.section, item.kind, item.place))
        left -= item.words
    return Arrangement(
        sections={section.name: _arranged(section, shown) for section in answered},
        folded=frozenset(folded),
        findings=(news[:FINDINGS_SHOWN], news[FINDINGS_SHOWN:]),
    )


def _folded(document: Document, words: Words) -> set[str]:
    """Groups that are folded as a whole: from the last on, as many as leave room for the others."""
    folded: set[str] = set()
    for group, _ in reversed(document.groups()):
        if _frame(document, words, folded) <= FRAME_SHARE * WORDS_SHOWN:
            break
        if group:
            folded.add(group)
    return folded


def counted(text: str) -> int:
    """Number of words."""
    return len(text.split())


def is_long(table: Table) -> bool:
    """Whether a page may show only the first rows."""
    return len(table.rows) > ROWS_WHOLE


def first_row(figures: Sequence[Figure]) -> int:
    """Number of figures in the first row: two side by side if both are readable at half the width."""
    return 2 if len(figures) > 1 and figures[0].half and figures[1].half else min(len(figures), 1)


def _frame(document: Document, words: Words, folded: Collection[str]) -> int:
    """Words of a page besides what its sections may fold, with these groups folded."""
    texts = [document.title, document.subtitle]
    fixed = FOOTER_WORDS
    if document.explorer is None:
        news = [item for item in document.findings if item.tone != "next"][:FINDINGS_SHOWN]
        steps = [item for item in document.findings if item.tone == "next"]
        texts += [f"{item.text} {item.evidence} →" for item in (*news, *steps)]
        texts += [f"{item.label} {item.value} {item.note} →" for item in document.highlights]
    else:
        explorer = document.explorer
        texts += [*explorer.start(explorer.lines), *explorer.always, *explorer.start(explorer.caveats)]
        texts += [explorer.note, explorer.full_command]
        texts += [f"{one.label} {explorer.start(one.texts)}" for one in explorer.readings]
        texts += [one.label for one in explorer.controls]
        fixed += sum(words.figures[figure.name] for figure in explorer.figures)
    texts += [f"{label} {value}" for label, value in document.facts]
    texts += [document.origin]
    for group, sections in document.groups():
        texts += [group] * 2
        for section in () if group in folded else sections:
            if section.not_applicable:
                texts.append(section.label)
            else:
                # In the contents, over the section, and for the ear at its fold.
                texts += [section.title] * 3 + [*section.summary[:1]]
                fixed += FOLD_WORDS
    return fixed + sum(map(counted, texts))


def _items(section: Section, words: Words) -> Iterator[_Item]:
    """What of a section may be shown, with the rank of each thing."""
    name = section.name
    for place, sentence in enumerate(section.summary[1:], start=1):
        yield _Item(name, "sentence", place, words=counted(sentence), rank=1, follows=place > 1)
    row = first_row(section.figures)
    for place, figure in enumerate(section.figures):
        rank = 2 if place < row else 6
        yield _Item(name, "figure", place, words=words.figures[figure.name], rank=rank, follows=place > 0)
    own = len(section.caveats)
    for place, caveat in enumerate(section.all_caveats):
        rank = 3 if place == 0 and own else (5 if place < own else 10)
        yield _Item(name, "caveat", place, words=counted(caveat), rank=rank, follows=place > 0)
    opened = itertools.count()
    for place, table in enumerate(section.tables):
        head, *rows = words.tables[table.name]
        if table.folded:
            yield _Item(name, "table", place, words=counted(table.caption) + 1, rank=8)
            continue
        first = sum(rows[:ROWS_SHOWN] if is_long(table) else rows)
        # Where there are no figures, the first table is what a section shows.
        rank = 7 if next(opened) else (4 if section.figures else 2)
        yield _Item(name, "table", place, words=head + first, rank=rank)
        if is_long(table):
            yield _Item(name, "rows", place, words=sum(rows[ROWS_SHOWN:]), rank=9)
    if section.method:
        yield _Item(name, "method", 0, words=counted(section.method) + 1, rank=11)


def _arranged(section: Section, shown: set[tuple[str, str, int]]) -> Arranged:
    """Section of which the items in `shown` are seen at once."""

    def part(at_once: bool) -> Part:
        def chosen(kind: str, things: Sequence[T]) -> tuple[T, ...]:
            places = ((section.name, kind, place) in shown for place in itertools.count())
            return tuple(thing for thing, seen in zip(things, places, strict=False) if seen == at_once)

        answer = section.summary[:1] if at_once else ()
        rest = tuple(
            sentence
            for place, sentence in enumerate(section.summary[1:], start=1)
            if ((section.name, "sentence", place) in shown) == at_once
        )
        return Part(
            sentences=(*answer, *rest),
            figures=chosen("figure", section.figures),
            tables=chosen("table", section.tables),
            caveats=chosen("caveat", section.all_caveats),
            method="".join(chosen("method", [section.method])),
        )

    cut = {
        table.name
        for place, table in enumerate(section.tables)
        if is_long(table)
        # Of what is folded, a table that few readers need is cut.
        and table.folded != ((section.name, "table", place) in shown)
        and (section.name, "rows", place) not in shown
    }
    return Arranged(shown=part(True), more=part(False), cut=frozenset(cut))
