"""`thinktime play`: interactive users at real terminals, recorded while they play."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict, cast

import typer

from thinktime.cli import completion, messages
from thinktime.cli.destination import SectionForm
from thinktime.errors import InputError, InterruptedWorkError, WorkError
from thinktime.quantity import parse_bytes, parse_seconds

if TYPE_CHECKING:
    from thinktime._native import _Distribution, _Workload
    from thinktime.sources.plans import Plan, ScriptPlan
    from thinktime.sources.scripts import Script
    from thinktime.sources.terminals import Played


Users = Annotated[
    str, typer.Option("--users", metavar="N|A..B|A..B..STEP", help="Number of users; a range rises in steps.")
]
Think = Annotated[
    str | None,
    typer.Option(
        "--think",
        metavar="DISTRIBUTION",
        help="Think time: 2s every time, exponential(mean=2s), uniform(low=1s,high=3s), or another kind. "
        "Without it, that of the script; of a workload, exponential(mean=2s).",
        show_default=False,
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
        help="prototype, mixed or empty; the JSON file of your own workload; a script for a real shell, such "
        "as login-node; or the TOML file of your own script.",
        autocompletion=completion.workloads,
    ),
]

Step = Annotated[str, typer.Option("--step", metavar="TIME", help="Time for each number of users.")]
Ramp = Annotated[
    str, typer.Option("--ramp", metavar="TIME", help="Add the users evenly over TIME, not in steps.")
]
On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="ssh://HOST",
        help="Host on which the users of a script log in, as ssh://[USER@]HOST[:PORT].",
    ),
]
Record = Annotated[
    bool | None,
    typer.Option(
        "--record/--no-record",
        help="Record this machine too, as is the default where the users play on it.",
        show_default=False,
    ),
]
Scratch = Annotated[
    Path | None,
    typer.Option("--scratch", metavar="DIR", help="Folder of the users' scratch files, or of their homes."),
]
Show = Annotated[bool, typer.Option("--show", help="Print the workload or the script as JSON; play nothing.")]
LoginTimeout = Annotated[
    str,
    typer.Option(
        "--login-timeout",
        metavar="TIME",
        help="Longest time from the start of the login of a script's user to the first prompt.",
    ),
]
Accept = Annotated[
    bool,
    typer.Option(
        "--accept-driver-load",
        help="Show response times, and exit with status 0, even if the driver of the play was the load.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print all that the users of a script would type; start nothing.")
]


class _Login(TypedDict):
    """How the users of a script log in."""

    on: str
    timeout_s: float


class _Common(TypedDict):
    """Fields that the plans of a workload and of a script share."""

    users: str
    step_s: float
    ramp_s: float | None
    open_loop: bool
    seed: int
    scratch: Path
    baseline_s: float


def command(
    workload: Workload,
    users: Users = "12",
    step: Step = "20s",
    ramp: Ramp = "",
    think: Think = None,
    on: On = "",
    login_timeout: LoginTimeout = "60s",
    open_loop: Annotated[
        bool, typer.Option("--open-loop", help="Each user types every --think, whatever the system does.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of all random numbers.")] = 1,
    output: Output = Path("run"),
    interval: Annotated[
        str, typer.Option("--interval", metavar="TIME", help="Mean recording interval.")
    ] = "0.5s",
    record: Record = None,
    burst: Burst = None,
    array: Annotated[
        str, typer.Option("--array", metavar="SIZE", help="Resident array of each process, such as 64MB.")
    ] = "",
    scratch: Scratch = None,
    baseline: Baseline = "4s",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing log.")] = False,
    form: Annotated[SectionForm, typer.Option("--format", help="Format of the results.")] = "text",
    accept_driver_load: Accept = False,
    show: Show = False,
    dry_run: DryRun = False,
) -> None:
    """Play interactive users, each at a terminal: synthetic ones, or those who type a script to a real shell.

    An interaction is a line typed at a prompt and all the work it requests, up to the next prompt. Each
    interaction becomes a row of the log's table `interactions`. The machine's counters are recorded in the
    same log, with each user's session as a user. Ctrl-C ends the play and keeps the log. If the driver itself
    was the load, response times are not shown, and the exit status is 1.

    Examples:

      thinktime play prototype --users 1..12 --step 20s

      thinktime play mixed --users 10..40..10 --step 30s --think "exponential(mean=1s)" -o evening

      thinktime play prototype --show > mine.json; thinktime play mine.json --users 4

      thinktime play login-node --users 1..20 --dry-run

      thinktime play login-node --users 1..20 --step 2m -o shells

      thinktime play login-node --users 8 --on ssh://tester@server -o remote
    """
    chosen = _chosen(workload, burst, array)
    if show:
        from thinktime.documents.render.json import dumped

        messages.rendered(dumped(chosen if isinstance(chosen, dict) else chosen.table))
        return
    common: _Common = {
        "users": users,
        "step_s": parse_seconds(step, "--step"),
        "ramp_s": parse_seconds(ramp, "--ramp") if ramp else None,
        "open_loop": open_loop,
        "seed": seed,
        "scratch": scratch or Path(tempfile.gettempdir()),
        "baseline_s": parse_seconds(baseline, "--baseline"),
    }
    login = parse_seconds(login_timeout, "--login-timeout")
    plan = _plan(workload, chosen, common, _Login(on=on, timeout_s=login), think, dry_run)
    if dry_run:
        _print_lines(cast("ScriptPlan", plan), form)
        return
    # What the users do elsewhere is not in the counters of this machine.
    records = not on if record is None else record
    interval_s = parse_seconds(interval, "--interval") if records else None
    plan.playable()
    if output.exists() and not force:
        raise InputError(
            f"{output}: already exists; use --force to replace a log, or -o to choose another name"
        )
    played, status = _play(plan, output, force, interval_s, accept_driver_load)
    _print(played, output, form)
    refused = _print_doubts(played, accept_driver_load)
    if status or refused:
        raise SystemExit(status or 1)


def _chosen(name: str, burst: int | None, array: str) -> Script | _Workload:
    """Script of a name or a TOML file, or workload of a name or a JSON file."""
    from thinktime.sources.scripts import builtin, read

    if not name.endswith(".toml") and name not in builtin():
        return _workload(name, burst, array)
    if burst is not None or array:
        raise InputError(f"{name}: is a script; omit --burst and --array, which set the work of a workload")
    return read(name)


def _plan(
    name: str,
    chosen: Script | _Workload,
    common: _Common,
    login: _Login,
    think: str | None,
    dry_run: bool,
) -> Plan | ScriptPlan:
    from thinktime.sources.plans import Plan, ScriptPlan
    from thinktime.sources.scripts import Script

    if isinstance(chosen, Script):
        return ScriptPlan(
            script=chosen,
            think=_think(think) if think else None,
            on=login["on"] or None,
            login_timeout_s=login["timeout_s"],
            **common,
        )
    if login["on"] or dry_run:
        option = f"--on {login['on']}" if login["on"] else "--dry-run"
        raise InputError(f"{option}: {name} is no script; `thinktime scripts` lists those there are")
    return Plan(workload=chosen, think=_think(think or "exponential(mean=2s)"), **common)


def _print_lines(plan: ScriptPlan, form: SectionForm) -> None:
    """Print what each user types in one pass of the script, with the times if every reply came at once."""
    most = max(step["users"] for step in plan.schedule()["steps"])
    if form == "json":
        of_users = [{"user": user, "lines": plan.lines(user)} for user in range(1, most + 1)]
        messages.as_json("lines", {"script": plan.script.name, "on": plan.on, "users": of_users})
        return
    if form == "csv":
        raise InputError("--format csv: --dry-run shows lines; give text or json")
    terminal = plan.script.table.get("terminal")
    if terminal is not None:
        files = ", ".join(file["path"] for file in terminal["file"]) or "no files"
        needs = ", ".join((terminal["shell"], *terminal["needs"]))
        messages.line(
            f"Each user logs in to {terminal['shell']} on {plan.on or 'this machine'}, with a home of its "
            f"own ({files}) that is removed afterwards; needed: {needs}."
        )
    messages.line(
        "Times are those since the login if every reply came at once; the script is repeated to the end."
    )
    messages.line(f"{'user':>6} {'at':>10}   {'waits for':<24} types")
    for user in range(1, most + 1):
        at_s = 0.0
        for line in plan.lines(user):
            at_s += line["think_s"]
            messages.line(f"{user:>6} {at_s:>8.2f} s   {line['until']:<24} {line['types']}")


def _workload(name: str, burst_ms: int | None, array: str) -> _Workload:
    from thinktime.sources.plans import compute_loop, read_workload, workload

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


def _play(
    plan: Plan | ScriptPlan, output: Path, force: bool, interval_s: float | None, accept_driver_load: bool
) -> tuple[Played, int]:
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
            played = play(
                output,
                plan,
                mode=mode,
                interval_s=interval_s,
                on_stage=on_stage,
                accept_driver_load=accept_driver_load,
            )
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
        + (f", {outcome['without_wait']} without waiting" if outcome["without_wait"] else "")
        + (f", {outcome['timed_out']} timed out" if outcome["timed_out"] else "")
        + (f", {outcome['lost']} users lost" if outcome["lost"] else "")
        + f"; the driver took {100 * share:.1f} % of a CPU"
    )
    if not (outcome["completed"] or outcome["unfinished"] or outcome["without_wait"]):
        messages.failure(
            "thinktime: nobody typed anything: the play was over before the first think time; play longer "
            "(--step), or let users think less (--think)"
        )
    _print_floor(played)
    asked, started = played.users_asked, played.users_started
    late = ": a step must last until its users are there; give a longer --step" if started < asked else ""
    messages.line(f"{crowd_words(asked, started, played.users_active)}{late}")
    if outcome["stopped"]:
        messages.failure("thinktime: stopped before the end; the log holds the part played")
    messages.line(f"{output}")


def _print_floor(played: Played) -> None:
    if played.floor is None:
        return
    floor = played.floor["response_s"]
    low, median, high = (format(1000 * (floor[name] or 0.0), ".3f") for name in ("low", "median", "high"))
    messages.line(
        f"floor of the instrument: {median} ms ({low} to {high}, n = {floor['n']}), before the play"
    )


def _print_doubts(played: Played, accept_driver_load: bool) -> bool:
    """Print what makes response times other than those of the system; true if they are no result at all."""
    unexpected = played.outcome["unexpected_prompts"]
    if unexpected:
        messages.failure(
            f"thinktime: {unexpected} prompts came that no line was waiting for: lines were typed while "
            "an earlier one still ran, so that response times are of the wrong lines; let the script wait "
            "for the prompt, or think longer"
        )
    if played.driver_problem is None:
        return False
    withheld = (
        "these response times are not those of the system"
        if accept_driver_load
        else "response times are not shown, since they are not those of the system; the log has them, and "
        "--accept-driver-load shows them"
    )
    messages.failure(
        f"thinktime: the driver was the load: {played.driver_problem}; {withheld}: play fewer users, let "
        "them think longer, or use --on from another machine"
    )
    return not accept_driver_load
