"""`thinktime lab swap`: the experiment of Brachman 1983 on this machine."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thinktime.cli import messages
from thinktime.errors import InputError, InterruptedWorkError, WorkError
from thinktime.quantity import parse_bytes, parse_seconds

if TYPE_CHECKING:
    from thinktime.log.runs import Runs
    from thinktime.sources.swapping.design import Design
    from thinktime.sources.swapping.ground import Wanted

FOLDER = Path("swapping")
"""Folder of the logs, unless another is named."""
SCRATCH = Path("/var/tmp")
"""Folder of the file behind the swap device: on a disk on most machines, where /tmp may be in memory."""
SPARE = 2.0
"""Time after which the guardian removes everything, relative to the planned one."""
SPARE_S = 120.0
DEFAULTS = {
    "memory": "10MiB,15MiB,20MiB",
    "processes": "4,8,12",
    "size": "2MiB,4MiB",
    "compute": "12,60",
    "replications": 2,
    "think": "0.1s",
    "speed": 2048,
    "warm_up": "2s",
    "time": "10s",
    "seed": 1,
}
QUICK = {
    "memory": "10MiB",
    "processes": "4,8",
    "size": "2MiB",
    "compute": "12",
    "replications": 1,
    "time": "3s",
}
"""What --quick takes instead."""


def _option(name: str, metavar: str, help_: str) -> typer.models.OptionInfo:
    """Option whose default stands in `DEFAULTS`, so that --resume can refuse it where it is given."""
    option: typer.models.OptionInfo = typer.Option(
        f"--{name.replace('_', '-')}",
        metavar=metavar,
        help=f"{help_}; {DEFAULTS[name]} if it is not given.",
        show_default=False,
    )
    return option


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Options of the design as they were given; None where they were not."""

    memory: str | None
    processes: str | None
    size: str | None
    compute: str | None
    replications: int | None
    think: str | None
    speed: int | None
    warm_up: str | None
    time: str | None
    seed: int | None

    def given(self) -> list[str]:
        """Names of the options that were given."""
        return [f"--{name.replace('_', '-')}" for name in DEFAULTS if getattr(self, name) is not None]

    def design(self, quick: bool) -> Design:
        """Design of a new experiment.

        Raises
        ------
        InputError
            An option is wrong.
        """
        from thinktime.sources.swapping.design import Design

        chosen = {**DEFAULTS, **(QUICK if quick else {})}
        chosen |= {name: getattr(self, name) for name in DEFAULTS if getattr(self, name) is not None}
        design = Design(
            memory_bytes=tuple(parse_bytes(text, "--memory") for text in _listed(chosen["memory"])),
            processes=tuple(_whole(text, "--processes") for text in _listed(chosen["processes"])),
            size_bytes=tuple(parse_bytes(text, "--size") for text in _listed(chosen["size"])),
            burst_ms=tuple(_whole(text, "--compute") for text in _listed(chosen["compute"])),
            replications=int(str(chosen["replications"])),
            seed=int(str(chosen["seed"])),
            think_s=parse_seconds(str(chosen["think"]), "--think"),
            pages_per_s=int(str(chosen["speed"])),
            warm_up_s=parse_seconds(str(chosen["warm_up"]), "--warm-up"),
            measured_s=parse_seconds(str(chosen["time"]), "--time"),
        )
        design.check()
        return design


def _listed(text: object) -> list[str]:
    """Parts of a list, each once."""
    return list(dict.fromkeys(part.strip() for part in str(text).split(",")))


