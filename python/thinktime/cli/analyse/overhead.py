"""`thinktime analyse overhead`."""

from __future__ import annotations

from thinktime.cli.analyse.answering import Form, LogArgument, show

__all__ = ["command"]


def command(log: LogArgument, form: Form = "text") -> None:
    """Tell what each kind of request costs the system.

    System time of each interval is regressed on the requests served in it (Bard 1971).

    Examples:

      thinktime analyse overhead run

      thinktime analyse overhead run --format json | jq '.tables[0].rows'
    """
    from thinktime import reports
    from thinktime.log import Log

    show(reports.answer("overhead", Log.open(log)), form)
