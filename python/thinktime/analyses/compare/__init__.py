"""Effect of a change: from the plan by which it was switched, or from logs before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from thinktime.errors import InputError
from thinktime.questions.definition import Question, option

if TYPE_CHECKING:
    from thinktime.analyses.compare.design import Plan, TreatmentColumn
    from thinktime.analyses.compare.result import BeforeAfter, Comparison
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable

Assignment = Literal["counterbalanced", "blocks", "complete", "switchback"]


def _difference(text: str, flag: str) -> tuple[str, float]:
    """Name ("" for every quantity, relative to the control's mean) and size of a difference."""
    name, separator, value = text.rpartition("=")
    try:
        if not separator and text.endswith("%"):
            return "", float(text[:-1]) / 100.0
        if separator:
            return name, float(value)
    except ValueError:
        pass
    raise InputError(f"{flag} {text}: give a percentage such as 10%, or NAME=VALUE such as user_time=0.02")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """Options of a comparison."""

    treatment: str | None = option(
        None,
        "--treatment",
        "Column of the samples that holds the treatment in force.",
        metavar="COLUMN",
    )
    design: Path | None = option(
        None, "--design", "Plan in CSV or TOML: which treatment was in force on which day.", metavar="FILE"
    )
    unit: str = option(
        "day",
        "--unit",
        "With --treatment: unit to which treatments were assigned: day (UTC), a length such as 6h, or run "
        "(as long as a treatment lasts).",
        metavar="TIME",
    )
    block: tuple[str, ...] | None = option(
        None,
        "--block",
        "Remove the effects of week, weekday, day, hour, or a column of the design; none removes nothing. "
        "Repeatable.",
        metavar="NAME",
        repeated=True,
    )
    randomisation: Assignment | None = option(
        None, "--randomisation", "How treatments were assigned to the units."
    )
    control: str | None = option(
        None, "--control", "Treatment with which the other is compared.", metavar="NAME"
    )
    quantities: tuple[str, ...] | None = option(
        None,
        "--quantity",
        "Compare this quantity only: user_time, system_time, or a column. Repeatable.",
        metavar="NAME",
        repeated=True,
    )
    load: str | None = option(
        None, "--load", "Column that measures the load, for comparisons at equal load.", metavar="COLUMN"
    )
    difference: tuple[tuple[str, float], ...] = option(
        (),
        "--difference",
        "Report the power to detect this effect: 10% of the control's mean, or NAME=VALUE in SI units. "
        "Repeatable.",
        metavar="SIZE",
        repeated=True,
        parse=_difference,
    )


class CompareQuestion(Question):
    """Did a change help?"""

    name = "compare"
    summary = "Test whether a change helped."
    description = (
        "If a change was switched on and off according to a plan, day by day, an exact test compares the "
        "plan with all other possible assignments, with the effects of weeks and weekdays removed. Two logs, "
        "before and after, are compared at equal load; other changes in the meantime cannot be separated."
    )
    examples = (
        "before after",
        "run --treatment free_fret_new --difference 10%",
        "run --design weeks.toml -o compared.html",
        "run --treatment cache_on --unit 6h --randomisation switchback",
    )
    accepts = "a log, or two"
    options = CompareOptions
    in_report = False

    def analyse(self, log: Log, options: CompareOptions) -> Comparison | NotApplicable:
        """Effect of a treatment that was switched on and off within one log."""
        from thinktime.analyses.compare.analysis import analyse

        _suit(1, options)
        return analyse(
            log,
            _design(options),
            quantities=options.quantities,
            load=options.load,
            difference=_sizes(options.difference),
        )

    def section(self, result: Comparison | NotApplicable, options: CompareOptions) -> Section:
        """Section of the result."""
        from thinktime.analyses.compare.section import section

        return section(result)

    def compare(self, logs: Sequence[Log], options: CompareOptions) -> BeforeAfter | NotApplicable:
        """Effect of a change between two logs."""
        from thinktime.analyses.compare.comparison import compare

        _suit(2, options)
        before, after = logs
        return compare(before, after, quantities=options.quantities, load=options.load)

    def comparison_section(self, result: BeforeAfter | NotApplicable, options: CompareOptions) -> Section:
        """Section of the result."""
        from thinktime.analyses.compare.comparison_section import section

        return section(result)


def _design(options: CompareOptions) -> Plan | TreatmentColumn:
    """Design that the options name; options given in addition to a plan replace the plan's own."""
    from thinktime.analyses.compare.design import TreatmentColumn, read_plan

    blocks = None if options.block is None else tuple(name for name in options.block if name != "none")
    given: dict[str, Any] = {
        name: value
        for name, value in (
            ("control", options.control),
            ("blocks", blocks),
            ("randomisation", options.randomisation),
        )
        if value is not None
    }
    if options.design is not None:
        return replace(read_plan(options.design), **given)
    return TreatmentColumn(options.treatment or "", unit=options.unit, **given)


def _suit(logs: int, options: CompareOptions) -> None:
    """Refuse options that do not suit the number of logs."""
    if logs == 1:
        if options.treatment is None and options.design is None:
            raise InputError(
                "only one log is given: name the change with --treatment COLUMN or --design FILE, or give "
                "a second log to compare with"
            )
        if options.treatment is not None and options.design is not None:
            raise InputError("--design: --treatment already names the treatment; give one of them")
        return
    planned = {
        "--treatment": options.treatment,
        "--design": options.design,
        "--block": options.block,
        "--randomisation": options.randomisation,
        "--control": options.control,
        "--difference": options.difference or None,
    }
    if given := [flag for flag, value in planned.items() if value is not None]:
        raise InputError(
            f"{min(given)}: applies to one log in which the change was switched on and off; two logs are "
            "compared as before and after"
        )


def _sizes(differences: Sequence[tuple[str, float]]) -> float | Mapping[str, float] | None:
    """Differences whose power is requested: one share of every control's mean, or sizes by name."""
    relative = [size for name, size in differences if not name]
    if relative and len(differences) > 1:
        raise InputError("--difference: give one percentage, or NAME=VALUE as often as needed")
    return relative[0] if relative else dict(differences) or None
