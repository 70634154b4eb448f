"""`thinktime simulate`: replications of a simulated system, on all cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from thinktime.cli import completion, messages
from thinktime.cli.destination import SectionForm, width
from thinktime.cli.parameters import MaxEvents, MaxMemory, Threads, limits_of
from thinktime.cli.progress import counted
from thinktime.errors import InputError, InterruptedWorkError

if TYPE_CHECKING:
    from thinktime.documents.document import Section
    from thinktime.sources.simulated import Simulated


System = Annotated[
    str | None,
    typer.Argument(
        metavar="SYSTEM",
        help="Name of a system; see `thinktime systems`. None with --from.",
        autocompletion=completion.systems,
    ),
]
Parameter = Annotated[
    list[str] | None,
    typer.Option(
        "-p",
        "--parameter",
        metavar="NAME=VALUE",
        help="A parameter; repeatable.",
        autocompletion=completion.parameters,
    ),
]


ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE.toml", help="File of parameters; -p takes precedence."),
]
Replications = Annotated[int, typer.Option("--replications", min=1, help="Number of independent runs.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of all random numbers.")]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="LOG", help="Folder of the log; each replication is a session."),
]
Trace = Annotated[bool, typer.Option("--trace", help="Log every interaction and event, not only samples.")]
Resume = Annotated[bool, typer.Option("--resume", help="Add replications to those already in the log.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing log.")]
Form = Annotated[
    SectionForm, typer.Option("--format", help="Format of the results; json and csv are unrounded.")
]
From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="LOG",
        help="Replay the interactions of this log instead of a system.",
        autocompletion=completion.logs,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="NAME",
        help="With --from: round-robin, feedback, sharing, fcfs, priority or shortest.",
        autocompletion=completion.schedulers,
    ),
]
Quantum = Annotated[
    str | None,
    typer.Option("--quantum", metavar="TIME", help="With --from: time slice, such as 10ms; 3ms by default."),
]
Cpus = Annotated[
    int | None, typer.Option("--cpus", min=1, max=1024, help="With --from: CPUs; by default, as recorded.")
]
Users = Annotated[
    int | None,
    typer.Option("--users", min=1, max=100_000, help="With --from: users, who draw recorded interactions."),
]
Resample = Annotated[
    bool, typer.Option("--resample", help="With --from: users draw interactions, not one after the other.")
]
Urgent = Annotated[
    list[str] | None,
    typer.Option(
        "--urgent", metavar="CLASS", help="With --scheduler priority: class that goes first; repeatable."
    ),
]
RecordedCpus = Annotated[
    int | None,
    typer.Option(
        "--recorded-cpus",
        min=1,
        metavar="N",
        help="With --from: CPUs that the recorded users were confined to, such as by taskset.",
    ),
]


def command(
    system: System = None,
    parameter: Parameter = None,
    config: ConfigFile = None,
    replications: Replications = 8,
    seed: Seed = 1,
    output: Output = None,
    trace: Trace = False,
    resume: Resume = False,
    force: Force = False,
    log: From = None,
    scheduler: Scheduler = None,
    quantum: Quantum = None,
    cpus: Cpus = None,
    users: Users = None,
    resample: Resample = False,
    urgent: Urgent = None,
    recorded_cpus: RecordedCpus = None,
    threads: Threads = None,
    max_events: MaxEvents = None,
    max_memory: MaxMemory = "",
    form: Form = "text",
) -> None:
    """Simulate a system in independent replications, and print its responses with confidence intervals.

    Before it begins, the cost is estimated from the parameters: a simulation above --max-events or
    --max-memory is refused, and the message names the parameter that drives the cost.

    With -o the replications become a log, which every analysis reads like that of a real machine. The same
    seed gives the same results, bit for bit; replication r has the same users whatever else differs.

    With --from, the users are those of a log: their interactions with the think times, CPU times and delays
    that were recorded. Printed side by side are what was recorded, the same simulated, which checks the
    simulation, and what another scheduler, other CPUs or more users would have done.

    Examples:

      thinktime simulate apl360 -p users=35 -p scheduler=fb_infinity -p time_slice=0.1 --seed 1 -o run

      thinktime simulate apl360 -p users=35 --replications 8 --resume -o run

      thinktime simulate apl360 -p length=7200 -p warm_up=mser5 --format json

      thinktime simulate network --config queue.toml --trace -o queue; thinktime report queue

      thinktime simulate --from monday --cpus 4

      thinktime simulate --from monday --scheduler feedback --quantum 10ms --users 40
    """
    from thinktime.cli import parameters
    from thinktime.documents.render import render_section

    changes = _Changes(
        scheduler=scheduler,
        quantum=quantum,
        cpus=cpus,
        users=users,
        resample=resample,
        urgent=tuple(urgent or ()),
        recorded_cpus=recorded_cpus,
    )
    how: dict[str, Any] = {"seed": seed, "replications": replications, "threads": threads}
    how["limits"] = limits_of(max_events, max_memory)
    if log is not None:
        of_system = (system, parameter, config, output, trace, resume, force)
        _check_alone(of_system)
        _replay(log, changes, form, **how)
        return
    if needless := changes.given():
        raise InputError(f"{needless[0]}: changes recorded users; name their log with --from")
    if system is None:
        raise InputError(
            "SYSTEM: is missing; give a simulated system (`thinktime systems` lists them), or --from LOG"
        )
    if trace and output is None:
        raise InputError("--trace: the trace needs a log; name its folder with -o")
    given = parameters.in_seconds(system, parameters.read(config, parameter or []))
    extends = _extends(output, resume, force)
    try:
        with counted("simulating", replications) as progress:
            simulated = _simulate(output if extends else None, system, given, progress=progress, **how)
    except InputError as error:
        raise parameters.located(error, system, config, parameter or []) from None
    if output is not None:
        _write(simulated, output, trace, "resume" if extends else "replace" if force else "create")
    messages.rendered(render_section(_section(simulated, output), form, width()))
    if output is not None and form == "text":
        messages.line(f"{output}")


def _check_alone(of_system: Sequence[object]) -> None:
    """Refuse options of a simulated system beside a log."""
    names = ("SYSTEM", "-p", "--config", "-o", "--trace", "--resume", "--force")
    if both := [name for name, value in zip(names, of_system, strict=True) if value]:
        raise InputError(f"{', '.join(both)}: belongs to a simulated system; leave it out, or --from")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Changes:
    """Options that change recorded users."""

    scheduler: str | None
    quantum: str | None
    cpus: int | None
    users: int | None
    resample: bool
    urgent: tuple[str, ...]
    recorded_cpus: int | None

    def given(self) -> list[str]:
        """Names of those that were given."""
        return [f"--{item.name.replace('_', '-')}" for item in fields(self) if getattr(self, item.name)]


def _replay(log: Path, changes: _Changes, form: SectionForm, **how: Any) -> None:
    """Replay the interactions of a log, and print what they got and would have got."""
    from thinktime.documents.render import render_section
    from thinktime.log import Log, border
    from thinktime.predictions.replay import answer, section
    from thinktime.quantity import parse_seconds
    from thinktime.questions.definition import warned

    quantum = changes.quantum
    plan = answer.ReplayPlan(
        scheduler=changes.scheduler or answer.DEFAULT,
        quantum_s=None if quantum is None else parse_seconds(quantum, "--quantum"),
        cpus=changes.cpus,
        users=changes.users,
        resample=changes.resample,
        urgent=changes.urgent,
        confined_to=changes.recorded_cpus,
    )
    opened = Log.open(log)
    changed = border.changes([opened])
    for sentence in changed:
        messages.failure(f"thinktime: {sentence}")
    with counted("simulating", answer.runs(plan, how["replications"])) as progress:
        found = answer.replay(opened, plan=plan, name=str(log), progress=progress, **how)
    messages.rendered(render_section(warned(section.section(found), changed), form, width()))


def _extends(output: Path | None, resume: bool, force: bool) -> bool:
    """True if an existing log is extended; refuses to overwrite one."""
    if resume and output is None:
        raise InputError("--resume: name the log to be extended with -o")
    if output is None or not output.exists():
        return False
    if not resume and not force:
        raise InputError(
            f"{output}: already exists; --resume extends it, --force replaces it, -o chooses another name"
        )
    return resume


def _simulate(log: Path | None, system: str, given: dict[str, Any], **how: Any) -> Simulated:
    """Simulation from the first replication on, or from the one after the last in `log`."""
    from thinktime.sources.simulated import resume, simulate

    return simulate(system, given, **how) if log is None else resume(log, given, system=system, **how)


def _write(
    simulated: Simulated, output: Path, trace: bool, mode: Literal["create", "resume", "replace"]
) -> None:
    """Write the log; a user who interrupts it is told that it is incomplete, and how to go on."""
    try:
        with counted("writing the log", len(simulated.responses)) as progress:
            simulated.record(output, trace=trace, mode=mode, progress=progress)
    except KeyboardInterrupt:
        raise InterruptedWorkError(f"interrupted; {_left(output)}") from None


def _left(output: Path) -> str:
    """Words on what an interrupted simulation leaves."""
    from thinktime.log import Log, LogError

    try:
        log = Log.open(output)
    except LogError:
        return "nothing is kept"
    held, asked = len(log.manifest["sessions"]), log.asked
    if asked is None:
        return f"{output} is complete"
    return (
        f"{output} holds {held} of {asked} replications; the same command with --resume "
        f"--replications {asked - held} adds the rest"
    )


def _section(simulated: Simulated, output: Path | None) -> Section:
    from thinktime.log.runs import Runs, figures
    from thinktime.reports import replications

    if output is None:
        count, estimates = len(simulated.responses), simulated.estimates()
    else:
        runs = Runs.open(output)
        count, estimates = len(runs.responses()), figures(runs)
    run = replications.RunSummary(
        system=simulated.system,
        seed=simulated.seed,
        replications=count,
        length_s=simulated.length_s,
        warm_up_s=simulated.warm_up_s,
        warm_up_settled=simulated.warm_up_settled,
        caveats=simulated.caveats,
        laws=simulated.laws,
    )
    section = replications.section(run, estimates, simulated.descriptions)
    # A log that was extended has more replications than this simulation: the values are then in the log.
    return replace(section, result=simulated.to_dict()) if count == len(simulated.responses) else section
