"""Section of the users: a table by CPU time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from thinktime.analyses.users.analysis import LISTED_MAX
from thinktime.documents import format as shown
from thinktime.documents.document import Col, Section, Table
from thinktime.documents.wording import few_attributed, refused, worded
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.users.analysis import User, Users

TITLE = "Who used it?"
WORDS: Mapping[str, Callable[..., str]] = {"few_attributed": few_attributed}
METHOD = (
    "CPU time is exact if it was measured, otherwise user and system time by the clock tick. The time spent "
    "waiting for a CPU is the time for which the user's tasks were runnable but did not run."
)


def section(result: Users | NotApplicable) -> Section:
    """Section of the users by CPU time."""
    if isinstance(result, NotApplicable):
        return refused("users", TITLE, result)
    first, few = result.users[0], worded(result.caveats, WORDS)
    share = shown.cell(first.cpu_share, "share")
    rows = (*result.users[:LISTED_MAX], *((result.others,) if result.others else ()))
    table = Table.of(
        rows,
        Col("user", _name),
        Col("CPU time", lambda user: user.cpu_s, unit="s"),
        Col("of attributed CPU time" if few else "of CPU time", lambda user: user.cpu_share, unit="share"),
        Col("waited for a CPU", lambda user: user.run_delay_s, unit="s"),
        Col("page faults", lambda user: user.page_faults),
        Col("read", lambda user: user.read_bytes, unit="byte"),
        Col("written", lambda user: user.written_bytes, unit="byte"),
        name="users-amounts",
        caption="Users by CPU time",
    )
    users = shown.count(len(result.users), "user")
    sentence = (
        f"Of the attributed CPU time, {_name(first)} had {share}, of {users} seen."
        if few
        else f"{users} used the machine; {_name(first)} had {share} of the CPU time."
    )
    # The share that was seen comes first: without it, the next sentence reads as one about the machine.
    return Section(name="users", title=TITLE, summary=(*few, sentence), tables=(table,), method=METHOD)


def _name(user: User) -> str:
    return user.user if user.played_as is None else f"{user.user} (played, {user.played_as})"
