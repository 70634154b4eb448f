"""Limits of the machine: which resource is exhausted, and the most work it can do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thinktime.errors import InputError
from thinktime.questions.definition import Question, log_names, option

if TYPE_CHECKING:
    from thinktime.analyses.saturation.analysis import Saturation
    from thinktime.analyses.saturation.comparison import FrontierComparison
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


def _ceiling(text: str, flag: str) -> tuple[str, float]:
    """Column and rate of COLUMN=RATE."""
    column, equals, rate = text.partition("=")
    try:
        value = float(rate)
    except ValueError:
        equals = ""
    if not equals or not column:
        raise InputError(f"{flag} {text}: give COLUMN=RATE, such as page_ios=80.4")
    return column, value


@dataclass(frozen=True, slots=True, kw_only=True)
class SaturationOptions:
    """Options of the question about saturation."""

    work: tuple[str, ...] | None = option(
        None,
        "--work",
        "A kind of work: user_time, or a counter of the samples; give it twice or more. Default: user time, "
        "page faults and disk operations; or user time, counters with a ceiling, and requests.",
        metavar="COLUMN",
        repeated=True,
    )
    ceilings: tuple[tuple[str, float], ...] = option(
        (),
        "--ceiling",
        "Maximum rate of a counter per second, from the device's specification, where its utilisation is not "
        "measured. Repeatable, in addition to the ceilings in the log's manifest.",
        metavar="COLUMN=RATE",
        repeated=True,
        parse=_ceiling,
    )
    ceiling_share: float = option(
        0.9,
        "--ceiling-share",
        "Share of its ceiling at which a resource counts as exhausted.",
        metavar="SHARE",
        least=0.0,
        most=1.0,
    )


class SaturationQuestion(Question):
    """What limits the machine?"""

    name = "saturation"
    summary = "Show which resource limits the machine, and where."
    description = (
        "Shows the intervals that no other interval exceeds in every kind of work, their exhausted "
        "resources, the limiting resource along the frontier, and the price of one kind of work in terms of "
        "another (Bard 1971). Frontiers of several logs are compared at an equal number of observations: "
        "which lies outside, and by how much."
    )
    examples = (
        "run",
        "run --work user_time --work page_ios --ceiling page_ios=80",
        "before after --format json | jq '.tables[0].rows'",
    )
    accepts = "logs"
    options = SaturationOptions

    def analyse(self, log: Log, options: SaturationOptions) -> Saturation | NotApplicable:
        """Result for one log."""
        from thinktime.analyses.saturation.analysis import analyse

        return analyse(log, **_arguments(options))

    def section(self, result: Saturation | NotApplicable, options: SaturationOptions) -> Section:
        """Section of the result."""
        from thinktime.analyses.saturation.section import section

        return section(result)

    def compare(self, logs: Sequence[Log], options: SaturationOptions) -> FrontierComparison | NotApplicable:
        """Frontiers of several logs at an equal number of observations."""
        from thinktime.analyses.saturation.comparison import compare

        return compare(logs, log_names(logs), **_arguments(options))

    def comparison_section(
        self, result: FrontierComparison | NotApplicable, options: SaturationOptions
    ) -> Section:
        """Section of the comparison."""
        from thinktime.analyses.saturation.comparison_section import section

        return section(result)


def _arguments(options: SaturationOptions) -> dict[str, Any]:
    from thinktime.analyses.saturation.resources import Thresholds

    return {
        "dimensions": options.work,
        "ceilings": dict(options.ceilings),
        "thresholds": Thresholds(ceiling_above=options.ceiling_share),
    }
