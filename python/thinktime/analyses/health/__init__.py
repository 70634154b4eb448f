"""What slowed users down, or soon will: each thing examined, with its limit and its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.questions.definition import Options, Question

if TYPE_CHECKING:
    from thinktime.analyses.health.result import Health
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


class HealthQuestion(Question):
    """What needs attention?"""

    name = "health"
    summary = "List what slowed users down, or soon will."
    description = (
        "Waits for a CPU, for disks and for memory, users who hold up others, throttled groups, time taken "
        "by the hypervisor, shrinking memory, faulty networks and gaps of the recording: each is measured "
        "and compared with a limit, and what is beyond it comes first, the longest waits before all else."
    )
    examples = ("run", "run --format json | jq '.tables[0].rows'")

    def analyse(self, log: Log, options: Options) -> Health | NotApplicable:
        """Result for one log."""
        from thinktime.analyses.health.analysis import analyse

        return analyse(log)

    def section(self, result: Health | NotApplicable, options: Options) -> Section:
        """Section of the result."""
        from thinktime.analyses.health.section import section

        return section(result)
