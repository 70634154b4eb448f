"""Section of the users of a log that knows who was logged in, and not what they used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.document import Col, Section, Table

if TYPE_CHECKING:
    from thinktime.analyses.users.logins import Logins

LISTED_MAX = 30
"""People who are listed one by one."""
TITLE = "Who was logged in?"
METHOD = (
    "The time of a session counts from login to logout; of several sessions at once, each counts. A session "
    "without a logout lasts until the next login at its terminal, the shutdown, or the end of the log."
)


def section(result: Logins) -> Section:
    """Section of the people by time logged in."""
    first = result.people[0]
    count = shown.count(len(result.people), "user")
    verb = "was" if len(result.people) == 1 else "were"
    sentences = [
        f"{count} {verb} logged in; {first.name} for the longest, {shown.duration(first.session_s)} in all."
        if len(result.people) > 1
        else f"{first.name} alone was logged in, for {shown.duration(first.session_s)}."
    ]
    if result.sessions_most is not None:
        sentences.append(
            f"There were {shown.quantity(result.sessions_mean, 'session')} at once on average, and at most "
            f"{result.sessions_most} at the end of an interval."
        )
    sentences.append("The log does not say what they used.")
    listed = result.people[:LISTED_MAX]
    further = len(result.people) - len(listed)
    notes = (f"{shown.count(further, 'further user')} in --format json and csv.",) if further else ()
    table = Table.of(
        listed,
        Col("user", lambda person: person.name),
        Col("logged in", lambda person: person.session_s, unit="s"),
        Col("logins", lambda person: person.logins),
        Col("most sessions", lambda person: person.sessions_most),
        Col("last seen at", lambda person: person.terminals),
        name="users-logins",
        caption="Users by time logged in",
        notes=notes,
    )
    return Section(name="users", title=TITLE, summary=tuple(sentences), tables=(table,), method=METHOD)
