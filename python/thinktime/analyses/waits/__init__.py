"""Where interactions wait, from the trace of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.questions.definition import Options, Question

if TYPE_CHECKING:
    from thinktime.analyses.waits.analysis import Waits
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


class WaitsQuestion(Question):
    """Where do interactions wait?"""

    name = "waits"
    summary = "Show where interactions wait."
    description = "Queues and waits, from the trace of events and from the table of interactions."
    examples = ("run", "run --format json | jq '.tables[0].rows'")
    folded = True

    def analyse(self, log: Log, options: Options) -> Waits | NotApplicable:
        """Result for one log."""
        from thinktime.analyses.waits.analysis import analyse

        return analyse(log)

    def section(self, result: Waits | NotApplicable, options: Options) -> Section:
        """Section of the result."""
        from thinktime.analyses.waits.section import section

        return section(result)
