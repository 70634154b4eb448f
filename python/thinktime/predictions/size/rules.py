"""Rules that others use for the number of users, applied to the same log and judged by its upper half."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thinktime.documents.document import Col, Cols, Table
from thinktime.models.sizing import fit
from thinktime.predictions.size import fits
from thinktime.predictions.size.goals import Goal
from thinktime.predictions.size.measured import Measured

OURS = "thinktime"
OVERHEAD_BYTES = 128e6
"""Memory that The Littlest JupyterHub adds to that of the users."""
LAW_LEAST = 3
"""Numbers of users that the Universal Scalability Law needs: it has three unknowns."""
ANSWERS_MOST = 100_000
"""Users above which a rule sets no limit."""


WITH = {"agrees": "with", "not contradicted": "by"}
"""Word between a verdict and the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Question to a rule."""

    measured: Measured
    levels: int
    """Measured numbers of users that the rule may see, the lowest ones."""
    goal: Goal | None
    """Limit of a response time or of the utilisation; None where neither is limited."""
    alone_s: float
    """Mean response of a user alone [s]."""
    cpus: int
    memory_bytes: float | None
    as_measured: bool
    """True if work and machine are those of the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRange:
    """Answer of a rule."""

    low: int
    high: int | None
    """None where the rule sets no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Rule for the number of users."""

    name: str
    source: str
    limits: str
    """Kind of the goals it answers: ``time`` (response or utilisation) or ``memory``."""
    answer: Callable[[Case], UserRange | str]
    """Users by the rule, or why it has no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Rule with its answer for a plan, and its error on the log itself."""

    name: str
    source: str
    answer: UserRange | str
    checked: UserRange | str
    """Answer for the machine measured from the lower numbers of users alone."""
    truth: UserRange | None
    """Most users with whom the goal was met, and most with whom it may have been, in the whole log."""

    @property
    def error(self) -> float | None:
        """Relative error of `checked` towards the nearest number that the log permits; None if not known."""
        if self.truth is None or isinstance(self.checked, str):
            return None
        if self.truth.high is not None and self.checked.low > self.truth.high:
            return self.checked.low / max(self.truth.high, 1) - 1.0
        if self.checked.high is not None and self.checked.high < self.truth.low:
            return self.checked.high / max(self.truth.low, 1) - 1.0
        return 0.0


def _law(case: Case) -> UserRange | str:
    """Users whose mean response meets the goal by the Universal Scalability Law."""
    if not case.as_measured:
        return "knows only the machine and the work measured"
    if case.goal is None or case.goal.kind != "response" or case.goal.quantile is not None:
        return "knows mean responses only"
    response = scalability(case.measured, case.levels)
    if response is None:
        return f"needs {LAW_LEAST} numbers of users"
    limit = case.goal.limit * (max(response(1), 0.0) if case.goal.relative else 1.0)
    # The response rises with the users: the three terms of N / X are not negative.
    low, high = 0, ANSWERS_MOST
    if response(high) <= limit:
        return UserRange(low=high, high=None)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if response(middle) <= limit else (low, middle)
    return UserRange(low=low, high=low)


def _largest(case: Case) -> UserRange | str:
    """Memory of the machine, less an overhead, over the memory of the largest user seen."""
    memory = case.measured.memory
    if memory is None or case.memory_bytes is None or not memory.largest_bytes > 0.0:
        return "needs the memory of each user"
    users = max(math.floor((case.memory_bytes - OVERHEAD_BYTES) / memory.largest_bytes), 0)
    return UserRange(low=users, high=users)


def _per_core(fewest: float, most: float) -> Callable[[Case], UserRange | str]:
    return lambda case: UserRange(low=math.floor(fewest * case.cpus), high=math.floor(most * case.cpus))


RULES = (
    Rule(
        name="Universal Scalability Law",
        source="Gunther, Guerrilla Capacity Planning (2007), 4.5",
        limits="time",
        answer=_law,
    ),
    Rule(
        name="users x maximum memory + 128 MB",
        source="The Littlest JupyterHub, resource estimation",
        limits="memory",
        answer=_largest,
    ),
    Rule(
        name="1 to 2 cores a session",
        source="Posit Workbench, architecture considerations",
        limits="time",
        answer=_per_core(0.5, 1.0),
    ),
    Rule(
        name="5 users a core",
        source="in use for remote desktops with xrdp",
        limits="time",
        answer=_per_core(5.0, 5.0),
    ),
)
"""All rules, in the order of the table."""


