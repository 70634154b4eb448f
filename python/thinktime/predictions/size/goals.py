"""Goals that a number of users must meet, as users write them: ``p90 response < 2s``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from thinktime.documents import format as shown
from thinktime.errors import InputError
from thinktime.predictions.inputs import exact, number, seconds, share

PATTERN = re.compile(r"\s*(?:(\w+)\s+)?(\w+)\s*(<=?|>=?)\s*(\S.*?)\s*")
STATISTICS = {"mean": None, "median": 0.5, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
"""Statistics of response times, and the part of the responses that does not exceed a quantile."""
KINDS = {"response": "<", "throughput": ">", "utilisation": "<", "memory": ">"}
"""Quantities of goals, and the direction in which they are limited."""
HELP = (
    "give one such as 'p90 response < 2s' (mean, median, p90, p95, p99), 'throughput > 5/s', "
    "'utilisation < 80%' or 'memory > 95%' (probability that it suffices)"
)
MEMORY_LEAST = 0.95
"""Probability with which memory suffices, where no goal says otherwise."""
STRETCH = 2.0
"""Mean response with N users over that of a user alone, where no goal says otherwise: waiting then takes as
long as the work itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Limit of one quantity."""

    kind: str
    """``response``, ``throughput``, ``utilisation`` or ``memory``."""
    limit: float
    """In SI units."""
    quantile: float | None = None
    """Part of the responses that must not exceed the limit; None for the mean."""
    relative: bool = False
    """True if `limit` is a multiple of the mean response of a user alone."""

    @property
    def words(self) -> str:
        """The goal as a statement."""
        if self.kind == "memory":
            return f"memory suffices with a probability of at least {100.0 * self.limit:g} %"
        if self.kind == "utilisation":
            return f"the CPUs are busy for at most {100.0 * self.limit:g} % of the time"
        if self.kind == "throughput":
            return f"at least {shown.quantity(self.limit, '1/s')} are completed"
        if self.relative:
            return f"the mean response is at most {self.limit:g} times that of a user alone"
        if self.quantile is None:
            return f"the mean response is at most {shown.quantity(self.limit, 's')}"
        return f"{100 * self.quantile:g} % of the responses take at most {shown.quantity(self.limit, 's')}"


def default() -> tuple[Goal, ...]:
    """Goals where none are given: waiting as long as the work, and memory that suffices."""
    return (Goal(kind="response", limit=STRETCH, relative=True), Goal(kind="memory", limit=MEMORY_LEAST))


def read(texts: Sequence[str]) -> tuple[Goal, ...]:
    """Goals of texts, completed by the default ones: something limits the waits, and memory must suffice.

    Raises
    ------
    InputError
        A text is no goal.
    """
    goals = tuple(_goal(text) for text in texts)
    response, memory = default()
    kinds = {goal.kind for goal in goals}
    return (
        *goals,
        *(() if kinds & {"response", "utilisation"} else (response,)),
        *(() if "memory" in kinds else (memory,)),
    )


def _unknown(statistic: str | None, kind: str) -> str:
    """Word of a goal that is to blame."""
    return kind if statistic is None or kind not in KINDS else statistic


def _goal(text: str) -> Goal:
    found = PATTERN.fullmatch(text)
    if found is None:
        raise InputError(f"--goal {text}: is no goal; {HELP}")
    statistic, kind, sign, limit = found.groups()
    if kind not in KINDS or (statistic is not None and (kind != "response" or statistic not in STATISTICS)):
        raise InputError(f"--goal {text}: {_unknown(statistic, kind)} is not known here; {HELP}")
    if sign[0] != KINDS[kind]:
        raise InputError(f"--goal {text}: write {kind} {KINDS[kind]} {limit}; a goal limits what is bad")
    item = f"--goal {text}"
    if kind == "response":
        return Goal(kind=kind, limit=exact(seconds, limit, item), quantile=STATISTICS[statistic or "mean"])
    if kind == "throughput":
        return Goal(kind=kind, limit=exact(number, limit.removesuffix("/s"), item))
    value = exact(share, limit, item)
    if not 0.0 < value < 1.0:
        raise InputError(f"{item}: give a part between 0 and 1, such as 80%")
    return Goal(kind=kind, limit=value)
