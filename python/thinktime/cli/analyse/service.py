"""`thinktime analyse service`: service times, and distributions fitted to them."""

from __future__ import annotations

from pathlib import Path
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
    fit: Annotated[
        Path | None,
        typer.Option(
            "--fit",
            metavar="FILE",
            help="Fit distributions to the service times, overall and by class, and write the best to FILE "
            "in TOML, for a simulation.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over FILE if it is there.")] = False,
) -> None:
    """Tell how much service an input asks for, and fit it.

    Examples:

      thinktime analyse service run

      thinktime analyse service run --fit service.toml
    """
    from thinktime import reports
    from thinktime.cli import writing
    from thinktime.log import Log

    if fit is not None:
        writing.check(fit, force, "text")
    opened = Log.open(log)
    section = reports.answer("service", opened)
    show(section if fit is None else _fitted(section, opened, fit), form)


def _fitted(section: Section, log: Log, target: Path) -> Section:
    """Write the fitted distributions to `target` and add them to the section."""
    from thinktime.analyses.service import distributions
    from thinktime.analyses.service import fit as service_fit
    from thinktime.analyses.service.fit_section import extended
    from thinktime.errors import WorkError
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
