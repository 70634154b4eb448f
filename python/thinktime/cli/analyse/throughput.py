"""`thinktime analyse throughput`: work by load, of one log or of several that are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from thinktime.cli.analyse.answering import Form, LogsArgument, names, opened, show

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["command"]


def command(
    logs: LogsArgument,
    form: Form = "text",
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="What measures the load: a column of the samples, or population for the users who played. "
            "By default the users who played, else the first column with the role load that varies.",
        ),
    ] = None,
    width: Annotated[
        int | None,
        typer.Option(
            "--width", metavar="N", min=1, help="Loads looked at together; 2 gives 1 to 2, 3 to 4, ..."
        ),
    ] = None,
    few: Annotated[
        int,
        typer.Option(
            "--few", metavar="N", min=2, help="Fewer observations than this at a load are not relied on."
        ),
    ] = 10,
    whole: Annotated[
        bool,
        typer.Option(
            "--whole",
            help="Print means over whole logs too, beside those at equal load, and why they must not be "
            "compared.",
        ),
    ] = False,
) -> None:
    """Tell how much work gets done as the load grows.

    Intervals are grouped by load and means are taken at each (Bard 1971). Several logs are compared at
    equal load: at each load, and at one common distribution of loads, with tests.

    Examples:

      thinktime analyse throughput run --by active_users --width 2

      thinktime analyse throughput run --format csv > throughput.csv

      thinktime analyse throughput before after --whole
    """
    from thinktime.analyses.throughput import analysis as throughput
    from thinktime.analyses.throughput import comparison as throughput_comparison
    from thinktime.analyses.throughput import comparison_section as several
    from thinktime.analyses.throughput import section as one
    from thinktime.errors import InputError

    found = opened(logs)
    for log in found:
        _check(log, by)
    try:
        if len(found) == 1:
            result = throughput.analyse(found[0], load=by, width=width, n_few=few)
            show(one.section(result, whole=whole), form)
        else:
            compared = throughput_comparison.compare(found, names(logs), load=by, width=width, n_few=few)
            show(several.section(compared, whole=whole), form)
    except ValueError as error:
        raise InputError(f"--width: {error}; make it greater") from None


def _check(log: Log, by: str | None) -> None:
    """Refuse a load that no source could have recorded."""
    from thinktime.errors import InputError

    known = [column.name for column in log.schema("samples") if column.kind in ("counter", "gauge")]
    if by is not None and by not in (*known, "population"):
        roles = ", ".join(["population", *log.columns_with("load")])
        raise InputError(f"--by {by}: {log.path} has no such column; loads are {roles}, or any other column")