def _whole(text: str, option: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{option}: {text!r} is not a whole number; give a list such as 4,8,12") from None


Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help=f"New folder of the logs; {FOLDER} if it is not given.",
        show_default=False,
    ),
]
Memory = Annotated[str | None, _option("memory", "LIST", "Memory of the control group")]
Processes = Annotated[str | None, _option("processes", "LIST", "Numbers of processes")]
Size = Annotated[str | None, _option("size", "LIST", "Size of the array of each process")]
Compute = Annotated[
    str | None,
    _option(
        "compute", "LIST", "Mean CPU time of a compute loop in ms: 12, 30, 60, 186 or 354, as in the thesis"
    ),
]
Replications = Annotated[int | None, _option("replications", "N", "Runs of each configuration")]
Think = Annotated[str | None, _option("think", "TIME", "Mean pause between two interactions")]
Speed = Annotated[
    int | None, _option("speed", "N", "Pages that the device reads in a second, and as many that it writes")
]
WarmUp = Annotated[
    str | None, _option("warm_up", "TIME", "Time of a run that is left out, after memory was filled")
]
Time = Annotated[str | None, _option("time", "TIME", "Time of a run that is measured")]
Seed = Annotated[int | None, _option("seed", "S", "Seed of all random numbers and of the order")]
Quick = Annotated[
    bool, typer.Option("--quick", help="A trial of half a minute: two configurations, one short run each.")
]
Scratch = Annotated[
    Path, typer.Option("--scratch", metavar="DIR", help="Folder on a disk for the file behind the device.")
]
Resume = Annotated[
    Path | None,
    typer.Option(
        "--resume",
        metavar="DIR",
        help="Go on with the experiment whose logs are in DIR.",
        show_default=False,
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before this machine is changed.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print all that would be made and removed, and change nothing.")
]
Clean = Annotated[
    bool,
    typer.Option("--clean", help="Only remove what an experiment left whose guardian process was killed."),
]


def command(
    output: Output = None,
    memory: Memory = None,
    processes: Processes = None,
    size: Size = None,
    compute: Compute = None,
    replications: Replications = None,
    think: Think = None,
    speed: Speed = None,
    warm_up: WarmUp = None,
    time: Time = None,
    seed: Seed = None,
    quick: Quick = False,
    scratch: Scratch = SCRATCH,
    resume: Resume = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    clean: Clean = False,
) -> None:
    """Let processes swap: the experiment of Brachman 1983 on this machine.

    Prototype processes, each with an array that it touches in every interaction, share a control group
    with too
    little memory for all of them. They swap to a device of their own, of known speed, on which their files
    are too.
    Every combination of memory, number of processes, size and compute time is run, in random order, each
    into a log:
    elapsed time, swap traffic, use and queue of the device. `thinktime study swapping-linux --logs DIR`
    asks how well
    the model of 1983 predicts each combination from the others.

    It needs root, and asks before it changes anything. Nothing of it remains, however it ends: a process
    of its own
    removes device and group. Ctrl-C keeps the runs that are complete.

    Examples:

      thinktime lab swap --dry-run

      sudo thinktime lab swap --quick -o trial

      sudo thinktime lab swap -o swapping

      sudo thinktime lab swap --resume swapping

      sudo thinktime lab swap --memory 64MiB,128MiB --size 8MiB --processes 8,16,24 -o larger
    """
    if clean:
        _clean()
        return
    asked = Asked(
        memory=memory,
        processes=processes,
        size=size,
        compute=compute,
        replications=replications,
        think=think,
        speed=speed,
        warm_up=warm_up,
        time=time,
        seed=seed,
    )
    folder, design = _begun(asked, output, resume, quick)
    _carry_out(folder, design, scratch, resume=resume is not None, yes=yes, dry_run=dry_run)


def _begun(asked: Asked, output: Path | None, resume: Path | None, quick: bool) -> tuple[Path, Design]:
    """Folder and design, of a new experiment or of one to go on with."""
    from thinktime.log.runs import Runs
    from thinktime.sources.swapping.design import Design

    if resume is not None:
        given = [*asked.given(), *(["--quick"] if quick else []), *(["-o"] if output is not None else [])]
        if given:
            raise InputError(f"{given[0]}: was decided when {resume} was begun; omit it with --resume")
        return resume, Design.of(Runs.open(resume))
    folder = FOLDER if output is None else output
    if folder.exists():
        raise InputError(
            f"{folder}: already exists; go on with it by --resume {folder}, or choose another folder with -o"
        )
    return folder, asked.design(quick)


def _carry_out(
    folder: Path, design: Design, scratch: Path, *, resume: bool, yes: bool, dry_run: bool
) -> None:
    from thinktime.log.runs import Runs
    from thinktime.sources.swapping import experiment
    from thinktime.sources.swapping.ground import Wanted, changes, check

    runs = Runs.open(folder) if resume else None
    left_s = design.total_s()
    if runs is not None:
        left = experiment.missing(design, runs)
        left_s = sum(design.seconds(runs.cells[run.cell].levels) for run in left)
        if not left:
            messages.line(f"{folder}: all {len(design.runs())} runs are there")
            return
    wanted = Wanted(
        folder=scratch,
        swap_bytes=design.swap_bytes,
        files_bytes=design.files_bytes,
        bytes_per_s=design.bytes_per_s,
        memory_bytes=max(design.memory_bytes),
        seconds=SPARE * left_s + SPARE_S,
    )
    if dry_run:
        messages.lines(_announced(design, folder, left_s, list(changes(wanted))))
        return
    check(wanted)
    # Whoever is asked must see what for, --quiet or not.
    tell = messages.note if yes else messages.failure
    for text in _announced(design, folder, left_s, list(changes(wanted))):
        tell(text)
    if not yes:
        _ask()
    runs = runs or design.create(folder)
    _run(design, runs, wanted)
    messages.line(f"{len(design.runs())} runs of {len(runs.cells)} configurations")
    messages.line(str(folder))


def _announced(design: Design, folder: Path, left_s: float, made: list[str]) -> list[str]:
    """What will be made and removed, and how long it takes."""
    from thinktime.documents.format import count, duration

    cells = len(design.levels())
    return [
        f"{cells} configurations, {count(design.replications, 'run')} of each, about {duration(left_s)}; "
        f"logs in {folder}",
        "This is made, and removed at the end, however the experiment ends:",
        *(f"- {phrase}" for phrase in made),
        f"Nothing else of this machine is changed. Up to {max(design.processes)} processes run in that "
        "group; no other process may swap meanwhile, or the experiment is disturbed.",
    ]


def _ask() -> None:
    """Go on only if the user says so."""
    if not sys.stdin.isatty():
        raise InputError("this changes the machine, and nobody can be asked here; give --yes")
    if not typer.confirm("Make this, and remove it again?", default=False, err=True):
        raise InputError("nothing was changed")


def _run(design: Design, runs: Runs, wanted: Wanted) -> None:
    from thinktime.cli.progress import StageProgress
    from thinktime.sources.swapping import experiment
    from thinktime.sources.swapping.ground import Ground
    from thinktime.sources.terminals import Interruption

    with Interruption() as interruption:

        def stage(words: str, before_s: float, total_s: float) -> StageProgress:
            return StageProgress(words, interruption, before_s=before_s, total_s=total_s)

        ground = Ground(wanted)
        try:
            with ground:
                experiment.carry_out(design, runs, ground, stage)
        except WorkError as error:
            done = len(design.runs()) - len(experiment.missing(design, runs))
            kept = f"{runs.path} holds {done} of {len(design.runs())} runs"
            again = f"`thinktime lab swap --resume {runs.path}` goes on"
            if interruption.requested:
                raise InterruptedWorkError(f"interrupted; {kept}; {again}", interruption.status) from None
            raise WorkError(f"{error}; {kept}; {again}") from None
        finally:
            for problem in ground.problems:
                messages.failure(f"thinktime: not removed: {problem}; try `thinktime lab swap --clean`")


def _clean() -> None:
    from thinktime.sources.swapping import guardian

    if guardian.left() is None:
        messages.line("nothing is left of an earlier experiment")
        return
    problems = guardian.clean()
    if problems:
        raise WorkError(
            f"not everything could be removed: {'; '.join(problems)}; try again, or restart the machine"
        )
    messages.line("what an earlier experiment had left is removed")
