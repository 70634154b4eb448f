"""The report of a log: the answers to all questions, and the summary drawn from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinktime.documents.document import Document, Figure, Finding, Highlight, Section, Table
from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.analyses import Question
    from thinktime.analyses.recording.analysis import Recording
    from thinktime.log import Log
    from thinktime.reports.summary_facts import LogFacts

__all__ = ["build", "report"]


Show = Callable[..., None]
"""Callback ``(done, total=..., stage=...)``: questions answered, all of them, and the one that comes now."""


def report(
    *logs: Log | str | Path, on_progress: Show | None = None, accept_driver_load: bool = False
) -> Document:
    """Report of one log, or of several with their comparison first; `thinktime.render` makes a page of it.

    Parameters
    ----------
    *logs : Log or path
        One or more.
    on_progress : callable, optional
        Called before each question with the number answered, and with ``total`` and ``stage`` by name.
    accept_driver_load : bool
        Show the response times of a play whose driver was the load: they are withheld otherwise.

    Raises
    ------
    InputError
        No log is given.
    LogError
        A log, or a part of it, cannot be read.

    Examples
    --------
    >>> page = thinktime.render(thinktime.report("run"), "html")
    >>> pathlib.Path("report.html").write_text(page)
    """
    from thinktime.log import Log

    opened = [item if isinstance(item, Log) else Log.open(item) for item in logs]
    return build(opened, on_progress, accept_driver_load=accept_driver_load)


def build(logs: Sequence[Log], show: Show | None = None, *, accept_driver_load: bool = False) -> Document:
    """Report of logs that are open, at least one; `show` is told of each question."""
    if not logs:
        raise InputError("logs: none is given; a report needs at least one")
    documents = [_of_one(log, show, accept_driver_load) for log in logs]
    return documents[0] if len(documents) == 1 else _joined(logs, documents)


def _of_one(log: Log, show: Show | None, accept_driver_load: bool) -> Document:
    from thinktime.analyses import QUESTIONS
    from thinktime.analyses.recording import section as recording
    from thinktime.log.border import changes, reading
    from thinktime.reports.cards import highlights
    from thinktime.reports.summary import findings
    from thinktime.reports.summary_facts import LogFacts

    changed = changes([log])
    unfinished = (f"{log.unfinished}.",) if log.unfinished else ()
    overloaded = _of_driver(log, accept_driver_load)
    warnings = tuple(Finding(text=text, tone="warning") for text in (*changed, *unfinished, *overloaded))
    cards = (CHANGED,) if changed else ()
    results, sections = {}, []
    asked = [question for question in QUESTIONS if question.in_report]
    for number, question in enumerate(asked):
        if show is not None:
            show(number, total=len(asked), stage=f"{log.path}: {question.name}")
        results[question.name], section = _answered(question, log, accept_driver_load)
        if section is not None:
            sections.append(section)
    with reading(log):
        facts = LogFacts.of(results)
        if facts is None:
            failed = Finding(text=f"{log.path}: the recording itself cannot be described.", tone="warning")
            return Document(
                title=f"Where the time of {log.path} went",
                subtitle="The log has defects: some questions could not be answered.",
                findings=(*warnings, replace(failed, section="recording")),
                sections=tuple(sections),
                highlights=cards,
            )
        return Document(
            title=_title(facts),
            subtitle=_subtitle(facts.recording),
            findings=(*warnings, *findings(facts)),
            sections=tuple(sections),
            facts=recording.facts(facts.recording),
            highlights=(*cards, *highlights(facts)),
        )


CHANGED = Highlight(
    name="changed",
    label="This log",
    value="changed",
    unit="",
    note="not the one that was written: the numbers may be wrong",
)
"""Card before all others of a log that fails its checksums."""


def _of_driver(log: Log, accepted: bool) -> Iterator[str]:
    """What a play whose driver was the load has to say first."""
    from thinktime.log import LogError, facts
    from thinktime.log.border import reading

    try:
        with reading(log):
            problem = facts.driver_problem(log)
            accepted = accepted or facts.driver_was_load(log) is None
    except LogError:
        return  # Each question that needs these facts says what is wrong with them.
    if problem is not None:
        fate = "are not those of the system" if accepted else "are withheld (--accept-driver-load shows them)"
        yield f"The driver of this play was the load: {problem}. Its response times {fate}."


def _answered(question: Question, log: Log, accept_driver_load: bool) -> tuple[Any, Section | None]:
    """Result of a question and its section, if it has one; where damage prevents the answer, the reason."""
    from thinktime.documents.wording import refused
    from thinktime.log import LogError
    from thinktime.log.border import reading
    from thinktime.stats.estimate import NotApplicable

    options = question.options()
    if accept_driver_load and hasattr(options, "accept_driver_load"):
        options = replace(options, accept_driver_load=True)
    try:
        with reading(log):
            result = question.analyse(log, options)
            section = replace(question.section(result, options), folded=question.folded)
            return result, None if question.silent and section.not_applicable else section
    except LogError as error:
        reason = NotApplicable(f"this question could not be answered: {error}")
        return reason, refused(question.name, question.summary.rstrip("."), reason)


def _title(facts: LogFacts) -> str:
    """Title of the report of one log, which is what its first findings answer."""
    from thinktime.analyses.recording.section import host_name

    host = host_name(facts.recording.host)
    if facts.logins is not None and facts.capacity is None:
        return f"Who was logged in on {host}"
    return f"Where {host} spends its time"


def _subtitle(result: Recording) -> str:
    from thinktime.analyses.recording import section as recording
    from thinktime.documents import format as shown

    intervals = shown.count(result.intervals, "interval")
    host = recording.host_words(result.host)
    if not result.intervals:
        return f"{host}. The log has {recording.length(result)}."
    if result.host.is_simulated:
        # Its clock begins at a date that means nothing.
        return f"{host}. Simulated for {shown.duration(result.measured_s)} in {intervals}."
    start = f" from {shown.moment(result.first_start)}" if result.first_start else ""
    crowd = None if result.workload is None else recording.users_played(result.workload)
    played = f" Users played: {crowd}." if crowd else ""
    return f"{host}. Recorded{start} for {shown.duration(result.measured_s)} in {intervals}.{played}"


def _joined(logs: Sequence[Log], documents: Sequence[Document]) -> Document:
    """Documents of several logs one after another, after the comparison; names distinguish the logs."""
    sections = _comparisons(logs)
    findings = [Finding(text=section.summary[0], section=section.name) for section in sections]
    facts: list[tuple[str, str]] = []
    for number, (log, document) in enumerate(zip(logs, documents, strict=True), start=1):
        label = f"Log {number}: {log.path}"
        prefix = f"log-{number}-"
        sections.extend(_renamed(section, prefix, label) for section in document.sections)
        facts.extend((f"Log {number}: {name}", value) for name, value in document.facts)
    findings.extend(sorted(_of_each(documents), key=lambda item: item.tone == "next"))
    return Document(
        title=f"{len(logs)} logs compared",
        subtitle="; ".join(f"log {number} is {log.path}" for number, log in enumerate(logs, start=1)),
        findings=tuple(findings),
        sections=tuple(sections),
        facts=tuple(facts),
    )


def _of_each(documents: Sequence[Document]) -> Iterator[Finding]:
    """Findings of each log; what is said of all of them is said once, with the place in the first."""
    common = set[str].intersection(*({item.text for item in document.findings} for document in documents))
    everyone = "Both logs" if len(documents) == 2 else "All logs"
    for number, document in enumerate(documents, start=1):
        for item in document.findings:
            if item.text not in common or number == 1:
                who = everyone if item.text in common else f"Log {number}"
                section = item.section and f"log-{number}-{item.section}"
                yield replace(item, text=f"{who}: {item.text}", section=section)


def _comparisons(logs: Sequence[Log]) -> list[Section]:
    """Sections of the questions for which the logs can be compared."""
    from thinktime.analyses import QUESTIONS
    from thinktime.log import LogError
    from thinktime.log.border import reading

    sections = []
    for question in QUESTIONS:
        if question.in_report and question.compares:
            options = question.options()
            try:
                with reading(*logs):
                    section = question.comparison_section(question.compare(logs, options), options)
            except LogError:
                # Its cause stands in the sections of the log that has it.
                continue
            if not section.not_applicable:
                sections.append(_renamed(section, "compared-", "The logs compared"))
    return sections


def _renamed(section: Section, prefix: str, group: str) -> Section:
    def table(item: Table) -> Table:
        return replace(item, name=prefix + item.name)

    def figure(item: Figure) -> Figure:
        return replace(item, name=prefix + item.name, data=table(item.data))

    return replace(
        section,
        name=prefix + section.name,
        short=section.short or section.name,
        group=group,
        tables=tuple(map(table, section.tables)),
        figures=tuple(map(figure, section.figures)),
    )
