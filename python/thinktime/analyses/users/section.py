"""Who used the machine: the users of the log by CPU time, before any analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.document import Column, Section, Table
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.users.analysis import Users

__all__ = ["section"]

TITLE = "Who used it?"


def section(result: Users | NotApplicable) -> Section:
    """Section of the users by CPU time."""
    if isinstance(result, NotApplicable):
        return Section(
            name="who", title=TITLE, summary=(), not_applicable=f"{result.reason}. {result.remedy}."
        )
    rows, users = result.rows, result.users
    first = rows[0]
    most = shown.cell(first[2], "share")
    sentence = f"{shown.count(users, 'user')} used it; {first[0]} had {most} of the CPU time."
    columns = (
        Column("user"),
        Column("CPU time", unit="s"),
        Column("of CPU time", unit="share"),
        Column("waited for a CPU", unit="s"),
        Column("page faults"),
        Column("read", unit="byte"),
        Column("written", unit="byte"),
    )
    table = Table(name="who-users", caption="Users by CPU time", columns=columns, rows=rows)
    method = (
        "CPU time is the exact one where it was measured, else user and system time by the tick. Time "
        "waited for a CPU "
        "is that of the user's tasks while they could have run."
    )
    return Section(name="who", title=TITLE, summary=(sentence,), tables=(table,), method=method)
