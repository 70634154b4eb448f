"""The questions that a log answers: a folder each, and their one registry, in the order of a report.

A folder holds ``analysis`` (arrays in, a frozen result of estimates out), ``result`` where that is long,
``section`` (result in, sentences, tables and figures out), ``comparison`` and ``comparison_section`` where
several logs can be compared, and in its ``__init__`` the `Question`: name, help, options. A new question is a
folder and a line in `QUESTIONS`.

Results hold numbers in SI units; a question that a log cannot answer returns `NotApplicable` with the
reason and the remedy.
"""

from __future__ import annotations

from thinktime.analyses.arrivals import ArrivalsQuestion
from thinktime.analyses.capacity import CapacityQuestion
from thinktime.analyses.compare import CompareQuestion
from thinktime.analyses.cpu_per_interaction import CpuPerInteractionQuestion
from thinktime.analyses.disks import DisksQuestion
from thinktime.analyses.experiment import ExperimentQuestion
from thinktime.analyses.overhead import OverheadQuestion
from thinktime.analyses.question import Question
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

__all__ = ["QUESTIONS", "Question", "question"]

QUESTIONS: tuple[Question, ...] = (
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
