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
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

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
from thinktime.analyses.scheduling import SchedulingQuestion
from thinktime.analyses.script_report import ScriptReportQuestion
from thinktime.analyses.service import ServiceQuestion
from thinktime.analyses.throughput import ThroughputQuestion
from thinktime.analyses.timeline import TimelineQuestion
from thinktime.analyses.users import UsersQuestion
from thinktime.analyses.waits import WaitsQuestion
from thinktime.errors import InputError, offered
from thinktime.questions.definition import Question

if TYPE_CHECKING:
    from thinktime.analyses.arrivals.analysis import Arrivals
    from thinktime.analyses.capacity.comparison import CapacityComparison
    from thinktime.analyses.capacity.result import Capacity
    from thinktime.analyses.compare.result import BeforeAfter, Comparison
    from thinktime.analyses.cpu_per_interaction.analysis import CpuPerInteraction
    from thinktime.analyses.disks.result import Disks
    from thinktime.analyses.experiment.result import Experiment
    from thinktime.analyses.health.result import Health
    from thinktime.analyses.overhead.comparison import OverheadComparison
    from thinktime.analyses.overhead.result import Overhead
    from thinktime.analyses.rates.analysis import Rates
    from thinktime.analyses.recording.analysis import Recording
    from thinktime.analyses.response.analysis import Response
    from thinktime.analyses.saturation.analysis import Saturation
    from thinktime.analyses.saturation.comparison import FrontierComparison
    from thinktime.analyses.scheduling.result import Scheduling
    from thinktime.analyses.script_report.analysis import ScriptReport
    from thinktime.analyses.service.analysis import Service
    from thinktime.analyses.throughput.analysis import Throughput
    from thinktime.analyses.throughput.comparison import ThroughputComparison
    from thinktime.analyses.timeline.analysis import Timeline
    from thinktime.analyses.users.result import Users
    from thinktime.analyses.waits.analysis import Waits
    from thinktime.analyses.waits.states import States
    from thinktime.log import Log
    from thinktime.results import Result
    from thinktime.stats.estimate import NotApplicable

LogLike: TypeAlias = "Log | str | PathLike[str]"
"""A log, or the path of its folder."""
Answer: TypeAlias = "Result | NotApplicable | dict[str, Experiment | NotApplicable]"
"""Result of any question; that about a designed experiment has one for each response."""

__all__ = ["QUESTIONS", "Answer", "LogLike", "Question", "analyse", "question"]

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
    SchedulingQuestion(),
    RatesQuestion(),
    RecordingQuestion(),
    ScriptReportQuestion(),
    CompareQuestion(),
    ExperimentQuestion(),
)


@overload
def analyse(name: Literal["health"], log: LogLike, /, **options: object) -> Health | NotApplicable: ...
@overload
def analyse(name: Literal["capacity"], log: LogLike, /, **options: object) -> Capacity | NotApplicable: ...
@overload
def analyse(
    name: Literal["capacity"], log: LogLike, other: LogLike, /, *logs: LogLike, **options: object
) -> CapacityComparison | NotApplicable: ...
@overload
def analyse(name: Literal["timeline"], log: LogLike, /, **options: object) -> Timeline | NotApplicable: ...
@overload
def analyse(name: Literal["users"], log: LogLike, /, **options: object) -> Users | NotApplicable: ...
@overload
def analyse(
    name: Literal["throughput"], log: LogLike, /, **options: object
) -> Throughput | NotApplicable: ...
@overload
def analyse(
    name: Literal["throughput"], log: LogLike, other: LogLike, /, *logs: LogLike, **options: object
) -> ThroughputComparison | NotApplicable: ...
@overload
def analyse(name: Literal["response"], log: LogLike, /, **options: object) -> Response | NotApplicable: ...
@overload
def analyse(
    name: Literal["cpu-per-interaction"], /, *logs: LogLike, **options: object
) -> CpuPerInteraction | NotApplicable: ...
@overload
def analyse(name: Literal["overhead"], log: LogLike, /, **options: object) -> Overhead | NotApplicable: ...
@overload
def analyse(
    name: Literal["overhead"], log: LogLike, other: LogLike, /, *logs: LogLike, **options: object
) -> OverheadComparison | NotApplicable: ...
@overload
def analyse(
    name: Literal["saturation"], log: LogLike, /, **options: object
) -> Saturation | NotApplicable: ...
@overload
def analyse(
    name: Literal["saturation"], log: LogLike, other: LogLike, /, *logs: LogLike, **options: object
) -> FrontierComparison | NotApplicable: ...
@overload
def analyse(name: Literal["disks"], log: LogLike, /, **options: object) -> Disks | NotApplicable: ...
@overload
def analyse(name: Literal["service"], log: LogLike, /, **options: object) -> Service | NotApplicable: ...
@overload
def analyse(name: Literal["arrivals"], log: LogLike, /, **options: object) -> Arrivals | NotApplicable: ...
@overload
def analyse(name: Literal["waits"], log: LogLike, /, **options: object) -> Waits | States | NotApplicable: ...
@overload
def analyse(
    name: Literal["scheduling"], log: LogLike, /, **options: object
) -> Scheduling | NotApplicable: ...
@overload
def analyse(name: Literal["rates"], log: LogLike, /, **options: object) -> Rates | NotApplicable: ...
@overload
def analyse(name: Literal["recording"], log: LogLike, /, **options: object) -> Recording: ...
@overload
def analyse(
    name: Literal["script-report"], log: LogLike, /, **options: object
) -> ScriptReport | NotApplicable: ...
@overload
def analyse(name: Literal["compare"], log: LogLike, /, **options: object) -> Comparison | NotApplicable: ...
@overload
def analyse(
    name: Literal["compare"], log: LogLike, other: LogLike, /, *logs: LogLike, **options: object
) -> BeforeAfter | NotApplicable: ...
@overload
def analyse(
    name: Literal["experiment"], /, *logs: LogLike, **options: object
) -> dict[str, Experiment | NotApplicable]: ...
@overload
def analyse(name: str, /, *logs: LogLike, **options: object) -> Answer: ...
def analyse(name: str, /, *logs: LogLike, **options: object) -> Answer:
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
            return dict(asked.results(runs, asked.options(**options)))
    opened = [item if isinstance(item, Log) else Log.open(Path(item)) for item in logs]
    if len(opened) > 1 and not asked.compares:
        raise InputError(f"{name}: {len(opened)} logs are given; give one")
    chosen = asked.options(**options)
    warn_of_changes(opened)
    with reading(*opened):
        answer: Answer = (
            asked.analyse(opened[0], chosen) if len(opened) == 1 else asked.compare(opened, chosen)
        )
    return answer


def question(name: str) -> Question:
    """Question called `name`.

    Raises
    ------
    InputError
        There is no such question; the message names the nearest.
    """
    names = [item.name for item in QUESTIONS]
    if name in names:
        return QUESTIONS[names.index(name)]
    raise InputError(f"{name}: there is no such question; {offered(name, names)}")
