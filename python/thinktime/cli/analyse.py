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
            help="rates, throughput, response, service, arrivals, trace, overhead, saturation or capacity; "
            "or experiment, of a folder of runs.",
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
) -> None:
    """Answer one question about a log, with intervals, numbers of observations and caveats.

    An analysis that does not apply to the log says why; that is an answer, and the exit status is 0.

    Examples:

      thinktime analyse overhead run

      thinktime analyse throughput run --format csv > throughput.csv

      thinktime analyse service run --fit service.toml

      thinktime analyse response run --format json | jq '.tables[0].rows'
    """
    from thinktime import reports
    from thinktime.errors import InputError
    from thinktime.log import Log

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
    section = reports.answer(name, opened)
    if fit is not None:
        section = _fitted(section, opened, fit)
    sys.stdout.write(reports.render_section(section, form))


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
