"""Analyses that have no options of their own."""

from __future__ import annotations

from collections.abc import Callable

from thinktime.cli.analyse.answering import Form, LogArgument, show

__all__ = ["QUESTIONS", "command"]

QUESTIONS = {
    "rates": "Tell how much of everything happened.",
    "arrivals": "Test whether inputs arrive at random.",
    "trace": "Tell where interactions wait, from the trace of events.",
}
"""First line of each one's help."""


def command(name: str) -> Callable[..., None]:
    """Make the command of analysis `name`."""

    def asked(log: LogArgument, form: Form = "text") -> None:
        from thinktime import reports
        from thinktime.log import Log

        show(reports.answer(name, Log.open(log)), form)

    asked.__doc__ = f"""{QUESTIONS[name]}

    Examples:

      thinktime analyse {name} run

      thinktime analyse {name} run --format json | jq '.tables[0].rows'
    """
    return asked
