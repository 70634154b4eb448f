"""`thinktime analyse compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from thinktime.cli.analyse.answering import Form, show
from thinktime.errors import InputError

if TYPE_CHECKING:
    from thinktime.documents.document import Section
    from thinktime.log import Log

__all__ = ["command"]

_Randomisation = Literal["counterbalanced", "blocks", "complete", "switchback"]


def command(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...",
            help="Logs BEFORE and AFTER; or one log, with a --treatment column or a --design.",
        ),
    ],
    treatment: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the samples that says which treatment was in force."),
    ] = None,
    design: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Plan in CSV or TOML: which treatment was in force on which day."),
    ] = None,
    unit: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="With --treatment: what treatments were assigned to: day (UTC), a length such as 6h, or "
            "run, as long as it lasts.",
        ),
    ] = "day",
    block: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Take out the effects of week, weekday, day, hour, or a column of the design; none takes "
            "out nothing. May be given several times.",
        ),
    ] = None,
    randomisation: Annotated[
        _Randomisation | None, typer.Option(help="How treatments were assigned to the units.")
    ] = None,
    control: Annotated[
        str | None, typer.Option(metavar="NAME", help="Treatment that the other is compared with.")
    ] = None,
    quantity: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Compare this one only: user_time, system_time, or a column."),
    ] = None,
    load: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column for comparisons at equal load.")
    ] = None,
    difference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SIZE",
            help="Tell the chance to find it: 10% of the control's mean, or NAME=VALUE in SI units.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a page with figures too (or .txt, .json, .csv)."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over FILE if it is there.")] = False,
    form: Form = "text",
) -> None:
    """Tell whether a change helped.

    A change that was switched on and off by a plan, day by day, is judged by the assignments that were
    possible: exactly, with the effects of weeks and weekdays taken out. Two logs, before and after, are
    compared at equal load; what else changed in the meantime cannot be told apart.

    Examples:

      thinktime analyse compare before after

      thinktime analyse compare run --treatment free_fret_new --difference 10%

      thinktime analyse compare run --design weeks.toml --report compared.html

      thinktime analyse compare run --treatment cache_on --unit 6h --randomisation switchback
    """
    from thinktime.cli import writing
    from thinktime.cli.analyse.answering import opened

    if report is not None:
        writing.check(report, force, "text")
    designed: dict[str, Any] = {
        "--treatment": treatment,
        "--design": design,
        "--block": block,
        "--randomisation": randomisation,
        "--control": control,
        "--difference": difference,
    }
    _fitting(len(logs), {name for name, value in designed.items() if value is not None})
    found = opened(logs)
    if len(found) == 2:
        section = _before_after(found, quantity, load)
    else:
        section = _designed(
            found[0],
            treatment=treatment,
            design=design,
            unit=unit,
            blocks=None if block is None else [name for name in block if name != "none"],
            randomisation=randomisation,
            control=control,
            quantities=quantity,
            load=load,
            difference=_sizes(difference or []),
        )
    show(section, form)
    if report is not None:
        _written(report, section, found)


def _fitting(count: int, given: set[str]) -> None:
    """Refuse logs and options that do not go together."""
    if count > 2:
        raise InputError(f"{count} logs are given; compare takes BEFORE and AFTER, or one log with a design")
    if count == 2 and given:
        raise InputError(
            f"{min(given)}: is for one log in which the change was switched on and off; two logs are "
            "compared as before and after"
        )
    if count == 1 and not given & {"--treatment", "--design"}:
        raise InputError(
            "one log is given: say what changed when with --treatment COLUMN or --design FILE, or give "
            "another log to compare with"
        )
    if {"--treatment", "--design"} <= given:
        raise InputError("--design: the treatment is named by --treatment already; give one of them")


def _before_after(logs: Sequence[Log], quantities: list[str] | None, load: str | None) -> Section:
    from thinktime.analyses.compare.logs import analyse
    from thinktime.analyses.compare.logs_section import section

    before, after = logs
    return section(analyse(before, after, quantities=quantities, load=load))


def _designed(log: Log, design: Path | None, **options: Any) -> Section:
    from thinktime.analyses.compare.analysis import analyse
    from thinktime.analyses.compare.section import section
    from thinktime.cli.analyse import design_file

    plan = None if design is None else design_file.read(design)
    return section(analyse(log, plan=plan, **options))


def _sizes(texts: list[str]) -> float | dict[str, float] | None:
    """Differences whose chance to be found is asked for."""
    if not texts:
        return None
    named: dict[str, float] = {}
    for text in texts:
        name, separator, value = text.rpartition("=")
        try:
            if not separator and text.endswith("%") and len(texts) == 1:
                return float(text[:-1]) / 100.0
            if not separator:
                raise ValueError
            named[name] = float(value)
        except ValueError:
            raise InputError(
                f"--difference {text}: is neither a part such as 10% nor NAME=VALUE such as user_time=0.02"
            ) from None
    return named


def _written(path: Path, section: Section, logs: Sequence[Log]) -> None:
    from thinktime import reports
    from thinktime.cli import writing
    from thinktime.reports.comparison import document

    writing.write(path, reports.render(document(section, logs), writing.form_of(path)))
