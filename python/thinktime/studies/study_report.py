"""A study that was run, as a document: what came out, table by table, published beside ours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from thinktime.documents.document import Column, Document, Highlight, Section, Table
from thinktime.documents.document import Finding as Sentence
from thinktime.studies import published_tables as beside
from thinktime.studies.cells import KINDS, Finding, tally
from thinktime.studies.study import Chapter, Outcome, Part

__all__ = ["told"]

AGREEMENT = "agreement"
ROWS_FOLDED = 150
"""A published table with more cells than this stands folded on the page of a whole study."""


def told(outcome: Outcome) -> Document:
    """Document of a study."""
    study = outcome.study
    sections = [_section(outcome, part, chapter) for part, chapter in outcome.chapters]
    if not outcome.table:
        sections.insert(0, _agreement(outcome))
    settings = (
        ("Seed", str(outcome.settings.seed)),
        ("Replications", str(outcome.settings.replications)),
    )
    return Document(
        title=study.title,
        subtitle=f"{study.question} {study.paper}",
        findings=tuple(_findings(outcome)),
        sections=tuple(_distinct(sections)),
        facts=(*settings, *study.facts),
        highlights=() if outcome.table else tuple(_highlights(outcome)),
        facts_title="How was it run?",
        data_in="-o FILE.html",
        origin="The published numbers are the paper's, as printed; the same seed gives the same page.",
    )


def _section(outcome: Outcome, part: Part, chapter: Chapter) -> Section:
    tables: list[Table] = list(chapter.tables)
    for name in outcome.study.tables:
        own = [figure for figure in chapter.figures if figure.table == name]
        if own:
            folded = not outcome.table and len(own) > ROWS_FOLDED
            notes = chapter.notes.get(name, ())
            tables.extend(beside.tables(name, outcome.study.place(name), own, notes, folded))
    if chapter.findings:
        findings = [replace(finding, statistic=_kept(finding.statistic)) for finding in chapter.findings]
        tables.insert(0, beside.findings_table(part.name, findings))
    return Section(
        name=part.name,
        title=part.title,
        summary=tuple(map(_kept, chapter.summary)),
        tables=tuple(tables),
        figures=tuple(replace(picture, alt=_kept(picture.alt)) for picture in chapter.pictures),
        caveats=tuple(map(_kept, chapter.caveats)),
        method=_kept(chapter.method),
    )


def _distinct(sections: Iterable[Section]) -> Iterator[Section]:
    """Name a table after its section too where another section has one of that name."""
    seen: set[str] = set()
    for section in sections:
        tables = [
            replace(table, name=f"{section.name}-{table.name}") if table.name in seen else table
            for table in section.tables
        ]
        seen.update(table.name for table in tables)
        yield replace(section, tables=tuple(tables))


def _agreement(outcome: Outcome) -> Section:
    """Count agreeing cells, table by table."""
    rows = []
    for name in outcome.study.tables:
        own = [figure for figure in outcome.figures if figure.table == name]
        counts = {item.kind: f"{item.agree}/{item.judged}" for item in tally(own) if item.judged}
        doubtful = sum(figure.verdict == "doubtful" for figure in own)
        empty = sum(figure.published is None for figure in own)
        cells = (*(counts.get(kind) for kind in KINDS), doubtful or None, empty or None)
        rows.append((name, *cells))
    columns = (
        Column("published table"),
        *(Column(kind, scaled=False) for kind in KINDS),
        Column("doubtful", scaled=False),
        Column("not printed", scaled=False),
    )
    caption = "Cells that agree, of those with a printed number and a tolerance"
    notes = (
        "Doubtful: printed numbers that contradict others of the paper, and ours. "
        "Not printed: cells that are ours alone.",
    )
    table = Table(name="agreement-table", caption=caption, columns=columns, rows=tuple(rows), notes=notes)
    summary = (
        "Arithmetic cells follow from other printed numbers. Fitted ones were calibrated to, and prove "
        "nothing. Predicted ones are what the model is judged by.",
    )
    return Section(name=AGREEMENT, title="How many cells agree?", summary=summary, tables=(table,))


def _findings(outcome: Outcome) -> Iterator[Sentence]:
    yield Sentence(beside.sentence(outcome.figures), section="" if outcome.table else AGREEMENT)
    held = sum(finding.holds is True for finding in outcome.findings)
    if outcome.findings:
        yield Sentence(f"{held} of {len(outcome.findings)} conclusions hold here.")
    for finding in outcome.findings:
        if not finding.holds:
            yield _sentence(outcome, finding)


def _sentence(outcome: Outcome, finding: Finding) -> Sentence:
    place = next(part.name for part, chapter in outcome.chapters if finding in chapter.findings)
    said = {True: "Holds", False: "Does not hold", None: "Undecided"}[finding.holds]
    tone = "" if finding.holds else "warning"
    return Sentence(_kept(f"{said}: {finding.text} ({finding.source})."), section=place, tone=tone)


def _highlights(outcome: Outcome) -> Iterator[Highlight]:
    notes = {
        "arithmetic": "of the printed numbers follow from other printed numbers",
        "fitted": "of the cells that the model was calibrated to agree",
        "predicted": "of the cells that nothing was tuned to agree",
    }
    for item in tally(outcome.figures):
        if item.judged:
            value = f"{item.agree}/{item.judged}"
            yield Highlight(
                name=item.kind, label=item.kind.capitalize(), value=value, unit="", note=f"{notes[item.kind]}"
            )
    held = [finding for finding in outcome.findings if finding.holds]
    if outcome.findings:
        value = f"{len(held)}/{len(outcome.findings)}"
        yield Highlight(
            name="conclusions",
            label="Conclusions",
            value=value,
            unit="",
            note="hold here, by the statistic beside each",
            section="conclusions",
        )


def _kept(text: str) -> str:
    """Text whose numbers stay with their units, and whose minus signs are as wide as its plus signs."""
    text = re.sub(r"(?<![\w.])-(?=\d)", "\N{MINUS SIGN}", text)
    return re.sub(r"(?<=\d) (?=(?:s|%)(?!\w))", "\N{NO-BREAK SPACE}", text)
