"""`thinktime record`: this machine, and its users, into a log."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from thinktime.errors import InputError
from thinktime.quantity import parse_bytes, parse_seconds

__all__ = ["command"]


def command(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="LOG", help="Folder of the log.")] = Path(
        "run"
    ),
    interval: Annotated[
        str,
        typer.Option("-i", "--interval", metavar="TIME", help="Mean time between samples, at least 0.1s."),
    ] = "5s",
    duration: Annotated[
        str, typer.Option("-d", "--duration", metavar="TIME", help="End by itself after TIME.")
    ] = "",
    by: Annotated[
        Literal["uid", "session", "cgroup", "none"],
        typer.Option("--by", help="By what users are told apart: each terminal has its own session."),
    ] = "uid",
    method: Annotated[
        Literal["auto", "procfs", "taskstats"],
        typer.Option("--method", help="How per-process figures are read; auto measures which costs less."),
    ] = "auto",
    jitter: Annotated[
        float,
        typer.Option(
            "--jitter", min=0.0, max=0.45, help="Move each sample by up to this share of the interval."
        ),
    ] = 0.1,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Of the random numbers that move the samples.")
    ] = 0,
    keep_bytes: Annotated[
        str,
        typer.Option("--keep-bytes", metavar="SIZE", help="Remove the oldest parts beyond SIZE, as in 2GB."),
    ] = "",
    keep_days: Annotated[
        float | None, typer.Option("--keep-days", metavar="DAYS", help="Remove parts older than DAYS.")
    ] = None,
    go_on: Annotated[bool, typer.Option("--continue", help="Go on in a log that is there.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a log that is there.")] = False,
    form: Annotated[
        Literal["text", "json"], typer.Option("--format", help="How the end is reported.")
    ] = "text",
    root: Annotated[
        Path,
        typer.Option(
            "--root", metavar="DIR", help="Record the tree below DIR, not this machine's.", hidden=True
        ),
    ] = Path("/"),
) -> None:
    """Record this machine into a log: its counters, and what each of its users uses.

    Ctrl-C or SIGTERM ends it within a second with everything in the log; SIGHUP starts a new part of the
    log. A recorder that is killed loses at most the sample it is writing. Works without privileges; what
    root would add, and what this kernel does not measure, says `thinktime doctor`.

    Examples:

      thinktime record -o run --duration 10m

      thinktime record -o run --interval 1s --by session

      thinktime record -o /var/lib/thinktime/log --continue --keep-days 30 --keep-bytes 2GB
    """
    from thinktime.sources.linux import RecordOptions, record

    if go_on and force:
        raise InputError("--continue --force: one goes on in a log, the other replaces it; give one of them")
    options = RecordOptions(
        interval_s=parse_seconds(interval, "--interval"),
        duration_s=parse_seconds(duration, "--duration") if duration else None,
        jitter=jitter,
        seed=seed,
        by=by,
        method=method,
        root=str(root),
        keep_bytes=parse_bytes(keep_bytes, "--keep-bytes") if keep_bytes else None,
        keep_days=keep_days,
    )
    shows = sys.stderr.isatty()
    mode: Literal["create", "continue", "replace"] = "continue" if go_on else "replace" if force else "create"
    summary = record(output, options, mode, _show if shows else None)
    if shows:
        print(file=sys.stderr)
    typer.echo(
        json.dumps({"log": str(output)} | summary, indent=2) if form == "json" else _text(summary, output)
    )


def _show(progress: dict[str, Any]) -> None:
    busy = "-" if progress["busy"] is None else f"{100 * progress['busy']:.0f} %"
    users = "-" if progress["active_users"] is None else str(progress["active_users"])
    line = (
        f"\r{progress['samples']} samples, {progress['elapsed_s']:.0f} s, busy {busy}, active users {users}, "
        f"{progress['written_bytes'] / 1000:.0f} kB written\x1b[K"
    )
    # A terminal that has gone is no reason to stop recording.
    with contextlib.suppress(OSError):
        print(line, end="", file=sys.stderr, flush=True)


def _text(summary: dict[str, Any], output: Path) -> str:
    facts = summary["facts"]
    lines = [f"{summary['samples']} samples, {facts['recorded_s']:.1f} s recorded"]
    cost = facts["cost"]["cpu_per_sample"]
    if cost is not None:
        lines.append(
            f"a sample took {1000 * cost['mean_s']:.2f} ms of CPU time ({facts['processes']['method']})"
        )
    if summary["missed_deadlines"]:
        lines.append(f"{summary['missed_deadlines']} samples were missed: the one before took too long")
    if summary["dropped_intervals"]:
        lines.append(f"{summary['dropped_intervals']} intervals were dropped; `thinktime check` says why")
    busy = facts["busy"]
    if busy is not None and busy["disagree"]:
        lines.append(
            f"the kernel's tick shows {busy['sampled_s']:.2f} s of CPU time, exact are "
            f"{busy['exact_s']:.2f} s: the load is in step with the tick; believe the exact figure"
        )
    if facts["missing"]:
        lines.append(f"not to be had here: {', '.join(sorted(facts['missing']))}; see `thinktime doctor`")
    return "\n".join([*lines, str(output)])
