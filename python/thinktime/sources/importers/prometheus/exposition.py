"""Lines of the text formats of Prometheus and OpenMetrics."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

SECONDS_MAX = 1e11
"""Time stamps above this are milliseconds (Prometheus), others seconds (OpenMetrics)."""
WORD_MAX = 40
"""Longest number."""

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*", re.ASCII)
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|(?=\}))', re.ASCII)
_ESCAPE = re.compile(r"\\(.)")
_NUMBER = re.compile(
    r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|[iI]nf(?:inity)?|[nN]a[nN])", re.ASCII
)


class DamagedLineError(ValueError):
    """A line is not as the formats demand; the message names the item and the correct form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A line with a value."""

    value: float
    time_s: float | None
    """Seconds since 1970, where the line has them."""


def name_of(line: str) -> str:
    """Name at the beginning of a line; empty for a comment, a blank line, and names in quotes."""
    match = _NAME.match(line)
    return match[0] if match else ""


def split(line: str) -> tuple[str, str]:
    """Name with its labels as they stand, and the rest of the line.

    Raises
    ------
    DamagedLineError
        The braces are not closed.
    """
    name = name_of(line)
    if line[len(name) : len(name) + 1] != "{":
        head, _, rest = line.partition(" ")
        return head, rest
    at = len(name) + 1
    while (label := _LABEL.match(line, at)) is not None:
        at = label.end()
    while line[at : at + 1] == " ":
        at += 1
    if line[at : at + 1] != "}":
        raise DamagedLineError('labels are not as {name="value",...}')
    return line[: at + 1], line[at + 1 :]


def labels_of(series: str) -> Mapping[str, str]:
    """Labels of a series that `split` has returned."""
    start = series.find("{")
    found: dict[str, str] = {}
    if start < 0:
        return found
    at = start + 1
    while (label := _LABEL.match(series, at)) is not None:
        found.setdefault(label[1], _ESCAPE.sub(lambda item: {"n": "\n"}.get(item[1], item[1]), label[2]))
        at = label.end()
    return found


def sample(rest: str) -> Sample:
    """Value and time behind the name and its labels.

    Raises
    ------
    DamagedLineError
        It is no number, or something else follows.
    """
    # Behind the sign is an exemplar of OpenMetrics.
    words = rest.partition(" # ")[0].split()
    if not 1 <= len(words) <= 2:
        raise DamagedLineError("a value and perhaps a time are needed")
    value = _number(words[0])
    if len(words) == 1:
        return Sample(value=value, time_s=None)
    time = _number(words[1])
    if not math.isfinite(time):
        raise DamagedLineError(f"{words[1][:WORD_MAX]!r} is no time")
    return Sample(value=value, time_s=time / 1000 if abs(time) > SECONDS_MAX else time)


def _number(word: str) -> float:
    if len(word) > WORD_MAX or not _NUMBER.fullmatch(word):
        raise DamagedLineError(f"{word[:WORD_MAX]!r} is no number")
    return float(word)
