"""Sentences, tables and JSON of an answer for numbers of users by class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from thinktime.documents import format as shown
from thinktime.documents.document import Col, Cols, Section, Table
from thinktime.documents.render.json import answer
from thinktime.documents.wording import capital, listed
from thinktime.models.sizing import SOURCE, Machine
from thinktime.notation import plain
from thinktime.predictions.size import background, record
from thinktime.predictions.size.by_class.answer import Mixed, More, OfClass, Planned, SizeByClass
from thinktime.predictions.size.by_class.classes import UserClass
from thinktime.predictions.size.by_class.network import Numbers
from thinktime.predictions.size.by_class.seen import SeenMix
from thinktime.predictions.size.goals import Goal
from thinktime.predictions.size.section import plan_words
from thinktime.predictions.size.words import LIMITS
from thinktime.stats.estimate import Estimate

TITLE = "How many users of each class fit?"


def section(size: SizeByClass) -> Section:
    """Section of an answer."""
    return Section(
        name="size",
        title=TITLE,
        summary=tuple(sentences(size.machine, size.goals, size.mixes[0], size.more)),
        tables=(
            _mix(size),
            *_plans(size),
            _changes(size),
            _more(size),
            _classes(size),
            _checked(size),
        ),
        caveats=tuple(_caveats(size)),
        method=(
            "Means: a closed network with a class for each class of users, and background load as arrivals "
            f"({SOURCE}); of many users by the linearizer (Chandy and Neuse 1982). Percentiles: simulation "
            "with the CPU times of each class, which compares another scheduler with equal parts too. "
            "Intervals: over draws from all that agrees with the log."
        ),
    )


def details(size: SizeByClass) -> Section:
    """What of the section does not depend on the numbers of users that are asked for."""
    return replace(section(size), summary=(), tables=(*_plans(size), _classes(size), _checked(size)))


def _mix_words(numbers: Numbers) -> str:
    return listed([f"{users} {name}" for name, users in numbers.items() if users])


def sentences(machine: Machine, goals: Sequence[Goal], first: Mixed, more: Sequence[More]) -> Iterator[str]:
    """Whether users fit, what runs short first, and how many of each class fit with the others."""
    cpus = shown.count(machine.cpus, "CPU")
    if first.refuted is not None:
        yield _measured(first, first.refuted, cpus)
    judged = [goal for goal in goals if goal.kind != "memory" or first.memory is not None]
    verb = "fit" if first.fits else "do not fit"
    if first.refuted is None:
        yield (
            f"{_mix_words(first.numbers)} users {verb} on {cpus} (probability "
            f"{100.0 * first.met:.0f} %): {listed([goal.words for goal in judged])}."
        )
    heavy = next(one for one in first.classes if one.name == first.heaviest)
    share = f"{100.0 * heavy.cpu_share:.0f} %"
    yield (
        f"{capital(LIMITS[first.first])} would run short first; class {heavy.name} takes {share} of the "
        "users' CPU time."
    )
    for one in more:
        yield f"With the other classes as they are, {_more_words(one)} of class {one.name} fit."


def _measured(first: Mixed, seen: SeenMix, cpus: str) -> str:
    """Whether users fit by what was measured of those of the log, where the model says otherwise."""
    there = f"With {_mix_words(seen.numbers)} users"
    told = [f"{one.words}{f' of {name}' if name else ''}" for name, one in seen.by]
    verdict = "meets every goal of time" if seen.met else f"misses the goal ({seen.by[0][1].goal.words})"
    same = dict(first.numbers) == dict(seen.numbers)
    those = "they" if same else f"{_mix_words(first.numbers)} users"
    answer = f"{those} {'fit' if first.fits else 'do not fit'} on {cpus}"
    model = f"The model alone gives a probability of {100.0 * first.model_met:.0f} % that they do"
    wrong = ", so it does not describe this log, and its other figures may be as far off"
    return f"{there}, {listed(told)}, which {verdict}: {answer}. {model}{'' if first.agrees else wrong}."


def _more_words(one: More) -> str:
    """Users of a class who fit."""
    if one.users is not None:
        return _users(one.users)
    if one.at_least is not None:
        return f"at least {shown.count(one.at_least, 'user')}"
    return "all that were looked at" if one.at_most is None else f"at most {shown.count(one.at_most, 'user')}"


def _users(users: Estimate) -> str:
    if users.low is None or users.high is None or users.low == users.high:
        return f"{users.value:.0f} users"
    return f"{users.value:.0f} ({users.low:.0f} to {users.high:.0f}) users"


def _mix(size: SizeByClass) -> Table:
    return Table.of(
        size.mixes[0].classes,
        Col("class", lambda one: one.name),
        Col("users", lambda one: one.users),
        Col("response", lambda one: one.response),
        Col("90 % within", lambda one: one.p90),
        Col("throughput", lambda one: one.throughput),
        Col("users' CPU time", lambda one: one.cpu_share, unit="share"),
        name="size-mix",
        caption="Predicted for these numbers of users",
    )


def _changes(size: SizeByClass) -> Table:
    names = [one.name for one in size.classes]
    memory = size.mixes[0].memory is not None
    return Table.of(
        size.mixes,
        Col("users", lambda mix: mix.change or "as asked for"),
        Col("goals met", lambda mix: mix.met, unit="share"),
        Cols([f"response of {name}" for name in names], lambda mix: _responses(mix, names)),
        Col("CPUs busy", lambda mix: mix.utilisation, unit="share"),
        Cols(
            ["memory suffices"] if memory else [],
            lambda mix: [mix.memory] if memory else [],
            unit="share",
        ),
        name="size-mixes",
        caption="Without a class, and with twice as many of it",
    )


def _responses(mix: Mixed, names: Sequence[str]) -> list[Estimate | None]:
    found: dict[str, OfClass] = {one.name: one for one in mix.classes}
    return [found[name].response if name in found else None for name in names]


def _plans(size: SizeByClass) -> Iterator[Table]:
    names = [one.name for one in size.classes]
    memory = any(one.mix.memory is not None for one in size.plans)
    if size.plans:
        yield Table.of(
            size.plans,
            Col("plan", _plan_words),
            Col("users", lambda one: _mix_words(one.mix.numbers)),
            Col("goals met", lambda one: one.mix.met, unit="share"),
            Cols([f"response of {name}" for name in names], lambda one: _responses(one.mix, names)),
            Cols(
                [f"{name} that fit" for name in names],
                lambda one: [_most(more) for more in one.more],
            ),
            Col("CPUs busy", lambda one: one.mix.utilisation, unit="share"),
            Cols(
                ["memory suffices"] if memory else [],
                lambda one: [one.mix.memory] if memory else [],
                unit="share",
            ),
            Col("short first", lambda one: LIMITS[one.mix.first]),
            name="size-plans",
            caption="What would a change bring?",
        )


def _plan_words(one: Planned) -> str:
    return plan_words(one.plan)


def _most(one: More) -> Estimate | str:
    if one.users is not None:
        return one.users
    if one.at_least is not None:
        return f"at least {one.at_least}"
    return "not limited" if one.at_most is None else f"at most {one.at_most}"


def _more(size: SizeByClass) -> Table:
    return Table.of(
        size.more,
        Col("class", lambda one: one.name),
        Col("users that fit", _most),
        name="size-more",
        caption="Users of each class that fit with the others as they are",
    )


def _classes(size: SizeByClass) -> Table:
    return Table.of(
        size.classes,
        Col("class", lambda one: one.name),
        Col("users", lambda one: one.users),
        Col("interactions", lambda one: one.n),
        Col("CPU time", lambda one: one.cpu),
        Col("think time", lambda one: one.think),
        Cols(
            ["memory of a user"] if any(one.memory for one in size.classes) else [],
            lambda one: [one.memory] if any(other.memory for other in size.classes) else [],
        ),
        name="size-classes",
        caption="Classes of users, as measured",
    )


def _checked(size: SizeByClass) -> Table:
    measured: dict[str, UserClass] = {one.name: one for one in size.classes}
    return Table.of(
        size.checked,
        Col("class", lambda one: one.name),
        Col("users", lambda one: one.users),
        Col("response, model", lambda one: one.response),
        Col("measured", lambda one: measured[one.name].response),
        name="size-checked",
        caption="The model for the users of the log, and what was measured",
        folded=True,
    )


def _caveats(size: SizeByClass) -> Iterator[str]:
    if size.measured.yielding is not None:
        yield background.sentence(size.measured.yielding)
    unknown = [one.name for one in size.classes if one.memory is None]
    if unknown and any(goal.kind == "memory" for goal in size.goals):
        yield f"The memory of class {listed(unknown)} is not in the log: the answer says nothing about it."
    few = [one.name for one in size.classes if one.users < 3]
    if few:
        yield f"Class {listed(few)} has fewer than three users in the log: others may work differently."


def as_json(size: SizeByClass) -> str:
    """Answer for programs; ``users`` is an object with the number of each class.

    ``answer`` has ``users, fits, probability, limit, class``; ``mixes`` the same for the changes; ``more``
    the users of each class that fit; each of ``predictions`` has what that of a log without classes has, and
    ``class``, which is null for quantities of the machine. With `--what-if`, each of ``plans`` has ``plan``,
    and what ``answer``, ``more`` and ``predictions`` have, under that plan; the first is that without.
    ``refuted`` has what was measured of each class with ``users``, those of the log, where the model says
    otherwise, by its ``probability``; ``background`` is that of a log without classes.
    """
    return answer(
        "size",
        {
            "answer": _answer(size.mixes[0]),
            "mixes": [{"change": mix.change} | _answer(mix) for mix in size.mixes[1:]],
            "more": _more_of(size.more),
            "plans": [
                {"plan": plain(plan_words(one.plan))}
                | _answer(one.mix)
                | {"more": _more_of(one.more), "predictions": list(_rows(one.mix))}
                for one in size.plans
            ],
            "predictions": [found for mix in size.mixes for found in _rows(mix)],
            "refuted": list(_refuted(size.mixes[0])),
            "background": record.background(size.measured),
        },
    )


def _refuted(mix: Mixed) -> Iterator[dict[str, Any]]:
    for name, one in () if mix.refuted is None else mix.refuted.by:
        yield {
            **record.seen(one),
            "users": dict(mix.refuted.numbers) if mix.refuted else {},
            "class": name or None,
            "model": {"probability": mix.model_met},
            "agrees": mix.agrees,
        }


def _more_of(more: Sequence[More]) -> list[dict[str, object]]:
    return [
        {
            "class": one.name,
            "users": None if one.users is None else round(one.users.value),
            "low": one.at_least if one.users is None or one.users.low is None else round(one.users.low),
            "high": one.at_most if one.users is None or one.users.high is None else round(one.users.high),
        }
        for one in more
    ]


def _answer(mix: Mixed) -> dict[str, object]:
    return {
        "users": dict(mix.numbers),
        "fits": mix.fits,
        "probability": mix.met,
        "limit": mix.first,
        "class": mix.heaviest,
    }


def _rows(mix: Mixed) -> Iterator[dict[str, Any]]:
    def of(name: str | None, quantity: str, value: Estimate, **more: object) -> dict[str, Any]:
        found = record.row(dict(mix.numbers), quantity, value, "predicted", **more)
        return found | {"class": name}

    for one in mix.classes:
        yield of(one.name, "response_s", one.response)
        yield of(one.name, "p90_response_s", one.p90)
        yield of(one.name, "throughput_per_s", one.throughput)
    yield of(None, record.UTILISATION, mix.utilisation, resource="cpu")
    if mix.memory is not None:
        yield of(None, "memory_suffices", mix.memory)
