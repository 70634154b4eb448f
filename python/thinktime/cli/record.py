"""`thinktime record`: record this machine and its users into a log."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from thinktime.cli import messages
from thinktime.errors import InputError
from thinktime.quantity import parse_bytes, parse_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thinktime._native import _Progress, _RecordSummary
    from thinktime.log import Mode
    from thinktime.sources.linux import RecordOptions

LONGEST_S = 100 * 365.25 * 86_400
"""Longest duration that is believed [s]."""

Output = Annotated[Path, typer.Option("-o", "--output", metavar="LOG", help="Folder of the log.")]
Interval = Annotated[
    str, typer.Option("-i", "--interval", metavar="TIME", help="Mean time between samples, at least 0.1s.")
]
Duration = Annotated[
    str,
    typer.Option(
        "-d",
        "--duration",
        metavar="TIME",
        help="Stop after TIME; shorter than the interval, it is one sample.",
    ),
]
By = Annotated[
    Literal["uid", "session", "cgroup", "none"],
    typer.Option("--by", help="How to identify users: by uid, login session or cgroup."),
]
Method = Annotated[
    Literal["auto", "procfs", "taskstats", "iterator"],
    typer.Option("--method", help="How to read counters by process; auto measures which costs less."),
]
Commands = Annotated[
    int,
    typer.Option(
        "--commands",
        metavar="N",
        min=0,
        help="Most commands with their own rows in an interval; the others of each user share one.",
    ),
]
Arguments = Annotated[
    bool, typer.Option("--arguments", help="Name commands by their whole line; arguments may be private.")
]
Trace = Annotated[
    bool,
    typer.Option(
        "--trace",
        help="Count in the kernel where the time of tasks goes: slices, waits by kind, requests of disks.",
    ),
]
TraceEvents = Annotated[
    bool,
    typer.Option(
        "--trace-events", help="The same, and write every event: 5 to 20 bytes for each in the log."
    ),
]
TraceAttach = Annotated[
    Literal["auto", "tp_btf", "raw_tracepoint", "tracepoint"],
    typer.Option(
        "--trace-attach",
        help="How to attach the programs of a trace; auto takes the first of these that the kernel permits.",
    ),
]
NoModeSampling = Annotated[
    bool,
    typer.Option(
        "--no-mode-sampling", help="Do not sample the modes of the CPUs, which interrupts each of them."
    ),
]
GaugesEvery = Annotated[
    str,
    typer.Option(
        "--gauges-every",
        metavar="TIME",
        help="Mean time between readings of who is there and of the memory of users and control groups.",
    ),
]
Anonymous = Annotated[
    bool,
    typer.Option(
        "--anonymous", help="Record pseudonyms for names and numbers of users, sessions, terminals."
    ),
]
AnonymousKey = Annotated[
    str,
    typer.Option(
        "--anonymous-key",
        metavar="FILE",
        help="The same with the key in FILE: logs with one key have the same pseudonyms.",
    ),
]
Jitter = Annotated[
    float,
    typer.Option(
        "--jitter", min=0.0, max=0.45, help="Move samples at random by up to this share of the interval."
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the random numbers that move the samples.")]
KeepBytes = Annotated[
    str,
    typer.Option("--keep-bytes", metavar="SIZE", help="Remove the oldest parts beyond SIZE, as in 2GB."),
]
KeepDays = Annotated[
    float | None, typer.Option("--keep-days", metavar="DAYS", help="Remove parts older than DAYS.")
]
Listen = Annotated[
    str,
    typer.Option(
        "--listen",
        metavar="[HOST:]PORT",
        help="Answer scrapes of Prometheus there: 9750 for this machine alone, 0.0.0.0:9750 for everybody.",
    ),
]
TextFile = Annotated[
    str,
    typer.Option(
        "--textfile",
        metavar="FILE",
        help="Write the same totals to FILE.prom for node_exporter's textfile collector.",
    ),
]
Purpose = Annotated[
    Literal["size"] | None,
    typer.Option(
        "--for",
        help="size: record what `thinktime size` needs: every 2s, memory every 10s, sessions where all users "
        "share one account; and say when enough has been seen. Options that are given stay.",
    ),
]
Root = Annotated[
    Path,
    typer.Option(
        "--root", metavar="DIR", help="Record the tree below DIR instead of this machine.", hidden=True
    ),
]


def command(
    context: typer.Context,
    output: Output = Path("run"),
    interval: Interval = "5s",
    duration: Duration = "",
    by: By = "uid",
    method: Method = "auto",
    commands: Commands = 20,
    arguments: Arguments = False,
    trace: Trace = False,
    trace_events: TraceEvents = False,
    trace_attach: TraceAttach = "auto",
    no_mode_sampling: NoModeSampling = False,
    gauges_every: GaugesEvery = "30s",
    anonymous: Anonymous = False,
    anonymous_key: AnonymousKey = "",
    jitter: Jitter = 0.1,
    seed: Seed = 0,
    keep_bytes: KeepBytes = "",
    keep_days: KeepDays = None,
    listen: Listen = "",
    textfile: TextFile = "",
    purpose: Purpose = None,
    resume: Annotated[bool, typer.Option("--resume", help="Append to a log that already exists.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a log that already exists.")] = False,
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="Output format.")] = "text",
    root: Root = Path("/"),
) -> None:
    """Record this machine into a log: its counters, and the resources used by each of its users.

    Ctrl-C or SIGTERM ends the recording within a second, with everything in the log; SIGHUP starts a new
    part of the log. A recorder that is killed loses at most the sample that it is writing. Runs unprivileged.
    `thinktime doctor` lists what this kernel cannot measure and what root would add.

    Examples:

      thinktime record -o run --duration 10m

      thinktime record -o run --interval 1s --by session

      thinktime record -o run --by cgroup --gauges-every 10s

      thinktime record -o run --trace --interval 1s

      thinktime record -o run --for size

      thinktime record -o /var/lib/thinktime/log --resume --keep-days 30 --keep-bytes 2GB

      thinktime record -o monday --listen 9750
    """
    from thinktime.sources.linux import RecordOptions, record

    if resume and force:
        raise InputError("--resume --force: one appends to a log, the other replaces it; give one of them")
    _check(duration, keep_days, jitter)
    options = RecordOptions(
        interval_s=parse_seconds(interval, "--interval"),
        duration_s=parse_seconds(duration, "--duration") if duration else None,
        jitter=jitter,
        seed=seed,
        by=by,
        method=method,
        commands=commands,
        arguments=arguments,
        trace=trace,
        trace_events=trace_events,
        trace_attach=trace_attach,
        mode_sampling=not no_mode_sampling,
        gauges_every_s=parse_seconds(gauges_every, "--gauges-every"),
        anonymous=anonymous,
        anonymous_key=anonymous_key or None,
        root=str(root),
        keep_bytes=parse_bytes(keep_bytes, "--keep-bytes") if keep_bytes else None,
        keep_days=keep_days,
        listen=listen or None,
        textfile=textfile or None,
    )
    if purpose == "size":
        options = _for_size(options, context)
    watch = _Sizing() if purpose == "size" else None
    is_terminal = sys.stderr.isatty()
    on_progress = watch.show if watch else _show if is_terminal else None
    mode: Mode = "resume" if resume else "replace" if force else "create"
    summary = record(output, options, mode, on_progress, _say)
    if is_terminal:
        messages.note("")
    if form == "json":
        messages.as_json("recording", {"log": str(output)} | summary)
    else:
        messages.lines([*_lines(summary, output), *([watch.words] if watch else [])])
    if summary["samples_lost"]:
        raise typer.Exit(1)


def _check(duration: str, keep_days: float | None, jitter: float) -> None:
    """Refuse what no recording can have."""
    if duration and parse_seconds(duration, "--duration") > LONGEST_S:
        raise InputError(f"--duration {duration}: is longer than 100 years; omit it to record until Ctrl-C")
    if keep_days is not None and not 0.0 < keep_days < math.inf:
        raise InputError(f"--keep-days {keep_days:g}: give a number of days above 0")
    if math.isnan(jitter):
        # A range of Typer's has it.
        raise InputError("--jitter nan: give a number from 0 to 0.45")


def _for_size(options: RecordOptions, context: typer.Context) -> RecordOptions:
    """Options for a prediction of the number of users, where none was given."""

    def given(name: str) -> bool:
        source = context.get_parameter_source(name)
        return source is not None and source.name != "DEFAULT"

    chosen: dict[str, Any] = {}
    if not given("interval"):
        chosen["interval_s"] = 2.0
    if not given("gauges_every"):
        chosen["gauges_every_s"] = 10.0
    if not given("by"):
        chosen["by"] = "session" if _accounts() == 1 else "uid"
    return replace(options, **chosen)


def _accounts() -> int:
    """Accounts of people who have a process."""
    from thinktime.log.users import is_person

    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        # A process may have ended in between.
        with contextlib.suppress(OSError):
            found.add(process.stat().st_uid)
    return sum(is_person(f"uid:{uid}") for uid in found)


class _Sizing:
    """Progress of a recording for a prediction."""

    def __init__(self) -> None:
        from thinktime.predictions.size.enough import Watch

        self._watch = Watch(cpus=os.cpu_count() or 1)

    def show(self, progress: _Progress) -> None:
        """Count a sample; show it on a terminal, and say once when enough has been seen."""
        enough = self._watch.add(progress["busy"], progress["active_users"], progress["elapsed_s"])
        if sys.stderr.isatty():
            messages.status(f"{progress['samples']} samples, {progress['elapsed_s']:.0f} s; {self.words}")
        if enough:
            _say(f"{self.words}; `thinktime size` can answer")

    @property
    def words(self) -> str:
        """What has been seen."""
        return self._watch.words


def _show(progress: _Progress) -> None:
    busy = "-" if progress["busy"] is None else f"{100 * progress['busy']:.0f} %"
    users = "-" if progress["active_users"] is None else str(progress["active_users"])
    messages.status(
        f"{progress['samples']} samples, {progress['elapsed_s']:.0f} s, busy {busy}, active users {users}, "
        f"{progress['written_bytes'] / 1000:.0f} kB written"
    )


def _say(notice: str) -> None:
    # A closed terminal is no reason to stop recording.
    with contextlib.suppress(OSError):
        if sys.stderr.isatty():
            # A line of progress stands there without its end.
            messages.status("")
        messages.failure(f"thinktime record: {notice}")


def _lines(summary: _RecordSummary, output: Path) -> list[str]:
    facts = summary["facts"]
    taken = summary["samples_taken"]
    lines = [
        f"{taken} {'sample' if taken == 1 else 'samples'} taken: {summary['samples']} in the log, "
        f"{summary['samples_lost']} lost",
        f"{facts['recorded_s']:.1f} s recorded",
    ]
    cost = facts["cost"]["cpu_per_sample"]
    if cost is not None:
        lines.append(
            f"a sample took {1000 * cost['mean_s']:.2f} ms of CPU time ({facts['processes']['method']})"
        )
    if summary["missed_deadlines"]:
        lines.append(_missed(summary))
    if summary["dropped_intervals"]:
        dropped = summary["dropped_intervals"]
        were = "interval was" if dropped == 1 else "intervals were"
        lines.append(f"{dropped} {were} dropped; see incidents in the manifest")
    events = facts.get("trace", {}).get("events")
    if events is not None:
        lines.append(f"{events} events in the log, {facts['trace']['events_lost']} lost")
    busy = facts["busy"]
    if busy is not None and busy["disagree"]:
        lines.append(
            f"CPU time sampled at the tick is {busy['sampled_s']:.2f} s, exact CPU time is "
            f"{busy['exact_s']:.2f} s: the load is in step with the tick; use the exact time"
        )
    absent = [name for name, why in facts["missing"].items() if not _refused(why)]
    if absent:
        lines.append(f"not available on this machine: {', '.join(sorted(absent))}; see `thinktime doctor`")
    if hidden := _hidden(facts, root=os.geteuid() == 0):
        lines.append(f"not permitted: {', '.join(hidden)}; record as root, or see `thinktime doctor`")
    return [*lines, str(output)]


def _refused(why: str) -> bool:
    return "not permitted" in why


def _hidden(facts: Mapping[str, Any], *, root: bool) -> list[str]:
    """What this user may not read, and root may, in words."""
    processes, memory = facts.get("processes") or {}, (facts.get("people") or {}).get("memory") or {}
    hidden = sorted(name for name, why in facts["missing"].items() if _refused(why))
    if _refused(str(processes.get("exits") or "")):
        hidden.append("whose processes end between two samples")
    # Of some, such as threads of the kernel, not even root reads the memory.
    if memory.get("not_permitted") and not root:
        hidden.append("what others' processes read and write, and their share of memory")
    return hidden


MISSED = {
    "stopped": "while the recorder was stopped",
    "starved": "while it waited for a CPU",
    "working": "while it worked on the sample before",
    "blocked": "while reading or writing the sample before was held up",
}
"""Words for the causes of missed deadlines."""


def _missed(summary: _RecordSummary) -> str:
    missed, causes = summary["missed_deadlines"], summary["facts"]["missed_causes"]
    deadlines = "deadline was" if missed == 1 else "deadlines were"
    if len(causes) == 1:
        return f"{missed} {deadlines} missed {MISSED[next(iter(causes))]}"
    parts = ", ".join(f"{count} {MISSED[name]}" for name, count in causes.items())
    return f"{missed} {deadlines} missed: {parts}"
