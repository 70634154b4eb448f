"""`thinktime play`: synthetic interactive users on this machine, recorded while they play."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from thinktime.cli import completion, messages
from thinktime.cli.destination import SectionForm
from thinktime.errors import InputError, InterruptedWorkError, WorkError
from thinktime.quantity import parse_bytes, parse_seconds

if TYPE_CHECKING:
    from thinktime._native import _Distribution, _Workload
    from thinktime.sources.terminals import Plan, Played


Users = Annotated[
    str, typer.Option("--users", metavar="N|A..B|A..B..STEP", help="Number of users; a range rises in steps.")
]
Think = Annotated[
    str,
    typer.Option(
        "--think",
        metavar="DISTRIBUTION",
        help="Think time: 2s every time, exponential(mean=2s), uniform(low=1s,high=3s), or another kind.",
    ),
]
Burst = Annotated[
    int | None,
    typer.Option("--burst", metavar="MS", help="CPU burst of the prototype: 12, 30, 60, 186 or 354."),
]
Baseline = Annotated[
    str, typer.Option("--baseline", metavar="TIME", help="Time to play empty interactions first; 0 for none.")
]
Output = Annotated[Path, typer.Option("-o", "--output", metavar="LOG", help="Folder of the log.")]
Workload = Annotated[
    str,
    typer.Argument(
        metavar="WORKLOAD",
        help="prototype, mixed or empty; or the JSON file of your own workload.",
        autocompletion=completion.workloads,
    ),
]


def command(
    workload: Workload,
    users: Users = "12",
    step: Annotated[
        str, typer.Option("--step", metavar="TIME", help="Time for each number of users.")
    ] = "20s",
    ramp: Annotated[
        str, typer.Option("--ramp", metavar="TIME", help="Add the users evenly over TIME, not in steps.")
    ] = "",
    think: Think = "exponential(mean=2s)",
    open_loop: Annotated[
        bool, typer.Option("--open-loop", help="Each user types every --think, whatever the system does.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of all random numbers.")] = 1,
    output: Output = Path("run"),
    interval: Annotated[
        str, typer.Option("--interval", metavar="TIME", help="Mean recording interval.")
    ] = "0.5s",
    record: Annotated[bool, typer.Option("--record/--no-record", help="Record this machine too.")] = True,
    burst: Burst = None,
    array: Annotated[
        str, typer.Option("--array", metavar="SIZE", help="Resident array of each process, such as 64MB.")
    ] = "",
    scratch: Annotated[
        Path | None, typer.Option("--scratch", metavar="DIR", help="Folder of the users' scratch files.")
    ] = None,
    baseline: Baseline = "4s",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing log.")] = False,
    form: Annotated[SectionForm, typer.Option("--format", help="Format of the results.")] = "text",
    show: Annotated[bool, typer.Option("--show", help="Print the workload as JSON; play nothing.")] = False,
) -> None:
    """Play synthetic interactive users on this machine, each a process on its own terminal.

    An interaction is a line typed at a prompt and all the work it requests, up to the next prompt. Each
    interaction becomes a row of the log's table `interactions`. The machine's counters are recorded in the
    same log, with each user's session as a user. Ctrl-C ends the play and keeps the log.

    Examples:

      thinktime play prototype --users 1..12 --step 20s

      thinktime play mixed --users 10..40..10 --step 30s --think "exponential(mean=1s)" -o evening

      thinktime play prototype --show > mine.json; thinktime play mine.json --users 4
    """
    chosen = _workload(workload, burst, array)
    if show:
        from thinktime.documents.render.json import dumped

        messages.rendered(dumped(chosen))
        return
    from thinktime.sources.terminals import Plan

    plan = Plan(
        workload=chosen,
        users=users,
        step_s=parse_seconds(step, "--step"),
        ramp_s=parse_seconds(ramp, "--ramp") if ramp else None,
        think=_think(think),
        open_loop=open_loop,
        seed=seed,
        scratch=scratch or Path(tempfile.gettempdir()),
        baseline_s=parse_seconds(baseline, "--baseline"),
    )
    interval_s = parse_seconds(interval, "--interval") if record else None
    plan.playable()
    if output.exists() and not force:
        raise InputError(
            f"{output}: already exists; use --force to replace a log, or -o to choose another name"
        )
    played, status = _play(plan, output, force, interval_s)
    _print(played, output, form)
    if status:
        raise SystemExit(status)


def _workload(name: str, burst_ms: int | None, array: str) -> _Workload:
    from thinktime.sources.terminals import compute_loop, read_workload, workload

    is_file = name.endswith(".json") or "/" in name
    chosen = read_workload(Path(name)) if is_file else workload(name)
    if burst_ms is not None:
        if len(chosen["classes"]) != 1:
            raise InputError(f"--burst {burst_ms}: {name} has several classes; edit them with --show instead")
        chosen["classes"][0]["compute_iterations"] = compute_loop(burst_ms)
    if array:
        chosen["array_bytes"] = parse_bytes(array, "--array")
    return chosen


def _think(text: str) -> _Distribution:
    from thinktime._native import parse_distribution

    if text.strip().replace(".", "", 1).isdecimal() and float(text) > 0.0:
        # A number alone is refused with the units that there are, as in every option that takes a time.
        parse_seconds(text, "--think")
    try:
        return parse_distribution(text)
    except ValueError as error:
        raise InputError(f"--think {error}") from None


def _play(plan: Plan, output: Path, force: bool, interval_s: float | None) -> tuple[Played, int]:
    """Result, and the status of the signal that ended the play; 0 for none."""
    from thinktime.cli.progress import StageProgress
    from thinktime.sources.terminals import Interruption, play

    reached: list[str] = []
    with Interruption() as interruption:

        def on_stage(stage: str) -> StageProgress:
            reached.append(stage)
            return StageProgress(stage, interruption)

        mode: Literal["create", "replace"] = "replace" if force else "create"
        try:
            played = play(output, plan, mode=mode, interval_s=interval_s, on_stage=on_stage)
        except WorkError as error:
            # In the first stage there is no log yet.
            if not interruption.requested or len(reached) > 1:
                raise
            raise InterruptedWorkError(f"{error}; nothing is kept", interruption.status) from None
    return played, interruption.status


def _print(played: Played, output: Path, form: SectionForm) -> None:
    if form == "json":
        messages.as_json("play", played.to_dict())
        return
    typed = played.users_typed
    if form == "csv":
        columns = (*(tuple(played.steps[0]) if played.steps else ("users", "n")), "typed")
        rows = [
            ",".join(
                "" if cell is None else str(cell) for cell in (*row.values(), typed.get(row["users"], 0))
            )
            for row in played.steps
        ]
        messages.lines([",".join(columns), *rows])
        return
    messages.line(
        f"{'asked':>6} {'typed':>6} {'done':>7} {'mean':>9} {'median':>9} {'p95':>9} {'CPU':>9}"
        "   response and CPU, ms"
    )
    for row in played.steps:
        times = (
            row[name] for name in ("response_mean_s", "response_median_s", "response_p95_s", "service_mean_s")
        )
        cells = "".join(f" {'-' if t is None else format(1000 * t, '.2f'):>9}" for t in times)
        messages.line(f"{row['users']:>6} {typed.get(row['users'], 0):>6} {row['n']:>7}{cells}")
    from thinktime.documents.wording import crowd_words

    outcome = played.outcome
    share = outcome["driver_cpu_s"] / max(outcome["elapsed_s"], 1e-9)
    messages.line(
        f"{outcome['completed']} interactions, {outcome['unfinished']} unfinished"
        + (f", {outcome['dropped']} dropped, {outcome['late']} late" if played.open_loop else "")
        + (f", {outcome['lost']} users lost" if outcome["lost"] else "")
        + f"; the driver took {100 * share:.1f} % of a CPU"
    )
    asked, started = played.users_asked, played.users_started
    late = ": a step must last until its users are there; give a longer --step" if started < asked else ""
    messages.line(f"{crowd_words(asked, started, played.users_active)}{late}")
    if outcome["stopped"]:
        messages.failure("thinktime: stopped before the end; the log holds the part played")
    messages.line(f"{output}")
