"""`thinktime analyse throughput`."""

from __future__ import annotations

from thinktime.cli.analyse.answering import Form, LogArgument, show

__all__ = ["command"]


def command(log: LogArgument, form: Form = "text") -> None:
    """Tell how much work gets done as the load grows.

    Examples:

      thinktime analyse throughput run

      thinktime analyse throughput run --format json | jq '.tables[0].rows'
    """
    from thinktime import reports
    from thinktime.log import Log

    show(reports.answer("throughput", Log.open(log)), form)