def scalability(measured: Measured, levels: int) -> Callable[[int], float] | None:
    r"""Mean response by the Universal Scalability Law, fitted to the throughput of the first levels.

    .. math:: X(N) = \frac{\gamma N}{1 + \alpha (N - 1) + \beta N (N - 1)}, \quad R = N / X - Z

    None where there are fewer than three levels. Gunther, *Guerrilla Capacity Planning* (2007), 4.5.
    """
    from scipy import optimize

    used = measured.stretches[:levels]
    if len(used) < LAW_LEAST:
        return None
    users = np.array([float(one.users) for one in used])
    cycle = users / np.array([one.throughput.value for one in used])
    # N / X is linear in the three unknowns, none of which is negative.
    found, _ = optimize.nnls(
        np.column_stack([np.ones(len(users)), users - 1.0, users * (users - 1.0)]), cycle
    )
    think = float(np.mean([one.think.value for one in used]))
    return lambda number: float(found @ np.array([1.0, number - 1.0, number * (number - 1.0)]) - think)


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What the rules say of the log itself, which no plan changes."""

    case: Case
    """Machine and work measured, with the lower numbers of users alone."""
    met: Mapping[str, UserRange | None]
    """Numbers with whom the goals were met in the whole log, by kind of rule; empty for one number."""
    ours: tuple[Judged, ...]
    """Our own prediction from the lower half, as one more rule."""

    @classmethod
    def of(cls, question: Case) -> Past:
        """Past of a question: its plan does not matter, but its goal and the response of a user alone."""
        measured = question.measured
        half, memory = (len(measured.stretches) + 1) // 2, measured.memory
        case = Case(
            measured=measured,
            levels=half,
            goal=question.goal,
            alone_s=question.alone_s,
            cpus=measured.machine.cpus,
            memory_bytes=None if memory is None else memory.total_bytes,
            as_measured=True,
        )
        time = _met(case)
        ours = () if len(measured.stretches) < 2 else (_ours(case, time),)
        known = UserRange(low=measured.peak, high=None) if memory else None
        met = {"time": time, "memory": known} if half < len(measured.stretches) else {}
        return cls(case=case, met=met, ours=ours)


def judge(question: Case, goals: Sequence[Goal], past: Past | None = None) -> tuple[Judged, ...]:
    """Answers of all rules, after the prediction from the lower half of the numbers of users.

    Parameters
    ----------
    question : Case
        With the plan to answer for, and all that was measured.
    goals : sequence of Goal
        Those of the answer; a rule is asked about the first that it can be about.
    past : Past, optional
        Where it is known already.
    """
    if not question.measured.stretches:
        return ()
    past = past or Past.of(question)
    return past.ours + tuple(
        Judged(
            name=rule.name,
            source=rule.source,
            answer=rule.answer(question),
            checked=rule.answer(past.case),
            truth=past.met.get(rule.limits),
        )
        for rule in RULES
        if rule.limits != "memory" or any(goal.kind == "memory" for goal in goals)
    )


def _ours(past: Case, truth: UserRange | None) -> Judged:
    """Prediction of the log's upper half from its lower half, as one more rule."""
    measured, goal = past.measured, past.goal
    checked: UserRange | str = "no goal of time"
    if goal is not None and goal.quantile is None:
        machine = measured.machine_seen(past.levels)
        fitted = fit(measured.levels()[: past.levels], machine)
        most = 2 * measured.peak
        courses = fitted.courses(machine, most)
        if goal.kind == "utilisation":
            meets = np.median(courses.utilisation, axis=0) <= goal.limit
        else:
            limit = goal.limit * (courses.response_s[:, :1] if goal.relative else 1.0)
            meets = np.median((courses.response_s <= limit).astype(float), axis=0) >= 0.5
        count = int(most if meets.all() else np.argmin(meets))
        checked = UserRange(low=count, high=None if meets.all() else count)
    elif goal is not None:
        checked = "percentiles are not predicted here"
    return Judged(name=OURS, source="lower half of this log", answer="as above", checked=checked, truth=truth)


def _met(case: Case) -> UserRange | None:
    """Bounds of the number of users who met the goal in the whole log; None where it was not measured.

    Between them are the numbers of which the intervals of what was measured do not say.
    """
    goal, measured = case.goal, case.measured
    if goal is None or goal.quantile not in (None, 0.9):
        return None
    limit = goal.limit * (case.alone_s if goal.relative else 1.0)
    met = 0
    for one in measured.stretches:
        value = fits.quantity(goal, one, measured.machine.cpus)
        if value is None:
            return None
        is_met = fits.judged(goal, value, (limit, limit))
        if is_met is False:
            return UserRange(low=met, high=one.users - 1)
        if is_met:
            met = one.users
    return UserRange(low=met, high=None)


def sentence(judged: Sequence[Judged]) -> str | None:
    """Answers of the rules in words, by name."""
    parts = [
        f"{one.name}: {_words(one.answer)}{_aside(one)}"
        for one in judged
        if one.name != OURS and not isinstance(one.answer, str)
    ]
    return f"By rules that others use: {'; '.join(parts)}." if parts else None


def _words(answer: UserRange | str) -> str:
    if isinstance(answer, str):
        return answer
    if answer.high is None:
        return "no limit" if answer.low >= ANSWERS_MOST else f"at least {answer.low} users"
    if answer.low == answer.high:
        return f"{answer.low} user{'' if answer.low == 1 else 's'}"
    return f"{answer.low} to {answer.high} users"


def _verdict(one: Judged) -> str | None:
    """Error in words; a log in which the goal never failed, or was never met, contradicts little."""
    if one.error is None or one.truth is None:
        return None
    if one.error != 0.0:
        return f"{100.0 * one.error:+.0f} %"
    return "not contradicted" if one.truth.high is None or one.truth.low == 0 else "agrees"


def _aside(one: Judged) -> str:
    verdict = _verdict(one)
    if verdict is None:
        return ""
    return f" ({verdict} {WITH.get(verdict, 'on')} this log)"


def table(judged: Sequence[Judged], *, answers: bool = True) -> Table:
    """Table of the rules, with the measured number that they are judged by.

    `answers` is false where the answers for a plan stand elsewhere.
    """
    return Table.of(
        judged,
        Col("rule", lambda one: one.name),
        Cols(["answer"] if answers else [], lambda one: [_words(one.answer)] if answers else []),
        Col("from the lower half", lambda one: _words(one.checked)),
        Col("measured", lambda one: None if one.truth is None else _words(one.truth)),
        Col("error", _verdict),
        Col("source", lambda one: one.source),
        name="size-rules",
        caption="Rules that others use, judged by the upper half of the log",
    )
