"""Tests whether inputs arrive at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.questions.definition import Options, Question

if TYPE_CHECKING:
    from thinktime.analyses.arrivals.analysis import Arrivals
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


class ArrivalsQuestion(Question):
    """Do inputs arrive at random?"""

    name = "arrivals"
    summary = "Test whether inputs arrive at random."
    examples = ("run", "run --format json | jq '.tables[0].rows'")
    folded = True

    def analyse(self, log: Log, options: Options) -> Arrivals | NotApplicable:
        """Result for one log."""
        from thinktime.analyses.arrivals.analysis import analyse

        return analyse(log)

    def section(self, result: Arrivals | NotApplicable, options: Options) -> Section:
        """Section of the result."""
        from thinktime.analyses.arrivals.section import section

        return section(result)
