"""Response times by number of users and by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.questions.definition import Question, option

if TYPE_CHECKING:
    from thinktime.analyses.response.analysis import Response
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseOptions:
    """Options of the question about response times."""

    without: tuple[str, ...] = option(
        (),
        "--without",
        "Also report the mean without this class: one heavy command can dominate the overall mean. "
        "Repeatable.",
        metavar="CLASS",
        repeated=True,
    )
    accept_driver_load: bool = option(
        False,
        "--accept-driver-load",
        "Show the times of a play whose driver was the load all the same.",
    )


class ResponseQuestion(Question):
    """How long do users wait?"""

    name = "response"
    summary = "Show how long users waited."
    description = "Response times by number of users and by class of interaction."
    examples = ("run", "run --without fortran", "run --format json | jq '.tables[0].rows'")
    options = ResponseOptions

    def analyse(self, log: Log, options: ResponseOptions) -> Response | NotApplicable:
        """Result for one log."""
        from thinktime.analyses.response.analysis import analyse

        return analyse(log, without=options.without, accept_driver_load=options.accept_driver_load)

    def section(self, result: Response | NotApplicable, options: ResponseOptions) -> Section:
        """Section of the result."""
        from thinktime.analyses.response.section import section

        return section(result)
