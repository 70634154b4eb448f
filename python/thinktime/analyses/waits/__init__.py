"""Where interactions wait: queues from a trace, or states of the responses without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.questions.definition import Options, Question

if TYPE_CHECKING:
    from thinktime.analyses.waits.analysis import Waits
    from thinktime.analyses.waits.states import States
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


class WaitsQuestion(Question):
    """Where do interactions wait?"""

    name = "waits"
    summary = "Show where interactions wait."
    description = (
        "Queues and waits from the trace of events and the table of interactions; without a trace of "
        "interactions, what the slowest tenth of them spent their time on: CPU time, waiting for a CPU, "
        "waiting for I/O, and the rest."
    )
    examples = ("run", "run --format json | jq '.tables[0].rows'")
    folded = True

    def analyse(self, log: Log, options: Options) -> Waits | States | NotApplicable:
        """Result for one log: of its trace if that has interactions, else of the interactions alone."""
        from thinktime.analyses.waits import analysis, states
        from thinktime.stats.estimate import NotApplicable

        traced = analysis.analyse(log)
        if not isinstance(traced, NotApplicable) or not log.has("interactions"):
            return traced
        return states.analyse(log)

    def section(self, result: Waits | States | NotApplicable, options: Options) -> Section:
        """Section of the result."""
        from thinktime.analyses.waits import section, states_section
        from thinktime.analyses.waits.states import States

        return states_section.section(result) if isinstance(result, States) else section.section(result)
