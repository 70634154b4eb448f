"""`thinktime size`: how many users fit, what limits them, and what a change would bring."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thinktime.cli import completion, destination, messages
from thinktime.cli.progress import counted
from thinktime.errors import InputError, offered

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.models.sizing import Fit
    from thinktime.predictions.size.answer import ClassPlan, Plan
    from thinktime.predictions.size.measured import Measured
    from thinktime.predictions.size.percentiles import Scheduler
    from thinktime.predictions.size.section import Answers

WHAT_IF = (
    "cpus",
    "cpu-speed",
    "disk-speed",
    "memory",
    "swap-speed",
    "think",
    "cpu",
    "rest",
    "user-memory",
    "scheduler",
    "class:NAME",
)
"""Names in a plan."""
MEMORY_LEAST = 1e6
"""Bytes of memory below which a machine is a slip of the pen."""
OF_A_CLASS = ("users", "think", "cpu", "rest", "user-memory")
"""Names in a plan that take a class of users: ``users:batch=4``."""

Logs = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[LOG...]",
        help="Logs of one machine and one kind of work.",
        autocompletion=completion.logs,
    ),
]
Goals = Annotated[
    list[str] | None,
    typer.Option(
        "--goal",
        metavar="GOAL",
        help="Goal to meet: 'p90 response < 2s', 'mean response < 500ms', 'throughput > 5/s', "
        "'utilisation < 80%', 'memory > 95%'. Repeatable. By default, a mean response of at most twice "
        "that of a user alone, and memory that suffices with 95 %.",
    ),
]
WhatIfs = Annotated[
    list[str] | None,
    typer.Option(
        "--what-if",
        metavar="CHANGE[,CHANGE..]",
        help="Another plan, as a line of a table: cpus=4,memory=64GB. "
        f"Keys: {', '.join(WHAT_IF)}; by class of users also {', '.join(OF_A_CLASS)} with :NAME, such as "
        "users:batch=4. Repeatable.",
    ),
]

Users = Annotated[
    str | None,
    typer.Option(
        "--users",
        metavar="N",
        help="Numbers of users to predict: 40, 10..100..10, or 20,40; by class: notebook=20,batch=3.",
    ),
]
Classes = Annotated[
    list[str] | None,
    typer.Option(
        "--class",
        metavar="NAME=USER[,USER..]",
        help="Class of users: keys, names or kinds of work, with * and ?. Repeatable. By default, a "
        "class is the users who mostly run the same.",
    ),
]

SwapSpeed = Annotated[
    str | None,
    typer.Option(
        "--swap-speed",
        metavar="SIZE",
        help="Bytes per second that its swap device writes or reads, such as 200MB, for responses with more "
        "users than memory has room for.",
    ),
]


def command(
    logs: Logs = None,
    site: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Figures in a TOML file instead of a log, for a machine that is not there yet.",
        ),
    ] = None,
    example_site: Annotated[
        bool, typer.Option("--example-site", help="Print such a file with comments, and exit.")
    ] = False,
    goal: Goals = None,
    users: Users = None,
    classes: Classes = None,
    cpus: Annotated[int | None, typer.Option("--cpus", min=1, help="CPUs of the machine to predict.")] = None,
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="SIZE", help="Its memory, such as 64GB.")
    ] = None,
    swap_speed: SwapSpeed = None,
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
    what_if: WhatIfs = None,
    output: destination.AnswerFile = None,
    form: Annotated[
        destination.Form | None,
        typer.Option("--format", help="By the ending of FILE, otherwise text; json and csv are unrounded."),
    ] = None,
    force: destination.AnswerForce = False,
) -> None:
    """Say how many users fit, what limits them, and what one more costs.

    From a log of users whose interactions were recorded, at one number of users or better at several. Work,
    waits, background load and memory are measured; a model of the machine predicts response times, throughput
    and utilisation by number of users, with intervals. Where the log has several numbers of users, the upper
    ones are predicted from the lower ones, and the error is printed. A log with users but without
    interactions is answered by what its users use of CPU and memory; figures in a file (--from) serve where
    there is no log.

    Examples:

      thinktime size monday

      thinktime size monday --goal 'p90 response < 2s' --cpus 4 --memory 64GB --users 10..100..10 -o size.html

      thinktime size monday --what-if cpus=4 --what-if cpus=8 --what-if cpu=0.8 --format json

      thinktime size monday --class batch=uid:1003 --users others=20,batch=3

      thinktime size monday --users notebook=20,batch=3 --what-if class:batch=0 --what-if cpus=4,users:batch=6

      thinktime size --from site.toml --goal 'p90 response < 2s' -o size.html
    """
    if example_site:
        _example()
        return
    subject = _subject(logs or [], site)
    chosen = form or destination.form_of(output)
    destination.check(output, force, chosen)
    plan = _plan({"cpus": cpus, "memory": memory, "swap-speed": swap_speed, "think": think}, demand or ())
    plans = (plan, *(_variant(text, plan) for text in what_if or ()))
    given = [] if swap_speed is None else ["--swap-speed", swap_speed]
    command_ = _command([*subject, *given], goal or (), demand or ())
    wanted = _Wanted(
        goals=tuple(goal or ()),
        users=users,
        classes=tuple(classes or ()),
        by_class=_asks_by_class(users, classes or (), plans),
        plans=plans,
        command=command_,
        width=destination.width(output),
    )
    destination.write(
        output, _of_site(site, wanted, chosen) if site else _of_logs(logs or [], wanted, chosen)
    )


def _example() -> None:
    from thinktime.predictions.size.site import EXAMPLE

    messages.lines(EXAMPLE.splitlines())


def _subject(logs: Sequence[Path], site: Path | None) -> list[str]:
    """Arguments of the command that name where its figures are from."""
    if site is not None and logs:
        raise InputError(f"--from {site}: is given together with {logs[0]}; give a file or logs")
    if not logs and site is None:
        raise InputError(
            "no log is given; record users with `thinktime play`, then: thinktime size run; or give figures "
            "in a file with --from (`thinktime size --example-site > site.toml` writes one to start from)"
        )
    return [*map(str, logs)] if site is None else ["--from", str(site)]


def _asks_by_class(users: str | None, classes: Sequence[str], plans: Sequence[Plan]) -> bool:
    """True if numbers of users are asked for by class."""
    by_class = bool(classes) or (users is not None and "=" in users)
    if not by_class and any(one.own for one in plans):
        raise InputError(
            f"--what-if: {', '.join(OF_A_CLASS)} with :NAME change a class of users; name the classes with "
            "--users NAME=N,.. or --class NAME=USER,.."
        )
    return by_class


def _command(subject: Sequence[str], goals: Sequence[str], demands: Sequence[str]) -> str:
    """Command that was given, without the options that a page varies."""
    given = [word for text in goals for word in ("--goal", text)]
    given += [word for text in demands for word in ("--demand", text)]
    return shlex.join(["thinktime", "size", *subject, *given])


def _memory(item: str, text: str) -> float:
    """Memory of a machine; a number without a unit is one of bytes, which hardly anybody means by 64."""
    from thinktime.models.prediction import positive
    from thinktime.quantity import parse_bytes

    found = positive(item, float(parse_bytes(text, item)))
    if found < MEMORY_LEAST:
        raise InputError(f"{item}: {text} is {found:.0f} bytes; give a unit, such as 64GB")
    return found


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
            raise InputError(f"{place}{pair}: give NAME=VALUE; the names are {', '.join(WHAT_IF)}")
        if key == "cpus":
            plan = replace(plan, cpus=whole(value, item))
        elif key == "memory":
            plan = replace(plan, memory_bytes=_memory(item, value))
        elif key == "swap-speed":
            speed = float(parse_bytes(value.removesuffix("/s"), item))
            plan = replace(plan, swap_speed=positive(item, speed))
        elif key == "think":
            plan = replace(plan, think_s=exact(seconds, value, item))
        elif key.startswith("class:"):
            factor = at_least_zero(item, exact(number, value, item))
            plan = replace(plan, mix=(*plan.mix, (key.removeprefix("class:"), factor)))
        elif key.partition(":")[0] in OF_A_CLASS and ":" in key:
            plan = replace(plan, own=(*plan.own, _of_a_class(key, value, item)))
        elif key == "scheduler":
            plan = replace(plan, scheduler=_scheduler(value, item))
        elif key in factors:
            changed: dict[str, Any] = {factors[key]: positive(item, exact(number, value, item))}
            plan = replace(plan, **changed)
        else:
            raise InputError(f"{place}{key}: is not known; {offered(key, WHAT_IF)}")
    return plan


def _of_a_class(key: str, value: str, item: str) -> ClassPlan:
    """Change of one class of users."""
    from thinktime.models.prediction import positive
    from thinktime.predictions.inputs import exact, number, seconds, whole
    from thinktime.predictions.size.answer import ClassPlan

    quantity, _, name = key.partition(":")
    if quantity == "users":
        return ClassPlan(name=name, users=0 if value == "0" else whole(value, item))
    if quantity == "think":
        return ClassPlan(name=name, think_s=exact(seconds, value, item))
    factor = positive(item, exact(number, value, item))
    if quantity == "cpu":
        return ClassPlan(name=name, cpu=factor)
    return ClassPlan(name=name, rest=factor) if quantity == "rest" else ClassPlan(name=name, memory=factor)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What the options ask for."""

    goals: tuple[str, ...]
    users: str | None
    classes: tuple[str, ...]
    plans: tuple[Plan, ...]
    command: str
    width: int
    """Columns of text."""
    by_class: bool
    """True if numbers of users are asked for by class."""


