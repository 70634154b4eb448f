"""`thinktime size`: how many users fit, what limits them, and what a change would bring."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thinktime.cli import destination, messages
from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.predictions.size.answer import Plan
    from thinktime.predictions.size.percentiles import Scheduler
    from thinktime.predictions.size.section import Answers

WHAT_IF = "cpus, cpu-speed, disk-speed, memory, think, cpu, rest, user-memory, scheduler and class:NAME"


def command(
    logs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[LOG...]", help="Logs of one machine and one kind of work."),
    ] = None,
    goal: Annotated[
        list[str] | None,
        typer.Option(
            "--goal",
            metavar="GOAL",
            help="Goal to meet: 'p90 response < 2s', 'mean response < 500ms', 'throughput > 5/s', "
            "'utilisation < 80%', 'memory > 95%'. Repeatable. By default, a mean response of at most twice "
            "that of a user alone, and memory that suffices with 95 %.",
        ),
    ] = None,
    users: Annotated[
        str | None,
        typer.Option("--users", metavar="N", help="Numbers of users to predict: 40, 10..100..10, or 20,40."),
    ] = None,
    cpus: Annotated[int | None, typer.Option("--cpus", min=1, help="CPUs of the machine to predict.")] = None,
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="SIZE", help="Its memory, such as 64GB.")
    ] = None,
    think: Annotated[
        str | None, typer.Option("--think", metavar="TIME", help="Mean think time of the users.")
    ] = None,
    demand: Annotated[
        list[str] | None,
        typer.Option(
            "--demand",
            metavar="NAME*FACTOR",
            help="Change of the work of an interaction: cpu*0.8, rest*0.5 or memory*2. Repeatable.",
        ),
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if",
            metavar="CHANGE[,CHANGE..]",
            help=f"Another plan, as a line of a table: cpus=4,memory=64GB. Keys: {WHAT_IF}. Repeatable.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write to FILE; its ending chooses the format."),
    ] = None,
    form: Annotated[
        destination.Form | None,
        typer.Option("--format", help="By the ending of FILE, otherwise text; json and csv are unrounded."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE if it exists.")] = False,
) -> None:
    """Say how many users fit, what limits them, and what one more costs.

    From a log of users whose interactions were recorded, at one number of users or better at several. Work,
    waits, background load and memory are measured; a model of the machine predicts response times, throughput
    and utilisation by number of users, with intervals. Where the log has several numbers of users, the upper
    ones are predicted from the lower ones, and the error is printed. A log with users but without
    interactions is answered by what its users use of CPU and memory.

    Examples:

      thinktime size monday

      thinktime size monday --goal 'p90 response < 2s' --cpus 4 --memory 64GB --users 10..100..10 -o size.html

      thinktime size monday --what-if cpus=4 --what-if cpus=8 --what-if cpu=0.8 --format json
    """
    if not logs:
        raise InputError("no log is given; record users with `thinktime play`, then: thinktime size run")
    chosen = form or destination.form_of(output)
    destination.check(output, force, chosen)
    plan = _plan({"cpus": cpus, "memory": memory, "think": think}, demand or ())
    variants = [_variant(text, plan) for text in what_if or ()]
    opened, changed = _opened(logs)
    if not any(log.has("interactions") or not log.has("users") for log in opened):
        text = _rendered_by_use(opened, goal or (), users, [plan, *variants], (chosen, changed))
        destination.write(output, text)
        return
    question = ["thinktime", "size", *map(str, logs)]
    question += [word for text in goal or () for word in ("--goal", text)]
    question += [word for text in demand or () for word in ("--demand", text)]
    answers = _answers(opened, goal or (), users, [plan, *variants], shlex.join(question))
    destination.write(output, _rendered(answers, chosen, changed))


def _plan(given: dict[str, Any], demand: Any) -> Plan:
    """Plan of the options."""
    pairs = [f"{key}={value}" for key, value in given.items() if value is not None]
    for text in demand:
        name, star, factor = text.partition("*")
        keys = {"cpu": "cpu", "rest": "rest", "memory": "user-memory"}
        if not star or name not in keys:
            raise InputError(
                f"--demand {text}: give cpu*FACTOR, rest*FACTOR or memory*FACTOR, such as cpu*0.8"
            )
        pairs.append(f"{keys[name]}={factor}")
    return _changed(pairs, _unchanged(), "")


def _variant(text: str, plan: Plan) -> Plan:
    return _changed(text.split(","), plan, f"--what-if {text}: ")


def _unchanged() -> Plan:
    from thinktime.predictions.size.answer import Plan

    return Plan()


def _changed(pairs: list[str], plan: Plan, place: str) -> Plan:
    from thinktime.models.prediction import at_least_zero, positive
    from thinktime.predictions.inputs import exact, number, seconds, whole
    from thinktime.quantity import parse_bytes

    factors = {
        "cpu-speed": "cpu_speed",
        "disk-speed": "disk_speed",
        "cpu": "cpu",
        "rest": "rest",
        "user-memory": "memory",
    }
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        item = f"{place}{key}" if place else f"--{key}"
        if not equals or not value:
            raise InputError(f"{place}{pair}: give NAME=VALUE; the names are {WHAT_IF}")
        if key == "cpus":
            plan = replace(plan, cpus=whole(value, item))
        elif key == "memory":
            plan = replace(plan, memory_bytes=positive(item, float(parse_bytes(value, item))))
        elif key == "think":
            plan = replace(plan, think_s=exact(seconds, value, item))
        elif key.startswith("class:"):
            factor = at_least_zero(item, exact(number, value, item))
            plan = replace(plan, mix=(*plan.mix, (key.removeprefix("class:"), factor)))
        elif key == "scheduler":
            plan = replace(plan, scheduler=_scheduler(value, item))
        elif key in factors:
            changed: dict[str, Any] = {factors[key]: positive(item, exact(number, value, item))}
            plan = replace(plan, **changed)
        else:
            raise InputError(f"{place}{key}: is not known; the names are {WHAT_IF}")
    return plan


def _scheduler(text: str, item: str) -> Scheduler:
    """Scheduler of its text: ``sharing``, ``fcfs`` or ``round-robin:10ms``."""
    from thinktime.predictions.inputs import exact, seconds
    from thinktime.predictions.size.percentiles import SHARING, Scheduler

    name, colon, given = text.partition(":")
    if text in ("sharing", "fcfs"):
        return SHARING if text == "sharing" else Scheduler(name="fcfs")
    if name != "round-robin" or not colon or not (slice_s := exact(seconds, given, item)) > 0.0:
        raise InputError(
            f"{item} {text}: give sharing, fcfs, or round-robin with its slice: round-robin:10ms"
        )
    return Scheduler(name="round_robin", slice_s=slice_s)


def _opened(paths: list[Path]) -> tuple[list[Log], tuple[str, ...]]:
    """Logs, and where others changed them."""
    from thinktime.log import Log, border

    opened = [Log.open(path) for path in paths]
    changed = border.changes(opened)
    for sentence in changed:
        messages.note(f"thinktime: {sentence}")
    return opened, changed


def _asked(users: str | None) -> list[int]:
    from thinktime.cli.predict.commands import numbers_of
    from thinktime.predictions.inputs import whole

    return [] if users is None else [whole(value, "--users") for value in numbers_of(users, "--users")]


def _rendered_by_use(
    logs: list[Log],
    texts: Any,
    users: str | None,
    plans: list[Plan],
    how: tuple[destination.Form, tuple[str, ...]],
) -> str:
    """Answer of a log without interactions, by what its users use."""
    from thinktime.documents.render import render, render_section
    from thinktime.log import border
    from thinktime.predictions.size import by_use, goals, section
    from thinktime.predictions.size.activity import activity
    from thinktime.questions.definition import warned
    from thinktime.stats.estimate import NotApplicable

    wanted, asked = goals.read(list(texts)), _asked(users)
    if len(logs) > 1:
        raise InputError(f"{len(logs)} logs without interactions: give one, with all the time in it")
    with border.reading(*logs):
        found = activity(logs[0], str(logs[0].path))
    if isinstance(found, NotApplicable):
        raise InputError(f"{found.reason}; {found.remedy}")
    sizes = [by_use.by_use(found, plan, wanted, asked) for plan in plans]
    names = [section.plan_words(plan) for plan in plans]
    variants = list(zip(names, sizes, strict=True)) if len(sizes) > 1 else []
    form, changed = how
    if form == "json":
        return by_use.as_json(sizes[0], variants)
    if form == "html":
        return render(warned(by_use.document(sizes[0], variants), changed), form)
    return render_section(warned(by_use.section(sizes[0], variants), changed), form)


def _answers(logs: list[Log], texts: Any, users: str | None, plans: list[Plan], command: str) -> Answers:
    """Answers for every plan."""
    from thinktime.log import border
    from thinktime.models.sizing import fit
    from thinktime.predictions.size import goals, measured, mix, section
    from thinktime.predictions.size.answer import size
    from thinktime.predictions.size.own_error import own_error
    from thinktime.stats.estimate import NotApplicable

    wanted, asked = goals.read(list(texts)), _asked(users)
    with border.reading(*logs):
        found = measured.measured(logs, [str(log.path) for log in logs])
    if isinstance(found, NotApplicable):
        raise InputError(f"{found.reason}; {found.remedy}")
    fitted = fit(found.levels(), found.machine)
    plans = [mix.resolved(plan, found) for plan in plans]
    return section.Answers(
        measured=found,
        fitted=fitted,
        sizes=tuple(size(found, fitted, plan, wanted, asked) for plan in plans),
        names=tuple(section.plan_words(plan) for plan in plans),
        checked=own_error(found),
        goals=wanted,
        asked=tuple(asked),
        command=command,
    )


def _rendered(answers: Answers, form: destination.Form, changed: tuple[str, ...]) -> str:
    from thinktime.documents.render import render, render_section
    from thinktime.predictions.size import record, section
    from thinktime.questions.definition import warned

    if form == "json":
        return json.dumps(record.of(answers), indent=2) + "\n"
    if form == "html":
        return render(warned(section.document(answers), changed), form)
    return render_section(warned(section.section(answers), changed), form)
