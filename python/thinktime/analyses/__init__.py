"""The questions that a log answers: a folder each, and their one registry, in the order of a report.

A folder holds ``analysis`` (arrays in, a frozen result of estimates out), ``result`` where that is long,
``section`` (result in, sentences, tables and figures out), ``comparison`` and ``comparison_section`` where
several logs can be compared, and in its ``__init__`` the `Question`: name, help, options. A new question is a
folder and two lines here: its import and its entry in `QUESTIONS`. Both are static, so that editors and mypy
follow them.

Results hold numbers in SI units; a question that a log cannot answer returns `NotApplicable` with the
reason and the remedy.
"""

from __future__ import annotations

from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinktime.analyses.arrivals import ArrivalsQuestion
from thinktime.analyses.capacity import CapacityQuestion
from thinktime.analyses.compare import CompareQuestion
from thinktime.analyses.cpu_per_interaction import CpuPerInteractionQuestion
from thinktime.analyses.disks import DisksQuestion
from thinktime.analyses.experiment import ExperimentQuestion
from thinktime.analyses.health import HealthQuestion
from thinktime.analyses.overhead import OverheadQuestion
from thinktime.analyses.rates import RatesQuestion
from thinktime.analyses.recording import RecordingQuestion
from thinktime.analyses.response import ResponseQuestion
from thinktime.analyses.saturation import SaturationQuestion
from thinktime.analyses.script_report import ScriptReportQuestion
from thinktime.analyses.service import ServiceQuestion
from thinktime.analyses.throughput import ThroughputQuestion
from thinktime.analyses.timeline import TimelineQuestion
from thinktime.analyses.users import UsersQuestion
from thinktime.analyses.waits import WaitsQuestion
from thinktime.errors import InputError
from thinktime.questions.definition import Question

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["QUESTIONS", "Question", "analyse", "question"]

QUESTIONS: tuple[Question, ...] = (
    HealthQuestion(),
    CapacityQuestion(),
    TimelineQuestion(),
    UsersQuestion(),
    ThroughputQuestion(),
    ResponseQuestion(),
    CpuPerInteractionQuestion(),
    OverheadQuestion(),
    SaturationQuestion(),
    DisksQuestion(),
    ServiceQuestion(),
    ArrivalsQuestion(),
    WaitsQuestion(),
    RatesQuestion(),
    RecordingQuestion(),
    ScriptReportQuestion(),
    CompareQuestion(),
    ExperimentQuestion(),
)


def analyse(name: str, *logs: Log | str | Path, **options: Any) -> Any:
    """Result of question `name` for a log, or for several that are compared; `NotApplicable` with the reason.

    Parameters
    ----------
    name : str
        Name of a question: ``"overhead"``.
    *logs : Log or path
        One, or several to compare.
    **options
        Fields of the question's options record, such as ``width=2`` for ``"throughput"``.

    Raises
    ------
    InputError
        There is no such question, no log or one too many, or an option has an impossible value.
    LogError
        A log cannot be read, or the question cannot be answered because the log has defects.
    TypeError
        The question has no such option, or something else than a log is given.

    Warns
    -----
    LogWarning
        A log is not the one that was written: its bytes differ from the checksums in its ledger.

    Examples
    --------
    >>> thinktime.analyse("overhead", "run", requests=("forks", "page_faults"))
    """
    from thinktime.log import Log
    from thinktime.log.border import reading, warn_of_changes

    asked = question(name)
    known = [item.name for item in fields(asked.options)]
    if unknown := [item for item in options if item not in known]:
        offered = f"its options are {', '.join(known)}" if known else "it has none"
        raise TypeError(f"{name}: there is no option {unknown[0]!r}; {offered}")
    if not logs:
        raise InputError(f"{name}: no log is given; give a Log, or the folder of one")
    for item in logs:
        if not isinstance(item, Log | str | PathLike):
            raise TypeError(f"logs: {item!r} is a {type(item).__name__}; give a Log, or the folder of one")
    if asked.accepts == "runs":
        runs = asked.open([Path(str(item)) for item in logs])
        warn_of_changes(asked.logs(runs))
        with reading(*asked.logs(runs)):
            return asked.results(runs, asked.options(**options))
    opened = [item if isinstance(item, Log) else Log.open(item) for item in logs]
    if len(opened) > 1 and not asked.compares:
        raise InputError(f"{name}: {len(opened)} logs are given; give one")
    chosen = asked.options(**options)
    warn_of_changes(opened)
    with reading(*opened):
        return asked.analyse(opened[0], chosen) if len(opened) == 1 else asked.compare(opened, chosen)


def question(name: str) -> Question:
    """Question called `name`.

    Raises
    ------
    InputError
        There is no such question; the message names the nearest.
    """
    import difflib

    names = [item.name for item in QUESTIONS]
    if name in names:
        return QUESTIONS[names.index(name)]
    nearest = difflib.get_close_matches(name, names, n=1)
    hint = f" (did you mean {nearest[0]}?)" if nearest else ""
    raise InputError(f"there is no question {name!r}{hint}; the questions are {', '.join(names)}")
