"""Mean rate of every counter, with confidence intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.questions.definition import Options, Question

if TYPE_CHECKING:
    from thinktime.analyses.rates.analysis import Rates
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


class RatesQuestion(Question):
    """What is the mean rate of every counter?"""

    name = "rates"
    summary = "Print the mean rate of every counter."
    examples = ("run", "run --format json | jq '.tables[0].rows'")
    folded = True

    def analyse(self, log: Log, options: Options) -> Rates | NotApplicable:
        """Result for one log."""
        from thinktime.analyses.rates.analysis import analyse

        return analyse(log)

    def section(self, result: Rates | NotApplicable, options: Options) -> Section:
        """Section of the result."""
        from thinktime.analyses.rates.section import section

        return section(result)
