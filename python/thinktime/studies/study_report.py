"""The report of a study: its answer, what holds and what does not, then part by part the tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from thinktime.documents.document import Col, Cols, Document, Finding, Section, Table
from thinktime.studies import agreement, published_tables
from thinktime.studies.answers import Sentence, explained
from thinktime.studies.cells import KINDS, Cell, tally
from thinktime.studies.paper import Part
from thinktime.studies.study import Chapter, Outcome
from thinktime.studies.verdict import HOLDS, committed

AGREEMENT = "agreement"
ROWS_FOLDED = 150
"""A published table with more cells than this is folded in the report of a whole study."""


def report(outcome: Outcome) -> Document:
    """Report of a study: the answer first, then what holds and what does not, then the tables."""
    study, settings = outcome.study, outcome.settings
    sections = [_section(outcome, part, chapter) for part, chapter in outcome.chapters]
    if not outcome.table:
        sections = [*_conclusions(outcome), *(replace(section, folded=True) for section in sections)]
    facts = [("Seed", str(settings.seed)), ("Replications", str(settings.replications))]
    if settings.scale < 1.0:
        facts.append(("Length of every run", f"{100.0 * settings.scale:g} % of the full length"))
    document = Document(
        title=study.paper.title,
        subtitle=f"{study.paper.question} {study.paper.citation}",
        findings=tuple(_findings(outcome)),
        sections=tuple(_distinct(sections)),
        facts=tuple(facts),
        facts_title="How was it run?",
        data_in="-o FILE.html",
        origin="The published numbers are the paper's, as printed; the same seed gives the same page.",
    )
    return explained(document, study.paper.terms)


def _conclusions(outcome: Outcome) -> Iterator[Section]:
    """What the paper concluded, what of it holds here, what does not and why, and what it means today."""
    paper, claims = outcome.study.paper, outcome.claims
    kept = [claim for claim in claims if claim.holds]
    missed = [replace(claim, statistic=_typeset(claim.statistic)) for claim in claims if not claim.holds]
    at_length = {name for name, holds in committed(outcome.study)["claims"].items() if holds == HOLDS[True]}
    real = [claim for claim in missed if claim.id not in at_length]
    short = [claim for claim in missed if claim.id in at_length]
    if paper.concluded:
        yield Section(
            name="concluded", title="What did the paper conclude?", summary=_said(outcome, paper.concluded)
        )
    if kept:
        yield Section(
            name="holds",
            title="What holds here?",
            summary=(
                f"{len(kept)} of {len(claims)} claims hold on the simulated system. The sections below have "
                "the statistic by which each is judged.",
            ),
            tables=(published_tables.held_table(kept),),
        )
    if missed:
        undecided = sum(claim.holds is None for claim in missed)
        only = f", {len(short)} of them in runs as short as these only" if short else ""
        still = f"; {undecided} of these {'is' if undecided == 1 else 'are'} open" if undecided else ""
        yield Section(
            name="fails",
            title="What does not hold, and why?",
            summary=(f"{len(missed)} of {len(claims)} claims are not borne out{only}{still}.",),
            tables=(
                *((published_tables.missed_table(real),) if real else ()),
                *((published_tables.short_table(short),) if short else ()),
            ),
        )
    if paper.today:
        yield Section(name="today", title="What does it mean today?", summary=_said(outcome, paper.today))
    yield _agreement(outcome)
    yield _trust(outcome)


def _trust(outcome: Outcome) -> Section:
    """What was fitted, predicted and missed, and what was chosen in sight of predicted numbers."""
    trust = outcome.study.paper.trust
    table = Table.of(
        [
            ("fitted to", trust.fitted),
            ("predicted, and right", trust.predicted),
            ("predicted, and wrong", trust.missed),
            ("chosen with predicted numbers in sight", trust.in_sight),
        ],
        Col("numbers", lambda item: item[0]),
        Col("which", lambda item: _typeset(item[1])),
        name="trust-table",
        caption=f"What the numbers of {trust.machine} rest on",
        notes=(
            "The machines of all studies stand side by side in `docs/background/how-far-to-trust.md`; "
            "`calibration.md` of the study has every parameter.",
        ),
    )
    return Section(
        name="trust",
        title="How far can the simulated machine be trusted?",
        summary=(
            "A simulated machine is evidence only where nothing of it was fitted to, or chosen in sight "
            "of, the number that it is compared with.",
        ),
        tables=(table,),
    )


def _said(outcome: Outcome, sentences: Iterable[Sentence]) -> tuple[str, ...]:
    return tuple(_typeset(outcome.study.paper.words(item, outcome.claims)) for item in sentences)


def _section(outcome: Outcome, part: Part, chapter: Chapter) -> Section:
    tables: list[Table] = list(chapter.tables)
    for name in outcome.study.tables:
        selected = [cell for cell in chapter.cells if cell.table == name]
        if selected:
            tables.extend(
                published_tables.tables(
                    name,
                    outcome.study.caption(name),
                    selected,
                    names=outcome.study.paper.names,
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
    """Number of cells that agree, table by table, and every predicted one in a picture."""
    by_table = {name: [cell for cell in outcome.cells if cell.table == name] for name in outcome.study.tables}
    table = Table.of(
        by_table.items(),
        Col("published table", lambda item: outcome.study.place(item[0])),
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
        folded=True,
    )
    summary = (
        published_tables.sentence(outcome.cells),
        "Recomputed cells follow from other printed numbers. Fitted ones were calibrated to, and prove "
        "nothing. Predicted ones are what the model is judged by; the picture has all of them.",
        *_shortened(outcome),
    )
    drawn = agreement.figure(outcome.study, outcome.cells)
    return Section(
        name=AGREEMENT,
        title="How well do the numbers agree?",
        summary=summary,
        tables=(table,),
        figures=() if drawn is None else (drawn,),
    )


def _shortened(outcome: Outcome) -> Iterator[str]:
    """Warning that numbers of short runs are not those of the measured ones."""
    if outcome.settings.scale < 1.0:
        yield (
            f"These runs have {100.0 * outcome.settings.scale:g} % of the full length: totals, such as "
            "elapsed times and counts, cannot agree, and intervals are wide."
        )


def _agreeing(cells: Sequence[Cell]) -> Iterator[str | None]:
    """Cells that agree, of those judged, for each kind; None where none is judged."""
    counts = {item.kind: f"{item.agree}/{item.judged}" for item in tally(cells) if item.judged}
    return map(counts.get, KINDS)


def _findings(outcome: Outcome) -> Iterator[Finding]:
    """The answer; of one table, the agreement of its cells."""
    paper = outcome.study.paper
    if outcome.table or not paper.answers:
        yield Finding(
            text=published_tables.sentence(outcome.cells), section="" if outcome.table else AGREEMENT
        )
        return
    if outcome.settings.scale < 1.0:
        yield Finding(
            text=(
                f"A quick look: every run has {100.0 * outcome.settings.scale:g} % of its full length, so "
                "that claims fail here that hold at full length, and intervals are wide. The study itself "
                "runs without --scale."
            ),
            section="",
            tone="warning",
        )
    for sentence, text in zip(paper.answers, _said(outcome, paper.answers), strict=True):
        yield Finding(text=text, section=sentence.part)


def _typeset(text: str) -> str:
    """Text whose numbers stay with their units, and whose minus signs are as wide as its plus signs."""
    text = re.sub(r"(?<![\w.])-(?=\d)", "\N{MINUS SIGN}", text)
    return re.sub(r"(?<=\d) (?=(?:s|%)(?!\w))", "\N{NO-BREAK SPACE}", text)
