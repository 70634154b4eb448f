"""The run report of a script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Section, Table
from thinktime.documents.wording import refused
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.script_report.analysis import RunReport

__all__ = ["section"]

TITLE = "What did the script's users ask for, and get?"
METHOD = (
    "Run and swap time over all interactions, responses over those that were waited for (Sekino 1969, run "
    "CPM01); intervals: batch means of ratios."
)
UNKNOWN = "not told"


def section(result: RunReport | NotApplicable) -> Section:
    """Section of the run report."""
    if isinstance(result, NotApplicable):
        return refused("run-report", TITLE, result)
    return Section(
        name="run-report",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=(_status(result), _times(result)),
        figures=(),
        caveats=result.caveats,
        method=METHOD,
    )


def _sentences(result: RunReport) -> list[str]:
    found = [
        f"CPU time of an interaction: {shown.estimate(result.cpu)}, of which "
        f"{shown.estimate(result.run)} was run time and {shown.estimate(result.swap)} swap time."
    ]
    if result.response is not None:
        found.append(
            f"Where they waited, in {shown.count(result.waits, 'interaction')}, the response took "
            f"{shown.estimate(result.response)} on average."
        )
    return found


def _status(result: RunReport) -> Table:
    status = result.status
    reloaded = {None: UNKNOWN, True: "yes", False: "no"}[status.reloaded_recently]
    rows: list[tuple[str, Cell]] = [
        ("runs", result.runs),
        ("simultaneous users", _known(status.users)),
        ("users who play the script", _known(status.scripted_users)),
        ("script", _known(status.script)),
        ("interactions of the script", _known(status.script_interactions)),
        ("entries of the user's file directory", _known(status.directory_entries)),
        ("disk file system reloaded recently", reloaded),
    ]
    columns = (Column("status"), Column("value"))
    return Table(
        name="run-report-status",
        caption="The system while the script was run",
        columns=columns,
        rows=tuple(rows),
    )


def _known(value: int | str | None) -> Cell:
    return UNKNOWN if value is None else value


def _times(result: RunReport) -> Table:
    once = result.status.script_interactions

    def row(name: str, total_s: float, each: Estimate) -> tuple[Cell, ...]:
        return (name, total_s, each.value * once if once else None, each)

    rows: list[tuple[Cell, ...]] = [
        ("real time", result.real_time_s, result.script_time, None),
        row("run time", result.run_s, result.run),
        row("swap time", result.swap_s, result.swap),
        row("CPU time", result.run_s + result.swap_s, result.cpu),
        ("system response time", None, None, result.response),
    ]
    return Table(
        name="run-report-times",
        caption=f"Times of {shown.count(result.interactions, 'interaction')}",
        columns=(
            Column("time"),
            Column("total", unit="s", scaled=False),
            Column("one run of the script", unit="s", scaled=False),
            Column("an interaction", unit="s", scaled=False),
        ),
        rows=tuple(rows),
        notes=("CPU time is run and swap time. The response is of interactions that were waited for.",),
    )
