"""`thinktime size`: how many users fit, what limits them, and what a change would bring."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thinktime.cli import destination, messages
from thinktime.cli.progress import counted
from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.models.sizing import Fit
    from thinktime.predictions.size.answer import Plan
    from thinktime.predictions.size.measured import Measured
    from thinktime.predictions.size.percentiles import Scheduler
    from thinktime.predictions.size.section import Answers

WHAT_IF = "cpus, cpu-speed, disk-speed, memory, think, cpu, rest, user-memory, scheduler and class:NAME"

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
        help=f"Another plan, as a line of a table: cpus=4,memory=64GB. Keys: {WHAT_IF}. Repeatable.",
    ),
]


def command(
    logs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[LOG...]", help="Logs of one machine and one kind of work."),
    ] = None,
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
    what_if: WhatIfs = None,
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
    interactions is answered by what its users use of CPU and memory; figures in a file (--from) serve where
    there is no log.

    Examples:

      thinktime size monday

      thinktime size monday --goal 'p90 response < 2s' --cpus 4 --memory 64GB --users 10..100..10 -o size.html

      thinktime size monday --what-if cpus=4 --what-if cpus=8 --what-if cpu=0.8 --format json

      thinktime size --from site.toml --goal 'p90 response < 2s' -o size.html
    """
    if example_site:
        _example()
        return
    subject = _subject(logs or [], site)
    chosen = form or destination.form_of(output)
    destination.check(output, force, chosen)
    plan = _plan({"cpus": cpus, "memory": memory, "think": think}, demand or ())
    plans = (plan, *(_variant(text, plan) for text in what_if or ()))
    command_ = _command(subject, goal or (), demand or ())
    wanted = _Wanted(
        goals=tuple(goal or ()), users=users, plans=plans, command=command_, width=destination.width(output)
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


def _command(subject: Sequence[str], goals: Sequence[str], demands: Sequence[str]) -> str:
    """Command that was given, without the options that a page varies."""
    given = [word for text in goals for word in ("--goal", text)]
    given += [word for text in demands for word in ("--demand", text)]
    return shlex.join(["thinktime", "size", *subject, *given])


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What the options ask for."""

    goals: tuple[str, ...]
    users: str | None
    plans: tuple[Plan, ...]
    command: str
    width: int
    """Columns of text."""


def _of_logs(paths: list[Path], wanted: _Wanted, form: destination.Form) -> str:
    """Answers of logs: of their interactions, or of what their users use."""
    from thinktime.log import Log, border
    from thinktime.models.sizing import fit
    from thinktime.predictions.size import measured
    from thinktime.stats.estimate import NotApplicable

    asked = _numbers(wanted.users, "--users")
    opened = [Log.open(path) for path in paths]
    changed = border.changes(opened)
    for sentence in changed:
        messages.failure(f"thinktime: {sentence}")
    if not any(log.has("interactions") or not log.has("users") for log in opened):
        return _by_use(opened, wanted, form, changed)
    with border.reading(*opened):
        found = measured.measured(opened, [str(path) for path in paths])
    if isinstance(found, NotApplicable):
        raise InputError(f"{found.reason}; {found.remedy}")
    answers = _answers(found, fit(found.levels(), found.machine), asked, wanted)
    return _rendered(answers, form, changed, wanted.width)


def _by_use(logs: list[Log], wanted: _Wanted, form: destination.Form, changed: tuple[str, ...]) -> str:
    """Answer of a log without interactions, by what its users use."""
    from thinktime.documents.render import render, render_section
    from thinktime.log import border
    from thinktime.predictions.size import by_use, goals, section
    from thinktime.predictions.size.activity import activity
    from thinktime.questions.definition import warned
    from thinktime.stats.estimate import NotApplicable

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
    from thinktime.predictions.size import record, section
    from thinktime.questions.definition import warned

    if form == "json":
        return json.dumps(record.of(answers), indent=2) + "\n"
    if form == "html":
        with counted("computing the positions of the controls") as show:
            page = section.document(answers, show)
        return render(warned(page, changed), form)
    return render_section(warned(section.section(answers), changed), form, width)