def _of_logs(paths: list[Path], wanted: _Wanted, form: destination.Form) -> str:
    """Answers of logs: of their interactions, or of what their users use."""
    from thinktime.log import Log, border
    from thinktime.predictions.size.record import measurement

    asked = [] if wanted.by_class else _numbers(wanted.users, "--users")
    opened = [Log.open(path) for path in paths]
    changed = border.changes(opened)
    for sentence in changed:
        messages.failure(f"thinktime: {sentence}")
    if not any(log.has("interactions") or not log.has("users") for log in opened):
        return _by_use(opened, wanted, form, changed)
    found, fitted = measurement(opened, [str(path) for path in paths])
    if wanted.by_class:
        return _by_class(opened, found, fitted, wanted, form)
    return _rendered(_answers(found, fitted, asked, wanted), form, changed, wanted.width)


def _by_class(logs: list[Log], found: Measured, fitted: Fit, wanted: _Wanted, form: destination.Form) -> str:
    """Answer for numbers of users by class."""
    from thinktime.documents.render import render, render_section
    from thinktime.log import border
    from thinktime.predictions.size import goals
    from thinktime.predictions.size.by_class import answer, page, section
    from thinktime.predictions.size.by_class.classes import classes

    (plan, *variants) = wanted.plans
    with border.reading(*logs):
        members = classes(logs, _who(wanted.classes))
    numbers = _by_name(wanted.users) if wanted.users else {one.name: one.users for one in members}
    question = answer.Question(found, fitted, members, plan, goals.read(wanted.goals))
    with counted("predicting", len(variants)) as show:
        size = question.answer(numbers, variants, show)
    if form == "json":
        return section.as_json(size)
    if form == "html":
        given = [word for text in wanted.classes for word in ("--class", text)]
        if plan.memory_bytes is not None and size.mixes[0].memory is None:
            # Without memory in the log it has no control.
            given += ["--memory", f"{plan.memory_bytes:.0f}"]
        command_ = " ".join([wanted.command, shlex.join(given)]).rstrip()
        with counted("computing the positions of the controls") as show:
            made = page.document(question, size, command_, show)
        return render(made, form)
    return render_section(section.section(size), form, wanted.width)


