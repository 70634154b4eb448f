"""The report of a study: agreement first, then part by part, with published values next to ours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from thinktime.documents.document import Col, Cols, Document, Finding, Highlight, Section, Table
from thinktime.studies import published_tables
from thinktime.studies.cells import KINDS, Cell, Claim, held, tally
from thinktime.studies.paper import Part
from thinktime.studies.study import Chapter, Outcome

AGREEMENT = "agreement"
ROWS_FOLDED = 150
"""A published table with more cells than this is folded in the report of a whole study."""


def report(outcome: Outcome) -> Document:
    """Report of a study."""
    study, settings = outcome.study, outcome.settings
    sections = [_section(outcome, part, chapter) for part, chapter in outcome.chapters]
    if not outcome.table:
        sections.insert(0, _agreement(outcome))
    facts = [("Seed", str(settings.seed)), ("Replications", str(settings.replications))]
    if settings.scale < 1.0:
        facts.append(("Length of every run", f"{100.0 * settings.scale:g} % of the full length"))
    return Document(
        title=study.paper.title,
        subtitle=f"{study.paper.question} {study.paper.citation}",
        findings=tuple(_findings(outcome)),
        sections=tuple(_distinct(sections)),
        facts=tuple(facts),
        highlights=() if outcome.table else tuple(_highlights(outcome)),
        facts_title="How was it run?",
        data_in="-o FILE.html",
        origin="The published numbers are the paper's, as printed; the same seed gives the same page.",
    )


def _section(outcome: Outcome, part: Part, chapter: Chapter) -> Section:
    tables: list[Table] = list(chapter.tables)
    for name in outcome.study.tables:
        selected = [cell for cell in chapter.cells if cell.table == name]
        if selected:
            tables.extend(
                published_tables.tables(
                    name,
                    outcome.study.place(name),
                    selected,
                    notes=chapter.notes.get(name, ()),
                    folded=not outcome.table and len(selected) > ROWS_FOLDED,
                )
            )
    if chapter.claims:
        claims = [replace(claim, statistic=_typeset(claim.statistic)) for claim in chapter.claims]
        tables.insert(0, published_tables.claims_table(part.name, claims))
    return Section(
        name=part.name,
        title=part.title,
        summary=tuple(map(_typeset, chapter.summary)),
        tables=tuple(tables),
        figures=tuple(replace(chart, alt=_typeset(chart.alt)) for chart in chapter.charts),
        caveats=tuple(map(_typeset, chapter.caveats)),
        method=_typeset(chapter.method),
    )


def _distinct(sections: Iterable[Section]) -> Iterator[Section]:
    """Sections in which a table is named after its section too if an earlier section has one of that name."""
    names: set[str] = set()
    for section in sections:
        tables = [
            replace(table, name=f"{section.name}-{table.name}") if table.name in names else table
            for table in section.tables
        ]
        names.update(table.name for table in tables)
        yield replace(section, tables=tuple(tables))


def _agreement(outcome: Outcome) -> Section:
    """Number of cells that agree, table by table."""
    by_table = {name: [cell for cell in outcome.cells if cell.table == name] for name in outcome.study.tables}
    table = Table.of(
        by_table.items(),
        Col("published table", lambda item: item[0]),
        Cols(KINDS, lambda item: _agreeing(item[1]), scaled=False),
        Col(
            "doubtful",
            lambda item: sum(cell.verdict == "doubtful" for cell in item[1]) or None,
            scaled=False,
        ),
        Col(
            "not printed", lambda item: sum(cell.published is None for cell in item[1]) or None, scaled=False
        ),
        name="agreement-table",
        caption="Cells that agree, of those with a printed number and a tolerance",
        notes=(
            "Doubtful: printed numbers that contradict others of the paper, and ours. "
            "Not printed: cells that are ours alone.",
        ),
    )
    summary = (
        "Arithmetic cells follow from other printed numbers. Fitted ones were calibrated to, and prove "
        "nothing. Predicted ones are what the model is judged by.",
    )
    return Section(name=AGREEMENT, title="How many cells agree?", summary=summary, tables=(table,))


def _agreeing(cells: Sequence[Cell]) -> Iterator[str | None]:
    """Cells that agree, of those judged, for each kind; None where none is judged."""
    counts = {item.kind: f"{item.agree}/{item.judged}" for item in tally(cells) if item.judged}
    return map(counts.get, KINDS)


def _findings(outcome: Outcome) -> Iterator[Finding]:
    agreement = published_tables.sentence(outcome.cells)
    yield Finding(text=agreement, section="" if outcome.table else AGREEMENT)
    if outcome.claims:
        yield Finding(text=f"{held(outcome.claims)} of {len(outcome.claims)} claims hold here.")
    for claim in outcome.claims:
        if not claim.holds:
            yield _finding(outcome, claim)


def _finding(outcome: Outcome, claim: Claim) -> Finding:
    section = next(part.name for part, chapter in outcome.chapters if claim in chapter.claims)
    verdict = "Undecided" if claim.holds is None else "Does not hold"
    return Finding(
        text=_typeset(f"{verdict}: {claim.text} ({claim.source})."), section=section, tone="warning"
    )


def _highlights(outcome: Outcome) -> Iterator[Highlight]:
    notes = {
        "arithmetic": "of the printed numbers follow from other printed numbers",
        "fitted": "of the cells that the model was calibrated to agree",
        "predicted": "of the cells that nothing was tuned to agree",
    }
    for item in tally(outcome.cells):
        if item.judged:
            yield Highlight(
                name=item.kind,
                label=item.kind.capitalize(),
                value=f"{item.agree}/{item.judged}",
                unit="",
                note=notes[item.kind],
            )
    if outcome.claims:
        yield Highlight(
            name="claims",
            label="Claims",
            value=f"{held(outcome.claims)}/{len(outcome.claims)}",
            unit="",
            note="hold here, by the statistic in their table",
            section="claims",
        )


def _typeset(text: str) -> str:
    """Text whose numbers stay with their units, and whose minus signs are as wide as its plus signs."""
    text = re.sub(r"(?<![\w.])-(?=\d)", "\N{MINUS SIGN}", text)
    return re.sub(r"(?<=\d) (?=(?:s|%)(?!\w))", "\N{NO-BREAK SPACE}", text)
