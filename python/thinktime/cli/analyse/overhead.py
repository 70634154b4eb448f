"""`thinktime analyse overhead`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thinktime.cli.analyse.answering import Form, LogsArgument, names, opened, show

if TYPE_CHECKING:
    from thinktime.documents.document import Section
    from thinktime.log import Log

__all__ = ["command"]


def command(
    logs: LogsArgument,
    request: Annotated[
        list[str] | None,
        typer.Option(
            "--request",
            metavar="NAME",
            help="Fit these requests, without selection: a column of the samples, or user_time. May be given "
            "several times.",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="NAME",
            help="Leave out a request, as if it had not been measured, and show beside it what the costs are "
            "with it. May be given several times.",
        ),
    ] = None,
    of: Annotated[
        list[str] | None,
        typer.Option(
            "--of",
            metavar="COLUMN",
            help="Explain this counter instead of the system time: a part of it, or anything that requests "
            "cause. Several are added up.",
        ),
    ] = None,
    apart: Annotated[
        list[str] | None,
        typer.Option(
            "--apart",
            metavar="COLUMN",
            help="Take this part out of what requests cost, and show it by itself. Several are added up.",
        ),
    ] = None,
    enter: Annotated[
        float,
        typer.Option("--enter", metavar="F", min=0.0, help="Least F at which a request is taken."),
    ] = 4.0,
    parts: Annotated[
        int,
        typer.Option("--parts", metavar="N", min=2, help="Parts of the log that are fitted by themselves."),
    ] = 4,
    form: Form = "text",
) -> None:
    """Tell what each kind of request costs the system.

    System time of each interval is regressed on the requests served in it (Bard 1971). Of several logs it
    is tested whether requests cost the same in each.

    Examples:

      thinktime analyse overhead run

      thinktime analyse overhead before after

      thinktime analyse overhead run --without context_switches

      thinktime analyse overhead run --of softirq_s

      thinktime analyse overhead run --format json | jq '.tables[0].rows'
    """
    from thinktime.errors import InputError

    options: dict[str, Any] = {"requests": request, "f_to_enter": enter, "subsets": parts}
    if of is not None:
        options["explained"] = of
    if apart and (without or of or len(logs) > 1):
        raise InputError(
            "--apart: goes with one log, and without --without and --of; ask one after the other"
        )
    show(_section(opened(logs), names(logs), without or [], apart or [], options), form)


def _section(
    logs: Sequence[Log],
    called: Sequence[str],
    without: Sequence[str],
    apart: Sequence[str],
    options: dict[str, Any],
) -> Section:
    from thinktime.analyses.overhead import analysis as overhead
    from thinktime.analyses.overhead import comparison as overhead_comparison
    from thinktime.analyses.overhead import comparison_section as compared
    from thinktime.analyses.overhead import omission as overhead_omission
    from thinktime.analyses.overhead import section as plain
    from thinktime.analyses.overhead import section_answers as overhead_answers
    from thinktime.analyses.overhead import subtraction as overhead_parts

    if len(logs) > 1:
        return compared.section(overhead_comparison.compare(logs, called, without=without, **options))
    if without:
        return overhead_answers.omission(overhead_omission.omit(logs[0], without, **options))
    if apart:
        return overhead_answers.parted(overhead_parts.part(logs[0], apart, **options))
    return plain.section(overhead.analyse(logs[0], **options))
