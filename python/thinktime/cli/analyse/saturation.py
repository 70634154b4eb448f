"""`thinktime analyse saturation`."""

from __future__ import annotations

from thinktime.cli.analyse.answering import Form, LogArgument, show

__all__ = ["command"]


def command(log: LogArgument, form: Form = "text") -> None:
    """Tell what limits the machine.

    Of all intervals those are shown that no other outdid in every kind of work, and what was busy in them.

    Examples:

      thinktime analyse saturation run

      thinktime analyse saturation run --format json | jq '.tables[0].rows'
    """
    from thinktime import reports
    from thinktime.log import Log

    show(reports.answer("saturation", Log.open(log)), form)
