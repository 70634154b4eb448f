"""The answer for programs: one object for each number of users and quantity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thinktime.predictions.size.answer import Fits, Size
from thinktime.predictions.size.rules import OURS, Judged
from thinktime.predictions.size.section import Answers
from thinktime.stats.estimate import Estimate


def of(answers: Answers) -> dict[str, Any]:
    """Answer, predictions and measurement as plain values, in SI units.

    ``answer`` has ``users, low, high, limit, goal``; ``goals`` has the same for each goal, or ``from``, the
    fewest users that give a throughput, null where none do; each of ``predictions`` has ``users, quantity,
    value, low, high, unit, kind``, where ``kind`` is ``measured`` or ``predicted``; ``plans`` has the answer
    of each plan; ``checked`` the predictions of the log's own upper numbers of users;
    ``rules`` the answers of rules that others use; ``cliff`` the users with whom memory is full.
    """
    return {
        "answer": _answer(answers.first),
        "plans": [
            {"plan": _plain(name)} | _answer(size)
            for name, size in zip(answers.names, answers.sizes, strict=True)
        ],
        "goals": [_goal(one) for one in answers.first.fits],
        "predictions": [*_measured(answers), *_predicted(answers.first)],
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
        "cliff": _cliff(answers.first.cliff),
        "rules": [_rule(one) for one in answers.first.rules if one.name != OURS],
    }


def _cliff(found: Estimate | None) -> dict[str, Any] | None:
    return None if found is None else {"users": found.value, "low": found.low, "high": found.high}


def _rule(one: Judged) -> dict[str, Any]:
    users = None if isinstance(one.answer, str) else one.answer
    return {
        "rule": one.name,
        "low": None if users is None else users.low,
        "high": None if users is None else users.high,
        "reason": _plain(one.answer) if isinstance(one.answer, str) else None,
        "error": one.error,
    }


def _plain(words: str) -> str:
    """Words with ordinary blanks, for programs that compare them."""
    return words.replace("\N{NO-BREAK SPACE}", " ")


def _answer(size: Size) -> dict[str, Any]:
    return _goal(size.answer)


def _goal(best: Fits) -> dict[str, Any]:
    users = best.users
    if best.goal.kind == "throughput":
        return {"from": best.at_least or None, "limit": best.limit, "goal": _plain(best.goal.words)}
    return {
        "users": None if users is None else round(users.value),
        "low": best.at_least if users is None or users.low is None else round(users.low),
        "high": None if users is None or users.high is None else round(users.high),
        "limit": best.limit,
        "goal": _plain(best.goal.words),
    }


def _row(users: int, quantity: str, value: Estimate, kind: str) -> dict[str, Any]:
    return {
        "users": users,
        "quantity": quantity,
        "value": value.value,
        "low": value.low,
        "high": value.high,
        "unit": value.unit,
        "kind": kind,
    }


def _measured(answers: Answers) -> Iterator[dict[str, Any]]:
    for one in answers.measured.stretches:
        yield _row(one.users, "response_s", one.response, "measured")
        yield _row(one.users, "p90_response_s", one.p90, "measured")
        yield _row(one.users, "throughput_per_s", one.throughput, "measured")
        if one.machine_cpu is not None:
            busy = one.machine_cpu / answers.measured.machine.cpus
            value = Estimate(value=busy, unit="share", n=one.n, method="counters of the machine")
            yield _row(one.users, "utilisation_cpu", value, "measured")


def _predicted(size: Size) -> Iterator[dict[str, Any]]:
    for row in size.rows:
        yield _row(row.users, "response_s", row.response, "predicted")
        yield _row(row.users, "p90_response_s", row.p90, "predicted")
        yield _row(row.users, "throughput_per_s", row.throughput, "predicted")
        yield _row(row.users, "utilisation_cpu", row.utilisation, "predicted")
        yield _row(row.users, "utilisation_rest", row.rest, "predicted")
        if row.memory is not None:
            yield _row(row.users, "memory_suffices", row.memory, "predicted")
