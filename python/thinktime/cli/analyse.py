"""`thinktime analyse`: one question about a log."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.reports.document import Section

__all__ = ["command"]


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="rates, throughput, response, service, arrivals, trace, overhead, saturation, iostat or "
            "capacity; or experiment, of a folder of runs.",
        ),
    ],
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Folder of a log.")],
    form: Annotated[
        Literal["text", "json", "csv"],
        typer.Option("--format", help="How to print the figures; json and csv are unrounded, in SI units."),
    ] = "text",
    fit: Annotated[
        Path | None,
        typer.Option(
            "--fit",
            metavar="FILE",
            help="With service: fit distributions to the service times, overall and by class, and write the "
            "best to FILE in TOML, for a simulation.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over FILE if it is there.")] = False,
    part: Annotated[
        list[str] | None,
        typer.Option(
            "--part",
            metavar="PART",
            help="With iostat: show this part only: cache, queue, drives, busy, cpu, matrix, terminal, swaps "
            "or periods. May be given several times.",
        ),
    ] = None,
    session: Annotated[
        int | None,
        typer.Option(
            "--session",
            metavar="N",
            help="With iostat: only this session (replication) of the log, from 0; all are pooled otherwise.",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="With iostat: from so long after its session's start."),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option("--to", metavar="TIME", help="With iostat: up to so long after its session's start."),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(
            "--every", metavar="TIME", help="With iostat: length of a period of its running report."
        ),
    ] = None,
) -> None:
    """Answer one question about a log, with intervals, numbers of observations and caveats.

    An analysis that does not apply to the log says why; that is an answer, and the exit status is 0.

    Examples:

      thinktime analyse overhead run

      thinktime analyse throughput run --format csv > throughput.csv

      thinktime analyse service run --fit service.toml

      thinktime analyse iostat run --part queue --part matrix --from 30s

      thinktime analyse response run --format json | jq '.tables[0].rows'
    """
    from thinktime import reports
    from thinktime.errors import InputError
    from thinktime.log import Log

    window: dict[str, object] = {
        "--part": part,
        "--session": session,
        "--from": start,
        "--to": end,
        "--every": every,
    }
    _only_of_iostat(name, window)
    if name == "experiment":
        from thinktime.cli.experiment import analysed
        from thinktime.runs import Runs

        sys.stdout.write(reports.render(analysed(Runs.open(log), []), form))
        return
    if fit is not None and name != "service":
        raise InputError(f"--fit: {name} fits no distribution; thinktime analyse service LOG --fit FILE does")
    if fit is not None:
        from thinktime.cli import writing

        writing.check(fit, force, "text")
    opened = Log.open(log)
    if name == "iostat":
        section = _iostat(opened, part or [], session, (start, end, every))
    else:
        section = reports.answer(name, opened)
    if fit is not None:
        section = _fitted(section, opened, fit)
    sys.stdout.write(reports.render_section(section, form))


def _only_of_iostat(name: str, window: dict[str, object]) -> None:
    """Refuse options that would do nothing."""
    from thinktime.errors import InputError

    given = [option for option, value in window.items() if value not in (None, [])]
    if given and name != "iostat":
        raise InputError(f"{given[0]}: {name} has no such choice; thinktime analyse iostat LOG has")


def _iostat(
    log: Log, parts: list[str], session: int | None, times: tuple[str | None, str | None, str | None]
) -> Section:
    """Answer of the analysis of disks, for a part of the log and of the figures."""
    from thinktime.analyses import iostat
    from thinktime.cli.quantity import parse_seconds
    from thinktime.errors import InputError
    from thinktime.reports.sections.iostat import PARTS, section

    for part in parts:
        if part not in PARTS:
            raise InputError(f"--part {part}: there is no such part; the parts are {', '.join(PARTS)}")
    options = zip(times, ("--from", "--to", "--every"), strict=True)
    start_s, end_s, every_s = (
        None if text is None else parse_seconds(text, option) for text, option in options
    )
    found = iostat.analyse(log, session=session, start_s=start_s or 0.0, end_s=end_s, every_s=every_s)
    return section(log, found, parts)


def _fitted(section: Section, log: Log, target: Path) -> Section:
    """Write the fitted distributions to `target` and add them to the section."""
    from thinktime.analyses import service_fit
    from thinktime.errors import WorkError
    from thinktime.reports import distributions
    from thinktime.reports.sections.service_fit import extended
    from thinktime.stats.estimate import NotApplicable

    result = service_fit.analyse(log)
    if isinstance(result, NotApplicable):
        raise WorkError(f"{log.path}: {result.reason}; {result.remedy}")
    writing_text = distributions.toml(result, str(log.path))
    try:
        target.write_text(writing_text, encoding="utf-8")
    except OSError as error:
        raise WorkError(f"{target}: cannot be written: {error.strerror or error}") from None
    return extended(section, result)
