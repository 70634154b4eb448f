"""Components of the CPU time of an interaction, by number of users and by page faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.questions.definition import Question, log_names, option

if TYPE_CHECKING:
    from thinktime.analyses.cpu_per_interaction.analysis import CpuPerInteraction
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuPerInteractionOptions:
    """Options of the question about the CPU time of an interaction."""

    width: int | None = option(
        None,
        "--width",
        "Numbers of users per group; 2 gives 1 to 2, 3 to 4, ...",
        metavar="N",
        least=1,
    )


class CpuPerInteractionQuestion(Question):
    """What does the CPU time of an interaction consist of?"""

    name = "cpu-per-interaction"
    summary = "Break down the CPU time of an interaction."
    description = (
        "Run time and the time for page faults and other events, by number of users and by page faults "
        "(Sekino 1969): of one log in which the number of users varies, or of several, one for each number."
    )
    examples = ("run", "users-4 users-10 users-17", "run --format csv > cpu.csv")
    accepts = "logs"
    options = CpuPerInteractionOptions
    silent = True
    folded = True

    def analyse(self, log: Log, options: CpuPerInteractionOptions) -> CpuPerInteraction | NotApplicable:
        """Result for one log."""
        return self.compare([log], options)

    def section(
        self, result: CpuPerInteraction | NotApplicable, options: CpuPerInteractionOptions
    ) -> Section:
        """Section of the result."""
        from thinktime.analyses.cpu_per_interaction.section import section

        return section(result)

    def compare(
        self, logs: Sequence[Log], options: CpuPerInteractionOptions
    ) -> CpuPerInteraction | NotApplicable:
        """Result for the logs together."""
        from thinktime.analyses.cpu_per_interaction.analysis import analyse

        return analyse(logs, log_names(logs), width=options.width)

    def comparison_section(
        self, result: CpuPerInteraction | NotApplicable, options: CpuPerInteractionOptions
    ) -> Section:
        """Section of the result, which has the same form for several logs."""
        return self.section(result, options)
