"""Length, cost and gaps of a recording, and the recorded machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.questions.definition import Options, Question

if TYPE_CHECKING:
    from thinktime.analyses.recording.analysis import Recording
    from thinktime.documents.document import Section
    from thinktime.log import Log


class RecordingQuestion(Question):
    """How good is the recording?"""

    name = "recording"
    summary = "Report the cost and the losses of the recording."
    examples = ("run", "run --format json | jq '.tables[].name'")

    def analyse(self, log: Log, options: Options) -> Recording:
        """Result for one log."""
        from thinktime.analyses.recording.analysis import analyse

        return analyse(log)

    def section(self, result: Recording, options: Options) -> Section:
        """Section of the result."""
        from thinktime.analyses.recording.section import section

        return section(result)
