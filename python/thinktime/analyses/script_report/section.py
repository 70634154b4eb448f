"""Section of the report of a script."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Cols, Section, Table
from thinktime.documents.wording import refused, worded
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.script_report.analysis import ScriptReport

TITLE = "What did the users of the script request and receive?"
METHOD = (
    "Run and swap time over all interactions, responses over those with waiting (Sekino 1969, run "
    "CPM01); intervals allow for correlation in time."
)
UNKNOWN = "not recorded"
WORDS: dict[str, Callable[..., str]] = {
    "few_interactions": lambda interactions: (
        f"Only {interactions} interactions: less than one run of the standard script, so the mix of "
        f"commands is not that of the script."
    ),
    "sessions_differ": lambda: "The sessions differ in users or script; the status is that of the last one.",
}


def section(result: ScriptReport | NotApplicable) -> Section:
    """Section of the result."""
    if isinstance(result, NotApplicable):
        return refused("script-report", TITLE, result)
    return Section(
        name="script-report",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=(_status(result), _times(result)),
        caveats=worded(result.caveats, WORDS),
        method=METHOD,
    )


def _sentences(result: ScriptReport) -> list[str]:
    sentences = [
        f"CPU time of an interaction: {shown.estimate(result.cpu)}, of which "
        f"{shown.estimate(result.run)} was run time and {shown.estimate(result.swap)} swap time."
    ]
    if result.response is not None:
        sentences.append(
            f"Where they waited, in {shown.count(result.waits, 'interaction')}, the response took "
            f"{shown.estimate(result.response)} on average."
        )
    return sentences


def _status(result: ScriptReport) -> Table:
    status = result.status
    rows: list[tuple[str, int | str | None]] = [
        ("runs", result.runs),
        ("simultaneous users", status.users),
        ("users who play the script", status.scripted_users),
        ("script", status.script),
        ("interactions of the script", status.script_interactions),
        ("entries of the user's file directory", status.directory_entries),
        (
            "disk file system reloaded recently",
            {None: None, True: "yes", False: "no"}[status.reloaded_recently],
        ),
    ]
    return Table.of(
        rows,
        Cols(("status", "value"), lambda row: (row[0], UNKNOWN if row[1] is None else row[1])),
        name="script-report-status",
        caption="The system while the script was run",
    )


def _times(result: ScriptReport) -> Table:
    once = result.status.script_interactions

    def row(name: str, total_s: float, mean: Estimate) -> tuple[Cell, ...]:
        return (name, total_s, mean.value * once if once else None, mean)

    rows: list[tuple[Cell, ...]] = [
        ("real time", result.real_time_s, result.script_time, None),
        row("run time", result.run_s, result.run),
        row("swap time", result.swap_s, result.swap),
        row("CPU time", result.run_s + result.swap_s, result.cpu),
        ("system response time", None, None, result.response),
    ]
    return Table.of(
        rows,
        Cols(("time",), lambda row: row[:1]),
        Cols(
            ("total", "one run of the script", "per interaction"),
            lambda row: row[1:],
            unit="s",
            scaled=False,
        ),
        name="script-report-times",
        caption=f"Times of {shown.count(result.interactions, 'interaction')}",
        notes=("CPU time is run and swap time. The response covers interactions with waiting.",),
    )