def _who(given: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Patterns of the members of each class."""
    found: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, equals, patterns = text.partition("=")
        members = tuple(part.strip() for part in patterns.split(",") if part.strip())
        if not equals or not name.strip() or not members:
            raise InputError(f"--class {text}: give NAME=USER[,USER..], such as batch=uid:1003,uid:1004")
        if name.strip() in found:
            raise InputError(f"--class {text}: {name.strip()} is given twice; name all of its users in one")
        found[name.strip()] = members
    return found


def _by_name(text: str) -> dict[str, int]:
    """Users by class."""
    from thinktime.predictions.inputs import whole

    found: dict[str, int] = {}
    for pair in text.split(","):
        name, equals, number = (part.strip() for part in pair.partition("="))
        if not equals or not name or name in found:
            raise InputError(
                f"--users {text}: give each class once with its number, such as notebook=20,batch=3"
            )
        found[name] = 0 if number == "0" else whole(number, f"--users {name}")
    return found


def _by_use(logs: list[Log], wanted: _Wanted, form: destination.Form, changed: tuple[str, ...]) -> str:
    """Answer of a log without interactions, by what its users use."""
    from thinktime.documents.render import render, render_section
    from thinktime.log import border
    from thinktime.predictions.size import by_use, goals, section
    from thinktime.predictions.size.activity import activity
    from thinktime.questions.definition import warned
    from thinktime.stats.estimate import NotApplicable

    if wanted.by_class:
        raise InputError(
            f"--class, --users NAME=N: numbers of users by class need interactions: {by_use.INSTEAD}"
        )
    limits, asked = goals.read(wanted.goals), _numbers(wanted.users, "--users")
    if len(logs) > 1:
        raise InputError(f"{len(logs)} logs without interactions: give one, with all the time in it")
    with border.reading(*logs):
        found = activity(logs[0], str(logs[0].path))
    if isinstance(found, NotApplicable):
        raise InputError(f"{found.reason}; {found.remedy}")
    sizes = [by_use.by_use(found, plan, limits, asked) for plan in wanted.plans]
    names = [section.plan_words(plan) for plan in wanted.plans]
    variants = list(zip(names, sizes, strict=True)) if len(sizes) > 1 else []
    if form == "json":
        return by_use.as_json(sizes[0], variants)
    if form == "html":
        return render(warned(by_use.document(sizes[0], variants), changed), form)
    return render_section(warned(by_use.section(sizes[0], variants), changed), form, wanted.width)


def _of_site(path: Path, wanted: _Wanted, form: destination.Form) -> str:
    """Answers of figures that were given."""
    from thinktime.cli.predict.commands import numbers_of
    from thinktime.predictions.size import site

    if wanted.by_class:
        raise InputError("--class, --users NAME=N: a file of figures has one class of users; give a log")
    found = site.read(path, numbers_of)
    asked = _numbers(wanted.users, "--users") or _numbers(
        ",".join(f"{one:g}" for one in found.users) or None, f"{path}: users"
    )
    return _rendered(_answers(found.measured, found.fitted, asked, wanted), form, (), wanted.width)


def _numbers(given: str | None, item: str) -> list[int]:
    from thinktime.cli.predict.commands import numbers_of
    from thinktime.predictions.inputs import whole

    return [] if given is None else [whole(value, item) for value in numbers_of(given, item)]


def _answers(found: Measured, fitted: Fit, asked: list[int], wanted: _Wanted) -> Answers:
    """Answers for every plan."""
    from thinktime.predictions.size import goals, section

    with counted("predicting", len(wanted.plans) + 1) as show:
        return section.Answers.of(
            found,
            fitted,
            plans=wanted.plans,
            goals=goals.read(wanted.goals),
            asked=asked,
            command=wanted.command,
            show=show,
        )


def _rendered(answers: Answers, form: destination.Form, changed: tuple[str, ...], width: int) -> str:
    from thinktime.documents.render import render, render_section
    from thinktime.documents.render.json import answer
    from thinktime.predictions.size import record, section
    from thinktime.questions.definition import warned

    if form == "json":
        return answer("size", record.of(answers))
    if form == "html":
        with counted("computing the positions of the controls") as show:
            page = section.document(answers, show)
        return render(warned(page, changed), form)
    return render_section(warned(section.section(answers), changed), form, width)
