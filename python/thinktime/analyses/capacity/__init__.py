"""CPU capacity by state and by event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thinktime.questions.definition import Options, Question, log_names

if TYPE_CHECKING:
    from thinktime.analyses.capacity.comparison import CapacityComparison
    from thinktime.analyses.capacity.result import Capacity
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


class CapacityQuestion(Question):
    """Where did the CPU capacity go?"""

    name = "capacity"
    summary = "Show where the CPU capacity went."
    description = (
        "Share of the capacity = overhead per event / mean time between events (Sekino 1971), from meters of "
        "the events where the source has them, otherwise with the costs of the overhead regression. Several "
        "logs are shown side by side, with the differences from the first."
    )
    examples = ("run", "1cpu-256k 1cpu-384k 2cpu-384k", "run --format json | jq '.tables[0].rows'")
    accepts = "logs"

    def analyse(self, log: Log, options: Options) -> Capacity | NotApplicable:
        """Result for one log."""
        from thinktime.analyses.capacity.analysis import analyse

        return analyse(log)

    def section(self, result: Capacity | NotApplicable, options: Options) -> Section:
        """Section of the result."""
        from thinktime.analyses.capacity.section import section

        return section(result)

    def compare(self, logs: Sequence[Log], options: Options) -> CapacityComparison | NotApplicable:
        """Capacity of several logs, with differences from the first."""
        from thinktime.analyses.capacity.comparison import compare

        return compare(logs, log_names(logs))

    def comparison_section(self, result: CapacityComparison | NotApplicable, options: Options) -> Section:
        """Section of the comparison."""
        from thinktime.analyses.capacity.comparison_section import section

        return section(result)
