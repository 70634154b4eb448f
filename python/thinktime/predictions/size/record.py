"""The answer for programs: `thinktime.size`, and one object for each number of users and quantity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from thinktime.errors import InputError
from thinktime.log import Log, border
from thinktime.models.sizing import Fit, fit
from thinktime.notation import plain
from thinktime.predictions.size import goals as goals_
from thinktime.predictions.size.answer import Plan, Row, Size, Unknown, disks_then
from thinktime.predictions.size.cliff import Full
from thinktime.predictions.size.fits import Fits, Seen
from thinktime.predictions.size.measured import Measured, measured
from thinktime.predictions.size.rules import OURS, Judged
from thinktime.predictions.size.section import Answers
from thinktime.results import Result
from thinktime.stats.estimate import Estimate, NotApplicable, Plain

UTILISATION = "utilisation"
"""Quantity of a resource: ``cpu``, ``rest`` for what serves one interaction at a time, or a disk."""
DISK = "disk:"
"""Before the name of a disk."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sized(Result):
    """How many users fit, with predictions for numbers of users."""

    MAIN: ClassVar[str] = "predictions"

    users: Estimate | None
    """Users who fit; None where more fit than were looked at, or the model does not describe the log."""
    at_least: int
    """Users who fit, at the least, where `users` is None."""
    limit: str
    """What runs short: ``cpu``, ``rest``, ``memory``, ``users`` where nothing does, or ``measured`` where the
    model does not describe the log: the answer is then what was measured."""
    goal: str
    """The goal that fails first, as a statement."""
    knee: Estimate
    """Users at which a resource would be busy all the time if nobody waited."""
    predictions: tuple[Row, ...]
    """Response (mean and 90 % quantile), throughput, utilisation and memory by number of users."""
    _answers: Answers

    def to_dict(self) -> dict[str, Plain]:
        """Everything that ``thinktime size --format json`` prints, as plain values in SI units."""
        return of(self._answers)


def measurement(logs: Sequence[Log], names: Sequence[str]) -> tuple[Measured, Fit]:
    """What the interactions of logs show, and the work of an interaction that agrees with it.

    Raises
    ------
    InputError
        The logs have no interactions, or too few.
    """
    with border.reading(*logs):
        found = measured(logs, names)
    if isinstance(found, NotApplicable):
        raise InputError(f"{found.reason}; {found.remedy}")
    return found, fit(found.levels(), found.machine)


def size(
    *logs: Log | str | Path, plan: Plan | None = None, goals: Sequence[str] = (), users: Sequence[int] = ()
) -> Sized:
    """How many users fit on a machine, from logs of users whose interactions were recorded.

    Parameters
    ----------
    *logs : Log, str or Path
        Logs of one machine.
    plan : SizePlan, optional
        Machine and work to predict for; by default, as measured.
    goals : sequence of str
        Limits in the words of the command: ``"p90 response < 2s"``.
    users : sequence of int
        Numbers of users to predict; by default, a choice around the answer.

    Raises
    ------
    InputError
        There is no log or no goal in these words, or the logs have too few interactions.

    Examples
    --------
    >>> sized = thinktime.size("monday", goals=["p90 response < 2s"], plan=thinktime.SizePlan(cpus=4))
    >>> sized.users, sized.limit, sized.to_frame()
    """
    if not logs:
        raise InputError("size: give at least one log")
    opened = [log if isinstance(log, Log) else Log.open(log) for log in logs]
    found, fitted = measurement(opened, [str(log.path) for log in opened])
    answers = Answers.of(
        found, fitted, plans=(plan or Plan(),), goals=goals_.read(tuple(goals)), asked=tuple(users)
    )
    best = answers.first.answer
    return Sized(
        users=best.users,
        at_least=best.at_least,
        limit=best.limit,
        goal=best.goal.words,
        knee=answers.first.found.knee,
        predictions=answers.first.rows,
        _answers=answers,
    )


def of(answers: Answers) -> dict[str, Any]:
    """Answer, predictions and measurement as plain values, in SI units.

    ``answer`` has ``users, low, high, limit, goal``; ``goals`` has the same for each goal, or ``from``, the
    fewest users that give a throughput, null where none do; each of ``predictions`` has ``users, quantity,
    value, low, high, unit, kind``, where ``kind`` is ``measured`` or ``predicted``, and that of a utilisation
    ``resource``; ``plans`` has the answer of each plan; ``checked`` the predictions of the log's own upper
    numbers of users; ``rules`` the answers of rules that others use; ``cliff`` the users with whom memory is
    full; ``beyond`` the bounds of the mean response with more; ``unknown`` the users from whom on the mean
    response is not known to a factor of three, ``until`` how many, null for all that were looked at, and
    whether that is for want of telling a queue from a delay; ``refuted`` what was measured of a goal where it
    says otherwise than the model, whether the model agrees with it within its interval, and its number of
    users (where it does not agree, ``limit`` of the answer is ``measured``, ``low`` the users measured to
    meet the goal, and ``high`` those below the first that missed it); ``background`` the CPUs that others
    used, as many of them as users waited for, and the interval of these, null where all were counted.
    """
    return {
        "answer": _answer(answers.first),
        "plans": [
            {"plan": plain(name)} | _answer(size)
            for name, size in zip(answers.names, answers.sizes, strict=True)
        ],
        "goals": [_goal(one) for one in answers.first.found.fits],
        "predictions": [*_measured(answers), *_predicted(answers.first, answers.measured)],
        "checked": [
            {
                "users": one.users,
                "predicted_s": one.predicted.value,
                "measured_s": one.measured.value,
                "error": one.error,
                "holds": one.holds,
                "rivals_s": dict(one.rivals),
            }
            for one in answers.checked
        ],
        "cliff": _cliff(answers.first.found.full),
        "beyond": [
            {
                "users": one.users,
                "missing": one.missing,
                "least_s": one.least.value,
                "most_s": None if one.most is None else one.most.value,
            }
            for one in answers.first.beyond
        ],
        "unknown": _unknown(answers.first.unknown),
        "refuted": refuted(answers.first.found.fits),
        "background": background(answers.measured),
        "rules": [_rule(one) for one in answers.first.found.rules if one.name != OURS],
    }


