"""`thinktime analyse saturation`: what a machine can do at most; of several logs, which did more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from thinktime.cli.analyse.answering import Form, LogsArgument, names, opened, show

__all__ = ["command"]


def command(
    logs: LogsArgument,
    form: Form = "text",
    work: Annotated[
        list[str] | None,
        typer.Option(
            "--work",
            metavar="COLUMN",
            help="A kind of work: user_time, or a counter of the samples; give it twice or more. By default "
            "user time, page faults and disk operations; or user time, what has a ceiling, and requests.",
        ),
    ] = None,
    ceiling: Annotated[
        list[str] | None,
        typer.Option(
            "--ceiling",
            metavar="COLUMN=RATE",
            help="The greatest rate of a counter per second, known from the device's build, where nobody "
            "measures how busy it is. May be given several times; those of the log's manifest are known.",
        ),
    ] = None,
    part: Annotated[
        float,
        typer.Option(
            "--ceiling-part",
            metavar="PART",
            min=0.0,
            max=1.0,
            help="From what part of its ceiling on a resource counts as used up.",
        ),
    ] = 0.9,
) -> None:
    """Tell what limits the machine, and what it can do at most.

    Of all intervals those are shown that no other outdid in every kind of work, what was used up in
    them, where along the frontier which resource limits, and what one kind of work costs in another
    (Bard 1971). Frontiers of several logs are compared at an equal number of observations: which lies
    outside, and by how much.

    Examples:

      thinktime analyse saturation run

      thinktime analyse saturation run --work user_time --work page_ios --ceiling page_ios=80

      thinktime analyse saturation before after --format json | jq '.tables[0].rows'
    """
    from thinktime.analyses.saturation import analysis as saturation
    from thinktime.analyses.saturation import comparison as saturation_comparison
    from thinktime.analyses.saturation import comparison_section as several
    from thinktime.analyses.saturation import section as one

    found = opened(logs)
    ceilings = _ceilings(ceiling or [])
    at = saturation.Thresholds(ceiling_above=part)
    if len(found) == 1:
        result = saturation.analyse(found[0], dimensions=work, ceilings=ceilings, thresholds=at)
        show(one.section(result), form)
    else:
        compared = saturation_comparison.compare(
            found, names(logs), dimensions=work, ceilings=ceilings, thresholds=at
        )
        show(several.section(compared), form)


def _ceilings(given: Sequence[str]) -> dict[str, float]:
    """Read COLUMN=RATE."""
    from thinktime.errors import InputError

    found = {}
    for text in given:
        column, equals, rate = text.partition("=")
        try:
            found[column] = float(rate)
        except ValueError:
            equals = ""
        if not equals or not column:
            raise InputError(f"--ceiling {text}: give COLUMN=RATE, such as page_ios=80.4")
    return found
