"""Resources used by each user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.questions.definition import Options, Question

if TYPE_CHECKING:
    from thinktime.analyses.users.logins import Logins
    from thinktime.analyses.users.result import Users
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


class UsersQuestion(Question):
    """Who used it?"""

    name = "users"
    summary = "List the users by the CPU time they used."
    examples = ("run", "run --format csv > users.csv")

    def analyse(self, log: Log, options: Options) -> Users | Logins | NotApplicable:
        """Result for one log."""
        from thinktime.analyses.users.analysis import analyse

        return analyse(log)

    def section(self, result: Users | Logins | NotApplicable, options: Options) -> Section:
        """Section of the result."""
        from thinktime.analyses.users.section import section

        return section(result)
