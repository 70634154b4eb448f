"""Base of the questions about a log: name, help, options, analysis and section.

Each folder of `thinktime.analyses` defines one in its ``__init__``; `thinktime.analyses.QUESTIONS` lists
them. The command line, the order of a report, the comparison of logs, the reference documentation and
completion follow from that list. This module and those ``__init__`` load nothing heavy: the code that answers
a question is imported when it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.documents.document import Document, Section
    from thinktime.log import Log
    from thinktime.results import Result
    from thinktime.stats.estimate import NotApplicable

Accepts = Literal["one log", "logs", "a log, or two", "runs"]
"""Inputs of a question: one log; one or several, which are compared; a log or a pair; a folder of runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionHelp:
    """Command-line face of one field of a question's options."""

    flag: str
    help: str
    metavar: str | None = None
    parse: Callable[[str, str], Any] | None = None
    """Value of a text given for the flag (text, flag); raises `InputError`."""
    repeated: bool = False
    """True if the flag may be repeated; the field is then a tuple."""
    least: float | None = None
    most: float | None = None


KEY = "thinktime.option"
FINDINGS_MAX = 3
"""Number of sentences of a section that its page shows as findings."""


def option(default: Any, flag: str, help: str, **details: Any) -> Any:  # noqa: A002  (what it is called there)
    """Field of an options record that is also an option of the command; details are those of `OptionHelp`."""
    return field(default=default, metadata={KEY: OptionHelp(flag=flag, help=help, **details)})


def options_of(record: type) -> dict[str, OptionHelp]:
    """Command-line face of each field of an options record, in order."""
    return {item.name: item.metadata[KEY] for item in fields(record) if KEY in item.metadata}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a question without any."""


class Question:
    """Base class of a question, subclassed in the ``__init__`` of the question's folder.

    Override `analyse` and `section`; `compare` and `comparison_section` too where several logs can be
    compared; `answer` only where options choose between kinds of answer. Each imports what it needs inside,
    so that listing the questions stays cheap.
    """

    name: ClassVar[str]
    """Name of the command, of the report's section, and (with underscores) of the folder."""
    summary: ClassVar[str]
    """First line of the help: one sentence, imperative."""
    description: ClassVar[str] = ""
    """Paragraph of the help: method and source."""
    examples: ClassVar[tuple[str, ...]] = ()
    """Arguments behind ``thinktime analyse NAME``."""
    accepts: ClassVar[Accepts] = "one log"
    options: ClassVar[type[Any]] = Options
    in_report: ClassVar[bool] = True
    """True if the report of a log has a section for it."""
    folded: ClassVar[bool] = False
    """True if few readers of a report need more of its section than the first sentence."""
    silent: ClassVar[bool] = False
    """True if a report omits the section where it does not apply, instead of giving the reason."""

    def analyse(self, log: Log, options: Any) -> Any:
        """Result for one log, or `NotApplicable`."""
        raise NotImplementedError

    def section(self, result: Any, options: Any) -> Section:
        """Section of a result of `analyse`."""
        raise NotImplementedError

    def compare(self, logs: Sequence[Log], options: Any) -> Any:
        """Result for several logs, or `NotApplicable`."""
        raise NotImplementedError

    def comparison_section(self, result: Any, options: Any) -> Section:
        """Section of a result of `compare`."""
        raise NotImplementedError

    @property
    def compares(self) -> bool:
        """True if several logs can be compared."""
        return type(self).compare is not Question.compare

    def open(self, paths: Sequence[Path]) -> Sequence[Any]:
        """Inputs of the question in the folders that were named.

        Raises
        ------
        InputError
            Too many folders, or one of them twice: a log compared with itself would agree too well.
        LogError
            One of them is not a log.
        """
        from thinktime.log import Log

        most = {"one log": 1, "a log, or two": 2}.get(self.accepts, len(paths))
        if len(paths) > most:
            raise InputError(f"{self.name}: {len(paths)} logs are given; give at most {most}")
        resolved = [path.resolve() for path in paths]
        for number, path in enumerate(paths):
            if resolved[number] in resolved[:number]:
                raise InputError(f"{path}: given twice; give each log once")
        return tuple(Log.open(path) for path in paths)

    def logs(self, inputs: Sequence[Any]) -> Sequence[Log]:
        """Logs behind the inputs that `open` returned."""
        return inputs

    def answer(self, logs: Sequence[Any], options: Any = None) -> Section | Document:
        """Section (or whole document) that answers the question for these logs.

        Parameters
        ----------
        logs : sequence of Log
            One; several are compared.
        options : record, optional
            An instance of `options`; its defaults if omitted.

        Raises
        ------
        InputError
            Options that do not go together, or do not suit the logs.
        """
        chosen = self.options() if options is None else options
        if len(logs) == 1:
            result = self.analyse(logs[0], chosen)
            return with_result(self.section(result, chosen), result)
        result = self.compare(logs, chosen)
        return with_result(self.comparison_section(result, chosen), result)

    def document(self, logs: Sequence[Any], options: Any = None) -> Document:
        """Page of the answer; its first sentences are the findings."""
        from thinktime.documents.document import Document, Finding

        answer = self.answer(logs, options)
        if isinstance(answer, Document):
            return answer
        sentences = (answer.not_applicable,) if answer.not_applicable else answer.summary[:FINDINGS_MAX]
        return Document(
            title=answer.title,
            subtitle=" and ".join(str(log.path) for log in logs),
            findings=tuple(Finding(text=text, section=answer.name) for text in sentences),
            sections=(answer,),
            facts=tuple((f"Log {number}", str(log.path)) for number, log in enumerate(logs, start=1)),
            facts_title="What was compared?" if len(logs) > 1 else "What was analysed?",
        )

    def results(self, runs: Sequence[Any], options: Any) -> Mapping[str, Any]:
        """Results by response, of a question that accepts runs."""
        raise NotImplementedError

    def writes(self, path: Path, options: Any) -> bool:
        """True if the answer writes to `path`, so that a command can refuse before the work."""
        return False

    def files(self, logs: Sequence[Any], options: Any) -> Mapping[Path, str]:
        """Files that the options ask to be written, with their text; a command writes them."""
        return {}


def with_result(section: Section, result: Result | NotApplicable) -> Section:
    """Section that also has the values behind it, for programs."""
    return replace(section, result=result.to_dict())


@overload
def warned(answer: Document, sentences: Sequence[str]) -> Document: ...
@overload
def warned(answer: Section, sentences: Sequence[str]) -> Section: ...
@overload
def warned(answer: Section | Document, sentences: Sequence[str]) -> Section | Document: ...
def warned(answer: Section | Document, sentences: Sequence[str]) -> Section | Document:
    """Answer that first says what is wrong with its log, so that no number of it is read without that."""
    from thinktime.documents.document import Finding, Section

    if isinstance(answer, Section):
        return replace(answer, caveats=(*sentences, *answer.caveats))
    return replace(
        answer, findings=(*(Finding(text=text, tone="warning") for text in sentences), *answer.findings)
    )


def seconds(text: str, flag: str) -> float:
    """Length of time [s] of a text with a unit, such as ``30s``; raises `InputError`."""
    from thinktime.quantity import parse_seconds

    return parse_seconds(text, flag)


def log_names(logs: Sequence[Log]) -> tuple[str, ...]:
    """Name of each log: that of its folder, or the whole path if two folders have the same name."""
    short = [log.path.resolve().name for log in logs]
    return tuple(
        str(log.path) if short.count(name) > 1 else name for log, name in zip(logs, short, strict=True)
    )
