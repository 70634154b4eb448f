"""Run report of a script: the requests of its users, and the service they received."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.questions.definition import Options, Question

if TYPE_CHECKING:
    from thinktime.analyses.script_report.analysis import ScriptReport
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


class ScriptReportQuestion(Question):
    """What did the users of a script request and receive?"""

    name = "script-report"
    summary = "Report the requests and service of script users."
    description = (
        "The run report of a script, in the form of run CPM01 (Sekino 1969): status of the system; real "
        "time, run, swap and CPU time of the users who play the script, in total and per interaction; their "
        "mean response time."
    )
    examples = ("run", "run --format json | jq '.tables[1].rows'")
    in_report = False

    def analyse(self, log: Log, options: Options) -> ScriptReport | NotApplicable:
        """Result for one log."""
        from thinktime.analyses.script_report.analysis import analyse

        return analyse(log)

    def section(self, result: ScriptReport | NotApplicable, options: Options) -> Section:
        """Section of the result."""
        from thinktime.analyses.script_report.section import section

        return section(result)
