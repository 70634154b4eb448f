"""System time that each kind of request costs, by regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thinktime.errors import InputError
from thinktime.questions.definition import Question, log_names, option, with_result

if TYPE_CHECKING:
    from thinktime.analyses.overhead.comparison import OverheadComparison
    from thinktime.analyses.overhead.result import Overhead
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


@dataclass(frozen=True, slots=True, kw_only=True)
class OverheadOptions:
    """Options of the overhead regression."""

    requests: tuple[str, ...] | None = option(
        None,
        "--request",
        "Fit these requests, without selection: a column of the samples, or user_time. Repeatable.",
        metavar="NAME",
        repeated=True,
    )
    drop: tuple[str, ...] = option(
        (),
        "--drop",
        "Omit a request, as if it had not been measured, and show the costs with it for comparison. "
        "Repeatable.",
        metavar="NAME",
        repeated=True,
    )
    target: tuple[str, ...] | None = option(
        None,
        "--target",
        "Counter to regress instead of system time; repeat to sum several.",
        metavar="COLUMN",
        repeated=True,
    )
    subtract: tuple[str, ...] = option(
        (),
        "--subtract",
        "Counter to subtract from the target and report separately; repeat to sum several.",
        metavar="COLUMN",
        repeated=True,
    )
    f_to_enter: float | None = option(
        None,
        "--f-to-enter",
        "Smallest F at which a request enters the regression; by default that at which any false cost enters "
        "in 5 % of logs.",
        metavar="F",
        least=0.0,
    )
    subsets: int = option(
        4, "--subsets", "Subsets of the log that are fitted separately.", metavar="N", least=2
    )


class OverheadQuestion(Question):
    """What does each kind of request cost the system?"""

    name = "overhead"
    summary = "Estimate the system time that each request costs."
    description = (
        "System time of each interval is regressed on the requests served in it (Bard 1971). For several "
        "logs, tests whether requests cost the same in each."
    )
    examples = (
        "run",
        "before after",
        "run --drop context_switches",
        "run --target softirq_s",
        "run --format json | jq '.tables[0].rows'",
    )
    accepts = "logs"
    options = OverheadOptions

    def analyse(self, log: Log, options: OverheadOptions) -> Overhead | NotApplicable:
        """Result for one log."""
        from thinktime.analyses.overhead.analysis import analyse, by_default

        if options == OverheadOptions():
            return by_default(log)
        return analyse(log, **_arguments(options))

    def section(self, result: Overhead | NotApplicable, options: OverheadOptions) -> Section:
        """Section of the result."""
        from thinktime.analyses.overhead.section import section

        return section(result)

    def compare(self, logs: Sequence[Log], options: OverheadOptions) -> OverheadComparison | NotApplicable:
        """Tests of equal costs in several logs."""
        from thinktime.analyses.overhead.comparison import compare

        return compare(logs, log_names(logs), drop=options.drop, **_arguments(options))

    def comparison_section(
        self, result: OverheadComparison | NotApplicable, options: OverheadOptions
    ) -> Section:
        """Section of the comparison."""
        from thinktime.analyses.overhead.comparison_section import section

        return section(result)

    def answer(self, logs: Sequence[Log], options: OverheadOptions | None = None) -> Section:
        """Section of the costs; with ``drop`` or ``subtract``, of the effect of dropping or subtracting.

        Raises
        ------
        InputError
            ``subtract`` together with ``drop``, ``target`` or several logs.
        """
        from thinktime.analyses.overhead.omission import omit
        from thinktime.analyses.overhead.subtraction import subtract
        from thinktime.analyses.overhead.variant_sections import omission_section, subtraction_section

        chosen = options or OverheadOptions()
        if chosen.subtract and (chosen.drop or chosen.target or len(logs) > 1):
            raise InputError(
                "--subtract: needs one log, and excludes --drop and --target; run each by itself"
            )
        if chosen.drop and len(logs) == 1:
            omitted = omit(logs[0], chosen.drop, **_arguments(chosen))
            return with_result(omission_section(omitted), omitted)
        if chosen.subtract:
            subtracted = subtract(logs[0], chosen.subtract, **_arguments(chosen))
            return with_result(subtraction_section(subtracted), subtracted)
        if len(logs) > 1:
            compared = self.compare(logs, chosen)
            return with_result(self.comparison_section(compared, chosen), compared)
        result = self.analyse(logs[0], chosen)
        return with_result(self.section(result, chosen), result)


def _arguments(options: OverheadOptions) -> dict[str, Any]:
    from thinktime.analyses.overhead.regression import FitOptions

    return {
        "requests": options.requests,
        "target": options.target,
        "fit_options": FitOptions(f_to_enter=options.f_to_enter, subsets=options.subsets),
    }
