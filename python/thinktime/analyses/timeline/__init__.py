"""Load, CPU time, faults and disk operations over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.questions.definition import Options, Question

if TYPE_CHECKING:
    from thinktime.analyses.timeline.analysis import Timeline
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


class TimelineQuestion(Question):
    """What happened when?"""

    name = "timeline"
    summary = "Show how busy the machine was over time."
    examples = ("run", "run -o timeline.html")

    def analyse(self, log: Log, options: Options) -> Timeline | NotApplicable:
        """Result for one log."""
        from thinktime.analyses.timeline.analysis import analyse

        return analyse(log)

    def section(self, result: Timeline | NotApplicable, options: Options) -> Section:
        """Section of the result."""
        from thinktime.analyses.timeline.section import section

        return section(result)
