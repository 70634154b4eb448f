"""How long tasks wait for a CPU, how long they keep it and why they leave it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.questions.definition import Options, Question

if TYPE_CHECKING:
    from thinktime.analyses.scheduling.result import Scheduling
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


class SchedulingQuestion(Question):
    """How long do tasks wait for a CPU?"""

    name = "scheduling"
    summary = "Show how long tasks wait for a CPU."
    description = (
        "Reaction times from wake-up to dispatch by command and user, slices and why they ended, waits by "
        "what was waited for, the few commands that make the waiting, and the queue for the CPUs over time; "
        "from a trace (`thinktime record --trace`, `thinktime import perf`)."
    )
    examples = ("run", "run --format json | jq '.tables[0].rows'")
    silent = True

    def analyse(self, log: Log, options: Options) -> Scheduling | NotApplicable:
        """Result for one log."""
        from thinktime.analyses.scheduling.analysis import analyse

        return analyse(log)

    def section(self, result: Scheduling | NotApplicable, options: Options) -> Section:
        """Section of the result."""
        from thinktime.analyses.scheduling.section import section

        return section(result)