def _cliff(found: Full | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"users": found.users.value, "low": found.users.low, "high": found.users.high}


def refuted(fits: Sequence[Fits]) -> list[dict[str, Any]]:
    """Objects of what was measured where it says otherwise than the model."""
    return [
        {
            **seen(against.by),
            "model": {
                "users": None if against.model is None else round(against.model.value),
                "low": against.model_least if against.model is None else against.model.low,
                "high": None if against.model is None else against.model.high,
            },
            "agrees": against.agrees,
        }
        for one in fits
        if (against := one.otherwise) is not None
    ]


def seen(one: Seen) -> dict[str, Any]:
    """Object of what was measured of a goal with a number of users."""
    return {
        "goal": plain(one.goal.words),
        "users": one.users,
        "met": one.met,
        "value": one.value.value,
        "low": one.value.low,
        "high": one.value.high,
        "unit": one.value.unit,
    }


def background(measured: Measured) -> dict[str, Any]:
    """Object of the CPUs that others used, and of as many of them as users waited for."""
    machine, found = measured.machine, measured.yielding
    return {
        "used": machine.others,
        "waited_for": machine.background,
        "low": None if found is None else found.waited_for.low,
        "high": None if found is None else found.waited_for.high,
    }


def _unknown(found: Unknown | None) -> dict[str, Any] | None:
    return None if found is None else {"users": found.users, "until": found.until, "queue": found.queue}


def _rule(one: Judged) -> dict[str, Any]:
    users = None if isinstance(one.answer, str) else one.answer
    return {
        "rule": one.name,
        "low": None if users is None else users.low,
        "high": None if users is None else users.high,
        "reason": plain(one.answer) if isinstance(one.answer, str) else None,
        "error": one.error,
    }


def _answer(size: Size) -> dict[str, Any]:
    return _goal(size.answer)


def _goal(best: Fits) -> dict[str, Any]:
    users = best.users
    if best.goal.kind == "throughput":
        return {"from": best.at_least or None, "limit": best.limit, "goal": plain(best.goal.words)}
    return {
        "users": None if users is None else round(users.value),
        "low": best.at_least if users is None or users.low is None else round(users.low),
        "high": best.at_most if users is None or users.high is None else round(users.high),
        "limit": best.limit,
        "goal": plain(best.goal.words),
    }


def row(users: object, quantity: str, value: Estimate, kind: str, **more: object) -> dict[str, Any]:
    """Object of one quantity; that of a utilisation names its ``resource`` as well."""
    found = {
        "users": users,
        "quantity": quantity,
        "value": value.value,
        "low": value.low,
        "high": value.high,
        "unit": value.unit,
        "kind": kind,
    }
    return found | more


def _measured(answers: Answers) -> Iterator[dict[str, Any]]:
    for one in answers.measured.stretches:
        yield row(one.users, "response_s", one.response, "measured")
        yield row(one.users, "p90_response_s", one.p90, "measured")
        yield row(one.users, "throughput_per_s", one.throughput, "measured")
        if one.machine_cpu is not None:
            busy = one.machine_cpu / answers.measured.machine.cpus
            value = Estimate(value=busy, unit="share", n=one.n, method="counters of the machine")
            yield row(one.users, UTILISATION, value, "measured", resource="cpu")
    for disk in answers.measured.disks:
        for users, share in disk.measured:
            yield row(users, UTILISATION, share, "measured", resource=f"{DISK}{disk.name}")


def _predicted(size: Size, measured: Measured) -> Iterator[dict[str, Any]]:
    for one in size.rows:
        yield row(one.users, "response_s", one.response, "predicted")
        yield row(one.users, "p90_response_s", one.p90, "predicted")
        yield row(one.users, "throughput_per_s", one.throughput, "predicted")
        yield row(one.users, UTILISATION, one.utilisation, "predicted", resource="cpu")
        yield row(one.users, UTILISATION, one.rest, "predicted", resource="rest")
        for then in disks_then(measured, size.found.plan, one):
            yield row(one.users, UTILISATION, then.busy, "predicted", resource=f"{DISK}{then.disk.name}")
        if one.memory is not None:
            yield row(one.users, "memory_suffices", one.memory, "predicted")
