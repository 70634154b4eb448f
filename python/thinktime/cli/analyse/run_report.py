"""`thinktime analyse run-report`: what a script's users asked for, and got."""

from __future__ import annotations

from thinktime.cli.analyse.answering import Form, LogArgument, show

__all__ = ["command"]


def command(log: LogArgument, form: Form = "text") -> None:
    """Tell what a script's users asked for, and got.

    The run report of a script, in the form of run CPM01 (Sekino 1969): status of the system; real time,
    run, swap and CPU time of the users who play the script, in all and by interaction; their mean response.

    Examples:

      thinktime simulate ctss --replications 1 --seed 1 -o run

      thinktime analyse run-report run

      thinktime analyse run-report run --format json | jq '.tables[1].rows'
    """
    from thinktime.analyses.script_report import analysis as run_report
    from thinktime.analyses.script_report.section import section
    from thinktime.log import Log

    show(section(run_report.analyse(Log.open(log))), form)
