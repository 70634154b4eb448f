"""`thinktime analyse iostat`: the disks, and who waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from thinktime.cli.analyse.answering import Form, LogArgument, show

if TYPE_CHECKING:
    from thinktime.documents.document import Section
    from thinktime.log import Log

__all__ = ["command"]


def command(
    log: LogArgument,
    form: Form = "text",
    part: Annotated[
        list[str] | None,
        typer.Option(
            "--part",
            metavar="PART",
            help="Show this part only: cache, queue, drives, busy, cpu, matrix, terminal, swaps or periods. "
            "May be given several times.",
        ),
    ] = None,
    session: Annotated[
        int | None,
        typer.Option(
            "--session",
            metavar="N",
            help="Only this session (replication) of the log, from 0; all are pooled otherwise.",
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="From so long after its session's start.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Up to so long after its session's start.")
    ] = None,
    every: Annotated[
        str | None, typer.Option("--every", metavar="TIME", help="Length of a period of the running report.")
    ] = None,
) -> None:
    """Tell what the disks do, and who waits for them.

    Examples:

      thinktime analyse iostat run --part queue --part matrix --from 30s

      thinktime analyse iostat run --part periods --every 10s
    """
    from thinktime.log import Log

    show(_answer(Log.open(log), part or [], session, (start, end, every)), form)


def _answer(
    log: Log, parts: list[str], session: int | None, times: tuple[str | None, str | None, str | None]
) -> Section:
    """Answer the analysis of disks, for a part of the log and of the figures."""
    from thinktime.analyses.disks import analysis as iostat
    from thinktime.analyses.disks.section import PARTS, section
    from thinktime.cli.quantity import parse_seconds
    from thinktime.errors import InputError

    for part in parts:
        if part not in PARTS:
            raise InputError(f"--part {part}: there is no such part; the parts are {', '.join(PARTS)}")
    options = zip(times, ("--from", "--to", "--every"), strict=True)
    start_s, end_s, every_s = (
        None if text is None else parse_seconds(text, option) for text, option in options
    )
    found = iostat.analyse(log, session=session, start_s=start_s or 0.0, end_s=end_s, every_s=every_s)
    return section(found, parts)
