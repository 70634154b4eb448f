"""Checks that analyses and comparisons make of what they are given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from thinktime.errors import InputError
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

_Result = TypeVar("_Result")


def check_log(value: object, argument: str = "log") -> Log:
    """`value`, if it is an open log; called first by every analysis.

    Raises
    ------
    TypeError
        It is something else, such as a path; the message names the argument and the remedy.
    """
    from thinktime.log import Log

    if isinstance(value, Log):
        return value
    if isinstance(value, (str, Path)):
        raise TypeError(
            f"{argument} is the path {str(value)!r}, not an open log: pass Log.open({str(value)!r}) instead"
        )
    raise TypeError(f"{argument} must be a thinktime.Log, not {type(value).__name__}: open one with Log.open")


def check_logs(logs: object, names: Sequence[str], least: int = 2) -> Sequence[Log]:
    """`logs`, if they are open logs with different names; called first by every comparison.

    Raises
    ------
    TypeError
        `logs` is not a sequence of logs.
    InputError
        There are fewer than `least`, or not as many names, or two have the same name.
    """
    if isinstance(logs, str) or not isinstance(logs, Sequence):
        raise TypeError(f"logs must be a sequence of thinktime.Log, not {type(logs).__name__}")
    for number, log in enumerate(logs):
        check_log(log, f"logs[{number}]")
    if len(logs) < least:
        raise InputError(f"logs: {len(logs)} given; a comparison needs {least} or more")
    if len(names) != len(logs):
        raise InputError(f"names: {len(names)} for {len(logs)} logs; give each log one name")
    if len(set(names)) < len(names):
        raise InputError(f"names: {', '.join(names)} are not all different; give each log its own")
    return logs


def all_or_reason(
    names: Sequence[str], results: Iterable[_Result | NotApplicable]
) -> tuple[_Result, ...] | NotApplicable:
    """Results of several logs; or the first that does not apply, its reason preceded by the log's name."""
    collected = []
    for name, result in zip(names, results, strict=True):
        if isinstance(result, NotApplicable):
            return NotApplicable(f"{name}: {result.reason}", result.remedy)
        collected.append(result)
    return tuple(collected)


def check_level(level: float, argument: str = "level") -> float:
    """`level`, if it is a confidence between 0 and 1.

    Raises
    ------
    InputError
        `level` is out of range; the remedy for 95 suggests 0.95.
    """
    if isinstance(level, (int, float)) and 0.0 < level < 1.0:
        return level
    remedy = f"; write {level / 100:g}" if isinstance(level, (int, float)) and 1 < level < 100 else ""
    raise InputError(f"{argument} is {level!r}, but a confidence lies between 0 and 1{remedy}")
