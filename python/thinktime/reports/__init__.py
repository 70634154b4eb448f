"""Reports: the results of the analyses as a document, and the document in a form to read.

`build` makes the document of one or more logs, `answer` the section of one analysis; `render` and
`render_section` print them as HTML, text, JSON or CSV.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from thinktime.documents.document import Document, Figure, Finding, Section, Table
from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.reports.summary_facts import Evidence

__all__ = ["Form", "answer", "build", "log_names", "render", "render_section"]

Form = Literal["html", "text", "json", "csv"]
ORDER = (
    "capacity",
    "throughput",
    "response",
    "overhead",
    "saturation",
    "iostat",
    "service",
    "arrivals",
    "trace",
    "rates",
)
"""The analyses as a report shows them: from where the capacity goes to the details."""
COMPARED = ("capacity", "throughput", "overhead", "saturation")
"""Those that compare several logs: ``analyses/NAME_comparison.py`` and ``sections/NAME_comparison.py``."""


def build(logs: Sequence[Log]) -> Document:
    """Whole story of one log, or of several, one after the other.

    Raises
    ------
    ValueError
        There is no log.
    LogError
        A part of a log cannot be read.
    """
    if not logs:
        raise ValueError("a report needs a log")
    documents = [_of_one(log) for log in logs]
    return documents[0] if len(documents) == 1 else _joined(logs, documents)


def answer(name: str, log: Log) -> Section:
    """Section of analysis `name`.

    Raises
    ------
    InputError
        There is no such analysis.
    """
    from thinktime.analyses import ANALYSES, load

    if name not in ANALYSES:
        raise InputError(f"there is no analysis {name!r}; the analyses are {', '.join(ANALYSES)}")
    return _section(name, load(name).analyse(log))


def render(document: Document, form: Form) -> str:
    """Document in one of the forms."""
    text: str = _renderer(form).render(document)
    return text


def render_section(section: Section, form: Literal["text", "json", "csv"]) -> str:
    """One section in one of the forms; a page is made of documents only."""
    text: str = _renderer(form).render_section(section)
    return text if text.endswith("\n") else text + "\n"


def _renderer(form: Form) -> ModuleType:
    return importlib.import_module(f"thinktime.documents.render.{form}")


def _section(name: str, result: object) -> Section:
    from thinktime.analyses import ANALYSES

    module = ANALYSES[name].removesuffix("analysis") + "section"
    make: Callable[[object], Section] = importlib.import_module(module).section
    return make(result)


def _of_one(log: Log) -> Document:
    from thinktime.analyses import load
    from thinktime.analyses.recording import analysis as machine
    from thinktime.analyses.recording import section as recording
    from thinktime.analyses.timeline import analysis as over_time
    from thinktime.analyses.timeline import section as timeline
    from thinktime.analyses.users import analysis as users
    from thinktime.analyses.users import section as who
    from thinktime.reports.cards import highlights
    from thinktime.reports.summary import findings
    from thinktime.reports.summary_facts import Evidence

    results = {name: load(name).analyse(log) for name in ORDER}
    host = machine.Machine.of(log)
    said = machine.recording(log, host.cpus)
    known = Evidence(host, said, results)
    sections = [_section(name, results[name]) for name in ORDER]
    after = ORDER.index("response") + 1
    sections[after:after] = _decomposition([log])
    sections[1:1] = [timeline.section(over_time.analyse(log)), who.section(users.analyse(log))]
    sections.append(recording.section(machine.analyse(log)))
    return Document(
        title=f"Where {machine.name(host)} spends its time",
        subtitle=_subtitle(known),
        findings=findings(known),
        sections=tuple(sections),
        facts=machine.facts(host, said, log.manifest),
        highlights=highlights(known),
    )


def _subtitle(known: Evidence) -> str:
    from thinktime.analyses.recording import analysis as machine
    from thinktime.documents import format as shown

    words = machine.words(known.machine)
    said = known.recording
    intervals = shown.count(said.intervals, "interval")
    begun = f" from {machine.moment(said.first)}" if said.first else ""
    return f"{words}. Recorded{begun} for {shown.duration(said.measured_s)} in {intervals}."


def _joined(logs: Sequence[Log], documents: Sequence[Document]) -> Document:
    """Several documents below each other, after what their comparison says; names say which log is meant."""
    sections = _comparisons(logs)
    findings: list[Finding] = []
    facts: list[tuple[str, str]] = []
    for number, (log, document) in enumerate(zip(logs, documents, strict=True), start=1):
        label = f"Log {number}: {log.path}"
        prefix = f"log-{number}-"
        sections.extend(_renamed(section, prefix, label) for section in document.sections)
        findings.extend(
            replace(item, text=f"Log {number}: {item.text}", section=item.section and prefix + item.section)
            for item in document.findings
        )
        facts.extend((f"Log {number}: {name}", value) for name, value in document.facts)
    return Document(
        title=f"{len(logs)} logs beside each other",
        subtitle="; ".join(f"log {number} is {log.path}" for number, log in enumerate(logs, start=1)),
        findings=tuple(findings),
        sections=tuple(sections),
        facts=tuple(facts),
    )


def log_names(paths: Sequence[Path]) -> tuple[str, ...]:
    """Name each log by its folder; by its whole path where two folders are called the same."""
    short = [path.resolve().name for path in paths]
    return tuple(
        str(path) if short.count(name) > 1 else name for path, name in zip(paths, short, strict=True)
    )


def _comparisons(logs: Sequence[Log]) -> list[Section]:
    """Sections that compare the logs, as far as they can be compared."""
    names = log_names([log.path for log in logs])
    found = []
    for name in COMPARED:
        result = importlib.import_module(f"thinktime.analyses.{name}.comparison").compare(logs, names)
        module = importlib.import_module(f"thinktime.analyses.{name}.comparison_section")
        section: Section = module.section(result)
        if not section.not_applicable:
            found.append(_renamed(section, "compared-", "The logs compared"))
    return [*found, *(_renamed(item, "compared-", "The logs compared") for item in _decomposition(logs))]


def _decomposition(logs: Sequence[Log]) -> list[Section]:
    """CPU time of an interaction; nothing where nobody interacted, or the logs cannot be joined."""
    from thinktime.analyses.cpu_per_interaction import analysis as decomposition
    from thinktime.analyses.cpu_per_interaction.section import section

    found = section(decomposition.analyse(logs, log_names([log.path for log in logs])))
    return [] if found.not_applicable else [found]


def _renamed(section: Section, prefix: str, group: str) -> Section:
    def table(item: Table) -> Table:
        return replace(item, name=prefix + item.name)

    def figure(item: Figure) -> Figure:
        return replace(item, name=prefix + item.name, data=table(item.data))

    return replace(
        section,
        name=prefix + section.name,
        group=group,
        tables=tuple(map(table, section.tables)),
        figures=tuple(map(figure, section.figures)),
    )
